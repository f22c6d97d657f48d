"""Scan, prune, refine: the search over partitions, written once against `Scanner`.

It is the search of `opdt.engines.search` with other rows: gains are sums over rows, so the counts
of partitions add up. Counting passes bound all rules from the cells of coarsely cut features; the
boxes of cells that may hold the optimum are cut finer in further passes, and once few of their rows
are undecided, these are brought back and settled in memory. A box is dropped only if its bound is
below the best value known: whatever ties is kept, and decided in the end by the documented order.
"""

from __future__ import annotations

from opdt.engines.search import Switches
from opdt.scale.counting import Counting
from opdt.scale.driver import Driver, Stopped
from opdt.scale.question import Question
from opdt.scale.refining import Refining
from opdt.scale.seeds import seeds
from opdt.scale.standing import Found, Standing
from opdt.solution import StopReason


class PartitionedSearch(Standing):
    """One search, from its incumbent to its proof."""

    def __init__(self, question: Question, driver: Driver, switches: Switches) -> None:
        super().__init__(question, driver, switches)
        self.stopped_by: StopReason | None = None

    def run(self) -> None:
        """Search until all is settled or a limit is reached."""
        try:
            self._empty()
            Counting(self).run(seeds(self) if self.switches.seeding else ())
            refining = Refining(self)
            while self.prune():
                self.note()
                refining.one_pass()
        except Stopped as stop:
            self.stopped_by = stop.reason
        except KeyboardInterrupt:
            self.stopped_by = StopReason.INTERRUPTED
        self.note()

    def _empty(self) -> None:
        """The rule without a condition, which covers every row."""
        if not self.question.prepared.fits(()):
            return
        totals = self.question.totals
        covered = int(totals.sum())
        for label, factors in self.factors.items():
            if self.is_fine(covered, covered - int(totals[label])):
                self.take(Found(int((factors * totals).sum()), label, (), ()), final=True)
