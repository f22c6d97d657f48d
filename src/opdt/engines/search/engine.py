"""The default engine: the proven optimum by a specialised branch and bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from opdt.engines.base import Engine, Outcome, audit
from opdt.engines.many import ManySolves, check_value
from opdt.engines.search.blocks import Order
from opdt.engines.search.classes_within import ClassesWithin
from opdt.engines.search.collect import Collector, RuleListing
from opdt.engines.search.merge import merged
from opdt.engines.search.run import Prepared, Run
from opdt.engines.search.tuning import Switches
from opdt.engines.search.within_limits import WithinLimits
from opdt.problem import CodedRule, Measure, Problem, RowLimit
from opdt.rules import Rule
from opdt.solution import Budget, Clock, Solution, StopReason, running


@dataclass(frozen=True)
class SearchEngine(Engine):
    """Exact branch and bound over sets of features with nested thresholds.

    Parameters
    ----------
    start : Rule, optional
        A rule to start from; it must be one of the problem's, or it is passed over.
    switches : Switches
        Accelerators, for tests and for study; none changes the answer.
    """

    name: ClassVar[str] = "search"
    proves_optimality: ClassVar[bool] = True
    takes_row_limits: ClassVar[bool] = True

    start: Rule | None = None
    switches: Switches = field(default_factory=Switches)

    def many(self, problem: Problem) -> Searcher:
        """The search with what does not depend on the gains prepared once."""
        return Searcher(problem, self.switches)

    def _solve(self, problem: Problem, clock: Clock) -> Outcome:
        start: CodedRule | None = None if self.start is None else problem.lower(self.start)
        if problem.constraints.sums_rows:
            return ClassesWithin(self.many(problem).collector(problem, clock)).solve(start)
        prepared = Prepared(problem)
        fewer = None
        if self.switches.merging:
            fewer = merged(problem, np.unique(prepared.rays.features), self.switches.tuning)
        if fewer is not None:
            problem, prepared = fewer, Prepared(fewer)
        run = Run(problem, prepared, clock, self.switches, start=start)
        run.search()
        return _outcome(run)


class Searcher(ManySolves):
    """The search engine for many questions about one table: only the gains change between them.

    Significance tests, weight paths and column generation ask thousands of questions about the
    same table, structure and constraints. What does not depend on the gains is prepared once.
    This is the one door to the search: whatever is asked of it, is asked here.

    Parameters
    ----------
    problem : Problem
        Gives the table, structure and constraints, and the gains that are used where a call
        gives none.
    switches : Switches, optional

    Examples
    --------
    >>> from opdt.problem import Problem
    >>> from opdt.table import Table
    >>> problem = Problem.build(Table.build({"x": [1, 2, 3, 4]}, [0, 0, 1, 1]))
    >>> searcher = Searcher(problem)
    >>> searcher.solve().value, searcher.solve([-1, 2.5, 2, -1]).value
    (2.0, 4.5)
    >>> searcher.reaches(2), searcher.reaches(3)
    (True, False)
    >>> [str(problem.lift(rule)) for rule, _ in searcher.list_rules(2).rules()]
    ['IF x >= 2.5 THEN 1', 'IF x < 2.5 THEN 0']
    """

    def __init__(self, problem: Problem, switches: Switches | None = None) -> None:
        self._switches = switches or Switches()
        super().__init__(SearchEngine(switches=self._switches), problem)
        self._prepared = Prepared(problem)

    def solve(
        self,
        gains: Any = None,
        *,
        budget: Budget | Clock | None = None,
        start: Rule | None = None,
    ) -> Solution:
        """The best rule for these gains.

        Parameters
        ----------
        gains : Gains, or array of shape (n_rows,), optional
            What covering each row is worth: an objective, or any real numbers.
        budget : Budget or Clock, optional
            Without one, a single thread and no limit: best for many short solves. A running
            clock is one limit for several calls.
        start : Rule, optional
            A rule to start from.
        """
        problem, clock = self.with_gains(gains), _clock(budget)
        coded = None if start is None else problem.lower(start)
        if problem.constraints.sums_rows:
            outcome = ClassesWithin(self.collector(problem, clock)).solve(coded)
            return audit(SearchEngine.name, problem, outcome, clock.elapsed())
        run = Run(problem, self._prepared, clock, self._switches, start=coded)
        run.search()
        return audit(SearchEngine.name, problem, _outcome(run), clock.elapsed())

    def improve(
        self,
        start: Rule | None,
        gains: Any = None,
        *,
        budget: Budget | Clock | None = None,
        proven: bool = True,
    ) -> Solution:
        """The best rule for these gains, or `start` where none is better; no tie is decided.

        Unless it must be `proven`, only a quick look is taken.
        """
        problem, clock = self.with_gains(gains), _clock(budget)
        if problem.constraints.sums_rows:
            return self.solve(gains, budget=clock, start=start)
        coded = None if start is None else problem.lower(start)
        # a rule that is known spares the search for one to start from
        switches = replace(self._switches, seeding=not proven)
        run = Run(problem, self._prepared, clock, switches, start=coded, ties=False)
        run.search() if proven else run.look()
        return audit(SearchEngine.name, problem, _outcome(run), clock.elapsed())

    def reaches(
        self, value: float, gains: Any = None, *, budget: Budget | Clock | None = None
    ) -> bool | None:
        """Whether some rule has at least this value: a search that ends at the first one.

        None if a limit of the budget was reached before the question was decided.
        """
        check_value(value)
        problem, clock = self.with_gains(gains), _clock(budget)
        if problem.constraints.sums_rows:
            return super().reaches(value, gains, budget=clock)
        least = problem.gain(value)
        if problem.may_be_empty and least <= 0:
            return True
        if least > problem.ceiling:
            return False
        # Greedy rules to start from seldom reach the value, and nothing else is of interest.
        switches = replace(self._switches, seeding=False)
        run = Run(problem, self._prepared, clock, switches, at_least=least)
        run.search()
        if run.winners:
            return True
        return False if run.stopped_by is None else None

    def list_rules(
        self,
        most: int,
        *,
        least_gain: int | None = None,
        by_rows: bool = False,
        known: CodedRule | None = None,
        gains: Any = None,
        budget: Budget | Clock | None = None,
    ) -> RuleListing:
        """The first rules of the documented order, no more than `most`.

        Rules that gain nothing are not listed, unless a minimum coverage forbids the empty rule.

        Parameters
        ----------
        most : int
        least_gain : int, optional
            Only rules of at least this gain, in units of the objective.
        by_rows : bool
            Whether rules of one class that cover the same rows count once, as the first of them.
        known : CodedRule, optional
            One of these rules; it is in the list even if time runs out before it is found.
        gains, budget
            As in `solve`.
        """
        own = self.collector(self.with_gains(gains), _clock(budget))
        limited = own.problem.constraints.sums_rows
        collector: Collector | ClassesWithin = ClassesWithin(own) if limited else own
        if least_gain is None:
            return collector.first(most, by_rows=by_rows)
        return collector.at_least(least_gain, most, by_rows=by_rows, known=known)

    def best_within(
        self,
        limits: Sequence[RowLimit],
        *,
        gains: Any = None,
        budget: Budget | Clock | None = None,
    ) -> tuple[tuple[CodedRule, Measure] | None, StopReason]:
        """The first rule, in the documented order, whose rows meet these limits too.

        With it, why the search ended: None is "no rule" if it is `finished`; else a better rule
        may be missing.
        """
        collector = self.collector(self.with_gains(gains), _clock(budget))
        if not collector.problem.constraints.sums_rows:
            return WithinLimits(collector, limits).solve()
        found, stopped, _ = ClassesWithin(collector, limits).best()
        return found, stopped

    def collector(self, problem: Problem, clock: Clock) -> Collector:
        """What lists rules of a problem that differs from this searcher's in its gains alone."""
        return Collector(problem, self._prepared, self._order, clock, self._switches)

    @cached_property
    def _order(self) -> Order:
        return Order(self._prepared.rays)


def _clock(budget: Budget | Clock | None) -> Clock:
    return running(Budget(n_jobs=1) if budget is None else budget)


def _outcome(run: Run) -> Outcome:
    return Outcome(
        rule=run.incumbent,
        bound=run.bound(),
        stopped_by=run.stopped_by or StopReason.FINISHED,
        trace=tuple(run.recorder.points),
        statistics=run.statistics,
    )
