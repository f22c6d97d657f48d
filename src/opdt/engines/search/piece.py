"""The undecided rows of a box, settled by the kernels of small tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import kernels
from opdt.engines.search.deepen import settle_alone
from opdt.engines.search.kernels import Flags, Limits, Node, Pairs, Search
from opdt.engines.search.positions import PositionSearch
from opdt.engines.search.tuning import Tuning
from opdt.engines.search.workspace import Workspace

Whole = NDArray[np.int64]


# Every ray keeps its loosest position, and nothing is tightened past rows without mass.
KEEPING = Flags(
    first=True,
    mass_above=False,
    reduce=True,
    uniform=False,
    constrained=False,
    priced=False,
    decide=0,
    intervals=True,
    exclusion=True,
)


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
    limits: Limits
    constrained: bool
    carries_errors: bool
    expired: Callable[[], bool]
    tuning: Tuning

    @cached_property
    def _dense(self) -> tuple[Node, list[Whole]]:
        """The rows with dense levels, and one more row that stands for the fixed ones."""
        k, n = self.levels.shape
        levels = np.empty((k, n + 1), np.uint16)
        values = []
        for d in range(k):
            known, place = np.unique(np.append(self.levels[d], self.tops[d]), return_inverse=True)
            levels[d] = place + 1
            values.append(known.astype(np.int64))
        sums = zip((self.gains, self.weights, self.wrong), self.fixed, strict=True)
        gains, weights, wrong = (np.append(own, fixed) for own, fixed in sums)
        tops = np.array([len(v) for v in values], np.int64)
        return Node(levels, tops, gains, weights, wrong, gains), values

    def best(self, goal: int, control: Whole) -> int | None:
        """The best gain of the box's positions if it is at least `goal`, else None.

        `control` is watched for a stop only.
        """
        shared = np.array([goal, 0], np.int64)
        value = self._best(self._dense[0], shared, control)
        return value if value is not None and value >= goal else None

    def positions(self, goal: int, *, quick: bool) -> tuple[int, tuple[int, ...]] | None:
        """Error weight and loosest positions, from the box's loose side, that gain the goal."""
        node, values = self._dense
        asked = PositionSearch.gaining(
            goal, *node[:2], node[2:5], self.limits, self.expired, self.tuning,
            limited=self.constrained or not self.carries_errors,
        )  # fmt: skip
        exact = self.carries_errors or quick
        found = asked.first(quick=quick) if exact else asked.with_fewest_errors()
        if found is None:
            return None
        fires = np.all(node.levels >= np.array(found)[:, None], axis=0)
        local = tuple(
            1 if at < 2 else int(v[at - 2]) + 1 for at, v in zip(found, values, strict=True)
        )
        return int(node.wrong[fires].sum()), local

    def _best(self, node: Node, shared: Whole, control: Whole) -> int | None:
        """The best gain of all rays at positions >= 1, exact where it reaches `shared[0]`."""
        if control[kernels.STOP]:
            return None
        k, n = node.levels.shape
        if k == 1:
            values, positions = np.empty((2, 1), np.int64)
            sums = [np.empty(int(node.tops[0]) + 2, np.int64) for _ in range(3)]
            kernels.singles(node, self.constrained, self.limits, values, positions, *sums)
            return int(values[0]) if values[0] > kernels.NEG else None
        if k > 3:
            return self._best_of_many(node, shared, control)
        order = np.argsort(-node.gains, kind="stable")
        node = Node(
            np.ascontiguousarray(node.levels[:, order]),
            node.tops,
            *(own[order] for own in node[2:]),
        )
        place = Workspace(k, n, int(node.tops.max()), k, 1)
        flags = KEEPING._replace(mass_above=not self.constrained, constrained=self.constrained)
        search = Search(
            0, 0, flags, self.limits, shared, place.counters, place.chosen, place.records
        )
        pair = Pairs(np.array([k - 2], np.int32), np.array([k - 1], np.int32))
        if k == 2:
            settle_alone(node, pair, search, place.space)
        else:
            space, start = place.space, np.array([node.gains[node.gains > 0].sum()])
            kernels.outer(node, 0, pair, start, 0, search, space.frames, space.room, space.scratch)
        number = int(place.counters[kernels.RECORDS])
        return int(place.records[:number, 0].max()) if number else None

    def _best_of_many(self, node: Node, shared: Whole, control: Whole) -> int | None:
        """Four rays and more: position by position of the first."""
        best: int | None = None
        for position in range(int(node.tops[0]), 0, -1):
            rows = np.flatnonzero(node.levels[0] >= position)
            gains = node.gains[rows]
            if int(gains[gains > 0].sum()) < shared[0]:
                continue
            rest = Node(node.levels[1:, rows], node.tops[1:], *(own[rows] for own in node[2:]))
            value = self._best(rest, shared, control)
            if value is not None and (best is None or value > best):
                best = value
                shared[0] = max(shared[0], value)
        return best
