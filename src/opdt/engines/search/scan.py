"""Count cells, bound what lies in them, cut what is left finer: the search over many rows.

The rules of k conditions are taken k axes at a time. One pass over the rows counts the cells of a
set of axes (`scan_kernels.scan_sets`); the counts bound every rule on these axes from above and
find good ones. What may still hold a better rule than the best known goes on the agenda with its
bound, and the largest bound is looked at first: it is counted again in finer bins, then the box of
its surviving cells is cut out and cut finer, until the rows that are still undecided are few
enough for the exact kernels of small tables.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import box_kernels, intervals
from opdt.engines.search import scan_kernels as kernels
from opdt.engines.search.agenda import Agenda, Halted, Work
from opdt.engines.search.boxes import Box
from opdt.engines.search.grid import LADDER, LEVELS, Axis, AxisMaker, Bins, Grid, Levels, as_grid
from opdt.engines.search.jit import announce_compilation
from opdt.engines.search.pricing import UnitPrice
from opdt.engines.search.rays import fill_levels
from opdt.engines.search.records import Positions, Task, group_classes, priced_tasks, task_of
from opdt.engines.search.regions import FREE, Region, Regions
from opdt.engines.search.scan_kernels import Alone, Asked, Groups, Scratch
from opdt.engines.search.seeding import sample_prices, sample_rules
from opdt.engines.search.sets import AxisSets
from opdt.engines.search.wide import WIDE, Wide
from opdt.problem import VolumeImpurity
from opdt.rules import Op

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Whole = NDArray[np.int64]
Rows = NDArray[np.int32]

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
TINY = 1_000_000  # steps below which starting threads costs more than it saves
NODE = np.array([1, 0, 0, 0])  # what to add to the counts of the work done


class Layer(NamedTuple):
    """Axes in bins of one fineness, for rules of one size."""

    axes: list[Axis]
    levels: list[Levels | None]  # of axes without order
    grid: Grid
    task: Task
    channels: int
    alone: Alone
    positions: Positions
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


class Step(NamedTuple):
    """How some sets of axes are to be counted: of one size, in finer and finer bins.

    `most` is what a rule on them may be worth at most, as far as is known.
    """

    at: int  # which of the tasks
    task: Task
    size: int
    ladder: tuple[int, ...]
    most: int
    even: bool = False  # bins of equally many rows


class Scan:
    """The search of one run on cells; `small.Sweep` is its counterpart on rows."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.rays = run.prepared.rays
        self._gains: dict[int, tuple[Whole, Whole]] = {}
        self._priced: dict[int, Whole] = {}
        self._scratch: dict[tuple[int, int], tuple[Scratch, Whole]] = {}
        self._layers: dict[tuple[int, int, int, bool], Layer] = {}
        self._making = threading.Lock()
        self._regions = Regions(run)
        constraints = run.problem.constraints
        limited = constraints.bounds_rows
        # counts of gains do not say how many rows there are
        self._blind = limited and not isinstance(run.problem.objective, VolumeImpurity)
        self._limits = run.limits if limited and not self._blind else None
        self._sets = AxisSets(run.prepared, constraints, open_all=self._blind)
        self._wides: dict[int, Wide] = {}
        self._held = self._most_held = 0  # bytes of regions kept for their parts
        self.hint: Box | None = None  # where the value of the best rule is reached

    nodes = 0  # none but those already counted

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
        return priced_tasks(task_of(groups, order, scores), self._prices)

    @cached_property
    def _prices(self) -> dict[int, UnitPrice]:
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
        price = self._prices.get(label)
        if price is None:
            return gains, wrong
        if label not in self._priced:
            weights = self.run.problem.objective.weights
            self._priced[label] = gains + price.added(weights, wrong)
        return self._priced[label], wrong

    def need(self, task: Task, size: int) -> int:
        """The least gain, in units of the kernels, of a rule worth looking at."""
        return task.need(self.run.best - self.run.scores.offset(size))

    def _asked(self, task: Task, size: int) -> Asked:
        """The same, with the limits on rows."""
        return task.asked(self.run.best - self.run.scores.offset(size), self._limits)

    # -- the passes ----------------------------------------------------------------------------

    def search(self) -> None:
        """Settle all rules: first all sets of axes are counted, then the best bounds refined.

        Coarse counts of all sizes come first, because a good rule of many conditions spares most
        of the work on few.
        """
        run = self.run
        announce_compilation(kernels.scan_sets)
        if run.switches.seeding and self._n_axes < WIDE and run.incumbent is None:
            sample_rules(run)
        agenda = Agenda()
        steps = 0
        for size in range(1, run.problem.structure.depth + 1):
            for at, task in enumerate(self.tasks):
                if run.halted():
                    return
                steps += self._begin(agenda, at, task, size)
        run.work(agenda, run.clock.budget.n_threads, inline=steps < TINY)

    def look(self) -> None:
        """Offer the best rules exactly between coarse bins, where that is quick."""
        run, spent = self.run, 0
        for size in range(1, run.problem.structure.depth + 1):
            for at, task in enumerate(self.tasks):
                step, each = self._first(at, task, size)
                axes = self._layer(step).axes
                for sets in self._sets.batches(axes, size, max(1, LOOK // (8 * each))):
                    spent += len(sets) * each
                    run.watch()
                    if spent > LOOK or run.halted():
                        return
                    self.count_now(None, step, sets)

    def _first(self, at: int, task: Task, size: int) -> tuple[Step, int]:
        """How the sets of axes of one task are counted first, and the steps that each takes."""
        n_rows = self.run.problem.table.n_rows
        ladder = LADDER[size]
        if size in QUICK and n_rows < 4 * ladder[0] ** size:
            ladder = (QUICK[size], *ladder)
        most = self.run.ceiling + self.run.scores.offset(size)
        return Step(at, task, size, ladder, most), n_rows + 8 * prod([min(ladder[0], 30)] * size)

    def _begin(self, agenda: Agenda, at: int, task: Task, size: int) -> int:
        """Put the sets of axes of one task on the agenda; returns how many steps that may take."""
        step, each = self._first(at, task, size)
        most = step.most

        def works() -> Iterator[Work]:
            layer = self._layer(step)
            skipped = None
            if size <= 2 and Wide.pays(self, task, len(layer.axes)):
                wide = self._wide(at, task, layer)
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
            for sets in self._sets.batches(layer.axes, size, max(1, BATCH // each), skipped):
                if size == 2:
                    sets = sets[(sets[:, 0] != sets[:, 1]) | ~settled[sets[:, 0]]]
                plain, spanned = self._split(layer, sets)
                if len(plain):
                    yield self._scan(agenda, step, plain)
                if len(spanned):
                    spans = step._replace(ladder=INTERVALS[size], even=True)
                    yield self._filter(agenda, spans, spanned)

        agenda.add_stream(most, works())
        return int(each * float(len(self.rays.rays)) ** size)

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

    def _split(self, layer: Layer, sets: Whole) -> tuple[Whole, Whole]:
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
            run, task, size = self.run, step.task, step.size
            layer = self._layer(step)
            self.fill(layer, sets)
            space = self._space(slot, layer, sets, size - 1)
            if space is None:
                return
            need = self.need(task, size)
            records = np.empty((len(sets), kernels.HEAD), np.int64)
            ended = kernels.scan_sets(
                layer.grid, layer.alone, sets, np.full(len(sets), kernels.ALL_WAYS), 1,
                task.groups, layer.channels, self._sets.rules(size), self._asked(task, size),
                run.control, space[0], records, np.zeros(2, np.int64),
            )  # fmt: skip
            if ended == kernels.STOPPED:
                return
            alive = records[:, kernels.BOUND] >= need
            run.add_counts(np.array([0, len(sets), int((~alive).sum()), 0]))
            left, gains = sets[alive], records[alive, kernels.BOUND]
            if len(step.ladder) > 1:
                bounds = [task.most(gain) + run.scores.offset(size) for gain in gains.tolist()]
                finer = step._replace(ladder=step.ladder[1:])
                self._put(
                    agenda, finer, np.array(bounds, np.int64), size - 1,
                    lambda step, own: self._filter(agenda, step, left[own]),
                )  # fmt: skip
                return
            plain = np.sort(np.column_stack([left[:, 0], left]), axis=1)
            finest = step._replace(ladder=LADDER[size][-1:], even=False)
            self.count_later(agenda, finest, plain, gains)

        return work

    def _wide(self, at: int, task: Task, layer: Layer) -> Wide:
        """The pairs of axes that can be kept as bits."""
        with self._making:
            if at not in self._wides:
                self._wides[at] = Wide(self, task, layer)
            return self._wides[at]

    def count_now(self, agenda: Agenda | None, step: Step, sets: Whole) -> None:
        """Count some sets of axes at once; what is left of them goes on the agenda, if any."""
        if len(sets):
            sets = np.ascontiguousarray(np.unique(sets, axis=0))
            self._scan(agenda, step, sets)(threading.get_ident())

    def count_later(self, agenda: Agenda, step: Step, sets: Whole, gains: Whole) -> None:
        """Put some sets of axes on the agenda with bounds on their gains."""
        alive = Alive()
        offset = self.run.scores.offset(step.size)
        for chosen, gain in zip(map(tuple, sets.tolist()), gains.tolist(), strict=True):
            alive.add(chosen, step.task.most(gain) + offset, kernels.ALL_WAYS)
        self._go_on(agenda, step, alive)

    def best_axes(self, task: Task, layer: Layer, number: int) -> list[int]:
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

    def _layer(self, step: Step) -> Layer:
        """The axes in the bins of a step."""
        bins = min(step.ladder[0], max((c.n_values for c in self.rays.columns), default=1))
        with self._making:
            key = step.at, bins, LEVELS[step.size], step.even
            if key not in self._layers:
                self._layers[key] = self._make_layer(step.task, *key[1:])
            return self._layers[key]

    def _make_layer(self, task: Task, bins: int, most_levels: int, even: bool) -> Layer:
        maker = AxisMaker(self.rays, task.order)
        wanted = maker.axes(bins, most_levels)
        axes = [maker.axis(*own, bins, even=even) for own in wanted]
        # Pages that are never written to take no memory: rows are filled when they are needed.
        codes = np.empty((len(wanted), self.run.problem.table.n_rows), np.uint8)
        missing = [bool(self.rays.columns[f].has_missing) for f, _ in wanted]
        return Layer(
            axes, [levels for _, levels in wanted], as_grid(axes, codes, missing), task,
            kernels.n_channels(task.groups), self._alone(task, axes),
            Positions(axes, self.rays.rays, self.rays.tops), maker, np.zeros(len(axes), bool),
            threading.Lock(),
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

    def fill(self, layer: Layer, used: Whole) -> None:
        """Fill the rows' bins of the axes that are used, where that is still to be done."""
        with layer.lock:
            todo = np.unique(used)
            todo = todo[~layer.filled[todo]]
            if not len(todo):
                return
            if not self.run.claim(len(todo) * self.run.problem.table.n_rows):
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

    def _scan(
        self, agenda: Agenda | None, step: Step, sets: Whole, ways: Whole | None = None
    ) -> Work:
        """Count some sets of axes in the first bins of a step; `ways` as `bound_set` takes them."""
        if ways is None:
            ways = np.full(len(sets), kernels.ALL_WAYS)

        def work(slot: int) -> None:
            run, task, size = self.run, step.task, step.size
            layer = self._layer(step)
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
                    self._sets.rules(size), self._asked(task, size), run.control, scratch,
                    records, state,
                )  # fmt: skip
                self._take(agenda, layer, step, records[: state[1]], alive)
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
                self._go_on(agenda, step._replace(ladder=step.ladder[1:]), alive)

        return work

    def _take(
        self,
        agenda: Agenda | None,
        layer: Layer,
        step: Step,
        found: Whole,
        alive: Alive,
    ) -> None:
        """Offer the rules of some records, and keep what may hold better ones."""
        run, task, size = self.run, layer.task, step.size
        offset = run.scores.offset(size)
        pass_of = {int(label): p for p, label in enumerate(task.groups.labels)}
        fits_all = self._sets.fits_all(size)
        for record in found.tolist():
            bound, label, right, wrong = record[: kernels.HEAD]
            rays = tuple(record[kernels.HEAD : kernels.HEAD + size])
            if not fits_all and not run.prepared.fits(rays):
                continue
            if right >= 0 and not self._blind:
                value = task.value(pass_of[label], right, wrong) + offset
                if value >= run.best:
                    hint = layer.positions.corner(record, size, value)
                    run.offer(value, label, rays, hint)
            if bound == kernels.NEG or agenda is None:
                continue
            whole = min(step.most, task.most(bound) + offset)
            if whole < run.best:
                continue
            if len(step.ladder) > 1:
                axes = tuple(layer.positions.axis_of[ray] for ray in rays)
                alive.add(axes, whole, self._way(rays))
            else:
                box = layer.positions.box(record, size, whole - offset)
                if box is not None:
                    agenda.add(whole, self._refining(agenda, box, None))

    def _go_on(self, agenda: Agenda, step: Step, alive: Alive) -> None:
        """Put the sets that are left on the agenda, to be counted in the bins of a step."""
        if not alive.bounds:
            return
        sets = np.array(list(alive.bounds), np.int64)
        bounds = np.array(list(alive.bounds.values()))
        ways = np.array(list(alive.ways.values()), np.int64)
        self._put(
            agenda, step, bounds, step.size,
            lambda step, own: self._scan(agenda, step, sets[own], ways[own]),
        )  # fmt: skip

    def _put(
        self,
        agenda: Agenda,
        step: Step,
        bounds: Whole,
        n_axes: int,
        make: Callable[[Step, Whole], Work],
    ) -> None:
        """Put sets of axes with these bounds on the agenda, those of similar bounds together."""
        order = np.argsort(-bounds, kind="stable")
        each = self.run.problem.table.n_rows + step.ladder[0] ** n_axes
        number = max(1, BATCH // (4 * each))
        for start in range(0, len(order), number):
            own = order[start : start + number]
            most = min(step.most, int(bounds[own[0]]))
            agenda.add(most, make(step._replace(most=most), own))

    def _space(
        self, slot: int, layer: Layer, sets: Whole, size: int
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

    def _refining(self, agenda: Agenda, box: Box, region: Region | None) -> Work:
        """Settle a box if it is small, else put its parts on the agenda.

        `region` is a larger box opened before; None stands for the whole table.
        """

        def work(slot: int) -> None:
            run, regions = self.run, self._regions
            offset = run.scores.offset(len(box.rays))
            stack = [(box, region)]
            left = AT_ONCE
            while stack and not run.halted():
                own, around = stack.pop()
                goal = run.best - offset
                if own.bound < goal:
                    continue
                run.add_counts(NODE)
                if around is None:
                    n_rows = run.problem.table.n_rows
                    if not run.claim(Region.n_bytes(len(box.rays), n_rows)):
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
                    agenda.add(part.bound + offset, self._refining(agenda, part, kept))

        return work

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
        price = self._prices.get(box.label, FREE)
        fixed = np.array([-price.allowance, 0, 0], np.int64)
        return Region(lows, highs - lows, levels, gains, weights, wrong, fixed, price)

    # -- ties ----------------------------------------------------------------------------------

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, hurry: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays, in their order, that gain the goal.

        In a hurry any will do, and they are looked for in the box `hint` first.
        """
        tops = self.rays.tops
        whole = Box(
            goal, label, rays, tuple(0 for _ in rays), tuple(int(tops[ray]) for ray in rays)
        )
        if hurry and self.hint is not None and (self.hint.label, self.hint.rays) == (label, rays):
            likely = self._regions.locate(self.hint, self._whole(self.hint), goal, hurry=True)
            if likely is not None:
                return likely[1]
        found = self._regions.locate(whole, self._whole(whole), goal, hurry=hurry)
        return None if found is None else found[1]
