"""The search of a table whose rows are asked in passes on a device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from opdt.device.passes import CountedCells, DevicePasses, SetsAsked, SiftedBoxes
from opdt.device.table_question import TableQuestion
from opdt.engines.search import Switches
from opdt.engines.search.agenda import Agenda, Entry, Stream
from opdt.engines.search.boxes import Box
from opdt.engines.search.rows import Count
from opdt.engines.search.scan import Scan
from opdt.engines.search.seeding import good_rules
from opdt.problem import CodedRule
from opdt.problem.coded import simplify
from opdt.rules import Op
from opdt.scale.cutting import bins_of, even_edges
from opdt.scale.driver import Driver
from opdt.scale.layers import PartitionLayer
from opdt.scale.partition_rows import Block, PartitionRows
from opdt.scale.partition_run import Found, PartitionRun
from opdt.scale.passes import CountCells, PassPart, SiftBoxes
from opdt.scale.scanner import Parts
from opdt.solution import Clock

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class DeviceTuning:
    """The thresholds of the search on a device; none changes an answer."""

    # bins of an axis, by the number of axes: what one block counts in its own memory, then finer
    bins: tuple[tuple[int, ...], ...] = ((250,), (220,), (16, 36, 60), (9, 14))
    inner_bins: tuple[int, ...] = (512, 62, 15, 7)  # places of a side when a box is cut
    fetched_rows: int = 4_000  # undecided rows of a box that are brought back
    seed_rows: int = 5_000  # rows of the sample that is searched for rules to start from
    least_rows: int = 1_000  # rows below which no sample is of use
    seed_seconds: float = 0.15
    seeds: int = 8  # rules of the sample that are measured
    boxes: int = 512  # boxes that are cut finer, or settled, in one pass
    parts: int = 32  # boxes whose parts are made at a time
    sets: int = 64  # sets whose cells are brought back at a time
    again: int = 2_048  # sets that are counted again at a time


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
    ) -> None:
        super().__init__(question, driver, switches)
        self.tuning, self._passes = tuning, passes
        passes.check = driver.check

    @cached_property
    def method(self) -> Scan:
        """Counting cells, in passes over the rows."""
        return DeviceRows(self).scan

    def ask(self, *parts: PassPart) -> list[Parts]:
        """One pass over the rows: the result of each of its parts."""
        self.driver.check()
        self.driver.passes += 1
        return [self._passes.answer(part) for part in parts]

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

    def ladder(self, size: int) -> tuple[int, ...]:
        """Bins of an axis when so many are counted together."""
        bins = self.run.tuning.bins
        return bins[size - 1] if size <= len(bins) else super().ladder(size)

    def seed(self) -> None:
        """Have the best rules of a sample measured in the first pass."""
        run, tuning = self.run, self.run.tuning
        size = min(tuning.seed_rows, self.n_rows // 5)
        if size < tuning.least_rows:
            return
        small = run.question.sample_problem(size)
        rules = good_rules(small, run.clock, tuning.seed_seconds, tuning.seeds)
        boxes = [run.box_of(run.problem.lower(rule)) for rule in rules]
        self._seeds = tuple(box for box in boxes if box is not None)

    def _stage(self, entry: Stream | Count) -> int:
        """The largest sets come first: a good rule on them spares most of the work on others."""
        return -(entry.size if isinstance(entry, Stream) else entry.step.size)

    def joins(self, entries: list[Entry], entry: Entry) -> bool:
        """Few boxes at a time: a pass costs little, and the best of them spare most of the rest."""
        return super().joins(entries, entry) and (
            isinstance(entry, Stream | Count) or len(entries) < self.run.tuning.boxes
        )

    def _bound_block(  # type: ignore[override]
        self, agenda: Agenda, block: Block, part: CountCells, cells: CountedCells
    ) -> None:
        """Bring back the cells of the sets that may hold the best, and bound these as ever.

        The set of the best rule comes first, then those of the largest bounds.
        """
        first, ordered = 0, _ordered(block.layer)
        for count in block.counts:
            number, task = len(count.sets), count.step.task
            asked = SetsAsked(first, number, block.layer.grid.n_bins, ordered, task.groups)
            bounds, reached = cells.bounds(asked).T
            order = np.argsort(-bounds, kind="stable")
            best = int(reached.argmax())
            self._bring(agenda, block, part, cells, count, first, np.array([best]))
            order = order[(order != best) & (bounds[order] >= self._need(count))]
            if len(count.step.ladder) > 1:
                finer = order[ordered[count.sets[order]].all(axis=1)]
                self._again(agenda, count, finer, bounds)
                order = order[~ordered[count.sets[order]].all(axis=1)]
            for at in range(0, len(order), self.run.tuning.sets):
                some = order[at : at + self.run.tuning.sets]
                some = some[bounds[some] >= self._need(count)]
                if len(some):
                    self._bring(agenda, block, part, cells, count, first, some)
            first += number

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

    def _parts(self, sift: SiftBoxes, result: Parts) -> Iterator[Box]:
        """The parts of the boxes that may still reach the best; that of the best rule first."""
        boxes: SiftedBoxes = result["boxes"]
        bounds, reached = boxes.bounds().T
        order = np.argsort(-reached, kind="stable")
        for at in range(0, len(order), self.run.tuning.parts):
            some = order[at : at + self.run.tuning.parts]
            some = some[bounds[some] >= [self._goal(sift.boxes[b]) for b in some.tolist()]]
            if len(some):
                own = SiftBoxes(
                    tuple(sift.boxes[b] for b in some.tolist()),
                    tuple(sift.edges[b] for b in some.tolist()), sift.factors,
                )  # fmt: skip
                yield from super()._parts(own, boxes.take(some))

    def _goal(self, box: Box) -> int:
        """What a rule of a box must be worth, its conditions apart."""
        offset = self.run.scores.offset(len(box.rays))
        return self.run.best - offset + self._allowances.get(box.label, 0)

    def _edges(self, box: Box, room: int) -> tuple[Whole, ...]:
        """Levels that cut the sides of a box evenly: codes have no gaps."""
        inner = self.run.tuning.inner_bins
        most = inner[min(len(box.rays), len(inner)) - 1]
        bins = min(bins_of(self.run, box, room), most)
        return tuple(
            even_edges(low, high, bins) for low, high in zip(box.low, box.high, strict=True)
        )


def _ordered(layer: PartitionLayer) -> NDArray[np.bool_]:
    """Which axes of a layer have thresholds alone."""
    return np.array([axis.edges is not None and not len(axis.singles) for axis in layer.axes])
