"""What a report says where an objective says what rows are worth."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.objectives import Estimate, Objective, ObjectiveGains, Survival
from opdt.objectives.words import plain
from opdt.problem import Problem
from opdt.report.formats import format_share
from opdt.report.parts import picture
from opdt.report.rows import TEST
from opdt.rules import Rule
from opdt.rules.counting import conditions_left
from opdt.table import Source

if TYPE_CHECKING:
    from opdt.analysis.permutation import PermutationTest
    from opdt.report.report import Subject
    from opdt.report.rows import ReportRows

SEARCH = (
    "max_depth", "structure", "groups", "label", "constraints", "min_coverage", "min_precision",
    "missing", "sample_weight",
)  # fmt: skip


def problem_of(subject: Subject, source: Source, y: Any) -> Problem:
    """The problem that the rule is the answer to."""
    known = {name: subject.settings[name] for name in SEARCH if name in subject.settings}
    solution = subject.solution
    if solution.rule is not None:
        known["label"] = solution.rule.label
    roles = solution.plan or subject.settings.get("roles")
    return Problem.of(source, y, objective=solution.objective, roles=roles, **known)


def worth_of(
    rule: Rule, problem: Problem, parts: Sequence[ReportRows]
) -> tuple[dict[str, Any], Estimate | None]:
    """Cards and the table of conditions: what the rule is worth on each part.

    With it comes what held-out rows say, where there are any.
    """
    from opdt.analysis.intervals import bind_to_rows

    objective, known = problem.best_in, problem.objective
    assert isinstance(objective, Objective)
    assert isinstance(known, ObjectiveGains)
    lines, coverage, held = [], [], None
    for number, part in enumerate(parts):
        gains = bind_to_rows(objective, rule, part.source, part.y) if number else known
        fires = rule.covers(part.source)
        value = objective.words.show(_value(objective, gains, fires))
        if number:
            held = objective.estimate(gains, fires)
            detail = str(held)
        else:
            detail = str(gains.account(fires, gains.labels[0]) or "")
        on = f"on {part.on}"
        lines.append({"value": value, "detail": detail, "on": on})
        rows = f"{int(fires.sum()):,} of {len(fires):,} rows"
        share = format_share(float(fires.mean())) if len(fires) else "–"
        coverage.append({"value": share, "detail": rows, "on": on})
    name = objective.words.name
    cards = [
        {"name": name[:1].upper() + name[1:], "parts": lines[::-1]},
        {"name": "Coverage: rows it speaks about", "parts": coverage[::-1]},
    ]
    if held is not None:
        low, high = held.interval
        said = f"{held.level:.0%} interval {plain(low)} to {plain(high)}"
        said += f"; outside {plain(held.outside)}"
        cards.append({
            "name": "Per covered row",
            "parts": [{"value": plain(held.inside), "detail": said, "on": f"on {parts[1].on}"}],
        })  # fmt: skip
    return {"cards": cards, "worth_stages": _stages(rule, objective, known, parts[0])}, held


def curves_of(
    rule: Rule, objective: Objective, parts: Sequence[ReportRows]
) -> list[dict[str, Any]]:
    """Curves of times until an event, on each part; none where matplotlib is not installed."""
    if not isinstance(objective, Survival) or find_spec("matplotlib") is None:
        return []
    from opdt import plot

    def draw(part: ReportRows) -> dict[str, Any]:
        honest = "" if part.on == TEST else " The rule was chosen by these rows, which flatter it."
        return picture(
            f"Rows without the event as time goes by, inside and outside the rule, on the {part.on}"
            f": Kaplan–Meier curves with 95 % intervals.{honest}",
            lambda ax: plot.survival(rule, part.source, objective=objective, ax=ax),
            (7.0, 5.0),
            wide=True,
        )

    return [draw(part) for part in reversed(parts)]


def claims_of_worth(
    subject: Subject,
    problem: Problem,
    holdout: Estimate | None,
    permutations: int,
    test: PermutationTest | None = None,
) -> dict[str, Any]:
    """What may and what may not be claimed, and the verdict."""
    from opdt.analysis.claims import claim
    from opdt.analysis.permutation import permutation_test

    solution = subject.solution
    if permutations and test is None:
        test = permutation_test(problem, n_permutations=permutations)
    found = claim(solution, test=test, holdout=holdout)
    return {
        "claims": [found.may],
        "not_claims": [found.may_not],
        "verdict": None if found.verdict is None else found.verdict.to_dict(),
    }


def _value(objective: Objective, gains: ObjectiveGains, fires: NDArray[np.bool_]) -> float:
    """The rule's value on rows, in the objective's measure."""
    from opdt.objectives.mean import Mean, MeanGains

    if isinstance(objective, Mean) and objective.needs_coverage and isinstance(gains, MeanGains):
        return gains.shown(gains.mean_of(fires))
    return float(int(gains.gains(gains.labels[0])[fires].sum()) * gains.unit)


def _stages(
    rule: Rule, objective: Objective, gains: ObjectiveGains, part: ReportRows
) -> list[dict[str, str]]:
    """What each condition leaves, and what that is worth."""
    everything = np.ones(part.source.n_rows, dtype=bool)
    steps = [("(all rows)", everything)]
    steps += [(str(condition), left) for condition, left in conditions_left(rule, part.source)]
    show = objective.words.show
    return [
        {
            "condition": name,
            "rows": f"{int(left.sum()):,}",
            "value": show(_value(objective, gains, left)) if left.any() else "–",
        }
        for name, left in steps
    ]
