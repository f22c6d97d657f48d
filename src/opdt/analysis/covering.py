"""Sequential covering: the best rule, then the best rule of the rows that are left, and so on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.counts import with_verdicts
from opdt.analysis.permutation import permutation_test
from opdt.analysis.resampling import resampled
from opdt.arguments import start_clock
from opdt.checks import check_int
from opdt.engines import Engine, get_engine
from opdt.problem import Constraints, Problem
from opdt.problem.arguments import Groups, StructureLike
from opdt.rules import Rule, RuleList
from opdt.solution import Budget, Clock, Solution, StopReason
from opdt.table import Plan
from opdt.verdict import Evidence, Verdict, judge

LEAST_REST = 1e-3  # the share of all weight below which the rows that are left do not count


class Ending(StrEnum):
    """Why there is no further rule."""

    MAX_RULES = "as many rules as allowed"
    NO_PATTERN = "no rule gains anything"  # or meets the constraints
    NOT_SIGNIFICANT = "the next rule is not significant"
    ONE_CLASS = "one class is left"
    NO_ROWS = "no row is left that counts"
    LIMIT = "a limit was reached"  # time, Ctrl-C, …


@dataclass(frozen=True, eq=False)
class CoveringStep:
    """One rule of the list, found on the rows that the rules before it have left.

    Attributes
    ----------
    solution : Solution
        The rule with value, bound and status, on the rows that were left.
    n_rows : int
        How many rows those were.
    counts : ndarray of float64 of shape (n_classes,)
        Weight of the covered rows of each class.
    p_value : float or None
        Of the test among the rows that were left; None without a test.
    evidence : Evidence or None
        What these rows say about the rule, with regard to all lists of as many rules as there
        are up to this one: the rows that were left were chosen by their classes, too.
    """

    solution: Solution
    n_rows: int
    counts: NDArray[np.float64]
    p_value: float | None = None
    evidence: Evidence | None = field(default=None, repr=False)

    @property
    def rule(self) -> Rule:
        """The rule."""
        assert self.solution.rule is not None
        return self.solution.rule

    @property
    def verdict(self) -> Verdict:
        """Whether the rows that were left speak for the rule."""
        return judge(self.evidence)


@dataclass(frozen=True, eq=False)
class Covering:
    """A rule list and how it came about.

    Attributes
    ----------
    rule_list : RuleList
    steps : tuple of CoveringStep
        One for each rule.
    rest : ndarray of float64 of shape (n_classes,)
        Weight of the rows of each class on which no rule fires.
    ended_by : Ending
    rejected : CoveringStep or None
        The rule at which the list ended because it was not significant.
    """

    rule_list: RuleList
    steps: tuple[CoveringStep, ...]
    rest: NDArray[np.float64]
    ended_by: Ending
    rejected: CoveringStep | None = None

    def __str__(self) -> str:
        """The list, with the verdict on each rule."""
        return with_verdicts(self.rule_list, [step.verdict for step in self.steps])


def sequential_covering(
    X: Any,
    y: Any = None,
    *,
    max_rules: int | None = 5,
    alpha: float | None = None,
    n_permutations: int = 999,
    seed: int = 0,
    max_depth: int | None = None,
    w: float = 10.0,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    min_coverage: float | None = None,
    min_precision: float | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    roles: Mapping[str, str] | Plan | None = None,
    missing: Any = None,
    engine: str | Engine = "search",
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    budget: Budget | Clock | None = None,
) -> Covering:
    """A list of rules, each the best one on the rows that no rule before it covers.

    Each rule is the proven optimum of its own problem. The list as a whole is greedy: nothing
    is proven about it.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    max_depth, w, structure, groups, label, min_coverage, min_precision, constraints, \
sample_weight, roles, missing
        What rules there are, as in `discover`. Constraints hold for each rule; a share of rows is
        one of the rows that are left. Time is for all rules together.
    max_rules : int, optional
        The largest number of rules; no limit if None.
    alpha : float, optional
        End the list before the first rule whose p-value is above this level. The p-value comes
        from `permutation_test` on the rows that are left.
    n_permutations, seed : int
        As in `permutation_test`.

    Returns
    -------
    Covering

    Notes
    -----
    The p-value of the first rule is exact. Those of later rules take the rows that are left as if
    they had been given beforehand, while in truth the rules before were chosen by their labels.
    Since the list ends at the first rule that is not significant, the chance that labels without
    any pattern give a list at all is at most alpha; for later rules alpha is a sensible place to
    stop, not a guarantee.

    Examples
    --------
    >>> found = sequential_covering({"age": [25, 31, 36, 47, 52, 70]},
    ...                             ["young", "young", "young", "mid", "mid", "old"], max_depth=1)
    >>> print(found.rule_list)
    IF age < 40 THEN young
    ELSE IF age < 60 THEN mid
    ELSE old
    """
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    most = None if max_rules is None else check_int("max_rules", max_rules)
    problem = Problem.of(
        X, y, max_depth=max_depth, w=w, structure=structure, groups=groups, label=label,
        min_coverage=min_coverage, min_precision=min_precision,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    test = None
    if alpha is not None:
        test = {"alpha": alpha, "n_permutations": n_permutations, "seed": seed}
    walk = _CoveringWalk(problem, get_engine(engine), clock, test)
    steps: list[CoveringStep] = []
    ended_by, rejected = Ending.MAX_RULES, None
    while most is None or len(steps) < most:
        step = walk.next()
        if isinstance(step, Ending):
            ended_by = step
            break
        if alpha is not None and step.p_value is not None and step.p_value > alpha:
            ended_by, rejected = Ending.NOT_SIGNIFICANT, step
            break
        steps.append(step)
        walk.take(step.rule)
    rest, everything = walk.weights(walk.left), walk.weights(np.ones_like(walk.left))
    default = problem.table.classes[weights_of_default(rest, everything).argmax()]
    rules = RuleList([step.rule for step in steps], default)
    return Covering(rules, tuple(steps), rest, ended_by, rejected)


def weights_of_default(
    rest: NDArray[np.float64], everything: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weights of the classes by which the default is chosen, shape (n_classes,).

    Those of the rows that are left, unless these weigh next to nothing.
    """
    return rest if rest.sum() > LEAST_REST * everything.sum() else everything


class _CoveringWalk:
    """The rows that are left, and the best rule on them."""

    def __init__(
        self, problem: Problem, engine: Engine, clock: Clock, test: dict[str, Any] | None
    ) -> None:
        self._problem, self._engine, self._clock, self._test = problem, engine, clock, test
        self._stopped = False
        self._n_taken = 0
        self.left = np.ones(problem.table.n_rows, dtype=bool)
        self._total = self.weights(self.left).sum()

    def next(self) -> CoveringStep | Ending:
        """The best rule on the rows that are left, or why there is none."""
        counts = self.weights(self.left)
        if counts.sum() <= LEAST_REST * self._total:
            return Ending.NO_ROWS
        if np.count_nonzero(counts) == 1:
            return Ending.ONE_CLASS
        if self._stopped or self._clock.stop() is not None:
            return Ending.LIMIT
        rest = self._rest()
        solution, p_value = self._solve(rest)
        self._stopped = solution.stopped_by is not StopReason.FINISHED
        if solution.rule is None or solution.value <= 0:
            return Ending.LIMIT if self._stopped else Ending.NO_PATTERN
        covered = self._covered(rest, solution.rule)
        evidence = self._evidence(solution)
        return CoveringStep(
            solution, int(self.left.sum()), self.weights(covered), p_value, evidence
        )

    def _evidence(self, solution: Solution) -> Evidence | None:
        """What the rows that are left say, where the rules before were chosen by classes, too."""
        if solution.evidence is None:
            return None
        return solution.evidence.among(
            *(number ** (self._n_taken + 1) for number in self._problem.n_rules)
        )

    def take(self, rule: Rule) -> None:
        """Leave out the rows that a rule covers."""
        self.left &= ~self._covered(self._rest(), rule)
        self._n_taken += 1

    def weights(self, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The weight of the rows of each class, shape (n_classes,)."""
        table = self._problem.table
        weights = None if table.weights is None else table.weights[rows]
        return np.bincount(table.labels[rows], weights, len(table.classes)).astype(np.float64)

    def _rest(self) -> Problem:
        return resampled(self._problem, self.left.astype(np.int64))

    def _covered(self, rest: Problem, rule: Rule) -> NDArray[np.bool_]:
        """Rows of the whole table that a rule on the rest covers there."""
        covered = np.zeros_like(self.left)
        covered[self.left] = rest.cover(rest.lower(rule).conditions)
        return covered

    def _solve(self, rest: Problem) -> tuple[Solution, float | None]:
        limit = self._clock.budget.time_limit
        seconds = None if limit is None else max(0.0, self._clock.remaining())
        budget = replace(self._clock.budget, time_limit=seconds)
        if self._test is None:
            return self._engine.solve(rest, budget), None
        # With their weights, which may follow the labels.
        left = self._problem.take(np.flatnonzero(self.left))
        test = permutation_test(left, engine=self._engine, budget=budget, **self._test)
        return test.solution, test.p_value
