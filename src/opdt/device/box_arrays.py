"""Many boxes at once, as arrays, and how their sides are cut into places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.boxes import Box

Whole = NDArray[np.int64]


class BoxArrays(NamedTuple):
    """Boxes of the same number of rays; see `opdt.engines.search.boxes.Box`."""

    bounds: Whole  # (n_boxes,)
    labels: Whole  # (n_boxes,)
    rays: Whole  # (n_boxes, n_sides)
    low: Whole  # (n_boxes, n_sides)
    high: Whole  # (n_boxes, n_sides)
    rows: Whole  # (n_boxes,)

    @classmethod
    def of(cls, boxes: Sequence[Box]) -> BoxArrays:
        """The arrays of some boxes, all of one number of rays."""
        return cls(*(np.array(own, np.int64) for own in zip(*boxes, strict=True)))

    @classmethod
    def joined(cls, several: Sequence[BoxArrays]) -> BoxArrays:
        """All boxes of several arrays."""
        return cls(*(np.concatenate(own) for own in zip(*several, strict=True)))

    @property
    def n_boxes(self) -> int:
        """Number of boxes."""
        return len(self.bounds)

    @property
    def n_sides(self) -> int:
        """Number of rays of each box."""
        return int(self.rays.shape[1])

    def take(self, places: NDArray[np.intp] | NDArray[np.bool_]) -> BoxArrays:
        """Some of the boxes."""
        return BoxArrays(*(own[places] for own in self))

    def boxes(self) -> list[Box]:
        """The boxes one by one."""
        parts = (own.tolist() for own in self)
        return [
            Box(bound, label, tuple(rays), tuple(low), tuple(high), rows)
            for bound, label, rays, low, high, rows in zip(*parts, strict=True)
        ]


class CellParts(NamedTuple):
    """Parts of tables of cells that may gain their goals, in the order of their owners.

    A part is all cells from its first to its last places.
    """

    owners: Whole  # (n_parts,) the table that it is a part of
    bounds: Whole  # (n_parts,) what no rule in it gains more than
    rows: Whole  # (n_parts,) weight, or number, of the rows that its positions decide on
    first: Whole  # (n_parts, n_sides)
    last: Whole  # (n_parts, n_sides)

    @classmethod
    def of(cls, records: Whole, n_sides: int) -> CellParts:
        """Parts from records (n_parts, 3 + 2 n_sides): owner, bound, rows, first and last."""
        places = records[:, 3:].T
        records = records[np.lexsort((*places[::-1], records[:, 0]))]
        return cls(
            records[:, 0], records[:, 1], records[:, 2], records[:, 3 : 3 + n_sides],
            records[:, 3 + n_sides :],
        )  # fmt: skip


class BoxesToCut(NamedTuple):
    """Boxes, how each is cut, and what a rule in it must gain."""

    boxes: BoxArrays
    sizes: Whole  # (n_boxes, n_sides) places of each side
    factors: Whole  # (n_boxes, n_classes) the value of a unit of weight of each class
    goals: Whole  # (n_boxes,)


class CutBoxes(NamedTuple):
    """What is left of boxes that were cut, and the best of their rules between places."""

    parts: CellParts
    reached: Whole  # (n_boxes,) what that rule gains
    corners: Whole  # (n_boxes,) its cell; the last side's places are side by side


def sizes_of(low: Whole, high: Whole, most: int) -> Whole:
    """Places of the sides of boxes (n_boxes, n_sides), so that a box has at most `most` cells.

    A side has as many as it has positions, if there is room, and never fewer than two of several.
    """
    lengths = high - low
    n_sides = lengths.shape[1]
    each = max(2, int(most ** (1 / max(1, n_sides))))
    sizes = np.minimum(lengths, each)
    for d in range(n_sides):  # what short sides leave over is for the others
        room = most // np.delete(sizes, d, axis=1).prod(axis=1)
        sizes[:, d] = np.minimum(lengths[:, d], np.maximum(sizes[:, d], room))
    return np.asarray(sizes)


def edges_at(low: Whole, high: Whole, sizes: Whole, at: Whole) -> Whole:
    """The level at which a place begins; behind the last one, that at which the side ends.

    All of shape (n_boxes, n_sides). Place t holds the levels above edge t up to edge t + 1. Where a
    side has fewer places than positions, the highest has a place of its own and the others are
    dealt evenly.
    """
    dealt = low + (high - 1 - low) * at // np.maximum(1, sizes - 1)
    exact = sizes == high - low
    return np.where(exact, low + at, np.where(at == sizes, high, dealt))


def places_at(levels: Whole, low: int, high: int, size: int) -> Whole:
    """The place of each level (n_rows,) above `low` on one side."""
    steps = np.minimum(levels, high) - low
    if size == high - low:
        return np.asarray(steps - 1)
    dealt = (steps * (size - 1) - 1) // max(1, high - 1 - low)
    return np.where(levels >= high, size - 1, dealt)


def strides_of(sizes: Whole) -> Whole:
    """Cells from one place of a side to the next (n_boxes, n_sides); the last side's are next."""
    ones = np.ones((len(sizes), 1), np.int64)
    after = np.concatenate([sizes[:, 1:], ones], axis=1)
    return np.flip(np.flip(after, 1).cumprod(axis=1), 1).astype(np.int64)
