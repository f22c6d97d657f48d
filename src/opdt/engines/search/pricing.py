"""Prices of limits on rows, which make bounds aware of them.

Limits on coverage, errors and precision are sums over the rows that a rule covers. Give each row a
whole number `added` such that every rule within the limits covers rows whose numbers add up to at
least `allowance`. Then its gain is at most the sum of gains + added over its rows, less the
allowance, and every bound on these *priced* gains, less the allowance, bounds the gains of the
rules within the limits. Any prices >= 0 make such numbers:

* coverage >= least: added = price × weight, allowance = price × least;
* errors <= most: added = -price × error weight, allowance = -price × most;
* precision >= a / b: added = price × ((b - a) × right weight - a × error weight) / b, allowance 0.

Where they are rounded, `added` is rounded up and the allowance down, which keeps what is said
above. Which prices are good is another matter, and decides the time only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from opdt.engines.search import kernels
from opdt.engines.search.field import Field, Whole
from opdt.engines.search.kernels import Flags, Limits
from opdt.problem import Problem

FINE = 1 << 12  # parts of a unit of value per unit of weight in which prices are counted
LARGEST = 1 << 60  # what the prices of all rows may add up to
STEPS = 14  # halvings of a price
ROUNDS = 2  # of all prices
MOST_CELLS = 2_000_000  # rays × rows on which greedy rules are tried
TIMES = 4  # the highest price, in times what the dearest unit of weight gains or loses


def limits_of(problem: Problem) -> Limits:
    """The limits on rows as the kernels take them."""
    least, most, precision = problem.limits
    return Limits(least, most, precision.numerator, precision.denominator)


@dataclass(frozen=True, eq=False)
class Price:
    """What each row has added to its gain, and what rules within the limits add at least."""

    added: Whole  # (n_rows,)
    allowance: int

    @classmethod
    def of(cls, field: Field, limits: Limits, prices: tuple[int, int, int]) -> Price | None:
        """Prices of coverage, errors and precision, in parts; None if the sums would not fit."""
        coverage, errors, precision = prices
        weights, wrong = field.weights, field.wrong
        a, b = limits.numerator, limits.denominator
        if not _fits(limits, prices, int(weights.sum())):
            return None
        right = weights - wrong
        added = -(-coverage * weights // FINE) - errors * wrong // FINE
        if precision:
            added += -(-precision * (b - a) * right // (FINE * b))
            added -= precision * a * wrong // (FINE * b)
        allowance = coverage * limits.least // FINE - -(-errors * limits.most // FINE)
        return cls(added, allowance)


class UnitPrice(NamedTuple):
    """The same for all rows of a class: what a unit of weight has added, right or wrong."""

    right: int
    wrong: int
    allowance: int

    @classmethod
    def of(
        cls, limits: Limits, prices: tuple[int, int, int], most: int, weight: int
    ) -> UnitPrice | None:
        """Prices in whole units of value; at most `most` is added to wrong rows.

        `weight` is that of all rows. None where nothing is left of the prices, or the sums would
        not fit.
        """
        a, b = limits.numerator, limits.denominator
        coverage, errors = min(prices[0] // FINE, most), prices[1] // FINE
        precision = prices[2] // (FINE * b)
        if not (coverage or errors or precision):
            return None
        if not _fits(limits, (coverage, errors, precision), weight):
            return None
        return cls(
            coverage + precision * (b - a), coverage - errors - precision * a,
            coverage * limits.least - errors * limits.most,
        )  # fmt: skip

    def added(self, weights: Whole, wrong: Whole) -> Whole:
        """What each row has added, by its weight and its error weight."""
        return self.right * (weights - wrong) + self.wrong * wrong


def _fits(limits: Limits, prices: tuple[int, int, int], weight: int) -> bool:
    """Whether what rows of this weight have added, and the allowance, fit into 64 bits."""
    coverage, errors, precision = prices
    each = coverage + errors + precision * limits.denominator
    allowed = max(coverage * limits.least, errors * limits.most)
    return max(each * (weight + 1), allowed) <= LARGEST


def find_prices(
    field: Field, flags: Flags, limits: Limits, depth: int, halted: Callable[[], bool]
) -> tuple[int, int, int] | None:
    """Prices at which the best greedy rule is about to meet the limits; None if it does for free.

    A price is bisected until the greedy rule turns from missing its limit to meeting it, one
    limit after the other.
    """
    heaviest = int((np.abs(field.gains) // np.maximum(field.weights, 1)).max(initial=1)) + 1
    prices = [0, 0, 0]
    tried = _Trials(field, flags, limits, depth)
    if min(tried(prices)) >= 0:
        return None
    for _ in range(ROUNDS):
        for at in range(3):
            low, high = 0, TIMES * heaviest * FINE
            prices[at] = 0
            if tried(prices)[at] >= 0:
                continue
            for _ in range(STEPS):
                if halted():
                    return None
                prices[at] = (low + high) // 2
                if tried(prices)[at] < 0:
                    low = prices[at]
                else:
                    high = prices[at]
            prices[at] = high
    return tried.best if tried.best is not None and any(tried.best) else None


class _Trials:
    """Greedy rules at different prices, on so many of the rows that trying is quick."""

    def __init__(self, field: Field, flags: Flags, limits: Limits, depth: int) -> None:
        every = max(1, len(field.rays) * field.n_rows // MOST_CELLS)
        rows = np.arange(0, field.n_rows, every, dtype=np.int32)
        self._flags = flags._replace(constrained=False, priced=False, reduce=False)
        self._field = field.reduced(rows, kernels.NEG, self._flags, sort=True)
        self._limits = limits._replace(least=limits.least // every, most=limits.most // every)
        self._depth = depth
        self._least: int | None = None
        self.best: tuple[int, int, int] | None = None  # of the lowest bound, if greedy is best

    def __call__(self, prices: list[int]) -> tuple[int, int, int]:
        """By how much the greedy rule keeps within each limit."""
        limits, chosen = self._limits, (prices[0], prices[1], prices[2])
        price = Price.of(self._field, limits, chosen)
        if price is None:
            return 0, 0, 0
        field = self._field.priced(price.added)
        rows = max(
            _greedy(field, self._flags, self._depth), key=lambda rows: int(field.gains[rows].sum())
        )
        bound = int(field.gains[rows].sum()) - price.allowance
        if self._least is None or bound < self._least:
            self._least, self.best = bound, chosen
        covered, errors = int(field.weights[rows].sum()), int(field.wrong[rows].sum())
        return (
            covered - limits.least,
            limits.most - errors,
            (covered - errors) * limits.denominator - covered * limits.numerator,
        )


def _greedy(field: Field, flags: Flags, depth: int) -> Iterator[Whole]:
    """Rows of all, and of greedy rules of one condition more each."""
    rows = np.arange(field.n_rows)
    yield rows
    for _ in range(depth):
        values, positions = field.singles(flags, kernels.Limits(0, 0, 0, 1))
        if not len(values):
            return
        ray = int(values.argmax())
        inside = field.rows_at(ray, int(positions[ray]))
        rows = rows[inside]
        yield rows
        field = field.reduced(inside, kernels.NEG, flags, sort=False)
