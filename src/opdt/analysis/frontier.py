"""The Pareto frontier: the largest number of covered rows of the class for every number of errors.

The corners of the weight path are the points of the frontier that a price singles out. Between two
neighbouring corners other points may lie, which no price reaches, because at every price one of
the corners is better. They are found one by one, from the corner with more errors to the one with
fewer: the most correct rows among the rules with fewer errors than the last point found. The price
at which this is asked is 1 + 1/d, where d is the distance in errors to the corner with fewer: it
puts correct rows first and errors second, and prunes better than a price of nearly 1. Why that is
enough: the errors of rules between the two differ by less than d, which together costs less than
one correct row; and left of the corner the path is steeper than 1/d, so that nothing there is
worth more than the corner itself.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

from opdt.analysis.counts import Judged, counts_on, frame_of, text_table
from opdt.analysis.envelope import Ceiling, crossing
from opdt.analysis.tracing import Tracer
from opdt.arguments import start_clock
from opdt.checks import check_int, check_number, check_share_or_end
from opdt.engines import Engine
from opdt.engines.prices import Line, Pricer
from opdt.objectives.gains import as_written
from opdt.problem import Constraints, Problem
from opdt.problem.arguments import Groups, StructureLike
from opdt.rules import Rule
from opdt.solution import Budget, StopReason
from opdt.table import Plan
from opdt.verdict import Evidence, judge


@dataclass(frozen=True)
class FrontierPoint(Judged):
    """A rule that no other rule beats in correct rows and in errors alike.

    Attributes
    ----------
    rule : Rule
    covered, errors, n_rows : float
        Rows that the rule covers, those of another class among them, and all rows (weighted).
    supported : bool
        Whether some price of an error makes this rule the best, alone or in a tie; the others
        are on no weight path.
    evidence : Evidence or None
        What the training rows say about the rule; see `verdict`.
    """

    rule: Rule
    covered: float
    errors: float
    n_rows: float
    supported: bool
    evidence: Evidence | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class ParetoFrontier:
    """The largest number of correct rows for every number of errors; `pareto_frontier` makes it.

    Attributes
    ----------
    points : tuple of FrontierPoint
        From the fewest errors to the most; the correct rows rise with them.
    complete : bool
        Whether these are all points of the frontier, up to the errors that were asked for. If
        not, a limit was reached: rules may be missing, and `bound` says what they could cover.
    stopped_by : StopReason
    seconds : float
        Time that it took.
    n_solves : int
        Searches that it took.
    """

    points: tuple[FrontierPoint, ...]
    complete: bool
    stopped_by: StopReason
    seconds: float
    n_solves: int
    _lines: tuple[Line, ...] = field(repr=False)  # of the points, in weight units
    _gaps: tuple[tuple[int, float], ...] = field(repr=False)  # errors between which more may lie
    _ceiling: Ceiling = field(repr=False)
    _scale: int = field(repr=False)

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def at(self, errors: float) -> FrontierPoint | None:
        """The rule with the most correct rows of those with at most so many errors; None if none.

        Where the frontier is not complete, the best one found; see `bound`.
        """
        place = bisect_right(self._lines, self._units(errors), key=lambda line: line.errors)
        return self.points[place - 1] if place else None

    def with_precision(self, precision: float) -> FrontierPoint | None:
        """The rule with the most correct rows of those with at least this precision."""
        least = as_written(check_share_or_end("precision", precision))
        for point, line in zip(reversed(self.points), reversed(self._lines), strict=True):
            if line.correct >= least * line.covered:
                return point
        return None

    def bound(self, errors: float) -> float:
        """A number of correct rows that no rule with at most so many errors exceeds."""
        units, point = self._units(errors), self.at(errors)
        found = 0.0 if point is None else point.correct
        if not any(first < units < last for first, last in self._gaps):
            return found
        # At the price w a rule is worth (w - 1) × errors less than its correct rows.
        above = [value + (w - 1) * units for w, value in self._ceiling.points]
        return max(found, float(min(above, default=math.inf) / self._scale))

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[FrontierPoint, ...]:
        """The points with the counts of their rules on other rows, such as held-out ones.

        Takes the arguments of `WeightPath.evaluate`.
        """
        counts = counts_on([point.rule for point in self.points], X, y, sample_weight)
        return tuple(
            FrontierPoint(point.rule, *numbers, supported=point.supported, evidence=point.evidence)
            for point, numbers in zip(self.points, counts, strict=True)
        )

    def columns(self) -> dict[str, list[Any]]:
        """The points by column: what every library makes a data frame of."""
        names = ("errors", "correct", "covered", "precision", "coverage", "supported")
        table = {name: [getattr(point, name) for point in self.points] for name in names}
        verdicts = [str(judge(point.evidence).level) for point in self.points]
        return table | {"verdict": verdicts, "rule": [str(point.rule) for point in self.points]}

    def to_frame(self) -> Any:
        """The points as a data frame of pandas, or else of polars or Arrow."""
        return frame_of(self.columns())

    def __str__(self) -> str:
        if not self.points:
            return "no rule meets the constraints"
        rows = [("yes" if p.supported else "no", *p.words()) for p in self.points]
        return text_table(("on the path", *Judged.TITLES), rows)

    def _units(self, errors: Any) -> int:
        return error_units("errors", errors, self._scale)


def pareto_frontier(
    X: Any,
    y: Any = None,
    *,
    max_errors: float | None = None,
    limit: int | None = None,
    max_depth: int | None = None,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    min_coverage: float | None = None,
    max_coverage: float | None = None,
    min_precision: float | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    roles: Mapping[str, str] | Plan | None = None,
    missing: Any = None,
    engine: str | Engine = "search",
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    budget: Budget | None = None,
) -> ParetoFrontier:
    """The most correct rows for every number of errors, each with its rule and proven.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    max_errors : float, optional
        The largest number of errors of interest; the frontier ends there.
    limit : int, optional
        Stop when so many points are known, those of the weight path included, which are found
        first; then come the widest gaps.
    max_depth, structure, groups, label, min_coverage, max_coverage, min_precision, \
constraints, sample_weight, roles, missing
        What rules there are, as in `discover`. Without a `label` a point is the best over all
        classes, and the rules may point to different ones.
    engine : str or Engine
        One that proves its answers.
    time_limit, n_jobs, memory_limit, budget
        Limits on the whole frontier, as in `discover`.

    Returns
    -------
    ParetoFrontier

    Examples
    --------
    >>> frontier = pareto_frontier(
    ...     {"age": [20, 22, 25, 27, 31, 38, 47, 52, 60]},
    ...     ["well", "ill", "ill", "ill", "well", "ill", "well", "ill", "ill"],
    ...     label="ill", max_depth=1)
    >>> print(frontier)
    on the path  covered  errors  precision  coverage        verdict  rule
            yes        2       0    100.0 %    22.2 %  not supported  IF age >= 50 THEN ill
             no        4       1     75.0 %    44.4 %  not supported  IF age >= 34 THEN ill
            yes        8       2     75.0 %    88.9 %  not supported  IF age >= 21 THEN ill
    >>> frontier.at(1).correct, frontier.with_precision(0.9).errors
    (3.0, 0.0)
    """
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    problem = Problem.of(
        X, y, max_depth=max_depth, structure=structure, groups=groups, label=label,
        min_coverage=min_coverage, max_coverage=max_coverage,
        min_precision=min_precision,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    most = math.inf if limit is None else check_int("limit", limit)
    pricer = Pricer(problem, engine, clock)
    end = None if max_errors is None else error_units("max_errors", max_errors, pricer.scale)
    return FrontierSweep(pricer, most, end).run()


def error_units(name: str, errors: Any, scale: int) -> int:
    """A number of errors in weight units, rounded down."""
    check_number(name, errors, "a number of rows >= 0", lambda n: 0 <= n < math.inf)
    return math.floor(as_written(errors) * scale)


class FrontierSweep:
    """Finds the points between the corners of a path, widest gaps first."""

    def __init__(self, pricer: Pricer, most: float, max_errors: int | None) -> None:
        self.pricer, self.most, self.max_errors = pricer, most, max_errors
        self._supported: dict[Line, bool] = {}
        # minus the size of a gap and the errors of its left end, which decide the order; the left
        # end; the errors that are already settled; the corner of the path to the right
        self._open: list[tuple[int, int, Line, int, Line]] = []

    def run(self) -> ParetoFrontier:
        """All points that are found within the budget."""
        pricer = self.pricer
        trace = Tracer(pricer, None).run()
        known = trace.infeasible or bool(trace.pieces)
        known &= all(trace.is_proven(index) for index in range(len(trace.pieces)))
        corners = [piece.line for piece in reversed(trace.pieces)]  # fewest errors first
        limit = math.inf if self.max_errors is None else self.max_errors
        kept = [line for line in corners if line.errors <= limit]
        self._supported.update((line, True) for line in kept if line.rule is not None)
        if known:
            for left, right in pairwise(corners[: len(kept) + 1]):
                end = right.errors if right.errors <= limit else int(limit) + 1
                self._push(left, end, right.correct, right)
        while self._open and len(self._supported) < self.most and not pricer.halted():
            self._settle(*heapq.heappop(self._open)[2:])
        lines = tuple(sorted(self._supported, key=lambda line: line.errors))
        gaps = tuple((left.errors, float(end)) for _, _, left, end, _ in self._open)
        if not known:
            gaps = ((-1, math.inf),)
        beyond = ((int(limit), math.inf),) if len(kept) < len(corners) else ()
        return ParetoFrontier(
            points=tuple(self._point(line) for line in lines),
            complete=not gaps,
            stopped_by=pricer.stopped_by or StopReason.FINISHED,
            seconds=pricer.clock.elapsed(),
            n_solves=pricer.work.solves,
            _lines=lines,
            _gaps=gaps + beyond,
            _ceiling=trace.ceiling,
            _scale=pricer.scale,
        )

    def _push(self, left: Line, end: int, correct: int, corner: Line) -> None:
        """Put the gap between a point and `end` errors, from which on everything is settled, on the
        list, unless there is no room in it; a point there has fewer than `correct` rows.
        """
        width, height = end - left.errors, correct - left.correct
        if width > 1 and height > 1:
            heapq.heappush(self._open, (-width * height, left.errors, left, end, corner))

    def _settle(self, left: Line, end: int, corner: Line) -> None:
        """Find the point with the most correct rows, and fewest errors, of less than `end`."""
        w = 1 + Fraction(1, end - left.errors)
        found = self.pricer.solve(w, left.rule, max_errors=end - 1)
        if not found.proven:
            self._push(left, end, corner.correct, corner)
        elif found.line is not None and found.line.correct > left.correct:
            price = crossing(corner, left)
            self._supported[found.line] = found.line.value(price) == left.value(price)
            self._push(left, found.line.errors, found.line.correct, corner)

    def _point(self, line: Line) -> FrontierPoint:
        assert line.rule is not None
        return FrontierPoint(
            rule=line.rule,
            covered=line.covered / self.pricer.scale,
            errors=line.errors / self.pricer.scale,
            n_rows=self.pricer.total / self.pricer.scale,
            supported=self._supported[line],
            evidence=self.pricer.evidence(line.rule),
        )
