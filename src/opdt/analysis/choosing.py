"""Rules for many prices at once, and rules for what a user really wants."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from opdt.analysis.path import WeightPath
from opdt.engines.prices import Line, Pricer
from opdt.solution import Solution

DIGITS = 3  # of a price that stands for a segment, where so many are enough


def best_lines(pricer: Pricer, prices: Iterable[Fraction]) -> dict[Fraction, Line | None]:
    """The best rule at each price, by as few solves as needed.

    Where two prices have the same best line, so has every price between them, because the
    optimum is convex. A limit of the budget leaves the best lines found so far.
    """
    asked = sorted(set(prices))
    found: dict[Fraction, Line | None] = {}

    def settle(low: int, high: int) -> None:
        """Fill in what lies between two prices that are done."""
        if high - low < 2:
            return
        one, two = found[asked[low]], found[asked[high]]
        if one is None or two is None or one[:2] == two[:2]:
            found.update((w, one) for w in asked[low + 1 : high])
            return
        middle = (low + high) // 2
        found[asked[middle]] = pricer.solve(asked[middle], one.rule).line
        settle(low, middle)
        settle(middle, high)

    start = None
    for w in dict.fromkeys((*asked[:1], *asked[-1:])):
        line = found[w] = pricer.solve(w, start).line
        start = None if line is None else line.rule
    settle(0, len(asked) - 1)
    return found


def price_grid(path: WeightPath, single: float = 10.0) -> list[float]:
    """One price of few digits inside each segment that has a rule.

    `single` stands for a path of one segment, which has no middle.
    """
    prices = []
    for segment in path.segments:
        if segment.rule is not None:
            prices.append(_inside(segment.w_from, segment.w_to, single))
    return prices


def _inside(w_from: float, w_to: float, single: float) -> float:
    """The geometric middle; twice the beginning of a segment without an end."""
    if w_to == math.inf:
        return single if w_from == 1 else float(f"{2 * w_from:.{DIGITS}g}")
    middle = math.sqrt(w_from * w_to)
    short = float(f"{middle:.{DIGITS}g}")
    return short if w_from < short < w_to else middle


def most_correct(pricer: Pricer) -> Solution:
    """The rule with the most correct rows of those that meet the constraints.

    At the price 1 an error costs what it brings, so that the VI counts correct rows.
    """
    w = Fraction(1)
    return replace(pricer.solution(w, pricer.solve(w)), objective="coverage")
