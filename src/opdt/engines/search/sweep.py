"""Tables whose rows are looked at again and again: rules of one condition, two, three, …"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from opdt.engines.jit import announce_compilation
from opdt.engines.search import kernels
from opdt.engines.search.agenda import Agenda, Work
from opdt.engines.search.deepen import Deepener, kinds_of, pairs_between, settle_alone
from opdt.engines.search.field import Field, Whole
from opdt.engines.search.kernels import Flags, Kinds, Pairs, Search, Space
from opdt.engines.search.positions import PositionSearch
from opdt.engines.search.pricing import Price, find_prices
from opdt.engines.search.seeding import beam
from opdt.engines.search.workspace import MOST_ITEMS, Workspace

if TYPE_CHECKING:
    from opdt.engines.search.run import Run


@dataclass(frozen=True, eq=False)
class Part:
    """The rules of one class and size that are to be settled."""

    field: Field
    flags: Flags
    offset: int  # makes values of gains
    goal_offset: int  # the same for bounds of gains, which may hold prices

    @property
    def bound(self) -> int:
        """A value that no rule exceeds."""
        return self.field.mass + self.goal_offset


class Sweep:
    """The search of one run on rows; `scan.Scan` is its counterpart on cells."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.spaces: list[Workspace] = []  # one per thread, during a pass
        self._flags: dict[int, Flags] = {}
        self._prices: dict[int, Price | None] = {}

    def search(self, size: int) -> None:
        """Settle all rules of exactly `size` conditions."""
        if size == 1:
            announce_compilation(kernels.compress_all)
            self._singles()
            if self.run.switches.seeding and self.run.problem.structure.depth > 1:
                self._seed()
        else:
            self._pass(size)

    def look(self) -> None:
        """Offer the best rules of one condition, and greedy ones."""
        self.search(1)

    @property
    def nodes(self) -> int:
        """Nodes of the pass under way."""
        return sum(int(space.counters[kernels.NODES]) for space in self.spaces)

    # -- fields ------------------------------------------------------------------------------

    def flags(self, base: Field) -> Flags:
        """The switches of the kernels for one class."""
        if base.label not in self._flags:
            self._flags[base.label] = self._make_flags(base.gains)
        return self._flags[base.label]

    def _make_flags(self, gains: Whole) -> Flags:
        positive, other = gains[gains > 0], gains[gains <= 0]
        uniform = all(len(part) == 0 or part.min() == part.max() for part in (positive, other))
        run, constraints = self.run, self.run.problem.constraints
        return Flags(
            first=not run.prepared.is_free,
            # rows of gain 0 count for coverage, and with row gains for precision
            mass_above=constraints.min_coverage == 0
            and (run.problem.is_vi or constraints.min_precision == 0),
            reduce=run.switches.reduction,
            uniform=bool(uniform and run.switches.bits),
            constrained=constraints.bounds_rows,
            priced=False,
            decide=int(run.decide),
            intervals=run.switches.intervals,
            exclusion=run.switches.exclusion,
        )

    def root(self, base: Field, size: int) -> Field:
        """The field of one class, reduced to what rules of `size` conditions can still use."""
        return self._root(base, self.flags(base), self.run.scores.offset(size))

    def _root(self, base: Field, flags: Flags, goal_offset: int) -> Field:
        order = np.argsort(-base.gains, kind="stable").astype(np.int32)
        floor = self.run.best - goal_offset if flags.reduce else kernels.NEG
        return base.reduced(order, floor, flags, sort=True)

    def part(self, base: Field, size: int) -> Part:
        """What there is to settle of one class, with limits on rows priced."""
        offset, price = self.run.scores.offset(size), self._price(base)
        if price is None:
            flags = self.flags(base)
            return Part(self._root(base, flags, offset), flags, offset, offset)
        priced = base.priced(price.added)
        flags = self._make_flags(priced.gains)._replace(priced=True)
        goal_offset = offset - price.allowance
        return Part(self._root(priced, flags, goal_offset), flags, offset, goal_offset)

    def _price(self, base: Field) -> Price | None:
        run = self.run
        if not (run.problem.constraints.bounds_rows and run.switches.prices):
            return None
        if base.label not in self._prices:
            prices = find_prices(
                base, self.flags(base), run.limits, run.problem.structure.depth, run.halted
            )
            self._prices[base.label] = prices and Price.of(base, run.limits, prices)
        return self._prices[base.label]

    # -- passes ------------------------------------------------------------------------------

    def _singles(self) -> None:
        """Rules of one condition."""
        for base in self.run.bases:
            root = self.root(base, 1)
            values = root.singles(self.flags(base), self.run.limits)[0]
            values += np.where(values > kernels.NEG, self.run.scores.offset(1), 0)
            for index in np.flatnonzero(values >= self.run.best):
                ray, value = int(root.rays[index]), int(values[index])
                if value >= self.run.best and self.run.prepared.fits((ray,)):
                    self.run.offer(value, base.label, (ray,))

    def _seed(self) -> None:
        """A beam of greedy rules for each class, where more than a blink of work follows."""
        n_rays = len(self.run.prepared.rays.rays)
        if n_rays * n_rays * self.run.problem.table.n_rows < self.run.switches.tuning.worth_seeding:
            return
        for base in self.run.bases:
            beam(self.run, self.root(base, 2), self.flags(base))

    def _pass(self, size: int) -> None:
        """Settle all rules of exactly `size` conditions."""
        run = self.run
        tasks: list[tuple[int, Work]] = []  # bound, task
        work = n_rays = n_rows = top = 0
        for base in run.bases:
            part = self.part(base, size)
            field, many = part.field, len(part.field.rays)
            if many < size or part.bound < run.best:
                continue
            n_rays, n_rows = max(n_rays, many), max(n_rows, field.n_rows)
            top = max(top, int(field.tops.max()))
            work += many * (many - 1) // 2 * field.n_rows
            for plan in run.prepared.plans:
                if plan.depth >= size:
                    kinds = kinds_of(run, field.rays, plan, size)
                    tasks += (
                        self._pair_tasks(part, kinds)
                        if size == 2
                        else Deepener(self, part, kinds, size).tasks()
                    )
        if tasks:
            announce_compilation(kernels.evaluate)
        quick = work < run.switches.tuning.worth_threads and size == 2
        n_threads = 1 if quick else min(run.clock.budget.n_threads, max(1, len(tasks)))
        n_pairs = min(MOST_ITEMS, n_rays * (n_rays - 1) // 2)
        n_triples = min(MOST_ITEMS, n_rays * (n_rays - 1) * (n_rays - 2) // 6) if size > 3 else 0
        room = Workspace.size(n_rays, n_rows, top, n_pairs, n_triples)
        n_threads = run.affordable(room, n_threads)
        self.spaces = [
            Workspace(n_rays, n_rows, top, size, n_pairs, n_triples) for _ in range(n_threads)
        ]
        agenda = Agenda()
        for bound, task in tasks:
            agenda.add(bound, task)
        run.work(agenda, n_threads, last=size == run.problem.structure.depth, inline=quick)
        for space in self.spaces:
            run.add_counts(space.counters)
        self.spaces = []

    def _pair_tasks(self, part: Part, kinds: Kinds) -> Iterator[tuple[int, Work]]:
        """Pairs of rays, dealt out by their first rays."""
        n = len(part.field.rays)
        behind = np.arange(n - 1, -1, -1, dtype=np.int64).cumsum()  # pairs up to each first ray
        worth = int(behind[-1]) * part.field.n_rows >= self.run.switches.tuning.worth_threads
        chunks = 4 * self.run.clock.budget.n_threads if worth else 1
        cuts = np.searchsorted(behind, behind[-1] * np.arange(1, chunks) // chunks) + 1
        for begin, end in pairwise([0, *cuts.tolist(), n]):

            def task(slot: int, begin: int = begin, end: int = end) -> None:
                first, second = pairs_between(kinds, begin, end)
                for at in range(0, len(first), MOST_ITEMS):
                    pairs = Pairs(first[at : at + MOST_ITEMS], second[at : at + MOST_ITEMS])
                    self.call(partial(settle_alone, part.field.node, pairs), part, part.field, slot)

            if begin < end:
                yield part.bound, task

    def call(
        self, settle: Callable[[Search, Space], int], part: Part, field: Field, slot: int
    ) -> None:
        """Call a kernel that records sets, again with more room where they did not fit."""
        place, run = self.spaces[slot], self.run
        ended = kernels.FULL
        while ended == kernels.FULL:
            search = Search(
                part.offset, part.goal_offset, part.flags, run.limits, run.control,
                place.counters, place.chosen, place.records,
            )  # fmt: skip
            ended = settle(search, place.space)
            self.take_records(slot, field)
            if ended == kernels.FULL:
                place.grow_records()

    def take_records(self, slot: int, field: Field) -> None:
        """Offer what a kernel has recorded, and empty its record."""
        place = self.spaces[slot]
        number = int(place.counters[kernels.RECORDS])
        for value, *rays in place.records[:number].tolist():
            if value >= self.run.best:
                self.run.offer(value, field.label, tuple(field.rays[rays].tolist()))
        place.counters[kernels.RECORDS] = 0

    # -- ties --------------------------------------------------------------------------------

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, quick: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays, in their order, that gain the goal."""
        run, chosen = self.run, list(rays)
        objective, every = run.problem.objective, run.prepared.rays
        asked = PositionSearch.gaining(
            goal, every.levels[chosen], every.tops[chosen],
            (
                run.scores.gains(run.problem, label),
                objective.weights,
                objective.weights * objective.wrong(label),
            ),
            run.limits, run.expired, run.switches.tuning, self._prices.get(label),
            limited=run.problem.constraints.bounds_rows or not run.scores.with_errors,
        )  # fmt: skip
        exact = run.scores.with_errors or quick
        return asked.first(quick=quick) if exact else asked.with_fewest_errors()
