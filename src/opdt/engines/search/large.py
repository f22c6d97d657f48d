"""Many rows: scan cells, prune, refine what is left; exact like the rest.

The rules of k conditions are taken k axes at a time. One pass over the rows counts the cells of a
combination of axes (`cells.count_cells`); the counts bound every rule on these axes from above
and find good ones. Only the combinations whose bound reaches the best are looked at again: the
box of their surviving cells is cut out, its rows are cut finer, and so on until the rows that
are still undecided are few enough for the exact kernels of small tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, combinations_with_replacement, product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import cells
from opdt.engines.search.axes import Axis, count_axes, make_axes
from opdt.engines.search.boxes import Box, View, groups_of, halves, inner_edges, is_most_of
from opdt.engines.search.exact import Piece
from opdt.engines.search.jit import announce_compilation
from opdt.engines.search.polish import Expired
from opdt.engines.search.rays import fill_levels
from opdt.engines.search.seeding import sample_rules
from opdt.engines.search.threads import Task
from opdt.rules import Op

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Whole = NDArray[np.int64]
Rows = NDArray[np.int32]

LEAF_ROWS = 60_000  # undecided rows that are left to the exact kernels
FEW_ROWS = 2_000  # and when the loosest of several equal rules is looked for
# Bins of a dimension when a box of so many is cut.
INNER_BINS = {1: 512, 2: 160, 3: 28, 4: 11, 5: 7, 6: 5, 7: 4, 8: 4}
MAX_GROUPS = 4  # classes counted in one pass; with more, each class is counted against the rest
FEW_POSITIONS = 64  # or so few positions on every ray


MOST = 0.7  # share of the positions from which picking rows by a ray saves nothing
NODE = np.array([1, 0, 0, 0])  # what to add to the counts of the work done


class Counting(NamedTuple):
    """Which weight of which group a row adds to its cell, and what that is worth per class."""

    groups: NDArray[np.uint8]  # (n_rows,)
    weights: Whole  # (n_rows,)
    factors: dict[int, Whole]  # class → gain of a unit of weight of each group


class Scan:
    """The large-table search of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.rays = run.prepared.rays
        self._bases = {base.label: base for base in run.bases}

    nodes = 0  # none but those already counted

    # -- counting ----------------------------------------------------------------------------

    def countings(self) -> list[Counting]:
        """The passes needed for all classes: one, or one per class."""
        problem = self.run.problem
        classes, weights = problem.table.labels, problem.objective.weights
        if problem.is_vi and len(problem.table.classes) <= MAX_GROUPS:
            factors = {
                label: _per_unit(base.gains, weights, classes)
                for label, base in self._bases.items()
            }
            return [Counting(classes.astype(np.uint8), weights, factors)]
        return [
            Counting(
                (base.gains <= 0).astype(np.uint8),
                np.abs(base.gains),
                {label: np.array([1, -1], np.int64)},
            )
            for label, base in self._bases.items()
        ]

    # -- the passes --------------------------------------------------------------------------

    def search(self, size: int) -> None:
        """Settle all rules of exactly `size` conditions."""
        run = self.run
        announce_compilation(cells.count_cells)
        if size == 1 and run.switches.seeding:
            sample_rules(run)
        n_rows = run.problem.table.n_rows
        # A box being cut holds about this much per row: levels, rows, gains and weights.
        each, shared = (4 * size + 40) * n_rows, len(self.rays.columns) * n_rows
        n_threads = run.affordable(each, run.clock.budget.n_threads, shared)
        boxes = self._scan_all(size, n_threads)
        if run.halted():
            return  # boxes are missing: nothing may be concluded from those at hand
        offset = run.scores.offset(size)
        groups: dict[int, list[Box]] = {}
        for box in sorted(boxes, key=lambda box: -box.bound):
            groups.setdefault(self._narrowest(box), []).append(box)

        def refine(index: int, group: list[Box]) -> Task:
            return lambda slot: self._refine(index, group)

        tasks = [(group[0].bound + offset, refine(index, group)) for index, group in groups.items()]
        run.run_open(tasks, n_threads, last=size == run.problem.structure.depth)

    def _narrowest(self, box: Box) -> int:
        """The ray of a box whose loosest condition covers the smallest share of its positions;
        -1 if all cover most of them.
        """
        share, ray = min(
            (
                1 - low / (int(self.rays.tops[ray]) + 1)
                if self.rays.rays[ray].op.is_threshold
                else 1,
                ray,
            )
            for ray, low in zip(box.rays, box.low, strict=True)
        )
        return ray if share < MOST else -1

    def _scan_all(self, size: int, n_threads: int) -> list[Box]:
        """Count the cells of every combination of axes; the boxes that may hold the optimum."""
        axes: list[Axis] = []
        codes = np.empty((count_axes(self.rays), self.run.problem.table.n_rows), np.uint8)
        for row, (axis, look_up) in zip(codes, make_axes(self.rays, size), strict=True):
            self.run.watch()
            if self.run.halted():
                return []
            axes.append(axis)
            np.take(look_up, self.rays.columns[axis.feature].codes + 1, out=row)
        boxes: list[Box] = []

        def scan(chosen: tuple[int, ...], counting: Counting) -> Task:
            return lambda slot: boxes.extend(self._scan(axes, codes, chosen, counting, size))

        tasks = [
            (self.run.ceiling, scan(chosen, counting))
            for counting in self.countings()
            for chosen in self._axis_sets(axes, size)
        ]
        self.run.run_open(tasks, n_threads, last=False)
        return boxes

    def _axis_sets(self, axes: list[Axis], size: int) -> Iterator[tuple[int, ...]]:
        """Combinations of axes with at least one set of rays that fits."""
        for chosen in combinations_with_replacement(range(len(axes)), size):
            if next(self._ray_sets([axes[a] for a in chosen]), None) is not None:
                yield chosen

    def _ray_sets(self, axes: list[Axis]) -> Iterator[tuple[int, ...]]:
        """Sets of rays, one per axis, that some structure can hold."""
        clash = self.run.prepared.clash
        for rays in product(*(axis.turns for axis in axes)):
            same = any(
                a is b and rays[i] >= rays[j] for (i, a), (j, b) in combinations(enumerate(axes), 2)
            )
            if same or any(clash[p, q] for p, q in combinations(rays, 2)):
                continue
            if self.run.prepared.fits(rays):
                yield rays

    def _scan(
        self,
        axes: list[Axis],
        codes: NDArray[np.uint8],
        chosen: tuple[int, ...],
        counting: Counting,
        size: int,
    ) -> list[Box]:
        """Count the cells of some axes; the boxes of their rays that may hold the optimum."""
        run, used = self.run, [axes[a] for a in chosen]
        dims = np.array([axis.n_bins for axis in used], np.int64)
        strides = np.append(np.cumprod(dims[::-1])[::-1][1:], 1)
        n_groups = len(next(iter(counting.factors.values())))
        counts = np.empty(int(dims.prod()) * n_groups, np.int64)
        cells.count_cells(
            codes, np.array(chosen), strides, counting.groups, counting.weights, n_groups, counts
        )
        out: list[Box] = []
        for rays in self._ray_sets(used):
            if self._is_interval(rays):
                self._settle_interval(rays)
                continue
            view = View(self, used, rays, dims, counts, n_groups)
            for label, factors in counting.factors.items():
                out.extend(view.boxes(label, factors, size))
            if run.halted():
                break
        return out

    def _is_interval(self, rays: tuple[int, ...]) -> bool:
        """Whether the rays are the two ends of an interval, which needs no cells.

        Limits on rows, and gains that do not carry errors, are left to the cells.
        """
        ends = [self.rays.rays[ray] for ray in rays]
        plain = self.run.scores.with_errors and not self.run.problem.constraints.bounds_rows
        return (
            plain and len(ends) == 2 and ends[0].feature == ends[1].feature
            and all(end.op.is_threshold for end in ends)
        )  # fmt: skip

    def _settle_interval(self, rays: tuple[int, ...]) -> None:
        """The interval of greatest gain is that of the greatest rise of the gains' running sum."""
        for label in self._bases:
            best = int(cells.greatest_rise(self._by_code(rays, label)))
            value = best + self.run.scores.offset(2)
            if best > 0 and value >= self.run.best:
                self.run.offer(value, label, rays)

    def _by_code(self, rays: tuple[int, ...], label: int) -> Whole:
        """Gain of each code of a feature but the first and the last.

        These two belong to no interval of two real conditions.
        """
        column = self.rays.columns[self.rays.rays[rays[0]].feature]
        by_code = np.zeros(column.n_values + 1, np.int64)
        cells.add_by_code(column.codes, self._bases[label].gains, by_code)
        return by_code[2:-1]

    def _locate_interval(self, rays: tuple[int, ...], label: int, goal: int) -> tuple[int, ...]:
        """The loosest interval that gains the goal: first by its lower end, then by its upper."""
        sums = np.append(0, self._by_code(rays, label).cumsum())  # entry c - 1 belongs to code c
        rise = np.maximum.accumulate(sums[::-1])[::-1][1:] - sums[:-1]
        first = int(np.argmax(rise >= goal))
        last = len(sums) - 1 - int(np.argmax(sums[::-1] - sums[first] >= goal))
        # codes first + 1 … last are covered: `>= first + 1` and `< last + 1`
        n_values = self.rays.n_values(self.rays.rays[rays[0]])
        return first + 1, n_values - (last + 1)

    def _refine(self, index: int, group: list[Box]) -> None:
        """Settle boxes that share a ray: its order of the rows picks theirs without a scan."""
        run, every = self.run, np.arange(self.run.problem.table.n_rows, dtype=np.int32)
        if index >= 0:
            ray, n_values = self.rays.rays[index], self.rays.n_values(self.rays.rays[index])
            starts = np.empty(n_values + 1, np.int32)
            cells.sort_by_code(self.rays.columns[ray.feature].codes, starts, every)
        for box in group:
            if run.halted():
                return
            if box.bound + run.scores.offset(len(box.rays)) < run.best:
                continue
            run.add_counts(NODE)
            rows = every
            if index >= 0:
                low = box.low[box.rays.index(index)]
                if ray.op is Op.GE:
                    rows = every[starts[low + 1] : starts[-1]]
                else:
                    rows = every[: starts[n_values - 1 - low]]
            self.descend(box, rows, self._leaf, LEAF_ROWS)

    def _leaf(self, box: Box, piece: Piece) -> bool:
        """Settle a box exactly, and offer what it holds."""
        run = self.run
        offset = run.scores.offset(len(box.rays))
        best = piece.best(run.best - offset, run.control)
        if best is not None and best + offset >= run.best:
            run.offer(best + offset, box.label, box.rays)
        return False

    # -- refining ----------------------------------------------------------------------------

    def descend(
        self,
        box: Box,
        rows: Rows,
        visit: Callable[[Box, Piece], bool],
        leaf: int,
        *,
        fixed_goal: int | None = None,
    ) -> None:
        """Cut a box finer and finer; `visit` the parts that may reach the best value.

        `rows` are all that the box may cover, or more.

        Ends early when a visit returns True or the run is halted. With a `fixed_goal`, the parts
        that may reach that gain are visited, whatever becomes known meanwhile, halted or not.
        """
        base = self._bases[box.label]
        stack = [(box, rows, np.zeros(3, np.int64))]
        while stack and (fixed_goal is not None or not self.run.halted()):
            if fixed_goal is not None and self.run.expired():
                raise Expired
            box, rows, fixed = stack.pop()
            goal = fixed_goal
            if goal is None:
                goal = self.run.best - self.run.scores.offset(len(box.rays))
            if box.bound < goal:
                continue
            levels, tops = self._levels(box, rows)
            active = np.empty(len(rows), np.int32)
            fixed = fixed.copy()
            count, mass = cells.split_rows(
                levels, tops, rows, base.gains, base.weights, base.wrong, active, fixed
            )
            if fixed[0] + mass < goal:
                continue
            active = active[:count].copy()
            levels = np.ascontiguousarray(levels[:, :count])
            piece = Piece(
                levels, tops, base.gains[active], base.weights[active], base.wrong[active],
                tuple(fixed.tolist()), self.run.limits,
                self.run.problem.constraints.bounds_rows, self.run.scores.with_errors,
                self.run.expired,
            )  # fmt: skip
            if count <= leaf or max(tops) <= FEW_POSITIONS:
                if visit(box, piece):
                    return
                continue
            stack.extend((part, active, fixed) for part in self._cut(box, piece, goal))

    def _levels(self, box: Box, rows: Rows) -> tuple[NDArray[np.int32], Whole]:
        """Positions of the rows on the box's rays, counted from its loosest side."""
        tops = np.array(box.high, np.int64) - np.array(box.low, np.int64)
        levels = np.empty((len(box.rays), len(rows)), np.int32)
        for out, index, low, high in zip(levels, box.rays, box.low, box.high, strict=True):
            ray, n_values = self.rays.rays[index], self.rays.n_values(self.rays.rays[index])
            codes = self.rays.columns[ray.feature].codes
            if ray.op.is_threshold:
                mirrored = ray.op is Op.LT
                cells.clip_levels(codes, rows, mirrored, n_values, low, high, out)
            else:
                fill_levels(out, ray, codes[rows], n_values)
        return levels, tops

    def _cut(self, box: Box, piece: Piece, goal: int) -> list[Box]:
        """Parts of a box that may reach the goal, found by counting finer cells."""
        k = len(box.rays)
        edges = [inner_edges(piece.levels[d], int(piece.tops[d]), INNER_BINS[k]) for d in range(k)]
        sizes = np.array([len(e) - 1 for e in edges], np.int64)
        strides = np.append(np.cumprod(sizes[::-1])[::-1][1:], 1)
        # place t of a dimension holds the levels edges[t] < level <= edges[t + 1]
        look_up = [np.append(0, np.repeat(np.arange(len(e) - 1), np.diff(e))) for e in edges]
        starts = np.append(0, np.cumsum([len(table) for table in look_up]))[:-1]
        mass, loss = np.empty((2, int(sizes.prod())), np.int64)
        cells.count_inside(
            piece.levels, np.concatenate(look_up).astype(np.int16), starts, strides, piece.gains,
            mass, loss,
        )  # fmt: skip
        mass[-1] += max(piece.fixed[0], 0)  # rows that every position covers
        loss[-1] += max(-piece.fixed[0], 0)
        cells.accumulate(mass, sizes, strides)
        cells.accumulate(loss, sizes, strides)
        upper = np.empty(sizes[0], np.int64)
        low, high = np.empty((2, int(sizes[0]), k), np.int64)
        best = cells.bound_inside(mass, loss, sizes, strides, goal, upper, low, high)
        offset = self.run.scores.offset(k)
        if not self.run.problem.constraints.bounds_rows and best + offset >= self.run.best:
            self.run.offer(int(best) + offset, box.label, box.rays)
        parts = []
        for bound, first, last in groups_of(upper, low, high):
            lows = tuple(box.low[d] + int(edges[d][first[d]]) for d in range(k))
            highs = tuple(box.low[d] + int(edges[d][last[d] + 1]) for d in range(k))
            part = Box(bound, box.label, box.rays, lows, highs)
            parts += halves(part) if is_most_of(part, box) else [part]
        return sorted(parts, key=lambda part: part.bound)

    # -- ties --------------------------------------------------------------------------------

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, hurry: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays, in their order, that gain the goal."""
        if self._is_interval(rays):
            return self._locate_interval(rays, label, goal)
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
        every = np.arange(self.run.problem.table.n_rows, dtype=np.int32)
        self.descend(whole, every, visit, LEAF_ROWS if hurry else FEW_ROWS, fixed_goal=goal)
        return min(found)[1] if found else None


def _per_unit(gains: Whole, weights: Whole, classes: NDArray[np.int32]) -> Whole:
    """The gain of a unit of weight of each class: any row of it tells."""
    out = np.zeros(int(classes.max()) + 1, np.int64)
    for code in range(len(out)):
        row = int(np.argmax((classes == code) & (weights > 0)))
        if classes[row] == code and weights[row] > 0:
            out[code] = gains[row] // weights[row]
    return out
