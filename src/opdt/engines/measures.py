"""The best rule in a measure that is no sum over rows, by exact solves at a few prices.

A solve at the price w finds the rule with the most `correct - (w - 1) × errors`, so no rule lies
above the line of slope w - 1 through its point (errors, correct). Several such lines, with the
edges that coverage and class leave, make a polygon that holds every rule. The measures of
`opdt.objectives.measures` are monotone and quasi-convex: their largest value in the polygon is
taken at a corner, and no rule is worth more. That is the bound, at any time and with any lines; a
solve that meets a limit gives a line as well. If no corner is worth more than the best rule, it
is proven.

Else the most valuable corner is cut off. Its two lines touch a rule each; a solve at the slope of
the segment between the two either finds a rule beyond it, or proves that there is none, and then
the corners left are the two rules (which Benson 1998 calls outer approximation). There are
finitely many rules, so this ends. The origin and the point of all rows stand for the rules at
both ends: nothing is worth anything there.

Where rules of equal value lie on a line, as for F_β, the price is that of the line through the best
rule: Dinkelbach's method, with the proof in its last solve. Quick looks without a proof come first.
They go from rule to rule along the tangents: what lies above the tangent at a rule is worth more,
since otherwise the convex set of what is worth less would reach above its own tangent.

Ties: of equally good rules the first in the order of `Problem.key` is taken.

References
----------
Benson, H. P. (1998). An outer approximation algorithm for generating all efficient extreme points
in the outcome set of a multiple objective linear programming problem. J. Global Optim. 13, 1–24.
Dinkelbach, W. (1967). On nonlinear fractional programming. Management Science 13, 492–498.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from opdt.engines.base import Engine
from opdt.engines.precision import most_precise
from opdt.engines.prices import EMPTY, MAX_UNITS, Line, Pricer
from opdt.errors import EngineFailure
from opdt.objectives.measures import ClassTotals, FBeta, LineMeasure, QualityMeasure, measure_named
from opdt.problem import Problem
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
)

LOOKS = 8  # quick looks for a rule to begin with, at most
FINEST = 256  # denominators of prices that are only a guess
NOTHING = float("-inf")


class CountPoint(NamedTuple):
    """Errors and correct rows in weight units, of a rule or of a corner."""

    errors: Fraction
    correct: Fraction


class Cut(NamedTuple):
    """No rule has more than `height + slope × errors` correct rows; `touch` is one that has."""

    slope: Fraction
    height: Fraction
    touch: CountPoint | None

    def at(self, errors: Fraction) -> Fraction:
        """The most correct rows with so many errors."""
        return self.height + self.slope * errors


class Corner(NamedTuple):
    """A corner of the polygon, its score, and the lines that meet there; None is an edge."""

    score: Fraction
    point: CountPoint
    left: Cut | None
    right: Cut | None


def measure_pricer(problem: Problem, engine: str | Engine, budget: Budget | Clock) -> Pricer:
    """The pricer for a problem whose objective is a measure.

    Prices of an F-measure have more digits than others; they leave less room for row weights.
    """
    measure, room = measure_named(problem.best_in), MAX_UNITS
    if isinstance(measure, FBeta):
        over, under = (measure.beta**2).as_integer_ratio()
        room = math.isqrt(MAX_UNITS**2 // (over + 2 * under))
    return Pricer(problem, engine, budget, max_units=room)


def is_measured(problem: Problem) -> bool:
    """Whether the rule is to be best in a measure of `opdt.objectives.measures`."""
    return measure_named(problem.best_in) is not None


def solve_measured(problem: Problem, engine: str | Engine, budget: Budget | Clock) -> Solution:
    """The best rule of a problem whose objective is such a measure."""
    measure = measure_named(problem.best_in)
    assert measure is not None
    pricer = measure_pricer(problem, engine, budget)
    return largest_lift(pricer) if measure.name == "lift" else best_in_measure(pricer, measure)


def best_in_measure(pricer: Pricer, measure: QualityMeasure) -> Solution:
    """The rule of the largest value in a measure, among those that meet the constraints."""
    search = MeasureSearch(pricer, measure)
    search.run()
    return search.solution()


def largest_lift(pricer: Pricer) -> Solution:
    """The rule of the largest lift: of each class the most precise one.

    The constraints must have a minimum coverage.
    """
    found = []
    for label in pricer.problem.objective.labels:
        own = pricer.of_label(label)
        positives = _totals(own, label).positives
        if positives:
            found.append(_lifted(most_precise(own), Fraction(own.total, positives), own))
    best = max(found, key=lambda each: each.value)
    open_bound = max(each.bound for each in found)
    stopped = next((e.stopped_by for e in found if e.stopped_by is not StopReason.FINISHED), None)
    proven = all(each.status.is_proven or each.bound <= best.value for each in found)
    status = Status.of(has_rule=best.rule is not None, may_be_empty=False, proven=proven)
    return replace(
        best,
        bound=best.value if proven else open_bound,
        status=status,
        stopped_by=stopped or StopReason.FINISHED,
        seconds=pricer.clock.elapsed(),
        statistics=Statistics(nodes=pricer.work.nodes),
        rounding=max(each.rounding for each in found),
    )


def _lifted(found: Solution, factor: Fraction, pricer: Pricer) -> Solution:
    """A solution for the precision as one for the lift, of one class."""

    def of(precision: float) -> float:
        return precision if math.isinf(precision) else float(factor) * precision

    value = of(found.value)
    if found.rule is not None:
        covered, errors = (round(n * pricer.scale) for n in (found.covered, found.errors))
        value = float(Fraction(covered - errors, covered) * factor)
    return replace(
        found,
        value=value,
        bound=value if found.status.is_proven else math.nextafter(of(found.bound), math.inf),
        trace=tuple(
            replace(point, value=of(point.value), bound=of(point.bound)) for point in found.trace
        ),
        rounding=found.rounding * float(factor) * 3,
        objective="lift",
    )


def score_of(pricer: Pricer, measure: QualityMeasure, rule: Rule) -> Fraction:
    """The exact score of a rule on the rows of a pricer."""
    coded = pricer.problem.lower(rule)
    _, covered, errors = pricer.problem.measure(coded)
    totals = _totals(pricer, coded.label)
    return measure.score(Fraction(covered - errors), Fraction(errors), totals)


def _totals(pricer: Pricer, label: int) -> ClassTotals:
    objective = pricer.problem.objective
    positives = int(objective.weights[~objective.wrong(label)].sum())
    return ClassTotals(positives, pricer.total - positives, pricer.scale)


class ClassSide:
    """What is known about the rules of one class: their points, and a polygon that holds all."""

    def __init__(self, pricer: Pricer, measure: QualityMeasure, label: int) -> None:
        self.pricer, self.measure = pricer.of_label(label), measure
        self.totals = _totals(pricer, label)
        limits, may_be_empty = pricer.problem.limits, pricer.problem.may_be_empty
        self._least = Fraction(0 if may_be_empty else limits.min_covered)
        self._ends = [Fraction(0), Fraction(min(limits.max_errors, self.totals.negatives))]
        self._top = Fraction(self.totals.positives)
        for limit in self.pricer.problem.row_limits(label):  # a budget is one of them
            if (limit.column == self.pricer.problem.objective.weights).all():
                self._top = min(self._top, Fraction(limit.most))
        self._chance = Fraction(self.totals.positives, max(1, self.totals.negatives))
        self._cuts: list[Cut] = []
        self.best: Line | None = EMPTY if may_be_empty else None
        self.lines: dict[CountPoint, Line] = {_point(EMPTY): EMPTY} if may_be_empty else {}
        self.infeasible = False

    @property
    def score(self) -> Fraction | None:
        """The score of the best rule so far."""
        return None if self.best is None else self._score(_point(self.best))

    @property
    def ceiling(self) -> Fraction:
        """The score of a rule that covers as many rows of its class as it may, and no other."""
        return self._score(CountPoint(Fraction(0), self._top))

    def _score(self, point: CountPoint) -> Fraction:
        return self.measure.score(point.correct, point.errors, self.totals)

    # -- the polygon ---------------------------------------------------------------------------

    def open_corner(self, best: Fraction | None) -> Corner | None:
        """The most valuable corner that may hide a rule to be preferred to one of score `best`."""
        if self.infeasible:
            return None
        settled = self._is_settled(best)
        found = None
        for corner in self._corners():
            if corner.point in self.lines:
                continue
            if best is not None and (corner.score < best or (corner.score == best and settled)):
                continue
            if found is None or corner.score > found.score:
                found = corner
        return found

    def _is_settled(self, best: Fraction | None) -> bool:
        """Whether ties with a rule of score `best` are decided already, or not worth it."""
        if best is None or not isinstance(self.measure, LineMeasure):
            return best == self.measure.nothing
        slope = self.measure.slope_of(best, self.totals)
        return any(cut.slope == slope for cut in self._cuts)

    def _corners(self) -> Iterator[Corner]:
        """The upper left corners of the polygon, from the fewest errors on.

        The measure is monotone, so that no other part of the polygon is worth more.
        """
        top = self._top
        everything = CountPoint(Fraction(self.totals.negatives), top)
        cuts = _envelope([*self._cuts, Cut(Fraction(0), top, everything)])
        first, last = self._ends
        for at, cut in enumerate(cuts):
            steeper = cuts[at - 1] if at else None
            begin = first if steeper is None else _meeting(steeper, cut)
            end = last if at + 1 == len(cuts) else min(last, _meeting(cut, cuts[at + 1]))
            begin = max(begin, first, (self._least - cut.height) / (cut.slope + 1))
            if cut.slope:
                begin = max(begin, -cut.height / cut.slope)
            if begin > end:
                continue
            yield self._corner(begin, cut, steeper, cut)
            if end == last and cut.slope:
                yield self._corner(end, cut, cut, None)
            if end == last:
                return

    def _corner(self, errors: Fraction, on: Cut, left: Cut | None, right: Cut | None) -> Corner:
        point = CountPoint(errors, on.at(errors))
        return Corner(self._score(point), point, left, right)

    def price(self, corner: Corner, best: Fraction | None) -> Fraction:
        """The price at which to solve next, to cut a corner off; `best` is the score so far."""
        if (
            isinstance(self.measure, LineMeasure)
            and best is not None
            and (self._cuts or best > self.measure.nothing)
        ):
            return 1 + self.measure.slope_of(best, self.totals)
        if not self._cuts:
            return 1 + self._tangent()
        return 1 + self._between(corner)

    def _between(self, corner: Corner) -> Fraction:
        """The slope of the segment between the rules that the lines of a corner touch."""
        left, right = corner.left, corner.right
        steepest = Fraction(self.pricer.total) if left is None else left.slope
        flattest = Fraction(0) if right is None else right.slope
        one = CountPoint(Fraction(0), Fraction(0)) if left is None else left.touch
        two = CountPoint(Fraction(self.totals.negatives), Fraction(self.totals.positives))
        if right is not None and right.touch is not None:
            two = right.touch
        if one is not None and two.errors > one.errors:
            slope = (two.correct - one.correct) / (two.errors - one.errors)
            if flattest < slope < steepest:
                return slope
        # The end stands for no rule here: the fewest errors, or the most correct rows.
        return steepest if left is None else flattest

    def _tangent(self) -> Fraction:
        """The slope at the best rule, as a simple fraction."""
        line = self.best
        if line is None or self._score(_point(line)) <= self.measure.nothing:
            return self._chance
        errors, correct = _point(line)
        if isinstance(self.measure, LineMeasure):
            return self.measure.slope(correct, errors, self.totals)
        slope = self.measure.slope(correct, errors, self.totals).limit_denominator(FINEST)
        return min(slope, Fraction(self.pricer.total))

    # -- the solves ----------------------------------------------------------------------------

    def look(self) -> None:
        """Quick looks along the tangents, for a rule to begin with; nothing is proven."""
        if self.pricer.problem.constraints.sums_rows:
            return  # a look at such a problem would be a whole solve
        for _ in range(LOOKS):
            if self.pricer.halted():
                return
            start = None if self.best is None else self.best.rule
            found = self.pricer.improve(1 + self._tangent(), start, proven=False)
            if found.line is None or not self._keep(found.line):
                return

    def solve(self, price: Fraction) -> None:
        """The best rule at a price, and the line above which there is none."""
        start = max(self.lines.values(), key=lambda line: line.value(price), default=None)
        answer = self.pricer.solve(price, None if start is None else start.rule)
        line = answer.line
        if line is None and answer.proven:
            self.infeasible = True
            return
        if line is not None:
            self.lines.pop(_point(line), None)  # this rule is the first of those with its counts
            self._keep(line)
        if answer.bound is not None:
            self._cuts.append(Cut(price - 1, answer.bound, None))
            return
        assert line is not None
        self._cuts.append(Cut(price - 1, line.value(price), _point(line)))
        if price == self.pricer.highest:
            self._ends[0] = Fraction(line.errors)

    def _keep(self, line: Line) -> bool:
        """Remember a rule; whether it is worth more than the best before."""
        point, best = _point(line), self.best
        self.lines.setdefault(point, line)
        if best is None or _point(best) == point:
            self.best = self.lines[point]
            return best is None
        new, old = self._score(point), self._score(_point(best))
        if new > old or (new == old and comes_first(self.pricer.problem, line, best)):
            self.best = line
        return new > old


def comes_first(problem: Problem, line: Line, other: Line) -> bool:
    """Whether a rule comes before another one of the same value in the documented order."""
    if line.rule is None or other.rule is None:
        return line.rule is None and other.rule is not None
    one, two = problem.lower(line.rule), problem.lower(other.rule)
    keys = (problem.key(rule, problem.measure(rule))[1:] for rule in (one, two))
    return next(keys) < next(keys)


def _point(line: Line) -> CountPoint:
    return CountPoint(Fraction(line.errors), Fraction(line.correct))


def _meeting(steep: Cut, flat: Cut) -> Fraction:
    """The errors at which two lines meet."""
    return (flat.height - steep.height) / (steep.slope - flat.slope)


def _envelope(cuts: list[Cut]) -> list[Cut]:
    """The lines that are the lowest somewhere, the steepest first."""
    lowest: dict[Fraction, Cut] = {}
    for cut in cuts:
        known = lowest.get(cut.slope)
        if known is None or cut.height < known.height:
            lowest[cut.slope] = cut
    out: list[Cut] = []
    for slope in sorted(lowest, reverse=True):
        cut = lowest[slope]
        while len(out) > 1 and _meeting(out[-2], out[-1]) >= _meeting(out[-1], cut):
            out.pop()
        out.append(cut)
    return out


def above(value: float, measure: QualityMeasure, score: Fraction) -> float:
    """The value of a score as a float that is not below it."""
    return value if measure.score_of(value) >= score else math.nextafter(value, math.inf)


class MeasureSearch:
    """The best rule over all classes, the bound, and the solves that bring them together."""

    def __init__(
        self, pricer: Pricer, measure: QualityMeasure, goal: Fraction | None = None
    ) -> None:
        self._pricer, self._measure, self._goal = pricer, measure, goal
        self._sides = [ClassSide(pricer, measure, c) for c in pricer.problem.objective.labels]
        self._best: tuple[Fraction, Line, ClassSide] | None = None
        self._bound: Fraction | None = max(side.ceiling for side in self._sides)
        self._trace: list[TracePoint] = []
        self._proven = False

    def run(self) -> None:
        """Search until the value is proven, or a limit is reached.

        With a goal: until it is known whether a rule reaches it.
        """
        self._pricer.told = self._told
        for side in self._sides:
            side.pricer.told = self._told
            side.look()
            self._take()
        while not (self._decided or self._halted()):
            score = None if self._best is None else self._best[0]
            found = self._open
            if found is None:
                self._proven = True
                break
            corner, side = found
            side.solve(side.price(corner, score))
            self._take()
        self._proven |= self._best is not None and self._bound == self._best[0]

    def reaches(self, score: Fraction) -> bool | None:
        """Whether some rule has at least this score; None if that is not known."""
        if self._best is not None and self._best[0] >= score:
            return True
        return False if self._bound is None or self._bound < score else None

    @property
    def bound(self) -> float:
        """A value that no rule exceeds; minus infinity if no rule meets the constraints."""
        return self._value if self._proven else self._most

    @property
    def _decided(self) -> bool:
        return self._goal is not None and self.reaches(self._goal) is not None

    @property
    def _open(self) -> tuple[Corner, ClassSide] | None:
        """The most valuable corner of any class that may hide a better rule."""
        score = None if self._best is None else self._best[0]
        found: tuple[Corner, ClassSide] | None = None
        for side in self._sides:
            corner = side.open_corner(score)
            if corner is not None and (found is None or corner.score > found[0].score):
                found = corner, side
        return found

    def _take(self) -> None:
        """Keep the best rule of all classes, and the bound."""
        for side in self._sides:
            if side.best is None or side.score is None:
                continue
            known = self._best
            if (
                known is None
                or side.score > known[0]
                or side is known[2]
                or (
                    side.score == known[0]
                    and comes_first(self._pricer.problem, side.best, known[1])
                )
            ):
                self._best = side.score, side.best, side
        ends = [] if self._best is None else [self._best[0]]
        if (found := self._open) is not None:
            ends.append(found[0].score)
        bound = max(ends, default=None)
        self._bound = bound if bound is None or self._bound is None else min(self._bound, bound)
        if self._best is not None and self._bound is not None and self._bound < self._best[0]:
            raise EngineFailure(
                f"engine {self._pricer.engine!r} claims that no {self._measure.title} is above "
                f"{self._measure.value(self._bound)}, but a rule has {self._value}."
            )
        self._record()

    def _halted(self) -> bool:
        for side in self._sides:
            self._pricer.stopped_by = self._pricer.stopped_by or side.pricer.stopped_by
        return self._pricer.halted()

    @property
    def _value(self) -> float:
        return NOTHING if self._best is None else self._measure.value(self._best[0])

    @property
    def _most(self) -> float:
        """The bound as a float that is not below it."""
        if self._bound is None:
            return NOTHING
        if self._best is not None and self._bound == self._best[0]:
            return self._value
        return above(self._measure.value(self._bound), self._measure, self._bound)

    def _told(self, progress: Progress) -> Progress:
        return replace(progress, value=self._value, bound=self._most)

    def _record(self) -> None:
        rule = None if self._best is None else self._best[1].rule
        self._trace.append(TracePoint(self._pricer.clock.elapsed(), self._value, self._most, rule))

    def solution(self) -> Solution:
        """What is found and proven."""
        pricer, scale = self._pricer, self._pricer.scale
        line = EMPTY if self._best is None else self._best[1]
        if (
            self._best is not None
            and self._best[0] <= self._measure.nothing
            and pricer.problem.may_be_empty
        ):
            line = EMPTY  # no rule is worth anything
        change = pricer.rounding * scale
        return Solution(
            rule=line.rule,
            value=self._value,
            bound=self.bound,
            status=Status.of(
                has_rule=line.rule is not None,
                may_be_empty=pricer.problem.may_be_empty,
                proven=self._proven,
            ),
            stopped_by=pricer.stopped_by or StopReason.FINISHED,
            covered=line.covered / scale,
            errors=line.errors / scale,
            seconds=pricer.clock.elapsed(),
            trace=tuple(self._trace),
            statistics=Statistics(nodes=pricer.work.nodes),
            engine=pricer.engine,
            rounding=max(self._measure.rounding(change, side.totals) for side in self._sides),
            objective=self._measure.name,
            evidence=pricer.evidence(line.rule),
        )
