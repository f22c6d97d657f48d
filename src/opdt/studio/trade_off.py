"""Precision against coverage: every rule that is the best at some price, or for some errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opdt.analysis.frontier import FrontierPoint, ParetoFrontier, pareto_frontier
from opdt.analysis.path import Segment, WeightPath, weight_path
from opdt.report import rule_report
from opdt.rules import Rule
from opdt.solution import Budget
from opdt.studio.tables import RowPart
from opdt.table import Table
from opdt.verdict import Verdict, judge

MAX_POINTS = 80
_MOST_DIGITS = 12


@dataclass(frozen=True)
class TradeOffPoint:
    """A rule that no other rule beats in correct rows and in errors alike.

    Attributes
    ----------
    rule : Rule
    covered, errors : int
    precision, coverage : float
        On the training rows.
    held_out_precision, held_out_coverage : float or None
        On the held-out rows, if there are any; the precision is NaN where none is covered.
    w_from, w_to : float or None
        The prices of an error at which the rule is the best; None where no price singles it out.
    verdict : Verdict or None
        By the training rows and, if there are any, the held-out rows.
    """

    rule: Rule
    covered: int
    errors: int
    precision: float
    coverage: float
    held_out_precision: float | None
    held_out_coverage: float | None
    w_from: float | None = None
    w_to: float | None = None
    verdict: Verdict | None = None

    def choice(self) -> dict[str, Any]:
        """What to say to get this rule: the arguments of `Work.change`."""
        if self.w_from is not None and self.w_to is not None:
            return {"w": plain_price(self.w_from, self.w_to), "max_errors": None}
        # At the price 1 the most correct rows win, of the rules with at most so many errors.
        return {"w": 1.0, "max_errors": self.errors}


@dataclass(frozen=True, eq=False)
class TradeOff:
    """The exact trade-off of a table.

    Attributes
    ----------
    points : tuple of TradeOffPoint
        From the fewest errors to the most.
    path : WeightPath
        The best rule of every price.
    frontier : ParetoFrontier or None
        None as long as only the prices are known.
    """

    points: tuple[TradeOffPoint, ...]
    path: WeightPath
    frontier: ParetoFrontier | None

    @property
    def is_complete(self) -> bool:
        """Whether no point is missing, and all are proven."""
        return self.path.complete and self.frontier is not None and self.frontier.complete

    def nearest(self, rule: Rule | None) -> TradeOffPoint | None:
        """The point of a rule, if it is one."""
        return next((point for point in self.points if point.rule == rule), None)


def trace_trade_off(
    table: Table,
    held_out: RowPart | None,
    settings: Mapping[str, Any],
    budget: Budget,
    on_path: Callable[[TradeOff], None] | None = None,
) -> TradeOff:
    """The path, told at once, and then the whole frontier; both within the budget."""
    path = weight_path(table, budget=budget, **settings)
    first = TradeOff(_points(path, path.segments, held_out), path, None)
    if on_path is not None:
        on_path(first)
    if budget.time_limit is not None:
        budget = replace(budget, time_limit=max(0.0, budget.time_limit - path.seconds))
    frontier = pareto_frontier(table, limit=MAX_POINTS, budget=budget, **settings)
    if len(frontier) < len(first.points):  # a limit was met before the prices were done again
        return TradeOff(first.points, path, frontier)
    return TradeOff(_points(path, frontier.points, held_out), path, frontier)


def _points(
    path: WeightPath, rules: Sequence[Segment | FrontierPoint], held_out: RowPart | None
) -> tuple[TradeOffPoint, ...]:
    prices = {(s.covered, s.errors): (s.w_from, s.w_to) for s in path.segments}
    found = []
    for each in sorted(rules, key=lambda each: each.errors):
        if each.rule is None:
            continue
        seen: tuple[float | None, float | None] = None, None
        report = None
        if held_out is not None:
            report = rule_report(each.rule, held_out.source, held_out.labels)
            seen = report.precision, report.coverage
        low, high = prices.get((each.covered, each.errors), (None, None))
        found.append(
            TradeOffPoint(
                each.rule,
                round(each.covered),
                round(each.errors),
                each.precision,
                each.coverage,
                *seen,
                low,
                high,
                judge(each.evidence, held_out=report),
            )
        )
    return tuple(found)


def plain_price(low: float, high: float) -> float:
    """A price between two others, with as few digits as will do.

    Examples
    --------
    >>> plain_price(2.2, 9.7), plain_price(1.5, 1.6), plain_price(12.5, float("inf"))
    (5.0, 1.55, 26.0)
    """
    middle = 2 * low + 1 if math.isinf(high) else math.sqrt(low * high)
    for digits in range(_MOST_DIGITS):
        price = round(middle, digits)
        if low < price < high:
            return float(price)
    return middle
