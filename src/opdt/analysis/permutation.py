"""Is the pattern real? The p-value of the optimum, with the search over all rules in it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.repeats import Repeats, Tell
from opdt.analysis.shuffling import Shuffler
from opdt.arguments import start_clock
from opdt.checks import check_int, check_share
from opdt.engines import Engine, get_engine
from opdt.engines.best import solve_problem
from opdt.engines.means import best_mean
from opdt.engines.measures import (
    MeasureSearch,
    is_measured,
    measure_pricer,
    score_of,
    solve_measured,
)
from opdt.engines.precision import most_precise, price_of_ties
from opdt.engines.prices import Line, Pricer
from opdt.errors import InputError, OpdtWarning
from opdt.objectives.gains import as_written
from opdt.objectives.mean import Mean, MeanGains
from opdt.objectives.measures import measure_named
from opdt.problem import Constraints, Gains, Problem, VolumeImpurity
from opdt.problem.arguments import Groups, ObjectiveLike, StructureLike
from opdt.solution import Budget, Clock, Solution, StopReason
from opdt.table import Plan
from opdt.verdict import Verdict, format_p_value, judge


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """How often tables with permuted labels hold a rule as good as the one found.

    Attributes
    ----------
    p_value : float
        Under the null hypothesis at most u with probability at most u, for every u.
    hits : int
        Permutations that hold a rule of at least the observed value, undecided ones included.
    n_undecided : int
        Permutations whose search met a limit; they count as hits.
    n_done, n_permutations : int
        Permutations that count, and those that were asked for.
    stopped_early : bool
        Whether so many hits had come that no further permutation was needed.
    stopped_by : StopReason
        `finished`, or the limit that left permutations out.
    alpha : float
        The level of the test.
    solution : Solution
        The rule of the data as they are.
    n_rows, n_strata, seed : int
    seconds : float
        Time of everything, the first search included.
    null_values : ndarray of float of shape (n_done,), or None
        The optimum of each permutation, where they were asked for.
    """

    p_value: float
    hits: int
    n_undecided: int
    n_done: int
    n_permutations: int
    stopped_early: bool
    stopped_by: StopReason
    alpha: float
    solution: Solution
    n_rows: int
    n_strata: int
    seed: int
    seconds: float
    null_values: NDArray[np.float64] | None = None

    @property
    def value(self) -> float:
        """The value of the rule of the data as they are."""
        return self.solution.value

    @property
    def is_significant(self) -> bool:
        """Whether the p-value is at most alpha."""
        return self.p_value <= self.alpha

    @property
    def verdict(self) -> Verdict | None:
        """Whether the rows and this test speak for the rule; None without one."""
        solution = self.solution
        return None if solution.rule is None else judge(solution.evidence, test=self)

    def __str__(self) -> str:
        if self.stopped_early:
            done = f"{self.n_done:,} (stopped early, {self.n_permutations:,} planned)"
        elif self.stopped_by is not StopReason.FINISHED:
            done = f"{self.n_done:,} of {self.n_permutations:,} ({self.stopped_by})"
        else:
            done = f"{self.n_done:,}"
        undecided = f" ({self.n_undecided:,} of them undecided)" if self.n_undecided else ""
        strata = f", within {self.n_strata:,} strata" if self.n_strata > 1 else ""
        smallest = not self.hits and self.stopped_by is StopReason.FINISHED
        note = ", the smallest that so many permutations can give" if smallest else ""
        return "\n".join(
            [
                f"p-value       {format_p_value(self.p_value)}{note}",
                f"permutations  {done}{strata}",
                f"as good       {self.hits:,}{undecided}",
            ]
        )


def permutation_test(
    X: Any,
    y: Any = None,
    *,
    n_permutations: int = 999,
    strata: Any = None,
    seed: int = 0,
    alpha: float = 0.05,
    early_stop: bool = True,
    weights_follow: str | None = None,
    keep_values: bool = False,
    max_depth: int | None = None,
    w: float = 10.0,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    objective: ObjectiveLike = "vi",
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
    progress: Tell = None,
) -> PermutationTest:
    """The p-value of the best rule of a table, with the search for it taken into account.

    The labels are put into random order and the whole search is repeated, over all rules and
    all classes that the search on the data may choose from: does *any* rule now reach the
    observed value? The null hypothesis is that labels and features have nothing to do with each
    other (within the strata): that any order of the labels is as likely as the one observed.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    max_depth, w, structure, groups, label, min_coverage, max_coverage, min_precision, \
constraints, sample_weight, roles, missing
        What rules there are, as in `discover`.
    engine, time_limit, n_jobs, memory_limit, budget
        As in `discover`. Time and threads
        are for all searches together, nodes and memory for each.
    n_permutations : int
        The smallest p-value is 1 / (1 + n_permutations).
    strata : name of a column of X, or array-like of shape (n_rows,), optional
        Labels change places only between rows of one stratum: what differs between strata
        (clinics, years, age groups) is then no evidence for a rule.
    seed : int
        Permutation number i depends on the seed and on i alone.
    alpha : float
        The level of the test; decides when early stopping ends it.
    early_stop : bool
        Stop after ceil(alpha × (1 + n_permutations)) hits, when the p-value is known to be
        above alpha (Besag and Clifford 1991). It is then hits / permutations done.
    weights_follow : "features", "labels" or None
        What a row's weight stays with: with the row's features (survey weights, exposure), or
        with its label (class weights). None: with the label where all rows of a class have the
        same weight, else with the features.
    keep_values : bool
        Find the optimum of each permutation (`null_values`), not only whether it is a hit.
        Takes longer; the p-value is the same.
    objective : str or Objective
        "vi", "precision", "coverage" or a measure, as in `discover`; the rule is the best one in
        it, and a permutation is a hit if any rule is as good. With "precision" that is a rule
        which is more precise, or as precise with at least as many rows of its class; there are no
        `null_values`.
        With an `Objective` it is what rows are worth that changes places between them.
    progress : callable, optional
        Called with a `RepeatProgress` from time to time.

    Returns
    -------
    PermutationTest

    Notes
    -----
    Without a limit p = (1 + hits) / (1 + n), where n permutations were done. The p-value stays
    valid, if less sharp, where something is left undecided: a rule that is not proven optimal
    is a lower bar for the permutations, and a permutation whose own search meets a limit counts
    as a hit. When a time limit or Ctrl-C ends the test, the permutation under way counts as a
    hit, so p = (2 + hits) / (2 + n); this takes for granted that how long a search takes says
    nothing else about its outcome.

    References
    ----------
    Besag, J. and Clifford, P. (1991). Sequential Monte Carlo p-values. Biometrika 78, 301–304.

    Examples
    --------
    >>> age, smoker = list(range(20, 50)), ["no", "yes"] * 15
    >>> ill = [years >= 40 for years in age]
    >>> test = permutation_test({"age": age, "smoker": smoker}, ill, n_permutations=99)
    >>> print(test.solution.rule, "| p =", test.p_value)
    IF age < 39.5 THEN False | p = 0.01
    """
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    plan, chosen = _plan(n_permutations, alpha, early_stop, keep_values), get_engine(engine)
    problem = Problem.of(
        X, y, max_depth=max_depth, w=w, structure=structure, groups=groups, label=label,
        objective=objective, min_coverage=min_coverage, max_coverage=max_coverage,
        min_precision=min_precision,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    best_in = problem.best_in
    decide: Judge | None = None
    is_mean = isinstance(best_in, Mean) and best_in.threshold is None
    if keep_values and (is_mean or best_in == "precision"):
        raise InputError(
            f"'keep_values' cannot be given beside objective {best_in!r}, whose test asks only "
            f"whether a rule {'has as good a mean' if is_mean else 'is as precise'}; leave it out."
        )
    if is_measured(problem):
        test = MeasuredTest(problem, chosen, clock)
        problem, solution, decide = test.problem, test.solution, test.judge(keep_values=keep_values)
        goal = solution.value
    elif best_in == "precision":
        problem, solution, goal = _most_precise(problem, chosen, clock)
    elif is_mean:
        problem, solution, goal = _best_mean(problem, chosen, clock)
    else:
        limits = replace(clock.budget, time_limit=_left(clock))
        solution = solve_problem(problem, chosen, limits)
        goal = solution.value
    return permute(
        problem,
        chosen,
        clock,
        solution,
        goal=goal,
        decide=decide,
        plan=plan,
        shuffler=Shuffler.of(problem, check_int("seed", seed, 0), strata, weights_follow),
        tell=progress,
    )


def _most_precise(
    problem: Problem, engine: Engine, clock: Clock
) -> tuple[Problem, Solution, float]:
    """The most precise rule, the problem of being as good, and the VI that says so.

    A rule is as good if it is more precise, or as precise with at least as many rows of its class:
    this order of rules is that of their VI at one price (see `price_of_ties`; for a rule without
    errors it is a price above all rows). Where that has too many digits, being as precise is
    enough: a VI of 0 or more at the price at which that of the most precise rule is 0.
    """
    pricer = Pricer(problem, engine, clock)
    solution = most_precise(pricer)
    if solution.rule is None:
        return pricer.problem, solution, -math.inf
    covered, errors = (round(n * pricer.scale) for n in (solution.covered, solution.errors))
    line = Line(covered, errors, solution.rule)
    price = price_of_ties(pricer, line)
    if price is None:
        price = Fraction(covered, errors) if errors else pricer.highest
    return pricer.at(price), solution, float(line.value(price) / pricer.scale)


def _best_mean(problem: Problem, engine: Engine, clock: Clock) -> tuple[Problem, Solution, float]:
    """The rule of the best mean, the problem of having as good a one, and the sum that says so."""
    limits = replace(clock.budget, time_limit=_left(clock))
    solution, gains = best_mean(problem, engine, limits), problem.objective
    assert isinstance(gains, MeanGains)
    if solution.rule is None:
        return problem, solution, -math.inf
    mean = gains.mean_of(problem.cover(problem.lower(solution.rule).conditions))
    assert mean is not None  # a minimum coverage is demanded
    return problem.with_objective(gains.at(mean)), solution, 0.0


class PermutationPlan(NamedTuple):
    """How many permutations, until how many hits, and whether for their optimum."""

    n_permutations: int
    most_hits: int | None
    alpha: float
    keep_values: bool


class Draw(NamedTuple):
    """One permutation: whether it reaches the observed value, and its optimum if asked for."""

    hit: bool
    decided: bool
    value: float = math.nan


def permute(
    problem: Problem,
    engine: Engine,
    clock: Clock,
    solution: Solution,
    *,
    goal: float | None = None,
    decide: Judge | None = None,
    plan: PermutationPlan,
    shuffler: Shuffler,
    tell: Tell,
) -> PermutationTest:
    """How often permuted labels reach the value of the solution, or another `goal`.

    `decide` says so of one permutation, where that is no question of gains.
    """
    goal = solution.value if goal is None else goal
    judge = decide or _judge(problem, engine, goal, keep_values=plan.keep_values)

    def enough(draws: Sequence[Draw]) -> bool:
        return plan.most_hits is not None and sum(d.hit for d in draws) >= plan.most_hits

    repeats = Repeats(
        lambda index, budget: judge(shuffler.objective(index), budget),
        plan.n_permutations,
        clock,
        enough=enough,
        tell=tell,
    )
    if solution.stopped_by in (StopReason.INTERRUPTED, StopReason.CANCELLED):
        repeats.stopped_by = solution.stopped_by
    else:
        repeats.run(problem)
    draws = repeats.results
    hits = sum(draw.hit for draw in draws)
    cut = repeats.stopped_by is not StopReason.FINISHED
    return PermutationTest(
        p_value=sequential_p_value(hits, len(draws), stopped_early=repeats.is_enough, cut=cut),
        hits=hits,
        n_undecided=sum(not draw.decided for draw in draws),
        n_done=len(draws),
        n_permutations=plan.n_permutations,
        stopped_early=repeats.is_enough and len(draws) < plan.n_permutations,
        stopped_by=repeats.stopped_by,
        alpha=plan.alpha,
        solution=solution,
        n_rows=problem.table.n_rows,
        n_strata=shuffler.n_strata,
        seed=shuffler.seed,
        seconds=clock.elapsed(),
        null_values=np.array([draw.value for draw in draws]) if plan.keep_values else None,
    )


def sequential_p_value(hits: int, done: int, *, stopped_early: bool, cut: bool = False) -> float:
    """The p-value after so many hits among so many permutations.

    `stopped_early` says that sampling ended because of the last hit, and `cut` that a limit
    ended it during the next permutation, which then counts as a hit.
    """
    if stopped_early:
        return hits / done
    return (1 + hits + cut) / (1 + done + cut)


Judge = Callable[[Gains, Budget], Draw]


def _judge(problem: Problem, engine: Engine, goal: float, *, keep_values: bool) -> Judge:
    """What decides whether permuted labels reach a value."""
    solver = engine.many(problem)
    if not keep_values and (goal == -math.inf or (goal == 0 and problem.may_be_empty)):
        return lambda objective, budget: Draw(hit=True, decided=True)
    if keep_values or not engine.proves_optimality:
        proves = engine.proves_optimality
        return lambda objective, budget: _draw(
            solver.solve(objective, budget=budget), goal, proves=proves
        )

    def decide(objective: Gains, budget: Budget) -> Draw:
        reached = solver.reaches(goal, objective, budget=budget)
        return Draw(hit=reached is not False, decided=reached is not None)

    return decide


class MeasuredTest:
    """The test of a rule that is the best in a measure which is no sum over rows."""

    def __init__(self, problem: Problem, engine: Engine, clock: Clock) -> None:
        measure = measure_named(problem.best_in)
        assert measure is not None
        self._measure, self._pricer = measure, measure_pricer(problem, engine, clock)
        self.solution = solve_measured(problem, engine, clock)
        self.problem = self._pricer.problem

    def judge(self, *, keep_values: bool) -> Judge:
        """Whether permuted labels give a rule of at least the observed score."""
        rule, measure = self.solution.rule, self._measure
        if rule is None and not keep_values:
            return lambda gains, budget: Draw(hit=True, decided=True)
        goal = None if rule is None else score_of(self._pricer, measure, rule)

        def decide(gains: Gains, budget: Budget) -> Draw:
            assert isinstance(gains, VolumeImpurity)
            pricer = self._pricer.of_rows(gains, budget)
            search = MeasureSearch(pricer, measure, None if keep_values else goal)
            search.run()
            reached = True if goal is None else search.reaches(goal)
            return Draw(reached is not False, reached is not None, search.bound)

        return decide


def _draw(found: Solution, goal: float, *, proves: bool) -> Draw:
    """The permutation's outcome; where its optimum is not known, the bound stands for it."""
    value = found.bound if proves else found.value
    decided = not proves or found.bound == found.value or found.value >= goal or value < goal
    return Draw(value >= goal, decided, value)


def _left(clock: Clock) -> float | None:
    return None if clock.budget.time_limit is None else max(0.0, clock.remaining())


def _plan(n_permutations: Any, alpha: Any, early_stop: Any, keep_values: bool) -> PermutationPlan:
    planned = check_int("n_permutations", n_permutations)
    check_share("alpha", alpha)
    least = math.ceil(1 / as_written(float(alpha))) - 1
    if planned < least:
        warnings.warn(
            f"{planned} permutations cannot give a p-value of {alpha:g} or less; "
            f"ask for at least {least}.",
            OpdtWarning,
            stacklevel=3,
        )
    most = math.ceil(as_written(float(alpha)) * (1 + planned)) if early_stop else None
    return PermutationPlan(planned, most, float(alpha), keep_values)
