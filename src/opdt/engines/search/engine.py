"""The default engine: the proven optimum by a specialised branch and bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from opdt.engines.base import Engine, Outcome
from opdt.engines.search.run import Prepared, Run, Switches
from opdt.problem import CodedRule, Problem
from opdt.rules import Rule
from opdt.solution import Clock, StopReason


@dataclass(frozen=True)
class SearchEngine(Engine):
    """Exact branch and bound over sets of features with nested thresholds.

    Parameters
    ----------
    start : Rule, optional
        A rule to start from; it must be one of the problem's, or it is passed over.
    switches : Switches
        Accelerators, for tests and for study; none changes the answer.
    """

    name: ClassVar[str] = "search"
    proves_optimality: ClassVar[bool] = True

    start: Rule | None = None
    switches: Switches = Switches()

    def _solve(self, problem: Problem, clock: Clock) -> Outcome:
        start: CodedRule | None = None if self.start is None else problem.lower(self.start)
        run = Run(problem, Prepared(problem), clock, self.switches, start=start)
        run.search()
        return Outcome(
            rule=run.incumbent,
            bound=run.bound(),
            stopped_by=run.stopped_by or StopReason.FINISHED,
            trace=tuple(run.recorder.points),
            statistics=run.statistics,
        )
