"""Rows in files or on a cluster: all that is asked of them together is one pass over them.

Gains are sums over rows, so the counts of partitions add up. Counts bound all rules from the cells
of coarsely cut features; the boxes of cells that may hold the optimum are cut finer in further
passes, and once few of their rows are undecided, these are brought back and settled in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import scan_kernels
from opdt.engines.search.agenda import Agenda, Entry, Halted, Stream
from opdt.engines.search.boxes import Box
from opdt.engines.search.pair_bounds import PairBounds
from opdt.engines.search.pricing import UnitPrice
from opdt.engines.search.records import Task, group_classes, priced_tasks, task_of
from opdt.engines.search.regions import FREE
from opdt.engines.search.rows import Count, Open, Rows, Step
from opdt.engines.search.scan import Scan
from opdt.engines.search.scan_kernels import About, Alone, Counted, ScanScratch
from opdt.engines.search.seeding import priced_rows, unit_prices
from opdt.scale.cutting import edges_of, parts_of_all
from opdt.scale.driver import Stopped
from opdt.scale.layers import PartitionLayer
from opdt.scale.leaves import Leaf
from opdt.scale.partition_run import PartitionRun
from opdt.scale.passes import CountCells, FetchRows, PassPart, SiftBoxes
from opdt.scale.scanner import Parts
from opdt.scale.seeds import seeds

Whole = NDArray[np.int64]

PAIRS_SHARE = 8  # the tables of pairs take at most this part of the room there is
MOST_STEPS = 4  # steps of a set that are tried at most, for each row that counting it would read
FEW_STEPS = 1 << 16  # and that are always tried
BATCH = 4_096  # sets of axes that are made at a time
RECORDS = 4_096  # records that are taken at a time
SETS = 256  # sets that are bounded between two looks at the clock
CELL_BYTES = 24  # mass, loss and rows of a cell of a box
ROW_BYTES = 64  # of a row brought back
LEAST_CELLS = 1000  # of a box that is cut


class Recount(NamedTuple):
    """A set of axes with large boxes: one count in finer bins tells more than cutting each."""

    step: Step
    axes: tuple[int, ...]
    boxes: list[Box]


class Block(NamedTuple):
    """Counts that are made in one pass, in the bins of one layer; `sets` are those of all."""

    layer: PartitionLayer
    counts: list[Count]

    def part(self, group_of: Whole) -> CountCells:
        """What the pass has to do."""
        sets = np.concatenate([count.sets for count in self.counts])
        return CountCells(self.layer.binnings, self.layer.extents, sets, group_of)


class PartitionRows(Rows):
    """The rows of a run over partitions."""

    keeps_ties = True
    inline = True

    def __init__(self, run: PartitionRun) -> None:
        self.run, self._tuning = run, run.switches.tuning
        self._question, self._driver = run.question, run.driver
        self.n_rows = run.question.n_rows
        self.scan = Scan(run, self)
        objective = run.problem.objective
        self._group_of, self._groups = group_classes(
            objective.labels, run.question.ratio, run.question.n_classes
        )
        self._channels = scan_kernels.n_channels(self._groups)
        self._sample = run.question.sample_keys()
        self._layers: dict[tuple[int, int], PartitionLayer] = {}
        self._seeds: tuple[Box, ...] = ()
        self._pairs_made = self._pairs_left = 0  # streams of pairs at their end; pairs that wait

    @property
    def most_fetched(self) -> int:
        """Undecided rows of a box that are brought back."""
        return self._tuning.fetched_rows

    # -- what rows are worth -------------------------------------------------------------------

    @cached_property
    def tasks(self) -> list[Task]:
        """One for all labels, or with prices, which differ, one for each."""
        return priced_tasks(
            task_of(self._groups, np.empty(0, np.intp), self.run.scores), self.prices
        )

    @cached_property
    def prices(self) -> dict[int, UnitPrice]:
        """The prices of limits on rows, by label."""
        run, question = self.run, self._question
        rows = priced_rows(question.n_rows, len(run.rays))
        if not run.switches.prices or not rows:
            return {}
        return unit_prices(
            run.problem, run.scores, lambda: question.sample_problem(rows), run.clock
        )

    @cached_property
    def _priced(self) -> dict[int, Whole]:
        """The value of a unit of weight of each class, by label, with the prices of limits."""
        out = {}
        for label, factors in self.run.factors.items():
            price = self.prices.get(label, FREE)
            added = np.full(len(factors), price.wrong, np.int64)
            added[label] = price.right
            out[label] = factors + added
        return out

    def seed(self) -> None:
        """Have the best rules of the sample measured in the first pass."""
        self._seeds = seeds(self.run)

    def ladder(self, size: int) -> tuple[int, ...]:
        """Bins of an axis: coarse ones first, then finer."""
        return self._tuning.ladder[size - 1]

    # -- what there is to count ----------------------------------------------------------------

    def layer(self, step: Step) -> PartitionLayer:
        """The axes in the first bins of a step."""
        key = step.size, step.ladder[0]
        if key not in self._layers:
            self._layers[key] = PartitionLayer.of(
                self._question, self._sample, *key, self._tuning.levels[step.size - 1]
            )
        return self._layers[key]

    @cached_property
    def _pairs(self) -> PairBounds | None:
        """The counts of all pairs, which bound larger sets."""
        run = self.run
        if run.problem.structure.depth < 3 or not run.switches.pairs:
            return None
        room = self._driver.room / PAIRS_SHARE
        return PairBounds.of(self._pairs_layer.axes, len(run.rays), self._channels, room)

    @cached_property
    def _pairs_layer(self) -> PartitionLayer:
        return self.layer(Step(0, self.tasks[0], 2, self.ladder(2), 0))

    def counts(self, agenda: Agenda, step: Step) -> Iterator[Count]:
        """All sets of axes of a step that may hold a rule good enough."""
        layer, size = self.layer(step), step.size
        paired = size == 2 and self._pairs is not None  # their counts bound larger sets, too
        for sets in self.scan.sets.batches(layer.axes, size, BATCH, all_sets=paired):
            self._driver.check()
            if size > 2:
                sets = self._open_sets(layer, step, sets)
            if len(sets):
                yield Count(step, sets, np.full(len(sets), scan_kernels.ALL_WAYS))
        self._pairs_made += size == 2

    def _open_sets(self, layer: PartitionLayer, step: Step, sets: Whole) -> Whole:
        """The sets of axes that the counts of pairs do not rule out, once all are known."""
        most = max(FEW_STEPS, MOST_STEPS * self.n_rows)
        known = self._pairs_made == len(self.tasks) and not self._pairs_left
        if self._pairs is None or not known or self._pairs.n_steps**step.size > most:
            return sets
        rules, need = self.scan.sets.rules(step.size), self.scan.need(step.task, step.size)
        return self._pairs.open(layer.grid, sets, step.task.groups, rules, need)

    # -- passes --------------------------------------------------------------------------------

    def joins(self, entries: list[Entry], entry: Entry) -> bool:
        """Whether an entry shares a pass: first counts with first counts, all else with all else.

        What is counted for the first time may spare much of what is left of the rest.
        """
        first = Stream, Count
        return not entries or isinstance(entries[0], first) == isinstance(entry, first)

    def perform(self, agenda: Agenda, slot: int, entries: list[Entry]) -> None:
        """One pass over the rows: as many of the entries as fit; the others wait again."""
        try:
            if isinstance(entries[0], Recount | Open):
                self._refine(agenda, entries)
            else:
                self._count_first(agenda, entries)
        except Stopped as stop:
            self.run.stopped_by = stop.reason
            self.run.halt()
            raise Halted from stop

    def _count_first(self, agenda: Agenda, entries: list[Stream | Count]) -> None:
        """Count sets of axes for the first time, in the order of their stages."""
        stage = self._stage
        now = min(map(stage, entries))
        room = self._driver.result_bytes // (8 * self._channels)
        counts: list[Count] = []
        for entry in entries:
            if stage(entry) > now or room <= 0:
                agenda.add(_bound_of(entry), entry)
                continue
            if isinstance(entry, Stream):
                following = iter(entry.next, None)
            else:
                following = iter([entry])
                self._pairs_left -= entry.step.size == 2
            for count in following:
                taken, left, room = self._fit(count, room, alone=not counts)
                counts += [] if taken is None else [taken]
                if left is not None:
                    self._pairs_left += left.step.size == 2
                    agenda.add(left.step.most, left)
                if room <= 0:
                    break
            if room <= 0 and isinstance(entry, Stream):
                agenda.add(entry.bound, entry)
        if counts:
            self._count(agenda, counts)

    def _stage(self, entry: Stream | Count) -> int:
        """When sets of axes are counted: the smallest first, since pairs bound what is larger."""
        return max(2, entry.size if isinstance(entry, Stream) else entry.step.size)

    def _fit(
        self, count: Count, room: int, *, alone: bool
    ) -> tuple[Count | None, Count | None, int]:
        """The sets that fit into so many cells, the others, and the cells left."""
        cells = self.layer(count.step).extents[count.sets].prod(axis=1).cumsum()
        fit = int(np.searchsorted(cells, room, side="right"))
        fit = fit or int(alone)  # a set that is too large goes alone
        taken = Count(count.step, count.sets[:fit], count.ways[:fit]) if fit else None
        left = Count(count.step, count.sets[fit:], count.ways[fit:])
        room -= int(cells[fit - 1]) if fit else 0
        return (taken, None, room) if fit == len(count.sets) else (taken, left, 0)

    def _refine(self, agenda: Agenda, entries: list[Recount | Open]) -> None:
        """Count some sets in finer bins, cut large boxes finer, bring back the rows of others."""
        run = self.run
        room = self._driver.result_bytes
        cells = room // (16 * self._channels)  # half of the room, if so many are needed
        counts: list[Count] = []
        boxes: list[Box] = []
        for entry in entries:
            if isinstance(entry, Open):
                boxes.append(entry.box)
                continue
            alive = [box for box in entry.boxes if self._bound(box) >= run.best]
            large = sum(box.rows > self.most_fetched for box in alive)
            if large < self._tuning.many_boxes:
                boxes += alive
                continue
            sets = np.array([entry.axes], np.int64)
            count = Count(entry.step, sets, np.full(1, scan_kernels.ALL_WAYS))
            size = int(self.layer(entry.step).extents[sets].prod())
            if size <= cells or not counts:
                counts.append(count)
                cells -= size
                room -= 8 * self._channels * size
            else:
                agenda.add(entry.step.most, entry)
        fetched, sifted = self._choose(agenda, boxes, max(0, room) // 2)
        most = max(0, room) // (2 * CELL_BYTES * max(1, len(sifted)))
        edges = tuple(self._edges(box, most) for box in sifted)
        sift = SiftBoxes(tuple(sifted), edges, self._priced)
        fetch = FetchRows(tuple(fetched), self._question.n_classes)
        others: list[PassPart] = [part for part in (sift, fetch) if part.boxes]
        if not counts and not others:
            return
        results = self._count(agenda, counts, others)
        if sifted:
            for part in self._parts(sift, results[0]):
                agenda.add(self._bound(part), Open(part, None))
        if fetched:
            self._settle(fetched, results[-1])
        run.add_counts(np.array([len(fetched) + len(sifted), 0, 0, 0]))
        run.watch()

    def _parts(self, sift: SiftBoxes, result: Parts) -> Iterator[Box]:
        """The parts of sifted boxes that may reach the best."""
        return parts_of_all(self.run, sift, result, self._allowances)

    @cached_property
    def _allowances(self) -> dict[int, int]:
        """What priced limits add to the gain of a rule within them, by label."""
        return {label: price.allowance for label, price in self.prices.items()}

    def _edges(self, box: Box, room: int) -> tuple[Whole, ...]:
        """Levels between which the sides of a box are cut into at most so many cells."""
        return edges_of(self.run, box, self._sample, room)

    def _bound(self, box: Box) -> int:
        """What a rule of a box may be worth at most, its conditions included."""
        return box.bound + self.run.scores.offset(len(box.rays))

    def _choose(
        self, agenda: Agenda, boxes: Sequence[Box], room: int
    ) -> tuple[list[Box], list[Box]]:
        """Boxes whose rows come back, and boxes to be cut; the others wait for another pass.

        `room` is that for rows, in bytes, and as much again for cells.
        """
        most_rows = min(self.most_fetched, max(1, room // ROW_BYTES))
        rows_left = max(1, room // ROW_BYTES)
        most = max(1, room // (CELL_BYTES * LEAST_CELLS))
        fetched: list[Box] = []
        sifted: list[Box] = []
        for box in boxes:
            if box.rows <= most_rows and box.rows <= rows_left:
                rows_left -= box.rows
                fetched.append(box)
            elif box.rows > most_rows and len(sifted) < most:
                sifted.append(box)
            else:
                agenda.add(self._bound(box), Open(box, None))
        return fetched, sifted

    def _settle(self, boxes: list[Box], parts: Parts) -> None:
        """Settle boxes exactly on the rows brought back, the most promising first."""
        run = self.run
        order = np.argsort(parts["box"], kind="stable")
        ends = np.searchsorted(parts["box"][order], np.arange(len(boxes) + 1))
        for b, box in enumerate(boxes):
            self._driver.watch(b, len(boxes))
            if self._bound(box) < run.best:
                continue
            own = order[ends[b] : ends[b + 1]]
            rows = {name: parts[name][own] for name in ("levels", "groups", "weights")}
            price = self.prices.get(box.label, FREE)
            leaf = Leaf.of(run, box, rows, parts["always"][b], self._priced[box.label], price)
            value = leaf.settle()
            if value is not None:
                run.take_leaf(value, leaf)

    # -- counting ------------------------------------------------------------------------------

    def _count(
        self, agenda: Agenda, counts: list[Count], others: Sequence[PassPart] = ()
    ) -> list[Parts]:
        """One pass: cells are counted and bounded; the results of its other parts.

        The seeds are measured in the first one.
        """
        blocks: dict[tuple[int, int], Block] = {}
        for count in counts:
            key = count.step.size, count.step.ladder[0]
            blocks.setdefault(key, Block(self.layer(count.step), [])).counts.append(count)
        parts = [block.part(self._group_of) for block in blocks.values()]
        chosen, self._seeds = self._seeds, ()
        measured = [FetchRows(chosen, self._question.n_classes)] if chosen else []
        results = self.run.ask(*others, *measured, *parts)
        for box, cover in zip(
            chosen, results[len(others)]["always"] if chosen else (), strict=True
        ):
            self._measured(box, cover)
        cells = [result["cells"] for result in results[len(results) - len(parts) :]]
        for block, part, own in zip(blocks.values(), parts, cells, strict=True):
            self._bound_block(agenda, block, part, own)
        self.run.watch()
        return results[: len(others)]

    def _measured(self, box: Box, cover: Whole) -> None:
        """Take a rule that was measured: `cover` (n_classes,) are the weights of its rows."""
        run = self.run
        covered = int(cover.sum())
        if covered and run.is_fine(covered, covered - int(cover[box.label])):
            value = int((run.factors[box.label] * cover).sum())
            run.offer(value + run.scores.offset(len(box.rays)), box.label, box.rays, box)

    def _bound_block(self, agenda: Agenda, block: Block, part: CountCells, cells: Whole) -> None:
        """Bound the rules on the sets of a block; keep what may hold the best."""
        at = 0
        for count in block.counts:
            self._bound_count(agenda, count, block.layer, part, at, cells)
            at += len(count.sets)
        if self._pairs is not None and block.layer is self._pairs_layer:
            for s, (one, two) in enumerate(part.sets.tolist()):
                self._pairs.add(one, two, part.cells_of(s, cells))

    def _bound_count(
        self, agenda: Agenda, count: Count, layer: PartitionLayer, part: CountCells, first: int,
        cells: Whole,
    ) -> None:  # fmt: skip
        """Bound the rules on some sets, the first of which is at a place of a block."""
        step, size = count.step, count.step.size
        boxes: dict[int, list[Box]] = {}
        alive = list(self._alive(step, layer, part, first, len(count.sets), cells))
        for place, record, bound in alive:
            if bound >= self.run.best:  # which may have risen since
                box = layer.positions.box(record, size, bound - self.run.scores.offset(size))
                if box is not None:
                    rows = _undecided(layer, record, part.cells_of(place, cells))
                    boxes.setdefault(place, []).append(box._replace(rows=min(self.n_rows, rows)))
        self.run.add_counts(np.array([0, len(count.sets), 0, 0]))
        for place, own in boxes.items():
            large = sum(box.rows > self.most_fetched for box in own)
            if len(step.ladder) > 1 and large >= self._tuning.many_boxes:
                most = max(map(self._bound, own))
                axes = tuple(part.sets[place].tolist())
                agenda.add(most, Recount(step.finer._replace(most=most), axes, own))
                continue
            for box in own:
                agenda.add(self._bound(box), Open(box, None))

    def _alive(
        self, step: Step, layer: PartitionLayer, part: CountCells, first: int, number: int,
        cells: Whole,
    ) -> Iterator[tuple[int, list[int], int]]:  # fmt: skip
        """The places, records and bounds of what may hold the best on some sets of a block."""
        scan, size, task = self.scan, step.size, step.task
        # an ordered ray has one place more than its axis has bins
        own = part.sets[first : first + number]
        largest = int((layer.grid.n_bins[own] + 1).prod(axis=1).max())
        weight = int(cells[: part.starts[1]].sum())  # of all rows
        grid = layer.grid
        scratch = ScanScratch.of(size, largest * self._channels, weight, grid.lone.shape[1])
        records = np.empty((RECORDS, scan_kernels.HEAD + 4 * size), np.int64)
        state = np.array([first, 0], np.int64)
        counted, ways = Counted(cells, part.starts), np.full(len(part.sets), scan_kernels.ALL_WAYS)
        while state[0] < first + number:
            self._driver.check()
            begun, end = int(state[0]), min(first + number, int(state[0]) + SETS)
            rules, asked = scan.sets.rules(size), scan.asked(task, size)
            scan_kernels.scan_sets(
                About(grid, Alone.none(), task.groups, self._channels, rules, asked),
                part.sets[:end], ways, 0, counted, np.zeros(2, np.int64), scratch, records, state,
            )  # fmt: skip
            for record, bound in scan.take(layer, step, records[: state[1]]):
                yield record[scan_kernels.OWNER], record, bound
            state[1] = 0
            if int(state[0]) == begun:  # more records of one set than there is room for
                records = np.empty((4 * len(records), records.shape[1]), np.int64)


def _bound_of(entry: Stream | Count) -> int:
    return entry.bound if isinstance(entry, Stream) else entry.step.most


def _undecided(layer: PartitionLayer, record: list[int], counted: Whole) -> int:
    """Weight of the rows inside a record's box that its tightest rule need not cover.

    `counted` (n_groups, …) are the cells of the record's axes, the first axis last.
    """
    size, head = layer.size, scan_kernels.HEAD
    inside, tight = counted.sum(axis=0), counted.sum(axis=0)
    for d in range(size):
        ray, low, high = (record[head + n * size + d] for n in range(3))
        axis = size - 1 - d
        most = layer.covered(ray, low, loosest=True)
        least = layer.covered(ray, high, loosest=False)
        inside = np.moveaxis(np.moveaxis(inside, axis, 0)[most], 0, axis)
        tight = np.moveaxis(np.moveaxis(tight, axis, 0)[least], 0, axis)
    return int(inside.sum() - tight.sum())
