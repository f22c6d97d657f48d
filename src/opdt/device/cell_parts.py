"""What is left of a table of cells: the twin of `part_cells` in `kernels.cu`, on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Places = tuple[Whole, Whole]  # first and last place of each side

NONE = -(1 << 62)  # the bound of a cell without a position
DENSE = 8  # a part is split while it has so many times more cells than are alive


def sum_tighter(cells: Whole) -> Whole:
    """Sums over all cells at least as tight."""
    for axis in range(cells.ndim):
        cells = np.flip(np.flip(cells, axis).cumsum(axis), axis)
    return cells


class CellTable(NamedTuple):
    """The cells of a box, or of a set of axes, with sums over all cells at least as tight.

    A position in place t of a side covers the places behind t, and t at most. Of a box, the one
    position of a lone place covers it, and so does the tightest one, in the last place. Of a set of
    axes, places begin behind the first value of their bin: the one position of a lone place covers
    the places behind it alone, and behind the last place there is nothing.
    """

    mass: Whole
    loss: Whole
    rows: Whole
    lone: Sequence[NDArray[np.bool_]]  # of each side, which places have one position
    is_box: bool

    def tightest(self, sums: Whole) -> Whole:
        """Of each cell the sum of the tightest cell that its positions need cover."""
        for axis, lone in enumerate(self.lone):
            at = np.arange(len(lone))
            behind = at + 1
            if self.is_box:
                behind = np.where(lone, at, np.minimum(behind, len(lone) - 1))
            sums = _padded(sums, axis).take(behind, axis)
        return sums

    def bounds(self) -> Whole:
        """What no position of each cell gains more than; `NONE` where there is no position."""
        mass, exists = self.mass, np.ones(self.mass.shape, bool)
        for axis, lone in enumerate(self.lone if not self.is_box else ()):
            at = np.arange(len(lone))
            mass = _padded(mass, axis).take(at + lone, axis)
            shape = [len(lone) if d == axis else 1 for d in range(mass.ndim)]
            exists &= ~(lone & (at == len(lone) - 1)).reshape(shape)
        return np.where(exists, mass - self.tightest(self.loss), NONE)


def _padded(sums: Whole, axis: int) -> Whole:
    """Sums with a place of nothing behind the last one of a side."""
    return np.pad(sums, [(0, int(d == axis)) for d in range(sums.ndim)])


def parts_of_cells(table: CellTable, goal: int, most: int) -> Iterator[list[int]]:
    """Bound, undecided rows, first and last places of the parts that may gain the goal.

    Where more than `most` cells may gain it, they are not told apart.
    """
    bounds, end, sizes = table.bounds(), table.tightest(table.rows), np.array(table.mass.shape)
    alive = np.argwhere((bounds >= goal) & (bounds != NONE))
    if not len(alive):
        return
    own = bounds[tuple(alive.T)]
    if len(alive) > most:
        groups = [(int(own.max()), 0 * sizes, sizes - 1)]
    else:
        groups = list(_grouped(alive, own))
    for bound, first, last in groups:
        for low, high in _shrunk(first, last, sizes):
            decided = int(table.rows[tuple(low)] - end[tuple(high)])
            yield [bound, decided, *low.tolist(), *high.tolist()]


def _grouped(alive: Whole, bounds: Whole) -> Iterator[tuple[int, Whole, Whole]]:
    """Cells put together to parts that hold not many others, with their largest bounds."""
    stack = [np.arange(len(alive))]
    while stack:
        own = stack.pop()
        low, high = alive[own].min(axis=0), alive[own].max(axis=0)
        if float((high - low + 1).prod(dtype=float)) <= DENSE * len(own):
            yield int(bounds[own].max()), low, high
            continue
        side = int((high - low).argmax())
        before = alive[own, side] <= (low[side] + high[side]) // 2
        stack += [own[before], own[~before]]


def _shrunk(first: Whole, last: Whole, sizes: Whole) -> list[Places]:
    """A part, or its two halves where it is most of its table, so that parts do shrink."""
    side = int((last - first).argmax())
    if ((sizes > 1) & (2 * (last - first + 1) <= sizes)).any() or first[side] == last[side]:
        return [(first, last)]
    middle = (first[side] + last[side] + 1) // 2
    end, begin = last.copy(), first.copy()
    end[side], begin[side] = middle - 1, middle
    return [(first, end), (begin, last)]
