"""The rules that are nearly as good as the best, and what they have in common."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from opdt.analysis.counts import frame_of
from opdt.analysis.ranking import Alternative, levels, list_rules, numbers_of, rank_rules
from opdt.analysis.rashomon_summary import RashomonSummary, summarise
from opdt.objectives import Objective, words_of
from opdt.problem import CodedRule, Measure, Problem
from opdt.solution import Clock, StopReason

if TYPE_CHECKING:
    from opdt.engines.search import RuleListing, Searcher


@dataclass(frozen=True, eq=False)
class RashomonSet(Sequence[Alternative]):
    """All rules that are nearly as good as the best; a sequence of `Alternative`.

    Attributes
    ----------
    optimum : float or None
        The largest VI; None where there is no rule.
    threshold : float or None
        The VI that a rule of the set has at least.
    complete : bool
        Whether all rules of the set are listed.
    capped : bool
        Whether the set is proven to have more rules than are listed, which are then the first in
        the documented order: every other rule is worth `rest_at_most` or less.
    rest_at_most : float or None
        Where the set is capped.
    stopped_by : StopReason
        `finished`, or the limit of the budget that was met. Then rules may be missing anywhere;
        and if it was met before the optimum was proven (`proven` is False), the optimum is the
        best value found, and the threshold goes with it.
    proven : bool
        Whether the optimum is proven.
    seconds : float
        Time that it took.
    """

    optimum: float | None
    threshold: float | None
    complete: bool
    capped: bool
    rest_at_most: float | None
    stopped_by: StopReason
    proven: bool
    seconds: float
    _problem: Problem = field(repr=False)
    _found: RuleListing | None = field(default=None, repr=False)
    _limit: int = field(default=0, repr=False)

    def __len__(self) -> int:
        return 0 if self._found is None else min(self._limit, self._found.n_rules)

    def __getitem__(self, index: Any) -> Any:
        return self.rules[index]

    def __iter__(self) -> Iterator[Alternative]:
        return iter(self.rules)

    @property
    def objective(self) -> str | Objective:
        """What the values measure."""
        return self._problem.best_in

    @cached_property
    def rules(self) -> tuple[Alternative, ...]:
        """All rules in the documented order; given their names and numbers when first asked for."""
        return rank_rules(self._problem, [(rule, measure) for rule, measure, _ in self._listed])

    @cached_property
    def _listed(self) -> tuple[tuple[CodedRule, Measure, int], ...]:
        """Each rule with its counts and the number of its pattern."""
        found, numbers = self._found, dict[tuple[int, ...], int]()
        if found is None:
            return ()
        return tuple(
            (rule, found.measure(at), numbers.setdefault(found.pattern(at), len(numbers)))
            for rule, at in found.rules()[: self._limit]
        )

    @property
    def _coded(self) -> tuple[tuple[CodedRule, int], ...]:
        return tuple((rule, number) for rule, _, number in self._listed)

    @cached_property
    def patterns(self) -> tuple[Alternative, ...]:
        """One rule for each set of rows and class, with all its equivalents."""
        members: dict[int, list[Alternative]] = {}
        for rule, (_, number) in zip(self.rules, self._coded, strict=True):
            members.setdefault(number, []).append(rule)
        return tuple(
            replace(
                group[0],
                rank=place,
                equivalents=tuple(each.rule for each in group[1:]),
                more_equivalents=not self.complete,
            )
            for place, group in enumerate(members.values(), 1)
        )

    @cached_property
    def summary(self) -> RashomonSummary:
        """What the listed rules have in common."""
        return summarise(self._problem, self.rules, self._coded)

    def columns(self) -> dict[str, list[Any]]:
        """The rules by column: what every library makes a data frame of."""
        table = numbers_of(self.rules, self._problem.best_in)
        numbers = [number + 1 for _, number in self._coded]
        rules = [str(each.rule) for each in self.rules]
        return table | {"pattern": numbers, "verdict": levels(self.rules), "rule": rules}

    def to_frame(self) -> Any:
        """The rules as a data frame of pandas, or else of polars or Arrow."""
        return frame_of(self.columns())

    def facts(self) -> str:
        """How many rules there are, and what is proven about that, in a sentence."""
        if self.optimum is None or self.threshold is None:
            return "There is no rule." if self.complete else "No rule was found in time."
        number = f"{_many(len(self), 'rule')} ({_many(len(self.patterns), 'set')} of rows)"
        kind = "optimum" if self.proven else "best value found"
        what = words_of(self._problem.best_in).some
        reach = f"with {what} of at least {self.threshold:.10g} ({kind} {self.optimum:.10g})"
        if self.complete:
            return f"{number} {reach}; there are no others."
        if self.rest_at_most is not None:
            return (
                f"The first {number} {reach}; every other rule is worth "
                f"{self.rest_at_most:.10g} or less."
            )
        return f"{number} {reach}; stopped ({self.stopped_by}), so there may be others."

    def __str__(self) -> str:
        shown = list_rules(self.patterns[:10], self._problem.best_in)
        more = len(self.patterns) - 10
        return f"{self.facts()}\n{shown}" + (f"\n… and {more:,} more" if more > 0 else "")


def _many(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def collect_set(
    searcher: Searcher, clock: Clock, within: Fraction, within_rows: Fraction | None, limit: int
) -> RashomonSet:
    """The set of the rules that lose at most this share, or so many rows, to the best one."""
    problem, best = searcher.problem, searcher.solve(budget=clock)
    proven = best.stopped_by is StopReason.FINISHED
    if best.rule is None:
        return RashomonSet(
            None, None, proven, False, None, best.stopped_by, proven, clock.elapsed(), problem
        )
    known = problem.lower(best.rule)
    top = problem.measure(known).gain
    slack = abs(top) * within if within_rows is None else within_rows / problem.objective.unit
    # One more than are listed, to see whether there are more.
    found = searcher.list_rules(
        limit + 1, least_gain=top - math.floor(slack), known=known, budget=clock
    )
    stopped = found.stopped_by if proven else best.stopped_by
    done = stopped is StopReason.FINISHED
    capped = found.n_rules > limit
    return RashomonSet(
        optimum=problem.value(top),
        threshold=problem.value(found.least_gain),
        complete=done and not capped,
        capped=capped,
        rest_at_most=problem.value(found.gain_of(limit)) if capped and done else None,
        stopped_by=stopped,
        proven=proven,
        seconds=clock.elapsed(),
        _problem=problem,
        _found=found,
        _limit=limit,
    )
