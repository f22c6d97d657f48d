"""More than one rule: the best k, the best k that differ, and all that are nearly as good.

A *rule* here is a conjunction as the search has it: thresholds between the same two values are one
rule, and repeated or implied conditions are merged. Two rules of one class that cover the same
rows of the table are the same *pattern*, said in two ways. All answers are in the documented
order of rules (larger VI, fewer conditions, fewer errors, the order of features, the looser
condition, the first class), so they are the same every time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from opdt.analysis.overlaps import check_overlap, find_diverse
from opdt.analysis.ranking import Alternative, Alternatives, check_listed, rank_rules
from opdt.analysis.rashomon import RashomonSet, collect_set
from opdt.analysis.rashomon_summary import RashomonSummary
from opdt.arguments import start_clock
from opdt.checks import check_choice, check_int, check_number, is_finite
from opdt.objectives.gains import as_written
from opdt.problem import CodedRule, Constraints, Measure, Problem, RowGains
from opdt.problem.arguments import Groups, ObjectiveLike, StructureLike
from opdt.solution import Budget, Clock, StopReason
from opdt.table import Plan

if TYPE_CHECKING:
    from opdt.engines.search import Searcher

__all__ = [
    "Alternative",
    "Alternatives",
    "RashomonSet",
    "RashomonSummary",
    "diverse_rules",
    "rashomon_set",
    "top_rules",
]

DISTINCT = ("rows", "conditions")


def top_rules(
    X: Any,
    y: Any = None,
    *,
    limit: int = 10,
    distinct: str = "rows",
    max_equivalents: int = 20,
    max_depth: int | None = None,
    w: float = 10.0,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    objective: ObjectiveLike = "vi",
    min_coverage: float | None = None,
    max_coverage: float | None = None,
    min_precision: float | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    roles: Mapping[str, str] | Plan | None = None,
    missing: Any = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    budget: Budget | None = None,
) -> Alternatives:
    """The best rules, exactly, ties decided.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    limit : int
        How many rules; fewer come back if there are no more with a positive VI (with a minimum
        coverage: no more at all).
    distinct : {"rows", "conditions"}
        What makes two rules different. `"rows"`: they cover different rows, or point to different
        classes. Of the rules that cover the same rows the first in the order stands for all, and
        the others are its `equivalents`. `"conditions"`: they have different conditions.
    max_equivalents : int
        How many equivalents of a rule are listed at most.
    max_depth, w, structure, groups, label, objective, min_coverage, max_coverage, min_precision, \
constraints, sample_weight, roles, missing
        What rules there are, and what they are worth, as in `discover`. A ratio (precision, a mean
        without a threshold) gives no order of many rules and is refused.
    time_limit, n_jobs, memory_limit, budget
        Limits on everything together, as in `discover`.

    Returns
    -------
    Alternatives

    Examples
    --------
    >>> data = {"age": [25, 31, 47, 52, 60], "pulse": [60, 62, 80, 85, 70]}
    >>> print(top_rules(data, ["well", "well", "ill", "ill", "ill"], limit=2, label="ill"))
    rank  VI  covered  errors  precision  lift  coverage        verdict  rule
       1   3        3       0    100.0 %  1.67    60.0 %  not supported  IF age >= 40 THEN ill
       2   2        2       0    100.0 %  1.67    40.0 %  not supported  IF age >= 50 THEN ill
    """
    check_int("limit", limit)
    check_choice("distinct", distinct, DISTINCT)
    most = check_int("max_equivalents", max_equivalents, 0)
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    problem = Problem.of(
        X, y, max_depth=max_depth, w=w, structure=structure, groups=groups, label=label,
        objective=objective, min_coverage=min_coverage, max_coverage=max_coverage,
        min_precision=min_precision,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    searcher = _searcher(problem)
    found = searcher.list_rules(limit, by_rows=distinct == "rows", budget=clock)
    if distinct == "rows":
        ranked = found.representatives()
    else:
        ranked = [(rule, found.measure(at)) for rule, at in found.rules()]
    rules = rank_rules(searcher.problem, ranked)
    if distinct == "rows":
        rules = _with_equivalents(searcher, clock, rules, ranked, most, found.stopped_by)
    return Alternatives(
        rules, found.is_complete, found.stopped_by, clock.elapsed(), problem.best_in
    )


def diverse_rules(
    X: Any,
    y: Any = None,
    *,
    limit: int = 5,
    max_overlap: float = 0.5,
    overlap: str = "share",
    max_equivalents: int = 20,
    max_depth: int | None = None,
    w: float = 10.0,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    objective: ObjectiveLike = "vi",
    min_coverage: float | None = None,
    max_coverage: float | None = None,
    min_precision: float | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    roles: Mapping[str, str] | Plan | None = None,
    missing: Any = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    budget: Budget | None = None,
) -> Alternatives:
    """The best rule, the best that differs from it, the best that differs from both, and so on.

    Rule i is the first rule, in the documented order, whose overlap with each of the rules 1 to
    i - 1 is at most the limit: proven by a search of its own.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    limit : int
        How many rules; fewer come back if no other rule of positive VI keeps the limit.
    max_overlap : float
        The limit, from 0 (no row in common) to below 1.
    overlap : {"share", "jaccard"}
        How the overlap of the rows of two rules is measured, rows counted with their weights,
        whatever their classes. `"share"`: rows in both / rows of the smaller one, which is 1 for
        a rule within another. `"jaccard"`: rows in both / rows in either, which is small for a
        small rule within a large one, so that half of the best rule may well come second.
    max_equivalents
        As in `top_rules`, and so are all other arguments.

    Returns
    -------
    Alternatives

    Examples
    --------
    >>> data = {"age": [25, 31, 60, 65, 70, 24, 28], "pulse": [60, 62, 61, 59, 60, 95, 99]}
    >>> state = ["well", "well", "ill", "ill", "ill", "ill", "ill"]
    >>> for rule in diverse_rules(data, state, limit=2, label="ill"):
    ...     print(rule.value, rule.overlap, rule.rule)
    3.0 nan IF age >= 50 THEN ill
    2.0 0.0 IF pulse >= 80 THEN ill
    """
    check_int("limit", limit)
    most_overlap = check_overlap(max_overlap, overlap)
    most = check_int("max_equivalents", max_equivalents, 0)
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    problem = Problem.of(
        X, y, max_depth=max_depth, w=w, structure=structure, groups=groups, label=label,
        objective=objective, min_coverage=min_coverage, max_coverage=max_coverage,
        min_precision=min_precision,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    searcher = _searcher(problem)
    ranked, overlaps, stopped = find_diverse(searcher, clock, limit, most_overlap, overlap)
    rules = tuple(
        replace(rule, overlap=share)
        for rule, share in zip(rank_rules(searcher.problem, ranked), overlaps, strict=True)
    )
    rules = _with_equivalents(searcher, clock, rules, ranked, most, stopped)
    return Alternatives(
        rules, stopped is StopReason.FINISHED, stopped, clock.elapsed(), problem.best_in
    )


def rashomon_set(
    X: Any,
    y: Any = None,
    *,
    within: float = 0.01,
    within_rows: float | None = None,
    limit: int = 10_000,
    max_depth: int | None = None,
    w: float = 10.0,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    objective: ObjectiveLike = "vi",
    min_coverage: float | None = None,
    max_coverage: float | None = None,
    min_precision: float | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    roles: Mapping[str, str] | Plan | None = None,
    missing: Any = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    budget: Budget | None = None,
) -> RashomonSet:
    """All rules that are nearly as good as the best one, and what they have in common.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    within : float
        A rule belongs to the set if its VI is at least (1 - within) × optimum.
    within_rows : float, optional
        In place of `within`: if its VI is at least the optimum minus this.
    limit : int
        The largest number of rules to list. If the set has more, the first `limit` in the
        documented order are listed, and `rest_at_most` says what the others are worth at most.
    max_depth, w, structure, groups, …
        All other arguments are as in `top_rules`.

    Returns
    -------
    RashomonSet
        Rules that differ in a condition are listed apart; its `patterns` are grouped by the
        rows they cover. Its `summary` says which features are needed and which are
        interchangeable.

    Examples
    --------
    >>> data = {"age": [25, 31, 47, 52, 60], "pulse": [60, 62, 80, 85, 70]}
    >>> found = rashomon_set(data, ["well", "well", "ill", "ill", "ill"], label="ill")
    >>> print(found.facts())
    5 rules (1 set of rows) with a VI of at least 3 (optimum 3); there are no others.
    >>> found.summary.interchangeable
    (('age', 'pulse'),)
    """
    check_int("limit", limit)
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    share, rows = _within("within", within, 1), None
    if within_rows is not None:
        rows = _within("within_rows", within_rows, math.inf)
    problem = Problem.of(
        X, y, max_depth=max_depth, w=w, structure=structure, groups=groups, label=label,
        objective=objective, min_coverage=min_coverage, max_coverage=max_coverage,
        min_precision=min_precision,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    return collect_set(_searcher(problem), clock, share, rows, limit)


def _searcher(problem: Problem) -> Searcher:
    from opdt.engines.search import Searcher

    check_listed(problem)
    return Searcher(problem)


# -- other ways to say it ------------------------------------------------------------------------


def _with_equivalents(
    searcher: Searcher,
    clock: Clock,
    rules: tuple[Alternative, ...],
    ranked: Sequence[tuple[CodedRule, Measure]],
    most: int,
    stopped: StopReason | None,
) -> tuple[Alternative, ...]:
    """The rules with all that cover the same rows, as far as time allows."""
    if most == 0:
        return rules
    out = []
    for each, (rule, _) in zip(rules, ranked, strict=True):
        if stopped is not StopReason.INTERRUPTED:
            stopped = clock.stop()
        others: list[CodedRule] = []
        if stopped is None:
            others, stopped = _equivalents(searcher, clock, rule, most + 1)
        lifted = tuple(map(searcher.problem.lift, others[:most]))
        more = len(others) > most or stopped is not StopReason.FINISHED
        out.append(replace(each, equivalents=lifted, more_equivalents=more))
    return tuple(out)


def _equivalents(
    searcher: Searcher, clock: Clock, rule: CodedRule, most: int
) -> tuple[list[CodedRule], StopReason]:
    """Other rules that cover exactly the rows of this one, and why there are no more.

    With a gain of 1 for these rows and a great loss for the others, a rule gains the number of
    these rows exactly if it covers them and no other.
    """
    fires = searcher.problem.cover(rule.conditions)
    size = int(fires.sum())
    units = np.where(fires, 1, -size - 1).astype(np.int64)
    exact = RowGains(units, Fraction(1), (rule.label,), np.ones(len(fires), np.int64))
    # The limits on rows hold for these rows, as they do for the rule.
    free = searcher.limited(
        min_coverage=0, min_precision=0.0, max_errors=None, max_coverage=None, segments=(),
        parities=(),
    )  # fmt: skip
    found = free.list_rules(most + 1, least_gain=size, gains=exact, budget=clock)
    return [other for other, _ in found.rules() if other != rule], found.stopped_by


def _within(name: str, value: Any, most: float) -> Fraction:
    wanted = "a share from 0 to 1" if most == 1 else "a number of rows >= 0"
    check_number(name, value, wanted, lambda n: is_finite(n) and 0 <= n <= most)
    return as_written(float(value))
