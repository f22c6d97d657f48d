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
from numpy.typing import NDArray

from opdt.engines.jit import announce_compilation
from opdt.engines.search import kernels
from opdt.engines.search.blocks import Blocks, Order, Store
from opdt.engines.search.boxes import Box
from opdt.engines.search.field import Whole
from opdt.engines.search.listing import Lister
from opdt.engines.search.position_kernels import LIMITED, list_pair
from opdt.engines.search.rays import fill_levels
from opdt.engines.search.run import Prepared, Run
from opdt.engines.search.scan import Scan
from opdt.engines.search.scores import Scores
from opdt.engines.search.sweep import Sweep
from opdt.engines.search.table_rows import TableRows
from opdt.engines.search.tuning import Switches
from opdt.problem import CodedRule, Measure, Problem, RowLimit
from opdt.solution import Clock, StopReason

# Seconds that the rules of the sets found may take after a limit is reached.
GRACE = 0.1

Found = dict[tuple[int, tuple[int, ...]], int]  # class and rays → a value that they reach


class _Sweep(Sweep):
    """Rows are looked at again and again; every set of rays counts, not only the best."""

    def _make_flags(self, gains: Whole) -> kernels.Flags:
        # A condition may not be left out: then the rule would be one of another set. At 0 or
        # below, a cover without mass, or none at all, would do.
        flags = super()._make_flags(gains)._replace(first=True, decide=kernels.ALL)
        return flags if self.run.best > 0 else flags._replace(mass_above=False)


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
        self._most_sets = most

    @cached_property
    def method(self) -> Sweep | Scan:
        """How sets are found: on rows, or on cells."""
        return TableRows(self).scan if self.is_large else _Sweep(self)

    def offer(self, value: int, label: int, rays: tuple[int, ...], hint: Box | None = None) -> None:
        """Keep a set of rays that reaches the value."""
        key = label, tuple(sorted(rays))
        with self._lock:
            self.found[key] = max(value, self.found.get(key, value))
            if len(self.found) > self._most_sets:
                self.overflowed = True
                self.halt()

    def note(self, *, quick: bool) -> None:
        """Work out no rule: that is left to the listing."""


@dataclass(frozen=True, eq=False)
class RuleListing:
    """Rules in the documented order, in *blocks*: the rules of a block cover the same rows.

    Attributes
    ----------
    blocks : Blocks
        Sorted; with `by_rows` one for each set of rows, else all that hold a wanted rule.
    order : Order
    limit : int
        How many rules were wanted.
    least_gain : int
        The gain in units that was asked for; without a minimum coverage at least 1.
    stopped_by : StopReason
        `finished`, or the limit that was met; then rules may be missing anywhere.
    """

    blocks: Blocks
    order: Order
    limit: int
    least_gain: int
    stopped_by: StopReason

    @property
    def is_complete(self) -> bool:
        """Whether the first rules of the order are all here."""
        return self.stopped_by is StopReason.FINISHED

    @property
    def sizes(self) -> Whole:
        """The number of conditions of the rules of each block, shape (n_blocks,)."""
        return self.blocks.sizes

    def __len__(self) -> int:
        """The number of blocks."""
        return len(self.blocks)

    @property
    def n_rules(self) -> int:
        """How many rules are listed, at most `limit`."""
        return min(self.limit, int(self.blocks.counts.sum()))

    def gain_of(self, place: int) -> int:
        """The gain of the rule at a place of the order, from 0."""
        at = np.searchsorted(np.cumsum(self.blocks.counts), place, side="right")
        return self.measure(int(at)).gain

    def rule(self, at: int) -> CodedRule:
        """The loosest rule of a block."""
        rays = self.order.rays
        pairs = zip(self.blocks.rays[at].tolist(), self.blocks.low[at].tolist(), strict=True)
        conditions = tuple(rays.condition(ray, low) for ray, low in pairs if ray >= 0)
        return CodedRule(conditions, int(self.blocks.labels[at]))

    def measure(self, at: int) -> Measure:
        """Gain, covered rows and errors of the rules of a block."""
        return self.blocks.measure(at)

    def pattern(self, at: int) -> tuple[int, ...]:
        """What two blocks share exactly if their class and their rows are the same."""
        return self.blocks.pattern(at)

    def representatives(self) -> list[tuple[CodedRule, Measure]]:
        """The loosest rule of each block."""
        return [(self.rule(at), self.measure(at)) for at in range(len(self))]

    def rules(self) -> list[tuple[CodedRule, int]]:
        """The first rules, at most `limit`, each with the place of its block."""
        return list(self.order.rules(self.blocks, self.limit))

    def covers(self, start: int, stop: int) -> NDArray[np.bool_]:
        """The rows that some blocks cover, shape (n, n_rows)."""
        levels, places = self._levels
        low = self.blocks.low[start:stop]
        covers = np.ones((len(low), levels.shape[1]), dtype=bool)
        for place, at_least in zip(places[start:stop].T, low.T, strict=True):
            covers &= levels[place] >= at_least[:, None]
        return covers

    @cached_property
    def _levels(self) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """The rows' levels on all rays that are used, and where each block's rays are among them.

        A missing ray counts as one on which every row has the level 0.
        """
        rays = self.order.rays
        used, places = np.unique(self.blocks.rays, return_inverse=True)  # -1, no ray, comes first
        levels = np.zeros((len(used), len(rays.columns[0].codes)), dtype=np.int32)
        for index, out in zip(used.tolist(), levels, strict=True):
            if index >= 0:
                ray = rays.rays[index]
                fill_levels(out, ray, rays.columns[ray.feature].codes, rays.n_values(ray))
        return levels, places.reshape(self.blocks.rays.shape)


class Collector:
    """Collects the rules of one problem.

    Parameters
    ----------
    problem : Problem
    prepared : Prepared
        Of a problem with the same table, structure and constraints on features.
    order : Order
        Of the prepared rays.
    clock : Clock
        One for all that is collected; its progress callback is told of the search for the best.
    switches : Switches
    """

    def __init__(
        self, problem: Problem, prepared: Prepared, order: Order, clock: Clock, switches: Switches
    ) -> None:
        self.problem, self.prepared, self.order = problem, prepared, order
        self.clock, self.switches = clock, switches
        self.scores = Scores.of(problem)

    @cached_property
    def lowest(self) -> int:
        """The least gain of a rule worth telling, in units; without an empty rule, of any rule."""
        if self.problem.may_be_empty:
            return 1
        objective = self.problem.objective
        return min(int(np.minimum(objective.gains(c), 0).sum()) for c in objective.labels)

    @property
    def silent(self) -> Clock:
        """The clock without the progress callback, whom values other than VI would confuse."""
        clock = copy(self.clock)
        clock.budget = replace(self.clock.budget, progress=None)
        return clock

    def at_least(
        self, gain: int, limit: int, *, by_rows: bool, known: CodedRule | None = None
    ) -> RuleListing:
        """The first rules of at least this gain, no more than `limit` of them.

        A `known` rule is among them even if a limit on time is met before it is found.
        """
        scores, gain = self.scores, max(gain, self.lowest)

        def value(gain: int, size: int, errors: int) -> int:
            whole = gain * scores.scale + scores.offset(size)
            return whole - errors if scores.with_errors else whole

        store = Store(
            self.order,
            limit,
            by_rows=by_rows,
            least=scores.least_value(gain),
            least_gain=gain,
            value=value,
            room=self.switches.tuning.kept_blocks,
        )
        values = {
            label: scores.gains(self.problem, label) for label in self.problem.objective.labels
        }
        lister = self.lister(values, scores.offset, store)
        return self.fill(self.problem, store, lister, known)

    def first(self, limit: int, *, by_rows: bool) -> RuleListing:
        """The first rules of the order, no more than `limit` of them."""
        best = Run(self.problem, self.prepared, self.clock, self.switches)
        best.search()
        if best.incumbent is None:
            return self.nothing(best.stopped_by)
        ranked = best.incumbent, self.problem.measure(best.incumbent)
        return list_downwards(self.at_least, ranked, self.lowest, limit, by_rows=by_rows)

    def of(self, problem: Problem) -> Collector:
        """The same for other gains."""
        return Collector(problem, self.prepared, self.order, self.clock, self.switches)

    def nothing(self, stopped_by: StopReason | None) -> RuleListing:
        """No rule."""
        none = Blocks.none(self.problem.structure.depth, LIMITED)
        return RuleListing(none, self.order, 0, self.lowest, stopped_by or StopReason.FINISHED)

    def lister(
        self,
        values: dict[int, Whole],
        offset: Callable[[int], int],
        store: Store,
        row_limits: Sequence[RowLimit] | None = None,
    ) -> Lister:
        """What lists the rules of this problem into a store, with these values of the rows."""
        rays = self.prepared.rays
        return Lister(
            self.problem, rays, values, offset, store, self._expired, self.switches.tuning,
            row_limits,
        )  # fmt: skip

    def fill(
        self, searched: Problem, store: Store, lister: Lister, known: CodedRule | None = None
    ) -> RuleListing:
        """Gather sets of rays and list their rules, with a higher value where that is enough.

        `searched` is the problem whose values the store compares.
        """
        most, asked = max(self.switches.tuning.many_sets, 2 * store.limit), store.least_gain
        while True:
            least = store.least
            gather = Gather(
                searched, self.prepared, self.silent, self.switches, least=least, most=most
            )
            gather.search()
            late = self._list(gather.found, store, lister)
            stopped = gather.stopped_by or late
            if stopped is None and gather.overflowed:
                # Once more from the value that the rules so far justify, or with more room.
                store.settle()
                most = most if store.least > least else 4 * most
                store.clear()
                continue
            blocks = store.settle()
            if stopped is not None and known is not None:
                own = lister.block(known)
                if blocks is None or not blocks.hold(own):
                    store.add(own)
                    blocks = store.settle()
            if blocks is None:
                return self.nothing(stopped)
            return RuleListing(
                blocks, self.order, store.limit, asked, stopped or StopReason.FINISHED
            )

    def _list(self, found: Found, store: Store, lister: Lister) -> StopReason | None:
        """List the rules of the sets, most promising first; the limit that was met, if any."""
        announce_compilation(list_pair)
        try:
            for (label, rays), value in sorted(found.items(), key=lambda item: -item[1]):
                if value < store.least:
                    break
                if lister.halted():
                    return self._reason()
                lister.list(label, rays)
            return self._reason() if lister.is_cut else None
        except KeyboardInterrupt:
            return StopReason.INTERRUPTED

    def _reason(self) -> StopReason:
        return self.clock.stop() or StopReason.TIME

    def _expired(self) -> bool:
        """Whether the time for listing is over: a little after the limit."""
        cancel = self.clock.budget.cancel
        return (cancel is not None and cancel.is_set()) or self.clock.remaining() < -GRACE


def list_downwards(
    at_least: Callable[..., RuleListing],
    best: tuple[CodedRule, Measure],
    lowest: int,
    limit: int,
    *,
    by_rows: bool,
) -> RuleListing:
    """The first rules of the order: all that are nearly as good as the best, then all less good.

    `at_least` is that of a `Collector`; no rule is worth telling below `lowest`.
    """
    rule, measure = best
    step = max(1, abs(measure.gain) // 100)
    while True:
        least = measure.gain - step
        found = at_least(least, limit, by_rows=by_rows, known=rule)
        number = len(found) if by_rows else found.n_rules
        if number >= limit or not found.is_complete or least <= lowest:
            return found
        step *= 4
