"""A search whose rows lie in partitions: its best rule, and the boxes that decide ties."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import Switches, kernels
from opdt.engines.search.boxes import Box
from opdt.engines.search.run import Run
from opdt.engines.search.scan import Scan
from opdt.problem import Measure
from opdt.scale.driver import Driver
from opdt.scale.leaves import Leaf
from opdt.scale.passes import Pass, PassPart
from opdt.scale.question import Question
from opdt.scale.scanner import Parts

Whole = NDArray[np.int64]


class Found(NamedTuple):
    """A rule: rays with positions, and what it is worth."""

    value: int
    label: int
    rays: tuple[int, ...]
    spots: tuple[int, ...]


class PartitionRun(Run):
    """One search over partitions.

    It is the search of `opdt.engines.search` with other rows. A box is dropped only if its bound is
    below the best value known: whatever ties is kept with its rows, and the documented order
    decides in the end, so that the answer does not depend on how the rows are divided.
    """

    def __init__(self, question: Question, driver: Driver, switches: Switches) -> None:
        super().__init__(
            question.problem, question.prepared, driver.clock, switches, scores=question.scores
        )
        self.question, self.driver = question, driver
        self.rays = question.prepared.rays.rays
        self.factors = {label: question.factors(label) for label in self.problem.objective.labels}
        self.found: Found | None = None  # the best rule
        self._rules: list[Found] = []  # complete rules that reach the best value
        self._leaves: list[tuple[int, Leaf]] = []  # settled boxes that reach it

    @cached_property
    def method(self) -> Scan:
        """Counting cells, in passes over the rows."""
        from opdt.scale.partition_rows import PartitionRows

        return PartitionRows(self).scan

    def ask(self, *parts: PassPart) -> list[Parts]:
        """One pass over the rows: the result of each of its parts."""
        task = Pass(self.question.coder, self.rays, parts)
        results = self.driver.run(task)
        return [task.result(results, at) for at in range(len(parts))]

    def watch(self) -> None:
        """Look at the clock; whoever runs the passes tells of the progress."""
        reason = self.clock.stop()
        if reason is not None and self.stopped_by is None:
            self.stopped_by = reason
            self.halt()
        self.note(quick=True)

    def note(self, *, quick: bool) -> None:
        """Put value and bound into the trace."""
        self.driver.value, self.driver.bound = self._vi_value(), self._vi_bound()
        self.recorder.improved(None, self.driver.value, self.driver.bound)

    def offer(self, value: int, label: int, rays: tuple[int, ...], hint: Box | None = None) -> None:
        """Take a rule that reaches the best value: that of a box of one position, or the empty one.

        The empty rule is complete; a box that reaches the same value is settled later on.
        """
        if value < self.best:
            return
        found = Found(value, label, (), ())
        if hint is not None:
            found = Found(value, label, hint.rays, hint.high)
        self._raise(found)
        if hint is None:
            self._rules.append(found)

    def take_leaf(self, value: int, leaf: Leaf) -> None:
        """Take a settled box whose best value reaches the best of all."""
        box = leaf.box
        spots: tuple[int, ...] = ()
        if self.found is None or value > self.found.value:
            _, spots = leaf.spots(value - self.scores.offset(len(box.rays)), quick=True)
        self._raise(Found(value, box.label, box.rays, spots))
        self._leaves.append((value, leaf))

    def _raise(self, found: Found) -> None:
        """Take a rule as the best if it is better, and drop what is worse."""
        if self.found is None or found.value > self.found.value:
            self.found, self._noted, self.reached = found, found.value, found.value
        if found.value > self.best:
            self.control[kernels.BEST] = found.value
            self._rules = [rule for rule in self._rules if rule.value >= found.value]
            self._leaves = [own for own in self._leaves if own[0] >= found.value]

    def is_fine(self, covered: int, errors: int) -> bool:
        """Whether the weights of a rule are within the limits."""
        return self.problem.within_limits(Measure(0, covered, errors))

    def candidates(self) -> list[Found]:
        """Every rule that may be the first of the best in the documented order."""
        sets = [(rule.label, rule.rays) for rule in self._rules] + [
            (leaf.box.label, leaf.box.rays) for _, leaf in self._leaves
        ]
        if not sets:
            return []
        features = self.prepared.rays.features

        def used(rays: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(sorted(features[list(rays)].tolist()))

        first = min(used(rays) for _, rays in sets) if self.scores.with_errors else None
        out = [rule for rule in self._rules if first in (None, used(rule.rays))]
        for value, leaf in self._leaves:
            if first in (None, used(leaf.box.rays)):
                gain = value - self.scores.offset(len(leaf.box.rays))
                _, spots = leaf.spots(gain, quick=False)
                out.append(Found(value, leaf.box.label, leaf.box.rays, spots))
        return out
