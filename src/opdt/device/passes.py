"""What a pass over the rows of a table on a device does, and what comes back of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.scan_kernels import Groups
from opdt.scale.passes import CountCells, FetchRows, FindNeighbours, PassPart, SiftBoxes
from opdt.scale.scanner import Parts

Whole = NDArray[np.int64]

UNKNOWN = np.iinfo(np.int64).max, np.iinfo(np.int64).min  # bound and gain of a set


class SetsAsked(NamedTuple):
    """Some of the sets of axes that were counted, and what their rules are worth."""

    first: int  # the place of the first
    number: int
    n_bins: Whole  # (n_axes,) bins of each axis without that of missing values
    ordered: NDArray[np.bool_]  # (n_axes,) whether only thresholds are asked of it
    groups: Groups


class CountedCells(ABC):
    """The counts of cells, where they were made."""

    @abstractmethod
    def bounds(self, asked: SetsAsked) -> Whole:
        """What no rule on each of the sets gains more than, and what some rule gains.

        Shape (n_sets, 2), in units of `asked.groups`.

        A threshold in bin p covers at most the bins from p on, and at least those behind it. With
        R and W the covered weights of right and of wrong rows a rule gains
        plus R - minus W, which is at most plus R(from p) - minus W(behind p). The largest over all
        places, directions and labels is the bound. A threshold at the edge of a bin gains
        plus R(from p) - minus W(from p). Of sets with an axis without order nothing is known.
        """

    @abstractmethod
    def take(self, places: Whole) -> Whole:
        """The cells of some sets, one after the other, as `CountCells` lays them out."""


class SiftedBoxes(ABC):
    """Mass, loss and rows of the finer cells of boxes, where they were counted."""

    @abstractmethod
    def bounds(self) -> Whole:
        """What no rule of each box is worth more than, and what some rule is; conditions apart.

        Shape (n_boxes, 2). A position in place t of a side covers the places behind t, and t at
        most; the tightest one, in the last place, covers that as a whole.
        """

    @abstractmethod
    def take(self, places: Whole) -> Parts:
        """Mass, loss and rows of some boxes, as `SiftBoxes` has them."""


class DevicePasses(ABC):
    """The rows of a table, wherever they are, and what is asked of them in passes.

    Attributes
    ----------
    result_bytes : int
        Bytes that the counts of a pass may take where they are made.
    check : callable
        Asked from time to time during a pass; what it raises ends the pass.
    """

    result_bytes: int
    check: Callable[[], None] = staticmethod(lambda: None)

    def answer(self, part: PassPart) -> Parts:
        """The result of a part of a pass on all rows; of counts, `CountedCells`."""
        if isinstance(part, CountCells):
            return {"cells": self.count(part)}
        if isinstance(part, SiftBoxes):
            return {"boxes": self.sift(part)}
        if isinstance(part, FetchRows):
            return self.fetch(part)
        if isinstance(part, FindNeighbours):
            # keys are codes, and every code occurs
            at = np.array([position for _, position in part.spots], np.int64)
            return {"below": at - 1, "above": at}
        raise TypeError(f"no pass knows {type(part).__name__}")

    @abstractmethod
    def count(self, part: CountCells) -> CountedCells:
        """The weights of the groups of classes in the cells of sets of axes."""

    @abstractmethod
    def sift(self, part: SiftBoxes) -> SiftedBoxes:
        """Mass, loss and rows of finer cells inside boxes."""

    @abstractmethod
    def fetch(self, part: FetchRows) -> Parts:
        """The rows that boxes cover at some positions only, and the weights of those always."""
