"""Where the rows of a search are: what is asked of them, and how they answer.

The search on cells (`scan.Scan`) is written once. It asks two things of the rows, many at a time:
count the cells of some sets of axes, and open a box that may hold the optimum. Rows in memory
answer at once, on every thread (`table_rows.TableRows`). Rows in files or on a cluster answer all
that fits into one pass over them (`opdt.scale.partition_rows.PartitionRows`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.agenda import Agenda, Entry
from opdt.engines.search.boxes import Box
from opdt.engines.search.grid import Axis, Grid
from opdt.engines.search.records import Positions, Task
from opdt.engines.search.regions import Region

Whole = NDArray[np.int64]


class Step(NamedTuple):
    """How some sets of axes are to be counted: of one size, in finer and finer bins.

    `most` is what a rule on them may be worth at most, as far as is known.
    """

    at: int  # which of the tasks
    task: Task
    size: int
    ladder: tuple[int, ...]
    most: int
    even: bool = False  # bins of equally many rows

    @property
    def finer(self) -> Step:
        """The step in the next bins."""
        return self._replace(ladder=self.ladder[1:])


class Count(NamedTuple):
    """Sets of axes (n_sets, size) to be counted in the first bins of a step.

    `ways` (n_sets,) are those in which the axes may be used, as `scan_kernels.next_rays` has them.
    """

    step: Step
    sets: Whole
    ways: Whole


class Open(NamedTuple):
    """A box to be opened; `region` holds its rows where a larger box was opened before."""

    box: Box
    region: Region | None


@dataclass(frozen=True, eq=False)
class Layer:
    """Axes in bins of one fineness, for rules of one size."""

    axes: list[Axis]
    grid: Grid
    positions: Positions


class Rows(ABC):
    """The rows of a table, wherever they are.

    Attributes
    ----------
    n_rows : int
    tasks : list of Task
        The passes over the rows that all labels need: one for all, or one for each.
    keeps_ties : bool
        Whether boxes stay open though they are decided, because ties are decided by what was
        opened; else the rows can be asked again once the best value is known.
    inline : bool
        Whether the calling thread does all work, because the rows have threads of their own.
    """

    n_rows: int
    keeps_ties: bool = False
    inline: bool = False

    @property
    @abstractmethod
    def tasks(self) -> list[Task]:
        """What rows are worth."""

    def begin(self) -> None:  # noqa: B027 - most have nothing to do
        """Do what comes before a search."""

    @abstractmethod
    def seed(self) -> None:
        """Look for a good rule to start from."""

    @abstractmethod
    def ladder(self, size: int) -> tuple[int, ...]:
        """Bins of an axis when so many are counted together: coarse ones first, then finer."""

    @abstractmethod
    def layer(self, step: Step) -> Layer:
        """The axes in the first bins of a step."""

    @abstractmethod
    def counts(self, agenda: Agenda, step: Step) -> Iterator[Entry]:
        """What is to be done for all sets of axes of a step, made as it is needed."""

    @abstractmethod
    def perform(self, agenda: Agenda, slot: int, entries: list[Entry]) -> None:
        """Do some entries of an agenda, and put what is left of them there again.

        `slot` is the number of the thread.
        """

    def look(self) -> None:  # noqa: B027 - a look promises nothing
        """Offer the best rules exactly between coarse bins, where that is quick."""

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, quick: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays, in their order, that gain the goal; None if none do.

        If `quick`, any will do. Rows that keep ties are not asked, and know none.
        """
        return None

    def joins(self, entries: list[Entry], entry: Entry) -> bool:
        """Whether an entry is done together with some others; by default each is done alone."""
        return not entries
