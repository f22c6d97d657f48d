"""Files to take away: the report, the rule, the script that repeats all, and the project."""

from __future__ import annotations

import re
import threading
from pathlib import PurePath
from typing import Any, NamedTuple

from opdt.analysis.permutation import PermutationTest
from opdt.certificates import certify
from opdt.certificates.claims import TARGET
from opdt.checks import check_choice
from opdt.errors import InputError
from opdt.rules import Rule
from opdt.rules.rule_json import rule_to_json
from opdt.studio.best_in import columns_of, written
from opdt.studio.code import script
from opdt.studio.outcome import RuleOutcome, verdict_of
from opdt.studio.solver import Solver
from opdt.studio.work import Work

KINDS = ("report", "certificate", "json", "sql", "script", "project")
QUICK = 0.5  # seconds of a search
# matplotlib, which draws the pictures of a report, is made for one thread.
_DRAWING = threading.Lock()


class Takeaway(NamedTuple):
    """A file: its name, its content, and its media type."""

    name: str
    content: bytes
    media_type: str
    said: str = ""  # what the checker of a certificate says


def make(
    what: str,
    solver: Solver,
    work: Work,
    outcome: RuleOutcome | None,
    *,
    dialect: str = "duckdb",
    title: str | None = None,
    test: PermutationTest | None = None,
) -> Takeaway:
    """One file; blocks, a report for a second or more.

    Parameters
    ----------
    what : {"report", "certificate", "json", "sql", "script", "project"}
    solver : Solver
        With the data.
    work : Work
        For script and project.
    outcome : RuleOutcome or None
        For report, certificate, json and sql; its own work says what was asked.
    dialect : str
        Of SQL; see `opdt.rules.export.dialects`.
    title : str, optional
        Of the report.
    test : PermutationTest, optional
        Of the search that found the outcome, for the verdict.
    """
    check_choice("what", what, tuple(KINDS))
    stem = _stem(work)
    if what == "project":
        return Takeaway(f"{stem}.opdt.json", work.to_json().encode(), "application/json")
    if what == "script":
        return Takeaway(f"{stem}.py", script(work).encode(), "text/x-python")
    if outcome is None:
        raise InputError("there is no rule yet; wait until one is found.")
    if what == "report":
        content = html_report(solver, outcome, title, test)
        return Takeaway(f"{stem}-report.html", content.encode(), "text/html")
    if what == "certificate":
        return _certificate(solver, outcome, stem)
    rule = _rule(outcome)
    if what == "json":
        text = rule_to_json(rule, _info(outcome, test)) + "\n"
        return Takeaway(f"{stem}-rule.json", text.encode(), "application/json")
    text = rule.to_sql_case(dialect, types=_types(solver, outcome)) + "\n"
    return Takeaway(f"{stem}-rule.sql", text.encode("utf-8", "backslashreplace"), "application/sql")


def _certificate(solver: Solver, outcome: RuleOutcome, stem: str) -> Takeaway:
    """The proof, after the independent checker has gone through it on the rows of the search."""
    problem = solver.problem(outcome.work)
    made = certify(problem, outcome.solution, target=outcome.work.target or TARGET)
    said = made.verify(problem)
    return Takeaway(f"{stem}.cert", made.to_bytes(), "application/gzip", said)


def html_report(
    solver: Solver,
    outcome: RuleOutcome,
    title: str | None = None,
    test: PermutationTest | None = None,
) -> str:
    """The page of `opdt.report` about the rule, with training and held-out rows."""
    from opdt.report.report import report

    work = outcome.work
    train, held_out = solver.split(work)
    with _DRAWING:
        page = report(
            outcome.solution,
            train.X,
            train.y,
            None if held_out is None else held_out.X,
            None if held_out is None else held_out.y,
            title=title or f"The best rule for {_subject(work)}, and what is proven about it",
            # Many searches, for which others would wait; not where one of them takes long.
            path=outcome.is_proven and outcome.solution.seconds < QUICK,
            settings=work.arguments(),
            test=test,
        )
        return page.html()


def _rule(outcome: RuleOutcome) -> Rule:
    if outcome.rule is None:
        cure = "lower the price of an error" if outcome.work.objective == "vi" else "ask for less"
        raise InputError(f"there is no rule to take away; {cure}.")
    return outcome.rule


def _subject(work: Work) -> str:
    """What the rule is about, in the title of a report."""
    columns = ", ".join(columns_of(work.objective))
    return columns if work.target is None else work.target


def _types(solver: Solver, outcome: RuleOutcome) -> Any:
    from opdt.rules.export.plan import column_types

    return column_types(solver.split(outcome.work).train.X)


def _info(outcome: RuleOutcome, test: PermutationTest | None) -> dict[str, Any]:
    """What is written beside the rule for people."""
    solution, verdict = outcome.solution, verdict_of(outcome, test)
    found: dict[str, Any] = {
        "status": str(solution.status),
        "value": solution.value,
        "bound": solution.bound,
        "objective": written(outcome.work.objective),
        **({"w": outcome.work.w} if outcome.work.objective == "vi" else {}),
        "verdict": None if verdict is None else verdict.to_dict(),
        "columns": [] if solution.plan is None else solution.plan.to_list(),
    }
    for name, part in (("train", outcome.seen), ("held_out", outcome.unseen)):
        if part is not None:
            found[name] = {"rows": part.worth.n_rows, "covered": part.worth.covered}
            if part.worth.counts is not None:
                found[name]["errors"] = part.worth.counts.errors
            if outcome.work.objective != "vi":
                found[name]["value"] = part.worth.value
            if part.worth.sentence:
                found[name]["account"] = part.worth.sentence
    return found


def _stem(work: Work) -> str:
    """The name of the data as it can stand in the name of a file, anywhere."""
    name = work.source.name if work.source is not None else "opdt"
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", PurePath(name).name.split(".")[0]).strip("-")
    return stem[:60] or "opdt"
