"""Every rule that chance does not explain: all of them, with the search taken into account.

Shuffle the labels and search for the best rule; do it again and again. The values of these best
rules tell what chance can reach when it may choose among all rules. A rule of the data is
significant if at most a share alpha of the shuffled tables, the data themselves counted as one,
holds *any* rule as good (Westfall and Young's single-step maxT). Its adjusted p-value is that
share.

What that promises: with a probability of at least 1 - alpha no rule is listed whose rows have
nothing to do with the labels, whatever is true of the other rules. As ever with this method,
"nothing to do" is meant for all such rules together: labels may be shuffled among the rows
without changing how often these rules are right. The list is complete: it is made by the exact
search.

References
----------
Westfall, P. H. and Young, S. S. (1993). Resampling-Based Multiple Testing. Wiley.
Besag, J. and Clifford, P. (1991). Sequential Monte Carlo p-values. Biometrika 78, 301–304.
"""

from __future__ import annotations

import heapq
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from opdt.analysis.counts import frame_of, text_table
from opdt.analysis.ranking import (
    Alternative,
    check_listed,
    has_classes,
    numbers_of,
    rank_rules,
    texts_of,
    titles_of,
)
from opdt.analysis.repeats import Repeats, Tell
from opdt.analysis.shuffling import Shuffler
from opdt.analysis.stability import RuleForm
from opdt.arguments import start_clock
from opdt.checks import check_choice, check_int, check_share
from opdt.errors import InputError
from opdt.objectives import ObjectiveGains, words_of
from opdt.objectives.gains import as_written
from opdt.problem import CodedRule, Constraints, Measure, Problem, VolumeImpurity
from opdt.problem.arguments import Groups, ObjectiveLike, StructureLike
from opdt.rules.rule_json import rule_to_dict
from opdt.solution import Budget, Clock, StopReason
from opdt.table import Plan
from opdt.verdict import format_p_value

if TYPE_CHECKING:
    from opdt.engines.search import RuleListing, Searcher

SHOWN = 20  # families in the text


@dataclass(frozen=True)
class RuleFamily:
    """Significant rules that differ in their thresholds only.

    Attributes
    ----------
    best : Alternative
        The first of them in the documented order.
    p_value : float
        Its adjusted p-value, the smallest of the family.
    n_rules : int
        How many significant rules of the family cover different rows.
    """

    best: Alternative
    p_value: float
    n_rules: int


@dataclass(frozen=True, eq=False)
class SignificantRules(Sequence[Alternative]):
    """All significant rules of a table, best first; a sequence of `Alternative`.

    Attributes
    ----------
    alpha : float
        The probability of a false rule anywhere in the list is at most this.
    threshold : float or None
        Every rule whose value is above this is significant, and no other; None where so few
        permutations were done that no rule can be.
    p_value : float
        That of the best rule of the data; 1 where there is no rule.
    n_done, n_permutations : int
        Permutations that count, and those that were asked for. Once so many of them hold a rule
        as good as the best one that nothing can be significant, no more are needed.
    complete : bool
        Whether all significant rules are listed.
    capped : bool
        Whether there are more than `limit`; the first ones in the documented order are listed.
    stopped_by : StopReason
        `finished`, or the limit of the budget that was met: permutations are missing, which
        makes fewer rules significant, or rules are (see `complete`).
    n_rows, n_strata, seed : int
    seconds : float
    """

    alpha: float
    threshold: float | None
    p_value: float
    n_done: int
    n_permutations: int
    complete: bool
    capped: bool
    stopped_by: StopReason
    n_rows: int
    n_strata: int
    seed: int
    seconds: float
    _problem: Problem = field(repr=False)
    _found: RuleListing | None = field(default=None, repr=False)
    _limit: int = field(default=0, repr=False)
    _highest: tuple[int, ...] = field(default=(), repr=False)  # null maxima, the largest first
    _cut: bool = field(default=False, repr=False)
    _by_rows: bool = field(default=True, repr=False)

    def __len__(self) -> int:
        return len(self._listed)

    def __getitem__(self, index: Any) -> Any:
        return self.rules[index]

    def __iter__(self) -> Iterator[Alternative]:
        return iter(self.rules)

    @cached_property
    def rules(self) -> tuple[Alternative, ...]:
        """All significant rules in the documented order."""
        return rank_rules(self._problem, [(rule, measure) for rule, measure, _ in self._listed])

    @cached_property
    def p_values(self) -> tuple[float, ...]:
        """The adjusted p-value of each rule."""
        return tuple(self._p_of(measure.gain) for _, measure, _ in self._listed)

    @cached_property
    def _listed(self) -> tuple[tuple[CodedRule, Measure, int], ...]:
        """Each rule with its counts and the number of its set of rows."""
        found, numbers = self._found, dict[tuple[int, ...], int]()
        if found is None:
            return ()
        if self._by_rows:
            first = found.representatives()[: self._limit]
            return tuple((rule, measure, at) for at, (rule, measure) in enumerate(first))
        return tuple(
            (rule, found.measure(at), numbers.setdefault(found.pattern(at), len(numbers)))
            for rule, at in found.rules()[: self._limit]
        )

    def _p_of(self, gain: int) -> float:
        hits = sum(value >= gain for value in self._highest)
        return adjusted_p(hits, self.n_done, cut=self._cut)

    @property
    def n_patterns(self) -> int:
        """How many different sets of rows (and classes) the rules speak of."""
        return len({number for _, _, number in self._listed})

    @cached_property
    def families(self) -> tuple[RuleFamily, ...]:
        """The rules by what they say but for thresholds, best first.

        Rules with a needless condition are left out: one that can be dropped with no loss. Of
        rules that cover the same rows the first one counts.
        """
        members: dict[tuple[Any, ...], list[int]] = {}
        seen: set[int] = set()
        for at, (rule, measure, number) in enumerate(self._listed):
            if number not in seen and self._is_lean(rule, measure):
                seen.add(number)
                own = self.rules[at].rule
                form = frozenset(RuleForm.of(condition) for condition in own.conditions)
                members.setdefault((rule.label, form), []).append(at)
        return tuple(
            RuleFamily(self.rules[places[0]], self.p_values[places[0]], len(places))
            for places in members.values()
        )

    def _is_lean(self, rule: CodedRule, measure: Measure) -> bool:
        """Whether no condition can be left out without loss."""
        return not any(
            self._gain_of(CodedRule(some, rule.label)) >= measure.gain
            for size in range(len(rule.conditions))
            for some in combinations(rule.conditions, size)
        )

    def _gain_of(self, rule: CodedRule) -> float:
        """The gain of a shorter rule; minus infinity where it is no rule of the problem."""
        if rule not in self._gains:
            measure = self._problem.measure(rule)
            allowed = self._problem.objection(rule, measure) is None
            self._gains[rule] = measure.gain if allowed else -math.inf
        return self._gains[rule]

    @cached_property
    def _gains(self) -> dict[CodedRule, float]:
        return {}

    def columns(self) -> dict[str, list[Any]]:
        """The rules by column: what every library makes a data frame of."""
        table: dict[str, list[Any]] = {"p_value": list(self.p_values)}
        table |= numbers_of(self.rules, self._problem.best_in)
        table["pattern"] = [number + 1 for _, _, number in self._listed]
        return table | {"rule": [str(each.rule) for each in self.rules]}

    def to_frame(self) -> Any:
        """The rules as a data frame of pandas, or else of polars or Arrow."""
        return frame_of(self.columns())

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        classes = has_classes(self._problem.best_in)
        rules = [
            {
                "p_value": p, "value": each.value, "covered": each.covered,
                **({"errors": each.errors} if classes else {}), "rule": rule_to_dict(each.rule),
            }
            for p, each in zip(self.p_values, self.rules, strict=True)
        ]  # fmt: skip
        return {
            "alpha": self.alpha,
            "threshold": self.threshold,
            "p_value": self.p_value,
            "permutations": self.n_done,
            "complete": self.complete,
            "stopped_by": str(self.stopped_by),
            "rows": self.n_rows,
            "strata": self.n_strata,
            "seed": self.seed,
            "families": [
                {"p_value": each.p_value, "rules": each.n_rules, "best": str(each.best.rule)}
                for each in self.families
            ],
            "rules": rules,
        }

    def facts(self) -> str:
        """How many rules are significant, and what is proven about that, in a sentence."""
        name = words_of(self._problem.best_in).name
        tested = f"{self.n_done:,} permutations"
        if self.threshold is None:
            return f"After {tested} no rule can be significant at {self.alpha:g}; do more."
        if not len(self):
            least = format_p_value(self.p_value)
            return f"No rule is significant at {self.alpha:g} ({tested}; best p-value {least})."
        one = len(self) == 1
        kind = f" that cover{'s' if one else ''} different rows" if self._by_rows else ""
        number = f"{len(self):,} rule{'' if one else 's'}{kind} {'is' if one else 'are'}"
        above = f"{name} above {self.threshold:.10g}, {tested}"
        said = f"{number} significant at {self.alpha:g} ({above})"
        if self.complete:
            return f"{said}; there are no others."
        if self.capped:
            return f"The first {said}; there are more."
        return f"{said}; stopped ({self.stopped_by}), so there may be others."

    def __str__(self) -> str:
        if not len(self):
            return self.facts()
        best_in = self._problem.best_in
        titles = ("p-value", "rules", *titles_of(best_in))
        at = titles.index("verdict")
        rows = [
            (format_p_value(each.p_value), f"{each.n_rules:,}", *texts_of(each.best, best_in))
            for each in self.families[:SHOWN]
        ]
        drop = [titles[:at] + titles[at + 1 :], *(row[:at] + row[at + 1 :] for row in rows)]
        more = len(self.families) - SHOWN
        lines = [self.facts(), "By what they say but for thresholds, the best of each:", ""]
        lines.append(text_table(drop[0], drop[1:]))
        return "\n".join(lines) + (f"\n… and {more:,} more kinds" if more > 0 else "")


def significant_rules(
    X: Any,
    y: Any = None,
    *,
    alpha: float = 0.05,
    n_permutations: int = 999,
    distinct: str = "rows",
    limit: int = 10_000,
    strata: Any = None,
    seed: int = 0,
    weights_follow: str | None = None,
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
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    budget: Budget | None = None,
    progress: Tell = None,
) -> SignificantRules:
    """All rules that chance does not explain, with the search for them taken into account.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    alpha : float
        The list holds a false rule with at most this probability.
    n_permutations : int
        The smallest p-value is 1 / (1 + n_permutations).
    distinct : {"rows", "conditions"}
        What makes two rules different, as in `top_rules`: that they cover different rows (the
        first of those that cover the same rows is listed), or that they have different conditions.
    limit : int
        The largest number of rules to list.
    strata, seed, weights_follow
        As in `permutation_test`.
    max_depth, w, structure, groups, label, min_coverage, max_coverage, min_precision, \
constraints, sample_weight, roles, missing
        What rules there are, as in `discover`.
    objective : str or Objective
        "vi", "coverage", or an objective whose values are sums over rows: `Money`, `Uplift`,
        `Survival`, `Mean` with a threshold. Then it is what rows are worth that changes places, as
        in `permutation_test`. At the price w = rows / rows of the other classes the VI is the
        WRAcc, but for a factor.
    time_limit, n_jobs, memory_limit, budget
        Limits on everything together, as in `discover`.
    progress : callable, optional
        Called with a `RepeatProgress` from time to time.

    Returns
    -------
    SignificantRules

    Examples
    --------
    >>> age, smoker = list(range(20, 50)), ["no", "yes"] * 15
    >>> ill = [years >= 40 for years in age]
    >>> found = significant_rules({"age": age, "smoker": smoker}, ill, n_permutations=99, w=2,
    ...                           label=True, max_depth=1)
    >>> print(found)
    13 rules that cover different rows are significant at 0.05 (VI above 3, 99 permutations); \
there are no others.
    By what they say but for thresholds, the best of each:
    <BLANKLINE>
    p-value  rules  VI  covered  errors  precision  lift  coverage  rule
      0.010     13  10       10       0    100.0 %  3.00    33.3 %  IF age >= 39.5 THEN True
    """
    from opdt.engines.search import Searcher

    level, planned = check_share("alpha", alpha), check_int("n_permutations", n_permutations)
    most = check_int("limit", limit)
    by_rows = check_choice("distinct", distinct, ("rows", "conditions")) == "rows"
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    problem = Problem.of(
        X, y, max_depth=max_depth, w=w, structure=structure, groups=groups, label=label,
        objective=objective, min_coverage=min_coverage, max_coverage=max_coverage,
        min_precision=min_precision,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    _check(problem)
    if allowed_hits(level, planned) < 0:
        least = math.ceil(1 / as_written(level)) - 1
        raise InputError(
            f"'n_permutations' is {planned}, with which no p-value is {level:g} or less; ask for "
            f"at least {least}."
        )
    shuffler = Shuffler.of(problem, check_int("seed", seed, 0), strata, weights_follow)
    search = MaximumSearch(Searcher(problem), clock, shuffler, level, planned, progress)
    return search.run(most, by_rows=by_rows)


def _check(problem: Problem) -> None:
    check_listed(problem)
    if not isinstance(problem.objective, VolumeImpurity | ObjectiveGains):
        raise InputError(
            "what rows are worth is shuffled, but the gains of this problem were given row by row; "
            "build it with an objective, as Money(benefit=, cost=)."
        )


def adjusted_p(hits: int, done: int, *, cut: bool) -> float:
    """The p-value after so many hits; a permutation that a limit cut short counts as one."""
    return (1 + hits + cut) / (1 + done + cut)


def allowed_hits(alpha: float, done: int, *, cut: bool = False) -> int:
    """The most hits with which a rule is significant; negative where none can be."""
    return math.floor(as_written(alpha) * (1 + done + cut)) - 1 - cut


class MaximumSearch:
    """The best values of shuffled tables, as far as they matter, and the rules above them.

    Of the null maxima only the largest count: so many as may be hits, and one more. Whether a
    shuffled table has a rule above the least of these so far is answered sooner than by how much.
    """

    def __init__(
        self,
        searcher: Searcher,
        clock: Clock,
        shuffler: Shuffler,
        alpha: float,
        planned: int,
        tell: Tell,
    ) -> None:
        self._searcher, self._problem, self._clock = searcher, searcher.problem, clock
        self._shuffler, self._alpha, self._planned, self._tell = shuffler, alpha, planned, tell
        self._wanted = allowed_hits(alpha, planned) + 1
        self._top: list[int] = []  # a heap of the largest maxima so far
        self._lock = threading.Lock()

    def run(self, limit: int, *, by_rows: bool) -> SignificantRules:
        """Shuffle, then list."""
        problem, clock = self._problem, self._clock
        best = self._searcher.solve(budget=clock)
        gain = None if best.rule is None else problem.measure(problem.lower(best.rule)).gain
        repeats = Repeats(
            self._maximum,
            self._planned,
            clock,
            enough=lambda found: _hits(found, gain) >= self._wanted,
            tell=self._tell,
        )
        if best.stopped_by is not StopReason.FINISHED:
            repeats.stopped_by = best.stopped_by
        elif gain is not None:
            repeats.run(problem)
        done, cut = len(repeats.results), repeats.stopped_by is not StopReason.FINISHED
        hits = _hits(repeats.results, gain)
        p_value = 1.0
        if done:
            p_value = hits / done if repeats.is_enough else adjusted_p(hits, done, cut=cut)
        nothing = SignificantRules(
            alpha=self._alpha,
            threshold=0.0 if gain is None else problem.value(gain),
            p_value=p_value,
            n_done=done,
            n_permutations=self._planned,
            complete=not cut,
            capped=False,
            stopped_by=repeats.stopped_by,
            n_rows=problem.table.n_rows,
            n_strata=self._shuffler.n_strata,
            seed=self._shuffler.seed,
            seconds=clock.elapsed(),
            _problem=problem,
        )
        if gain is None or repeats.is_enough:
            return nothing
        allowed = allowed_hits(self._alpha, done, cut=cut)
        if allowed < 0:
            return replace(nothing, threshold=None)
        highest = tuple(sorted((v for v in repeats.results if v is not None), reverse=True))
        # Where fewer permutations have a rule at all, every rule is significant.
        bar = highest[allowed] if allowed < len(highest) else self._lowest
        found = self._searcher.list_rules(
            limit + 1, least_gain=bar + 1, by_rows=by_rows, budget=clock
        )
        capped = (len(found) if by_rows else found.n_rules) > limit
        return replace(
            nothing,
            threshold=problem.value(bar),
            complete=found.is_complete and not capped,
            capped=capped,
            stopped_by=repeats.stopped_by if cut else found.stopped_by,
            seconds=clock.elapsed(),
            _found=found,
            _limit=limit,
            _highest=highest,
            _cut=cut,
            _by_rows=by_rows,
        )

    @property
    def _lowest(self) -> int:
        """A gain below that of every rule."""
        gains = self._problem.objective
        return -max(int(abs(gains.gains(label)).sum()) for label in gains.labels) - 1

    def _maximum(self, index: int, budget: Budget) -> int | None:
        """The largest gain of one permutation; None where it is too small to matter."""
        gains = self._shuffler.objective(index)
        with self._lock:
            floor = self._top[0] if len(self._top) == self._wanted else None
        if floor is not None and not self._problem.constraints.sums_rows:
            value = self._problem.value(floor)
            if self._searcher.reaches(value, gains, budget=budget) is False:
                return None
        found = self._searcher.solve(gains, budget=budget)
        # a bound stands for an optimum that a limit of the search left open
        most = self._problem.gain(found.bound) if found.bound > -math.inf else None
        if most is not None:
            with self._lock:
                heapq.heappush(self._top, most)
                if len(self._top) > self._wanted:
                    heapq.heappop(self._top)
        return most


def _hits(maxima: Sequence[int | None], gain: int | None) -> int:
    """How many permutations hold a rule of at least this gain."""
    return 0 if gain is None else sum(value is not None and value >= gain for value in maxima)
