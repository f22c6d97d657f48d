"""One problem solved many times: only what a covered row is worth changes between the solves."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

from opdt.checks import check_number, is_finite
from opdt.problem import Gains, Problem
from opdt.rules import Rule
from opdt.solution import Budget, Clock, Solution

if TYPE_CHECKING:
    from opdt.engines.base import Engine


class ManySolves:
    """Solves of one problem with other gains, by any engine: `Engine.many` gives it.

    An engine that can prepare what does not depend on the gains has a class of its own, as the
    search has `opdt.engines.search.Searcher`.

    Parameters
    ----------
    engine : Engine
    problem : Problem
        Gives the table, structure and constraints, and the gains that are used where a call
        gives none.
    """

    def __init__(self, engine: Engine, problem: Problem) -> None:
        self.engine, self.problem = engine, problem

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
            A running clock is one limit for several calls.
        start : Rule, optional
            A rule to start from, for engines that can.
        """
        return self.engine.solve(self.with_gains(gains), budget)

    def improve(
        self,
        start: Rule | None,
        gains: Any = None,
        *,
        budget: Budget | Clock | None = None,
        proven: bool = True,
    ) -> Solution:
        """The best rule for these gains, or `start` where none is better.

        Of several that are equally good any may come: ties are not decided. Unless it must be
        `proven`, an engine may take a quick look only.
        """
        return self.solve(gains, budget=budget, start=start)

    def reaches(
        self, value: float, gains: Any = None, *, budget: Budget | Clock | None = None
    ) -> bool | None:
        """Whether some rule has at least this value; None if the budget did not suffice to tell."""
        check_value(value)
        found = self.solve(gains, budget=budget)
        if found.value >= value:
            return True
        return False if found.bound < value or found.status.is_proven else None

    def limited(self, **limits: Any) -> Self:
        """The same with other limits on covered rows; see `Problem.with_limits`."""
        other = copy(self)
        other.problem = self.problem.with_limits(**limits)
        return other

    def with_gains(self, gains: Any) -> Problem:
        """The problem with these gains, or with its own."""
        if gains is None:
            return self.problem
        if isinstance(gains, Gains):
            return self.problem.with_objective(gains)
        return self.problem.with_gains(gains)


def check_value(value: Any) -> None:
    """Refuse what is no finite number."""
    check_number("value", value, "a finite number", is_finite)
