"""Passes over a table in the memory of this machine: what every device must agree with."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from opdt.device.passes import UNKNOWN, CountedCells, DevicePasses, SetsAsked, SiftedBoxes
from opdt.device.table_question import TableQuestion, keys_of
from opdt.scale.keys import Coded
from opdt.scale.passes import CountCells, FetchRows, PassPart, SiftBoxes, levels_of
from opdt.scale.scanner import Parts

Whole = NDArray[np.int64]


class HostCells(CountedCells):
    """Counts in an array."""

    def __init__(self, part: CountCells, cells: Whole) -> None:
        self._part, self._cells = part, cells

    def bounds(self, asked: SetsAsked) -> Whole:
        """See `CountedCells`."""
        out = np.full((asked.number, 2), UNKNOWN)
        for at in range(asked.number):
            axes = self._part.sets[asked.first + at]
            if not asked.ordered[axes].all():
                continue
            cells = self._part.cells_of(asked.first + at, self._cells)
            # the first axis is the last one of the array; missing values are in no rule
            inner = tuple(slice(0, n) for n in asked.n_bins[axes][::-1])
            out[at] = _bound(cells[(slice(None), *inner)], asked)
        return out

    def take(self, places: Whole) -> Whole:
        """See `CountedCells`."""
        starts = self._part.starts
        own = [self._cells[starts[p] : starts[p + 1]] for p in places.tolist()]
        return np.concatenate(own) if own else np.empty(0, np.int64)


def _bound(cells: Whole, asked: SetsAsked) -> tuple[int, int]:
    """Bound and gain of one set; `cells` (n_groups, …) are those of values."""
    best = reached = -(1 << 62)
    groups, n_dims = asked.groups, cells.ndim - 1
    for ways in product((1, -1), repeat=n_dims):
        turned = cells[(slice(None), *(slice(None, None, way) for way in ways))]
        for p in range(len(groups.labels)):
            right = turned[groups.right[p]]
            both = (right, turned.sum(axis=0) - right)
            plus, minus = int(groups.plus[p]), int(groups.minus[p])
            sums, exact = [], []
            for counts, loosest in zip(both, (plus >= 0, minus < 0), strict=True):
                behind = _tighter(counts)
                exact.append(behind)
                if not loosest:
                    behind = np.pad(behind, [(0, 1)] * n_dims)[(slice(1, None),) * n_dims]
                sums.append(behind)
            best = int((plus * sums[0] - minus * sums[1]).max(initial=best))
            reached = int((plus * exact[0] - minus * exact[1]).max(initial=reached))
    return best, reached


class HostBoxes(SiftedBoxes):
    """Sums in arrays."""

    def __init__(self, part: SiftBoxes, sums: Parts) -> None:
        self._part, self._sums = part, sums
        sizes = [int(part.sizes(b).prod()) for b in range(len(part.boxes))]
        self._starts = np.append(0, np.cumsum(sizes)).astype(np.int64)

    def bounds(self) -> Whole:
        """See `SiftedBoxes`."""
        out = np.empty((len(self._part.boxes), 2), np.int64)
        for b in range(len(out)):
            own = slice(self._starts[b], self._starts[b + 1])
            shape = self._part.sizes(b).tolist()
            mass, loss = (_tighter(self._sums[n][own].reshape(shape)) for n in ("mass", "loss"))
            tight = loss
            for axis, size in enumerate(shape):
                tight = tight.take(np.minimum(np.arange(1, size + 1), size - 1), axis)
            out[b] = (mass - tight).max(), (mass - loss).max()
        return out

    def take(self, places: Whole) -> Parts:
        """See `SiftedBoxes`."""
        own = [np.arange(self._starts[p], self._starts[p + 1]) for p in places.tolist()]
        cells = np.concatenate(own)
        return {name: sums[cells] for name, sums in self._sums.items()}


def _tighter(cells: Whole) -> Whole:
    """Sums over all cells at least as tight."""
    for axis in range(cells.ndim):
        cells = np.flip(np.flip(cells, axis).cumsum(axis), axis)
    return cells


class HostPasses(DevicePasses):
    """The passes of `opdt.scale` over the codes of a table."""

    result_bytes = 1 << 26

    def __init__(self, question: TableQuestion) -> None:
        self._rays = question.prepared.rays.rays
        table, objective = question.problem.table, question.objective
        self._keys = {f: keys_of(column.codes) for f, column in enumerate(table.columns)}
        self._classes = objective.classes.astype(np.uint8)
        self._weights = objective.weights

    def count(self, part: CountCells) -> CountedCells:
        """See `DevicePasses`."""
        return HostCells(part, self._result(part)["cells"])

    def sift(self, part: SiftBoxes) -> SiftedBoxes:
        """See `DevicePasses`."""
        return HostBoxes(part, self._result(part))

    def fetch(self, part: FetchRows) -> Parts:
        """See `DevicePasses`."""
        return self._result(part)

    def _result(self, part: PassPart) -> Parts:
        self.check()
        coded = Coded(self._keys, self._classes, self._weights)
        rays = sorted(part.rays)
        levels = np.empty((len(rays), coded.n_rows), np.int64)
        for at, ray in enumerate(rays):
            levels[at] = levels_of(self._rays[ray], self._keys[self._rays[ray].feature])
        parts = part.start()
        part.add(parts, coded, levels, {ray: at for at, ray in enumerate(rays)})
        return parts
