"""Column generation: from the first rules to the best set of rules and its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.column_generation.branching import Branching, Choice
from opdt.analysis.column_generation.columns import Covers, RuleColumns, greedy, undominated
from opdt.analysis.column_generation.listing import Listing
from opdt.analysis.column_generation.loss import Floats, Loss
from opdt.analysis.column_generation.master import relax
from opdt.analysis.column_generation.pricing import Oracle, Quote
from opdt.problem import CodedRule, Problem
from opdt.solution import Clock, StopReason

# Share of the best multipliers so far in the next ones: plain ones jump from corner to corner.
SMOOTHING = 0.5
# Further rules that each step adds, on the rows that the best ones leave.
EXTRA = 2
# Share of a step to which the linear program is solved.
NEAR = 0.01
# Quotes that are kept to tell rules that cannot matter.
QUOTES = 8
# Nodes of the search among the rules at hand, which is for a better set only.
FEW_NODES = 200
# Rules that are listed to raise a bound, and nodes of the search among them.
MAX_LISTED = 100_000
MAX_NODES = 1_000
# Parts of the gap that are closed one after the other.
PARTS = 4


@dataclass(eq=False)
class Incumbent:
    """The best set of rules so far, of all classes."""

    loss: int
    label: int
    rules: tuple[CodedRule, ...] = ()


@dataclass
class Counts:
    """The work done."""

    iterations: int = 0
    columns: int = 0
    nodes: int = 0


@dataclass(eq=False)
class ClassRun:
    """Column generation for one class.

    Parameters
    ----------
    problem : Problem
        Whose rules point to the class.
    loss : Loss
    most : int
        The largest number of rules.
    clock : Clock
    """

    problem: Problem
    loss: Loss
    most: int
    clock: Clock
    incumbent: Incumbent
    counts: Counts
    bound: int = 0
    relaxation: float = float("nan")  # the optimum of the linear program, in units
    is_exhausted: bool = False  # whether the bound cannot be raised within the limits
    quotes: list[Quote] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.oracle = Oracle(self.problem, self.loss, self.clock)
        self.columns = RuleColumns(self.problem, self.loss)
        self.missed = self.loss.missed

    @property
    def is_settled(self) -> bool:
        """Whether nothing better than the incumbent is left in this class."""
        return self.bound >= self.incumbent.loss

    # -- generating columns ------------------------------------------------------------------

    def generate(self) -> None:
        """Add rules until none can improve the linear program, or its bound is good enough."""
        if self.is_settled:
            return
        multipliers = self.missed
        self.columns.update(islice(self.oracle.covering(multipliers), self.most))
        while not self.oracle.halted():
            quote = self._quote(multipliers)
            new = self.columns.update(quote.rules)
            if self.is_settled or self.oracle.halted():
                return
            new += self.columns.update(islice(self.oracle.covering(multipliers), 1, 1 + EXTRA))
            found = relax(self.columns.covers, self.columns.costs, self.missed, self.most)
            if found is None:
                return
            self.relaxation = found.value
            self._choose_greedily()
            if self.quotes[0].bound(self.most) >= found.value - self._tolerance:
                return
            share = SMOOTHING if new else 0.0
            following = share * self.quotes[0].multipliers + (1 - share) * found.multipliers
            if not new and np.array_equal(multipliers, following):
                return
            multipliers = np.rint(following)

    @property
    def _tolerance(self) -> float:
        """What is not worth a further step, in units; above the tolerances of the program."""
        return max(NEAR * self.loss.step, 1e-7 * float(self.missed.sum()))

    def _quote(self, multipliers: Floats) -> Quote:
        """Ask the oracle, and raise the bound where its answer allows."""
        quote = self.oracle.quote(multipliers)
        self.counts.iterations += 1
        self.quotes = sorted([*self.quotes, quote], key=lambda each: -each.bound(self.most))[
            :QUOTES
        ]
        self.raise_bound(quote.bound(self.most))
        return quote

    def raise_bound(self, bound: float) -> None:
        """Take a bound, if it is better than the one known."""
        self.bound = max(self.bound, self.loss.up(bound))

    def _choose_greedily(self) -> None:
        covers, costs = self.columns.covers, self.columns.costs
        chosen, loss = greedy(covers, costs, self.missed, self.most)
        self._offer([self.columns.rule(place) for place in chosen], loss)

    def _offer(self, rules: Sequence[CodedRule], loss: float) -> None:
        if loss < self.incumbent.loss:
            self.incumbent.loss, self.incumbent.label = int(loss), self.loss.label
            self.incumbent.rules = tuple(rules)

    # -- choosing among the columns ----------------------------------------------------------

    def choose(self) -> None:
        """Improve the incumbent by the best set of the rules at hand."""
        if self.quotes and not self.is_settled:
            self._branch(self.columns, self.incumbent.loss - self.loss.step, FEW_NODES)

    def _branch(self, columns: RuleColumns, goal: int, max_nodes: int) -> Choice:
        """Look for a set of rules whose loss is at most the goal."""
        covers, costs = columns.covers, columns.costs
        places = self._useful(covers, costs, goal)
        places = places[undominated(covers[places], costs[places])]
        search = Branching(
            covers[places], costs[places], self.missed, self.most, goal=goal, step=self.loss.step
        )
        choice = search.search(
            self.quotes[0].multipliers, max_nodes=max_nodes, halted=self.oracle.halted
        )
        self.counts.nodes += choice.nodes
        if choice.places is not None:
            self._offer([columns.rule(int(places[at])) for at in choice.places], choice.loss)
        return choice

    def _useful(self, covers: Covers, costs: Floats, goal: int) -> NDArray[np.int64]:
        """Places of the rules that a set of such a loss may hold, by all quotes."""
        keep = covers @ self.missed > costs
        for quote in self.quotes:
            least = quote.least(goal, self.most)
            keep &= covers @ quote.multipliers - costs >= least
        return np.flatnonzero(keep)

    # -- closing the gap ---------------------------------------------------------------------

    def close(self) -> None:
        """Raise the bound by a part of the gap: list all rules that a better set may hold."""
        step, quote = self.loss.step, self.quotes[0]
        n_steps = (self.incumbent.loss - self.bound) // step
        goal = min(self.bound + n_steps // PARTS * step, self.incumbent.loss - step)
        listing = self.oracle.listing(quote, quote.least(goal, self.most), MAX_LISTED)
        if listing is None:
            return
        # A set with any other rule has at least this loss.
        others = self.loss.up(quote.bound(self.most) + quote.best - listing.beyond)
        if others <= self.bound:
            self.is_exhausted = True
            return
        goal = min(goal, others - step)
        columns = self._columns(listing, goal)
        if self.oracle.halted():
            return
        self.counts.columns += len(columns)
        choice = self._branch(columns, goal, MAX_NODES)
        self.is_exhausted = not choice.is_proven
        self.raise_bound(min(choice.bound, others))

    def _columns(self, listing: Listing, goal: int) -> RuleColumns:
        """The rules of a listing that a set of such a loss may hold."""
        columns = RuleColumns(self.problem, self.loss)
        if self.oracle.always is not None:
            columns.update([self.oracle.always])
        for batch in listing.batches():
            if self.oracle.halted():
                break
            for place in self._useful(batch.covers, batch.costs, goal).tolist():
                columns.add(batch.rule(place), batch.covers[place], float(batch.costs[place]))
        return columns


def generate(runs: Sequence[ClassRun]) -> StopReason:
    """Run all classes until the incumbent is proven, or a limit is reached."""
    try:
        for run in runs:
            run.generate()
        for run in runs:
            run.choose()
        return _close(runs)
    except KeyboardInterrupt:
        return StopReason.INTERRUPTED


def _close(runs: Sequence[ClassRun]) -> StopReason:
    """Close the gap of whichever class holds back the bound of all, as long as one can."""
    while True:
        for run in runs:
            if run.oracle.halted():
                assert run.oracle.stopped_by is not None
                return run.oracle.stopped_by
        open_runs = [run for run in runs if not run.is_settled]
        if not open_runs:
            return StopReason.FINISHED
        lowest = min(open_runs, key=lambda run: run.bound)
        if lowest.is_exhausted:
            return StopReason.NODES
        lowest.close()
