"""The largest worth for every number of rows, exactly: what a budget of rows can bring.

`worth_path` has the convex hull of this frontier: rules that some threshold or price makes the
best. Between its corners lie rules that are the best for a budget and for no price. Each point here
is a search of its own under a limit on the rows: the best rule of all covers c rows, so it is the
best for every budget from c on, and the next search allows c - 1. Where the worth is a ratio
(`Mean()` without a threshold), a minimum takes the place of the budget and rises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opdt.analysis.counts import frame_of, text_table
from opdt.arguments import start_clock
from opdt.checks import check_int
from opdt.engines import Engine, get_engine
from opdt.engines.best import solve_problem
from opdt.errors import InputError, UnsupportedProblem
from opdt.objectives import Objective
from opdt.problem import Constraints, Problem
from opdt.problem.arguments import Groups, ObjectiveLike, StructureLike, resolve_constraints
from opdt.rules import Rule
from opdt.solution import Budget, Clock, Solution, Status, StopReason
from opdt.table import Plan
from opdt.verdict import Verdict


@dataclass(frozen=True)
class WorthPoint:
    """A rule that is worth more than any other that covers as few rows (as many, of a ratio).

    Attributes
    ----------
    solution : Solution
        Of the search under the limit; `value`, `bound` and `status` are there.
    n_rows : int
        All rows.
    """

    solution: Solution = field(repr=False)
    n_rows: int

    @property
    def rule(self) -> Rule:
        """The rule."""
        assert self.solution.rule is not None
        return self.solution.rule

    @property
    def value(self) -> float:
        """What it is worth, in the objective's unit."""
        return self.solution.value

    @property
    def covered(self) -> float:
        """Rows that it covers."""
        return self.solution.covered

    @property
    def coverage(self) -> float:
        """Share of all rows that it covers."""
        return self.covered / self.n_rows

    @property
    def verdict(self) -> Verdict | None:
        """See `opdt.Solution.verdict`."""
        return self.solution.verdict


@dataclass(frozen=True, eq=False)
class WorthFrontier(Sequence[WorthPoint]):
    """The best rules by the number of rows they cover, fewest first; a sequence of `WorthPoint`.

    Attributes
    ----------
    points : tuple of WorthPoint
    complete : bool
        Whether these are all points, each proven; if not, a limit was met.
    stopped_by : StopReason
    objective : Objective
    """

    points: tuple[WorthPoint, ...]
    complete: bool
    stopped_by: StopReason
    objective: Objective

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: Any) -> Any:
        return self.points[index]

    def __iter__(self) -> Iterator[WorthPoint]:
        return iter(self.points)

    def columns(self) -> dict[str, list[Any]]:
        """The points by column: what every library makes a data frame of."""
        return {
            "covered": [each.covered for each in self],
            "coverage": [each.coverage for each in self],
            "value": [each.value for each in self],
            "verdict": [str(each.verdict.level) if each.verdict else "" for each in self],
            "rule": [str(each.rule) for each in self],
        }

    def to_frame(self) -> Any:
        """The points as a data frame of pandas, or else of polars or Arrow."""
        return frame_of(self.columns())

    def __str__(self) -> str:
        words = self.objective.words
        rows = [
            (f"{each.covered:g}", f"{100 * each.coverage:.1f} %", words.show(each.value),
             str(each.verdict.level) if each.verdict else "–", str(each.rule))
            for each in self
        ]  # fmt: skip
        if not rows:
            return "no rule is worth anything"
        return text_table(("covered", "coverage", words.name, "verdict", "rule"), rows)


def worth_frontier(
    X: Any,
    y: Any = None,
    *,
    objective: ObjectiveLike = "vi",
    limit: int | None = None,
    max_depth: int | None = None,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    min_coverage: float | None = None,
    max_coverage: float | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    roles: Mapping[str, str] | Plan | None = None,
    missing: Any = None,
    engine: str | Engine = "search",
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    budget: Budget | None = None,
) -> WorthFrontier:
    """The most that rules are worth for every number of rows they may cover, each proven.

    With `Money`, `Uplift`, `Survival` and `Mean(threshold=)`: the largest worth for every budget of
    rows. With `Mean()`: the highest mean for every number of rows that must be covered. For the VI
    there is `pareto_frontier`. Rows have no weights here.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    objective : Mean, Money, Uplift or Survival
    limit : int, optional
        Stop after so many searches. The budget falls from all rows, so those with few are missing
        then; of `Mean()` those with many.
    max_depth, structure, groups, label, min_coverage, max_coverage, constraints, roles, missing
        What rules there are, as in `discover`.
    engine, time_limit, n_jobs, memory_limit, budget
        As in `discover`; limits are for all searches together.

    Returns
    -------
    WorthFrontier

    Examples
    --------
    >>> from opdt import Mean
    >>> age, days = {"age": [25, 31, 47, 52, 60, 64]}, [2, 3, 5, 4, 9, 12]
    >>> print(worth_frontier(age, days, max_depth=1, objective=Mean(threshold=4)))
    covered  coverage  sum of (y - 4)        verdict  rule
          1    16.7 %               8  not supported  IF age >= 62 THEN high
          2    33.3 %              13  not supported  IF age >= 56 THEN high
          4    66.7 %              14  not supported  IF age >= 40 THEN high
    """
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    problem = Problem.of(
        X, y, max_depth=max_depth, structure=structure, groups=groups, label=label,
        objective=objective, min_coverage=min_coverage, max_coverage=max_coverage,
        constraints=constraints, roles=roles, missing=missing,
    )  # fmt: skip
    best_in, chosen = problem.best_in, get_engine(engine)
    if not isinstance(best_in, Objective):
        raise InputError(
            "a frontier of worths is for the objectives Mean, Money, Uplift and Survival; "
            "pareto_frontier is for the VI."
        )
    if problem.table.weights is not None:
        raise UnsupportedProblem(
            "a frontier of worths counts rows; drop 'sample_weight', or repeat rows instead."
        )
    if not chosen.proves_optimality:
        raise InputError(
            f"'engine' {chosen.name!r} proves nothing, but every point of a frontier is proven; "
            "use 'search'."
        )
    asked = resolve_constraints(constraints).min_coverage or min_coverage
    if best_in.needs_coverage and not asked and X is not problem:
        problem = problem.with_limits(min_coverage=1)  # the frontier itself says the least
    most = None if limit is None else check_int("limit", limit)
    return _sweep(problem, best_in, chosen, clock, most)


def _sweep(
    problem: Problem, best_in: Objective, engine: Engine, clock: Clock, limit: int | None
) -> WorthFrontier:
    """One search after the other, each under the limit that the last answer leaves."""
    rising = best_in.needs_coverage
    found: list[Solution] = []
    stopped, complete = StopReason.FINISHED, False
    while limit is None or len(found) < limit:
        solution = solve_problem(problem, engine, clock)
        if not solution.status.is_proven:
            stopped = solution.stopped_by
            break
        if solution.status is not Status.OPTIMAL:
            complete = True
            break
        found.append(solution)
        covered = round(solution.covered)
        if covered == (problem.table.n_rows if rising else 1):
            complete = True
            break
        if rising:
            problem = problem.with_limits(min_coverage=covered + 1)
        else:
            problem = problem.with_limits(max_coverage=covered - 1)
    points = [WorthPoint(solution, problem.table.n_rows) for solution in _best(found)]
    ordered = tuple(sorted(points, key=lambda each: each.covered))
    return WorthFrontier(ordered, complete, stopped, best_in)


def _best(found: Sequence[Solution]) -> list[Solution]:
    """Those that no later answer, which is worth the same under a tighter limit, makes needless."""
    return [
        each
        for at, each in enumerate(found)
        if at + 1 == len(found) or found[at + 1].value != each.value
    ]
