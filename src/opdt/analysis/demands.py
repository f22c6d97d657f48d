"""What a demand costs: the most precise rule of each coverage, the largest of each precision.

The higher the minimum coverage, the lower the precision that a rule can have, and the other way
round. A rule that is the best for one demand stays the best for every higher one that it meets
itself, so each search settles a whole stretch of demands.

The largest rules of each precision all lie on the Pareto frontier (`opdt.analysis.frontier`): a
rule of fewer errors and at least as many right rows is more precise, too. The most precise rules of
each coverage need not, because errors count as covered rows. So both are searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import Any

from opdt.analysis.counts import Judged, counts_on, frame_of, text_table
from opdt.arguments import start_clock
from opdt.checks import check_list, check_number
from opdt.engines import Engine
from opdt.engines.precision import most_precise
from opdt.engines.prices import Pricer
from opdt.errors import InputError
from opdt.objectives.gains import as_written
from opdt.problem import Constraints, Problem
from opdt.problem.arguments import Groups, StructureLike
from opdt.rules import Rule
from opdt.solution import Budget, Solution, Status, StopReason
from opdt.table import Plan
from opdt.verdict import Evidence

COVERAGES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
PRECISIONS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True)
class DemandPoint(Judged):
    """The best rule of those that meet a demand.

    Attributes
    ----------
    least : float
        The demand: the least coverage, as a share of the rows, or the least precision.
    rule : Rule
    covered, errors, n_rows : float
        Rows that the rule covers, those of another class among them, and all rows (weighted).
    value, bound : float
        The precision, or the number of right rows, of the rule on the rows it was found on; and
        one that no rule exceeds that meets the demand.
    status : Status
        "optimal" where no such rule is better: for this demand, and for all higher ones that the
        rule meets; else "feasible".
    evidence : Evidence or None
        What the training rows say about the rule; see `verdict`.
    """

    least: float
    rule: Rule
    covered: float
    errors: float
    n_rows: float
    value: float
    bound: float
    status: Status
    evidence: Evidence | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class DemandPath:
    """The best rule of each demand; `precision_path` and `coverage_path` make it.

    Attributes
    ----------
    objective : str
        What the rules are best in: "precision" or "coverage".
    points : tuple of DemandPoint
        From the lowest demand to the highest that some rule meets. A demand that the rule before
        meets has no point of its own.
    complete : bool
        Whether all points are proven, and none is missing because of a limit.
    stopped_by : StopReason
    seconds : float
        Time that it took.
    n_solves : int
        Searches that it took.
    """

    objective: str
    points: tuple[DemandPoint, ...]
    complete: bool
    stopped_by: StopReason
    seconds: float
    n_solves: int

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[DemandPoint]:
        return iter(self.points)

    @property
    def demand(self) -> str:
        """What is demanded: "coverage" or "precision"."""
        return "coverage" if self.objective == "precision" else "precision"

    def at(self, least: float) -> DemandPoint | None:
        """The best rule for a demand, a share; None where no search has settled it.

        A search has settled its own demand and all higher ones that its rule meets.
        """
        for point in reversed(self.points):
            if point.least <= least <= getattr(point, self.demand):
                return point
        return None

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[DemandPoint, ...]:
        """The points with the counts of their rules on other rows, such as held-out ones.

        Takes the arguments of `WeightPath.evaluate`.
        """
        counts = counts_on([point.rule for point in self.points], X, y, sample_weight)
        return tuple(
            DemandPoint(p.least, p.rule, *numbers, p.value, p.bound, p.status, p.evidence)
            for p, numbers in zip(self.points, counts, strict=True)
        )

    def columns(self) -> dict[str, list[Any]]:
        """The points by column: what every library makes a data frame of."""
        names = ("least", "precision", "coverage", "covered", "errors", "value", "bound", "status")
        table = {name: [getattr(point, name) for point in self.points] for name in names}
        verdicts = [None if p.verdict is None else str(p.verdict.level) for p in self.points]
        return table | {"verdict": verdicts, "rule": [str(point.rule) for point in self.points]}

    def to_frame(self) -> Any:
        """The points as a data frame of pandas, or else of polars or Arrow."""
        return frame_of(self.columns())

    def __str__(self) -> str:
        if not self.points:
            return "no rule " + ("meets the constraints" if self.complete else "was found in time")
        rows = [(f"{100 * p.least:.4g} %", *p.words()) for p in self.points]
        return text_table((f"least {self.demand}", *Judged.TITLES), rows)


def precision_path(
    X: Any,
    y: Any = None,
    *,
    coverages: Sequence[float] = COVERAGES,
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
) -> DemandPath:
    """The most precise rule of each minimum coverage, each proven.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    coverages : sequence of float or int
        The least coverages: shares of the rows, or whole numbers of rows. Those below the
        `min_coverage` of the constraints count as that.
    max_depth, structure, groups, label, min_coverage, max_coverage, min_precision, \
constraints, sample_weight, roles, missing
        What rules there are, as in `discover`.
    engine : str or Engine
        One that proves its answers.
    time_limit, n_jobs, memory_limit, budget
        Limits on the whole path, as in `discover`.

    Returns
    -------
    DemandPath

    Examples
    --------
    >>> path = precision_path(
    ...     {"age": [20, 22, 25, 27, 31, 38, 47, 52, 60]},
    ...     ["well", "ill", "ill", "ill", "well", "ill", "well", "ill", "ill"],
    ...     label="ill", max_depth=1, coverages=[0.1, 0.2, 0.5, 0.9])
    >>> print(path)
    least coverage  covered  errors  precision  coverage        verdict  rule
              10 %        2       0    100.0 %    22.2 %  not supported  IF age >= 50 THEN ill
              50 %        8       2     75.0 %    88.9 %  not supported  IF age >= 21 THEN ill
              90 %        9       3     66.7 %   100.0 %  not supported  IF (any row) THEN ill
    >>> path.at(0.2).errors
    0.0
    """
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    problem = Problem.of(
        X, y, max_depth=max_depth, structure=structure, groups=groups, label=label,
        min_coverage=min_coverage, max_coverage=max_coverage,
        min_precision=min_precision,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    pricer = Pricer(problem, engine, clock)
    levels = [_coverage(each, pricer) for each in _listed("coverages", coverages)]
    if pricer.problem.constraints.min_coverage:
        own = Fraction(pricer.problem.limits.min_covered, pricer.total)
        levels = [max(level, own) for level in levels]

    def solve(level: Fraction) -> Solution:
        return most_precise(pricer.limited(min_coverage=level))

    return _trace("precision", pricer, levels, solve)


def coverage_path(
    X: Any,
    y: Any = None,
    *,
    precisions: Sequence[float] = PRECISIONS,
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
) -> DemandPath:
    """The rule that covers most rows of its class for each minimum precision, each proven.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    precisions : sequence of float
        The least precisions, above 0 and at most 1. Those below the `min_precision` of the
        constraints count as that.
    max_depth, structure, groups, …
        All other arguments are as in `precision_path`.

    Returns
    -------
    DemandPath

    Examples
    --------
    >>> path = coverage_path(
    ...     {"age": [20, 22, 25, 27, 31, 38, 47, 52, 60]},
    ...     ["well", "ill", "ill", "ill", "well", "ill", "well", "ill", "ill"],
    ...     label="ill", max_depth=1, precisions=[0.7, 0.75, 0.9])
    >>> print(path)
    least precision  covered  errors  precision  coverage        verdict  rule
               70 %        8       2     75.0 %    88.9 %  not supported  IF age >= 21 THEN ill
               90 %        2       0    100.0 %    22.2 %  not supported  IF age >= 50 THEN ill
    """
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    problem = Problem.of(
        X, y, max_depth=max_depth, structure=structure, groups=groups, label=label,
        min_coverage=min_coverage, max_coverage=max_coverage,
        min_precision=min_precision,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    pricer = Pricer(problem, engine, clock)
    own = as_written(pricer.problem.constraints.min_precision)
    levels = [max(_precision(each), own) for each in _listed("precisions", precisions)]

    def solve(level: Fraction) -> Solution:
        own = pricer.limited(min_precision=level)
        return own.solution(Fraction(1), own.solve(Fraction(1)))

    return _trace("coverage", pricer, levels, solve)


def _trace(
    objective: str,
    pricer: Pricer,
    levels: Sequence[Fraction],
    solve: Callable[[Fraction], Solution],
) -> DemandPath:
    """Solve for each demand, from the lowest to the highest, that no rule before has settled."""
    points: list[DemandPoint] = []
    complete, demand = True, "coverage" if objective == "precision" else "precision"
    met = Fraction(-1)  # the demand that the last rule meets
    stopped: StopReason | None = None
    for level in sorted(set(levels)):
        if level <= met:
            continue
        if pricer.halted():
            complete, stopped = False, pricer.stopped_by
            break
        found = solve(level)
        if found.rule is None:
            complete = complete and found.status.is_proven
            stopped = None if found.status.is_proven else found.stopped_by
            break
        proven = found.status.is_proven and found.stopped_by is StopReason.FINISHED
        covered, errors = (round(n * pricer.scale) for n in (found.covered, found.errors))
        if proven:
            met = Fraction(covered, pricer.total)
            met = met if demand == "coverage" else Fraction(covered - errors, covered)
        else:
            complete, stopped = False, found.stopped_by
        points.append(
            DemandPoint(
                float(level), found.rule, found.covered, found.errors,
                pricer.total / pricer.scale, found.value, found.bound,
                Status.OPTIMAL if proven else Status.FEASIBLE, found.evidence,
            )
        )  # fmt: skip
    return DemandPath(
        objective, tuple(points), complete, stopped or StopReason.FINISHED,
        pricer.clock.elapsed(), pricer.work.solves,
    )  # fmt: skip


def _listed(name: str, demands: Any) -> list[Any]:
    """A list of demands, or one sentence."""
    listed = check_list(name, demands, "a list of numbers")
    for each in listed:
        check_number(name, each, "numbers above 0", lambda x: 0 < x < math.inf)
    if not listed:
        raise InputError(f"'{name}' must have at least one number, got none.")
    return listed


def _coverage(each: Any, pricer: Pricer) -> Fraction:
    """A least coverage as a share of all rows."""
    if isinstance(each, Integral):
        return min(Fraction(1), Fraction(int(each) * pricer.scale, pricer.total))
    if each > 1:
        raise InputError(
            f"'coverages' as floats are shares up to 1, got {each!r}; give a number of rows as "
            "an int."
        )
    return as_written(each)


def _precision(each: Any) -> Fraction:
    return as_written(
        check_number("precisions", each, "numbers above 0 and at most 1", lambda x: x <= 1)
    )
