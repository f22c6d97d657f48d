"""Scan, prune, refine: the search over partitions, written once against `Scanner`.

Gains are sums over rows, so the counts of partitions add up. The first counting pass bounds all
rules from the cells of coarsely cut features; the boxes of cells that may hold the optimum are cut
finer in further passes, and once few of their rows are undecided, these are brought back and
settled by the exact kernels of the in-memory engine. A box is dropped only if its bound is below
the best value known: whatever ties is kept, and decided in the end by the documented order.
"""

from __future__ import annotations

from opdt.errors import UnsupportedProblem
from opdt.scale.counting import Counting
from opdt.scale.driver import Driver, Stopped
from opdt.scale.question import Question
from opdt.scale.refining import Refining
from opdt.scale.seeds import seeds
from opdt.scale.standing import Found, Standing
from opdt.solution import StopReason

MAX_DEPTH = 3


class PartitionedSearch(Standing):
    """One search, from its incumbent to its proof."""

    def __init__(self, question: Question, driver: Driver) -> None:
        depth = question.problem.structure.depth
        if depth > MAX_DEPTH:
            raise UnsupportedProblem(
                f"rules of {depth} conditions are not searched over partitions; the depth is at "
                f"most {MAX_DEPTH}."
            )
        super().__init__(question, driver)
        self.stopped_by: StopReason | None = None

    def run(self) -> None:
        """Search until all is settled or a limit is reached."""
        try:
            self._empty()
            counting = Counting(self)
            counting.pairs(seeds(self))
            if self.problem.structure.depth > 2:
                counting.triples()
            self.later = False
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
        if self.question.prepared.fits(()):
            for label, factors in self.factors.items():
                totals = self.question.totals
                if self.is_fine(totals, label):
                    self.offer(Found(int((factors * totals).sum()), label, (), ()), final=True)
