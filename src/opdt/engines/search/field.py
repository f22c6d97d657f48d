"""The rows of one class's search, reduced to what can still matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.kernels import compress_all, singles

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

    @property
    def mass(self) -> int:
        """The sum of the positive gains: no cover is worth more."""
        return int(self.gains[self.gains > 0].sum())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.gains)

    def reduced(self, rows: NDArray[np.int32], floor: int, flags: Whole, *, sort: bool) -> Field:
        """The field on some of its rows, without positions and rays that cannot matter there."""
        top = int(self.tops.max(initial=0))
        scratch = [np.empty(top + 2, np.int64) for _ in range(3)]
        levels = np.empty((len(self.rays), len(rows)), np.uint16)
        tops = np.empty(len(self.rays), np.int64)
        gains = self.gains[rows]
        compress_all(
            self.levels, rows, gains, self.tops, floor, bool(flags[0]), bool(flags[1]),
            bool(flags[2]), levels, tops, *scratch,
        )  # fmt: skip
        if sort:
            keep = np.argsort(tops, kind="stable")
            keep = keep[tops[keep] > 0]
        else:
            keep = np.arange(len(tops))
        return Field(
            self.label,
            self.rays[keep],
            levels[keep] if sort else levels,
            tops[keep],
            gains,
            self.weights[rows],
            self.wrong[rows],
        )

    def singles(self, flags: Whole, limits: Whole) -> tuple[Whole, Whole]:
        """Best gain of each ray alone (within the limits), and its loosest position."""
        top = int(self.tops.max(initial=0))
        values, positions = np.empty((2, len(self.rays)), np.int64)
        scratch = [np.empty(top + 2, np.int64) for _ in range(3)]
        singles(
            self.levels, self.gains, self.weights, self.wrong, self.tops, flags, limits,
            values, positions, *scratch,
        )  # fmt: skip
        return values, positions

    def rows_at(self, ray: int, position: int) -> NDArray[np.int32]:
        """Rows covered by a ray at a position."""
        return np.flatnonzero(self.levels[ray] >= position).astype(np.int32)
