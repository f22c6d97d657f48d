"""Boxes that share rays, so that rows outside all of them are passed over at once.

Positions are compared with levels: a row is covered where level >= position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.boxes import Box

Whole = NDArray[np.int64]


class BoxBundle(NamedTuple):
    """Boxes that share one or two rays: rows outside all of them there are passed over at once."""

    gate: tuple[int, ...]  # the shared rays
    low: tuple[int, ...]  # and the loosest side of the boxes on them
    rays: tuple[int, ...]  # all rays of the boxes
    members: tuple[int, ...]  # places of the boxes

    def near(self, levels: Whole, place: dict[int, int]) -> tuple[Whole, Whole]:
        """Rows that some box may hold, and their levels on the rays of the boxes."""
        inside = np.ones(levels.shape[1], bool)  # the rule without conditions has no gate
        for ray, low in zip(self.gate, self.low, strict=True):
            inside &= levels[place[ray]] > low
        rows = np.flatnonzero(inside)
        own = np.array([place[ray] for ray in self.rays], np.int64)
        return rows, levels[own[:, None], rows]


def bundle_boxes(boxes: Sequence[Box]) -> Iterator[BoxBundle]:
    """Boxes put together by the pair of rays that they have in common with most others."""
    pairs = [list(combinations(box.rays, min(2, len(box.rays)))) for box in boxes]
    number = Counter(pair for own in pairs for pair in own)
    members: dict[tuple[int, ...], list[int]] = {}
    for b, own in enumerate(pairs):
        members.setdefault(max(own, key=lambda pair: (number[pair], pair)), []).append(b)
    for gate, places in members.items():
        mine = [boxes[b] for b in places]
        low = tuple(min(box.low[box.rays.index(ray)] for box in mine) for ray in gate)
        rays = tuple(sorted({ray for box in mine for ray in box.rays}))
        yield BoxBundle(gate, low, rays, tuple(places))
