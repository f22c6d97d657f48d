"""The incumbent of a MIP, its trace, and what is finally claimed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from opdt.engines.base import Outcome
from opdt.engines.mip.bounds import attainable
from opdt.engines.mip.model import Floats
from opdt.engines.mip.solver import Event
from opdt.engines.tree import SplitTree
from opdt.errors import EngineFailure
from opdt.problem import CodedRule, Problem
from opdt.solution import Clock, Progress, Statistics, StopReason, TracePoint

# The rule of a solver's point and, where the model has one, its tree.
Read: TypeAlias = Callable[[Floats], tuple[CodedRule | None, SplitTree | None]]


class Journal:
    """Keeps the best rule so far and every improvement of value or bound.

    Attributes
    ----------
    rule, tree : the best rule, None while there is none, and its tree where one is known.
    gain : int or None
        Its gain in units; 0 where the empty rule is the best so far; None without any rule.
    pending : int or None
        Upper bound, in units, on the parts of the problem that the running model does not cover.
    nodes : int
        Nodes of the solver's tree so far.
    asked_to_stop : StopReason or None
        Why the last solve was to stop early, even if it was done by then.
    notes : list of str
    """

    def __init__(self, problem: Problem, clock: Clock, ceiling: int) -> None:
        self._problem, self._clock, self._ceiling = problem, clock, ceiling
        self.rule: CodedRule | None = None
        self.tree: SplitTree | None = None
        self.gain: int | None = 0 if problem.may_be_empty else None
        self.pending: int | None = None
        self.nodes = 0
        self.asked_to_stop: StopReason | None = None
        self.notes: list[str] = []
        self._points: list[TracePoint] = []

    def incumbent(
        self,
        rule: CodedRule | None,
        tree: SplitTree | None,
        bound: float,
        seconds: float | None = None,
    ) -> None:
        """Keep a rule if it is better than the one known, and record the moment.

        A rule that does not meet every demand is never kept: an intermediate point of the paper's
        model may be a tree whose chosen leaf is empty.
        """
        if rule is not None and self._problem.objection(rule) is None:
            gain = self._problem.measure(rule).gain
            if self.gain is None or gain > self.gain or (self.rule is None and gain == self.gain):
                self.rule, self.tree, self.gain = rule, tree, gain
        self._record(bound, self._clock.elapsed() if seconds is None else seconds)

    def update(self, events: list[Event], read: Read) -> None:
        """Take in what the solver reported, and tell the progress callback."""
        for seconds, x, bound in events:
            if x is None:
                self._record(bound, seconds)
            else:
                rule, tree = read(x)
                self.incumbent(rule, tree, bound, seconds)
        callback = self._clock.budget.progress
        if callback is not None:
            value, bound = self._value(), self._limit(float("inf"))
            callback(Progress(self._clock.elapsed(), value, bound, float(value == bound)))

    def outcome(self, bound: float, stopped: StopReason, details: Any) -> Outcome:
        """The outcome of one model, whose objective has this bound; -inf: there is no point."""
        limit = None if bound == -float("inf") else attainable(self._problem, bound)
        return self.finish(limit, stopped, details)

    def finish(self, bound: int | None, stopped: StopReason, details: Any) -> Outcome:
        """The outcome, given that no rule gains more than `bound` units (None: there is none)."""
        if bound is not None:
            bound = min(bound, self._ceiling)
        if self.gain is not None:
            if bound is not None and self.rule is not None and bound < self.gain:
                raise EngineFailure(
                    f"the solver's bound is a VI of {self._problem.value(bound):g}, but a rule has "
                    f"{self._problem.value(self.gain):g}."
                )
            bound = self.gain if bound is None else max(bound, self.gain)
        if bound is not None:
            self._add(self._problem.value(bound), self._clock.elapsed())
        return Outcome(
            self.rule,
            bound,
            stopped,
            tuple(self._points),
            Statistics(nodes=self.nodes),
            details,
        )

    def _value(self) -> float:
        return -float("inf") if self.gain is None else self._problem.value(self.gain)

    def _limit(self, bound: float) -> float:
        """The best bound on the whole problem, given one on the model at hand."""
        last = self._points[-1].bound if self._points else float("inf")
        here = max(self._problem.value(attainable(self._problem, bound)), self._value())
        if self.pending is not None:
            here = max(here, self._problem.value(self.pending))
        return min(here, last)

    def _record(self, bound: float, seconds: float) -> None:
        self._add(self._limit(bound), seconds)

    def _add(self, limit: float, seconds: float) -> None:
        value = self._value()
        if self._points:
            limit = min(limit, self._points[-1].bound)
            last = self._points[-1]
            if value <= last.value and limit >= last.bound:
                return
        rule = None if self.rule is None else self._problem.lift(self.rule)
        self._points.append(TracePoint(seconds, value, limit, rule))
