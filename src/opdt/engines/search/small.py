"""Tables whose rows are looked at again and again: rules of one condition, two, three, …"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import kernels
from opdt.engines.search.deepen import Deepener
from opdt.engines.search.field import Field, Whole
from opdt.engines.search.jit import announce_compilation
from opdt.engines.search.polish import Candidate
from opdt.engines.search.rays import Plan
from opdt.engines.search.seeding import beam
from opdt.engines.search.threads import Task
from opdt.engines.search.workspace import Workspace

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

# Pairs × rows below which starting threads costs more than it saves.
WORTH_THREADS = 1_000_000
# Pairs of rays × rows below which a beam costs more than it saves.
WORTH_SEEDING = 300_000


class Sweep:
    """The search of one run on rows; `large.Scan` is its counterpart on cells."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.spaces: list[Workspace] = []  # one per thread, during a pass
        self._flags: dict[int, Whole] = {}
        self._orders: dict[int, NDArray[np.int32]] = {}

    def search(self, size: int) -> None:
        """Settle all rules of exactly `size` conditions."""
        if size == 1:
            announce_compilation(kernels.compress_all)
            self._singles()
            if self.run.switches.seeding and self.run.problem.structure.depth > 1:
                self._seed()
        else:
            self._pass(size)

    @property
    def nodes(self) -> int:
        """Nodes of the pass under way."""
        return sum(int(space.counters[kernels.NODES]) for space in self.spaces)

    # -- fields ------------------------------------------------------------------------------

    def flags(self, base: Field) -> Whole:
        """The switches of the kernels for one class."""
        if base.label not in self._flags:
            self._flags[base.label] = self._make_flags(base.gains)
        return self._flags[base.label]

    def _make_flags(self, gains: Whole) -> Whole:
        positive, other = gains[gains > 0], gains[gains <= 0]
        uniform = all(len(part) == 0 or part.min() == part.max() for part in (positive, other))
        return np.array(
            [
                not self.run.prepared.is_free,
                # rows of gain 0 count for coverage, and with row gains for precision
                self.run.problem.constraints.min_coverage == 0
                and (self.run.problem.is_vi or self.run.problem.constraints.min_precision == 0),
                self.run.switches.reduction,
                uniform and self.run.switches.bits,
                self.run.problem.constraints.bounds_rows,
                self.run.decide,
                self.run.switches.intervals,
            ],
            np.int64,
        )

    def root(self, base: Field, size: int) -> Field:
        """The field of one class, reduced to what rules of `size` conditions can still use."""
        order = self._orders.get(base.label)
        if order is None:
            order = np.argsort(base.gains <= 0, kind="stable").astype(np.int32)
            self._orders[base.label] = order
        floor = (
            self.run.best - self.run.scores.offset(size)
            if self.run.switches.reduction
            else kernels.NEG
        )
        return base.reduced(order, floor, self.flags(base), sort=True)

    # -- passes ------------------------------------------------------------------------------

    def _singles(self) -> None:
        """Rules of one condition."""
        for base in self.run.bases:
            flags = self.flags(base)
            root = self.root(base, 1)
            values = root.singles(flags, self.run.limits)[0]
            values += np.where(values > kernels.NEG, self.run.scores.offset(1), 0)
            for index in np.flatnonzero(values >= self.run.best):
                ray, value = int(root.rays[index]), int(values[index])
                if value >= self.run.best and self.run.prepared.fits((ray,)):
                    self.run.offer(value, base.label, (ray,))

    def _seed(self) -> None:
        """A beam of greedy rules for each class, where more than a blink of work follows."""
        n_rays = len(self.run.prepared.rays.rays)
        if n_rays * n_rays * self.run.problem.table.n_rows < WORTH_SEEDING:
            return
        for base in self.run.bases:
            beam(self.run, self.root(base, 2), self.flags(base))

    def pairs(
        self, field: Field, plan: Plan, prefix: tuple[int, ...], after: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Pairs of the field's rays behind index `after` that fit beside the prefix's rays."""
        index = np.arange(after + 1, len(field.rays))
        for ray in prefix:
            index = index[~self.run.prepared.clash[ray, field.rays[index]]]
        upper = np.triu_indices(len(index), 1)
        first, second = index[upper[0]], index[upper[1]]
        fits = plan.fitting(tuple(int(plan.types[ray]) for ray in prefix))
        one, two = field.rays[first], field.rays[second]
        good = ~self.run.prepared.clash[one, two] & fits[plan.types[one], plan.types[two]]
        return first[good].astype(np.int32), second[good].astype(np.int32)

    def _pass(self, size: int) -> None:
        """Settle all rules of exactly `size` conditions."""
        tasks: list[tuple[int, Task]] = []  # bound, task
        work = n_rays = n_rows = top = n_pairs = 0
        for base in self.run.bases:
            field, flags = self.root(base, size), self.flags(base)
            if len(field.rays) < 2 or field.mass + self.run.scores.offset(size) < self.run.best:
                continue
            n_rays, n_rows = max(n_rays, len(field.rays)), max(n_rows, field.n_rows)
            top = max(top, int(field.tops.max()))
            for plan in self.run.prepared.plans:
                if plan.depth < size:
                    continue
                made = list(
                    self._pair_tasks(field, flags, plan)
                    if size == 2
                    else self._ray_tasks(field, flags, plan, size)
                )
                tasks += [(bound, task) for bound, task, _ in made]
                n_pairs = max([n_pairs, *(count for _, _, count in made)])
                work += sum(count for _, _, count in made) * field.n_rows
        if tasks:
            announce_compilation(kernels.evaluate)
        quick = work < WORTH_THREADS and size == 2
        n_threads = 1 if quick else min(self.run.clock.budget.n_threads, max(1, len(tasks)))
        shape = (n_rays, n_rows, top, n_pairs, kernels.TABLE_CELLS)
        n_threads = self.run.affordable(Workspace.size(*shape), n_threads)
        self.spaces = [Workspace(*shape) for _ in range(n_threads)]
        self.run.run_open(
            tasks, n_threads, last=size == self.run.problem.structure.depth, inline=quick
        )
        for space in self.spaces:
            self.run.add_counts(space.counters)
        self.spaces = []

    def _pair_tasks(
        self, field: Field, flags: Whole, plan: Plan
    ) -> Iterator[tuple[int, Task, int]]:
        first, second = self.pairs(field, plan, (), -1)
        if not len(first):
            return
        n_threads = self.run.clock.budget.n_threads
        chunks = 1 if len(first) * field.n_rows < WORTH_THREADS else 4 * n_threads
        offset = self.run.scores.offset(2)
        rows = np.arange(field.n_rows, dtype=np.int32)
        for wanted in np.array_split(np.arange(len(first), dtype=np.int32), chunks):

            def task(slot: int, wanted: NDArray[np.int32] = wanted) -> None:
                space = self.spaces[slot]
                bounds = np.empty(len(first), np.int64)
                while True:
                    floor = self.run.best - offset if self.run.switches.reduction else kernels.NEG
                    ended = kernels.evaluate(
                        field.levels, rows, field.gains, field.weights, field.wrong, field.tops,
                        first, second, bounds, wanted, offset, floor, flags, self.run.limits,
                        self.run.control, space.counters, -1, space.records, *space.node,
                    )  # fmt: skip
                    self.take_records(slot, field, ())
                    if ended != kernels.FULL:
                        return
                    space.grow_records()

            yield field.mass + offset, task, len(wanted)

    def _ray_tasks(
        self, field: Field, flags: Whole, plan: Plan, size: int
    ) -> Iterator[tuple[int, Task, int]]:
        deepener = Deepener(self, field, flags, plan, size)
        for ray in range(len(field.rays)):
            count = deepener.n_pairs(ray)
            if count:
                gains = field.gains[field.levels[ray] > 0]
                bound = int(gains[gains > 0].sum()) + self.run.scores.offset(size)
                yield bound, deepener.task(ray), count

    def take_records(self, slot: int, field: Field, prefix: tuple[int, ...]) -> None:
        """Offer what a kernel has recorded, and empty its record."""
        space = self.spaces[slot]
        number = int(space.counters[kernels.RECORDS])
        for value, outer, p, q in space.records[:number].tolist():
            if value >= self.run.best:
                inner = (p, q) if outer < 0 else (outer, p, q)
                self.run.offer(
                    value, field.label, prefix + tuple(int(field.rays[r]) for r in inner)
                )
        space.counters[kernels.RECORDS] = 0

    # -- ties --------------------------------------------------------------------------------

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, hurry: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays, in their order, that gain the goal."""
        objective, chosen = self.run.problem.objective, list(rays)
        return Candidate(
            self.run.prepared.rays.levels[chosen],
            self.run.prepared.rays.tops[chosen],
            self.run.scores.gains(self.run.problem, label),
            objective.weights,
            objective.weights * objective.wrong(label),
            self.run.limits,
            self.run.problem.constraints.bounds_rows,
            self.run.scores.with_errors,
            self.run.expired,
        ).positions(goal, hurry=hurry)
