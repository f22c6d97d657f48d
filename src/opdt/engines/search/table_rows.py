"""Rows in memory: counted and opened at once, on every thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.jit import announce_compilation
from opdt.engines.search import intervals
from opdt.engines.search import scan_kernels as kernels
from opdt.engines.search.agenda import Agenda, Entry, Stream, Work
from opdt.engines.search.grid import Axis
from opdt.engines.search.records import Task
from opdt.engines.search.rows import Count, Layer, Open, Rows, Step
from opdt.engines.search.scan import Scan
from opdt.engines.search.scan_kernels import About, Counted, ScanScratch
from opdt.engines.search.seeding import sample_rules
from opdt.engines.search.strip_kernels import N_WAYS
from opdt.engines.search.strips import Strips
from opdt.engines.search.table_boxes import TableBoxes
from opdt.engines.search.table_layers import TableLayer, TableLayers
from opdt.engines.search.wide import Wide
from opdt.engines.search.worth import Worth
from opdt.rules import Op

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Whole = NDArray[np.int64]

# Evenly filled bins of an axis where an interval stands for two axes.
QUICK = {2: 16, 3: 8, 4: 5, 5: 4}  # a first, coarser step where bounding costs more than counting
LOOK = 100_000_000  # steps of a look for a good rule, at most
TOGETHER = 16  # axes whose intervals are settled by one piece of work


class Alive:
    """Sets of axes that may hold a better rule: their bounds, and the ways to use them."""

    def __init__(self) -> None:
        self.bounds: dict[tuple[int, ...], int] = {}
        self.ways: dict[tuple[int, ...], int] = {}

    def add(self, axes: tuple[int, ...], bound: int, way: int) -> None:
        """Add one way to use a set of axes."""
        self.bounds[axes] = max(self.bounds.get(axes, bound), bound)
        self.ways[axes] = self.ways.get(axes, 0) | way


class TableRows(Rows):
    """The rows of a table in memory."""

    def __init__(self, run: Run) -> None:
        self.run, self._tuning = run, run.switches.tuning
        self.n_rows = run.problem.table.n_rows
        self.rays = run.prepared.rays
        self.scan = Scan(run, self)
        self._worth = Worth(run)
        self.layers = TableLayers(run)
        self._boxes = TableBoxes(run, self._worth)
        self._scratch: dict[tuple[int, int], tuple[ScanScratch, Whole]] = {}
        self._making = threading.Lock()
        self._wides: dict[int, Wide] = {}
        self._strips: dict[int, Strips | None] = {}

    @property
    def tasks(self) -> list[Task]:
        """What rows are worth."""
        return self._worth.tasks

    def layer(self, step: Step) -> TableLayer:
        """The axes in the bins of a step."""
        return self.layers.of(step)

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, quick: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays, in their order, that gain the goal."""
        return self._boxes.locate(label, rays, goal, quick=quick)

    def begin(self) -> None:
        """Say that kernels are compiled, if they are."""
        announce_compilation(kernels.scan_sets)

    def seed(self) -> None:
        """Start from the best rules of a sample, unless there is a rule or are very many axes."""
        if self._n_axes < self._tuning.wide and self.run.incumbent is None:
            sample_rules(self.run)

    def ladder(self, size: int) -> tuple[int, ...]:
        """Bins of an axis; coarser ones first where bounding costs more than counting."""
        ladder = self._tuning.ladder[size - 1]
        if size in QUICK and self.n_rows < 4 * ladder[0] ** size:
            ladder = (QUICK[size], *ladder)
        return ladder

    def perform(self, agenda: Agenda, slot: int, entries: list[Entry]) -> None:
        """Do an entry: the next of a stream, a count, a box, or any other piece of work."""
        (entry,) = entries
        if isinstance(entry, Stream):
            following = entry.next()
            if following is None:
                return
            agenda.add(entry.bound, entry)
            entry = following
        if isinstance(entry, Count):
            self._count(agenda, slot, entry)
        elif isinstance(entry, Open):
            self._boxes.open(agenda, entry)
        else:
            entry(slot)

    def look(self) -> None:
        """Offer the best rules exactly between coarse bins, where that is quick."""
        run, spent = self.run, 0
        for step in self.scan.first_steps():
            each = self.scan.cost(step)
            axes = self.layer(step).axes
            for sets in self.scan.sets.batches(axes, step.size, max(1, LOOK // (8 * each))):
                spent += len(sets) * each
                run.watch()
                if spent > LOOK or run.halted():
                    return
                self.count_now(None, step, sets)

    def counts(self, agenda: Agenda, step: Step) -> Iterator[Entry]:
        """All sets of axes of a step: as bits, as intervals, and the others to be counted."""
        size, task = step.size, step.task
        layer = self.layer(step)
        skipped = None
        if size <= 2 and Wide.pays(self, task, len(layer.axes)):
            wide = self._wide(step, layer)
            if size == 1:
                skipped = wide.settle_singles()
            else:
                skipped = wide.eligible
                yield from wide.works(agenda, step)
        settled = np.zeros(len(layer.axes), bool)
        if size == 2:
            settled = intervals.are_settled(self.run, layer.axes)
            axes = [layer.axes[a] for a in np.flatnonzero(settled)]
            for label in task.groups.labels.tolist():
                for start in range(0, len(axes), TOGETHER):
                    yield self._settle_intervals(label, axes[start : start + TOGETHER])
        number = max(1, self._tuning.batch // self.scan.cost(step))
        for sets in self.scan.sets.batches(layer.axes, size, number, skipped):
            if size == 2:
                sets = sets[(sets[:, 0] != sets[:, 1]) | ~settled[sets[:, 0]]]
            plain, spanned = self._split(layer, sets)
            if len(plain):
                yield Count(step, plain, np.full(len(plain), kernels.ALL_WAYS))
            if len(spanned):
                spans = step._replace(ladder=self._tuning.intervals[size - 1], even=True)
                yield self._filter(agenda, spans, spanned)

    def _settle_intervals(self, label: int, axes: list[Axis]) -> Work:
        """Find the best interval of some axes for one label."""

        def work(slot: int) -> None:
            gains = self._worth.gains(label)[0]
            most = int(gains[gains > 0].sum()) + self.run.scores.offset(2)
            for axis in axes:
                if most >= self.run.best and not self.run.halted():
                    intervals.settle(self.run, axis, label, gains)
            self.run.add_counts(np.array([0, len(axes), 0, 0]))

        return work

    def _split(self, layer: TableLayer, sets: Whole) -> tuple[Whole, Whole]:
        """Sets of axes, and those with an interval: its axis first, and only once."""
        if sets.shape[1] < 3 or not self.run.switches.spans:
            return sets, sets[:0]
        ordered = np.array([axis.edges is not None and not axis.singles for axis in layer.axes])
        twice = (sets[:, 1:] == sets[:, :-1]) & ordered[sets[:, 1:]]
        found = twice.any(axis=1)
        own, where = sets[found], twice[found].argmax(axis=1)[:, None]
        at = np.arange(sets.shape[1])
        once = own[at != where + 1].reshape(len(own), sets.shape[1] - 1)
        order = np.argsort(at[:-1] != where, axis=1, kind="stable")
        return np.ascontiguousarray(sets[~found]), np.take_along_axis(once, order, axis=1)

    def _filter(self, agenda: Agenda, step: Step, sets: Whole) -> Work:
        """Bound sets with an interval on their first axis, in finer and finer bins.

        Those that may still gain enough are counted with two rays in place of the interval.
        """

        def work(slot: int) -> None:
            run, scan, task, size = self.run, self.scan, step.task, step.size
            layer = self.layer(step)
            self.layers.fill(layer, sets)
            space = self._space(slot, layer, sets, size - 1)
            if space is None:
                return
            need = scan.need(task, size)
            records = np.empty((len(sets), kernels.HEAD), np.int64)
            ended = kernels.scan_sets(
                self._about(layer, step), sets, np.full(len(sets), kernels.ALL_WAYS), 1,
                Counted.none(), run.control, space[0], records, np.zeros(2, np.int64),
            )  # fmt: skip
            if ended == kernels.STOPPED:
                return
            alive = records[:, kernels.BOUND] >= need
            run.add_counts(np.array([0, len(sets), int((~alive).sum()), 0]))
            left, gains = sets[alive], records[alive, kernels.BOUND]
            if len(step.ladder) > 1:
                bounds = [task.most(gain) + run.scores.offset(size) for gain in gains.tolist()]
                self._put(
                    agenda, step.finer, np.array(bounds, np.int64), size - 1,
                    lambda step, own: self._filter(agenda, step, left[own]),
                )  # fmt: skip
                return
            plain = np.sort(np.column_stack([left[:, 0], left]), axis=1)
            finest = step._replace(ladder=self._tuning.ladder[size - 1][-1:], even=False)
            self.count_later(agenda, finest, plain, gains)

        return work

    def _wide(self, step: Step, layer: TableLayer) -> Wide:
        """The pairs of axes that can be kept as bits."""
        with self._making:
            if step.at not in self._wides:
                self._wides[step.at] = Wide(self, step.task, layer)
            return self._wides[step.at]

    def count_now(self, agenda: Agenda | None, step: Step, sets: Whole) -> None:
        """Count some sets of axes at once; what is left of them goes on the agenda, if any."""
        if len(sets):
            sets = np.ascontiguousarray(np.unique(sets, axis=0))
            ways = np.full(len(sets), kernels.ALL_WAYS)
            self._count(agenda, threading.get_ident(), Count(step, sets, ways))

    def count_later(self, agenda: Agenda, step: Step, sets: Whole, gains: Whole) -> None:
        """Put some sets of axes on the agenda with bounds on their gains."""
        alive = Alive()
        offset = self.run.scores.offset(step.size)
        for chosen, gain in zip(map(tuple, sets.tolist()), gains.tolist(), strict=True):
            alive.add(chosen, step.task.most(gain) + offset, kernels.ALL_WAYS)
        self._go_on(agenda, step, alive)

    @cached_property
    def _weight(self) -> int:
        """An upper bound on the weight, or on the gains, of any rows together."""
        return max(
            int(task.groups.weights.sum()) if task.groups.weights.size else len(task.order)
            for task in self.tasks
        )

    @cached_property
    def _n_axes(self) -> int:
        return len({ray.feature for ray in self.rays.rays})

    def _about(self, layer: TableLayer, step: Step) -> About:
        """What is asked of the axes of a layer now."""
        rules, asked = self.scan.sets.rules(step.size), self.scan.asked(step.task, step.size)
        return About(layer.grid, layer.alone, step.task.groups, layer.channels, rules, asked)

    def _way(self, rays: tuple[int, ...]) -> int:
        """How some rays use their axes, as `next_rays` takes it."""
        at = 0
        for d, ray in enumerate(rays):
            op = self.rays.rays[ray].op
            if not op.is_threshold or d >= len(kernels.DOWNWARDS):
                return kernels.ALL_WAYS
            at |= (kernels.DOWN if op is Op.LT else kernels.UP) << d
        return 1 << at if at < 63 else kernels.ALL_WAYS

    def _count(self, agenda: Agenda | None, slot: int, count: Count) -> None:
        """Count some sets of axes; what is left of them goes on the agenda, if any."""
        step, sets, ways = count
        run, scan, size = self.run, self.scan, step.size
        layer = self.layer(step)
        self.layers.fill(layer, sets)
        space = self._space(slot, layer, sets, size)
        if space is None:
            return
        scratch, records = space
        state = np.zeros(2, np.int64)
        alive = Alive()
        while not run.halted():
            begun = int(state[0])
            ended = kernels.scan_sets(
                self._about(layer, step), sets, ways, 0, Counted.none(), run.control, scratch,
                records, state,
            )  # fmt: skip
            for record, bound in scan.take(layer, step, records[: state[1]]):
                if agenda is not None:
                    self._keep(agenda, layer, step, record, bound, alive)
            state[1] = 0
            run.add_counts(np.array([0, int(state[0]) - begun, 0, 0]))
            if ended != kernels.FULL:
                break
            if int(state[0]) == begun:
                records = np.empty((4 * len(records), records.shape[1]), np.int64)
                self._scratch[slot, size] = (scratch, records)
        if agenda is not None:
            if len(step.ladder) > 1:
                run.add_counts(np.array([0, 0, int(state[0]) - len(alive.bounds), 0]))
            self._go_on(agenda, step.finer, alive)

    def _keep(
        self, agenda: Agenda, layer: Layer, step: Step, record: list[int], bound: int, alive: Alive
    ) -> None:
        """Keep what a record stands for: to be counted in finer bins, or the box of its cells."""
        size, positions = step.size, layer.positions
        if len(step.ladder) > 1:
            rays = tuple(record[kernels.HEAD : kernels.HEAD + size])
            axes = tuple(positions.axis_of[ray] for ray in rays)
            alive.add(axes, bound, self._way(rays))
            return
        box = positions.box(record, size, bound - self.run.scores.offset(size))
        if box is not None:
            agenda.add(bound, Open(box, None))

    def _go_on(self, agenda: Agenda, step: Step, alive: Alive) -> None:
        """Put the sets that are left on the agenda, to be counted in the bins of a step."""
        if not alive.bounds:
            return
        sets = np.array(list(alive.bounds), np.int64)
        bounds = np.array(list(alive.bounds.values()))
        ways = np.array(list(alive.ways.values()), np.int64)
        strips = self._strips_of(step)
        told = np.zeros(len(sets), bool)
        if strips is not None:
            told = strips.ordered[sets].all(axis=1) & (sets[:, 0] != sets[:, 1])
            own, asked = sets[told], ways[told] & ((1 << N_WAYS) - 1)
            self._put(
                agenda, step, bounds[told], step.size,
                lambda step, at: self._narrow(agenda, step, strips, own[at], asked[at]),
            )  # fmt: skip
        left, free = sets[~told], ways[~told]
        self._put(
            agenda, step, bounds[~told], step.size,
            lambda step, at: Count(step, left[at], free[at]),
        )  # fmt: skip

    def _strips_of(self, step: Step) -> Strips | None:
        """What bounds two ordered rays before they are counted in the finest bins, if anything."""
        one_label, last = len(step.task.groups.labels) == 1, len(step.ladder) == 1
        if not (self.run.switches.strips and one_label and last and step.size == 2):
            return None
        with self._making:
            if step.at not in self._strips:
                axes = self.layer(step).axes
                fits = self.run.clock.fits(Strips.n_bytes(len(axes), self.n_rows))
                made = Strips(self.run, self._worth, step.task, axes) if fits else None
                self._strips[step.at] = made
            return self._strips[step.at]

    def _narrow(self, agenda: Agenda, step: Step, strips: Strips, sets: Whole, ways: Whole) -> Work:
        """Bound sets of two ordered axes, and count the ways to use them that are left."""

        def work(slot: int) -> None:
            bounds = strips.bounds(sets)
            if bounds is None:
                return
            asked = (ways[:, None] >> np.arange(N_WAYS)) & 1
            alive = (bounds >= self.run.best) & (asked == 1)
            left = np.flatnonzero(alive.any(axis=1))
            self.run.add_counts(np.array([0, len(sets), len(sets) - len(left), 0]))
            most = np.where(alive, bounds, kernels.NEG).max(axis=1)[left]
            kept = (alive[left] << np.arange(N_WAYS)).sum(axis=1)
            self._put(
                agenda, step, most, step.size,
                lambda step, at: Count(step, sets[left[at]], kept[at]),
            )  # fmt: skip

        return work

    def _put(
        self,
        agenda: Agenda,
        step: Step,
        bounds: Whole,
        n_axes: int,
        make: Callable[[Step, Whole], Entry],
    ) -> None:
        """Put sets of axes with these bounds on the agenda, those of similar bounds together."""
        order = np.argsort(-bounds, kind="stable")
        each = self.n_rows + step.ladder[0] ** n_axes
        number = max(1, self._tuning.batch // (4 * each))
        for start in range(0, len(order), number):
            own = order[start : start + number]
            most = min(step.most, int(bounds[own[0]]))
            agenda.add(most, make(step._replace(most=most), own))

    def _space(
        self, slot: int, layer: TableLayer, sets: Whole, size: int
    ) -> tuple[ScanScratch, Whole] | None:
        """Scratch of a thread, large enough for the sets."""
        extents = layer.grid.n_bins + 1
        needed = int(extents[sets].prod(axis=1).max()) * layer.channels
        bins = layer.grid.lone.shape[1]
        known = self._scratch.get((slot, size))
        if known is None or not known[0].holds(needed, bins):
            if not self.run.claim(ScanScratch.n_bytes(size, needed, self._weight)):
                return None
            scratch = ScanScratch.of(size, needed, self._weight, bins)
            known = (scratch, np.empty((1024, kernels.HEAD + 4 * size), np.int64))
            self._scratch[slot, size] = known
        return known
