"""What the counts of two axes say about rules of three conditions and more.

Statement. Let A, B, … be the rows of k conditions. A rule of them all covers no more mass than any
two of them, and its loss is at least, for any of the conditions A, the sum of |AX| over the other
conditions X less (k - 2) |A|, where |·| is the loss of rows.

Proof. The first part holds because a conjunction covers no more than any part of it. For the
second, the rows of A that the rule leaves out are left out by some other X; so their loss is at
most the sum of |A| - |AX| over the k - 1 others, and |A| less that sum is what remains. Both hold
for weights as for rows.

Positions are put together to few steps: a position in step `i` of a ray covers at most the steps
from `i` on and at least those from `i + 1` on, so that the tables of pairs of steps bound all
rules. Most sets of axes are ruled out so, without being counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.engines.jit import kernel
from opdt.engines.search.grid import MISSING, OTHERS, PRESENT, SOME, THIS, Axis, Grid
from opdt.engines.search.scan_kernels import FIRST_SINGLE, UP, Groups, Rules, may_stand

Whole = NDArray[np.int64]
STEPS = (24, 16, 12, 8, 6, 4, 3, 2)  # of an ordered ray; the most that fit are taken


class PairBounds:
    """Counts of all pairs of rays, by steps numbered through: `counts` (channels, steps, steps).

    Parameters
    ----------
    axes : sequence of Axis
        Those of which the pairs are counted.
    n_rays, channels, n_steps : int
    """

    def __init__(self, axes: Sequence[Axis], n_rays: int, channels: int, n_steps: int) -> None:
        self._size, self._single = np.zeros(n_rays, np.int64), np.ones(n_rays, bool)
        for axis in axes:
            for ray in axis.rays():
                self._single[ray] = ray not in (axis.up, axis.down)
                self._size[ray] = 1 if self._single[ray] else min(axis.n_bins, n_steps)
        self._start = np.append(0, np.cumsum(self._size)[:-1])
        self._covers = [self._covers_of(axis) for axis in axes]
        self._steps = [
            np.concatenate([np.arange(self._size[r]) + self._start[r] for r in axis.rays()])
            for axis in axes
        ]
        total = int(self._size.sum())
        self._counts = np.zeros((channels, total, total), np.int64)
        self._known = np.zeros(len(axes), bool)  # axes whose own counts are in
        self.n_steps = n_steps

    @classmethod
    def of(cls, axes: Sequence[Axis], n_rays: int, channels: int, room: float) -> PairBounds | None:
        """Tables as fine as so many bytes allow; None where they allow none."""
        ordered = sum((axis.up >= 0) + (axis.down >= 0) for axis in axes)
        for n_steps in STEPS:
            if 8 * channels * (n_rays + ordered * (n_steps - 1)) ** 2 <= room:
                return cls(axes, n_rays, channels, n_steps)
        return None

    def _covers_of(self, axis: Axis) -> NDArray[np.float64]:
        """Which bins each step of the axis's rays covers at most: (steps, bins) of 0 and 1."""
        n, bins = axis.n_bins, np.arange(axis.n_bins + 1)
        singles = {ray: (how, bin_, some) for ray, how, bin_, some in axis.singles}
        rows: list[NDArray[Any]] = []
        for ray in axis.rays():
            if ray in singles:
                how, bin_, some = singles[ray]
                rows.append({
                    THIS: bins == bin_, OTHERS: (bins != bin_) & (bins < n),
                    SOME: np.isin(bins, some), MISSING: bins == n, PRESENT: bins < n,
                }[how][None, :])  # fmt: skip
                continue
            place = bins if ray == axis.up else n - 1 - bins
            step = np.where(bins < n, place * int(self._size[ray]) // max(1, n), -1)
            rows.append(step >= np.arange(self._size[ray])[:, None])
        return np.concatenate(rows).astype(np.float64)

    def add(self, one: int, two: int, cells: Whole) -> None:
        """Take the counts (n_groups, bins of the second, bins of the first) of a pair of axes.

        The channel behind those of the groups, if there is one, is their sum.
        """
        n_groups = len(cells)
        for c in range(len(self._counts)):
            # sums of weights are below 2 ** 53, so that doubles hold them exactly
            own = (cells[c] if c < n_groups else cells.sum(axis=0)).astype(np.float64).T
            if one != two:
                self._put(c, one, two, own)
            for axis, alone in ((one, own.sum(axis=1)), (two, own.sum(axis=0))):
                if not self._known[axis]:
                    self._put(c, axis, axis, np.diag(alone))
        self._known[[one, two]] = True

    def _put(self, channel: int, one: int, two: int, cells: NDArray[np.float64]) -> None:
        n, m = cells.shape
        sums = self._covers[one][:, :n] @ cells @ self._covers[two][:, :m].T
        table = self._counts[channel]
        table[np.ix_(self._steps[one], self._steps[two])] = sums
        table[np.ix_(self._steps[two], self._steps[one])] = sums.T

    def open(self, grid: Grid, sets: Whole, groups: Groups, rules: Rules, need: int) -> Whole:
        """The sets of axes on which some rule may gain the need."""
        alive = np.zeros(len(sets), bool)
        keep_open(
            self._counts, self._start, self._size, self._single, grid, sets, groups, rules, need,
            alive,
        )  # fmt: skip
        return sets[alive]


@kernel(allocates=True)
def keep_open(
    counts: Any, start: Any, size: Any, single: Any, grid: Any, sets: Any, groups: Any, rules: Any,
    need: int, alive: Any,
) -> None:  # fmt: skip
    """Mark the sets of axes with some rays that may gain the need."""
    k = sets.shape[1]
    modes, chosen = np.empty(k, np.int64), np.empty(k, np.int64)
    code = np.zeros(k + 1, np.int64)
    for s in range(sets.shape[0]):
        axes = sets[s]
        depth = 0
        modes[0] = -1
        while depth >= 0 and not alive[s]:
            axis = axes[depth]
            modes[depth] += 1
            mode = modes[depth]
            at = grid.first[axis] + mode - FIRST_SINGLE
            if at >= grid.first[axis + 1]:
                depth -= 1
                continue
            ray = grid.up[axis] if mode == UP else grid.down[axis]
            if mode >= FIRST_SINGLE:
                ray = grid.single_ray[at]
            if ray < 0 or not may_stand(grid, axes, modes, depth, rules.once):
                continue
            chosen[depth] = ray
            code[depth + 1] = code[depth] * rules.n_kinds + rules.kinds[ray]
            if depth < k - 1:
                depth += 1
                modes[depth] = -1
                continue
            if rules.allowed.size > 0 and not rules.allowed[code[k]]:
                continue
            for p in range(groups.labels.size):
                if steps_open(counts, start, size, single, chosen, groups, p, need):
                    alive[s] = True
                    break


@kernel(inner=True, allocates=True)
def steps_open(
    counts: Any, start: Any, size: Any, single: Any, rays: Any, groups: Any, p: int, need: int
) -> bool:
    """Whether some steps of the rays have a bound of at least the need."""
    k = rays.size
    plus, minus = groups.plus[p], groups.minus[p]
    right = counts[groups.right[p]]
    but_right = groups.wrong[p] < 0
    wrong = counts[counts.shape[0] - 1] if but_right else counts[groups.wrong[p]]
    step = np.zeros(k, np.int64)  # of each ray, numbered through
    tight = np.zeros(k, np.int64)
    most = np.zeros(k + 1, np.int64)  # the least mass of two of the first rays
    most[0] = 1 << 60
    depth = 0
    step[0] = start[rays[0]]
    while depth >= 0:
        ray, own = rays[depth], step[depth]
        hopeless = own == start[ray] + size[ray]
        if not hopeless:
            here = most[depth]
            for e in range(depth + 1):
                here = min(here, right[step[e], own])
            most[depth + 1] = here
            hopeless = plus * here < need  # and tighter steps have no more
        if hopeless:
            depth -= 1
            if depth >= 0:
                step[depth] += 1
            continue
        if depth < k - 1:
            depth += 1
            step[depth] = start[rays[depth]]
            continue
        least = np.int64(0)
        empty = False  # the tightest positions may cover nothing
        for e in range(k):
            tight[e] = step[e] if single[rays[e]] else step[e] + 1
            empty = empty or tight[e] == start[rays[e]] + size[rays[e]]
        if not empty:
            for a in range(k):
                total = np.int64(0)
                for b in range(k):
                    lost = wrong[tight[a], tight[b]]
                    if but_right:
                        lost -= right[tight[a], tight[b]]
                    total += -(k - 2) * lost if a == b else lost
                least = max(least, total)
        if plus * most[k] - minus * least >= need:
            return True
        step[depth] += 1
    return False
