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
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import combinations_with_replacement
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import box_kernels
from opdt.engines.search import scan_kernels as kernels
from opdt.engines.search.agenda import Agenda, Halted, Work
from opdt.engines.search.boxes import Box, halves, is_most_of
from opdt.engines.search.exact import Piece
from opdt.engines.search.grid import LEVELS, Axis, AxisMaker, Bins, Grid, as_grid
from opdt.engines.search.jit import announce_compilation
from opdt.engines.search.polish import Expired
from opdt.engines.search.rays import fill_levels
from opdt.engines.search.scan_kernels import Alone, Groups, Rules, Scratch
from opdt.engines.search.seeding import sample_rules
from opdt.engines.search.wide import WIDE, Wide
from opdt.problem import VolumeImpurity
from opdt.rules import Op

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Whole = NDArray[np.int64]
Rows = NDArray[np.int32]

# Undecided rows of a box of so many dimensions that are left to the exact kernels.
LEAF_ROWS = {1: 60_000, 2: 6_000, 3: 3_000, 4: 300, 5: 100, 6: 100, 7: 100, 8: 100}
FEW_ROWS = 2_000  # and when the loosest of several equal rules is looked for
FEW_POSITIONS = 64  # or so few positions on two rays, and as many combinations on more
# Bins of an ordered axis when so many axes are combined: coarse ones first, then finer.
LADDER = {
    1: (250,), 2: (64, 250), 3: (22, 56), 4: (11, 20), 5: (7, 10), 6: (5, 7), 7: (4,), 8: (4,),
}  # fmt: skip
QUICK = {2: 16, 3: 8, 4: 5, 5: 4}  # a first, coarser step where bounding costs more than counting
# Bins of a dimension when a box of so many is cut.
INNER_BINS = {1: 512, 2: 160, 3: 28, 4: 11, 5: 7, 6: 5, 7: 4, 8: 4}
MOST_KINDS = 1 << 16  # combinations of kinds of rays that are decided beforehand
FEW_LABELS = 8  # classes whose gains are kept
MANY_LEVELS = 64  # single rays from which it pays to weigh ordered ones by themselves
MOST_HELD = 1 << 30  # bytes of regions kept for their parts, at most
MOST_ALIVE = 4_096  # cells alive of a box being cut; with more it is halved
BATCH = 20_000_000  # steps (rows and cells) of one call of a kernel
TINY = 1_000_000  # steps below which starting threads costs more than it saves
NODE = np.array([1, 0, 0, 0])  # what to add to the counts of the work done


class Task(NamedTuple):
    """Rows by group with the passes over them, and how their counts become values."""

    groups: Groups
    order: NDArray[np.intp]
    scale: int  # values per unit of gain
    error: int  # value that a unit of the wrong group costs besides

    def value(self, at: int, right: int, wrong: int) -> int:
        """The value of covering these weights by a rule of the pass `at`."""
        plus, minus = int(self.groups.plus[at]), int(self.groups.minus[at])
        return self.scale * (plus * right - minus * wrong) - self.error * wrong


class Region(NamedTuple):
    """The undecided rows of a box, and the sums of those that it covers always.

    `low` and `tops` (k,) are the box's loosest positions and its extents, `levels` (k, n) are
    counted from `low`; `fixed` is [gain, weight, error weight].
    """

    low: Whole
    tops: Whole
    levels: NDArray[np.int32]
    gains: Whole
    weights: Whole
    wrong: Whole
    fixed: Whole


class Knives(NamedTuple):
    """Scratch of `box_kernels.cut_box`."""

    cells: Whole
    edges: Whole
    alive: Whole
    bounds: Whole
    order: Whole
    stack: Whole


class Layer(NamedTuple):
    """Axes in bins of one fineness, for rules of one size."""

    axes: list[Axis]
    levels: list[range | None]  # of axes without order
    grid: Grid
    task: Task
    channels: int
    alone: Alone
    maker: AxisMaker
    filled: NDArray[np.bool_]  # (n_axes,) whose rows of `grid.codes` are filled
    lock: threading.Lock


class Scan:
    """The search of one run on cells; `small.Sweep` is its counterpart on rows."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.rays = run.prepared.rays
        self._gains: dict[int, tuple[Whole, Whole]] = {}
        self._scratch: dict[tuple[int, int], tuple[Scratch, Whole]] = {}
        self._layers: dict[tuple[int, int, int], Layer] = {}
        self._making = threading.Lock()
        self._local = threading.local()
        self._wides: dict[int, Wide] = {}
        self._rules_of: dict[int, Rules] = {}
        self._axes_of: dict[int, dict[int, int]] = {}
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
        classes, labels = objective.classes, objective.labels
        n_classes = len(problem.table.classes)
        right = np.arange(len(labels))
        if len(labels) == 1:
            classes, wrong = (classes != labels[0]).astype(np.int32), np.array([1])
            n_classes = 2
        elif n_classes == 2:
            right, wrong = np.array(labels), 1 - np.array(labels)
        else:
            right, wrong = np.array(labels), np.full(len(labels), -1)
        order = np.argsort(classes, kind="stable")
        starts = np.searchsorted(classes[order], np.arange(n_classes + 1))
        weights = objective.weights[order]
        plain = bool((weights == 1).all())
        plus, minus = objective.w.denominator, objective.w.numerator - objective.w.denominator
        groups = Groups(
            starts.astype(np.int64),
            np.empty(0, np.int64) if plain else weights,
            np.array(labels, np.int64),
            right.astype(np.int64),
            wrong.astype(np.int64),
            np.full(len(labels), plus, np.int64),
            np.full(len(labels), minus, np.int64),
        )
        return [Task(groups, order, scores.scale, int(scores.with_errors))]

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
        return Task(groups, order, 1, 0)

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

    def need(self, task: Task, size: int) -> int:
        """The least gain, in units of the kernels, of a rule worth looking at."""
        return -(-(self.run.best - self.run.scores.offset(size)) // task.scale)

    # -- the passes ----------------------------------------------------------------------------

    def search(self) -> None:
        """Settle all rules: first all sets of axes are counted, then the best bounds refined.

        Coarse counts of all sizes come first, because a good rule of many conditions spares most
        of the work on few.
        """
        run = self.run
        announce_compilation(kernels.scan_sets)
        if run.switches.seeding and self._n_axes < WIDE:
            sample_rules(run)
        agenda = Agenda()
        steps = 0
        for size in range(1, run.problem.structure.depth + 1):
            for at, task in enumerate(self.tasks):
                if run.halted():
                    return
                steps += self._begin(agenda, at, task, size)
        run.work(agenda, run.clock.budget.n_threads, inline=steps < TINY)

    def _begin(self, agenda: Agenda, at: int, task: Task, size: int) -> int:
        """Put the sets of axes of one task on the agenda; returns how many steps that may take."""
        n_rows = self.run.problem.table.n_rows
        ladder = LADDER[size]
        if size in QUICK and n_rows < 4 * ladder[0] ** size:
            ladder = (QUICK[size], *ladder)
        each = n_rows + 8 * prod([min(ladder[0], 30)] * size)

        def works() -> Iterator[Work]:
            layer = self._layer(at, task, size, ladder[0])
            skipped = None
            if size <= 2 and Wide.pays(self, task, len(layer.axes)):
                wide = self._wide(at, task, layer)
                if size == 1:
                    skipped = wide.settle_singles()
                else:
                    skipped = wide.eligible
                    yield from wide.works(agenda, ladder)
            for sets in self._batches(layer, size, max(1, BATCH // each), skipped):
                yield self._scan(agenda, at, task, size, ladder, sets)

        agenda.add_stream(self.run.ceiling + self.run.scores.offset(size), works())
        return int(each * float(len(self.rays.rays)) ** size)

    def _wide(self, at: int, task: Task, layer: Layer) -> Wide:
        """The pairs of axes that can be kept as bits."""
        with self._making:
            if at not in self._wides:
                self._wides[at] = Wide(self, at, task, layer)
            return self._wides[at]

    def count_now(
        self,
        agenda: Agenda | None,
        at: int,
        task: Task,
        size: int,
        ladder: tuple[int, ...],
        sets: Whole,
    ) -> None:
        """Count some sets of axes at once; what is left of them goes on the agenda, if any."""
        if len(sets):
            sets = np.ascontiguousarray(np.unique(sets, axis=0))
            self._scan(agenda, at, task, size, ladder, sets)(threading.get_ident())

    def count_later(
        self,
        agenda: Agenda,
        at: int,
        task: Task,
        size: int,
        ladder: tuple[int, ...],
        sets: Whole,
        gains: Whole,
    ) -> None:
        """Put some sets of axes on the agenda with bounds on their gains."""
        alive: dict[tuple[int, ...], int] = {}
        offset = self.run.scores.offset(size)
        for chosen, gain in zip(map(tuple, sets.tolist()), gains.tolist(), strict=True):
            bound = gain * task.scale + offset
            alive[chosen] = max(alive.get(chosen, bound), bound)
        self._go_on(agenda, at, task, size, ladder, alive)

    def best_axes(self, at: int, task: Task, layer: Layer, number: int) -> list[int]:
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
                best = max(best, gains.cumsum().max(), gains[::-1].cumsum().max())
            return best

        self.fill(layer, np.arange(len(layer.axes)))
        best = np.array(self.run.on_threads(best_of, layer.axes, list(layer.grid.codes)))
        return np.argsort(-best, kind="stable")[:number].tolist()

    @cached_property
    def _n_axes(self) -> int:
        return len({ray.feature for ray in self.rays.rays})

    def _layer(self, at: int, task: Task, size: int, bins: int) -> Layer:
        """The axes in at most so many bins."""
        bins = min(bins, max((c.n_values for c in self.rays.columns), default=1))
        with self._making:
            key = at, bins, LEVELS[size]
            if key not in self._layers:
                self._layers[key] = self._make_layer(task, bins, LEVELS[size])
            return self._layers[key]

    def _make_layer(self, task: Task, bins: int, most_levels: int) -> Layer:
        maker = AxisMaker(self.rays, task.order)
        wanted = maker.axes(bins, most_levels)
        axes = [maker.axis(*own, bins) for own in wanted]
        # Pages that are never written to take no memory: rows are filled when they are needed.
        codes = np.empty((len(wanted), self.run.problem.table.n_rows), np.uint8)
        missing = [bool(self.rays.columns[f].has_missing) for f, _ in wanted]
        return Layer(
            axes, [levels for _, levels in wanted], as_grid(axes, codes, missing), task,
            kernels.n_channels(task.groups), self._alone(task, axes), maker,
            np.zeros(len(axes), bool), threading.Lock(),
        )  # fmt: skip

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
        if not ordered or sum(len(axis.singles) for axis in axes) < MANY_LEVELS:
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

    @cached_property
    def _kinds(self) -> tuple[Whole, int]:
        """The kind of each ray, by which chains admit it, and the number of kinds."""
        plans = self.run.prepared.plans
        types = np.stack([plan.types for plan in plans])
        distinct, kinds = np.unique(types, axis=1, return_inverse=True)
        self._examples = distinct
        return kinds.reshape(-1).astype(np.int64), distinct.shape[1]

    def _rules(self, size: int) -> Rules:
        """Which rays may stand together."""
        kinds, n_kinds = self._kinds
        prepared, constraints = self.run.prepared, self.run.problem.constraints
        allowed = np.empty(0, bool)
        if n_kinds**size <= MOST_KINDS:
            allowed = np.zeros((n_kinds,) * size, bool)
            for chosen in combinations_with_replacement(range(n_kinds), size):
                if self._fit(chosen):
                    for places in set(_permutations(chosen)):
                        allowed[places] = True
            allowed = allowed.reshape(-1)
            if allowed.all():
                allowed = np.empty(0, bool)
        del prepared
        return Rules(kinds, n_kinds, allowed, constraints.once, constraints.bounds_rows)

    def _fit(self, kinds: tuple[int, ...]) -> bool:
        """Whether some chain can hold rays of these kinds."""
        chosen = self._examples[:, list(kinds)]
        plans = self.run.prepared.plans
        return any(
            plan.fits(tuple(types)) for plan, types in zip(plans, chosen.tolist(), strict=True)
        )

    def _batches(
        self, layer: Layer, size: int, number: int, skipped: NDArray[np.bool_] | None
    ) -> Iterator[Whole]:
        """Sets of axes with at least one set of rays that fits, about so many at a time.

        Single axes that are `skipped`, and pairs of different ones that both are, are left out.
        """
        rules = self._size_rules(size)
        signs, of_axis = self._signs(layer)
        fits: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        repeats = np.array([self._repeats(axis) for axis in layer.axes])
        n = len(layer.axes)
        if not n:
            return
        parts: list[Whole] = []
        held = 0
        for prefix in combinations_with_replacement(range(n), size - 1):
            if any(prefix.count(a) > repeats[a] for a in prefix):
                continue
            last = np.arange(prefix[-1] if prefix else 0, n)
            if prefix:
                used = prefix.count(prefix[-1])
                if used >= repeats[prefix[-1]]:
                    last = last[1:]
            key = tuple(int(of_axis[a]) for a in prefix)
            if key not in fits:
                fits[key] = np.array(
                    [self._some_fit((*key, s), signs, rules) for s in range(len(signs))]
                )
            last = last[fits[key][of_axis[last]]]
            if skipped is not None and size == 1:
                last = last[~skipped[last]]
            elif skipped is not None and skipped[prefix[0]]:
                last = last[~skipped[last] | (last == prefix[0])]
            if not len(last):
                continue
            sets = np.empty((len(last), size), np.int64)
            sets[:, :-1] = prefix
            sets[:, -1] = last
            parts.append(sets)
            held += len(sets)
            if held >= number:
                whole = np.concatenate(parts)
                for start in range(0, len(whole), number):
                    yield whole[start : start + number]
                parts, held = [], 0
        if parts:
            yield np.concatenate(parts)

    def _size_rules(self, size: int) -> Rules:
        rules = self._rules_of.get(size)
        if rules is None:
            rules = self._rules_of[size] = self._rules(size)
        return rules

    def _signs(self, layer: Layer) -> tuple[list[tuple[int, ...]], Whole]:
        """The distinct sets of kinds of the axes' rays, and which each axis has."""
        kinds = self._kinds[0]
        known: dict[tuple[int, ...], int] = {}
        of_axis = [
            known.setdefault(tuple(sorted(set(kinds[axis.rays()].tolist()))), len(known))
            for axis in layer.axes
        ]
        return list(known), np.array(of_axis, np.int64)

    def _some_fit(
        self, chosen: tuple[int, ...], signs: list[tuple[int, ...]], rules: Rules
    ) -> bool:
        """Whether some rays of axes of these signs fit together."""
        from itertools import product

        if rules.allowed.size == 0 and rules.n_kinds ** len(chosen) <= MOST_KINDS:
            return True
        return any(self._fit(kinds) for kinds in product(*(signs[s] for s in chosen)))

    def _repeats(self, axis: Axis) -> int:
        """How often a set may use an axis."""
        if self.run.problem.constraints.once:
            return 1
        excluded = sum(how == 1 for _, how, _, _ in axis.singles)
        both_ends = axis.up >= 0 and axis.down >= 0
        if both_ends and self.rays.columns[axis.feature].n_values > 2:
            return max(2, excluded)
        return max(1, excluded)

    def _scan(
        self,
        agenda: Agenda | None,
        at: int,
        task: Task,
        size: int,
        ladder: tuple[int, ...],
        sets: Whole,
    ) -> Work:
        """Count some sets of axes in the first fineness of the ladder."""

        def work(slot: int) -> None:
            run = self.run
            layer = self._layer(at, task, size, ladder[0])
            self.fill(layer, sets)
            space = self._space(slot, layer, sets, size)
            if space is None:
                return
            scratch, records = space
            state = np.zeros(2, np.int64)
            alive: dict[tuple[int, ...], int] = {}
            while not run.halted():
                begun = int(state[0])
                ended = kernels.scan_sets(
                    layer.grid, layer.alone, sets, task.groups, layer.channels, self._size_rules(size),
                    self.need(task, size), run.control, scratch, records, state,
                )  # fmt: skip
                found = records[: state[1]]
                self._take(agenda, layer, found, size, ladder, alive)
                state[1] = 0
                run.add_counts(np.array([0, int(state[0]) - begun, 0, 0]))
                if ended != kernels.FULL:
                    break
                if int(state[0]) == begun:
                    records = np.empty((4 * len(records), records.shape[1]), np.int64)
                    self._scratch[slot, size] = (scratch, records)
            if agenda is not None:
                self._go_on(agenda, at, task, size, ladder[1:], alive)

        return work

    def _take(
        self,
        agenda: Agenda | None,
        layer: Layer,
        found: Whole,
        size: int,
        ladder: tuple[int, ...],
        alive: dict[tuple[int, ...], int],
    ) -> None:
        """Offer the rules of some records, and keep what may hold better ones."""
        run, task = self.run, layer.task
        offset = run.scores.offset(size)
        pass_of = {int(label): p for p, label in enumerate(task.groups.labels)}
        tabled = self._size_rules(size).n_kinds ** size <= MOST_KINDS
        limited = run.problem.constraints.bounds_rows
        for record in found.tolist():
            bound, label, right, wrong = record[: kernels.HEAD]
            rays = tuple(record[kernels.HEAD : kernels.HEAD + size])
            if not tabled and not run.prepared.fits(rays):
                continue
            if right >= 0 and not limited:
                value = task.value(pass_of[label], right, wrong) + offset
                if value >= run.best:
                    corner = record[kernels.HEAD + 3 * size :]
                    spots = [
                        self._place(layer, ray, at) for ray, at in zip(rays, corner, strict=True)
                    ]
                    hint = _sorted_box(
                        value,
                        label,
                        rays,
                        [max(0, at - 1) for at in spots],
                        [max(1, at) for at in spots],
                    )
                    run.offer(value, label, rays, hint)
            if bound == kernels.NEG or agenda is None:
                continue
            whole = bound * task.scale + offset
            if whole < run.best:
                continue
            if len(ladder) > 1:
                axes = tuple(self._axis_of(layer)[ray] for ray in rays)
                alive[axes] = max(alive.get(axes, whole), whole)
            else:
                box = self._box(layer, label, rays, record, size, bound * task.scale)
                if box is not None:
                    agenda.add(whole, self._refining(agenda, box, None))

    def _axis_of(self, layer: Layer) -> dict[int, int]:
        known = self._axes_of.get(id(layer))
        if known is None:
            known = {ray: a for a, axis in enumerate(layer.axes) for ray in axis.rays()}
            self._axes_of[id(layer)] = known
        return known

    def _go_on(
        self,
        agenda: Agenda,
        at: int,
        task: Task,
        size: int,
        ladder: tuple[int, ...],
        alive: dict[tuple[int, ...], int],
    ) -> None:
        """Put the sets that are left on the agenda, to be counted in finer bins."""
        if not alive:
            return
        sets = np.array(list(alive), np.int64)
        bounds = np.array(list(alive.values()))
        order = np.argsort(-bounds, kind="stable")
        number = max(1, BATCH // (4 * (self.run.problem.table.n_rows + ladder[0] ** size)))
        for start in range(0, len(order), number):
            own = order[start : start + number]
            bound = int(bounds[own[0]])
            agenda.add(bound, self._scan(agenda, at, task, size, ladder, sets[own]))

    def _space(
        self, slot: int, layer: Layer, sets: Whole, size: int
    ) -> tuple[Scratch, Whole] | None:
        """Scratch of a thread, large enough for the sets."""
        extents = layer.grid.n_bins + 1
        needed = int(extents[sets].prod(axis=1).max()) * layer.channels
        known = self._scratch.get((slot, size))
        if known is None or known[0].cells.shape[1] < needed:
            if not self.run.claim((2 * size + 1) * needed * 8):
                return None
            known = (Scratch.of(size, needed), np.empty((1024, kernels.HEAD + 4 * size), np.int64))
            self._scratch[slot, size] = known
        return known

    def _box(
        self,
        layer: Layer,
        label: int,
        rays: tuple[int, ...],
        record: list[int],
        size: int,
        bound: int,
    ) -> Box | None:
        """The box of positions that a record's places stand for."""
        lows, highs = [], []
        for d, ray in enumerate(rays):
            first, last = record[kernels.HEAD + size + d], record[kernels.HEAD + 2 * size + d]
            low, high = self._place(layer, ray, first), self._place(layer, ray, last + 1)
            if first < 0:
                low, high = 0, 1
            high = min(high, int(self.rays.tops[ray]))
            if low >= high:
                return None
            lows.append(low)
            highs.append(high)
        return _sorted_box(bound, label, rays, lows, highs)

    def _place(self, layer: Layer, ray: int, place: int) -> int:
        """The last position before a place of an ordered ray; 1 for a single ray."""
        axis = layer.axes[self._axis_of(layer)[ray]]
        if axis.edges is None or place < 0 or not self.rays.rays[ray].op.is_threshold:
            return 1
        if self.rays.rays[ray].op is Op.LT:
            return int(axis.edges[-1] - axis.edges[len(axis.edges) - 1 - place])
        return int(axis.edges[place])

    # -- refining ------------------------------------------------------------------------------

    def _refining(self, agenda: Agenda, box: Box, region: Region | None) -> Work:
        """Settle a box if it is small, else put its parts on the agenda.

        `region` is a larger box opened before; None stands for the whole table.
        """

        def work(slot: int) -> None:
            run = self.run
            goal = run.best - run.scores.offset(len(box.rays))
            if box.bound < goal:
                return
            run.add_counts(NODE)
            own = self._open(box, region, goal)
            if own is None:
                return
            if self._is_leaf(own, LEAF_ROWS[len(box.rays)]):
                self._leaf(box, self._piece(own))
                return
            kept = own if self._keeps(own) else None
            for part in self._cut(box, own, goal):
                bound = part.bound + run.scores.offset(len(part.rays))
                agenda.add(bound, self._refining(agenda, part, kept))

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

    def _open(self, box: Box, region: Region | None, goal: int) -> Region | None:
        """The rows that a box decides on; None where they cannot gain the goal."""
        region = self._whole(box) if region is None else region
        k, n = region.levels.shape
        tops = np.array(box.high, np.int64) - np.array(box.low, np.int64)
        own = Region(
            np.array(box.low, np.int64), tops, np.empty((k, n), np.int32),
            np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
            region.fixed.copy(),
        )  # fmt: skip
        count = box_kernels.keep_undecided(
            region.levels, own.low - region.low, tops, region.gains, region.weights, region.wrong,
            own.fixed, own.levels, own.gains, own.weights, own.wrong,
        )  # fmt: skip
        own = own._replace(
            levels=np.ascontiguousarray(own.levels[:, :count]), gains=own.gains[:count].copy(),
            weights=own.weights[:count].copy(), wrong=own.wrong[:count].copy(),
        )  # fmt: skip
        if self.run.switches.strips:
            most = box_kernels.most_of_strips(own.levels, tops, own.gains)
        else:
            most = own.gains[own.gains > 0].sum()
        return None if own.fixed[0] + most < goal else own

    def _whole(self, box: Box) -> Region:
        """All rows, seen from a box."""
        gains, wrong = self.gains(box.label)
        levels = np.empty((len(box.rays), len(gains)), np.int32)
        for out, index, low, high in zip(levels, box.rays, box.low, box.high, strict=True):
            ray, n_values = self.rays.rays[index], self.rays.n_values(self.rays.rays[index])
            codes = self.rays.columns[ray.feature].codes
            if ray.op.is_threshold:
                box_kernels.first_levels(codes, ray.op is Op.LT, n_values, low, high, out)
            else:
                fill_levels(out, ray, codes, n_values)
        low, tops = np.array(box.low, np.int64), np.array(box.high, np.int64)
        weights = self.run.problem.objective.weights
        return Region(low, tops - low, levels, gains, weights, wrong, np.zeros(3, np.int64))

    def _piece(self, region: Region) -> Piece:
        """The rows of a region for the exact kernels."""
        return Piece(
            region.levels, region.tops, region.gains, region.weights, region.wrong,
            tuple(region.fixed.tolist()), self.run.limits,
            self.run.problem.constraints.bounds_rows, self.run.scores.with_errors,
            self.run.expired,
        )  # fmt: skip

    def _is_leaf(self, region: Region, most_rows: int) -> bool:
        """Whether a box is small enough for the exact kernels."""
        few = float(np.prod(region.tops.astype(float))) <= FEW_POSITIONS**2
        return len(region.gains) <= most_rows or few

    def _leaf(self, box: Box, piece: Piece) -> bool:
        """Settle a box exactly, and offer what it holds."""
        run = self.run
        offset = run.scores.offset(len(box.rays))
        best = piece.best(run.best - offset, run.control)
        if best is not None and best + offset >= run.best:
            run.offer(best + offset, box.label, box.rays, box)
        return False

    def _find(
        self, box: Box, visit: Callable[[Box, Piece], bool], most_rows: int, goal: int
    ) -> None:
        """Visit all small parts of a box that may gain the goal, until a visit returns True."""
        stack: list[tuple[Box, Region | None]] = [(box, None)]
        while stack:
            if self.run.expired():
                raise Expired
            box, region = stack.pop()
            if box.bound < goal or (own := self._open(box, region, goal)) is None:
                continue
            if self._is_leaf(own, most_rows):
                if visit(box, self._piece(own)):
                    return
                continue
            stack.extend((part, own) for part in self._cut(box, own, goal, keep_all=True))

    def _cut(self, box: Box, region: Region, goal: int, *, keep_all: bool = False) -> list[Box]:
        """Parts of a box that may reach the goal, found by counting finer cells.

        None are left where the cells decide all positions, unless asked to `keep_all`.
        """
        k = len(box.rays)
        scratch = self._knives(k)
        out = np.empty((len(scratch.bounds), 1 + 2 * k), np.int64)
        corner = np.zeros(k, np.int64)
        number, best, decided = box_kernels.cut_box(
            region.levels, region.tops, region.gains, int(region.fixed[0]), goal, INNER_BINS[k],
            *scratch, out, corner,
        )  # fmt: skip
        run, offset = self.run, self.run.scores.offset(k)
        if not run.problem.constraints.bounds_rows:
            if best + offset >= run.best:
                high = tuple((region.low + corner).tolist())
                low = tuple(at - 1 for at in high)
                run.offer(int(best) + offset, box.label, box.rays, box._replace(low=low, high=high))
            if decided and not keep_all:
                return []
        parts = []
        for bound, *ends in out[:number].tolist():
            low = tuple(a + b for a, b in zip(box.low, ends[:k], strict=True))
            high = tuple(a + b for a, b in zip(box.low, ends[k:], strict=True))
            part = Box(min(bound, box.bound), box.label, box.rays, low, high)
            parts += halves(part) if is_most_of(part, box) else [part]
        return sorted(parts, key=lambda part: part.bound)

    def _knives(self, k: int) -> Knives:
        """Scratch of this thread for cutting boxes of `k` sides."""
        spaces = self._local.__dict__
        if k not in spaces:
            spaces[k] = Knives(
                np.empty((2, (INNER_BINS[k] + 2) ** k), np.int64),
                np.empty((k, INNER_BINS[k] + 3), np.int64),
                np.empty((MOST_ALIVE, k), np.int64),
                np.empty(MOST_ALIVE, np.int64),
                np.empty(MOST_ALIVE, np.int64),
                np.empty((MOST_ALIVE + 2, 2), np.int64),
            )
        return spaces[k]

    # -- ties ----------------------------------------------------------------------------------

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, hurry: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays, in their order, that gain the goal.

        In a hurry any will do, and they are looked for in the box `hint` first.
        """
        found: list[tuple[int, tuple[int, ...]]] = []

        def visit(box: Box, piece: Piece) -> bool:
            hit = piece.positions(goal, hurry=hurry)
            if hit is not None:
                errors, local = hit
                positions = tuple(a + b for a, b in zip(box.low, local, strict=True))
                found.append((0 if self.run.scores.with_errors else errors, positions))
            return hurry and bool(found)

        tops = self.rays.tops
        whole = Box(
            goal, label, rays, tuple(0 for _ in rays), tuple(int(tops[ray]) for ray in rays)
        )
        if hurry and self.hint is not None and (self.hint.label, self.hint.rays) == (label, rays):
            likely = self.hint._replace(bound=goal)
            self._find(likely, visit, LEAF_ROWS[len(rays)], goal)
            if found:
                return min(found)[1]
        self._find(whole, visit, LEAF_ROWS[len(rays)] if hurry else FEW_ROWS, goal)
        return min(found)[1] if found else None


def _sorted_box(
    bound: int, label: int, rays: tuple[int, ...], lows: list[int], highs: list[int]
) -> Box:
    """A box with its rays in their order."""
    order = sorted(range(len(rays)), key=lambda d: rays[d])
    return Box(
        bound, label, tuple(rays[d] for d in order), tuple(lows[d] for d in order),
        tuple(highs[d] for d in order),
    )  # fmt: skip


def _permutations(chosen: Sequence[int]) -> Iterator[tuple[int, ...]]:
    from itertools import permutations

    return permutations(chosen)
