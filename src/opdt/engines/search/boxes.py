"""Boxes of positions that may hold the optimum, and the cells in which they are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import cells, kernels
from opdt.engines.search.axes import Axis

if TYPE_CHECKING:
    from opdt.engines.search.scan import Scan

Whole = NDArray[np.int64]
EVALUATION = np.array([0, 1, 0, 0])  # what to add to the counts of the work done


class Box(NamedTuple):
    """Rays with ranges of positions low < position <= high that may hold the optimum."""

    bound: int
    label: int
    rays: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


class View:
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
        self._axes = axes

    def _bound(self, factors: Whole, goal: int, upper: Whole, low: Whole, high: Whole) -> int:
        """The best exact gain; bounds and boxes of the cells alive go into the arrays."""
        if len(self._rays) == 2:
            one, two = (a.places(r) for a, r in zip(self._axes, self._rays, strict=True))
            scratch = np.empty((3, len(two[1]) - 1), np.int64)
            best: int = cells.bound_pair(
                self._counts, int(self._dims[1]), self._n_groups, factors, *one, *two, goal,
                *scratch, upper, low, high,
            )  # fmt: skip
            upper[len(one[1]) - 1 :] = kernels.NEG
            return best
        turns = np.full((len(self._rays), int(self._dims.max())), -1, np.int64)
        for row, axis, ray in zip(turns, self._axes, self._rays, strict=True):
            row[: axis.n_bins] = axis.turns[ray]
        sizes = np.array([2 if e is None else len(e) - 1 for e in self._edges], np.int64)
        strides = np.append(np.cumprod(sizes[::-1])[::-1][1:], 1)
        mass, loss = np.empty((2, int(sizes.prod())), np.int64)
        cells.orient(
            self._counts, self._dims, self._n_groups, factors, turns, sizes, strides, mass, loss
        )
        cells.accumulate(mass, sizes, strides)
        cells.accumulate(loss, sizes, strides)
        exact = np.array([edges is None for edges in self._edges])
        return int(cells.bound_cells(mass, loss, sizes, strides, exact, goal, upper, low, high))

    def boxes(self, label: int, factors: Whole, size: int) -> list[Box]:
        """Boxes of cells that may reach the best value."""
        run = self._scan.run
        offset = run.scores.offset(size)
        n_places = 2 if self._edges[0] is None else len(self._edges[0]) - 1
        upper = np.empty(n_places, np.int64)
        low, high = np.empty((2, n_places, size), np.int64)
        best = self._bound(factors, run.best - offset, upper, low, high)
        run.add_counts(EVALUATION)
        if not run.problem.constraints.bounds_rows and best + offset >= run.best:
            run.offer(int(best) + offset, label, self._rays)
        if all(edges is None for edges in self._edges) and not run.problem.constraints.bounds_rows:
            return []  # one rule, and it has been offered
        tops = self._scan.rays.tops
        out = []
        for bound, first, last in groups_of(upper, low, high):
            lows, highs = [], []
            for edges, ray, a, b in zip(self._edges, self._rays, first, last, strict=True):
                lows.append(0 if edges is None else int(edges[a]))
                highs.append(1 if edges is None else min(int(edges[b + 1]), int(tops[ray])))
            out.append(Box(bound, label, self._rays, tuple(lows), tuple(highs)))
        return out


def inner_edges(levels: NDArray[np.int32], top: int, bins: int) -> Whole:
    """Levels between which a box is cut: 0 first, the top last."""
    if top <= bins:
        return np.arange(top + 1, dtype=np.int64)
    sample = np.sort(levels[:: max(1, len(levels) // 4000)])
    inner = sample[np.linspace(0, len(sample) - 1, bins - 1).astype(int)].astype(np.int64)
    # the top level gets a place of its own: see `cells.bound_inside`
    edges = np.unique(np.concatenate([[0], inner, [top - 1, top]]))
    return edges[(edges >= 0) & (edges <= top)]


def groups_of(upper: Whole, low: Whole, high: Whole) -> Iterator[tuple[int, list[int], list[int]]]:
    """Boxes that hold all cells alive: neighbouring places together while that wastes little.

    Yields bound, lowest and highest place in each dimension.
    """
    current: tuple[int, list[int], list[int], float] | None = None
    for t in np.flatnonzero(upper > kernels.NEG).tolist():
        first, last, bound = low[t].tolist(), high[t].tolist(), int(upper[t])
        cells_here = float(np.prod(high[t] - low[t] + 1))
        if current is not None:
            joined = [min(a, b) for a, b in zip(current[1], first, strict=True)]
            end = [max(a, b) for a, b in zip(current[2], last, strict=True)]
            alive = current[3] + cells_here
            if np.prod([b - a + 1.0 for a, b in zip(joined, end, strict=True)]) <= 8 * alive:
                current = (max(current[0], bound), joined, end, alive)
                continue
            yield current[:3]
        current = (bound, first, last, cells_here)
    if current is not None:
        yield current[:3]


def is_most_of(part: Box, box: Box) -> bool:
    """Whether a part is hardly smaller than the box it was cut from."""
    pairs = zip(part.low, part.high, box.low, box.high, strict=True)
    return all(b - a > 0.5 * (d - c) for a, b, c, d in pairs)


def halves(part: Box) -> list[Box]:
    """A box cut in two across its longest side."""
    widths = [b - a for a, b in zip(part.low, part.high, strict=True)]
    d = max(range(len(widths)), key=lambda d: widths[d])
    if widths[d] < 2:
        return [part]
    middle = part.low[d] + widths[d] // 2
    return [
        part._replace(high=tuple(middle if i == d else h for i, h in enumerate(part.high))),
        part._replace(low=tuple(middle if i == d else v for i, v in enumerate(part.low))),
    ]
