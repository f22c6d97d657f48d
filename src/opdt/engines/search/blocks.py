"""Rules by the block: the best of very many, in the documented order."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.position_kernels import COVERED, ERRORS, GAIN, SIGNATURE
from opdt.engines.search.rays import Rays
from opdt.problem import CodedRule, Measure
from opdt.problem.coded import tightness

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Blocks:
    """Boxes of positions on sets of rays; all rules of a block cover the same rows.

    Rays stand in the order of the table, -1 behind the last; `low` and `high` are the loosest
    and tightest positions, 0 behind the last.
    """

    labels: Whole  # (n,)
    sizes: Whole  # (n,) number of conditions
    rays: Whole  # (n, depth)
    low: Whole  # (n, depth)
    high: Whole  # (n, depth)
    sums: Whole  # (n, m), see `position_kernels`

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, chosen: NDArray[np.int64]) -> Blocks:
        """Some blocks, in this order."""
        return Blocks(*(getattr(self, f.name)[chosen] for f in fields(self)))

    @classmethod
    def joined(cls, parts: list[Blocks]) -> Blocks:
        """All blocks of several parts."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    @classmethod
    def none(cls, depth: int, n_sums: int) -> Blocks:
        """No block."""
        flat, wide = np.empty(0, np.int64), np.empty((0, depth), np.int64)
        return cls(flat, flat, wide, wide, wide, np.empty((0, n_sums), np.int64))

    @cached_property
    def counts(self) -> Whole:
        """The number of rules in each block, at most 2**40."""
        widths = (self.high - self.low + 1).astype(float)
        counts: Whole = np.minimum(widths.prod(axis=1, where=self.rays >= 0), 2.0**40).astype(int)
        return counts

    def hold(self, one: Blocks) -> bool:
        """Whether some block holds the first rule of another."""
        inside = (self.labels == one.labels[0]) & (self.rays == one.rays[0]).all(axis=1)
        inside &= ((self.low <= one.low[0]) & (one.low[0] <= self.high)).all(axis=1)
        return bool(inside.any())

    def measure(self, at: int) -> Measure:
        """Gain, covered rows and errors of the rules of a block."""
        gain, covered, errors = self.sums[at, [GAIN, COVERED, ERRORS]].tolist()
        return Measure(gain, covered, errors)

    def pattern(self, at: int) -> tuple[int, ...]:
        """What is the same for two blocks exactly if class and covered rows are.

        Two sums of random numbers, one per row, of at least 40 bits each for up to two million
        rows: other rows agree in both by an accident of probability 2**-80.
        """
        return (int(self.labels[at]), *self.sums[at, SIGNATURE : SIGNATURE + 2].tolist())


class Order:
    """The order of rules (`Problem.key`) on rays and positions."""

    def __init__(self, rays: Rays) -> None:
        self.rays = rays
        self._features = np.append(rays.features, -1)
        # The place of each ray among all, so that comparing places and then positions compares
        # conditions on one feature: threshold rays have their positions from loose to tight.
        looseness = [
            (ray.feature, *tightness(rays.condition(at, 1), rays.n_values(ray)))
            for at, ray in enumerate(rays.rays)
        ]
        places = np.empty(len(looseness) + 1, np.int64)
        places[sorted(range(len(looseness)), key=looseness.__getitem__)] = np.arange(len(looseness))
        places[-1] = -1
        self._places = places

    def sort(self, blocks: Blocks) -> Whole:
        """The places of the blocks in the order of their loosest rules."""
        depth = blocks.rays.shape[1]
        keys = [-blocks.sums[:, GAIN], blocks.sizes, blocks.sums[:, ERRORS]]
        keys += [self._features[blocks.rays[:, d]] for d in range(depth)]
        for d in range(depth):
            keys += [self._places[blocks.rays[:, d]], blocks.low[:, d]]
        return np.lexsort([blocks.labels, *keys[::-1]])

    def rules(self, blocks: Blocks, limit: int) -> Iterator[tuple[CodedRule, int]]:
        """The first rules of sorted blocks, each with the place of its block."""

        def within(at: int) -> Iterator[tuple[tuple[object, ...], CodedRule, int]]:
            size, label = int(blocks.sizes[at]), int(blocks.labels[at])
            rays = blocks.rays[at, :size].tolist()
            measure = blocks.measure(at)
            head = (-measure.gain, size, measure.errors, self._features[rays].tolist())
            places = self._places[rays].tolist()
            ends = zip(blocks.low[at, :size].tolist(), blocks.high[at, :size].tolist(), strict=True)
            for positions in product(*(range(a, b + 1) for a, b in ends)):
                tight = tuple(zip(places, positions, strict=True))
                conditions = tuple(map(self.rays.condition, rays, positions))
                yield (*head, tight, label), CodedRule(conditions, label), at

        merged = heapq.merge(*map(within, range(len(blocks))), key=lambda item: item[0])
        return ((rule, at) for _, rule, at in islice(merged, limit))


class Store:
    """Keeps the blocks that can hold one of the first `limit` rules.

    Parameters
    ----------
    order : Order
    limit : int
        How many rules are wanted.
    by_rows : bool
        Whether rules of one class that cover the same rows count once, as the first of them.
    least, least_gain : int
        The value and the gain that a rule must have; they rise as soon as `limit` better rules
        are known.
    value : callable
        The value of a rule, given its gain, number of conditions and errors: never larger for
        a rule that comes later in the order.
    """

    def __init__(
        self,
        order: Order,
        limit: int,
        *,
        by_rows: bool,
        least: int,
        least_gain: int,
        value: Callable[[int, int, int], int],
        room: int,
    ) -> None:
        self.order, self.limit, self.by_rows = order, limit, by_rows
        self.least, self.least_gain = least, least_gain
        self._value, self._room = value, room
        self._parts: list[Blocks] = []
        self._pending = 0

    def add(self, blocks: Blocks) -> None:
        """Take blocks of at least the least value."""
        if not len(blocks):
            return
        self._parts.append(blocks)
        self._pending += len(blocks)
        # One rule is known to be beaten at once; with more, sorting has to be worth it.
        if self._pending >= (1 if self.limit == 1 else self.limit + self._room):
            self.settle()

    def settle(self) -> Blocks | None:
        """The blocks that matter, sorted; raises the least value where enough are known."""
        if not self._parts:
            return None
        blocks = Blocks.joined(self._parts)
        blocks = blocks.take(self.order.sort(blocks))
        if self.by_rows:
            marks = np.column_stack([blocks.labels, blocks.sums[:, SIGNATURE : SIGNATURE + 2]])
            blocks = blocks.take(np.sort(np.unique(marks, axis=0, return_index=True)[1]))
            last = self.limit - 1
        else:
            last = int(np.searchsorted(np.cumsum(blocks.counts), self.limit))
        if last < len(blocks):
            measure = blocks.measure(last)
            value = self._value(measure.gain, int(blocks.sizes[last]), measure.errors)
            self.least = max(self.least, value)
            self.least_gain = max(self.least_gain, measure.gain)
        # Each block has a rule, so what comes after `limit` blocks is not among the first rules.
        blocks = blocks.take(np.arange(min(len(blocks), self.limit)))
        self._parts, self._pending = [blocks], 0
        return blocks

    def clear(self) -> None:
        """Forget the blocks, but not the least value."""
        self._parts, self._pending = [], 0
