"""A solution as text: the rule, its numbers, and what is proven."""

from __future__ import annotations

import numpy as np

from opdt.objectives import Objective, words_of
from opdt.objectives.measures import measure_named
from opdt.report.formats import format_count, format_seconds, format_share
from opdt.rules import Rule
from opdt.solution import Solution, Status, StopReason
from opdt.table import Table
from opdt.verdict import Verdict

_NO_RULE = {
    Status.NO_PATTERN: "No pattern: no rule covers enough rows to pay for its errors.",
    Status.INFEASIBLE: "No rule meets the constraints.",
    Status.UNKNOWN: "No rule that meets the constraints was found in time.",
    Status.FEASIBLE: "No rule that pays for its errors was found in time.",
}
THEN, THEN_CLASS = ", then ", ", then the class is "  # of `Rule.to_english`
_WHY = {StopReason.FINISHED: "the engine is a heuristic"}


def describe_solution(solution: Solution, table: Table, w: float) -> str:
    """The solution over several lines.

    Parameters
    ----------
    solution : Solution
    table : Table
        The rows the rule was found on.
    w : float
        The price of one error that was asked for; it counts for the objective "vi" only.

    Examples
    --------
    >>> from opdt import Table, discover
    >>> table = Table.build({"age": [25, 31, 47, 52]}, ["well", "well", "ill", "ill"])
    >>> print(describe_solution(discover(table, max_depth=1, label="ill"), table, 10))
    ... # doctest: +ELLIPSIS
    IF   age >= 40
    THEN ill
    <BLANKLINE>
    VI         2  (w = 10; all rows: -16)
    precision  100.0 %  (2 of 2 covered rows are ill)
    coverage   50.0 %  (2 of 4 rows, 100.0 % of all ill)
    lift       2.00  (all rows: 50.0 % are ill)
    status     proven optimal: no allowed rule has a larger VI
    verdict    not supported: right in 2 of 2 rows, 50.0 % overall, too few ...
    next       These rows are too few ...
    time       ... (engine search)
    """
    facts = [f"{name:<10} {text}" for name, text in solution_facts(solution, table, w)]
    return "\n".join([*rule_lines(solution), "", *facts])


def rule_lines(solution: Solution) -> list[str]:
    """The rule with one condition on each line, or one sentence where there is none."""
    if solution.rule is None:
        if solution.objective == "coverage" and solution.status is Status.NO_PATTERN:
            return [_NO_RULE[Status.INFEASIBLE]]
        if measure_named(solution.objective) and solution.status is Status.NO_PATTERN:
            return [f"No pattern: no rule {words_of(solution.objective).nothing}."]
        if isinstance(solution.objective, Objective) and solution.status is Status.NO_PATTERN:
            return ["No pattern: no rule covers rows that are worth anything together."]
        return [_NO_RULE[solution.status]]
    conditions = [str(condition) for condition in solution.rule.conditions] or ["(any row)"]
    words = ["IF  ", *["AND "] * (len(conditions) - 1)]
    lines = [f"{word} {condition}" for word, condition in zip(words, conditions, strict=True)]
    return [*lines, f"THEN {solution.rule.label}"]


def solution_facts(
    solution: Solution, table: Table, w: float, verdict: Verdict | None = None
) -> list[tuple[str, str]]:
    """Names and texts of the numbers of a solution, in the order in which they are shown.

    `verdict` is one that more is known for than the training rows say.
    """
    facts = []
    own = isinstance(solution.objective, Objective)
    if solution.rule is not None and own:
        facts = _worth(solution, table)
    if solution.rule is not None and len(table.classes) > 1:
        facts += _shares(solution, solution.rule, table, w)
    return [
        *facts,
        ("status", proof(solution)),
        *verdict_facts(solution.verdict if verdict is None else verdict),
        ("time", f"{format_seconds(solution.seconds)} (engine {solution.engine})"),
    ]


def _worth(solution: Solution, table: Table) -> list[tuple[str, str]]:
    """What the rule is worth, in the objective's words."""
    words = words_of(solution.objective)
    facts = [(words.name, words.show(solution.value))]
    if solution.account is not None:
        facts.append(("the rule", str(solution.account)))
    if len(table.classes) == 1:
        total = table.n_rows if table.weights is None else float(table.weights.sum())
        share = format_share(solution.covered / total)
        rows = f"{format_count(solution.covered)} of {format_count(total)} rows"
        facts.append(("coverage", f"{share}  ({rows})"))
    return facts


def verdict_facts(verdict: Verdict | None) -> list[tuple[str, str]]:
    """Whether the rows speak for the rule, and what to do next; nothing without a rule."""
    return [] if verdict is None else [("verdict", str(verdict)), ("next", verdict.cure)]


def proof(solution: Solution) -> str:
    """What is proven about the solution, in words."""
    words = words_of(solution.objective)
    if solution.status is Status.INFEASIBLE:
        return "proven infeasible: relax the constraints"
    if solution.status in (Status.OPTIMAL, Status.NO_PATTERN):
        kind = "proven optimal" if solution.status is Status.OPTIMAL else "proven"
        said = words.better if solution.status is Status.OPTIMAL else words.nothing
        return f"{kind}: no allowed rule {said}"
    limit, gap = format_count(solution.bound), format_count(solution.gap)
    if solution.objective == "precision":
        limit, gap = format_share(solution.bound), words.show_gap(solution.gap)
    elif solution.objective not in ("vi", "coverage"):
        limit, gap = words.show(solution.bound), words.show_gap(solution.gap)
    said = f"no allowed rule {words.above.format(limit)}"
    why = f"not proven ({_WHY.get(solution.stopped_by, solution.stopped_by)})"
    if solution.status is Status.UNKNOWN:
        return f"{why}: {said}"
    return f"{why}: {said}, a gap of {gap}"


def _shares(solution: Solution, rule: Rule, table: Table, w: float) -> list[tuple[str, str]]:
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    total = float(weights.sum())
    in_class = float(weights[table.labels == table.classes.tolist().index(rule.label)].sum())
    covered, correct = solution.covered, solution.covered - solution.errors
    recall = correct / in_class if in_class else float("nan")
    base = in_class / total
    lift = f"{solution.precision / base:.2f}" if base else "–"
    facts = [
        (
            "precision",
            f"{format_share(solution.precision)}  ({format_count(correct)} of "
            f"{format_count(covered)} covered rows are {rule.label})",
        ),
        (
            "coverage",
            f"{format_share(covered / total)}  ({format_count(covered)} of {format_count(total)} "
            f"rows, {format_share(recall)} of all {rule.label})",
        ),
        ("lift", f"{lift}  (all rows: {format_share(base)} are {rule.label})"),
    ]
    if measure_named(solution.objective) is not None and solution.objective != "lift":
        words = words_of(solution.objective)
        return [(words.name, words.show(solution.value)), *facts]
    if solution.objective != "vi":
        return facts
    everything = format_count(total - w * (total - in_class))
    value = f"{format_count(solution.value)}  (w = {format_count(w)}; all rows: {everything})"
    return [("VI", value), *facts]


def rule_sentence(rule: Rule, objective: str | Objective, target: str | None = None) -> str:
    """The rule in words, with what it says of its rows in those of the objective.

    `target` is the name of the column of numbers, where there is one.

    Examples
    --------
    >>> from opdt import Condition, Mean
    >>> rule_sentence(Rule([Condition("age", ">=", 40)], "high"), Mean(), "stay")
    'If age is at least 40, then stay is high.'
    """
    if isinstance(objective, str) or objective.rule_label != rule.label:
        return rule.to_english()
    return rule.to_english(objective.then(target))
