"""The scratch arrays of one thread."""

from __future__ import annotations

import numpy as np

from opdt.engines.search import kernels
from opdt.engines.search.kernels import Frames, Lists, Room, Scratch, Space

# Sets of rays that are bisected together; more are taken one batch after the other.
MOST_ITEMS = 1 << 16


class Workspace:
    """Room for the kernels, allocated once per thread and pass.

    Parameters
    ----------
    n_rays, n_rows, top : int
        Number of rays, rows, and the largest number of positions of a ray.
    size : int
        Number of rays in a set.
    n_pairs, n_triples : int
        Largest number of pairs and of triples in a list.
    """

    def __init__(
        self, n_rays: int, n_rows: int, top: int, size: int, n_pairs: int, n_triples: int = 0
    ) -> None:
        deep = n_triples > 0
        self.space = Space(
            scratch(n_rays, n_rows, top, top),
            _lists(n_rays, n_pairs),
            _frames(top, n_pairs),
            _room(n_rays, n_rows),
            _lists(n_rays * deep, n_triples),
            _frames(top * deep, n_triples),
            _room(n_rays * deep, n_rows * deep),
        )
        self.counters = np.zeros(4, np.int64)
        self.chosen = np.zeros(size, np.int64)
        self.records = np.empty((256, 1 + size), np.int64)

    @staticmethod
    def size(n_rays: int, n_rows: int, top: int, n_pairs: int, n_triples: int = 0) -> int:
        """Bytes that such a workspace takes, about."""
        frames = _n_frames(top)
        table = min(kernels.TABLE_CELLS, (top + 2) ** 2)
        rooms = 2 if n_triples else 1
        each = rooms * 2 * n_rays * n_rows + n_rays * n_rows // 2 + 64 * n_rows + 8 * table
        return each + 100 * top + (36 + 20 * frames) * (n_pairs + n_triples)

    def grow_records(self) -> None:
        """Twice the room for records."""
        self.records = np.empty((2 * len(self.records), self.records.shape[1]), np.int64)


def scratch(n_rays: int, n_rows: int, top: int, top2: int) -> Scratch:
    """Room for evaluating pairs of which the second has at most `top2` positions."""
    words = (n_rows + 63) // 64 + 2
    leaves = 1 << max(0, (top2 - 1).bit_length())
    cells = min(kernels.TABLE_CELLS, (top + 2) * (top2 + 2))
    mass, loss, renumber, covered, errors = (np.empty(top + 2, np.int64) for _ in range(5))
    return Scratch(
        mass=mass,
        loss=loss,
        renumber=renumber,
        covered=covered,
        errors=errors,
        starts=np.empty(top + 3, np.int64),
        order=np.empty(n_rows, np.int32),
        table=np.empty(cells, np.int64),
        tree=np.empty(4 * leaves + 4, np.int64),
        words=np.empty((n_rays, words), np.uint64),
        single=np.empty(n_rays, np.int64),
        ready=np.empty(n_rays, np.uint8),
        dropped=np.empty((n_rays, words), np.uint64),
        left=np.empty((n_rays, words), np.uint64),
        worth=np.empty(words, np.int64),
        every=np.empty(words, np.uint64),
    )


def _lists(n_rays: int, n_items: int) -> Lists:
    return Lists(
        first=np.empty(n_items, np.int32),
        second=np.empty(n_items, np.int32),
        third=np.empty(n_items, np.int32),
        start=np.empty(n_items, np.int64),
        cursor=np.zeros(3, np.int64),
        open=np.empty(n_rays, np.uint8),
    )


def _n_frames(top: int) -> int:
    return int(np.ceil(np.log2(top + 2))) + 2


def _frames(top: int, n_items: int) -> Frames:
    shape = (_n_frames(top), n_items)
    return Frames(
        ids=np.empty(shape, np.int32),
        at_low=np.empty(shape, np.int64),
        at_high=np.empty(shape, np.int64),
        lows=np.empty(shape[0], np.int64),
        highs=np.empty(shape[0], np.int64),
        counts=np.empty(shape[0], np.int64),
        wanted=np.empty(n_items, np.int32),
        bounds=np.empty(n_items, np.int64),
        ends=np.empty(n_items, np.int64),
        mass=np.empty(top + 3, np.int64),
        loss=np.empty(top + 3, np.int64),
    )


def _room(n_rays: int, n_rows: int) -> Room:
    words = (n_rows + 63) // 64 + 2
    return Room(
        rows=np.empty(n_rows, np.int32),
        levels=np.empty((n_rays, n_rows), np.uint16),
        tops=np.empty(n_rays, np.int64),
        gains=np.empty(n_rows, np.int64),
        weights=np.empty(n_rows, np.int64),
        wrong=np.empty(n_rows, np.int64),
        true=np.empty(n_rows, np.int64),
        dropped=np.empty((n_rays, words), np.uint64),
        left=np.empty((3, words), np.uint64),
        worth=np.empty(words, np.int64),
        every=np.empty(words, np.uint64),
    )
