"""The counting passes: cells of coarsely cut features bound all rules of so many conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import scan_kernels
from opdt.engines.search.grid import LADDER
from opdt.engines.search.pair_bounds import PairBounds
from opdt.engines.search.records import Task, group_classes, priced_tasks, task_of
from opdt.engines.search.scan_kernels import Alone, Scratch
from opdt.engines.search.sets import AxisSets
from opdt.scale import kernels, refining
from opdt.scale.boxes import Box
from opdt.scale.layers import Layer
from opdt.scale.standing import Found, Standing
from opdt.scale.works import Count, Fetch, Pass, Work

Whole = NDArray[np.int64]
PAIRS_SHARE = 8  # the tables of pairs take at most this part of the room there is
MOST_STEPS = 4  # steps of a set that are tried at most, for each row that counting it would read
FEW_STEPS = 1 << 16  # and that are always tried
BATCH = 4_096  # sets of axes that are made at a time
RECORDS = 4_096  # records that are taken at a time
MANY_BOXES = 3  # large boxes of a set that is counted once more, at least
SETS = 256  # sets that are bounded between two looks at the clock


class Alive(NamedTuple):
    """A box found in a block, with the record and the set of axes that it is from."""

    box: Box
    record: list[int]
    owner: int


class Counting:
    """Counts cells in blocks that fit into memory, and bounds the rules that lie in them."""

    def __init__(self, standing: Standing) -> None:
        self._standing, self._question = standing, standing.question
        problem = standing.problem
        # What is decided exactly stays open too: ties are decided where all rows are.
        self._sets = AxisSets(self._question.prepared, problem.constraints, open_all=True)
        self._group_of, groups = group_classes(
            problem.objective.labels, self._question.ratio, self._question.n_classes
        )
        whole = task_of(groups, np.empty(0, np.intp), standing.scores)
        self._tasks = priced_tasks(whole, standing.prices)
        self._limits = standing.limits if problem.constraints.bounds_rows else None
        self._channels = scan_kernels.n_channels(groups)
        self._layers: dict[int, Layer] = {}  # of the coarsest bins, by size
        self._pairs: PairBounds | None = None

    def run(self, seeds: tuple[Box, ...]) -> None:
        """Count the rules of one condition, of two, …; measure the seeds in the first pass."""
        depth = self._standing.problem.structure.depth
        layers = self._layers = {size: self._layer(size, 0) for size in range(1, depth + 1)}
        if depth > 2 and self._standing.switches.pairs:
            room = self._standing.driver.room / PAIRS_SHARE
            n_rays = len(self._standing.rays)
            self._pairs = PairBounds.of(layers[2].axes, n_rays, self._channels, room)
        self._count_all({size: layers[size] for size in layers if size <= 2}, self._all, seeds)
        for size in range(3, depth + 1):
            self._standing.later = size
            self._count_all({size: layers[size]}, self._all)
        self._standing.later = None
        for step in range(1, max(len(LADDER[size]) for size in layers)):
            self._again(step)

    def _axes(self, box: Box) -> tuple[int, ...]:
        """The set of axes that a box lies on."""
        axis_of = self._layers[len(box.rays)].positions.axis_of
        return tuple(sorted(axis_of[ray] for ray in box.rays))

    def _again(self, step: int) -> None:
        """Count once more, in finer bins, the sets that have many large boxes left.

        One set in one pass tells more of them than cutting each of the boxes.
        """
        self._standing.prune()
        large: dict[int, Counter[tuple[int, ...]]] = {}
        for box in self._standing.waiting:
            size = len(box.rays)
            if box.rows > refining.FETCHED_ROWS and step < len(LADDER[size]):
                large.setdefault(size, Counter())[self._axes(box)] += 1
        sets = {
            size: np.array([own for own, n in counts.items() if n >= MANY_BOXES], np.int64)
            for size, counts in large.items()
        }
        layers = {size: self._layer(size, step) for size in sets if len(sets[size])}
        self._count_all(layers, lambda layer: iter([sets[layer.size]]))

    def _all(self, layer: Layer) -> Iterator[Whole]:
        """All sets of axes that may hold a rule good enough."""
        wanted = self._pairs is not None and layer.size == 2  # their counts bound larger sets, too
        for sets in self._sets.batches(layer.axes, layer.size, BATCH, all_sets=wanted):
            self._standing.driver.check()
            yield self._open(layer, sets) if layer.size > 2 else sets

    def _count_all(
        self,
        layers: dict[int, Layer],
        sets_of: Callable[[Layer], Iterator[Whole]],
        seeds: tuple[Box, ...] = (),
    ) -> None:
        """Count sets of axes in as many passes as they need."""
        for block in self._blocks(layers, sets_of):
            self._count(layers, block, seeds)
            seeds = ()

    def _layer(self, size: int, step: int) -> Layer:
        return Layer.of(self._question, self._standing.sample, size, step)

    def _blocks(
        self, layers: dict[int, Layer], sets_of: Callable[[Layer], Iterator[Whole]]
    ) -> Iterator[dict[int, Whole]]:
        """Sets of axes by size, as many as may be counted in one pass."""
        cell = 8 * self._channels
        room = self._standing.driver.result_bytes // cell
        block: dict[int, Whole] = {}
        used = 0
        for size, layer in layers.items():
            for sets in sets_of(layer):
                cells = layer.extents[sets].prod(axis=1)
                while len(sets):
                    fit = int(np.searchsorted(np.cumsum(cells), room - used, side="right"))
                    fit = fit or int(not used)  # a set that is too large goes alone
                    if fit:
                        own = sets[:fit]
                        block[size] = np.concatenate([block[size], own]) if size in block else own
                        used += int(cells[:fit].sum())
                    sets, cells = sets[fit:], cells[fit:]
                    if len(sets):
                        yield block
                        block, used = {}, 0
                        room = self._standing.driver.result_bytes // cell
        if block:
            yield block

    def _open(self, layer: Layer, sets: Whole) -> Whole:
        """The sets of axes that the counts of pairs do not rule out."""
        standing, size = self._standing, layer.size
        most = max(FEW_STEPS, MOST_STEPS * self._question.n_rows)
        if self._pairs is None or self._pairs.n_steps**size > most:
            return sets
        rules, best = self._sets.rules(size), standing.best - standing.scores.offset(size)
        found = [
            self._pairs.open(layer.grid, sets, task.groups, rules, task.need(best))
            for task in self._tasks
        ]
        return found[0] if len(found) == 1 else np.unique(np.concatenate(found), axis=0)

    def _count(
        self, layers: dict[int, Layer], block: dict[int, Whole], seeds: tuple[Box, ...]
    ) -> None:
        """One pass: the cells of a block, and the weights of the seeds."""
        counts = [
            Count(layers[size].binnings, layers[size].extents, sets, self._group_of)
            for size, sets in block.items()
        ]
        works: list[Work] = [*counts]
        if seeds:
            works.append(Fetch(seeds, self._question.n_classes))
        task = Pass(self._question.coder, self._standing.rays, tuple(works))
        parts = self._standing.driver.run(task)
        if seeds:
            self._measured(seeds, task.part(parts, len(works) - 1)["always"])
        for at, (size, count) in enumerate(zip(block, counts, strict=True)):
            self._bound(layers[size], count, task.part(parts, at)["cells"])
        self._standing.note()

    def _measured(self, boxes: tuple[Box, ...], always: Whole) -> None:
        standing = self._standing
        for box, cover in zip(boxes, always, strict=True):
            covered = int(cover.sum())
            if covered and standing.is_fine(covered, covered - int(cover[box.label])):
                value = int((standing.factors[box.label] * cover).sum())
                value += standing.scores.offset(len(box.rays))
                standing.take(Found(value, box.label, box.rays, box.high))

    def _bound(self, layer: Layer, count: Count, cells: Whole) -> None:
        """Bound the rules on the sets of a block; keep the boxes that may hold the best."""
        size, standing = layer.size, self._standing
        alive = [own for task in self._tasks for own in self._alive(task, layer, count, cells)]
        standing.n_sets += len(count.sets)
        if self._pairs is not None and layer is self._layers[2]:
            for s, (one, two) in enumerate(count.sets.tolist()):
                self._pairs.add(one, two, count.cells_of(s, cells))
        offset = standing.scores.offset(size)
        again = set(map(tuple, count.sets.tolist()))
        standing.waiting = [
            box for box in standing.waiting if len(box.rays) != size or self._axes(box) not in again
        ]
        for own in alive:
            if own.box.bound + offset >= standing.best:
                rows = _undecided(layer, own.record, count.cells_of(own.owner, cells))
                rows = min(self._question.n_rows, rows)
                standing.waiting.append(own.box._replace(rows=rows))

    def _alive(self, task: Task, layer: Layer, count: Count, cells: Whole) -> Iterator[Alive]:
        """The boxes on the sets of a block that may hold the best, for the labels of a task."""
        size, standing = layer.size, self._standing
        shapes, starts = count.shapes, count.starts
        # an ordered ray has one place more than its axis has bins
        largest = int((layer.grid.n_bins[count.sets] + 1).prod(axis=1).max())
        weight = int(cells[: starts[1]].sum())  # of all rows
        scratch = Scratch.of(size, largest * self._channels, weight)
        records = np.empty((RECORDS, scan_kernels.HEAD + 4 * size), np.int64)
        owners = np.empty(RECORDS, np.int64)
        state = np.zeros(2, np.int64)
        while state[0] < len(count.sets):
            standing.driver.check()
            begun, end = int(state[0]), int(state[0]) + SETS
            asked = task.asked(standing.best - standing.scores.offset(size), self._limits)
            kernels.bound_counts(
                layer.grid, Alone.none(), count.sets[:end], shapes[:end], starts, cells,
                task.groups, self._channels, self._sets.rules(size), asked, scratch, records,
                owners, state,
            )  # fmt: skip
            number = int(state[1])
            yield from self._take(task, layer, records[:number], owners[:number])
            state[1] = 0
            if int(state[0]) == begun:  # more records of one set than there is room for
                records = np.empty((4 * len(records), records.shape[1]), np.int64)
                owners = np.empty(len(records), np.int64)

    def _take(self, task: Task, layer: Layer, records: Whole, owners: Whole) -> Iterator[Alive]:
        """Take the rules exactly between bins; the boxes that may hold better ones."""
        standing, size = self._standing, layer.size
        offset = standing.scores.offset(size)
        fits_all = self._sets.fits_all(size)
        fits = self._question.prepared.fits
        for record, owner in zip(records.tolist(), owners.tolist(), strict=True):
            bound, label, right, wrong = record[: scan_kernels.HEAD]
            rays = tuple(record[scan_kernels.HEAD : scan_kernels.HEAD + size])
            if not fits_all and not fits(rays):
                continue
            if right > 0 or wrong > 0:
                # the true value: the gains of a task may have prices in them
                factors = standing.factors[label]
                value = int(factors[label]) * right + int(factors.min()) * wrong + offset
                if value > standing.best and standing.is_fine(right + wrong, wrong):
                    box = layer.positions.corner(record, size, value)
                    standing.take(Found(value, label, box.rays, box.high))
            bound = task.most(bound)
            if bound + offset >= standing.best:
                found = layer.positions.box(record, size, bound)
                if found is not None:
                    yield Alive(Box(*found, 0), record, owner)


def _undecided(layer: Layer, record: list[int], counted: Whole) -> int:
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
