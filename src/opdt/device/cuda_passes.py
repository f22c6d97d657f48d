"""Passes over a table on a CUDA device, by the kernels of `kernels.cu`.

The codes are sent once. Where they do not fit, the rows are cut into blocks, which are sent again
for every pass. Counts stay on the device; what comes back is the cells of the few sets of axes that
may hold the best rule, and the few undecided rows of boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.device.passes import UNKNOWN, CountedCells, DevicePasses, SetsAsked, SiftedBoxes
from opdt.device.table_question import TableQuestion, keys_of
from opdt.engines.search.boxes import Box
from opdt.engines.search.rays import Ray
from opdt.rules import Op
from opdt.scale.passes import Binning, CountCells, FetchRows, SiftBoxes, levels_of
from opdt.scale.scanner import Parts

Whole = NDArray[np.int64]

PAD = 16  # the rows of each class are filled up to a multiple of this
NOWHERE = 255  # the bin of a row that only fills up
THREADS = 512
SHARED = 200 << 10  # bytes of a block's own memory
CACHE = 24 << 20  # bytes of a tile of rows that all sets of axes read
LEAST_TILE = 1 << 16
SHARE = 0.7  # part of the free memory of the device for codes and bins
N_LAYERS = 4  # bytes of a row on an axis: layers of bins that are held
MOST_CELLS = 8 << 30  # bytes of the counts of a pass, a third of what is free at most
OPS = {Op.GE: 0, Op.LT: 1, Op.EQ: 2, Op.NE: 3, Op.IN: 4, Op.MISSING: 5, Op.PRESENT: 6}
ROWS_AT_ONCE = 5e10  # rows times sets that are counted between two looks at the clock
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

    rows: NDArray[np.int64]  # (n_padded,) rows of the table, -1 where there is none
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
        if each > SHARED:
            blocks = max(1, min(len(known), 1024, (1 << 29) // each))
            shared, spare = 0, cupy.empty(blocks * 2 * room, self._cells.dtype)
        kernel = self._passes.kernel(f"bound_{sets.shape[1]}", shared)
        kernel(
            (blocks,), (THREADS,),
            (
                self._cells, extents, cupy.asarray(n_bins), starts, np.int32(len(known)),
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


class CudaPasses(DevicePasses):
    """The rows of a table on the current CUDA device."""

    def __init__(self, question: TableQuestion) -> None:
        import cupy

        table, objective = question.problem.table, question.objective
        self._rays = question.prepared.rays.rays
        used = sorted({ray.feature for ray in self._rays})
        self._columns = [table.columns[f].codes for f in used]
        self._place = {f: at for at, f in enumerate(used)}
        self._n_values = {f: table.columns[f].n_values for f in used}
        most = max(self._n_values.values(), default=0)
        self._code, c_code = next(
            (kind, name)
            for kind, name in (
                (np.uint8, "unsigned char"), (np.uint16, "unsigned short"), (np.uint32, "unsigned"),
            )
            if most < np.iinfo(kind).max
        )  # fmt: skip
        self._classes, self._weights = objective.classes, objective.weights
        self._weighted = not bool((self._weights == 1).all())
        narrow = int(self._weights.sum()) < 1 << 31
        self._cell = np.uint32 if narrow else np.uint64
        self._module = _module(c_code, "unsigned" if narrow else "unsigned long long")
        free = cupy.cuda.Device().mem_info[0]
        each = len(used) * (np.dtype(self._code).itemsize + N_LAYERS) + 24
        self._rows_at_once = max(1 << 20, int(SHARE * free) // max(1, each))
        self.result_bytes = min(MOST_CELLS, free // 3)
        n_classes = len(table.classes)
        order = np.argsort(self._classes, kind="stable")
        n_blocks = -(-len(order) // self._rows_at_once)
        self._resident = n_blocks == 1
        self._blocks = [self._block(part, n_classes) for part in _dealt(order, n_blocks)]
        if self._resident:
            for _ in self._loaded(used):
                pass

    def kernel(self, name: str, shared: int = 0) -> Any:
        """A kernel that may use so many bytes of a block's own memory."""
        found = self._module.get_function(name)
        if shared > 48 << 10:
            found.max_dynamic_shared_size_bytes = shared
        return found

    # -- rows ----------------------------------------------------------------------------------

    def _block(self, rows: NDArray[np.int64], n_classes: int) -> RowBlock:
        """Rows of the table, sorted by class, each class filled up."""
        import cupy

        classes = self._classes[rows]
        cuts = np.searchsorted(classes, np.arange(n_classes + 1))
        sizes = np.diff(cuts)
        filled = -(-sizes // PAD) * PAD
        first = np.append(0, np.cumsum(filled))
        padded = np.full(int(first[-1]), -1, np.int64)
        for c in range(n_classes):
            padded[first[c] : first[c] + sizes[c]] = rows[cuts[c] : cuts[c + 1]]
        weights = None
        if self._weighted:
            weights = cupy.asarray(np.where(padded < 0, 0, self._weights[padded]))
        segments = np.stack([first[:-1], first[1:], 0 * first[1:]], axis=1)
        return RowBlock(
            padded, cupy.asarray(segments), segments[:, :2].copy(),
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
            rows = None
            for feature in features:
                if feature in block.held:
                    continue
                if rows is None:
                    rows = cupy.asarray(block.rows)
                at = self._place[feature]
                if self._resident:
                    own = cupy.asarray(self._columns[at])[rows]
                else:
                    own = cupy.asarray(self._columns[at][block.rows])
                own = own.astype(self._code)  # a missing value, -1, becomes the largest
                own[rows < 0] = missing
                block.codes[at] = own
                block.held.add(feature)
            yield block
            if not self._resident:
                block.codes = None
                block.held.clear()
                block.bins.clear()

    def _bins(self, block: RowBlock, axes: tuple[Binning, ...], used: list[int]) -> Any:
        """The bins of a block's rows on some axes of a layer (n_axes, n_rows)."""
        import cupy

        key = id(axes)
        if key not in block.bins:
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
                real = cupy.flatnonzero(cupy.asarray(block.rows) < 0)
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
                shared = int(n_cells[first:last].max()) * cells.itemsize
                in_shared = shared <= SHARED
                shared = shared if in_shared else 0
                self.kernel(f"count_{size}", shared)(
                    (last - first, tiles, len(block.ends)), (THREADS,),
                    (
                        bins, np.int64(block.n_rows), sets[first:last], extents[first:last],
                        starts[first:last], block.segments, np.int64(tile),
                        0 if block.weights is None else block.weights, np.int32(in_shared), cells,
                    ),
                    shared_mem=shared,
                )  # fmt: skip
                if last < n_sets:
                    cupy.cuda.get_current_stream().synchronize()
                    self.check()
        return CudaCells(self, part, cells)

    def sift(self, part: SiftBoxes) -> SiftedBoxes:
        """See `DevicePasses`."""
        import cupy

        plan = self._plan(part.boxes, part)
        totals = np.diff(plan.starts)
        names = ("mass", "loss", "rows")
        sums = {name: cupy.zeros(int(totals.sum()), np.uint64) for name in names}
        factors = cupy.asarray(np.array([part.factors[box.label] for box in part.boxes], np.int64))
        first = cupy.asarray(plan.starts)
        room = SHARED // 24
        shared = 24 * int(totals[totals <= room].max(initial=0))
        for block in self._loaded(self._features(part.boxes)):
            self.kernel("sift", shared)(
                (len(part.boxes), _spread(block.n_rows, len(part.boxes))), (THREADS,),
                (
                    block.codes, np.int64(block.n_rows), plan.sides, plan.n_sides,
                    np.int32(plan.depth), plan.edges, plan.tables, factors, first, block.segments,
                    block.real, np.int32(len(block.ends)),
                    0 if block.weights is None else block.weights, np.int64(block.n_rows),
                    np.int64(room), *sums.values(),
                ),
                shared_mem=shared,
            )  # fmt: skip
        return CudaBoxes(self, plan, first, sums)

    def fetch(self, part: FetchRows) -> Parts:
        """See `DevicePasses`."""
        import cupy

        plan = self._plan(part.boxes)
        always = np.zeros((len(part.boxes), part.n_classes), np.int64)
        found: list[NDArray[np.int64]] = []
        for block in self._loaded(self._features(part.boxes)):
            room = max(1024, sum(box.rows for box in part.boxes))
            while True:
                sums = cupy.zeros(always.shape, np.uint64)
                picked, number = cupy.empty((room, 2), np.int64), cupy.zeros(1, np.uint64)
                self.kernel("pick")(
                    (len(part.boxes), _spread(block.n_rows, len(part.boxes))), (THREADS,),
                    (
                        block.codes, np.int64(block.n_rows), plan.sides, plan.n_sides,
                        np.int32(plan.depth), plan.tables, block.segments, block.real,
                        np.int32(len(block.ends)), 0 if block.weights is None else block.weights,
                        np.int64(block.n_rows), sums, np.int64(room), picked, number,
                    ),
                    shared_mem=8 * len(block.ends),
                )  # fmt: skip
                count = int(number[0])
                if count <= room:
                    break
                room = count
            always += cupy.asnumpy(sums).astype(np.int64)
            pairs = cupy.asnumpy(picked[:count])
            pairs[:, 1] = block.rows[pairs[:, 1]]
            found.append(pairs)
        pairs = np.concatenate(found)
        return self._brought(part, pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))], always)

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

    def _features(self, boxes: tuple[Box, ...]) -> list[int]:
        return sorted({self._rays[ray].feature for box in boxes for ray in box.rays})

    def _plan(self, boxes: tuple[Box, ...], sift: SiftBoxes | None = None) -> BoxPlan:
        """Boxes as the arrays that kernels take."""
        import cupy

        depth = max(1, max((len(box.rays) for box in boxes), default=1))
        sides = np.zeros((len(boxes), depth, 11), np.int64)
        sizes = np.ones((len(boxes), depth), np.int32)
        tables: list[NDArray[np.uint8]] = [np.zeros(1, np.uint8)]
        cuts: list[Whole] = [np.zeros(1, np.int64)]
        at_table = at_edge = 1
        for b, box in enumerate(boxes):
            stride = 1
            for d in range(len(box.rays) - 1, -1, -1):
                ray, low, high = self._rays[box.rays[d]], box.low[d], box.high[d]
                first, last = self._codes_above(ray, low)
                place, n_edges, at_first = 0, 0, at_edge
                if ray.op is Op.IN:
                    table = np.zeros(self._n_values[ray.feature], np.uint8)
                    table[list(ray.levels)] = 1
                    place = at_table
                    tables.append(table)
                    at_table += len(table)
                if sift is not None:
                    own = sift.edges[b][d]
                    n_edges = len(own)
                    cuts.append(own)
                    at_edge += n_edges
                sides[b, d] = (
                    self._place[ray.feature], low, high, OPS[ray.op], ray.code, place, at_first,
                    n_edges, stride, first, last - first,
                )  # fmt: skip
                sizes[b, d] = max(1, n_edges - 1)
                stride *= int(sizes[b, d])
        n_sides = np.array([len(box.rays) for box in boxes], np.int32)
        starts = np.append(0, np.cumsum(sizes.astype(np.int64).prod(axis=1)))
        return BoxPlan(
            cupy.asarray(sides), cupy.asarray(n_sides), depth,
            cupy.asarray(np.concatenate(cuts).astype(np.int64)),
            cupy.asarray(np.concatenate(tables)), cupy.asarray(sizes), starts,
        )  # fmt: skip

    def _codes_above(self, ray: Ray, low: int) -> tuple[int, int]:
        """The first and the last code whose level on an ordered ray is above `low`."""
        last = self._n_values[ray.feature] - 1
        if ray.op is Op.GE:
            return max(0, low + 1), last
        return 0, min(last, -low - 1)


@dataclass(frozen=True, eq=False)
class BoxPlan:
    """Boxes on the device, as `kernels.cu` has them."""

    sides: Any
    n_sides: Any
    depth: int
    edges: Any
    tables: Any
    sizes: Any  # (n_boxes, depth) places of a side
    starts: Whole  # (n_boxes + 1,) where the cells of each box begin, on this machine


class CudaBoxes(SiftedBoxes):
    """Sums on the device."""

    def __init__(self, passes: CudaPasses, plan: BoxPlan, first: Any, sums: dict[str, Any]) -> None:
        self._passes, self._plan, self._first, self._sums = passes, plan, first, sums

    def bounds(self) -> Whole:
        """See `SiftedBoxes`."""
        import cupy

        n_boxes = len(self._plan.starts) - 1
        room = int(np.diff(self._plan.starts).max())
        blocks, shared, spare = n_boxes, 16 * room, None
        if shared > SHARED:
            blocks = max(1, min(n_boxes, 1024, (1 << 29) // shared))
            shared, spare = 0, cupy.empty(blocks * 2 * room, np.int64)
        out = cupy.empty((n_boxes, 2), np.int64)
        plan, sums = self._plan, self._sums
        self._passes.kernel("bound_boxes", shared)(
            (blocks,), (THREADS,),
            (
                sums["mass"], sums["loss"], plan.sides, plan.n_sides, np.int32(plan.depth),
                plan.sizes, self._first, np.int32(n_boxes), np.int64(room),
                0 if spare is None else spare, out,
            ),
            shared_mem=shared,
        )  # fmt: skip
        found: Whole = cupy.asnumpy(out)
        return found

    def take(self, places: Whole) -> Parts:
        """See `SiftedBoxes`."""
        import cupy

        starts = self._plan.starts
        own = np.concatenate([np.arange(starts[p], starts[p + 1]) for p in places.tolist()])
        cells = cupy.asarray(own)
        return {n: cupy.asnumpy(sums[cells]).astype(np.int64) for n, sums in self._sums.items()}


def _dealt(order: NDArray[np.intp], n_blocks: int) -> Iterator[NDArray[np.int64]]:
    """Rows sorted by class in blocks, each of which has a share of every class."""
    for b in range(n_blocks):
        yield order[b::n_blocks].astype(np.int64)


def _spread(n_rows: int, n_boxes: int) -> int:
    """Blocks of threads that share the rows of a box."""
    return max(1, min(-(-n_rows // (64 * THREADS)), -(-2112 // max(1, n_boxes))))
