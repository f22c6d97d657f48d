"""What a search over partitions knows: the best rule, and what may still be better."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import Switches, kernels
from opdt.engines.search.pricing import UnitPrice, limits_of
from opdt.engines.search.regions import FREE
from opdt.engines.search.seeding import priced_rows, unit_prices
from opdt.problem import Measure
from opdt.scale.boxes import Box
from opdt.scale.driver import Driver
from opdt.scale.leaves import Leaf
from opdt.scale.question import Question
from opdt.solution import TracePoint

Whole = NDArray[np.int64]


class Found(NamedTuple):
    """A rule: rays with positions, and what it is worth."""

    value: int
    label: int
    rays: tuple[int, ...]
    spots: tuple[int, ...]


class Standing:
    """The best value, the boxes that reach it, and the boxes that may exceed it."""

    def __init__(self, question: Question, driver: Driver, switches: Switches) -> None:
        self.question, self.driver, self.switches = question, driver, switches
        self.problem, self.scores = question.problem, question.scores
        self.rays = question.prepared.rays.rays
        self.factors = {label: question.factors(label) for label in self.problem.objective.labels}
        lowest = 1 if self.problem.may_be_empty else kernels.NEG // 2
        self.control = np.array([lowest, 0], np.int64)
        self.limits = limits_of(self.problem)
        rows = priced_rows(question.n_rows, len(self.rays))
        self.prices: dict[int, UnitPrice] = {}
        if switches.prices and rows:
            self.prices = unit_prices(
                self.problem, self.scores, lambda: question.sample_problem(rows), driver.clock
            )
        self.priced = {label: self._with_price(label) for label in self.factors}
        self.ceiling = max(
            int((np.maximum(f, 0) * question.totals).sum()) for f in self.factors.values()
        )
        self.incumbent: Found | None = None
        self.rules: list[Found] = []  # complete rules that reach the best value
        self.leaves: list[tuple[int, Leaf]] = []  # settled boxes that reach it
        self.waiting: list[Box] = []
        self.later: int | None = 1  # the fewest conditions of the rules still to be counted
        self.trace: list[TracePoint] = []
        self.sample = question.sample_keys()
        self.n_boxes = self.n_sets = 0

    @property
    def best(self) -> int:
        """The value that a rule must reach to be of interest."""
        return int(self.control[kernels.BEST])

    def bound(self) -> int:
        """A value that no rule exceeds."""
        open_bounds = [box.bound + self.scores.offset(len(box.rays)) for box in self.waiting]
        if self.later is not None:
            open_bounds.append(self.ceiling + self.scores.offset(self.later))
        return max([*open_bounds, self.best if self.incumbent else 0])

    def note(self) -> None:
        """Tell the driver where value and bound stand."""
        problem, scores = self.problem, self.scores
        value = 0.0 if problem.may_be_empty else float("-inf")
        if self.incumbent is not None:
            value = problem.vi(scores.gain_of(self.incumbent.value))
        bound = max(value, problem.vi(scores.gain_of(self.bound())))
        self.driver.value, self.driver.bound = value, bound
        self.trace.append(TracePoint(self.driver.clock.elapsed(), value, bound))

    def take(self, found: Found, *, final: bool = False) -> None:
        """Take a rule that reaches the best value; a `final` one may be the answer as it is."""
        if found.value < self.best:
            return
        self._raise(found.value)
        if self.incumbent is None or found.value > self.incumbent.value:
            self.incumbent = found
        if final:
            self.rules.append(found)

    def take_leaf(self, value: int, leaf: Leaf) -> None:
        """Take a settled box whose best value reaches the best of all."""
        self._raise(value)
        self.leaves.append((value, leaf))
        if self.incumbent is None or value > self.incumbent.value:
            box = leaf.box
            _, spots = leaf.spots(value - self.scores.offset(len(box.rays)), hurry=True)
            self.incumbent = Found(value, box.label, box.rays, spots)

    def _raise(self, value: int) -> None:
        if value > self.best:
            self.control[kernels.BEST] = value
            self.rules = [r for r in self.rules if r.value >= value]
            self.leaves = [(v, leaf) for v, leaf in self.leaves if v >= value]

    def _with_price(self, label: int) -> Whole:
        """The factors of a label with the price of limits on rows in them."""
        price = self.price(label)
        added = np.full(self.question.n_classes, price.wrong, np.int64)
        added[label] = price.right
        return self.factors[label] + added

    def price(self, label: int) -> UnitPrice:
        """The price of limits on rows for the rules of a label."""
        return self.prices.get(label, FREE)

    def is_fine(self, covered: int, errors: int) -> bool:
        """Whether the weights of a rule are within the limits."""
        return self.problem.within_limits(Measure(0, covered, errors))

    def prune(self) -> bool:
        """Drop the boxes below the best; whether any are left."""
        offsets = self.scores.offset
        self.waiting = sorted(
            (box for box in self.waiting if box.bound + offsets(len(box.rays)) >= self.best),
            key=lambda box: (
                -box.bound - offsets(len(box.rays)), box.rays, box.low, box.label
            ),
        )  # fmt: skip
        return bool(self.waiting)

    def candidates(self) -> list[Found]:
        """Every rule that may be the first of the best in the documented order."""
        sets = [(f.label, f.rays) for f in self.rules] + [
            (leaf.box.label, leaf.box.rays) for _, leaf in self.leaves
        ]
        if not sets:
            return []
        features = self.question.prepared.rays.features

        def used(rays: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(sorted(features[list(rays)].tolist()))

        first = min(used(rays) for _, rays in sets) if self.scores.with_errors else None
        out = [f for f in self.rules if first in (None, used(f.rays))]
        for value, leaf in self.leaves:
            if first in (None, used(leaf.box.rays)):
                gain = value - self.scores.offset(len(leaf.box.rays))
                _, spots = leaf.spots(gain, hurry=False)
                out.append(Found(value, leaf.box.label, leaf.box.rays, spots))
        return out
