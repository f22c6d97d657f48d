"""Would other rows have given the same rule? Bootstrap frequencies of all that a rule says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.repeats import Repeats, Tell
from opdt.analysis.resampling import draw_counts, resampled
from opdt.arguments import start_clock
from opdt.checks import check_int, check_share
from opdt.engines import Engine, get_engine
from opdt.engines.best import solve_problem
from opdt.objectives import ObjectiveGains
from opdt.objectives.mean import Mean, MeanGains
from opdt.problem import CodedRule, Constraints, Problem
from opdt.problem.arguments import Groups, ObjectiveLike, StructureLike
from opdt.rules import Condition, Op, Rule
from opdt.rules.condition import format_value
from opdt.solution import Budget, Clock, Solution, StopReason
from opdt.table import Plan


class RuleForm(NamedTuple):
    """A condition but for its threshold: a feature, an operator, and a level where it has one."""

    feature: str
    op: Op
    level: Any = None

    @classmethod
    def of(cls, condition: Condition) -> RuleForm:
        """The form of a condition."""
        level = None if condition.op.is_threshold else condition.value
        return cls(condition.feature, condition.op, level)

    def __str__(self) -> str:
        if self.op.is_threshold:
            return f"{self.feature} {self.op} …"
        return str(Condition(*self))


@dataclass(frozen=True)
class ConditionStability:
    """How often the bootstraps' rules have a condition, and with which thresholds.

    Attributes
    ----------
    form : RuleForm
        The condition but for its threshold.
    share : float
        Share of the bootstraps whose rule has it.
    in_rule : bool
        Whether the rule of the data has it.
    threshold : number, date or None
        The threshold in the rule of the data.
    low, median, high : number, date or None
        Percentile interval of the threshold over the bootstraps whose rule has the condition;
        each is a threshold that occurred.
    """

    form: RuleForm
    share: float
    in_rule: bool
    threshold: Any = None
    low: Any = None
    median: Any = None
    high: Any = None


@dataclass(frozen=True, eq=False)
class Stability:
    """What became of the rule when the rows were drawn again.

    All shares are shares of the bootstraps done, and NaN where none was.

    Attributes
    ----------
    solution : Solution
        The rule of the data as they are.
    rules : tuple of Rule or None, length n_done
        The rule of each bootstrap; None where no rule gained anything.
    features : dict of feature to share
        How often the rule used a feature; those never used are left out.
    conditions : tuple of ConditionStability
        How often it had a condition, whatever the threshold; most frequent first.
    forms : tuple of (forms of the conditions, class, share)
        How often it had a form, which is all of a rule but its thresholds; most frequent first.
    same_rule, same_form, same_features, same_class : float
        How often it covered the data by the very conditions of the rule of the data, differed
        in thresholds only, used the same features, pointed to the same class.
    overlap : ndarray of float of shape (n_done,)
        Rows of the data covered by both rules among those covered by either (Jaccard).
    left_out_covered, left_out_correct : int
        Rows that a bootstrap had not drawn and its rule covers, over all bootstraps; and those
        of the rule's class among them. A row counts once for each bootstrap.
    left_out_worth : float
        Where rows are worth numbers: the mean worth of these rows, in the objective's measure; NaN
        else. Rows count without their weights.
    left_out_rows : int
        How many different rows these are: what the precision above really rests on.
    n_unproven : int
        Bootstraps whose rule is not proven the best of its rows.
    n_bootstrap, seed : int
    level : float
        Confidence level of the threshold intervals.
    stopped_by : StopReason
        `finished`, or the limit that left bootstraps out.
    seconds : float
    """

    solution: Solution
    rules: tuple[Rule | None, ...]
    features: dict[str, float]
    conditions: tuple[ConditionStability, ...]
    forms: tuple[tuple[frozenset[RuleForm], Any, float], ...]
    same_rule: float
    same_form: float
    same_features: float
    same_class: float
    overlap: NDArray[np.float64]
    left_out_covered: int
    left_out_correct: int
    left_out_worth: float
    left_out_rows: int
    n_unproven: int
    n_bootstrap: int
    seed: int
    level: float
    stopped_by: StopReason
    seconds: float

    @property
    def n_done(self) -> int:
        """Bootstraps done."""
        return len(self.rules)

    @property
    def left_out_precision(self) -> float:
        """Precision of the bootstraps' rules on rows that they had not seen, all together.

        An estimate of what the search promises for new rows, not of this one rule.
        """
        if not self.left_out_covered:
            return float("nan")
        return self.left_out_correct / self.left_out_covered

    def _left_out(self) -> str:
        objective = self.solution.objective
        if isinstance(objective, str):
            return f"{self.left_out_precision:.1%} precision"
        each = objective.words.show_gap(self.left_out_worth)
        if isinstance(objective, Mean):
            return f"a mean of {each}"
        return f"{each} a covered row"

    def __str__(self) -> str:
        done = f"{self.n_done:,}"
        if self.stopped_by is not StopReason.FINISHED:
            done += f" of {self.n_bootstrap:,} ({self.stopped_by})"
        overlap = float(np.median(self.overlap)) if self.n_done else float("nan")
        lines = [
            f"bootstraps     {done}",
            f"same rule      {self.same_rule:.0%}",
            f"same form      {self.same_form:.0%}  (all but the thresholds)",
            f"same features  {self.same_features:.0%}",
            f"overlap        {overlap:.0%}  (median share of rows covered by both)",
            f"left-out rows  {self._left_out()}  "
            f"({self.left_out_rows:,} different rows, {self.left_out_covered:,} times covered)",
        ]
        own = [_describe(each, self.level) for each in self.conditions if each.in_rule]
        other = [_describe(each, self.level) for each in self.conditions if not each.in_rule][:3]
        return "\n".join([*lines, "", *own, *other])


def stability(
    X: Any,
    y: Any = None,
    *,
    n_bootstrap: int = 200,
    seed: int = 0,
    level: float = 0.95,
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
) -> Stability:
    """How the best rule changes when the rows are drawn again, with replacement.

    Each bootstrap solves the problem on as many rows as the data have, drawn with replacement:
    exactly what `discover` would find in the table of the drawn rows, but without building it;
    a row that is drawn twice has twice its weight.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    max_depth, w, structure, groups, label, min_coverage, max_coverage, min_precision, \
constraints, sample_weight, roles, missing
        What rules there are, as in `discover`.
    engine, time_limit, n_jobs, memory_limit, budget
        As in `discover`. Time and threads
        are for all searches together, nodes and memory for each. After a time limit the
        bootstraps done so far are reported.
    n_bootstrap : int
    seed : int
        Bootstrap number i depends on the seed and on i alone.
    level : float
        Confidence level of the interval of each threshold, between 0 and 1.
    objective : str or Objective
        "vi", "precision", "coverage", a measure or an object, as in `discover`: what the rules are
        best in, that of the data and those of the bootstraps.
    progress : callable, optional
        Called with a `RepeatProgress` from time to time.

    Returns
    -------
    Stability

    Examples
    --------
    >>> age, smoker = list(range(20, 50)), ["no", "yes"] * 15
    >>> ill = [years >= 40 for years in age]
    >>> found = stability({"age": age, "smoker": smoker}, ill, max_depth=1, n_bootstrap=50)
    >>> found.features, found.same_form
    ({'age': 1.0}, 0.98)
    """
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    problem = Problem.of(
        X, y, max_depth=max_depth, w=w, structure=structure, groups=groups, label=label,
        objective=objective, min_coverage=min_coverage, max_coverage=max_coverage,
        min_precision=min_precision,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    checked = check_share("level", level)
    total, first = check_int("n_bootstrap", n_bootstrap), check_int("seed", seed, 0)
    chosen = get_engine(engine)
    found = bootstrap(problem, chosen, clock, total=total, seed=first, tell=progress)
    return summarise(problem, found, level=checked, clock=clock)


class Bootstraps(NamedTuple):
    """The solution of the data and those of the bootstraps."""

    solution: Solution
    solutions: Sequence[Solution]
    stopped_by: StopReason
    total: int
    seed: int


def bootstrap(
    problem: Problem,
    engine: Engine,
    clock: Clock,
    *,
    total: int,
    seed: int,
    tell: Tell = None,
) -> Bootstraps:
    """Solve the problem, and solve it again on rows drawn with replacement."""

    left = None if clock.budget.time_limit is None else max(0.0, clock.remaining())
    solution = solve_problem(problem, engine, replace(clock.budget, time_limit=left))

    def solve(index: int, budget: Budget) -> Solution:
        counts = draw_counts(problem.table.n_rows, seed, index)
        return solve_problem(resampled(problem, counts), engine, budget)

    repeats = Repeats(solve, total, clock, tell=tell)
    if solution.stopped_by in (StopReason.INTERRUPTED, StopReason.CANCELLED):
        repeats.stopped_by = solution.stopped_by
    else:
        repeats.run(problem)
    return Bootstraps(solution, repeats.results, repeats.stopped_by, total, seed)


def summarise(problem: Problem, found: Bootstraps, *, level: float, clock: Clock) -> Stability:
    """Count what the bootstraps' rules have in common with that of the data."""
    rule = found.solution.rule
    rules = tuple(solution.rule for solution in found.solutions)
    own_form, own_features = _form(rule), _features(rule)
    own_code = None if rule is None else problem.lower(rule)
    codes = [None if other is None else problem.lower(other) for other in rules]
    covers = [_cover(problem, code) for code in codes]
    unseen = [
        cover & (draw_counts(len(cover), found.seed, index) == 0)
        for index, cover in enumerate(covers)
    ]
    return Stability(
        solution=found.solution,
        rules=rules,
        features=dict(_shares((_features(other) for other in rules), len(rules))),
        conditions=_conditions(rule, rules, level),
        forms=tuple(
            (*form, count / len(rules))
            for form, count in _ranked(Counter(_form(other) for other in rules if other))
        ),
        same_rule=_mean([code == own_code for code in codes]),
        same_form=_mean([_form(other) == own_form for other in rules]),
        same_features=_mean([_features(other) == own_features for other in rules]),
        same_class=_mean([_form(other)[1] == own_form[1] for other in rules]),
        overlap=np.array([_jaccard(_cover(problem, own_code), cover) for cover in covers]),
        left_out_covered=sum(int(rows.sum()) for rows in unseen),
        left_out_correct=sum(
            int((rows & (problem.table.labels == code.label)).sum())
            for code, rows in zip(codes, unseen, strict=True)
            if code is not None
        ),
        left_out_worth=_worth(problem, unseen),
        left_out_rows=int(np.any(unseen, axis=0).sum()) if unseen else 0,
        n_unproven=sum(not s.status.is_proven for s in found.solutions),
        n_bootstrap=found.total,
        seed=found.seed,
        level=level,
        stopped_by=found.stopped_by,
        seconds=clock.elapsed(),
    )


def _worth(problem: Problem, unseen: Sequence[NDArray[np.bool_]]) -> float:
    """What rows are worth that rules cover and had not seen, on average; NaN where nothing is."""
    gains = problem.objective
    if not isinstance(gains, ObjectiveGains) or not any(rows.any() for rows in unseen):
        return float("nan")
    values = gains.values
    if isinstance(gains, MeanGains):
        values = gains.numbers * np.float64(gains.number_unit)
    return float(np.concatenate([values[rows] for rows in unseen]).mean())


def order_interval(values: Iterable[Any], level: float) -> tuple[Any, Any, Any]:
    """Lower percentile, median and upper percentile: each one of the values.

    Order statistics suit dates as well as numbers, and never show a threshold that did not
    occur. The lower one has at most a share (1 - level) / 2 of the values below it, the upper
    one at most so many above it.
    """
    ordered = sorted(values)
    tail = int((1 - level) / 2 * len(ordered))
    return ordered[tail], ordered[(len(ordered) - 1) // 2], ordered[len(ordered) - 1 - tail]


def _conditions(
    rule: Rule | None, rules: Sequence[Rule | None], level: float
) -> tuple[ConditionStability, ...]:
    own = {RuleForm.of(condition): condition for condition in (rule.conditions if rule else ())}
    seen: dict[RuleForm, list[Any]] = {form: [] for form in own}
    for other in rules:
        for condition in other.conditions if other else ():
            seen.setdefault(RuleForm.of(condition), []).append(condition.value)
    out = []
    for form, values in sorted(seen.items(), key=lambda item: (-len(item[1]), str(item[0]))):
        ends = order_interval(values, level) if form.op.is_threshold and values else (None,) * 3
        threshold = own[form].value if form in own and form.op.is_threshold else None
        share = len(values) / len(rules) if rules else float("nan")
        out.append(ConditionStability(form, share, form in own, threshold, *ends))
    return tuple(out)


def _describe(found: ConditionStability, level: float) -> str:
    mark = "*" if found.in_rule else " "
    text = f"{mark} {found.share:>4.0%}  {found.form}"
    if found.low is None:
        return text
    return f"{text}  {format_value(found.low)} to {format_value(found.high)} ({level:.0%})"


def _form(rule: Rule | None) -> tuple[frozenset[RuleForm], Any]:
    if rule is None:
        return frozenset(), None
    return frozenset(RuleForm.of(condition) for condition in rule.conditions), rule.label


def _features(rule: Rule | None) -> frozenset[str]:
    return frozenset(() if rule is None else rule.features)


def _cover(problem: Problem, code: CodedRule | None) -> NDArray[np.bool_]:
    if code is None:
        return np.zeros(problem.table.n_rows, bool)
    return problem.cover(code.conditions)


def _jaccard(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    either = int((first | second).sum())
    return float((first & second).sum() / either) if either else 1.0


def _shares(sets: Iterable[frozenset[str]], total: int) -> list[tuple[str, float]]:
    counts = Counter(name for names in sets for name in names)
    return [(name, count / total) for name, count in _ranked(counts)]


def _ranked(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """Most frequent first, and in a fixed order among equals."""
    return sorted(counts.items(), key=lambda item: (-item[1], _text(item[0])))


def _text(item: Any) -> str:
    if isinstance(item, str):
        return item
    forms, label = item
    return f"{sorted(map(str, forms))} {label}"


def _mean(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else float("nan")
