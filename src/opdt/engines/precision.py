"""The most precise rule that covers enough rows, by exact solves at a few prices.

A precision p is that of a VI of 0 at the price 1 / (1 - p). So a rule is the most precise one when
no rule has a VI above 0 at the price at which its own is 0. If one has, it is more precise, and its
own price is tried next: Dinkelbach's method, in fractions, which ends after a few solves. Quick
looks without a proof come first, so that one or two solves are enough as a rule.

Each solve also bounds the precision of every rule. Let B be a VI that no rule exceeds at the price
w, and let a rule cover N rows, L of them errors: N - w L <= B, so that L / N >= (1 - B / N) / w.
For B >= 0 this is least for the smallest N that the minimum coverage m allows:

    precision = 1 - L / N <= 1 - (1 - B / m) / w.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from opdt.engines.prices import Answer, Line, SolveCounts
from opdt.errors import EngineFailure
from opdt.problem import Problem
from opdt.rules import Rule
from opdt.solution import Clock, Progress, Solution, Statistics, Status, StopReason, TracePoint
from opdt.verdict import Evidence

NOTHING = float("-inf")
MOST = 2**58  # sums of values, with what decides ties in them, below which all prices work well


class Prices(Protocol):
    """Exact solves of one problem at any price: a `Pricer`, in memory or over partitions."""

    problem: Problem
    engine: str
    clock: Clock
    work: SolveCounts
    scale: int  # units of weight that make one row
    total: int  # units of all rows
    rounding: float
    stopped_by: StopReason | None
    told: Callable[[Progress], Progress] | None

    @property
    def highest(self) -> Fraction:
        """A price above every crossing of two lines."""

    def halted(self) -> bool:
        """Whether a limit is reached."""

    def solve(
        self,
        w: Fraction,
        start: Rule | None = None,
        max_errors: int | None = None,
        min_precision: Fraction | None = None,
    ) -> Answer:
        """The best rule at a price."""

    def improve(self, w: Fraction, start: Rule | None, *, proven: bool = True) -> Answer:
        """The best rule at a price, or `start` where none is better; ties may be undecided.

        Unless it must be `proven`, a quick look is enough.
        """

    def evidence(self, rule: Rule | None) -> Evidence | None:
        """What the rows say about a rule; None without one, or where somebody else says it."""


def most_precise(pricer: Prices) -> Solution:
    """The rule of the highest precision among those that meet the constraints.

    Of equally precise rules the one with the most rows of its class comes first, then the order
    of `Problem.key`. The constraints must have a minimum coverage, so that there is no empty rule.

    Returns
    -------
    Solution
        Its value is the precision, its bound one that no such rule exceeds.
    """
    return PrecisionSearch(pricer).run()


class PrecisionSearch:
    """The best rule so far, the bound so far, and the solves that bring them together."""

    def __init__(self, pricer: Prices) -> None:
        self._pricer = pricer
        self._least = pricer.problem.limits.min_covered
        self._best: Line | None = None
        self._bound = self._ceiling()
        self._infeasible = False
        self._trace: list[TracePoint] = []

    def run(self) -> Solution:
        """Search until the precision is proven, or a limit is reached."""
        pricer = self._pricer
        pricer.told = self._told
        self._look()
        while not (pricer.halted() or self._infeasible):
            best = self._best
            if best is None:
                w = self._first_price()
                self._learn(w, pricer.solve(w))
                if self._best is None:
                    break
            elif self._proven:
                self._decide_ties(best)
                break
            elif (price := price_of_ties(pricer, best)) is None:
                self._learn(_price(best), pricer.improve(_price(best), best.rule))
            elif self._settle(best, price):
                break
        return self._solution()

    def _look(self) -> None:
        """Quick looks for a precise rule to start from."""
        w = self._first_price()
        while not self._pricer.halted():
            before = self._best
            rule = None if before is None else before.rule
            self._learn(w, self._pricer.improve(w, rule, proven=False))
            if self._best is None or self._best is before or self._proven:
                break
            w = _price(self._best)

    def _settle(self, best: Line, price: Fraction) -> bool:
        """Solve at the price of ties; whether `best` is proven to be as precise as a rule can be.

        If so, the rule found is the first of its precision.
        """
        answer = self._pricer.solve(price, best.rule)
        self._learn(price, answer)
        line, precision = answer.line, _precision(best)
        if line is None or not answer.proven or _precision(line) != precision:
            return False
        self._best, self._bound = line, precision
        self._record()
        return True

    # -- prices ------------------------------------------------------------------------------

    def _first_price(self) -> Fraction:
        """That of the precision that all rows have, for the class that has most of them.

        A rule that is no better than all rows is worth nothing there, and any better one shows.
        """
        totals, total = _totals(self._pricer), self._pricer.total
        return Fraction(total, total - max(totals)) if max(totals) < total else Fraction(1)

    def _decide_ties(self, best: Line) -> None:
        """Of all rules of the precision of `best`, which none exceeds, the one of most right rows.

        At the price 1 the VI counts the rows of the class.
        """
        answer = self._pricer.solve(Fraction(1), best.rule, min_precision=_precision(best))
        if answer.line is not None and answer.line.rule is not None:
            self._best = answer.line
            self._record()

    # -- what is known -----------------------------------------------------------------------

    def _learn(self, w: Fraction, answer: Answer) -> None:
        """Keep the rule, if it is more precise, and the bound, if it is lower."""
        line = answer.line
        if line is None:
            self._infeasible = answer.proven
        elif self._best is None or _precision(line) > _precision(self._best):
            self._best = line
        most = answer.bound if line is None or answer.bound is not None else line.value(w)
        if most is not None:
            rows = self._least if most >= 0 else self._pricer.total
            self._bound = min(self._bound, 1 - (1 - most / rows) / w)
        if self._best is not None and self._bound < _precision(self._best):
            raise EngineFailure(
                f"engine {self._pricer.engine!r} claims that no precision is above "
                f"{float(self._bound)}, but a rule has {self._value}."
            )
        self._record()

    def _ceiling(self) -> Fraction:
        """All rows of a class, in as few rows as may be covered."""
        return min(Fraction(1), Fraction(max(_totals(self._pricer)), self._least))

    @property
    def _proven(self) -> bool:
        return self._best is not None and _precision(self._best) == self._bound

    @property
    def _value(self) -> float:
        return NOTHING if self._best is None else float(_precision(self._best))

    def _told(self, progress: Progress) -> Progress:
        """The progress of one solve, as that of the precision."""
        return replace(progress, value=self._value, bound=float(self._bound))

    def _record(self) -> None:
        rule = None if self._best is None else self._best.rule
        point = TracePoint(self._pricer.clock.elapsed(), self._value, float(self._bound), rule)
        self._trace.append(point)

    def _solution(self) -> Solution:
        pricer, line = self._pricer, self._best
        proven = self._infeasible if line is None else self._proven
        status = Status.of(has_rule=line is not None, may_be_empty=False, proven=proven)
        return Solution(
            rule=None if line is None else line.rule,
            value=self._value,
            bound=NOTHING if self._infeasible else float(self._bound),
            status=status,
            stopped_by=pricer.stopped_by or StopReason.FINISHED,
            covered=0.0 if line is None else line.covered / pricer.scale,
            errors=0.0 if line is None else line.errors / pricer.scale,
            seconds=pricer.clock.elapsed(),
            trace=tuple(self._trace),
            statistics=Statistics(nodes=pricer.work.nodes),
            engine=pricer.engine,
            # A change of r to the weights moves correct and covered weight by at most r each.
            rounding=min(1.0, 2 * pricer.rounding * pricer.scale / self._least),
            objective="precision",
            evidence=None if line is None else pricer.evidence(line.rule),
        )


def _precision(line: Line) -> Fraction:
    return Fraction(line.correct, line.covered)


def _price(line: Line) -> Fraction:
    """The price at which a rule's VI is 0; it has errors."""
    return Fraction(line.covered, line.errors)


def _totals(pricer: Prices) -> list[int]:
    """The weight of each class that a rule may have, in units."""
    objective = pricer.problem.objective
    return [int(objective.weights[~objective.wrong(c)].sum()) for c in objective.labels]


def price_of_ties(pricer: Prices, best: Line) -> Fraction | None:
    """A price a little below that of `best`, at which ties in precision are decided, too.

    Let a / b be the price of `best`. A rule's VI there is a whole number of units of 1 / b: 0 if it
    is as precise, 1 and more if it is more precise. Take m times that and add its right rows, of
    which there are less than m: the more precise rules come first still, then those as precise as
    `best` by their right rows, then the others. That is the VI at the price (m a + 1) / (m b + 1),
    in other units. None where it would have too many digits, or `best` has no error.
    """
    if not best.errors:
        return None
    total, depth = pricer.total, pricer.problem.structure.depth
    a, b = _price(best).as_integer_ratio()
    m = max(_totals(pricer)) + 1
    if total**2 * (depth + 2) * (m * a + 1) >= MOST:
        return None
    return Fraction(m * a + 1, m * b + 1)
