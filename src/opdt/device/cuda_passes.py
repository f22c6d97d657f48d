"""Passes over a table on a CUDA device, by the kernels of `kernels.cu`.

The codes are sent once. Where they do not fit, the rows are cut into blocks, which are sent again
for every pass. Counts stay on the device; what comes back is the cells of the few sets of axes that
may hold the best rule, and the few undecided rows of boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.device.box_arrays import BoxesToCut, CellParts, CutBoxes, strides_of
from opdt.device.card import free_bytes
from opdt.device.passes import NO_RUN, UNKNOWN, CountedCells, DevicePasses, SetJobs, SetsAsked
from opdt.device.table_question import TableQuestion, keys_of
from opdt.engines.search.boxes import Box
from opdt.rules import Op
from opdt.scale.passes import Binning, CountCells, FetchRows, levels_of
from opdt.scale.scanner import Parts

Whole = NDArray[np.int64]

PAD = 16  # the rows of each class are filled up to a multiple of this
NOWHERE = 255  # the bin of a row that only fills up
THREADS = 512
RESERVED = 8 << 10  # of these, for what kernels hold there besides
SHARED = 200 << 10  # bytes of a block's own memory, at most
CACHE = 24 << 20  # bytes of a tile of rows that all sets of axes read
LEAST_TILE = 1 << 16
SHARE = 0.7  # part of the free memory of the device for codes and bins
N_LAYERS = 4  # bytes of a row on an axis: layers of bins that are held
MOST_CELLS = 8 << 30  # bytes of the counts of a pass, a third of what is free at most
OPS = {Op.GE: 0, Op.LT: 1, Op.EQ: 2, Op.NE: 3, Op.IN: 4, Op.MISSING: 5, Op.PRESENT: 6}
COPIES = 8 << 10  # bytes of copies of few cells
ROWS_AT_ONCE = 5e10  # rows times sets that are counted between two looks at the clock
BLOCKS = 1_056  # blocks of threads that share tables of cells
NEAR = 1 << 28  # rows of gates that are held at a time
LEAST_CELLS = 1 << 20  # bytes of the counts of a pass, at least
SHARES = 2_000  # rows of a sample by which gates are chosen
STRETCH = 256  # numbers of a run that one thread adds up
MOST_SLICES = 2_000  # sets whose cells are brought back one by one


@cache
def _module(code: str, cell: str) -> Any:
    """The kernels for codes and cells of some type, compiled once in a process."""
    import cupy

    source = files("opdt.device").joinpath("kernels.cu").read_text(encoding="utf-8")
    options = ("-std=c++17", f"-DCODE={code}", f"-DCELL={cell}")
    return cupy.RawModule(code=source, options=options)


@dataclass(eq=False)
class RowBlock:
    """Some rows, sorted by class: their places in the table, and their classes on the device."""

    rows: Any  # (n_padded,) rows of the table, -1 where there is none, on the device
    segments: Any  # (n_classes, 3) first row, end and group, on the device; groups are set per pass
    ends: Whole  # (n_classes, 2) first row and end, filled up
    real: Any  # (n_classes,) end of the rows that are rows, on the device
    weights: Any  # (n_padded,) on the device, or None
    codes: Any = None  # (n_features, n_padded) on the device
    held: set[int] = field(default_factory=set)  # features whose codes are there
    # of each layer its axes, the bins of the rows on them, and the axes that are filled
    bins: dict[int, tuple[tuple[Binning, ...], Any, set[int]]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows, with those that fill up."""
        return len(self.rows)

    def rows_at(self, places: Whole) -> Whole:
        """The rows of the table that lie at some places of the block."""
        import cupy

        found: Whole = cupy.asnumpy(self.rows[cupy.asarray(places)])
        return found


class CudaCells(CountedCells):
    """Counts on the device."""

    def __init__(self, passes: CudaPasses, part: CountCells, cells: Any) -> None:
        self._passes, self._part, self._cells = passes, part, cells

    def bounds(self, asked: SetsAsked) -> Whole:
        """See `CountedCells`."""
        import cupy

        part = self._part
        sets = part.sets[asked.first : asked.first + asked.number]
        out = np.full((len(sets), 2), UNKNOWN)
        known = np.flatnonzero(asked.ordered[sets].all(axis=1))
        if not len(known):
            return out
        groups = asked.groups
        labels = cupy.asarray(np.stack([groups.right, groups.plus, groups.minus], axis=1))
        extents = cupy.asarray(part.shapes[asked.first + known].astype(np.int32))
        n_bins = asked.n_bins[sets[known]].astype(np.int32)
        starts = cupy.asarray(part.starts[asked.first + known])
        found = cupy.empty((len(known), 2), np.int64)
        room = int(n_bins.astype(np.int64).prod(axis=1).max())
        each = 2 * room * self._cells.itemsize
        blocks, shared, spare = min(len(known), 1 << 16), each, None
        if each > self._passes.shared:
            blocks = max(1, min(len(known), 1024, (1 << 29) // each))
            shared, spare = 0, cupy.empty(blocks * 2 * room, self._cells.dtype)
        kernel = self._passes.kernel(f"bound_{sets.shape[1]}", shared)
        kernel(
            (blocks,), (THREADS,),
            (
                self._cells, extents, cupy.asarray(n_bins),
                cupy.asarray(sets[known] * asked.lone.shape[1]), cupy.asarray(asked.lone), starts,
                np.int32(len(known)),
                np.int32(part.n_groups), labels, np.int32(len(groups.labels)), np.int64(room),
                0 if spare is None else spare, found,
            ),
            shared_mem=shared,
        )  # fmt: skip
        out[known] = cupy.asnumpy(found)
        return out

    def take(self, places: Whole) -> Whole:
        """See `CountedCells`."""
        import cupy

        starts = self._part.starts
        own = [slice(int(starts[p]), int(starts[p + 1])) for p in places.tolist()]
        if len(own) > MOST_SLICES:
            whole = cupy.asnumpy(self._cells)
            return np.concatenate([whole[one] for one in own]).astype(np.int64)
        own_cells: Whole = cupy.asnumpy(cupy.concatenate([self._cells[one] for one in own]))
        return own_cells.astype(np.int64)

    def part(self, jobs: SetJobs) -> CellParts:
        """See `CountedCells`."""
        import cupy

        part, groups = self._part, jobs.groups
        size = part.sets.shape[1]
        if not len(jobs.places):
            return CellParts.of(np.empty((0, 3 + 2 * size), np.int64), size)
        axes = part.sets[jobs.places]
        at = jobs.passes
        table = np.stack([
            part.starts[jobs.places], jobs.ways, groups.right[at], groups.plus[at],
            groups.minus[at], jobs.goals,
        ], axis=1).astype(np.int64)  # fmt: skip
        n_bins = jobs.n_bins[axes].astype(np.int32)
        places = int(n_bins.astype(np.int64).prod(axis=1).max())
        blocks = max(1, min(len(axes), BLOCKS, self._passes.result_bytes // (4 * 24 * places)))
        tables = cupy.empty(3 * blocks * places, np.int64)
        asked = (
            self._cells, cupy.asarray(table),
            cupy.asarray(part.shapes[jobs.places].astype(np.int32)), cupy.asarray(n_bins),
            cupy.asarray(axes * jobs.lone.shape[1]), cupy.asarray(jobs.lone),
            np.int32(size), np.int32(len(axes)), np.int32(part.n_groups), np.int64(places), tables,
        )  # fmt: skip
        kernel = self._passes.kernel("part_sets")
        most = min(self._passes.most_alive, places)

        def launch(spare: Any, out: Any, room: Any, number: Any, again: bool) -> None:
            kernel((blocks,), (THREADS,), (*asked, np.int32(most), spare, out, room, number))

        return _gathered(launch, blocks, most, len(axes), size)


class CudaPasses(DevicePasses):
    """The rows of a table on the current CUDA device."""

    device = "cuda"

    def __init__(self, question: TableQuestion, memory_limit: int | None = None) -> None:
        import cupy

        table = question.problem.table
        self._rays = question.prepared.rays.rays
        used = sorted({ray.feature for ray in self._rays})
        self._columns = [table.columns[f].codes for f in used]
        self._place = {f: at for at, f in enumerate(used)}
        self._n_values = {f: table.columns[f].n_values for f in used}
        self._n_rows, self._n_classes = table.n_rows, len(table.classes)
        most = max(self._n_values.values(), default=0)
        self._code, self._c_code = next(
            (kind, name)
            for kind, name in (
                (np.uint8, "unsigned char"), (np.uint16, "unsigned short"), (np.uint32, "unsigned"),
            )
            if most < np.iinfo(kind).max
        )  # fmt: skip
        self._samples: dict[int, NDArray[Any]] = {}
        most_shared = cupy.cuda.Device().attributes.get("MaxSharedMemoryPerBlockOptin", 48 << 10)
        self.shared = min(SHARED, int(most_shared) - RESERVED)  # bytes of a block's own memory
        free = free_bytes()
        limit = free if memory_limit is None else min(free, memory_limit)
        each = len(used) * (np.dtype(self._code).itemsize + N_LAYERS) + 24
        self.held_bytes = max(1, int(SHARE * limit))
        self.result_bytes = max(LEAST_CELLS, min(MOST_CELLS, limit // 3))
        rows_at_once = max(PAD, self.held_bytes // max(1, each))
        self._n_blocks = max(1, -(-table.n_rows // rows_at_once))
        self.streamed = self._n_blocks > 1
        self._take(question)
        self._blocks = [self._block(b) for b in range(self._n_blocks)]
        if not self.streamed:
            for _ in self._loaded(used):
                pass
            cupy.cuda.get_current_stream().synchronize()

    def relabel(self, question: TableQuestion) -> None:
        """See `DevicePasses`. Codes stay on the device; their rows change places there."""
        import cupy

        old = self._classes, self._weights
        self._take(question)
        if np.array_equal(old[0], self._classes) and np.array_equal(old[1], self._weights):
            return
        if self.streamed:
            self._blocks = [self._block(b) for b in range(self._n_blocks)]
            return
        (before,), after = self._blocks, self._block(0)
        known = before.rows >= 0
        place = cupy.empty(self._n_rows, np.int64)  # of each row among those before
        place[before.rows[known]] = cupy.flatnonzero(known)
        taken = place[after.rows]
        after.codes = cupy.empty((len(self._columns), after.n_rows), self._code)
        for at in range(len(self._columns)):
            after.codes[at] = before.codes[at][taken]
            after.codes[at][after.rows < 0] = np.iinfo(self._code).max
        after.held = before.held
        self._blocks = [after]

    def _take(self, question: TableQuestion) -> None:
        """Take classes and weights, and the kernels for cells that can hold their sums."""
        objective = question.objective
        self._classes, self._weights = objective.classes, objective.weights
        self._weighted = not bool((self._weights == 1).all())
        narrow = int(self._weights.sum()) < 1 << 31
        self._cell = np.uint32 if narrow else np.uint64
        self._module = _module(self._c_code, "unsigned" if narrow else "unsigned long long")

    def kernel(self, name: str, shared: int = 0) -> Any:
        """A kernel that may use so many bytes of a block's own memory."""
        found = self._module.get_function(name)
        if shared > 48 << 10:  # the same for all, since threads share the kernels
            found.max_dynamic_shared_size_bytes = self.shared
        return found

    # -- rows ----------------------------------------------------------------------------------

    def _block(self, b: int) -> RowBlock:
        """A share of the rows of each class, sorted by class, each class filled up."""
        import cupy

        classes = cupy.asarray(self._classes.astype(np.uint8))
        own = [cupy.flatnonzero(classes == c)[b :: self._n_blocks] for c in range(self._n_classes)]
        sizes = np.array([len(rows) for rows in own], np.int64)
        first = np.append(0, np.cumsum(-(-sizes // PAD) * PAD)).astype(np.int64)
        rows = cupy.empty(int(first[-1]), np.int64)
        rows[:] = -1
        for begin, some in zip(first.tolist(), own, strict=False):
            rows[begin : begin + len(some)] = some
        weights = None
        if self._weighted:
            weights = cupy.asarray(self._weights)[rows]
            weights[rows < 0] = 0
        segments = np.stack([first[:-1], first[1:], 0 * first[1:]], axis=1)
        return RowBlock(
            rows, cupy.asarray(segments), segments[:, :2].copy(),
            cupy.asarray(first[:-1] + sizes), weights,
        )  # fmt: skip

    def _loaded(self, features: list[int]) -> Iterator[RowBlock]:
        """Every block with the codes of some features on the device; others are sent again."""
        import cupy

        missing = np.iinfo(self._code).max
        for block in self._blocks:
            self.check()
            if block.codes is None:
                block.codes = cupy.empty((len(self._columns), block.n_rows), self._code)
            rows = cupy.asnumpy(block.rows) if self.streamed else None
            for feature in features:
                if feature in block.held:
                    continue
                at = self._place[feature]
                if rows is None:
                    own = cupy.asarray(self._columns[at])[block.rows]
                else:
                    own = cupy.asarray(self._columns[at][rows])
                own = own.astype(self._code)  # a missing value, -1, becomes the largest
                own[block.rows < 0] = missing
                block.codes[at] = own
                block.held.add(feature)
            yield block
            if self.streamed:
                block.codes = None
                block.held.clear()
                block.bins.clear()

    def _bins(self, block: RowBlock, axes: tuple[Binning, ...], used: list[int]) -> Any:
        """The bins of a block's rows on some axes of a layer (n_axes, n_rows)."""
        import cupy

        key = id(axes)
        if key in block.bins:
            block.bins[key] = block.bins.pop(key)  # the last one that was asked for
        else:
            while len(block.bins) >= N_LAYERS:
                block.bins.pop(next(iter(block.bins)))
            block.bins[key] = (axes, cupy.empty((len(axes), block.n_rows), np.uint8), set())
        _, bins, filled = block.bins[key]
        real = None
        for a in used:
            if a in filled:
                continue
            binning = axes[a]
            codes = block.codes[self._place[binning.feature]]
            grid, own = (min(4096, -(-block.n_rows // THREADS)),), bins[a]
            if binning.edges is not None:
                edges = cupy.asarray(binning.edges.astype(np.uint32))
                arguments = (codes, np.int64(block.n_rows), edges, np.int32(len(edges)), own)
                self.kernel("bins_by_edges")(grid, (THREADS,), arguments)
            else:
                table = cupy.asarray(binning.look_up)
                arguments = (codes, np.int64(block.n_rows), table, np.int32(len(table) - 1), own)
                self.kernel("bins_by_table")(grid, (THREADS,), arguments)
            if real is None:
                real = cupy.flatnonzero(block.rows < 0)
            own[real] = NOWHERE
            filled.add(a)
        return bins

    # -- parts of a pass -----------------------------------------------------------------------

    def count(self, part: CountCells) -> CountedCells:
        """See `DevicePasses`."""
        import cupy

        n_sets, size = part.sets.shape
        cells = cupy.zeros(int(part.starts[-1]), self._cell)
        used = sorted(set(part.sets.ravel().tolist()))
        features = sorted({part.axes[a].feature for a in used})
        sets = cupy.asarray(part.sets.astype(np.int32))
        extents = cupy.asarray(part.shapes.astype(np.int32))
        starts = cupy.asarray(part.starts)
        n_cells = part.shapes.prod(axis=1)
        for block in self._loaded(features):
            bins = self._bins(block, part.axes, used)
            block.segments[:, 2] = cupy.asarray(part.group_of)
            longest = int(np.diff(block.ends, axis=1).max(initial=1))
            tile = max(LEAST_TILE, CACHE // max(1, len(used)) // 64 * 64)
            tiles = -(-longest // tile)
            step = max(1, int(ROWS_AT_ONCE // max(1, block.n_rows)))
            for first in range(0, n_sets, step):
                last = min(n_sets, first + step)
                most = int(n_cells[first:last].max()) * cells.itemsize
                copies = 0
                if most <= self.shared:
                    copies = 1 << min(5, max(1, COPIES // most).bit_length() - 1)
                shared = copies * most
                self.kernel(f"count_{size}", shared)(
                    (last - first, tiles, len(block.ends)), (THREADS,),
                    (
                        bins, np.int64(block.n_rows), sets[first:last], extents[first:last],
                        starts[first:last], block.segments, np.int64(tile),
                        0 if block.weights is None else block.weights, np.int32(copies), cells,
                    ),
                    shared_mem=shared,
                )  # fmt: skip
                if last < n_sets:
                    cupy.cuda.get_current_stream().synchronize()
                    self.check()
        return CudaCells(self, part, cells)

    def cut(self, asked: BoxesToCut) -> CutBoxes:
        """See `DevicePasses`."""
        import cupy

        plan = self._plan(asked.boxes.rays, asked.boxes.low, asked.boxes.high, asked.sizes)
        n_boxes, n_sides = plan.sizes.shape
        cells = plan.sizes.prod(axis=1)
        starts = np.append(0, np.cumsum(cells)).astype(np.int64)
        sums = [cupy.zeros(int(starts[-1]), np.int64) for _ in range(3)]
        factors = cupy.asarray(asked.factors[plan.order])
        first = cupy.asarray(starts)
        room = self.shared // 24
        shared = 24 * int(cells[cells <= room].max(initial=0))
        for block in self._loaded(self._features(asked.boxes.rays)):
            for some, spans, near, rows in self._gated(block, plan):
                self.kernel("sift", shared)(
                    (some.stop - some.start, _spread(rows, some.stop - some.start)), (THREADS,),
                    (
                        block.codes, np.int64(block.n_rows), plan.sides[some], plan.n_sides[some],
                        np.int32(n_sides), self._tables, spans, near, factors[some],
                        first[some.start : some.stop + 1], block.segments, block.real,
                        np.int32(len(block.ends)), 0 if block.weights is None else block.weights,
                        np.int64(room), *sums,
                    ),
                    shared_mem=shared,
                )  # fmt: skip
        reached = cupy.empty((n_boxes, 2), np.int64)
        goals = cupy.asarray(asked.goals[plan.order])
        most = int(min(self.most_alive, cells.max()))
        blocks = min(n_boxes, BLOCKS)
        kernel = self.kernel("part_boxes")

        def launch(spare: Any, out: Any, room: Any, number: Any, again: bool) -> None:
            kernel((blocks,), (THREADS,), (
                *sums, plan.sides, plan.n_sides, np.int32(n_sides), first, np.int32(n_boxes), goals,
                np.int32(most), np.int32(again), spare, out, room, number, reached,
            ))  # fmt: skip

        parts = _gathered(launch, blocks, most, n_boxes, n_sides, plan.order)
        found = np.empty((n_boxes, 2), np.int64)
        found[plan.order] = cupy.asnumpy(reached)
        return CutBoxes(parts, found[:, 0], found[:, 1])

    def fetch(self, part: FetchRows) -> Parts:
        """See `DevicePasses`."""
        import cupy

        plan = self._plan(*_padded(part.boxes))
        always = np.zeros((len(part.boxes), part.n_classes), np.int64)
        found: list[NDArray[np.int64]] = []
        expected = max(1024, sum(box.rows for box in part.boxes))
        for block in self._loaded(self._features(plan.rays)):
            for some, spans, near, rows in self._gated(block, plan):
                sums, pairs = self._picked(block, plan, some, spans, near, rows, expected)
                own = plan.order[some]
                always[own] += cupy.asnumpy(sums).astype(np.int64)
                pairs[:, 0] = own[pairs[:, 0]]
                pairs[:, 1] = block.rows_at(pairs[:, 1])
                found.append(pairs)
        pairs = np.concatenate(found)
        return self._brought(part, pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))], always)

    def _picked(
        self, block: RowBlock, plan: BoxPlan, some: slice, spans: Any, near: Any, rows: int,
        room: int,
    ) -> tuple[Any, Whole]:  # fmt: skip
        """Weights that boxes always cover, and pairs of box and row that they may cover."""
        import cupy

        n_boxes = some.stop - some.start
        while True:
            sums = cupy.zeros((n_boxes, len(block.ends)), np.uint64)
            picked, number = cupy.empty((room, 2), np.int64), cupy.zeros(1, np.uint64)
            self.kernel("pick")(
                (n_boxes, _spread(rows, n_boxes)), (THREADS,),
                (
                    block.codes, np.int64(block.n_rows), plan.sides[some], plan.n_sides[some],
                    np.int32(plan.sizes.shape[1]), self._tables, spans, near, block.segments,
                    block.real, np.int32(len(block.ends)),
                    0 if block.weights is None else block.weights, sums, np.int64(room), picked,
                    number,
                ),
                shared_mem=8 * len(block.ends),
            )  # fmt: skip
            count = int(number[0])
            if count <= room:
                return sums, cupy.asnumpy(picked[:count])
            room = count

    def _brought(self, part: FetchRows, pairs: Whole, always: Whole) -> Parts:
        """The rows of some pairs of box and row."""
        out = part.start()
        boxes, rows = pairs[:, 0].astype(np.int32), pairs[:, 1]
        levels = np.zeros((len(rows), part.depth), np.int64)
        ends = np.searchsorted(boxes, np.arange(len(part.boxes) + 1))
        for b, box in enumerate(part.boxes):
            own = slice(ends[b], ends[b + 1])
            for d, ray in enumerate(box.rays):
                codes = self._columns[self._place[self._rays[ray].feature]][rows[own]]
                levels[own, d] = levels_of(self._rays[ray], keys_of(codes))
        out |= {"always": always, "box": boxes, "levels": levels}
        groups = self._classes[rows].astype(np.uint8)
        return out | {"groups": groups, "weights": self._weights[rows]}

    def best_runs(self, features: Sequence[int], factors: Whole) -> Whole:
        """See `DevicePasses`."""
        out = np.full(len(features), NO_RUN)
        for at, feature in enumerate(features):
            first, end = 1, self._n_values[feature] - 1
            if first < end:
                out[at] = _best_run(self.kernel("best_runs"), self._sums(feature, factors), end)
        return out

    def sums_by_code(self, feature: int, factors: Whole) -> Whole:
        """See `DevicePasses`."""
        import cupy

        found: Whole = cupy.asnumpy(self._sums(feature, factors))
        return found

    def _sums(self, feature: int, factors: Whole) -> Any:
        """What the rows of each code are worth, on the device."""
        import cupy

        sums = cupy.zeros(self._n_values[feature], np.int64)
        worth = cupy.asarray(factors)
        for block in self._loaded([feature]):
            self.kernel("add_by_code")(
                (min(4096, -(-block.n_rows // THREADS)),), (THREADS,),
                (
                    block.codes[self._place[feature]], block.segments, block.real,
                    np.int32(len(block.ends)), 0 if block.weights is None else block.weights, worth,
                    sums,
                ),
            )  # fmt: skip
        return sums

    # -- boxes as kernels take them ------------------------------------------------------------

    def _features(self, rays: Whole) -> list[int]:
        known = np.unique(rays)
        return sorted({self._rays[ray].feature for ray in known[known >= 0].tolist()})

    @cached_property
    def _about(self) -> Whole:
        """Column, operator, code, table, last value of each ray (n_rays + 1, 5), then of none."""
        at, rows = 1, []
        for ray in self._rays:
            n_values = self._n_values[ray.feature]
            table = at if ray.op is Op.IN else 0
            at += n_values if ray.op is Op.IN else 0
            rows.append((self._place[ray.feature], OPS[ray.op], ray.code, table, n_values - 1))
        return np.array([*rows, (-1, 0, 0, 0, -1)], np.int64)

    @cached_property
    def _tables(self) -> Any:
        """The truth values of the levels of all `in`, one after the other, on the device."""
        import cupy

        tables = [np.zeros(1, np.uint8)]
        for ray in self._rays:
            if ray.op is Op.IN:
                tables.append(np.zeros(self._n_values[ray.feature], np.uint8))
                tables[-1][list(ray.levels)] = 1
        return cupy.asarray(np.concatenate(tables))

    def _sides(self, rays: Whole, low: Whole, high: Whole, sizes: Whole, strides: Whole) -> Whole:
        """Sides of boxes (…, 10) as `kernels.cu` has them; a ray of -1 is none."""
        column, op, code, table, last = np.moveaxis(self._about[rays], -1, 0)
        upwards = op == OPS[Op.GE]
        first = np.where(upwards, np.maximum(0, low + 1), 0)
        last = np.where(upwards, last, np.minimum(last, -low - 1))
        parts = (
            column, low, high, op, code, table, sizes, strides, first, last - first,
        )  # fmt: skip
        return np.ascontiguousarray(np.stack(parts, axis=-1).astype(np.int64))

    def _plan(self, rays: Whole, low: Whole, high: Whole, sizes: Whole) -> BoxPlan:
        """Boxes (n_boxes, n_sides) as kernels take them, those of one gate together."""
        import cupy

        gate_of, gates = self._gates(rays, low)
        order = np.argsort(gate_of, kind="stable")
        rays, low, high, sizes = (own[order] for own in (rays, low, high, sizes))
        sides = self._sides(rays, low, high, sizes, strides_of(sizes))
        n_sides = (rays >= 0).sum(axis=1).astype(np.int32)
        return BoxPlan(
            order, rays, sizes, cupy.asarray(sides), cupy.asarray(n_sides), gate_of[order], gates
        )

    def _gates(self, rays: Whole, low: Whole) -> tuple[Whole, Whole]:
        """The gate of each box: its side that fewest rows pass; and the gates (n_gates, 10).

        Boxes share a gate where about as many rows pass theirs.
        """
        shares = np.full(rays.shape, 2.0)
        for ray in np.unique(rays[rays >= 0]).tolist():
            own = rays == ray
            shares[own] = self._share(ray, low[own])
        side = shares.argmin(axis=1)
        every = np.arange(len(rays))
        ray, least = rays[every, side], low[every, side]
        size = np.log2(np.maximum(shares[every, side], 1 / SHARES)).astype(np.int64) // 2
        _, gate_of = np.unique(np.stack([ray, size]), axis=1, return_inverse=True)
        gate_of = gate_of.reshape(-1)
        n_gates = int(gate_of.max(initial=-1)) + 1
        of_gate, loosest = np.full(n_gates, -1), np.full(n_gates, np.iinfo(np.int64).max)
        of_gate[gate_of] = ray
        np.minimum.at(loosest, gate_of, least)
        ones = np.ones(n_gates, np.int64)
        return gate_of, self._sides(of_gate, loosest, loosest + 1, ones, ones)

    def _share(self, index: int, low: Whole) -> NDArray[np.float64]:
        """About which part of the rows lies above some levels of a ray."""
        ray = self._rays[index]
        if not ray.op.is_threshold:
            return np.ones(len(low))
        if ray.feature not in self._samples:
            codes = self._columns[self._place[ray.feature]]
            self._samples[ray.feature] = np.sort(codes[:: max(1, len(codes) // SHARES)])
        sample = self._samples[ray.feature]
        if ray.op is Op.GE:
            above = len(sample) - np.searchsorted(sample, low, side="right")
        else:
            above = np.searchsorted(sample, -low, side="left")
        return np.asarray(above / len(sample))

    def _gated(self, block: RowBlock, plan: BoxPlan) -> Iterator[tuple[slice, Any, Any, int]]:
        """Boxes, the spans of their gates, the rows that pass, and the most of one gate."""
        import cupy

        n_gates = len(plan.gates)
        if not n_gates:
            return
        gates = cupy.asarray(plan.gates)
        grid = (n_gates, _spread(block.n_rows, n_gates))
        kernel = self.kernel("pass_gates")
        counts = cupy.zeros(n_gates, np.uint64)
        about = (block.codes, np.int64(block.n_rows))
        kernel(grid, (THREADS,), (
            *about, gates, self._tables, np.int64(block.n_rows), 0, counts, 0,
        ))  # fmt: skip
        passed = cupy.asnumpy(counts).astype(np.int64)
        ends = np.searchsorted(plan.gate_of, np.arange(n_gates + 1))
        begin = 0
        while begin < n_gates:
            self.check()
            held = np.cumsum(passed[begin:])
            end = begin + max(1, int(np.searchsorted(held, NEAR, side="right")))
            starts = np.append(0, held[: end - begin])
            near = cupy.empty(max(1, int(starts[-1])), np.uint32)
            kernel((end - begin, grid[1]), (THREADS,), (
                *about, gates[begin:end], self._tables, np.int64(block.n_rows),
                cupy.asarray(starts[:-1].astype(np.int64)), cupy.zeros(end - begin, np.uint64),
                near,
            ))  # fmt: skip
            some = slice(int(ends[begin]), int(ends[end]))
            own = plan.gate_of[some] - begin
            spans = np.stack([starts[own], starts[own + 1]], axis=1).astype(np.int64)
            yield some, cupy.asarray(spans), near, int(passed[begin:end].max())
            begin = end


@dataclass(frozen=True, eq=False)
class BoxPlan:
    """Boxes on the device, as `kernels.cu` has them, those of one gate together."""

    order: NDArray[np.intp]  # (n_boxes,) the place of each among those that were asked for
    rays: Whole  # (n_boxes, n_sides), -1 where a box has fewer
    sizes: Whole  # (n_boxes, n_sides) places of each side
    sides: Any
    n_sides: Any
    gate_of: Whole  # (n_boxes,)
    gates: Whole  # (n_gates, 10) sides


def _padded(boxes: Sequence[Box]) -> tuple[Whole, Whole, Whole, Whole]:
    """Rays, low and high sides of boxes of any number of rays, and one place for each side."""
    depth = max(1, max((len(box.rays) for box in boxes), default=1))
    rays = np.full((len(boxes), depth), -1, np.int64)
    low, high = np.zeros((2, len(boxes), depth), np.int64)
    for b, box in enumerate(boxes):
        own = slice(0, len(box.rays))
        rays[b, own], low[b, own], high[b, own] = box.rays, box.low, box.high
    return rays, low, high, np.ones_like(rays)


Launch = Callable[[Any, Any, Any, Any, bool], None]


def _gathered(
    launch: Launch, blocks: int, most: int, n_tables: int, n_sides: int,
    order: NDArray[np.intp] | None = None,
) -> CellParts:  # fmt: skip
    """The parts that a kernel writes, launched again where there are more than was thought."""
    import cupy

    spare = cupy.empty(2 * blocks * most, np.int32)
    room, again = 1024 + 8 * n_tables, False
    while True:
        out = cupy.empty((room, 3 + 2 * n_sides), np.int64)
        number = cupy.zeros(1, np.uint64)
        launch(spare, out, np.int64(room), number, again)
        count = int(number[0])
        if count <= room:
            break
        room, again = count, True
    records: Whole = cupy.asnumpy(out[:count])
    if order is not None:
        records[:, 0] = order[records[:, 0]]
    return CellParts.of(records, n_sides)


def _best_run(kernel: Any, sums: Any, end: int) -> int:
    """The largest sum of a run of the numbers from the second one to an end."""
    import cupy

    n_stretches = -(-(end - 1) // STRETCH)
    out = cupy.empty((n_stretches, 4), np.int64)
    kernel((min(4096, -(-n_stretches // 128)),), (128,), (
        sums, np.int64(1), np.int64(end), np.int64(STRETCH), np.int64(n_stretches), out,
    ))  # fmt: skip
    total, head, tail, best = cupy.asnumpy(out).T
    # a run over several stretches begins with the end of one and ends with the beginning of another
    before = np.append(0, np.cumsum(total)[:-1])
    begins = np.maximum.accumulate(tail - (before + total))
    over = head[1:] + before[1:] + begins[:-1]
    return int(max(best.max(), over.max(initial=NO_RUN)))


def _spread(n_rows: int, n_boxes: int) -> int:
    """Blocks of threads that share the rows of a box."""
    return max(1, min(-(-n_rows // (8 * THREADS)), -(-2112 // max(1, n_boxes))))
