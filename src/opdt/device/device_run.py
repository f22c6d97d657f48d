"""The search of a table whose rows are asked in passes on a device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.device.axis_sides import AxisSides
from opdt.device.box_arrays import BoxArrays, BoxesToCut, edges_at, sizes_of
from opdt.device.passes import (
    NO_RUN,
    UNKNOWN,
    CountedCells,
    DevicePasses,
    SetJobs,
    SetsAsked,
)
from opdt.device.table_question import TableQuestion
from opdt.engines.search import Switches, intervals, kernels
from opdt.engines.search.agenda import Agenda, Entry, Halted, Stream
from opdt.engines.search.boxes import Box
from opdt.engines.search.records import Task
from opdt.engines.search.rows import Count, Open, Step
from opdt.engines.search.scan import Scan
from opdt.engines.search.seeding import good_rules
from opdt.problem import CodedRule
from opdt.problem.coded import simplify
from opdt.rules import Op, Rule
from opdt.scale.driver import Driver, Stopped
from opdt.scale.layers import PartitionLayer
from opdt.scale.partition_rows import CELL_BYTES, Block, PartitionRows, Recount
from opdt.scale.partition_run import Found, PartitionRun
from opdt.scale.passes import CountCells, FetchRows, PassPart
from opdt.scale.scanner import Parts
from opdt.solution import Clock, Progress

Whole = NDArray[np.int64]

PAIRS_FIRST = -100  # a stage before all others


@dataclass(frozen=True)
class DeviceTuning:
    """The thresholds of the search on a device; none changes an answer."""

    # bins of an axis, by the number of axes: what one block counts in its own memory, then finer
    bins: tuple[tuple[int, ...], ...] = ((250,), (220,), (16, 36, 60), (9, 14))
    cells: int = 4_096  # of a box when it is cut
    fetched_rows: int = 100  # undecided rows of a box that are brought back
    seed_rows: int = 5_000  # rows of the sample that is searched for rules to start from
    least_rows: int = 1_000  # rows below which no sample is of use
    seed_seconds: float = 0.15
    seeds: int = 8  # rules of the sample that are measured
    boxes: int = 8_192  # boxes that are cut finer, or settled, in one pass
    first_boxes: int = 256  # the best of them, cut before the others: they may spare many
    sets: int = 64  # sets whose cells are brought back at a time
    jobs: int = 16_384  # ways to use sets of axes that are parted at a time
    again: int = 2_048  # sets that are counted again at a time
    memory_limit: int | None = None  # bytes that may be taken on the device
    worth_rows: int = 1_000_000  # rows from which "auto" uses a device


class OpenMany(NamedTuple):
    """Boxes of one number of rays, to be opened together."""

    boxes: BoxArrays


class DeviceDriver(Driver):
    """Watches the limits; passes are made by the device itself."""

    def __init__(self, clock: Clock, result_bytes: int) -> None:
        self.clock, self.max_passes, self.passes = clock, None, 0
        self.value, self.bound = float("-inf"), float("inf")
        self.tell = clock.budget.progress
        self._result_bytes = result_bytes

    @property
    def result_bytes(self) -> int:
        """Bytes of the counts of a pass; most of them stay on the device."""
        return self._result_bytes


class DeviceRun(PartitionRun):
    """One search over the rows of a device."""

    question: TableQuestion

    def __init__(
        self,
        question: TableQuestion,
        passes: DevicePasses,
        driver: DeviceDriver,
        switches: Switches,
        tuning: DeviceTuning,
        *,
        start: Rule | None = None,
        at_least: int | None = None,
    ) -> None:
        super().__init__(question, driver, switches)
        self.tuning, self.passes, self.first = tuning, passes, start
        passes.check = driver.check
        if at_least is not None:
            self.decide = True
            least = self.scores.least_value(at_least)
            self.control[kernels.BEST] = max(self.best, least)

    @cached_property
    def ceiling(self) -> int:
        """A value that no rule exceeds, from the weights of the classes."""
        return max(0, self.question.ceiling * self.scores.scale)

    @cached_property
    def method(self) -> Scan:
        """Counting cells, in passes over the rows."""
        return DeviceRows(self).scan

    def ask(self, *parts: PassPart) -> list[Parts]:
        """One pass over the rows: the result of each of its parts."""
        self.driver.check()
        self.driver.passes += 1
        return [self.passes.answer(part) for part in parts]

    def _raise(self, found: Found) -> None:
        """Take a rule as the best; where any that is good enough will do, the search is over."""
        super()._raise(found)
        if self.decide:
            self.halt()

    def take_rule(self, found: Found) -> None:
        """Take the loosest rule of its rays that has its value; nothing else is kept of them."""
        if found.value >= self.best:
            self._raise(found)
            self._rules.append(found)

    def coded(self, found: Found) -> CodedRule:
        """A rule of the problem; levels on `<` are negative codes, positions count from the end."""
        rays = self.prepared.rays
        conditions = []
        for index, at in zip(found.rays, found.spots, strict=True):
            ray = rays.rays[index]
            from_end = rays.n_values(ray) - 1 if ray.op is Op.LT else 0
            conditions.append(rays.condition(index, at + from_end))
        return CodedRule(simplify(tuple(conditions)), found.label)

    def box_of(self, rule: CodedRule) -> Box | None:
        """The box that holds just this rule; None where it has no rays."""
        spots: dict[int, int] = {}
        for c in rule.conditions:
            for index, ray in enumerate(self.rays):
                single = (ray.feature, ray.op, ray.code, ray.levels)
                if ray.op.is_threshold and (ray.feature, ray.op) == (c.feature, c.op):
                    spots[index] = c.code if ray.op is Op.GE else 1 - c.code
                elif single == (c.feature, c.op, c.code, c.levels):
                    spots[index] = 1
        rays = tuple(sorted(spots))
        if len(rays) != len(rule.conditions) or not rays or not self.prepared.fits(rays):
            return None
        high = tuple(spots[ray] for ray in rays)
        return Box(0, rule.label, rays, tuple(at - 1 for at in high), high)


class DeviceRows(PartitionRows):
    """The rows of a device. Counting costs little there, so that pairs need bound no triples."""

    run: DeviceRun
    _pairs = None

    @property
    def most_fetched(self) -> int:
        """Undecided rows of a box that come back: cutting it finer costs less than settling it."""
        return self.run.tuning.fetched_rows

    def layer(self, step: Step) -> PartitionLayer:
        """The axes in the first bins of a step, which are those of all questions about a table."""
        known, key = self.run.question.layers, (step.size, step.ladder[0])
        if key not in known:
            known[key] = super().layer(step)
        return known[key]

    def ladder(self, size: int) -> tuple[int, ...]:
        """Bins of an axis when so many are counted together."""
        bins = self.run.tuning.bins
        return bins[size - 1] if size <= len(bins) else super().ladder(size)

    def seed(self) -> None:
        """Have the best rules of a sample measured in the first pass."""
        run, tuning = self.run, self.run.tuning
        size = min(tuning.seed_rows, self.n_rows // 5)
        rules = [] if run.first is None else [run.first]
        if size >= tuning.least_rows and not run.decide:
            small = run.question.sample_problem(size)
            rules += good_rules(small, run.clock, tuning.seed_seconds, tuning.seeds)
        boxes = [run.box_of(run.problem.lower(rule)) for rule in rules]
        self._seeds = tuple(box for box in boxes if box is not None)

    def _stage(self, entry: Stream | Count) -> int:
        """Pairs come first, which cost little and settle intervals; then the largest sets.

        A good rule of many conditions spares most of the work on few.
        """
        size = entry.size if isinstance(entry, Stream) else entry.step.size
        return PAIRS_FIRST if size == 2 else -size

    def joins(self, entries: list[Entry], entry: Entry) -> bool:
        """Boxes of one number of rays are cut together, as many as one pass takes."""
        first = entries[0] if entries else None
        if not isinstance(first, OpenMany):
            return first is None or (
                not isinstance(entry, OpenMany) and super().joins(entries, entry)
            )
        if not isinstance(entry, OpenMany) or first.boxes.n_sides != entry.boxes.n_sides:
            return False
        held: int = sum(one.boxes.n_boxes for one in entries)
        return held + entry.boxes.n_boxes <= self.run.tuning.boxes

    def perform(self, agenda: Agenda, slot: int, entries: list[Entry]) -> None:
        """One pass over the rows."""
        if isinstance(entries[0], OpenMany):
            try:
                self._open(agenda, BoxArrays.joined([entry.boxes for entry in entries]))
            except Stopped as stop:
                self.run.stopped_by = stop.reason
                self.run.halt()
                raise Halted from stop
        else:
            super().perform(agenda, slot, entries)
        if self._driver.tell is not None and not self.run.halted():
            self.run.note(quick=True)
            share = agenda.share
            self._driver.tell(
                Progress(self.run.clock.elapsed(), self._driver.value, self._driver.bound, share)
            )

    # -- counts --------------------------------------------------------------------------------

    def _bound_block(  # type: ignore[override]
        self, agenda: Agenda, block: Block, part: CountCells, cells: CountedCells
    ) -> None:
        """What may hold the best on the sets of a block goes on the agenda."""
        first = 0
        for count in block.counts:
            self._bound_sets(agenda, block, part, cells, count, first)
            first += len(count.sets)

    def _bound_sets(
        self, agenda: Agenda, block: Block, part: CountCells, cells: CountedCells, count: Count,
        first: int,
    ) -> None:  # fmt: skip
        """Bound the sets of a count, the first of which is at a place of the block.

        The cells of the set of the best rule, if it is good enough, are brought back first. Sets of
        ordered axes are counted in finer bins, or parted where they were counted; the cells of
        others come back.
        """
        layer, task, tuning = block.layer, count.step.task, self.run.tuning
        ordered, sets = _ordered(layer), count.sets
        grid = layer.grid
        asked = SetsAsked(first, len(sets), grid.n_bins, grid.lone, ordered, task.groups)
        bounds, reached = cells.bounds(asked).T
        spans = self._are_intervals(layer, sets)
        self._settle_intervals(layer, count, np.flatnonzero(spans & (bounds >= self._need(count))))
        best = int(np.where(spans, UNKNOWN[1], reached).argmax())
        if not spans[best] and reached[best] >= self._need(count):
            self._bring(agenda, block, part, cells, count, first, np.array([best]))
            spans[best] = True
        order = np.argsort(-bounds, kind="stable")
        order = order[~spans[order] & (bounds[order] >= self._need(count))]
        plain = ordered[sets[order]].all(axis=1)
        if len(count.step.ladder) > 1:
            self._again(agenda, count, order[plain], bounds)
        else:
            self._part(agenda, layer, count, cells, first, order[plain])
        order = order[~plain]
        for at in range(0, len(order), tuning.sets):
            some = order[at : at + tuning.sets]
            some = some[bounds[some] >= self._need(count)]
            if len(some):
                self._bring(agenda, block, part, cells, count, first, some)

    def _need(self, count: Count) -> int:
        return self.scan.need(count.step.task, count.step.size)

    def _again(self, agenda: Agenda, count: Count, places: Whole, bounds: Whole) -> None:
        """Have sets counted in finer bins, those of similar bounds together."""
        task, offset = count.step.task, self.run.scores.offset(count.step.size)
        for at in range(0, len(places), self.run.tuning.again):
            own = places[at : at + self.run.tuning.again]
            most = min(count.step.most, task.most(int(bounds[own[0]])) + offset)
            step = count.step.finer._replace(most=most)
            agenda.add(most, Count(step, count.sets[own], count.ways[own]))

    def _bring(
        self, agenda: Agenda, block: Block, part: CountCells, cells: CountedCells, count: Count,
        first: int, places: Whole,
    ) -> None:  # fmt: skip
        """Bound some sets by their cells, as those of files are."""
        left = Count(count.step, count.sets[places], count.ways[places])
        own = CountCells(part.axes, part.extents, left.sets, part.group_of)
        super()._bound_block(agenda, Block(block.layer, [left]), own, cells.take(first + places))

    def _part(
        self, agenda: Agenda, layer: PartitionLayer, count: Count, cells: CountedCells, first: int,
        places: Whole,
    ) -> None:  # fmt: skip
        """Put what may hold the best on sets of ordered axes on the agenda, as boxes."""
        step, task, run = count.step, count.step.task, self.run
        size, offset = step.size, run.scores.offset(step.size)
        sides = AxisSides.of(layer)
        ways, passes = _ways(size, len(task.groups.labels))
        for at in range(0, len(places), max(1, run.tuning.jobs // len(ways))):
            own = places[at : at + max(1, run.tuning.jobs // len(ways))]
            set_of, way = np.repeat(own, len(ways)), np.tile(ways, len(own))
            rays = sides.rays(count.sets[set_of], way)
            fits = self._stand_together(rays)
            set_of, way, rays = set_of[fits], way[fits], rays[fits]
            label_at = np.tile(passes, len(own))[fits]
            goals = np.full(len(way), self._need(count))
            parts = cells.part(SetJobs(
                first + set_of, way, label_at, goals, layer.grid.n_bins, layer.grid.lone,
                task.groups,
            ))  # fmt: skip
            whole = np.minimum(step.most, _most(task, parts.bounds) + offset)
            jobs = parts.owners
            axes, own_ways = count.sets[set_of[jobs]], way[jobs]
            boxes = BoxArrays(
                whole - offset, task.groups.labels[label_at[jobs]], rays[jobs],
                sides.before(axes, own_ways, parts.first),
                np.minimum(sides.before(axes, own_ways, parts.last + 1), sides.tops[rays[jobs]]),
                np.minimum(self.n_rows, parts.rows),
            )  # fmt: skip
            self._add(agenda, boxes.take(np.asarray((boxes.low < boxes.high).all(axis=1))))
        run.add_counts(np.array([0, len(places), 0, 0]))

    def _stand_together(self, rays: Whole) -> NDArray[np.bool_]:
        """Which sets of rays (n, size) may stand together; -1 is no ray."""
        size = rays.shape[1]
        rules = self.scan.sets.rules(size)
        known = np.asarray((rays >= 0).all(axis=1) & (rays[:, 1:] > rays[:, :-1]).all(axis=1))
        if not self.scan.sets.fits_all(size):
            fits = [self.run.prepared.fits(tuple(own)) for own in rays[known].tolist()]
            known[known] = fits
        elif rules.allowed.size:
            kinds = rules.kinds[rays[known]]
            place = (kinds * rules.n_kinds ** np.arange(size - 1, -1, -1)).sum(axis=1)
            known[known] = rules.allowed[place]
        return known

    # -- intervals -----------------------------------------------------------------------------

    def _are_intervals(self, layer: PartitionLayer, sets: Whole) -> NDArray[np.bool_]:
        """Which sets of axes are the two ends of intervals that are settled by themselves."""
        if sets.shape[1] != 2:
            return np.zeros(len(sets), bool)
        settled = intervals.are_settled(self.run, layer.axes)
        return np.asarray((sets[:, 0] == sets[:, 1]) & settled[sets[:, 0]])

    def _settle_intervals(self, layer: PartitionLayer, count: Count, places: Whole) -> None:
        """Take the best interval of each of some axes, if it is good enough."""
        run = self.run
        axes = [layer.axes[a] for a in count.sets[places, 0].tolist()]
        for label in count.step.task.groups.labels.tolist() if axes else ():
            factors = run.factors[label]
            sums = run.passes.best_runs([axis.feature for axis in axes], factors)
            values = sums + run.scores.offset(2)
            for at in np.argsort(-values, kind="stable").tolist():
                if values[at] < run.best or sums[at] == NO_RUN:
                    break
                by_code = run.passes.sums_by_code(axes[at].feature, factors)
                first, last = loosest_run(by_code, int(sums[at]))
                spots = {axes[at].up: first, axes[at].down: -last}
                rays = tuple(sorted(spots))
                run.take_rule(
                    Found(int(values[at]), label, rays, tuple(spots[ray] for ray in rays))
                )
        run.add_counts(np.array([0, len(axes), 0, 0]))

    # -- boxes ---------------------------------------------------------------------------------

    def _refine(self, agenda: Agenda, entries: list[Recount | Open]) -> None:
        """Open boxes that were found on this machine with all others of as many rays."""
        boxes: dict[int, list[Box]] = {}
        for entry in entries:
            for box in [entry.box] if isinstance(entry, Open) else entry.boxes:
                boxes.setdefault(len(box.rays), []).append(box)
        for own in boxes.values():
            self._add(agenda, BoxArrays.of(own))

    def _add(self, agenda: Agenda, boxes: BoxArrays) -> None:
        """Put boxes on the agenda, the largest bounds first, in portions."""
        offset, tuning = self.run.scores.offset(boxes.n_sides), self.run.tuning
        order = np.argsort(-boxes.bounds, kind="stable")
        order = order[boxes.bounds[order] + offset >= self.run.best]
        at, number = 0, min(tuning.first_boxes, tuning.boxes)
        while at < len(order):
            own = boxes.take(order[at : at + number])
            agenda.add(int(own.bounds[0]) + offset, OpenMany(own))
            at, number = at + number, tuning.boxes

    def _open(self, agenda: Agenda, boxes: BoxArrays) -> None:
        """Settle boxes of few rows, and cut the others finer."""
        run, offset = self.run, self.run.scores.offset(boxes.n_sides)
        boxes = boxes.take(boxes.bounds + offset >= run.best)
        single = (boxes.high - boxes.low == 1).all(axis=1)
        small = (boxes.rows <= run.tuning.fetched_rows) | single
        fetched, large = boxes.take(small), boxes.take(~small)
        if fetched.n_boxes:
            own = fetched.boxes()
            (found,) = run.ask(FetchRows(tuple(own), self._question.n_classes))
            self._settle(own, found)
        sizes = sizes_of(large.low, large.high, run.tuning.cells)
        each = CELL_BYTES * sizes.prod(axis=1).cumsum()
        begin = 0
        while begin < large.n_boxes:
            before = int(each[begin - 1]) if begin else 0
            fit = int(np.searchsorted(each, before + self._driver.result_bytes, side="right"))
            end = max(begin + 1, fit)
            some = slice(begin, end)
            self._cut(agenda, BoxArrays(*(own[some] for own in large)), sizes[some])
            begin = end
        run.add_counts(np.array([boxes.n_boxes, 0, 0, 0]))
        run.watch()

    def _cut(self, agenda: Agenda, boxes: BoxArrays, sizes: Whole) -> None:
        """Cut boxes finer; what may hold the best goes on the agenda."""
        run, offset = self.run, self.run.scores.offset(boxes.n_sides)
        allowances = np.array([self._allowances.get(c, 0) for c in range(self._question.n_classes)])
        factors = np.zeros((self._question.n_classes,) * 2, np.int64)
        for label, own in self._priced.items():
            factors[label] = own
        goals = run.best - offset + allowances[boxes.labels]
        run.driver.check()
        run.driver.passes += 1
        cut = run.passes.cut(BoxesToCut(boxes, sizes, factors[boxes.labels], goals))
        best = int((cut.reached - allowances[boxes.labels]).argmax())
        if not run.problem.constraints.bounds_rows and int(cut.reached[best]) + offset > run.best:
            at = np.array(np.unravel_index(int(cut.corners[best]), sizes[best].tolist()))
            spots = edges_at(boxes.low[best], boxes.high[best], sizes[best], at) + 1
            high = tuple(spots.tolist())
            rays = tuple(boxes.rays[best].tolist())
            label = int(boxes.labels[best])
            hint = Box(0, label, rays, tuple(p - 1 for p in high), high)
            run.offer(int(cut.reached[best]) + offset, label, rays, hint)
        parts, owners = cut.parts, cut.parts.owners
        low, high_, own_sizes = boxes.low[owners], boxes.high[owners], sizes[owners]
        self._add(agenda, BoxArrays(
            np.minimum(parts.bounds - allowances[boxes.labels[owners]], boxes.bounds[owners]),
            boxes.labels[owners], boxes.rays[owners],
            edges_at(low, high_, own_sizes, parts.first),
            edges_at(low, high_, own_sizes, parts.last + 1), parts.rows,
        ))  # fmt: skip


def _ordered(layer: PartitionLayer) -> NDArray[np.bool_]:
    """Which axes of a layer have thresholds alone."""
    return np.array([axis.edges is not None and not len(axis.singles) for axis in layer.axes])


def _ways(size: int, n_labels: int) -> tuple[Whole, Whole]:
    """All ways to use so many axes, for all labels: bit d says `<`; and the labels' places."""
    ways = np.arange(1 << size)
    return np.tile(ways, n_labels), np.repeat(np.arange(n_labels), len(ways))


def _most(task: Task, bounds: Whole) -> Whole:
    """`Task.most` of many bounds."""
    return np.asarray((bounds - task.allowance) // task.parts * task.scale)


def loosest_run(sums: Whole, best: int) -> tuple[int, int]:
    """The first and last code of a run of this sum: the first such run, and its latest end.

    `sums` (n_codes,) are those of the codes; the first and the last code are in no run.
    """
    before = np.append(0, np.cumsum(sums[1:-1]))  # before[i]: the sum of the codes 1 … i
    latest = np.flip(np.maximum.accumulate(np.flip(before[1:])))  # the largest from i + 1 on
    first = int(np.argmax(latest - before[:-1] == best))
    ends = np.flatnonzero(before[first + 1 :] == before[first] + best)
    return first + 1, first + 1 + int(ends[-1])
