"""Exact solves of one problem at many prices of an error.

At the price w a rule that covers N rows, L of them errors, is worth N - w L: a line in w. What
depends on w is the largest of all these lines, and whatever is asked about it is answered by
solving at one price after another. Counts are whole numbers of weight units and prices are
fractions, so that nothing is rounded, at the crossing of two lines in particular.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from opdt.checks import is_number
from opdt.engines import Engine, get_engine
from opdt.errors import InputError
from opdt.objectives.gains import as_written, weight_units
from opdt.problem import Problem, VolumeImpurity
from opdt.problem.evidence import evidence_of
from opdt.rules import Rule
from opdt.solution import Budget, Clock, Progress, Solution, Status, StopReason, running
from opdt.verdict import Evidence

# Weights are whole numbers of units with a sum below this. Prices are ratios of such sums, so
# that a sum of gains stays below the square, which fits into the 60 bits of the search.
MAX_UNITS = 2**29


class Line(NamedTuple):
    """A rule and its counts in weight units; without a rule nothing is covered."""

    covered: int
    errors: int
    rule: Rule | None = None

    @property
    def correct(self) -> int:
        """Covered weight of the rule's own class."""
        return self.covered - self.errors

    def value(self, w: Fraction) -> Fraction:
        """The VI at the price `w`, in weight units."""
        return self.covered - w * self.errors


EMPTY = Line(0, 0)


class Answer(NamedTuple):
    """What a solve at one price has found.

    `line` is None where no rule meets the constraints (or none was found in time); `bound` is a
    VI in weight units that no rule exceeds, None where the line is proven the best (or, without
    a line, where it is proven that there is none).
    """

    line: Line | None
    bound: Fraction | None

    @property
    def proven(self) -> bool:
        """Whether nothing is better."""
        return self.bound is None


@dataclass
class SolveCounts:
    """What has been done so far."""

    solves: int = 0
    nodes: int = 0


class Pricer:
    """Solves one problem at any price, within one budget for all solves together.

    Parameters
    ----------
    problem : Problem
        Its table, structure and constraints count; its price does not.
    engine : str or Engine
        One that proves its answers.
    budget : Budget or running Clock
        Seconds and nodes are those of all solves together.
    max_units : int
        What the row weights may add up to, in units.
    """

    def __init__(
        self,
        problem: Problem,
        engine: str | Engine,
        budget: Budget | Clock,
        max_units: int = MAX_UNITS,
    ) -> None:
        chosen = get_engine(engine)
        if not chosen.proves_optimality:
            raise InputError(
                f"'engine' {chosen.name!r} proves nothing, but every step here rests on a proof; "
                "use 'search'."
            )
        table = problem.table
        units, self.scale, self.rounding = _units(
            problem, min(max_units, problem.constraints.max_units)
        )
        self.total = int(units.sum())
        self._objective = VolumeImpurity(
            table.labels, Fraction(1), problem.objective.labels, units, self.scale
        )
        self.problem = problem.with_objective(self._objective)
        self.engine = chosen.name
        self.clock = running(budget)
        self.work = SolveCounts()
        self.stopped_by: StopReason | None = None
        self.told: Callable[[Progress], Progress] | None = None  # what progress means to the asker
        self._solver = chosen.many(self.problem)

    def limited(self, **limits: Any) -> Pricer:
        """The same with other limits on covered rows, within the same budget.

        See `Problem.with_limits`.
        """
        other = copy(self)
        other.problem = self.problem.with_limits(**limits)
        other._solver = self._solver.limited(**limits)
        return other

    def of_label(self, label: int) -> Pricer:
        """The same for rules of one class, within the same budget."""
        other = copy(self)
        other._objective = replace(self._objective, labels=(label,))
        other.problem = self.problem.with_objective(other._objective)
        return other

    def of_rows(self, rows: VolumeImpurity, budget: Budget | Clock) -> Pricer:
        """The same for other classes and weights of the rows, with a budget of its own."""
        other = copy(self)
        other._objective = replace(self._objective, classes=rows.classes, weights=rows.weights)
        other.problem = self.problem.with_objective(other._objective)
        other.clock, other.work, other.stopped_by = running(budget), SolveCounts(), None
        return other

    @property
    def lowest(self) -> Fraction:
        """A price above 1 and below every crossing of two lines beyond 1.

        Crossings are ratios of whole numbers of units, of which there are `total`. Solving here
        gives the largest correct weight and, among rules that have it, the fewest errors.
        """
        return 1 + Fraction(1, self.total + 1)

    @property
    def highest(self) -> Fraction:
        """A price above every crossing of two lines: the fewest errors come first."""
        return Fraction(self.total + 1)

    def halted(self) -> bool:
        """Whether a limit of the budget is reached."""
        if self.stopped_by is None:
            self.stopped_by = self.clock.stop(self.work.nodes)
        return self.stopped_by is not None

    def solve(
        self,
        w: Fraction,
        start: Rule | None = None,
        max_errors: int | None = None,
        min_precision: Fraction | None = None,
    ) -> Answer:
        """The best rule at the price `w`.

        Of those with at most so many units of errors, and of at least this precision, which must
        not be below the one that the problem asks for.
        """
        solver = self._solver
        if max_errors is not None:
            own, limit = self.problem.constraints.max_errors, Fraction(max_errors, self.scale)
            solver = solver.limited(
                max_errors=limit if own is None else min(limit, as_written(own))
            )
        if min_precision is not None:
            solver = solver.limited(min_precision=min_precision)
        objective = replace(self._objective, w=w)
        return self._answer(solver.solve(objective, budget=self._left(), start=start))

    def improve(self, w: Fraction, start: Rule | None, *, proven: bool = True) -> Answer:
        """The best rule at the price `w`, or `start` where none is better; no tie is decided.

        Unless it must be `proven`, only a quick look is taken.
        """
        objective = replace(self._objective, w=w)
        found = self._solver.improve(start, objective, budget=self._left(), proven=proven)
        return self._answer(found)

    def _answer(self, solution: Solution) -> Answer:
        """What a solve has found; it is counted."""
        self.work.solves += 1
        self.work.nodes += solution.statistics.nodes
        finished = solution.stopped_by is StopReason.FINISHED
        if not finished:
            self.stopped_by = solution.stopped_by
        bound = None
        if not (finished and solution.status.is_proven):
            # The float may have been rounded down; the next one is a bound for certain.
            bound = Fraction(math.nextafter(solution.bound, math.inf)) * self.scale
        return Answer(self._line(solution), bound)

    def at(self, w: Fraction) -> Problem:
        """The problem at one price."""
        return self.problem.with_objective(replace(self._objective, w=w))

    def solution(self, w: Fraction, answer: Answer) -> Solution:
        """What a solve at the price `w` has found, as a solution."""
        line, scale = answer.line, self.scale
        value = -math.inf if line is None else float(line.value(w) / scale)
        status = Status.of(
            has_rule=line is not None and line.rule is not None,
            may_be_empty=line is not None,
            proven=answer.proven,
        )
        return Solution(
            rule=None if line is None else line.rule,
            value=value,
            bound=value if answer.bound is None else float(answer.bound / scale),
            status=status,
            stopped_by=self.stopped_by or StopReason.FINISHED,
            covered=0.0 if line is None else line.covered / scale,
            errors=0.0 if line is None else line.errors / scale,
            seconds=self.clock.elapsed(),
            engine=self.engine,
            rounding=self.rounding * max(1.0, float(w) - 1),
            evidence=None if line is None else self.evidence(line.rule),
        )

    def evidence(self, rule: Rule | None) -> Evidence | None:
        """What the rows say about a rule; None without one."""
        return None if rule is None else evidence_of(self.problem, self.problem.lower(rule))

    def _line(self, solution: Solution) -> Line | None:
        if solution.rule is None:
            return EMPTY if self.problem.may_be_empty else None
        covered, errors = solution.covered * self.scale, solution.errors * self.scale
        return Line(round(covered), round(errors), solution.rule)

    def _left(self) -> Budget:
        """What is left of the budget."""
        budget = self.clock.budget
        seconds = None if budget.time_limit is None else max(0.0, self.clock.remaining())
        nodes = None if budget.nodes is None else max(0, budget.nodes - self.work.nodes)
        progress = None if budget.progress is None else self._report
        return replace(budget, time_limit=seconds, nodes=nodes, progress=progress)

    def _report(self, progress: Progress) -> None:
        """Pass on the progress of one solve, with the time that all have taken."""
        callback = self.clock.budget.progress
        assert callback is not None
        progress = replace(progress, seconds=self.clock.elapsed())
        callback(progress if self.told is None else self.told(progress))


def _units(problem: Problem, most: int) -> tuple[Any, int, float]:
    """Row weights in whole units, units per row, and how far they are from the true ones."""
    table, own = problem.table, problem.objective
    weights = table.weights
    if weights is None:  # rows count one, or as often as they were drawn
        if int(own.weights.sum()) < most:
            return own.weights, own.weight_scale, own.rounding
        weights = own.weights / own.weight_scale
    return weight_units(weights, table.n_rows, most)


def as_price(name: str, w: Any, *, infinite: bool = False) -> Fraction | None:
    """A price as a fraction; None for infinity, where that is allowed."""
    if is_number(w) and infinite and w > sys.float_info.max:
        return None
    if not is_number(w) or not 1 <= w < math.inf:
        kind = "a number >= 1, or infinity" if infinite else "a finite number >= 1"
        raise InputError(f"'{name}' must be {kind} (the price of one error in rows), got {w!r}.")
    return as_written(w)
