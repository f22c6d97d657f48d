"""The default engine: the proven optimum by a specialised branch and bound."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

from opdt.engines.base import Engine, Outcome, audit
from opdt.engines.search.run import Prepared, Run, Switches
from opdt.errors import InputError
from opdt.problem import CodedRule, Objective, Problem
from opdt.rules import Rule
from opdt.solution import Budget, Clock, Solution, StopReason


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

    start: Rule | None = None
    switches: Switches = field(default_factory=Switches)

    def _solve(self, problem: Problem, clock: Clock) -> Outcome:
        start: CodedRule | None = None if self.start is None else problem.lower(self.start)
        run = Run(problem, Prepared(problem), clock, self.switches, start=start)
        run.search()
        return _outcome(run)


class Searcher:
    """The search engine for many solves on one table: only the gains change between them.

    Significance tests, weight paths and column generation ask thousands of questions about the
    same table, structure and constraints. What does not depend on the gains is prepared once.

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
    """

    def __init__(self, problem: Problem, switches: Switches | None = None) -> None:
        self.problem = problem
        self._prepared = Prepared(problem)
        self._switches = switches or Switches()

    def solve(
        self, gains: Any = None, *, budget: Budget | None = None, start: Rule | None = None
    ) -> Solution:
        """The best rule for these gains.

        Parameters
        ----------
        gains : Objective, or array of shape (n_rows,), optional
            What covering each row is worth: an objective, or any real numbers.
        budget : Budget, optional
            Without one, a single thread and no limit: best for many short solves.
        start : Rule, optional
            A rule to start from.
        """
        problem = self._with(gains)
        clock = (budget or Budget(threads=1)).start()
        coded = None if start is None else problem.lower(start)
        run = Run(problem, self._prepared, clock, self._switches, start=coded)
        run.search()
        return audit(SearchEngine.name, problem, _outcome(run), clock.elapsed())

    def reaches(self, value: float, gains: Any = None, *, budget: Budget | None = None) -> bool:
        """Whether some rule has at least this value: a search that ends at the first one.

        Raises
        ------
        InputError
            When a limit of the budget was reached before the question was decided.
        """
        problem = self._with(gains)
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise InputError(f"'value' must be a finite number, got {value!r}.")
        least = problem.gain(value)
        if problem.may_be_empty and least <= 0:
            return True
        if least > problem.ceiling:
            return False
        clock = (budget or Budget(threads=1)).start()
        run = Run(problem, self._prepared, clock, self._switches, at_least=least)
        run.search()
        if run.winners:
            return True
        if run.stopped_by is not None:
            raise InputError(
                f"whether a rule reaches {value:g} was not decided within the budget "
                f"({run.stopped_by}); raise it."
            )
        return False

    def limited(self, max_errors: float | Fraction | None) -> Searcher:
        """The same searcher with another limit on errors; what is prepared is shared."""
        limits: dict[str, Any] = {"max_errors": max_errors}
        other = copy(self)
        other.problem = replace(
            self.problem, constraints=replace(self.problem.constraints, **limits)
        )
        return other

    def _with(self, gains: Any) -> Problem:
        if gains is None:
            return self.problem
        if isinstance(gains, Objective):
            return self.problem.with_objective(gains)
        return self.problem.with_gains(gains)


def _outcome(run: Run) -> Outcome:
    return Outcome(
        rule=run.incumbent,
        bound=run.bound(),
        stopped_by=run.stopped_by or StopReason.FINISHED,
        trace=tuple(run.recorder.points),
        statistics=run.statistics,
    )
