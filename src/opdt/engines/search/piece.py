"""The undecided rows of a box, settled by the kernels of small tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import kernels
from opdt.engines.search.candidate import KEEPING, Candidate
from opdt.engines.search.deepen import settle_alone
from opdt.engines.search.kernels import Limits, Pairs, Search
from opdt.engines.search.workspace import Workspace

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Piece:
    """A box of positions on a few rays: the rows they decide, and the sum of those they do not.

    `levels` (k, n_rows) count from the box's loosest side: 1 … tops[d]. `fixed` holds gain,
    weight and error weight of the rows covered at every position of the box.
    """

    levels: NDArray[np.int32]
    tops: Whole
    gains: Whole
    weights: Whole
    wrong: Whole
    fixed: tuple[int, ...]
    limits: Sequence[int]  # as `kernels.Limits` has them
    constrained: bool
    carries_errors: bool
    expired: Callable[[], bool]

    @cached_property
    def _dense(self) -> tuple[Candidate, list[Whole]]:
        """The rows with dense levels, and one more row that stands for the fixed ones."""
        k, n = self.levels.shape
        levels = np.empty((k, n + 1), np.uint16)
        values = []
        for d in range(k):
            known, place = np.unique(np.append(self.levels[d], self.tops[d]), return_inverse=True)
            levels[d] = place + 1
            values.append(known.astype(np.int64))
        candidate = Candidate(
            levels,
            np.array([len(v) for v in values], np.int64),
            np.append(self.gains, self.fixed[0]),
            np.append(self.weights, self.fixed[1]),
            np.append(self.wrong, self.fixed[2]),
            Limits(*map(int, self.limits)),
            self.constrained,
            self.carries_errors,
            self.expired,
        )
        return candidate, values

    def best(self, goal: int, control: Whole) -> int | None:
        """The best gain of the box's positions if it is at least `goal`, else None.

        `control` is watched for a stop only.
        """
        candidate, _ = self._dense
        shared = np.array([goal, 0], np.int64)
        value = _best(candidate, shared, control)
        return value if value is not None and value >= goal else None

    def positions(self, goal: int, *, quick: bool) -> tuple[int, tuple[int, ...]] | None:
        """Error weight and loosest positions, from the box's loose side, that gain the goal."""
        candidate, values = self._dense
        found = candidate.positions(goal, quick=quick)
        if found is None:
            return None
        fires = np.all(candidate.levels >= np.array(found)[:, None], axis=0)
        local = tuple(
            1 if at < 2 else int(v[at - 2]) + 1 for at, v in zip(found, values, strict=True)
        )
        return int(candidate.wrong[fires].sum()), local


def _best(piece: Candidate, shared: Whole, control: Whole) -> int | None:
    """The best gain of all rays at positions >= 1, exact where it reaches `shared[0]`."""
    if control[kernels.STOP]:
        return None
    k, n = piece.levels.shape
    flags = KEEPING._replace(mass_above=not piece.constrained, constrained=piece.constrained)
    if k == 1:
        values, positions = np.empty((2, 1), np.int64)
        sums = [np.empty(int(piece.tops[0]) + 2, np.int64) for _ in range(3)]
        kernels.singles(piece.node(), piece.constrained, piece.limits, values, positions, *sums)
        return int(values[0]) if values[0] > kernels.NEG else None
    if k > 3:
        return _best_of_many(piece, shared, control)
    order = np.argsort(-piece.gains, kind="stable").astype(np.int32)
    place = Workspace(k, n, int(piece.tops.max()), k, 1)
    search = Search(0, 0, flags, piece.limits, shared, place.counters, place.chosen, place.records)
    node = piece.node(rows=order)
    pair = Pairs(np.array([k - 2], np.int32), np.array([k - 1], np.int32))
    if k == 2:
        settle_alone(node, pair, search, place.space)
    else:
        space, start = place.space, np.array([node.gains[node.gains > 0].sum()])
        kernels.outer(node, 0, pair, start, 0, search, space.frames, space.room, space.scratch)
    number = int(place.counters[kernels.RECORDS])
    return int(place.records[:number, 0].max()) if number else None


def _best_of_many(piece: Candidate, shared: Whole, control: Whole) -> int | None:
    """Four rays and more: position by position of the first."""
    best: int | None = None
    for position in range(int(piece.tops[0]), 0, -1):
        rows = np.flatnonzero(piece.levels[0] >= position)
        gains = piece.gains[rows]
        if int(gains[gains > 0].sum()) < shared[0]:
            continue
        rest = replace(
            piece,
            levels=piece.levels[1:, rows],
            tops=piece.tops[1:],
            gains=gains,
            weights=piece.weights[rows],
            wrong=piece.wrong[rows],
        )
        value = _best(rest, shared, control)
        if value is not None and (best is None or value > best):
            best = value
            shared[0] = max(shared[0], value)
    return best
