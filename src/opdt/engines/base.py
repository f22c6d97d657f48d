"""What every engine is: checks, clock and audit written once, the search left to the author."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from opdt.engines.many import ManySolves
from opdt.errors import EngineFailure, UnsupportedProblem
from opdt.problem import CodedRule, Measure, Problem
from opdt.problem.evidence import evidence_of_rows
from opdt.rules import Rule
from opdt.solution import (
    Budget,
    Clock,
    Progress,
    Solution,
    Statistics,
    Status,
    StopReason,
    TracePoint,
    running,
    value_of_nothing,
)


@dataclass(frozen=True)
class Outcome:
    """What an engine's `_solve` returns, in coded rules and units.

    `bound` is a gain in units that no rule exceeds; None says "the rule is optimal" (or, without
    a rule, "there is none").
    """

    rule: CodedRule | None
    bound: int | None = None
    stopped_by: StopReason = StopReason.FINISHED
    trace: tuple[TracePoint, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)
    details: Any = None


class Engine(ABC):
    """Solves problems: `engine.solve(problem, budget)`.

    Authors write `_solve`, and `refuses` where the engine cannot do everything.
    """

    name: ClassVar[str]
    proves_optimality: ClassVar[bool] = False
    takes_row_limits: ClassVar[bool] = False  # max_coverage, segments and parities

    def refuses(self, problem: Problem) -> str | None:
        """The reason why this engine cannot solve the problem, or None."""
        return None

    def solve(self, problem: Problem, budget: Budget | Clock | None = None) -> Solution:
        """The best rule of the problem within the budget, audited on the data.

        A `Clock` in the place of the budget runs on: what was done before counts too.

        Raises
        ------
        UnsupportedProblem
            When the engine cannot solve this kind of problem; the message gives the reason.
        EngineFailure
            When the engine's rule does not fit the problem or its bound is below the rule's own
            value: a bug, which is never passed over.
        """
        clock = running(budget)
        if problem.constraints.sums_rows and not self.takes_row_limits:
            raise UnsupportedProblem(
                f"engine {self.name!r} does not take 'max_coverage', 'segments' or 'parities'; "
                "use 'search'."
            )
        if why := self.refuses(problem):
            raise UnsupportedProblem(f"engine {self.name!r} cannot solve this problem: {why}.")
        outcome = self._solve(problem, clock)
        return audit(self.name, problem, outcome, clock.elapsed())

    def many(self, problem: Problem) -> ManySolves:
        """For many solves of this problem with other gains."""
        return ManySolves(self, problem)

    @abstractmethod
    def _solve(self, problem: Problem, clock: Clock) -> Outcome:
        """Search; return the best coded rule (None for the empty one) and a bound in units."""


def audit(name: str, problem: Problem, outcome: Outcome, seconds: float) -> Solution:
    """The solution of an outcome, its value recomputed from the data."""
    rule = outcome.rule
    if rule is None:
        return conclude(name, problem, None, None, outcome, seconds)
    fires = problem.cover(rule.conditions)  # once: everything below follows from it
    measure, lifted = problem.measure_rows(fires, rule.label), problem.lift(rule)
    if why := problem.objection(rule, measure):
        raise EngineFailure(f"engine {name!r} returned {lifted}, but {why}.")
    solution = conclude(name, problem, lifted, measure, outcome, seconds)
    if solution.rule is None:
        return solution
    return replace(
        solution,
        account=problem.objective.account(fires, rule.label),
        evidence=evidence_of_rows(problem, fires, rule.label),
    )


def conclude(
    name: str,
    problem: Problem,
    rule: Rule | None,
    measure: Measure | None,
    outcome: Outcome,
    seconds: float,
) -> Solution:
    """The solution of a rule whose counts are known; the outcome's own rule is not looked at.

    Raises
    ------
    EngineFailure
        If the bound is below the rule's own value.
    """
    if measure is not None and measure.gain <= 0 and problem.may_be_empty:
        rule = measure = None  # the empty rule is as good, and is called "no pattern"
    value = value_of(problem, measure)
    bound = value if outcome.bound is None else problem.value(outcome.bound)
    gain = measure.gain if measure else 0 if problem.may_be_empty else None
    if outcome.bound is not None and gain is not None and outcome.bound < gain:
        raise EngineFailure(f"engine {name!r} claims a bound of {bound}, but a rule has {value}.")
    # In whole units, which the two floats may not tell apart.
    proven = outcome.bound is None or outcome.bound == gain
    scale = problem.objective.weight_scale
    return Solution(
        rule=rule,
        value=value,
        bound=bound,
        status=Status.of(
            has_rule=measure is not None, may_be_empty=problem.may_be_empty, proven=proven
        ),
        stopped_by=outcome.stopped_by,
        covered=measure.covered / scale if measure else 0.0,
        errors=measure.errors / scale if measure else 0.0,
        seconds=seconds,
        trace=outcome.trace,
        statistics=outcome.statistics,
        engine=name,
        details=outcome.details,
        rounding=problem.objective.rounding,
    )


def value_of(problem: Problem, measure: Measure | None) -> float:
    """The value of a rule's counts; without a rule that of the empty one, if it is allowed."""
    if measure is not None:
        return problem.value(measure.gain)
    return value_of_nothing(problem.may_be_empty)


class Recorder:
    """Keeps the trace of an engine's incumbents and tells the progress callback."""

    def __init__(self, problem: Problem, clock: Clock) -> None:
        self._problem, self._clock = problem, clock
        self.points: list[TracePoint] = []

    def improved(
        self, rule: CodedRule | None, value: float, bound: float, *, final: bool = False
    ) -> None:
        """Add a point where value or bound is better than before; the `final` rule stays."""
        if self.points:
            last = self.points[-1]
            value, bound = max(value, last.value), min(bound, last.bound)
            if value == last.value and bound == last.bound and not final:
                return
        lifted = None if rule is None else self._problem.lift(rule)
        if final and self.points and (value, bound) == (last.value, last.bound):
            self.points[-1] = replace(last, rule=lifted)  # ties may have been decided since
            return
        self.points.append(TracePoint(self._clock.elapsed(), value, bound, lifted))

    def report(self, value: float, bound: float, done: float) -> None:
        """Tell the progress callback, if there is one."""
        callback = self._clock.budget.progress
        if callback is not None:
            callback(Progress(self._clock.elapsed(), value, bound, done))
