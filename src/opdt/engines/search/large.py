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

from opdt.engines.search import cells, kernels
from opdt.engines.search.axes import Axis, make_axes
from opdt.engines.search.exact import Piece
from opdt.engines.search.rays import Plan, fill_levels
from opdt.engines.search.threads import run_tasks

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Whole = NDArray[np.int64]
Rows = NDArray[np.int32]

LEAF_ROWS = 30_000  # undecided rows that are left to the exact kernels
FEW_ROWS = 2_000  # and when the loosest of several equal rules is looked for
MAX_GROUPS = 4  # classes counted in one pass; with more, each class is counted against the rest
FEW_POSITIONS = 64  # or so few positions on every ray


class Counting(NamedTuple):
    """Which weight of which group a row adds to its cell, and what that is worth per class."""

    groups: NDArray[np.uint8]  # (n_rows,)
    weights: Whole  # (n_rows,)
    factors: dict[int, Whole]  # class → gain of a unit of weight of each group


class Box(NamedTuple):
    """Rays with ranges of positions low < position <= high that may hold the optimum."""

    bound: int
    label: int
    rays: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


class Scan:
    """The large-table search of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.rays = run.prepared.rays
        self._gains = {base.label: base for base in run.bases}

    # -- counting ----------------------------------------------------------------------------

    def countings(self) -> list[Counting]:
        """The passes needed for all classes: one, or one per class."""
        problem, scores = self.run.problem, self.run.scores
        objective = problem.objective
        classes = problem.table.labels
        if problem.is_vi and len(problem.table.classes) <= MAX_GROUPS:
            right = {label: scores.gains(problem, label) for label in objective.labels}
            return [
                Counting(
                    classes.astype(np.uint8),
                    objective.weights,
                    {
                        label: _per_unit(gains, objective.weights, classes)
                        for label, gains in right.items()
                    },
                )
            ]
        out = []
        for label in objective.labels:
            gains = scores.gains(problem, label)
            groups = (gains <= 0).astype(np.uint8)
            out.append(Counting(groups, np.abs(gains), {label: np.array([1, -1], np.int64)}))
        return out

    # -- the passes --------------------------------------------------------------------------

    def search(self, size: int) -> None:
        """Settle all rules of exactly `size` conditions."""
        run = self.run
        axes = make_axes(self.rays, size)
        codes = np.empty((len(axes), run.problem.table.n_rows), np.uint8)
        for row, axis in zip(codes, axes, strict=True):
            np.take(axis.look_up, self.rays.columns[axis.feature].codes + 1, out=row)
        boxes: list[Box] = []
        tasks = []
        for counting in self.countings():
            for chosen in self._axis_sets(axes, size):

                def task(
                    slot: int, chosen: tuple[int, ...] = chosen, counting: Counting = counting
                ) -> None:
                    boxes.extend(self._scan(axes, codes, chosen, counting, size))

                tasks.append(task)
        run.run_open([(run.ceiling, task) for task in tasks])
        del codes
        boxes.sort(key=lambda box: -box.bound)
        run.run_open(
            [
                (box.bound + run.scores.offset(size), lambda slot, box=box: self._refine(box))
                for box in boxes
            ]
        )

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
                a is b and rays[i] >= rays[j]
                for (i, a), (j, b) in combinations(enumerate(axes), 2)
            )
            if same or any(clash[p, q] for p, q in combinations(rays, 2)):
                continue
            if any(_fits(plan, rays) for plan in self.run.prepared.plans):
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
            view = _View(self, used, rays, dims, counts, n_groups)
            for label, factors in counting.factors.items():
                box = view.box(label, factors, size)
                if box is not None:
                    out.append(box)
            if run.halted():
                break
        return out

    def _refine(self, box: Box) -> None:
        if box.bound + self.run.scores.offset(len(box.rays)) >= self.run.best:
            self.run.count_nodes(1)
            self.descend(box, self._leaf, LEAF_ROWS)

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
        self, box: Box, visit: Callable[[Box, Piece], bool], leaf: int, *, anyway: bool = False
    ) -> None:
        """Cut a box finer and finer; `visit` the parts that may reach the best value.

        Ends early when a visit returns True or the run is halted (unless `anyway`).
        """
        every = np.arange(self.run.problem.table.n_rows, dtype=np.int32)
        base = self._gains[box.label]
        stack = [(box, every, (0, 0, 0))]
        while stack and (anyway or not self.run.halted()):
            box, rows, fixed = stack.pop()
            goal = self.run.best - self.run.scores.offset(len(box.rays))
            levels, tops = self._levels(box, rows)
            active, always = np.empty(len(rows), np.int32), np.empty(3, np.int64)
            count = cells.split_rows(
                levels, tops, rows, base.gains, base.weights, base.wrong, active, always
            )
            active = active[:count]
            fixed = tuple(a + b for a, b in zip(fixed, always.tolist(), strict=True))
            gains = base.gains[rows[active]]
            if fixed[0] + int(gains[gains > 0].sum()) < goal:
                continue
            piece = Piece(
                levels[:, active], tops, gains, base.weights[rows[active]],
                base.wrong[rows[active]], fixed, self.run.limits,
                self.run.problem.constraints.bounds_rows, self.run.scores.with_errors,
            )  # fmt: skip
            if count <= leaf or max(tops) <= FEW_POSITIONS:
                if visit(box, piece):
                    return
                continue
            parts = self._cut(box, piece, goal)
            stack.extend((part, rows[active], fixed) for part in reversed(parts))

    def _levels(self, box: Box, rows: Rows) -> tuple[NDArray[np.int32], Whole]:
        """Positions of the rows on the box's rays, counted from its loosest side."""
        tops = np.array(box.high, np.int64) - np.array(box.low, np.int64)
        levels = np.empty((len(box.rays), len(rows)), np.int32)
        for out, index, low, high in zip(levels, box.rays, box.low, box.high, strict=True):
            ray, n_values = self.rays.rays[index], self.rays.n_values(self.rays.rays[index])
            codes = self.rays.columns[ray.feature].codes
            if ray.op.is_threshold:
                mirrored = ray.op.value == "<"
                cells.clip_levels(codes, rows, mirrored, n_values, low, high, out)
            else:
                fill_levels(out, ray, codes[rows], n_values)
        return levels, tops

    def _cut(self, box: Box, piece: Piece, goal: int) -> list[Box]:
        """Parts of a box that may reach the goal, found by counting finer cells."""
        k = len(box.rays)
        bins = {1: 512, 2: 96, 3: 24, 4: 11}.get(k, 6)
        edges = [_inner_edges(piece.levels[d], int(piece.tops[d]), bins) for d in range(k)]
        sizes = np.array([len(e) - 1 for e in edges], np.int64)
        strides = np.append(np.cumprod(sizes[::-1])[::-1][1:], 1)
        place = np.zeros(len(piece.gains), np.int64)
        for d in range(k):
            # place t holds the levels edges[t] < level <= edges[t + 1]; levels are never 0 here
            place += (np.searchsorted(edges[d], piece.levels[d], side="left") - 1) * strides[d]
        mass = np.zeros(int(sizes.prod()), np.int64)
        loss = np.zeros(int(sizes.prod()), np.int64)
        np.add.at(mass, place, np.maximum(piece.gains, 0))
        np.add.at(loss, place, np.maximum(-piece.gains, 0))
        mass[-1] += max(piece.fixed[0], 0)  # rows that every position covers
        loss[-1] += max(-piece.fixed[0], 0)
        return self._parts(box, piece, edges, sizes, strides, mass, loss, goal)

    def _parts(
        self,
        box: Box,
        piece: Piece,
        edges: list[Whole],
        sizes: Whole,
        strides: Whole,
        mass: Whole,
        loss: Whole,
        goal: int,
    ) -> list[Box]:
        k = len(sizes)
        cells.accumulate(mass, sizes, strides)
        cells.accumulate(loss, sizes, strides)
        low, high = np.empty((2, k), np.int64)
        upper, best, alive = cells.bound_inside(mass, loss, sizes, strides, goal, low, high)
        offset = self.run.scores.offset(k)
        if not self.run.problem.constraints.bounds_rows and best + offset >= self.run.best:
            self.run.offer(best + offset, box.label, box.rays)
        if alive == 0:
            return []
        lows = tuple(box.low[d] + int(edges[d][low[d]]) for d in range(k))
        highs = tuple(box.low[d] + int(edges[d][high[d] + 1]) for d in range(k))
        part = Box(int(upper), box.label, box.rays, lows, highs)
        width = [b - a for a, b in zip(lows, highs, strict=True)]
        before = [b - a for a, b in zip(box.low, box.high, strict=True)]
        if max(w / b for w, b in zip(width, before, strict=True)) <= 0.5 or max(width) == 1:
            return [part]
        # The box has hardly shrunk: halve it where most rows are undecided.
        d = max(range(k), key=lambda d: (width[d] > 1, int(high[d] - low[d]), width[d]))
        middle = lows[d] + width[d] // 2
        inside = [int(e) + box.low[d] for e in edges[d] if lows[d] < int(e) + box.low[d] < highs[d]]
        if inside:
            middle = inside[len(inside) // 2]
        return [
            part._replace(high=tuple(middle if i == d else h for i, h in enumerate(highs))),
            part._replace(low=tuple(middle if i == d else v for i, v in enumerate(lows))),
        ]

    # -- ties --------------------------------------------------------------------------------

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, hurry: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays, in their order, that gain the goal."""
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
        self.descend(whole, visit, LEAF_ROWS if hurry else FEW_ROWS, anyway=True)
        return min(found)[1] if found else None


class _View:
    """The counted cells of some axes, seen along one set of rays."""

    def __init__(
        self,
        scan: Scan,
        axes: list[Axis],
        rays: tuple[int, ...],
        dims: Whole,
        counts: Whole,
        n_groups: int,
    ) -> None:
        self._scan, self._rays, self._dims = scan, rays, dims
        self._counts, self._n_groups = counts, n_groups
        self._edges = [axis.edges[ray] for axis, ray in zip(axes, rays, strict=True)]
        turns = [axis.turns[ray] for axis, ray in zip(axes, rays, strict=True)]
        self._turn = np.full((len(rays), int(dims.max())), -1, np.int64)
        for row, turn in zip(self._turn, turns, strict=True):
            row[: len(turn)] = turn
        self._sizes = np.array(
            [2 if edges is None else len(edges) - 1 for edges in self._edges], np.int64
        )
        self._strides = np.append(np.cumprod(self._sizes[::-1])[::-1][1:], 1)
        self._exact = np.array([edges is None for edges in self._edges])

    def box(self, label: int, factors: Whole, size: int) -> Box | None:
        """The smallest box of cells that may reach the best value, if any."""
        run = self._scan.run
        offset = run.scores.offset(size)
        cell_count = int(self._sizes.prod())
        mass, loss = np.empty((2, cell_count), np.int64)
        cells.orient(
            self._counts, self._dims, self._n_groups, factors, self._turn, self._sizes,
            self._strides, mass, loss,
        )  # fmt: skip
        cells.accumulate(mass, self._sizes, self._strides)
        cells.accumulate(loss, self._sizes, self._strides)
        low, high = np.empty((2, size), np.int64)
        goal = run.best - offset
        upper, best, alive = cells.bound_cells(
            mass, loss, self._sizes, self._strides, self._exact, goal, low, high
        )
        run.count_evaluations(1)
        if not run.problem.constraints.bounds_rows and best + offset >= run.best:
            run.offer(int(best) + offset, label, self._rays)
        if alive == 0:
            return None
        if self._exact.all() and not run.problem.constraints.bounds_rows:
            return None  # one rule, and it has been offered
        lows, highs = [], []
        for d, edges in enumerate(self._edges):
            lows.append(0 if edges is None else int(edges[low[d]]))
            highs.append(1 if edges is None else int(edges[high[d] + 1]))
        tops = self._scan.rays.tops
        cut = [min(h, int(tops[ray])) for h, ray in zip(highs, self._rays, strict=True)]
        return Box(int(upper), label, self._rays, tuple(lows), tuple(cut))


def _fits(plan: Plan, rays: tuple[int, ...]) -> bool:
    return plan.fits(tuple(int(plan.types[ray]) for ray in rays))


def _per_unit(gains: Whole, weights: Whole, classes: NDArray[np.int32]) -> Whole:
    """The gain of a unit of weight of each class."""
    out = np.zeros(int(classes.max()) + 1, np.int64)
    for code in range(len(out)):
        row = np.flatnonzero((classes == code) & (weights > 0))
        if len(row):
            out[code] = gains[row[0]] // weights[row[0]]
    return out


def _inner_edges(levels: NDArray[np.int32], top: int, bins: int) -> Whole:
    """Levels between which a box is cut: 0 first, the top last."""
    if top <= bins:
        return np.arange(top + 1, dtype=np.int64)
    sample = levels[:: max(1, len(levels) // 20_000)]
    inner = np.unique(np.quantile(sample, np.linspace(0, 1, bins + 1)[1:-1]).astype(np.int64))
    inner = inner[(inner > 0) & (inner < top)]
    # the top level gets a place of its own: see `cells.bound_inside`
    return np.unique(np.concatenate([[0], inner, [top - 1, top]]))
