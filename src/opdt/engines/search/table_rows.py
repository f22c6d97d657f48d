"""Rows in memory: counted and opened at once, on every thread."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import box_kernels, intervals
from opdt.engines.search import scan_kernels as kernels
from opdt.engines.search.agenda import Agenda, Entry, Halted, Stream, Work
from opdt.engines.search.boxes import Box
from opdt.engines.search.grid import LADDER, LEVELS, Axis, AxisMaker, Bins, Levels, as_grid
from opdt.engines.search.jit import announce_compilation
from opdt.engines.search.pricing import UnitPrice
from opdt.engines.search.rays import fill_levels
from opdt.engines.search.records import Positions, Task, group_classes, priced_tasks, task_of
from opdt.engines.search.regions import FREE, Region, Regions
from opdt.engines.search.rows import Count, Layer, Open, Rows, Step
from opdt.engines.search.scan import Scan
from opdt.engines.search.scan_kernels import Alone, Groups, Scratch
from opdt.engines.search.seeding import sample_prices, sample_rules
from opdt.engines.search.wide import WIDE, Wide
from opdt.problem import VolumeImpurity
from opdt.rules import Op

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Whole = NDArray[np.int64]

# Evenly filled bins of an axis where an interval stands for two axes.
INTERVALS = {3: (64, 250), 4: (24, 48), 5: (12, 18), 6: (9,), 7: (6,), 8: (4,)}
QUICK = {2: 16, 3: 8, 4: 5, 5: 4}  # a first, coarser step where bounding costs more than counting
FEW_LABELS = 8  # classes whose gains are kept
MANY_LEVELS = 64  # single rays from which it pays to weigh ordered ones by themselves
MOST_HELD = 1 << 30  # bytes of regions kept for their parts, at most
BATCH = 20_000_000  # steps (rows and cells) of one call of a kernel
LOOK = 100_000_000  # steps of a look for a good rule, at most
AT_ONCE = 64  # parts of a box that are settled with it, at most
NEAR = 4  # if their bounds are above the best value by one part in so many, at most
TOGETHER = 16  # axes whose intervals are settled by one piece of work
NODE = np.array([1, 0, 0, 0])  # what to add to the counts of the work done


@dataclass(frozen=True, eq=False)
class TableLayer(Layer):
    """Axes with the bins of the rows, which are filled when an axis is first used."""

    levels: list[Levels | None]  # of axes without order
    task: Task
    channels: int
    alone: Alone
    maker: AxisMaker
    filled: NDArray[np.bool_]  # (n_axes,) whose rows of `grid.codes` are filled
    lock: threading.Lock


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
        self.run = run
        self.n_rows = run.problem.table.n_rows
        self.rays = run.prepared.rays
        self.scan = Scan(run, self)
        announce_compilation(kernels.scan_sets)
        self._gains: dict[int, tuple[Whole, Whole]] = {}
        self._priced: dict[int, Whole] = {}
        self._scratch: dict[tuple[int, int], tuple[Scratch, Whole]] = {}
        self._layers: dict[tuple[int, int, int, bool], TableLayer] = {}
        self._making = threading.Lock()
        self._regions = Regions(run)
        self._wides: dict[int, Wide] = {}
        self._held = self._most_held = 0  # bytes of regions kept for their parts

    # -- what rows are worth -------------------------------------------------------------------

    @cached_property
    def tasks(self) -> list[Task]:
        """The passes over the rows that all labels need: one for all, or one for each."""
        problem, scores = self.run.problem, self.run.scores
        objective = problem.objective
        if not isinstance(objective, VolumeImpurity):
            return [self._task_of_gains(label) for label in objective.labels]
        group_of, groups = group_classes(objective.labels, objective.w, len(problem.table.classes))
        own = group_of[objective.classes]
        order = np.argsort(own, kind="stable")
        starts = np.searchsorted(own[order], np.arange(len(groups.starts)))
        weights = objective.weights[order]
        if (weights == 1).all():
            weights = groups.weights  # each is one
        groups = groups._replace(starts=starts.astype(np.int64), weights=weights)
        return priced_tasks(task_of(groups, order, scores), self.prices)

    @cached_property
    def prices(self) -> dict[int, UnitPrice]:
        """The prices of limits on rows, by label."""
        return sample_prices(self.run)

    def _task_of_gains(self, label: int) -> Task:
        """Any gains per row, in values: those with a positive one, then the others."""
        gains = self.gains(label)[0]
        order = np.argsort(gains <= 0, kind="stable")
        n_right = int((gains > 0).sum())
        one = np.ones(1, np.int64)
        groups = Groups(
            np.array([0, n_right, len(gains)], np.int64), np.abs(gains[order]),
            np.array([label], np.int64), 0 * one, one, one, one,
        )  # fmt: skip
        return Task(groups, one, one, order, 1, 0)

    def gains(self, label: int) -> tuple[Whole, Whole]:
        """Value and error weight of each row under a rule of this class."""
        known = self._gains.get(label)
        if known is None:
            objective = self.run.problem.objective
            known = (
                self.run.scores.gains(self.run.problem, label),
                objective.weights * objective.wrong(label),
            )
            if len(self._gains) >= FEW_LABELS:  # of many classes only a few are at work at a time
                self._gains = {}
            self._gains[label] = known
        return known

    def _priced_gains(self, label: int) -> tuple[Whole, Whole]:
        """As `gains`, with the prices of limits added to the values."""
        gains, wrong = self.gains(label)
        price = self.prices.get(label)
        if price is None:
            return gains, wrong
        if label not in self._priced:
            weights = self.run.problem.objective.weights
            self._priced[label] = gains + price.added(weights, wrong)
        return self._priced[label], wrong

    # -- the passes ----------------------------------------------------------------------------

    def seed(self) -> None:
        """Start from the best rules of a sample, unless there is a rule or are very many axes."""
        if self._n_axes < WIDE and self.run.incumbent is None:
            sample_rules(self.run)

    def ladder(self, size: int) -> tuple[int, ...]:
        """Bins of an axis; coarser ones first where bounding costs more than counting."""
        ladder = LADDER[size]
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
            self._open(agenda, entry)
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
        number = max(1, BATCH // self.scan.cost(step))
        for sets in self.scan.sets.batches(layer.axes, size, number, skipped):
            if size == 2:
                sets = sets[(sets[:, 0] != sets[:, 1]) | ~settled[sets[:, 0]]]
            plain, spanned = self._split(layer, sets)
            if len(plain):
                yield Count(step, plain, np.full(len(plain), kernels.ALL_WAYS))
            if len(spanned):
                spans = step._replace(ladder=INTERVALS[size], even=True)
                yield self._filter(agenda, spans, spanned)

    def _settle_intervals(self, label: int, axes: list[Axis]) -> Work:
        """Find the best interval of some axes for one label."""

        def work(slot: int) -> None:
            gains = self.gains(label)[0]
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
            self.fill(layer, sets)
            space = self._space(slot, layer, sets, size - 1)
            if space is None:
                return
            need = scan.need(task, size)
            records = np.empty((len(sets), kernels.HEAD), np.int64)
            ended = kernels.scan_sets(
                layer.grid, layer.alone, sets, np.full(len(sets), kernels.ALL_WAYS), 1,
                task.groups, layer.channels, scan.sets.rules(size), scan.asked(task, size),
                run.control, space[0], records, np.zeros(2, np.int64),
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
            finest = step._replace(ladder=LADDER[size][-1:], even=False)
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

    def best_axes(self, task: Task, layer: TableLayer, number: int) -> list[int]:
        """The axes that are best alone, by the gains of their bins."""
        starts, weights = task.groups.starts, task.groups.weights

        def best_of(axis: Axis, codes: Bins) -> float:
            counts = [
                np.bincount(
                    codes[starts[g] : starts[g + 1]],
                    weights[starts[g] : starts[g + 1]] if weights.size else None,
                    axis.n_bins + 1,
                )[:-1]
                for g in range(len(starts) - 1)
            ]
            total, best = sum(counts), 0.0
            for p in range(len(task.groups.labels)):
                own = counts[task.groups.right[p]]
                gains = task.groups.plus[p] * own - task.groups.minus[p] * (total - own)
                runs = gains.cumsum(), gains[::-1].cumsum()  # of no bins where all is missing
                best = max(best, *(run.max(initial=0) for run in runs))
            return best

        self.fill(layer, np.arange(len(layer.axes)))
        best = np.array(self.run.on_threads(best_of, layer.axes, list(layer.grid.codes)))
        order: list[int] = np.argsort(-best, kind="stable")[:number].tolist()
        return order

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

    def layer(self, step: Step) -> TableLayer:
        """The axes in the bins of a step."""
        bins = min(step.ladder[0], max((c.n_values for c in self.rays.columns), default=1))
        with self._making:
            key = step.at, bins, LEVELS[step.size], step.even
            if key not in self._layers:
                self._layers[key] = self._make_layer(step.task, *key[1:])
            return self._layers[key]

    def _make_layer(self, task: Task, bins: int, most_levels: int, even: bool) -> TableLayer:
        maker = AxisMaker(self.rays, task.order)
        wanted = maker.axes(bins, most_levels)
        axes = [maker.axis(*own, bins, even=even) for own in wanted]
        # Pages that are never written to take no memory: rows are filled when they are needed.
        codes = np.empty((len(wanted), self.n_rows), np.uint8)
        missing = [bool(self.rays.columns[f].has_missing) for f, _ in wanted]
        return TableLayer(
            axes, as_grid(axes, codes, missing), Positions(axes, self.rays.rays, self.rays.tops),
            [levels for _, levels in wanted], task, kernels.n_channels(task.groups),
            self._alone(task, axes), maker, np.zeros(len(axes), bool), threading.Lock(),
        )  # fmt: skip

    def _way(self, rays: tuple[int, ...]) -> int:
        """How some rays use their axes, as `bound_set` takes it."""
        at = 0
        for d, ray in enumerate(rays):
            op = self.rays.rays[ray].op
            if not op.is_threshold or d >= len(kernels.DOWNWARDS):
                return kernels.ALL_WAYS
            at |= (kernels.DOWN if op is Op.LT else kernels.UP) << d
        return 1 << at if at < 63 else kernels.ALL_WAYS

    def fill(self, layer: TableLayer, used: Whole) -> None:
        """Fill the rows' bins of the axes that are used, where that is still to be done."""
        with layer.lock:
            todo = np.unique(used)
            todo = todo[~layer.filled[todo]]
            if not len(todo):
                return
            if not self.run.claim(len(todo) * self.n_rows):
                raise Halted

            def one(a: int) -> None:
                layer.maker.fill(layer.axes[a], layer.levels[a], layer.grid.codes[a])

            self.run.on_threads(one, todo.tolist())
            layer.filled[todo] = True

    def _alone(self, task: Task, axes: list[Axis]) -> Alone:
        """What ordered rays gain by themselves, where there are many levels to be excluded."""
        ordered = [(a, axis) for a, axis in enumerate(axes) if axis.edges is not None]
        n_singles = sum(len(axis.singles) for axis in axes)
        if not ordered or n_singles < MANY_LEVELS or not self.run.switches.alone:
            return Alone.none()
        bins = max(axis.n_bins for _, axis in ordered)
        alone = Alone.room(len(task.groups.labels), len(axes), bins)

        def weigh(a: int, axis: Axis) -> None:
            column = self.rays.columns[axis.feature]
            kernels.weigh_alone(
                column.codes, task.order, task.groups, axis.edges, column.n_values, a, alone
            )

        self.run.on_threads(weigh, *zip(*ordered, strict=True))
        return alone

    def _count(self, agenda: Agenda | None, slot: int, count: Count) -> None:
        """Count some sets of axes; what is left of them goes on the agenda, if any."""
        step, sets, ways = count
        run, scan, task, size = self.run, self.scan, step.task, step.size
        layer = self.layer(step)
        self.fill(layer, sets)
        space = self._space(slot, layer, sets, size)
        if space is None:
            return
        scratch, records = space
        state = np.zeros(2, np.int64)
        alive = Alive()
        while not run.halted():
            begun = int(state[0])
            ended = kernels.scan_sets(
                layer.grid, layer.alone, sets, ways, 0, task.groups, layer.channels,
                scan.sets.rules(size), scan.asked(task, size), run.control, scratch, records,
                state,
            )  # fmt: skip
            for _, record, bound in scan.take(layer, step, records[: state[1]]):
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
        self._put(
            agenda, step, bounds, step.size,
            lambda step, own: Count(step, sets[own], ways[own]),
        )  # fmt: skip

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
        number = max(1, BATCH // (4 * each))
        for start in range(0, len(order), number):
            own = order[start : start + number]
            most = min(step.most, int(bounds[own[0]]))
            agenda.add(most, make(step._replace(most=most), own))

    def _space(
        self, slot: int, layer: TableLayer, sets: Whole, size: int
    ) -> tuple[Scratch, Whole] | None:
        """Scratch of a thread, large enough for the sets."""
        extents = layer.grid.n_bins + 1
        needed = int(extents[sets].prod(axis=1).max()) * layer.channels
        known = self._scratch.get((slot, size))
        if known is None or known[0].cells.shape[1] < needed:
            if not self.run.claim(Scratch.n_bytes(size, needed, self._weight)):
                return None
            scratch = Scratch.of(size, needed, self._weight)
            known = (scratch, np.empty((1024, kernels.HEAD + 4 * size), np.int64))
            self._scratch[slot, size] = known
        return known

    # -- refining ------------------------------------------------------------------------------

    def _open(self, agenda: Agenda, entry: Open) -> None:
        """Settle a box if it is small, else put its parts on the agenda."""
        run, regions = self.run, self._regions
        k = len(entry.box.rays)
        offset = run.scores.offset(k)
        stack = [(entry.box, entry.region)]
        left = AT_ONCE
        while stack and not run.halted():
            own, around = stack.pop()
            goal = run.best - offset
            if own.bound < goal:
                continue
            run.add_counts(NODE)
            if around is None:
                if not run.claim(Region.n_bytes(k, self.n_rows)):
                    return
                around = self._whole(own)
            inside = regions.open(own, around, goal)
            if inside is None:
                continue
            if regions.is_leaf(inside):
                regions.leaf(own, regions.piece(inside))
                continue
            kept: Region | None = None
            for part in regions.cut(own, inside, goal):
                # What lies near the best value is settled at once, while the rows are at hand.
                if left and NEAR * part.bound <= (NEAR + 1) * goal:
                    stack.append((part, inside))
                    left -= 1
                    continue
                if kept is None and self._keeps(inside):
                    kept = inside
                agenda.add(part.bound + offset, Open(part, kept))

    def _keeps(self, region: Region) -> bool:
        """Whether there is room to keep a region for its parts; else they begin from the table."""
        if not self._most_held:
            self._most_held = int(min(MOST_HELD, self.run.clock.room() / 4)) + 1
        if self._held + region.levels.nbytes + 3 * region.gains.nbytes > self._most_held:
            return False
        size = region.levels.nbytes + 3 * region.gains.nbytes
        self._held += size
        weakref.finalize(region.levels, self._give_back, size)
        return True

    def _give_back(self, size: int) -> None:
        self._held -= size

    def _whole(self, box: Box) -> Region:
        """All rows, seen from a box."""
        gains, wrong = self._priced_gains(box.label)
        levels = np.empty((len(box.rays), len(gains)), np.int32)
        for out, index, low, high in zip(levels, box.rays, box.low, box.high, strict=True):
            ray, n_values = self.rays.rays[index], self.rays.n_values(self.rays.rays[index])
            codes = self.rays.columns[ray.feature].codes
            if ray.op.is_threshold:
                box_kernels.first_levels(codes, ray.op is Op.LT, n_values, low, high, out)
            else:
                fill_levels(out, ray, codes, n_values)
        lows, highs = np.array(box.low, np.int64), np.array(box.high, np.int64)
        weights = self.run.problem.objective.weights
        price = self.prices.get(box.label, FREE)
        fixed = np.array([-price.allowance, 0, 0], np.int64)
        return Region(lows, highs - lows, levels, gains, weights, wrong, fixed, price)

    # -- ties ----------------------------------------------------------------------------------

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, hurry: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays; in a hurry any, in the run's hint first."""
        tops = self.rays.tops
        whole = Box(
            goal, label, rays, tuple(0 for _ in rays), tuple(int(tops[ray]) for ray in rays)
        )
        hint = self.run.hint
        if hurry and hint is not None and (hint.label, hint.rays) == (label, rays):
            likely = self._regions.locate(hint, self._whole(hint), goal, hurry=True)
            if likely is not None:
                return likely[1]
        found = self._regions.locate(whole, self._whole(whole), goal, hurry=hurry)
        return None if found is None else found[1]
