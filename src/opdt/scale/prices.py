"""Exact solves of one partitioned table at many prices of an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from opdt.engines.prices import MAX_UNITS, Answer, Line, SolveCounts
from opdt.engines.search import Switches
from opdt.errors import InputError
from opdt.objectives.gains import as_written
from opdt.rules import Rule
from opdt.scale.answer import answer
from opdt.scale.driver import Driver
from opdt.scale.partition_run import PartitionRun
from opdt.scale.question import Question
from opdt.scale.scanner import Parts
from opdt.solution import Progress, Solution, StopReason


class PartitionedPricer:
    """Solves at any price, as `opdt.engines.prices.Pricer` does in memory.

    The rows are summed up once, in the first pass; each solve makes its own passes after that.

    Parameters
    ----------
    question : Question
        Its table, structure and constraints count; its price, which must be 1, does not.
    summary : Parts
        What the first pass found.
    driver : Driver
        Its limits are those of all solves together.
    switches : Switches
    """

    engine = "search"
    rounding = 0.0

    def __init__(
        self, question: Question, summary: Parts, driver: Driver, switches: Switches
    ) -> None:
        self._question, self._summary, self._driver = question, summary, driver
        self._switches = switches
        self.problem = question.problem
        self.scale = question.coder.weight_scale
        self.total = int(question.totals.sum())
        if self.total >= MAX_UNITS:
            raise InputError(
                f"objective 'precision' needs rows or weights that add up to less than {MAX_UNITS} "
                f"units of 1/{self.scale} over all partitions, got {self.total}; round the weights "
                "or take fewer rows."
            )
        self.clock = driver.clock
        self.work = SolveCounts()
        self.stopped_by: StopReason | None = None
        self.told: Callable[[Progress], Progress] | None = None
        self.search: PartitionRun | None = None

    @property
    def highest(self) -> Fraction:
        """A price above every crossing of two lines: the fewest errors come first."""
        return Fraction(self.total + 1)

    def halted(self) -> bool:
        """Whether a limit of the budget is reached."""
        if self.stopped_by is None:
            self.stopped_by = self.clock.stop()
        return self.stopped_by is not None

    def solve(
        self,
        w: Fraction,
        start: Rule | None = None,
        max_errors: int | None = None,
        min_precision: Fraction | None = None,
    ) -> Answer:
        """The best rule at the price `w`, of at least this precision; see `Pricer.solve`.

        A search over partitions starts from rules of its sample, whatever `start` is.
        """
        asked, limits = self._question.request.constraints, dict[str, Any]()
        if max_errors is not None:
            own, most = asked.max_errors, Fraction(max_errors, self.scale)
            limits["max_errors"] = most if own is None else min(most, as_written(own))
        if min_precision is not None:
            limits["min_precision"] = min_precision
        request = replace(self._question.request, w=w, constraints=replace(asked, **limits))
        question = Question(self._question.schema, self._summary, request)
        self.search = PartitionRun(question, self._driver, self._switches)
        self.search.search()
        solution = answer(self.search)
        self.work.solves += 1
        self.work.nodes += solution.statistics.nodes
        if solution.stopped_by is StopReason.FINISHED:
            return Answer(self._line(solution), None)
        self.stopped_by = solution.stopped_by
        return Answer(
            self._line(solution), Fraction(math.nextafter(solution.bound, math.inf)) * self.scale
        )

    def improve(self, w: Fraction, start: Rule | None, *, proven: bool = True) -> Answer:
        """The best rule at the price `w`; every solve starts from rules of the sample."""
        return self.solve(w, start)

    def evidence(self, rule: Rule | None) -> None:
        """Nothing: it is said once of the final rule, with the counts of the whole table."""

    def _line(self, solution: Solution) -> Line | None:
        """The rule with its counts; None also where a limit came before they were known."""
        if solution.rule is None or not solution.covered:
            return None
        covered, errors = solution.covered * self.scale, solution.errors * self.scale
        return Line(round(covered), round(errors), solution.rule)

    def tell(self, progress: Progress) -> Progress:
        """What a callback is told in the place of the progress of one solve."""
        return progress if self.told is None else self.told(progress)
