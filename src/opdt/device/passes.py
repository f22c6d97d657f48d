"""What a pass over the rows of a table on a device does, and what comes back of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.device.box_arrays import BoxesToCut, CellParts, CutBoxes
from opdt.device.table_question import TableQuestion
from opdt.engines.search.scan_kernels import Groups
from opdt.scale.passes import CountCells, FetchRows, FindNeighbours, PassPart
from opdt.scale.scanner import Parts

Whole = NDArray[np.int64]

UNKNOWN = np.iinfo(np.int64).max, np.iinfo(np.int64).min  # bound and gain of a set
NO_RUN = -(1 << 62)
MOST_ALIVE = 4_096  # cells of a table that are told apart; with more it is halved


class SetsAsked(NamedTuple):
    """Some of the sets of axes that were counted, and what their rules are worth."""

    first: int  # the place of the first
    number: int
    n_bins: Whole  # (n_axes,) bins of each axis without that of missing values
    lone: NDArray[np.uint8]  # (n_axes, most bins) which bins hold one value only
    ordered: NDArray[np.bool_]  # (n_axes,) whether only thresholds are asked of it
    groups: Groups


class SetJobs(NamedTuple):
    """Sets of ordered axes that were counted, each in one way to use its axes, for one label."""

    places: Whole  # (n_jobs,) the place of the set among those counted
    ways: Whole  # (n_jobs,) bit d: the d-th axis has the ray `<`
    passes: Whole  # (n_jobs,) the place of the label in the groups
    goals: Whole  # (n_jobs,) what a rule must gain, in units of the groups
    n_bins: Whole  # (n_axes,) as in `SetsAsked`
    lone: NDArray[np.uint8]  # (n_axes, most bins) which bins hold one value only
    groups: Groups


class CountedCells(ABC):
    """The counts of cells, where they were made."""

    @abstractmethod
    def bounds(self, asked: SetsAsked) -> Whole:
        """What no rule on each of the sets gains more than, and what some rule gains.

        Shape (n_sets, 2), in units of `asked.groups`.

        A threshold in bin p covers at most the bins from p on, and at least those behind it; in a
        lone bin it covers those behind it. With R and W the covered weights of right and of wrong
        rows a rule gains plus R - minus W, which is at most plus R(at most) - minus W(at least).
        The largest over all places, directions and labels is the bound. A threshold at the edge of
        a bin gains plus R(from p) - minus W(from p). Of sets with an axis without order nothing is
        known.
        """

    @abstractmethod
    def take(self, places: Whole) -> Whole:
        """The cells of some sets, one after the other, as `CountCells` lays them out."""

    @abstractmethod
    def part(self, jobs: SetJobs) -> CellParts:
        """The parts of sets of ordered axes that may gain their goals, the jobs as owners.

        Places count from the bin that the loosest threshold lies in: the first one for `>=`, the
        last one for `<`.
        """


class DevicePasses(ABC):
    """The rows of a table, wherever they are, and what is asked of them in passes.

    Attributes
    ----------
    device, name : str
        The kind of the device, and what it calls itself.
    upload_seconds : float
        Time in which the codes were sent.
    streamed : bool
        Whether rows are sent in blocks, again for every pass.
    held_bytes : int
        Bytes that codes and bins may take on the device.
    result_bytes : int
        Bytes that the counts of a pass may take where they are made.
    most_alive : int
        Cells of a table that are told apart; with more it is halved.
    check : callable
        Asked from time to time during a pass; what it raises ends the pass.
    """

    device: ClassVar[str]
    name: str = ""
    upload_seconds: float = 0.0
    streamed: bool = False
    held_bytes: int = 0
    result_bytes: int
    most_alive: int = MOST_ALIVE
    check: Callable[[], None] = staticmethod(lambda: None)

    def answer(self, part: PassPart) -> Parts:
        """The result of a part of a pass on all rows; of counts, `CountedCells`."""
        if isinstance(part, CountCells):
            return {"cells": self.count(part)}
        if isinstance(part, FetchRows):
            return self.fetch(part)
        if isinstance(part, FindNeighbours):
            # keys are codes, and every code occurs
            at = np.array([position for _, position in part.spots], np.int64)
            return {"below": at - 1, "above": at}
        raise TypeError(f"no pass knows {type(part).__name__}")

    @abstractmethod
    def relabel(self, question: TableQuestion) -> None:
        """Take the classes, weights and price of another question about the same table."""

    @abstractmethod
    def count(self, part: CountCells) -> CountedCells:
        """The weights of the groups of classes in the cells of sets of axes."""

    @abstractmethod
    def cut(self, asked: BoxesToCut) -> CutBoxes:
        """The parts of boxes that may gain their goals, by the sums of finer cells inside."""

    @abstractmethod
    def best_runs(self, features: Sequence[int], factors: Whole) -> Whole:
        """The largest sum of a run of codes of each feature, the first and the last code apart.

        `factors` (n_classes,) are the value of a unit of weight. `NO_RUN` where there is none.
        """

    @abstractmethod
    def sums_by_code(self, feature: int, factors: Whole) -> Whole:
        """What the rows of each code of a feature are worth together (n_values,)."""

    @abstractmethod
    def fetch(self, part: FetchRows) -> Parts:
        """The rows that boxes cover at some positions only, and the weights of those always."""
