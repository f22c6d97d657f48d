"""More than one rule: the best k, the best k that differ, and all that are nearly as good.

A *rule* here is a conjunction as the search has it: thresholds between the same two values are one
rule, and repeated or implied conditions are merged. Two rules of one class that cover the same
rows of the table are the same *pattern*, said in two ways. All answers are in the documented
order of rules (larger VI, fewer conditions, fewer errors, the order of features, the looser
condition, the first class), so they are the same every time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from opdt.analysis.overlaps import check_overlap, rules_apart
from opdt.analysis.ranking import Alternative, Alternatives, rank_rules
from opdt.analysis.rashomon import RashomonSet, collect_set
from opdt.analysis.rashomon_summary import RashomonSummary
from opdt.analysis.settings import Settings, build_problem, check_count
from opdt.arguments import start_clock
from opdt.errors import InputError
from opdt.problem import CodedRule, Measure, RowGains
from opdt.problem.objective import as_written
from opdt.solution import Budget, Clock, StopReason

if TYPE_CHECKING:
    from opdt.engines.search.collect import Collector

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
    k: int = 10,
    distinct: str = "rows",
    max_equivalents: int = 20,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    budget: Budget | None = None,
    **settings: Unpack[Settings],
) -> Alternatives:
    """The k best rules, exactly, ties decided.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them.
    k : int
        How many rules; fewer come back if there are no more with a positive VI (with a minimum
        coverage: no more at all).
    distinct : {"rows", "conditions"}
        What makes two rules different. `"rows"`: they cover different rows, or point to different
        classes. Of the rules that cover the same rows the first in the order stands for all, and
        the others are its `equivalents`. `"conditions"`: they have different conditions.
    max_equivalents : int
        How many equivalents of a rule are listed at most.
    time_limit, n_jobs, budget
        Limits on everything together, as in `discover`.
    **settings
        `max_depth`, `w`, `structure`, `groups`, `target`, `constraints`, `sample_weight`,
        `kinds`: as in `discover`.

    Returns
    -------
    Alternatives

    Examples
    --------
    >>> data = {"age": [25, 31, 47, 52, 60], "pulse": [60, 62, 80, 85, 70]}
    >>> print(top_rules(data, ["well", "well", "ill", "ill", "ill"], k=2, target="ill"))
    rank  VI  covered  errors  precision  coverage  rule
       1   3        3       0    100.0 %    60.0 %  IF age >= 40 THEN ill
       2   2        2       0    100.0 %    40.0 %  IF age >= 50 THEN ill
    """
    k = check_count("k", k)
    if distinct not in DISTINCT:
        raise InputError(f"'distinct' must be 'rows' or 'conditions', got {distinct!r}.")
    collector = _collector(X, y, start_clock(budget, time_limit, n_jobs), settings)
    found = collector.first(k, by_rows=distinct == "rows")
    if distinct == "rows":
        ranked = found.representatives()
    else:
        ranked = [(rule, found.blocks.measure(at)) for rule, at in found.rules()]
    rules = rank_rules(collector.problem, ranked)
    if distinct == "rows":
        rules = _with_equivalents(collector, rules, ranked, max_equivalents)
    return Alternatives(rules, found.is_complete, found.stopped_by, collector.clock.elapsed())


def diverse_rules(
    X: Any,
    y: Any = None,
    *,
    k: int = 5,
    max_overlap: float = 0.5,
    overlap: str = "share",
    max_equivalents: int = 20,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    budget: Budget | None = None,
    **settings: Unpack[Settings],
) -> Alternatives:
    """The best rule, the best that differs from it, the best that differs from both, and so on.

    Rule i is the first rule, in the documented order, whose overlap with each of the rules 1 to
    i - 1 is at most the limit: proven by a search of its own.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them.
    k : int
        How many rules; fewer come back if no other rule of positive VI keeps the limit.
    max_overlap : float
        The limit, from 0 (no row in common) to below 1.
    overlap : {"share", "jaccard"}
        How the overlap of the rows of two rules is measured, rows counted with their weights,
        whatever their classes. `"share"`: rows in both / rows of the smaller one, which is 1 for
        a rule within another. `"jaccard"`: rows in both / rows in either, which is small for a
        small rule within a large one, so that half of the best rule may well come second.
    max_equivalents, time_limit, n_jobs, budget, **settings
        As in `top_rules`.

    Returns
    -------
    Alternatives

    Examples
    --------
    >>> data = {"age": [25, 31, 60, 65, 70, 24, 28], "pulse": [60, 62, 61, 59, 60, 95, 99]}
    >>> state = ["well", "well", "ill", "ill", "ill", "ill", "ill"]
    >>> for rule in diverse_rules(data, state, k=2, target="ill"):
    ...     print(rule.value, rule.overlap, rule.rule)
    3.0 nan IF age >= 50 THEN ill
    2.0 0.0 IF pulse >= 80 THEN ill
    """
    k = check_count("k", k)
    limit = check_overlap(max_overlap, overlap)
    collector = _collector(X, y, start_clock(budget, time_limit, n_jobs), settings)
    ranked, overlaps, stopped = rules_apart(collector, k, limit, overlap)
    rules = tuple(
        replace(rule, overlap=most)
        for rule, most in zip(rank_rules(collector.problem, ranked), overlaps, strict=True)
    )
    if stopped is StopReason.FINISHED:
        rules = _with_equivalents(collector, rules, ranked, max_equivalents)
    return Alternatives(rules, stopped is StopReason.FINISHED, stopped, collector.clock.elapsed())


def rashomon_set(
    X: Any,
    y: Any = None,
    *,
    within: float = 0.01,
    within_rows: float | None = None,
    cap: int = 10_000,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    budget: Budget | None = None,
    **settings: Unpack[Settings],
) -> RashomonSet:
    """All rules that are nearly as good as the best one, and what they have in common.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them.
    within : float
        A rule belongs to the set if its VI is at least (1 - within) × optimum.
    within_rows : float, optional
        In place of `within`: if its VI is at least the optimum minus this.
    cap : int
        The largest number of rules to list. If the set has more, the first `cap` in the
        documented order are listed, and `rest_at_most` says what the others are worth at most.
    time_limit, n_jobs, budget, **settings
        As in `top_rules`.

    Returns
    -------
    RashomonSet
        Rules that differ in a condition are listed apart; its `patterns` are grouped by the
        rows they cover. Its `summary` says which features are needed and which are
        interchangeable.

    Examples
    --------
    >>> data = {"age": [25, 31, 47, 52, 60], "pulse": [60, 62, 80, 85, 70]}
    >>> found = rashomon_set(data, ["well", "well", "ill", "ill", "ill"], target="ill")
    >>> print(found.facts())
    5 rules (1 set of rows) with a VI of at least 3 (optimum 3); there are no others.
    >>> found.summary.interchangeable
    (('age', 'pulse'),)
    """
    cap = check_count("cap", cap)
    clock = start_clock(budget, time_limit, n_jobs)
    share, rows = _within("within", within, 1), None
    if within_rows is not None:
        rows = _within("within_rows", within_rows, math.inf)
    return collect_set(_collector(X, y, clock, settings), share, rows, cap)


def _collector(X: Any, y: Any, clock: Clock, settings: Settings) -> Collector:
    from opdt.engines.search.collect import Collector

    return Collector(build_problem(X, y, **settings), clock)


# -- other ways to say it ------------------------------------------------------------------------


def _with_equivalents(
    collector: Collector,
    rules: tuple[Alternative, ...],
    ranked: Sequence[tuple[CodedRule, Measure]],
    limit: int,
) -> tuple[Alternative, ...]:
    """The rules with all that cover the same rows."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise InputError(f"'max_equivalents' must be an int >= 0, got {limit!r}.")
    if limit == 0:
        return rules
    out = []
    for each, (rule, _) in zip(rules, ranked, strict=True):
        others, more = _equivalents(collector, rule, limit)
        lifted = tuple(map(collector.problem.lift, others))
        out.append(replace(each, equivalents=lifted, more_equivalents=more))
    return tuple(out)


def _equivalents(collector: Collector, rule: CodedRule, limit: int) -> tuple[list[CodedRule], bool]:
    """Rules that cover exactly the rows of this one, and whether some may be missing.

    With a gain of 1 for these rows and a great loss for the others, a rule gains the number of
    these rows exactly if it covers them and no other.
    """
    from opdt.engines.search.collect import Collector

    problem = collector.problem
    fires = problem.cover(rule.conditions)
    size = int(fires.sum())
    units = np.where(fires, 1, -size - 1).astype(np.int64)
    exact = RowGains(units, Fraction(1), (rule.label,), np.ones(len(fires), np.int64))
    # The limits on rows hold for these rows, as they do for the rule.
    free = replace(problem.constraints, min_coverage=0, min_precision=0.0, max_errors=None)
    same = replace(problem, constraints=free).with_objective(exact)
    finder = Collector(same, collector.clock, collector.switches, collector.prepared)
    found = finder.at_least(size, limit + 2, by_rows=False)
    others = [other for other, _ in found.rules() if other != rule]
    return others[:limit], len(others) > limit or not found.is_complete


def _within(name: str, value: Any, most: float) -> Fraction:
    wanted = "a share from 0 to 1" if most == 1 else "a number of rows >= 0"
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) <= most or math.isinf(value):
        raise InputError(f"'{name}' must be {wanted}, got {value!r}.")
    return as_written(float(value))
