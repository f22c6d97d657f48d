"""The best rule for every threshold, or for every price of a cost, exactly.

What a rule is worth is a line in one number p: a - p × b. For `Mean` p is the threshold, a the sum
of the target over the covered rows and b their number; for `Money` p is how many times the stated
costs count, a the benefit and b the cost. For `Uplift` p is what treating a row costs beyond what
is stated, a the uplift and b the number of rows; for `Survival` p is the ratio, a the events and b
those expected. The best rule at every p is the upper envelope of these
lines, found by solving at crossings of lines that are known, in fractions. Its corners are the
rules that trade coverage for the mean, or benefit for cost, on the convex hull of all that there
are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.counts import frame_of, text_table
from opdt.arguments import start_clock
from opdt.engines import Engine, get_engine
from opdt.errors import InputError
from opdt.objectives import Objective, ObjectiveGains
from opdt.objectives.gains import MAX_TOTAL
from opdt.objectives.mean import MeanGains
from opdt.objectives.money import MoneyGains
from opdt.objectives.survival import SurvivalGains
from opdt.objectives.survival_curves import expected_events
from opdt.objectives.uplift import UpliftGains
from opdt.objectives.words import plain
from opdt.problem import Constraints, Problem
from opdt.problem.arguments import Groups, ObjectiveLike, StructureLike, resolve_constraints
from opdt.problem.evidence import evidence_of_rows
from opdt.rules import Rule
from opdt.solution import Budget, Clock, StopReason
from opdt.table import Plan
from opdt.verdict import Evidence, Verdict, judge

PATHS = (MeanGains, MoneyGains, UpliftGains, SurvivalGains)


@dataclass(frozen=True)
class WorthSegment:
    """The best rule for a range of thresholds, or of prices.

    Attributes
    ----------
    low, high : float
        The range: of the threshold, or of how many times the stated costs count.
    rule : Rule or None
        None where covering nothing is best.
    covered, n_rows : float
        Rows that the rule covers, and all rows (weighted).
    numbers : mapping of name to float
        What the rule does in the objective's words, as in `Account.numbers`.
    evidence : Evidence or None
        What the rows say about the rule; see `verdict`.
    """

    low: float
    high: float
    rule: Rule | None
    covered: float
    n_rows: float
    numbers: Mapping[str, float]
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    @property
    def coverage(self) -> float:
        """Share of all rows that are covered."""
        return self.covered / self.n_rows

    @property
    def verdict(self) -> Verdict | None:
        """See `opdt.Solution.verdict`; None without a rule."""
        return None if self.rule is None else judge(self.evidence)


@dataclass(frozen=True, eq=False)
class WorthPath(Sequence[WorthSegment]):
    """The best rules by threshold or price, in ascending order; a sequence of `WorthSegment`.

    Attributes
    ----------
    segments : tuple of WorthSegment
    name : str
        What changes along the path: "threshold", "price of cost", "further cost" or "ratio".
    complete : bool
        Whether every segment is proven; if not, a limit was met.
    stopped_by : StopReason
    objective : Objective
    """

    segments: tuple[WorthSegment, ...]
    name: str
    complete: bool
    stopped_by: StopReason
    objective: Objective

    def __len__(self) -> int:
        return len(self.segments)

    def __getitem__(self, index: Any) -> Any:
        return self.segments[index]

    def __iter__(self) -> Iterator[WorthSegment]:
        return iter(self.segments)

    def columns(self) -> dict[str, list[Any]]:
        """The segments by column: what every library makes a data frame of."""
        names = ("low", "high", "covered", "coverage")
        table = {name: [getattr(each, name) for each in self] for name in names}
        for name in self._names:
            table[name] = [each.numbers.get(name, 0.0) for each in self]
        rules = ["no rule" if each.rule is None else str(each.rule) for each in self]
        levels = ["" if each.verdict is None else str(each.verdict.level) for each in self]
        return table | {"verdict": levels, "rule": rules}

    def to_frame(self) -> Any:
        """The segments as a data frame of pandas, or else of polars or Arrow."""
        return frame_of(self.columns())

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for each in self for name in each.numbers))

    def __str__(self) -> str:
        names = self.objective.headline or self._names
        titles = (self.name, "covered", "coverage", *names, "verdict", "rule")
        rows = []
        for each in self:
            numbers = [plain(each.numbers[name]) if name in each.numbers else "–" for name in names]
            level = "–" if each.verdict is None else str(each.verdict.level)
            rule = "no rule" if each.rule is None else str(each.rule)
            ends = f"{plain(each.low)} to {plain(each.high)}"
            share = f"{100 * each.coverage:.1f} %"
            rows.append((ends, f"{each.covered:g}", share, *numbers, level, rule))
        return text_table(titles, rows)


def worth_path(
    X: Any,
    y: Any = None,
    *,
    objective: ObjectiveLike = "vi",
    max_depth: int | None = None,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    min_coverage: float | None = None,
    max_coverage: float | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    roles: Mapping[str, str] | Plan | None = None,
    missing: Any = None,
    engine: str | Engine = "search",
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    budget: Budget | None = None,
) -> WorthPath:
    """The best rule for every threshold of `Mean`, or every price of the costs of `Money`, or every
    further cost of treating a row in `Uplift`, or every ratio in `Survival`.

    For `Mean` the path trades coverage for the mean, whatever threshold the objective has. For
    `Money` it shows how the rule changes where costs count more or less than stated: 1 is as
    stated, 2 twice as much. For `Uplift` it shows whom to treat at every cost beyond the stated
    one: a larger cost leaves fewer rows with a larger effect. For `Survival` a larger ratio leaves
    fewer rows of a higher risk. Scores and expectations of many digits are rounded so far that the
    path of the rounded ones is exact: on 100,000 rows to one part in 2**38 of their sum.

    The path is the convex hull of all rules: one that is the best at no p is not on it.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    objective : Mean, Money, Uplift or Survival
    max_depth, structure, groups, label, min_coverage, max_coverage, constraints, sample_weight, \
roles, missing
        What rules there are, as in `discover`.
    engine, time_limit, n_jobs, memory_limit, budget
        As in `discover`; limits are for all searches together.

    Returns
    -------
    WorthPath

    Examples
    --------
    >>> from opdt import Mean
    >>> age, days = {"age": [25, 31, 47, 52, 60, 64]}, [2, 3, 5, 4, 9, 12]
    >>> print(worth_path(age, days, max_depth=1, objective=Mean()))
    threshold  covered  coverage  mean inside  mean outside        verdict  rule
       2 to 3        5    83.3 %          6.6             2  not supported  IF age >= 30 THEN high
     3 to 4.5        4    66.7 %          7.5           2.5  not supported  IF age >= 40 THEN high
     4.5 to 9        2    33.3 %         10.5           3.5  not supported  IF age >= 56 THEN high
      9 to 12        1    16.7 %           12           4.6  not supported  IF age >= 62 THEN high
    """
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    problem = Problem.of(
        X, y, max_depth=max_depth, structure=structure, groups=groups, label=label,
        objective=objective, min_coverage=min_coverage, max_coverage=max_coverage,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    asked = resolve_constraints(constraints).min_coverage or min_coverage
    if not asked and X is not problem:
        problem = problem.with_limits(min_coverage=0)  # a path needs no least coverage
    return WorthSearch(problem, get_engine(engine), clock).run()


class WorthLine(NamedTuple):
    """A rule's worth as a line: a - p × b, in whole units."""

    a: int
    b: int
    rule: Rule | None

    def at(self, p: Fraction) -> Fraction:
        """What the rule is worth at p."""
        return self.a - p * self.b


class WorthSearch:
    """The lines that are known, and the solves that find those between them."""

    def __init__(self, problem: Problem, engine: Engine, clock: Clock) -> None:
        gains = problem.objective
        if not engine.proves_optimality:
            raise InputError(
                f"'engine' {engine.name!r} proves nothing, but every step of the path rests on a "
                "proof; use 'search'."
            )
        if not isinstance(gains, PATHS):
            raise InputError(
                "a path of worths is for the objectives Mean, Money, Uplift and Survival; "
                "weight_path is for the VI."
            )
        self._problem, self._gains, self._clock = problem, gains, clock
        self._solver = engine.many(problem)
        self._stopped = StopReason.FINISHED
        self._known: list[WorthLine] = []  # from the best of which at its place a solve starts
        self._a, self._b, self._step, self.name = _parts(gains)
        a, b = self._a * gains.weights, self._b * gains.weights
        self._sums = a, b
        self._sizes = int(np.abs(a).sum()) + 1, int(b.sum()) + 1
        if 4 * self._sizes[0] * self._sizes[1] >= MAX_TOTAL:
            raise InputError(
                "these numbers have too many digits for an exact path; round them, or their "
                "weights."
            )

    def run(self) -> WorthPath:
        """All segments, as far as time allows."""
        low, high = self._ends()
        first, last = self._solve(low), self._solve(high)
        lines: list[tuple[Fraction, WorthLine]] = []
        if first is not None and last is not None:
            lines = [(low, first), *self._between(low, first, high, last)]
        segments = []
        for number, (start, line) in enumerate(lines):
            end = lines[number + 1][0] if number + 1 < len(lines) else high
            segments.append(self._segment(start, end, line))
        wide = [each for each in segments if each.low < each.high]
        segments = wide or segments  # where all is the same there is but one place
        best_in = self._problem.best_in
        assert isinstance(best_in, Objective)
        if self._step[1] < 0:
            segments = segments[::-1]
        done = self._stopped is StopReason.FINISHED
        return WorthPath(tuple(segments), self.name, done, self._stopped, best_in)

    def _ends(self) -> tuple[Fraction, Fraction]:
        """Numbers between which all corners lie."""
        if isinstance(self._gains, MeanGains | UpliftGains):
            return Fraction(int(self._a.min())), Fraction(int(self._a.max()))
        ends = Fraction(0), Fraction(self._sizes[0])
        return ends if self._step[1] > 0 else (-ends[1], ends[0])

    def _between(
        self, low: Fraction, one: WorthLine, high: Fraction, other: WorthLine
    ) -> list[tuple[Fraction, WorthLine]]:
        """The corners between two places, with the line that begins at each."""
        if one[:2] == other[:2]:
            return []
        cross = Fraction(one.a - other.a, one.b - other.b) if one.b != other.b else low
        cross = min(max(cross, low), high)
        middle = self._solve(cross)
        if middle is None or middle.at(cross) <= one.at(cross):
            return [(cross, other)]
        return [
            *self._between(low, one, cross, middle),
            *self._between(cross, middle, high, other),
        ]

    def _solve(self, p: Fraction) -> WorthLine | None:
        """The best rule at p; None where a limit is met, or no rule meets the constraints."""
        self._stopped = self._clock.stop() or self._stopped
        if self._stopped is not StopReason.FINISHED:
            return None
        start = max(self._known, key=lambda line: line.at(p)).rule if self._known else None
        found = self._solver.solve(self._at(p), budget=self._clock, start=start)
        if not found.status.is_proven:
            self._stopped = found.stopped_by
            return None
        if found.rule is None:
            return WorthLine(0, 0, None) if self._problem.may_be_empty else None
        fires = self._cover(found.rule)
        a, b = (int(each[fires].sum()) for each in self._sums)
        self._known.append(WorthLine(a, b, found.rule))
        return self._known[-1]

    def _at(self, p: Fraction) -> ObjectiveGains:
        worth = self._a * p.denominator - self._b * p.numerator
        unit = self._step[0] / p.denominator / self._gains.weight_scale
        return replace(self._gains, worth=worth, unit=unit)

    def _cover(self, rule: Rule) -> NDArray[np.bool_]:
        return self._problem.cover(self._problem.lower(rule).conditions)

    def _segment(self, low: Fraction, high: Fraction, line: WorthLine) -> WorthSegment:
        gains, scale = self._gains, self._gains.weight_scale
        start, end = sorted(float(each * self._step[1]) for each in (low, high))
        if isinstance(gains, SurvivalGains) and max(abs(low), abs(high)) == self._sizes[0]:
            end = math.inf  # no rule changes beyond
        total = int(gains.weights.sum()) / scale
        if line.rule is None:
            return WorthSegment(start, end, None, 0.0, total, {})
        fires, label = self._cover(line.rule), gains.labels[0]
        account = gains.account(fires, label)
        numbers = {name: value for name, value in account.numbers.items() if value == value}
        covered = int(gains.weights[fires].sum()) / scale
        evidence = evidence_of_rows(self._problem, fires, label)
        return WorthSegment(start, end, line.rule, covered, total, numbers, evidence)


def _parts(gains: Any) -> tuple[Any, Any, tuple[Fraction, Fraction], str]:
    """a and b of each row, what a unit of worth and a unit of p stand for, and the name of p."""
    if isinstance(gains, UpliftGains):
        return _uplift_parts(gains)
    if isinstance(gains, SurvivalGains):
        return _survival_parts(gains)
    if isinstance(gains, MeanGains):
        sign, unit = gains.mean.sign, gains.number_unit
        return sign * gains.numbers, np.ones_like(gains.numbers), (unit, sign * unit), "threshold"
    benefit = np.where(gains.right, gains.worth, 0)
    cost = np.where(gains.right, 0, -gains.worth)
    common = max(1, int(np.gcd.reduce(cost)))
    unit = gains.unit * gains.weight_scale
    return benefit, cost // common, (unit, Fraction(1, common)), "price of cost"


def _uplift_parts(gains: UpliftGains) -> tuple[Any, Any, tuple[Fraction, Fraction], str]:
    """Scores are estimates of many digits: as many are kept as exact crossings leave room for."""
    room = MAX_TOTAL // 4 // (len(gains.worth) + 1) - len(gains.worth)
    step = max(0, int(np.abs(gains.worth).sum()).bit_length() - room.bit_length() + 1)
    worth = np.rint(np.ldexp(gains.worth.astype(np.float64), -step)).astype(np.int64)
    unit = gains.unit * gains.weight_scale * 2**step
    return worth, np.ones_like(worth), (unit, unit), "further cost"


def _survival_parts(gains: SurvivalGains) -> tuple[Any, Any, tuple[Fraction, Fraction], str]:
    """Events are whole; expectations are kept in the finest unit that exact crossings allow."""
    goal = gains.objective
    events, sign = gains.event.astype(np.int64), 1 if goal.direction == "high" else -1
    expected = expected_events(gains.time, gains.event, efron=goal.score == "martingale")
    total = int(events.sum()) + 1
    room = MAX_TOTAL // 4 // total - len(events)
    scale = room.bit_length() - 1 - total.bit_length()
    units = np.rint(np.ldexp(expected, scale)).astype(np.int64)
    return sign * events, units, (Fraction(1), sign * Fraction(2) ** scale), "ratio"
