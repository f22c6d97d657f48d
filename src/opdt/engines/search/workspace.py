"""The scratch arrays of one thread."""

from __future__ import annotations

import numpy as np


class Workspace:
    """Scratch for the kernels, allocated once per thread and problem.

    Parameters
    ----------
    n_rays, n_rows, top : int
        Number of rays, rows, and the largest number of positions of a ray.
    n_pairs : int
        Largest number of pairs in a list.
    """

    def __init__(self, n_rays: int, n_rows: int, top: int, n_pairs: int, cells: int) -> None:
        words = (n_rows + 63) // 64 + 2
        frames = max(2, int(np.ceil(np.log2(top + 2))) + 2)
        leaves = 1
        while leaves < top + 1:
            leaves *= 2
        whole, small = np.int64, np.int32
        table = min(cells, (top + 2) ** 2)
        # In the order in which `evaluate` takes them.
        self.node = (
            np.empty(top + 2, whole),  # mass
            np.empty(top + 2, whole),  # loss
            np.empty(top + 2, whole),  # renumber
            np.empty((n_rays, n_rows), np.uint16),  # node_levels
            np.empty(n_rays, whole),  # node_tops
            np.empty((n_rays, words), np.uint64),  # node_words
            np.empty(n_rays, whole),  # node_single
            np.empty(n_rays, np.uint8),  # ready
            np.empty(max(table, top + 2), whole),  # table
            np.empty(top + 2, whole),  # covered
            np.empty(top + 2, whole),  # errors
            np.empty(top + 3, whole),  # starts
            np.empty(n_rows, small),  # order
            np.empty(4 * leaves + 4, whole),  # tree
        )
        # In the order in which `outer` takes them before those.
        self.outer = (
            np.empty(n_rows, small),  # rows
            np.empty(n_rows, whole),  # node_gains
            np.empty(n_rows, whole),  # node_weights
            np.empty(n_rows, whole),  # node_wrong
            np.empty(top + 3, whole),  # ray_mass
            np.empty(top + 3, whole),  # ray_loss
            np.empty((frames, n_pairs), small),  # ids
            np.empty(frames, whole),  # lows
            np.empty(frames, whole),  # highs
            np.empty(frames, whole),  # counts
            np.empty((frames, n_pairs), whole),  # at_low
            np.empty((frames, n_pairs), whole),  # at_high
            np.empty(n_pairs, small),  # wanted
            np.empty(n_pairs, whole),  # node_bounds
        )
        self.counters = np.zeros(4, whole)
        self.records = np.empty((256, 4), whole)

    @staticmethod
    def size(n_rays: int, n_rows: int, top: int, n_pairs: int, cells: int) -> int:
        """Bytes that such a workspace takes, about."""
        frames = int(np.ceil(np.log2(top + 2))) + 2
        table = min(cells, (top + 2) ** 2)
        return 2 * n_rays * n_rows + 40 * n_rows + 8 * table + 100 * top + 20 * frames * n_pairs

    def grow_records(self) -> None:
        """Twice the room for records."""
        self.records = np.empty((2 * len(self.records), 4), np.int64)
