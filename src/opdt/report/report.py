"""`report(model, X, y)`: what a committee needs to know about a rule, on one page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opdt.checks import check_kind
from opdt.counts import ratio
from opdt.errors import InputError
from opdt.objectives import Estimate, Objective, TargetKind
from opdt.problem import Problem
from opdt.report.content import wrong_rows
from opdt.report.formats import format_count, format_seconds, format_share
from opdt.report.metrics import RuleReport, rule_report
from opdt.report.page import render
from opdt.report.parts import asked, claims_of, exports_of, path_lines, pictures_of, verified
from opdt.report.rows import ReportRows, data_of, made_by, parts_of, sentence
from opdt.report.several import rules_of, several_context
from opdt.report.text import proof, rule_lines, rule_sentence
from opdt.report.worth import claims_of_worth, curves_of, problem_of, worth_of
from opdt.rules import Rule
from opdt.rules.counting import Stage, rule_funnel
from opdt.solution import Solution
from opdt.table import Table, open_source

if TYPE_CHECKING:
    from opdt.analysis.permutation import PermutationTest
    from opdt.certificates import Certificate


@dataclass(frozen=True)
class Report:
    """A report that can be saved, or shown in a notebook.

    Attributes
    ----------
    context : dict
        The values of the page, not escaped; `verdict` has level, reason and cure.
    """

    context: dict[str, Any]

    def html(self) -> str:
        """The page: one file, which loads nothing and sends nothing."""
        return render(self.context)

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all, and return its path."""
        path = Path(path)
        if path.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"a report is an HTML page; name a file in .html, not {str(path)!r}.")
        page = self.html()
        draft = path.with_name(path.name + ".part")
        try:
            draft.write_text(page, encoding="utf-8")
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        return path

    def _repr_html_(self) -> str:
        from html import escape

        return (
            f'<iframe srcdoc="{escape(self.html(), quote=True)}" '
            'style="width:100%;height:48rem;border:0" title="Report"></iframe>'
        )


def report(
    model: Any,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    title: str | None = None,
    permutations: int = 0,
    path: bool = True,
    rows: int = 50,
    settings: Mapping[str, Any] | None = None,
    test: PermutationTest | None = None,
    certificate: Certificate | str | Path | None = None,
) -> Report:
    """A page about a rule: what it says, what is proven, what it does, where it fails.

    Parameters
    ----------
    model : fitted OPDTClassifier, OPDTClassifierCV, OPDTRuleList or OPDTRuleSet, or Solution
    X : data frame, mapping of columns, 2-D array or path
        The rows that the rule was found on.
    y : array-like of shape (n_rows,), or str
        Labels, or the name of the column of `X` that holds them.
    X_test, y_test : like X and y, optional
        ReportRows that were not used to find the rule; only these give honest numbers.
    title : str, optional
    permutations : int
        Permutations of the labels for the p-value of the rule; 0 leaves the test out.
    path : bool
        Whether to solve for all other prices w of an error as well, to show the trade-off.
    rows : int
        How many of the covered rows of another class are listed. This and the two above are for
        one rule; a list or set has a page of its own.
    settings : mapping, optional
        Where the model is a Solution: the arguments that `discover` was given. Without them the
        price of an error is taken to be 10, and other prices are left out.
    test : PermutationTest, optional
        One that was made of the same search, in the place of `permutations`.
    certificate : Certificate or path, optional
        The proof that `discover(certificate=)` wrote. The independent checker goes through it on
        these rows; the page says so and carries the file. One that fails is an `InputError`.

    Returns
    -------
    Report

    Examples
    --------
    >>> from opdt import OPDTClassifier
    >>> ages, states = {"age": [25, 31, 47, 52]}, ["well", "well", "ill", "ill"]
    >>> page = report(OPDTClassifier(max_depth=1).fit(ages, states), ages, states)
    >>> page.html().startswith("<!doctype html>")
    True
    """
    source = open_source(X)
    parts = parts_of(source, y, X_test, y_test)
    several = rules_of(model)
    if several is not None:
        settings = model.get_params(deep=False) if hasattr(model, "get_params") else {}
        asked_for: dict[str, Any] = {name: settings.get(name) for name in ("roles", "missing")}
        table = Table.build(source, y, **asked_for, warn=False)
        return Report(several_context(model, several, table, parts, title))
    subject = Subject.of(model, settings)
    own = subject.solution.objective
    problem = problem_of(subject, source, y) if isinstance(own, Objective) else None
    if problem is None:
        roles = subject.solution.plan or subject.settings.get("roles")
        table = Table.build(source, y, roles=roles, warn=False)
    else:
        table = problem.table
    context: dict[str, Any] = _head(subject, title) | data_of(table, subject.solution.plan)
    context |= {
        "settings": asked(subject.settings, subject.solution),
        "structure": subject.structure,
        "has_test": X_test is not None,
        "rule": subject.rule is not None,
        "verdict": None,
        "several": None,
        "path": None,
        "worth_stages": [],
        "exports": [],
        "verified": None if certificate is None else verified(certificate, source, y),
    }
    if subject.rule is None:
        return Report(context)
    if problem is not None:
        shown, held = _worth(subject, problem, parts, rows)
        context |= shown | claims_of_worth(subject, problem, held, permutations, test)
        return Report(context | _rule_of(subject, y) | {"exports": exports_of(subject.rule)})
    numbers = [rule_report(subject.rule, part.source, part.labels, subject.w) for part in parts]
    segments: Any = ()
    if path:
        segments, context["path"] = path_lines(subject, table)
    context |= _numbers(subject.rule, parts, numbers, rows)
    if subject.solution.objective != "vi":  # the last card is the VI, which nobody asked for
        context["cards"] = context["cards"][:-1]
    context |= claims_of(subject, table, parts, permutations, test)
    context |= _rule_of(subject, y)
    context |= {
        "pictures": pictures_of(subject, parts, segments),
        "exports": exports_of(subject.rule),
    }
    return Report(context)


def _rule_of(subject: Subject, y: Any) -> dict[str, Any]:
    """The rule in words; `y` is the target or its name."""
    assert subject.rule is not None
    target = y if isinstance(y, str) else getattr(y, "name", None)
    named = target if isinstance(target, str) else None
    return {
        "english": rule_sentence(subject.rule, subject.solution.objective, named),
        "rule_lines": rule_lines(subject.solution),
        "label": str(subject.rule.label),
    }


def _worth(
    subject: Subject, problem: Problem, parts: Sequence[ReportRows], rows: int
) -> tuple[dict[str, Any], Estimate | None]:
    """Numbers and pictures where an objective says what rows are worth; what held-out rows say."""
    objective, rule = problem.best_in, subject.rule
    assert isinstance(objective, Objective)
    assert rule is not None
    context: dict[str, Any] = {"stages": [], "confusion": [], "wrongs": []}
    context["pictures"] = curves_of(rule, objective, parts)
    worth, held = worth_of(rule, problem, parts)
    if objective.target is TargetKind.CLASSES:
        numbers = [rule_report(rule, part.source, part.labels, subject.w) for part in parts]
        context |= _numbers(rule, parts, numbers, rows)
        context["pictures"] = pictures_of(subject, parts, ())
        worth["cards"] += [context["cards"][0], context["cards"][2]]
    return context | worth, held


@dataclass(frozen=True)
class Subject:
    """The rule of a report with how it was found."""

    solution: Solution
    w: float
    settings: dict[str, Any]
    structure: str | None

    @property
    def rule(self) -> Rule | None:
        """The rule, if there is one."""
        return self.solution.rule

    @classmethod
    def of(cls, model: Any, settings: Mapping[str, Any] | None) -> Subject:
        """The subject of a fitted estimator, or of a solution and what was asked."""
        from opdt.problem.arguments import resolve_structure

        wanted = "a fitted OPDTClassifier or a Solution"
        found = getattr(model, "solution_", model)
        solution = check_kind("model", found, Solution, wanted, "fit it first")
        if model is solution:
            known = dict(settings or {})
        else:
            known = model.get_params(deep=False)
            known["w"] = getattr(model, "w_", known.get("w", 10.0))
        given = known.get("structure")
        drawn = None if given is None else str(resolve_structure(given)[0])
        return cls(solution, float(known.get("w", 10.0)), known, drawn)


def _head(subject: Subject, title: str | None) -> dict[str, Any]:
    solution, made = subject.solution, made_by()
    return {
        "title": title or "The best rule, and what is proven about it",
        "no_rule": rule_lines(solution)[0],
        "proof": sentence(proof(solution)),
        "proven": solution.status.is_proven,
        **made,
        "versions": f"{made['versions']}; engine {solution.engine}, "
        f"{format_seconds(solution.seconds)}.",
    }


def _numbers(
    rule: Rule, parts: Sequence[ReportRows], numbers: Sequence[RuleReport], limit: int
) -> dict[str, Any]:
    known = parts[0]
    is_class = known.of_class(rule.label)
    n_rows, n_class = len(is_class), int(is_class.sum())
    return {
        "cards": _cards(rule, parts, numbers),
        "everything": {
            "rows": f"{n_rows:,}",
            "errors": f"{n_rows - n_class:,}",
            "precision": format_share(n_class / n_rows),
        },
        "stages": [_stage(each) for each in rule_funnel(rule, known.source, is_class)[1:]],
        "confusion": [
            _confusion(rule, part, each) for part, each in zip(parts, numbers, strict=True)
        ],
        "wrongs": [_wrong(rule, part, limit) for part in reversed(parts)],
    }


def _cards(
    rule: Rule, parts: Sequence[ReportRows], numbers: Sequence[RuleReport]
) -> list[dict[str, Any]]:
    both = [(f"on {part.on}", n) for part, n in zip(parts, numbers, strict=True)][::-1]

    def card(name: str, value: Any, detail: Any) -> dict[str, Any]:
        lines = [{"value": value(n), "detail": detail(n), "on": on} for on, n in both]
        return {"name": name, "parts": lines}

    return [
        card(
            "Precision: covered rows of its class",
            lambda n: format_share(n.precision),
            lambda n: (
                f"{n.correct:,} of {n.covered:,}; 95 % interval "
                f"{format_share(n.interval[0])} to {format_share(n.interval[1])}"
            ),
        ),
        card(
            "Coverage: rows it speaks about",
            lambda n: format_share(n.coverage),
            lambda n: f"{n.covered:,} of {n.n_rows:,} rows",
        ),
        card(
            f"Compared with all rows ({rule.label})",
            lambda n: f"{n.lift:.2f} ×",
            lambda n: (
                f"{format_share(n.precision)} under the rule, {format_share(n.base_rate)} overall"
            ),
        ),
        card(
            "VI: covered − w × errors",
            lambda n: format_count(n.value),
            lambda n: (
                f"{n.covered:,} − {format_count(n.w)} × {n.errors:,}; all rows: "
                f"{format_count(n.value_of_all)}"
            ),
        ),
    ]


def _stage(stage: Stage) -> dict[str, str]:
    return {
        "condition": str(stage.condition),
        "alone": f"{sum(stage.alone):,}",
        "alone_precision": format_share(ratio(stage.alone[0], sum(stage.alone))),
        "rows": f"{stage.covered:,}",
        "errors": f"{stage.errors:,}",
        "precision": format_share(stage.precision),
    }


def _confusion(rule: Rule, part: ReportRows, numbers: RuleReport) -> dict[str, str]:
    missed = numbers.n_class - numbers.correct
    return {
        "on": part.on,
        "hits": f"{numbers.correct:,}",
        "errors": f"{numbers.errors:,}",
        "missed": f"{missed:,}",
        "rest": f"{numbers.n_rows - numbers.n_class - numbers.errors:,}",
    }


def _wrong(rule: Rule, part: ReportRows, limit: int) -> dict[str, Any]:
    is_class = part.of_class(rule.label)
    wrong = wrong_rows(rule, part.source, part.labels, is_class, limit, part.target)
    shown = len(wrong.rows)
    some = f"the first {shown:,} of {wrong.total:,}" if shown < wrong.total else f"all {shown:,}"
    return {
        "on": part.on,
        "columns": wrong.columns,
        "rows": wrong.rows,
        "lead": f"Covered rows of another class, {some}; rows are counted from 1.",
    }
