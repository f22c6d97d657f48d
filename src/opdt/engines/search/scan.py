"""Count cells, bound what lies in them, cut what is left finer: the search over many rows.

The rules of k conditions are taken k axes at a time. The counts of the cells of a set of axes bound
every rule on these axes from above and find good ones. What may still hold a better rule than the
best known goes on the agenda with its bound, and the largest bound is looked at first: it is
counted again in finer bins, then the box of its surviving cells is cut out and cut finer, until the
rows that are still undecided are few enough for the exact kernels of small tables.

Where the rows are does not matter: they are asked through `rows.Rows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import scan_kernels as kernels
from opdt.engines.search.agenda import Agenda, Entry, Stream
from opdt.engines.search.records import Task
from opdt.engines.search.rows import Layer, Rows, Step
from opdt.engines.search.scan_kernels import Asked
from opdt.engines.search.sets import AxisSets
from opdt.problem import VolumeImpurity

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Whole = NDArray[np.int64]

TINY = 1_000_000  # rows and cells below which starting threads costs more than it saves


class Scan:
    """The search of one run on cells; `sweep.Sweep` is its counterpart on rows."""

    nodes = 0  # none but those already counted

    def __init__(self, run: Run, rows: Rows) -> None:
        self.run, self.rows = run, rows
        constraints = run.problem.constraints
        limited = constraints.bounds_rows
        # counts of gains do not say how many rows there are
        self._blind = limited and not isinstance(run.problem.objective, VolumeImpurity)
        self._limits = run.limits if limited and not self._blind else None
        self.sets = AxisSets(run.prepared, constraints, open_all=self._blind or rows.keeps_ties)

    def need(self, task: Task, size: int) -> int:
        """The least gain, in units of the kernels, of a rule worth looking at."""
        return task.need(self.run.best - self.run.scores.offset(size))

    def asked(self, task: Task, size: int) -> Asked:
        """The same, with the limits on rows."""
        return task.asked(self.run.best - self.run.scores.offset(size), self._limits)

    def search(self) -> None:
        """Settle all rules: first all sets of axes are counted, then the best bounds refined.

        Coarse counts of all sizes come first, because a good rule of many conditions spares most
        of the work on few.
        """
        run, rows = self.run, self.rows
        rows.begin()
        if run.switches.seeding:
            rows.seed()
        agenda = Agenda(self._perform, rows.joins)
        self._agenda = agenda
        cost = 0.0
        for step in self.first_steps():
            if run.halted():
                return
            agenda.add(step.most, Stream(step.most, rows.counts(agenda, step), step.size))
            cost += self.cost(step) * float(len(run.prepared.rays.rays)) ** step.size
        run.work(agenda, run.clock.budget.n_threads, inline=rows.inline or cost < TINY)

    def _perform(self, slot: int, entries: list[Entry]) -> None:
        self.rows.perform(self._agenda, slot, entries)

    def look(self) -> None:
        """Offer good rules where that is quick, without a proof."""
        self.rows.begin()
        self.rows.look()

    def first_steps(self) -> Iterator[Step]:
        """How the sets of axes of every size and task are counted first."""
        run = self.run
        for size in range(1, run.problem.structure.depth + 1):
            most = run.ceiling + run.scores.offset(size)
            for at, task in enumerate(self.rows.tasks):
                yield Step(at, task, size, self.rows.ladder(size), most)

    def cost(self, step: Step) -> int:
        """What counting a set of axes costs, in rows and cells."""
        return self.rows.n_rows + 8 * int(min(step.ladder[0], 30) ** step.size)

    def take(self, layer: Layer, step: Step, found: Whole) -> Iterator[tuple[list[int], int]]:
        """Offer the rules of some records; those that may hold better ones, and their bounds.

        Bounds are on the value of a rule, the price of its conditions included.
        """
        run, task, size = self.run, step.task, step.size
        offset = run.scores.offset(size)
        pass_of = {int(label): p for p, label in enumerate(task.groups.labels)}
        fits_all = self.sets.fits_all(size)
        for record in found.tolist():
            bound, label, right, wrong = record[: kernels.OWNER]
            rays = tuple(record[kernels.HEAD : kernels.HEAD + size])
            if not fits_all and not run.prepared.fits(rays):
                continue
            if right >= 0 and not self._blind:
                value = task.value(pass_of[label], right, wrong) + offset
                if value >= run.best:
                    run.offer(value, label, rays, layer.positions.corner(record, size, value))
            if bound == kernels.NEG:
                continue
            whole = min(step.most, task.most(bound) + offset)
            if whole >= run.best:
                yield record, whole

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, quick: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays, in their order, that gain the goal."""
        return self.rows.locate(label, rays, goal, quick=quick)
