"""Every rule that is worth enough, not only the best.

Two steps. The search itself, with its best value held fast, finds all *sets of rays* on which
some rule reaches it (`Gather`): nothing that its bounds dismiss can. Then the positions on each
set are listed (`listing.Lister`). Both steps use a value that rises as soon as so many rules as
are wanted are known to be better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from opdt.engines.search import kernels
from opdt.engines.search.boxes import Box
from opdt.engines.search.blocks import Blocks, Order, Store
from opdt.engines.search.field import Whole
from opdt.engines.search.jit import announce_compilation
from opdt.engines.search.listing import Demand, Lister
from opdt.engines.search.listing_kernels import DEMANDS, list_pair
from opdt.engines.search.run import Prepared, Run, Switches
from opdt.engines.search.scan import Scan
from opdt.engines.search.scores import Scores
from opdt.engines.search.small import Sweep
from opdt.problem import CodedRule, Measure, Problem
from opdt.solution import Clock, StopReason

# Sets of rays that are gathered before their rules are listed, to see whether fewer will do.
MANY_SETS = 20_000
# Seconds that the rules of the sets found may take after a limit is reached.
GRACE = 0.1

Found = dict[tuple[int, tuple[int, ...]], int]  # class and rays → a value that they reach


class _Sweep(Sweep):
    """Rows are looked at again and again; every set of rays counts, not only the best."""

    def _make_flags(self, gains: Whole) -> Whole:
        flags = super()._make_flags(gains)
        # A condition may not be left out: then the rule would be one of another set.
        flags[kernels.FIRST] = 1
        flags[kernels.DECIDE] = kernels.ALL
        if self.run.best <= 0:  # then a cover without mass, or none at all, would do
            flags[kernels.MASS_ABOVE] = 0
        return flags


class Gather(Run):
    """All sets of rays with a rule of at least a value.

    Parameters
    ----------
    least : int
        The value, as `Scores` has it.
    most : int
        Sets after which the search ends; `overflowed` says that it did.
    """

    def __init__(
        self,
        problem: Problem,
        prepared: Prepared,
        clock: Clock,
        switches: Switches,
        *,
        least: int,
        most: int,
    ) -> None:
        super().__init__(problem, prepared, clock, replace(switches, seeding=False))
        self.control[kernels.BEST] = least
        self.found: Found = {}
        self.overflowed = False
        self._most = most

    @cached_property
    def method(self) -> Sweep | Scan:
        """How sets are found: on rows, or on cells."""
        return Scan(self) if self.is_large else _Sweep(self)

    def offer(
        self, value: int, label: int, rays: tuple[int, ...], hint: Box | None = None
    ) -> None:
        """Keep a set of rays that reaches the value."""
        key = label, tuple(sorted(rays))
        with self._lock:
            self.found[key] = max(value, self.found.get(key, value))
            if len(self.found) > self._most:
                self.overflowed = True
                self.halt()

    def note(self, *, hurry: bool) -> None:
        """Work out no rule: that is left to the listing."""


@dataclass(frozen=True, eq=False)
class Collected:
    """Rules in the documented order.

    Attributes
    ----------
    blocks : Blocks
        Sorted; with `by_rows` one for each set of rows, else all that hold a wanted rule.
    order : Order
    limit : int
        How many rules were wanted.
    stopped_by : StopReason
        `finished`, or the limit that was met; then rules may be missing anywhere.
    """

    blocks: Blocks
    order: Order
    limit: int
    stopped_by: StopReason

    @property
    def is_complete(self) -> bool:
        """Whether the first rules of the order are all here."""
        return self.stopped_by is StopReason.FINISHED

    def representatives(self) -> list[tuple[CodedRule, Measure]]:
        """The loosest rule of each block."""
        rays = self.order.rays
        out = []
        for at in range(len(self.blocks)):
            pairs = zip(self.blocks.rays[at].tolist(), self.blocks.low[at].tolist(), strict=True)
            conditions = tuple(rays.condition(ray, low) for ray, low in pairs if ray >= 0)
            rule = CodedRule(conditions, int(self.blocks.labels[at]))
            out.append((rule, self.blocks.measure(at)))
        return out

    def rules(self) -> list[tuple[CodedRule, int]]:
        """The first rules, at most `limit`, each with the place of its block."""
        return list(self.order.rules(self.blocks, self.limit))


class Collector:
    """Collects the rules of one problem; what does not depend on the gains is prepared once.

    Parameters
    ----------
    problem : Problem
    clock : Clock
        One for all that is collected; its progress callback is told of the search for the best.
    switches : Switches, optional
    prepared : Prepared, optional
        Of a problem with the same table, structure and constraints on features.
    """

    def __init__(
        self,
        problem: Problem,
        clock: Clock,
        switches: Switches | None = None,
        prepared: Prepared | None = None,
    ) -> None:
        self.problem, self.clock = problem, clock
        self.switches = switches or Switches()
        self.prepared = prepared or Prepared(problem)
        self.scores = Scores.of(problem)
        self.order = Order(self.prepared.rays)

    @cached_property
    def lowest(self) -> int:
        """The least gain of a rule worth telling, in units; without an empty rule, of any rule."""
        if self.problem.may_be_empty:
            return 1
        objective = self.problem.objective
        return min(int(np.minimum(objective.gains(c), 0).sum()) for c in objective.labels)

    @cached_property
    def best(self) -> Run:
        """The search for the best rule, done."""
        run = Run(self.problem, self.prepared, self.clock, self.switches)
        run.search()
        return run

    @property
    def silent(self) -> Clock:
        """The clock without the progress callback, whom values other than VI would confuse."""
        clock = copy(self.clock)
        clock.budget = replace(self.clock.budget, progress=None)
        return clock

    @property
    def winners(self) -> Found:
        """The sets of rays of the best rules."""
        return dict.fromkeys(self.best.winners, self.best.reached)

    def at_least(
        self, gain: int, limit: int, *, by_rows: bool, known: Found | None = None
    ) -> Collected:
        """The first rules of at least this gain, no more than `limit` of them.

        The best of `known` sets of rays is listed even if a limit on time is met before.
        """
        scores = self.scores

        def value(gain: int, size: int, errors: int) -> int:
            whole = gain * scores.scale + scores.offset(size)
            return whole - errors if scores.with_errors else whole

        store = Store(
            self.order,
            limit,
            by_rows=by_rows,
            least=scores.least_value(max(gain, self.lowest)),
            least_gain=max(gain, self.lowest),
            value=value,
        )
        values = {
            label: scores.gains(self.problem, label) for label in self.problem.objective.labels
        }
        lister = self.lister(values, scores.offset, store)
        return self.fill(self.problem, store, lister, known or {})

    def first(self, limit: int, *, by_rows: bool) -> Collected:
        """The first rules of the order, no more than `limit` of them."""
        if self.best.incumbent is None:
            return self.nothing(self.best.stopped_by)
        top = self.problem.measure(self.best.incumbent).gain
        step = max(1, abs(top) // 100)
        while True:
            found = self.at_least(top - step, limit, by_rows=by_rows, known=self.winners)
            number = len(found.blocks) if by_rows else int(found.blocks.counts.sum())
            if number >= limit or not found.is_complete or top - step <= self.lowest:
                return found
            step *= 4

    def nothing(self, stopped_by: StopReason | None) -> Collected:
        """No rule."""
        none = Blocks.none(self.problem.structure.depth, DEMANDS)
        return Collected(none, self.order, 0, stopped_by or StopReason.FINISHED)

    def lister(
        self,
        values: dict[int, Whole],
        offset: Callable[[int], int],
        store: Store,
        demands: Sequence[Demand] = (),
    ) -> Lister:
        """What lists the rules of this problem into a store, with these values of the rows."""
        rays = self.prepared.rays
        return Lister(self.problem, rays, values, offset, store, demands)

    def fill(self, searched: Problem, store: Store, lister: Lister, known: Found) -> Collected:
        """Gather sets of rays and list their rules, with a higher value where that is enough.

        `searched` is the problem whose values the store compares, `known` has some sets of rays.
        """
        most = max(MANY_SETS, 2 * store.limit)
        while True:
            least = store.least
            gather = Gather(
                searched, self.prepared, self.silent, self.switches, least=least, most=most
            )
            gather.search()
            late = self._list(known | gather.found, store, lister, known)
            stopped = gather.stopped_by or late
            if stopped is None and gather.overflowed:
                # Once more from the value that the rules so far justify, or with more room.
                store.settle()
                most = most if store.least > least else 4 * most
                store.clear()
                continue
            blocks = store.settle()
            if blocks is None:
                return self.nothing(stopped)
            return Collected(blocks, self.order, store.limit, stopped or StopReason.FINISHED)

    def _list(self, found: Found, store: Store, lister: Lister, known: Found) -> StopReason | None:
        """List the rules of the sets, most promising first; the limit that was met, if any.

        If the first set is a known one, no limit on time leaves it out: it holds the best rule.
        """
        announce_compilation(list_pair)
        try:
            for (label, rays), value in sorted(found.items(), key=lambda item: -item[1]):
                if value < store.least:
                    break
                lister.halted = self._cancelled if (label, rays) in known else self._expired
                known = {}
                lister.list(label, rays)
                if self._expired():
                    return self.clock.stop() or StopReason.TIME
        except KeyboardInterrupt:
            return StopReason.INTERRUPTED
        return None

    def _cancelled(self) -> bool:
        cancel = self.clock.budget.cancel
        return cancel is not None and cancel.is_set()

    def _expired(self) -> bool:
        """Whether the time for listing is over: a little after the limit."""
        return self._cancelled() or self.clock.remaining() < -GRACE
