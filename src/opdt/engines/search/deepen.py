"""Rules of three and more conditions: one ray after the other, bisected, down to pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import kernels
from opdt.engines.search.field import Field, Whole
from opdt.engines.search.polish import suffix_sums
from opdt.engines.search.rays import Plan
from opdt.engines.search.threads import Task

if TYPE_CHECKING:
    from opdt.engines.search.small import Sweep

Places = NDArray[np.int32]


class Deepener:
    """Settles the rules of exactly `size` conditions that begin with a given ray."""

    def __init__(self, sweep: Sweep, field: Field, flags: Whole, plan: Plan, size: int) -> None:
        self.sweep, self.run = sweep, sweep.run
        self.field, self.flags, self.plan, self.size = field, flags, plan, size
        self.offset = self.run.scores.offset(size)
        # A bisected item is settled over positions >= 1 of its own ray, so the loosest of them must
        # stay one, even where it drops nothing.
        self._keeping = flags.copy()
        self._keeping[kernels.FIRST] = 1

    def task(self, ray: int) -> Task:
        """All rules of the size whose outermost ray is this one."""

        def run(slot: int) -> None:
            self.settle(self.field, (), ray, self.size, slot)

        return run

    def n_pairs(self, ray: int) -> int:
        """How many pairs a list under this ray may hold."""
        n = len(self.field.rays) - (ray + 1 if self.run.switches.canonical else 1)
        return n * (n - 1) // 2 if n >= self.size - 1 else 0

    def _after(self, ray: int) -> int:
        return ray if self.run.switches.canonical else -1

    def settle(self, field: Field, prefix: tuple[int, ...], ray: int, left: int, slot: int) -> int:
        """Settle prefix + ray + (left - 1) rays behind it on a field.

        Returns a bound on their gains, over all positions of all of them.
        """
        names = (*prefix, int(field.rays[ray]))
        if left == 3:
            pairs = self.sweep.pairs(field, self.plan, names, self._after(ray))
            if not len(pairs[0]):
                return kernels.NEG
            unknown = np.full(len(pairs[0]), field.mass, np.int64)
            return int(self._outer(field, prefix, ray, *pairs, unknown, slot).max())
        if left == 4:
            return self._bisect(_Triples(self, field, names, ray, slot), field, ray)
        return self._bisect(_Branches(self, field, names, ray, left, slot), field, ray)

    def _outer(
        self,
        field: Field,
        prefix: tuple[int, ...],
        ray: int,
        first: Places,
        second: Places,
        start: Whole,
        slot: int,
    ) -> Whole:
        """The compiled loop over one ray's positions and many pairs; bounds of the pairs."""
        run = self.run
        space = self.sweep.spaces[slot]
        ends = np.empty(len(first), np.int64)
        while True:
            ended = kernels.outer(
                field.levels, field.gains, field.weights, field.wrong, field.tops, ray, first,
                second, start, ends, self.offset, self.flags, run.limits, run.control,
                space.counters, space.records, *space.outer, *space.node,
            )  # fmt: skip
            self.sweep.take_records(slot, field, prefix)
            if ended != kernels.FULL:
                return ends
            space.grow_records()

    def _bisect(self, items: _Items, field: Field, ray: int) -> int:
        """Settle a ray's positions by bisection, as `kernels.outer` does one level below.

        Returns a bound on the gain of all items at all positions >= 1.
        """
        run, top = self.run, int(field.tops[ray])
        mass, loss = _by_position(field, ray)
        ends = np.full(items.number, kernels.NEG, np.int64)
        every = np.arange(items.number, dtype=np.int32)
        stack = [
            (0, top + 1, every, np.full(items.number, field.mass), np.zeros(items.number, np.int64))
        ]
        while stack and items.number:
            low, high, ids, at_low, at_high = stack.pop()
            if high - low < 2 or not len(ids):
                continue
            if run.halted():
                return field.mass
            middle = (low + high) // 2 if run.switches.intervals else high - 1
            goal = run.best - self.offset
            settled = np.empty(items.number, np.int64)
            settled[ids] = np.minimum(
                at_low + loss[low] - loss[middle], at_high + mass[middle] - mass[high]
            )
            wanted = ids[settled[ids] >= goal] if run.switches.intervals else ids
            if len(wanted):
                floor = goal - int(mass[low + 1] - mass[middle])
                if not run.switches.reduction or not run.switches.intervals:
                    floor = kernels.NEG
                rows = field.rows_at(ray, middle)
                node = field.reduced(rows, floor, self._keeping, sort=False)
                items.settle(node, wanted, settled)
                if run.halted():
                    return field.mass
                settled[wanted] = np.maximum(settled[wanted], max(floor - 1, 0))
            goal = run.best - self.offset if run.switches.intervals else kernels.NEG
            left, right = np.empty((2, len(ids)), np.int32)
            n_left, n_right, bound_left, bound_right = kernels.split_items(
                low, middle, high, ids, at_low, settled, at_high, mass, loss, goal, ends, left,
                right,
            )  # fmt: skip
            halves = []
            for bound, a, b, places, before, after in (
                (bound_left, low, middle, left[:n_left], at_low, settled[ids]),
                (bound_right, middle, high, right[:n_right], settled[ids], at_high),
            ):
                halves.append((bound, (a, b, ids[places], before[places], after[places])))
            halves.sort(key=lambda half: half[0])  # the more promising half is taken first
            stack.extend(half for _, half in halves)
        return int(ends.max(initial=kernels.NEG))


def _by_position(field: Field, ray: int) -> tuple[Whole, Whole]:
    """Mass and loss of the rows at each position 0 … top + 1 of a ray."""
    size, own, gains = int(field.tops[ray]) + 2, field.levels[ray], field.gains
    return suffix_sums(own, np.maximum(gains, 0), size), suffix_sums(
        own, np.maximum(-gains, 0), size
    )


class _Items(ABC):
    """What a bisection settles at each position: its number, and how."""

    number: int

    @abstractmethod
    def settle(self, node: Field, wanted: Places, settled: Whole) -> None:
        """Put the best gain (or a bound) of each wanted item on the node into `settled`."""


class _Triples(_Items):
    """Every triple of rays behind the outer one, with a bound of its own."""

    def __init__(
        self, owner: Deepener, field: Field, names: tuple[int, ...], ray: int, slot: int
    ) -> None:
        self._owner, self._names, self._slot = owner, names, slot
        self._groups: list[tuple[int, Places, Places, int]] = []
        self.number = 0
        clash = owner.run.prepared.clash
        after = owner._after(ray)
        for second in range(after + 1, len(field.rays)):
            name = int(field.rays[second])
            if any(clash[other, name] for other in names):
                continue
            pairs = owner.sweep.pairs(field, owner.plan, (*names, name), owner._after(second))
            if len(pairs[0]):
                self._groups.append((second, *pairs, self.number))
                self.number += len(pairs[0])
        self._starts = np.array([group[3] for group in self._groups] + [self.number])

    def settle(self, node: Field, wanted: Places, settled: Whole) -> None:
        cuts = np.searchsorted(wanted, self._starts)
        mass = node.mass
        for (second, first, other, start), a, b in zip(
            self._groups, cuts[:-1], cuts[1:], strict=True
        ):
            if a == b or self._owner.run.halted():
                continue
            places = wanted[a:b] - start
            ends = self._owner._outer(
                node,
                self._names,
                second,
                first[places],
                other[places],
                np.full(b - a, mass, np.int64),
                self._slot,
            )
            settled[wanted[a:b]] = ends


class _Branches(_Items):
    """Every ray behind the outer one, with one bound for all that begins with it."""

    def __init__(
        self,
        owner: Deepener,
        field: Field,
        names: tuple[int, ...],
        ray: int,
        left: int,
        slot: int,
    ) -> None:
        self._owner, self._names, self._left, self._slot = owner, names, left, slot
        clash = owner.run.prepared.clash
        self._seconds = [
            second
            for second in range(owner._after(ray) + 1, len(field.rays))
            if not any(clash[other, int(field.rays[second])] for other in names)
        ]
        self.number = len(self._seconds)

    def settle(self, node: Field, wanted: Places, settled: Whole) -> None:
        owner = self._owner
        for item in wanted.tolist():
            if owner.run.halted():
                return
            second = self._seconds[item]
            settled[item] = owner.settle(node, self._names, second, self._left - 1, self._slot)
