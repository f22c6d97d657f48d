"""The rule of the highest mean that covers enough rows, by exact solves at a few thresholds.

At a threshold t a rule whose covered rows number N and add up to S is worth S - t N, which is
positive exactly if its mean S / N is above t. So a rule has the highest mean when no rule is worth
more than 0 at its own mean. If one is, its mean is higher, and is tried next: Dinkelbach's method,
in fractions, which ends after a few solves.

Each solve also bounds all means. Let B >= 0 be what no rule exceeds at the threshold t, and m the
fewest rows that a rule may cover: S - t N <= B, so that S / N <= t + B / N <= t + B / m.

The last solve is at the highest mean itself, where all rules that have it are worth 0: it proves
the mean, and decides between them as all engines decide (`Problem.key`). For the lowest mean all
signs change.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from opdt.engines.base import Engine, Outcome, audit
from opdt.errors import InputError
from opdt.objectives.mean import MeanGains
from opdt.problem import Problem
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
)

MANY_ROWS = 20_000


def best_mean(problem: Problem, engine: Engine, budget: Budget | Clock | None = None) -> Solution:
    """The rule of the highest mean (or lowest) among those that meet the constraints.

    The problem has `Mean()` as its objective, and a minimum coverage, so that there is no empty
    rule. Of rules of the same mean the one with fewer conditions comes first, then the order of
    `Problem.key`; errors are rows below the mean.

    Returns
    -------
    Solution
        Its value is the mean, its bound one that no such rule exceeds (or falls below).
    """
    return MeanSearch(problem, engine, running(budget)).run()


class MeanSearch:
    """The best rule so far, the bound so far, and the solves that bring them together."""

    def __init__(self, problem: Problem, engine: Engine, clock: Clock) -> None:
        if not engine.proves_optimality:
            raise InputError(
                f"'engine' {engine.name!r} proves nothing, but every step to the best mean rests "
                "on a proof; use 'search'."
            )
        gains = problem.objective
        assert isinstance(gains, MeanGains)
        self._gains, self._problem, self._engine, self._clock = gains, problem, engine, clock
        self._sign = gains.mean.sign
        self._solver = engine.many(problem)
        self._rule: Rule | None = None
        self._mean: Fraction | None = None  # in multiples of the numbers' unit
        self._bound = Fraction(int((gains.numbers * self._sign).max())) * self._sign
        self._found = Solution(None, 0.0, 0.0, Status.UNKNOWN)
        self._proven, self._nodes = False, 0
        self._trace: list[TracePoint] = []

    def run(self) -> Solution:
        """Search until the mean is proven, or a limit is reached."""
        everything = self._gains.mean_of(self._gains.weights > 0)
        assert everything is not None  # a table has rows, and some have a weight
        threshold = everything
        while self._solve(threshold, proven=False) and self._mean is not None:
            threshold = self._mean
        threshold = everything if self._mean is None else self._mean
        while not self._proven and self._clock.stop(self._nodes) is None:
            if not self._solve(threshold, proven=True) or self._mean is None:
                break
            threshold = self._mean
        return self._solution()

    def _solve(self, threshold: Fraction, *, proven: bool) -> bool:
        """Look for a rule of a better mean than the threshold; whether one was found."""
        gains = self._gains.at(threshold)
        budget = self._left()
        if proven:
            found = self._best(gains, budget)
        else:
            found = self._solver.improve(self._rule, gains, budget=budget, proven=False)
        self._found, self._nodes = found, self._nodes + found.statistics.nodes
        before = self._mean
        if found.rule is not None:
            self._keep(found.rule, decided=proven)
        if proven:
            self._learn(threshold, found, gains)
        self._record()
        return self._mean != before

    def _best(self, gains: MeanGains, budget: Budget) -> Solution:
        """The best rule at a threshold, proven.

        Counts of gains do not say how many rows there are, so that on many rows a search finds a
        minimum coverage hard. There the engine is asked for the best within limits instead, which
        puts a price on rows.
        """
        within = getattr(self._solver, "best_within", None)
        if within is None or self._problem.table.n_rows < MANY_ROWS:
            return self._solver.solve(gains, budget=budget, start=self._rule)
        problem, clock = self._problem.with_objective(gains), running(budget)
        found, stopped = within((), gains=gains, budget=clock)
        rule = None if found is None else found[0]
        bound = None if stopped is StopReason.FINISHED else problem.ceiling
        outcome = Outcome(rule, bound, stopped_by=stopped)
        return audit(self._engine.name, problem, outcome, clock.elapsed())

    def _keep(self, rule: Rule, *, decided: bool) -> None:
        """Keep the rule if its mean is better, or as good and `decided` between such rules."""
        fires = self._problem.cover(self._problem.lower(rule).conditions)
        mean = self._gains.mean_of(fires)
        assert mean is not None  # a minimum coverage is demanded
        better = self._mean is None or self._sign * (mean - self._mean) > 0
        if better or (decided and mean == self._mean):
            self._rule, self._mean = rule, mean

    def _learn(self, threshold: Fraction, found: Solution, gains: MeanGains) -> None:
        """What a solve says about all means."""
        if found.status is Status.INFEASIBLE:
            self._proven = True
            return
        if found.status is Status.OPTIMAL and self._mean == threshold and found.value <= 0:
            self._bound, self._proven = threshold, True
            return
        if found.bound < math.inf:
            # The float may have been rounded down; the next one is a bound for certain.
            most = Fraction(math.nextafter(found.bound, math.inf)) / gains.unit
            rows = self._problem.limits.min_covered
            if most < 0:
                rows = int(self._gains.weights.sum())
            far = most / (rows * threshold.denominator)
            bound = threshold + self._sign * far
            if self._sign * (self._bound - bound) > 0:
                self._bound = bound

    # -- what is known -----------------------------------------------------------------------

    @property
    def _value(self) -> float:
        if self._mean is None:
            return -math.inf * self._sign
        return self._gains.shown(self._mean)

    def _limit(self) -> float:
        return self._value if self._proven else self._gains.shown(self._bound)

    def _record(self) -> None:
        self._trace.append(
            TracePoint(self._clock.elapsed(), self._value, self._limit(), self._rule)
        )

    def _left(self) -> Budget:
        """What is left of the budget, with progress told in means."""
        budget = self._clock.budget
        seconds = None if budget.time_limit is None else max(0.0, self._clock.remaining())
        nodes = None if budget.nodes is None else max(0, budget.nodes - self._nodes)
        callback = budget.progress

        def told(progress: Progress) -> None:
            assert callback is not None
            callback(
                replace(
                    progress,
                    seconds=self._clock.elapsed(),
                    value=self._value,
                    bound=self._limit(),
                )
            )

        tell = None if callback is None else told
        return replace(budget, time_limit=seconds, nodes=nodes, progress=tell)

    def _solution(self) -> Solution:
        found, gains = self._found, self._gains
        solution = Solution(
            rule=self._rule,
            value=self._value,
            bound=self._limit(),
            status=Status.of(
                has_rule=self._rule is not None, may_be_empty=False, proven=self._proven
            ),
            stopped_by=self._clock.stop(self._nodes) or found.stopped_by,
            seconds=self._clock.elapsed(),
            trace=tuple(self._trace),
            statistics=Statistics(nodes=self._nodes),
            engine=self._engine.name,
            # Sums of the target may be off by so much, over as few rows as may be covered.
            rounding=gains.change * gains.weight_scale / self._problem.limits.min_covered,
            objective=gains.mean,
        )
        if self._rule is None or self._mean is None:
            return solution
        fires = self._problem.cover(self._problem.lower(self._rule).conditions)
        final = self._problem.with_objective(gains.at(self._mean))
        measure = final.measure_rows(fires, 0)
        return replace(
            solution,
            covered=measure.covered / gains.weight_scale,
            errors=measure.errors / gains.weight_scale,
            account=gains.account(fires, 0),
            evidence=evidence_of_rows(final, fires, 0),
        )
