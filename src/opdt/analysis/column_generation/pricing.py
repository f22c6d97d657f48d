"""The exact search as the oracle of column generation: the best rule for any multipliers.

Let m_i, from 0 to v_i, be what it is worth to cover wanted row i. A rule *nets*

    sum of m_i over the wanted rows it covers - weight of the other rows it covers
    - price × its conditions,

and no set of at most K rules has a loss below  sum m_i - K × (the largest net of any rule, or 0):
the Lagrangian bound. It holds for any multipliers, all numbers in it are whole, and a search that
is stopped early still gives an upper limit on the nets. So the bound is true whatever the linear
program did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from opdt.analysis.column_generation.listing import Listing
from opdt.analysis.column_generation.loss import Floats, Loss
from opdt.problem import CodedRule, Problem, Structure
from opdt.solution import Budget, Clock, Solution, StopReason

if TYPE_CHECKING:
    from opdt.engines.search import RuleListing

# Rows up to which a search is so short that starting threads takes longer.
FEW_ROWS = 20_000
# Parts of the mixtures of multipliers.
PARTS = 64


@dataclass(frozen=True, eq=False)
class Quote:
    """Multipliers, a limit on what any rule nets with them, and rules that net much.

    Attributes
    ----------
    multipliers : ndarray of float64 of shape (n_wanted,)
    best : int
        No rule nets more; at least 0.
    rules : tuple of CodedRule
    """

    multipliers: Floats
    best: int
    rules: tuple[CodedRule, ...] = ()

    @property
    def total(self) -> int:
        """The sum of the multipliers."""
        return int(self.multipliers.sum())

    def bound(self, most: int) -> int:
        """No set of at most so many rules has a smaller loss."""
        return self.total - most * self.best

    def least(self, loss: int, most: int) -> int:
        """What each rule of a set of at most so many rules and such a loss nets at least."""
        return self.bound(most) + self.best - loss


class Oracle:
    """Prices rules of one class exactly.

    A search knows row gains, not the price of a condition. So there is a search for rules of at
    most one condition, of at most two, and so on: the net of a rule of d conditions is at most
    the best gain of the d-th search, less d prices.

    Parameters
    ----------
    problem : Problem
    loss : Loss
    clock : Clock
        One for all questions.
    """

    def __init__(self, problem: Problem, loss: Loss, clock: Clock) -> None:
        # Imported here, as is all that needs Numba.
        from opdt.engines.search import Searcher

        self._problem, self._loss, self._clock = problem, loss, clock
        depth = problem.structure.depth
        sizes = range(1, depth + 1) if loss.price else [depth]
        self._searchers = {size: Searcher(at_most(problem, size)) for size in sizes}
        always = CodedRule((), loss.label)
        self.always = always if problem.objection(always) is None else None
        self.stopped_by: StopReason | None = None

    def quote(self, multipliers: Floats) -> Quote:
        """The largest net of any rule, with a rule for each number of conditions."""
        gains = self._loss.gains(multipliers)
        best, rules = 0, []
        if self.always is not None:
            best = max(best, int(gains.row_gains.sum()))
            rules.append(self.always)
        for size, searcher in self._searchers.items():
            solution = searcher.solve(gains, budget=self._budget())
            self._heed(solution)
            if solution.bound > -np.inf:
                best = max(best, int(solution.bound) - self._loss.price * size)
            if solution.rule is not None:
                rules.append(self._problem.lower(solution.rule))
        return Quote(multipliers, best, tuple(rules))

    def covering(self, multipliers: Floats) -> Iterator[CodedRule]:
        """The best rule, then the best on the wanted rows that are left, and so on."""
        left, searcher = multipliers.copy(), self._searchers[max(self._searchers)]
        while self.stopped_by is None:
            solution = searcher.solve(self._loss.gains(left), budget=self._budget())
            self._heed(solution)
            if solution.rule is None:
                return
            rule = self._problem.lower(solution.rule)
            yield rule
            left[self._problem.cover(rule.conditions)[self._loss.wanted]] = 0

    def listing(self, quote: Quote, least: int, limit: int) -> Listing | None:
        """Rules that net at least so much, and perhaps others; None if time runs out.

        Rules that save nothing by themselves, if all wanted rows were theirs to cover, need not
        be listed. No more than `limit` of each number of conditions are.
        """
        lists: list[RuleListing] = []
        beyond = least - 1
        for size, searcher in self._searchers.items():
            price, step = self._loss.price * size, self._loss.step
            part = _part(least, price, step)
            rest = PARTS - part
            mixed = part * quote.multipliers + rest * self._loss.missed
            gains = self._loss.gains(mixed, PARTS)
            wanted = part * least + rest * step + PARTS * price
            found = searcher.list_rules(
                limit, least_gain=wanted, by_rows=True, gains=gains, budget=self._budget()
            )
            if not found.is_complete:
                self.stopped_by = found.stopped_by
                return None
            lists.append(found)
            if len(found) >= limit:
                lowest = found.measure(-1).gain - rest * step - PARTS * price
                beyond = max(beyond, lowest // part if part else quote.best)
        return Listing(self._loss, tuple(lists), beyond)

    def halted(self) -> bool:
        """Whether a limit is reached."""
        if self.stopped_by is None:
            self.stopped_by = self._clock.stop()
        return self.stopped_by is not None

    def _heed(self, solution: Solution) -> None:
        if solution.stopped_by is not StopReason.FINISHED:
            self.stopped_by = solution.stopped_by

    def _budget(self) -> Budget:
        """What is left of the budget, for one search."""
        budget = self._clock.budget
        seconds = None if budget.time_limit is None else max(0.0, self._clock.remaining())
        threads = budget.n_jobs
        if threads is None and self._problem.table.n_rows <= FEW_ROWS:
            threads = 1
        return replace(budget, time_limit=seconds, n_jobs=threads, nodes=None, progress=None)


def _part(least: int, price: int, step: int) -> int:
    """How many of so many parts of a mixture are what a rule nets.

    Both what it nets and what it saves by itself say that a rule is not needed, and so does any
    mixture of the two. Only rules of some gain can be listed, so as much of the net is taken as
    leaves a gain to be asked for.
    """
    if least + price >= 1:
        return PARTS
    return max(0, (PARTS * (step + price) - 1) // (step - least))


def at_most(problem: Problem, size: int) -> Problem:
    """The same rules, but only those of at most `size` conditions.

    What may be said is in the chains, which stay as they are; how many conditions the search
    tries is in the depth of the structure.
    """
    if size == problem.structure.depth:
        return problem
    shorter = replace(problem, structure=Structure.free(size))
    shorter.__dict__["chains"] = problem.chains  # a cached property, set before it is asked for
    return shorter
