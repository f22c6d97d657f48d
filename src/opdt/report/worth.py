"""What a report says where an objective says what rows are worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.objectives import Objective, ObjectiveGains
from opdt.objectives.words import plain
from opdt.problem import Problem
from opdt.report.formats import format_share
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


def worth_of(rule: Rule, objective: Objective, parts: Sequence[ReportRows]) -> dict[str, Any]:
    """Cards and the table of conditions: what the rule is worth on each part."""
    from opdt.analysis.intervals import bind_to_rows

    lines, coverage, held = [], [], None
    for number, part in enumerate(parts):
        gains = bind_to_rows(objective, rule, part.source, part.y)
        fires, code = rule.covers(part.source), gains.labels[0]
        account = gains.account(fires, code)
        value = objective.words.show(_value(objective, gains, fires))
        detail = "" if account is None else str(account)
        on = f"on {part.on}"
        lines.append({"value": value, "detail": detail, "on": on})
        rows = f"{int(fires.sum()):,} of {len(fires):,} rows"
        share = format_share(float(fires.mean())) if len(fires) else "–"
        coverage.append({"value": share, "detail": rows, "on": on})
        if number:
            held = objective.estimate(gains, fires)
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
    return {"cards": cards, "worth_stages": _stages(rule, objective, parts[0])}


def claims_of_worth(
    subject: Subject,
    problem: Problem,
    parts: Sequence[ReportRows],
    permutations: int,
    test: PermutationTest | None = None,
) -> dict[str, Any]:
    """What may and what may not be claimed, and the verdict."""
    from opdt.analysis.claims import claim
    from opdt.analysis.intervals import holdout_report
    from opdt.analysis.permutation import permutation_test

    solution = subject.solution
    objective, rule = solution.objective, solution.rule
    assert isinstance(objective, Objective)
    if permutations and test is None:
        test = permutation_test(problem, n_permutations=permutations)
    holdout = None
    if len(parts) > 1 and rule is not None:
        holdout = holdout_report(rule, parts[1].source, parts[1].y, objective=objective)
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


def _stages(rule: Rule, objective: Objective, part: ReportRows) -> list[dict[str, str]]:
    """What each condition leaves, and what that is worth."""
    from opdt.analysis.intervals import bind_to_rows

    gains = bind_to_rows(objective, rule, part.source, part.y)
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
