"""What the counts of two features say about rules of three conditions: most need no counting.

A rule of three conditions covers no more mass than any two of them. Of the loss, with A, B and C
the rows of each condition, |ABC| >= |AB| + |AC| - |A|: what A and B cover together, less what C
leaves out of A. Both hold for weights too, so that the tables of pairs bound all triples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.axes import Axis
from opdt.scale import kernels
from opdt.scale.coarse import Grid
from opdt.scale.standing import Standing

Whole = NDArray[np.int64]
STEPS = (24, 16, 12, 8, 6, 4, 3, 2)  # of a ray; the most that fit are taken
SHARE = 8  # the tables take at most this part of the memory that is left


class PairTables:
    """Mass and loss of all pairs of rays, their positions put together to few steps.

    Step `i` of a ray stands for the positions in it: they cover at most the steps from `i` on,
    at least those from `i + 1` on. `mass[c, s, t]` and `loss[c, s, t]` are those of the rows that
    steps `s` and `t` of any two rays, numbered through, cover at most, for the `c`-th class.
    """

    def __init__(self, standing: Standing, grid: Grid, n_steps: int) -> None:
        self._standing = standing
        n = len(standing.rays)
        self._size = np.zeros(n, np.int64)
        self._single = np.ones(n, bool)
        covers: list[Whole] = []
        for axis in grid.axes:
            for ray in axis.turns:
                self._single[ray] = axis.edges[ray] is None
                self._size[ray] = _n_steps(axis, ray, n_steps)
        self._start = np.append(0, np.cumsum(self._size)[:-1])
        self._steps: list[Whole] = []  # of each axis, in the order of `covers`
        for axis in grid.axes:
            covers.append(np.concatenate([_covers(axis, ray, n_steps) for ray in axis.turns]))
            self._steps.append(
                np.concatenate(
                    [np.arange(self._start[r], self._start[r] + self._size[r]) for r in axis.turns]
                )
            )
        self._covers = covers
        total = int(self._size.sum())
        self._mass, self._loss = np.zeros((2, len(standing.factors), total, total), np.int64)

    @classmethod
    def of(cls, standing: Standing, grid: Grid) -> PairTables | None:
        """Tables as fine as memory allows; None where it allows none."""
        room = standing.driver.room // SHARE
        for n_steps in STEPS:
            total = sum(_n_steps(axis, ray, n_steps) for axis in grid.axes for ray in axis.turns)
            if 16 * len(standing.factors) * total**2 <= room:
                return cls(standing, grid, n_steps)
        return None

    def add(self, chosen: Sequence[int], counts: Whole) -> None:
        """Take the counts of a pair of axes, (n_cells, n_classes)."""
        one, two = chosen
        shape = (self._covers[one].shape[1], self._covers[two].shape[1])
        for at, factors in enumerate(self._standing.factors.values()):
            gains = counts * factors
            for table, part in ((self._mass, gains), (self._loss, -gains)):
                sums = np.maximum(part, 0).sum(axis=1).reshape(shape)
                steps = self._covers[one] @ sums @ self._covers[two].T
                table[at][np.ix_(self._steps[one], self._steps[two])] = steps
                table[at][np.ix_(self._steps[two], self._steps[one])] = steps.T

    def alive(self, axes: Sequence[Axis], goal: int) -> Iterator[tuple[int, ...]]:
        """Sets of rays, one per axis, whose rules may gain the goal."""
        members = [np.array(list(axis.turns), np.int64) for axis in axes]
        out = np.empty((int(np.prod([len(m) for m in members])), 3), np.int32)
        number = kernels.open_triples(
            self._mass, self._loss, self._start, self._size, self._single,
            self._standing.question.prepared.clash, *members, axes[0] is axes[1],
            axes[1] is axes[2], goal, out,
        )  # fmt: skip
        yield from map(tuple, out[:number].tolist())


def _n_steps(axis: Axis, ray: int, n_steps: int) -> int:
    edges = axis.edges[ray]
    return 1 if edges is None else min(len(edges) - 1, n_steps)


def _covers(axis: Axis, ray: int, n_steps: int) -> Whole:
    """Which bins each step of a ray covers at most: (n_steps, n_bins) of 0 and 1."""
    turn, edges = axis.turns[ray], axis.edges[ray]
    if edges is None:
        return np.asarray(turn == 1, np.int64)[None, :]
    size = _n_steps(axis, ray, n_steps)
    step = np.where(turn < 0, -1, turn * size // max(1, len(edges) - 1))
    return np.asarray(step >= np.arange(size)[:, None], np.int64)
