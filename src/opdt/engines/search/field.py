"""The rows of one class's search, reduced to what can still matter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.kernels import Flags, Limits, Node, compress_all, singles

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Field:
    """Rays and rows of one node of the search, for one class.

    Rays are ordered by their number of positions, fewest first: the outermost loops then run
    over the rays with the fewest positions. Rows with mass come before the others.
    """

    label: int
    rays: Whole  # (n_rays,) index of each ray among the problem's
    levels: NDArray[np.uint16]  # (n_rays, n_rows)
    tops: Whole  # (n_rays,)
    gains: Whole  # (n_rows,)
    weights: Whole  # (n_rows,)
    wrong: Whole  # (n_rows,) weight of a row of another class, else 0
    unpriced: Whole | None = None  # (n_rows,) gains without the prices of limits, if these differ

    @cached_property
    def mass(self) -> int:
        """The sum of the positive gains: no cover is worth more."""
        return int(self.gains[self.gains > 0].sum())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.gains)

    @property
    def node(self) -> Node:
        """The same, as the kernels take it."""
        return Node(self.levels, self.tops, self.gains, self.weights, self.wrong, self.true)

    @property
    def true(self) -> Whole:
        """What a rule is worth is the sum of these."""
        return self.gains if self.unpriced is None else self.unpriced

    def priced(self, added: Whole) -> Field:
        """The same with something added to the gains, for bounds only."""
        return replace(self, gains=self.gains + added, unpriced=self.gains)

    def reduced(self, rows: NDArray[np.int32], floor: int, flags: Flags, *, sort: bool) -> Field:
        """The field on some of its rows, without positions and rays that cannot matter there."""
        node = Node(
            np.empty((len(self.rays), len(rows)), np.uint16),
            np.empty(len(self.rays), np.int64),
            self.gains[rows],
            self.weights[rows],
            self.wrong[rows],
            self.true[rows],
        )
        compress_all(self.node, rows, node, floor, flags, *self._scratch())
        if not sort:
            return Field(self.label, self.rays, *node)
        keep = np.argsort(node.tops, kind="stable")
        keep = keep[node.tops[keep] > 0]
        return Field(self.label, self.rays[keep], node.levels[keep], node.tops[keep], *node[2:])

    def singles(self, flags: Flags, limits: Limits) -> tuple[Whole, Whole]:
        """Best gain of each ray alone (within the limits), and its loosest position."""
        values, positions = np.empty((2, len(self.rays)), np.int64)
        singles(self.node, flags.constrained, limits, values, positions, *self._scratch())
        return values, positions

    def rows_at(self, ray: int, position: int) -> NDArray[np.int32]:
        """Rows covered by a ray at a position."""
        return np.flatnonzero(self.levels[ray] >= position).astype(np.int32)

    def _scratch(self) -> list[Whole]:
        top = int(self.tops.max(initial=0))
        return [np.empty(top + 2, np.int64) for _ in range(3)]
