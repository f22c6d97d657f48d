"""Two ordered rays on many rows, bounded by what thresholds inside a bin can add."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.grid import Axis
from opdt.engines.search.records import Task
from opdt.engines.search.strip_kernels import N_WAYS, NOWHERE, StripScratch, bound_strips
from opdt.engines.search.worth import Worth
from opdt.table import SparseColumn

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Whole = NDArray[np.int64]


class Strips:
    """The bounds of one run, for one task: the spots of rows on axes are worked out when needed.

    Parameters
    ----------
    run : Run
    worth : Worth
    task : Task
        Of rules of one label.
    axes : list of Axis
        Those of any layer: only their features and rays count.
    """

    def __init__(self, run: Run, worth: Worth, task: Task, axes: list[Axis]) -> None:
        self._run, self._axes = run, axes
        self._bins, self._parts = run.switches.tuning.strips
        self._columns = [run.prepared.rays.columns[axis.feature] for axis in axes]
        # rows of a positive gain first, so that sums of one kind are at hand
        (label,) = task.groups.labels.tolist()
        gains = worth.gains(label)[0]
        self._order = np.argsort(gains <= 0, kind="stable")
        self._gains = np.ascontiguousarray(gains[self._order])
        self._spots = np.empty((len(axes), len(gains)), np.uint16)
        self._filled = np.zeros(len(axes), bool)
        self._lock, self._local = threading.Lock(), threading.local()
        self.ordered = np.array(
            [
                axis.edges is not None and not axis.singles and not isinstance(column, SparseColumn)
                for axis, column in zip(axes, self._columns, strict=True)
            ]
        )  # (n_axes,) the axes that are told

    @staticmethod
    def n_bytes(n_axes: int, n_rows: int) -> int:
        """Bytes of the spots of so many axes, and of the gains in their order."""
        return (2 * n_axes + 16) * n_rows

    def bounds(self, sets: Whole) -> Whole | None:
        """Bounds on the value of two rays (n_sets, N_WAYS), of sets of ordered axes; bit d of a
        way says that axis d is used downwards. None where the run was stopped.
        """
        self._fill(sets)
        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = StripScratch.of(self._bins, self._parts)
        out = np.empty((len(sets), N_WAYS), np.int64)
        done = bound_strips(
            self._spots, self._gains, sets, self._bins, self._parts, self._run.control, scratch,
            out,
        )  # fmt: skip
        return out + self._run.scores.offset(2) if done == len(sets) else None

    def _fill(self, sets: Whole) -> None:
        """Find the spots of the rows on the axes of some sets, where that is still to be done."""
        with self._lock:
            for a in np.unique(sets).tolist():
                if not self._filled[a]:
                    self._spots[a] = self._spots_of(a)
                    self._filled[a] = True

    def _spots_of(self, a: int) -> NDArray[np.uint16]:
        """Part × bins + bin of each row: about as many rows in each part."""
        column = self._columns[a]
        codes = column.codes[self._order]
        counts = np.bincount(codes[codes >= 0], minlength=column.n_values)
        before = np.append(0, np.cumsum(counts))
        number = self._bins * self._parts
        place = before[:-1] * number // max(1, int(before[-1]))
        spots = (place % self._parts) * self._bins + place // self._parts
        # no place is as high as `number`; the last entry is that of a missing value, coded -1
        table = np.append(np.where(place < number, spots, 0), NOWHERE).astype(np.uint16)
        return table[codes]
