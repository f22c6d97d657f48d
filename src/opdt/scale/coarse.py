"""Axes cut by the sample, and the bounds that counted cells give.

The mathematics is that of the in-memory engine's large-row path (`opdt.engines.search.cells`);
positions are levels in the sense of `opdt.scale.works`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import cells, kernels
from opdt.engines.search.axes import BINS, Axis, bin_edges
from opdt.engines.search.boxes import groups_of
from opdt.engines.search.rays import Ray
from opdt.rules import Op
from opdt.scale.boxes import Box
from opdt.scale.keys import MISSING
from opdt.scale.question import Question
from opdt.scale.works import Binning
from opdt.table import Kind

Whole = NDArray[np.int64]
LEVELS_PER_AXIS = 60  # a categorical feature with more levels gets several axes


@dataclass(frozen=True, eq=False)
class Grid:
    """The axes on which rules of `size` conditions are counted, and their sets."""

    size: int
    axes: tuple[Axis, ...]
    binnings: tuple[Binning, ...]

    @classmethod
    def of(cls, question: Question, sample: dict[int, Whole], size: int) -> Grid:
        """Axes for all features that some ray uses."""
        members: dict[int, list[int]] = {}
        for index, ray in enumerate(question.prepared.rays.rays):
            members.setdefault(ray.feature, []).append(index)
        pairs = [
            pair
            for feature, rays in members.items()
            for pair in _axes_of(question, sample[feature], feature, rays, size)
        ]
        return cls(size, tuple(a for a, _ in pairs), tuple(b for _, b in pairs))

    def sets(self, question: Question | None) -> Iterator[tuple[int, ...]]:
        """Combinations of axes; of a question, those with a set of rays that fits."""
        for chosen in combinations_with_replacement(range(len(self.axes)), self.size):
            if question is None or next(self.ray_sets(question, chosen), None) is not None:
                yield chosen

    def n_cells(self, chosen: Sequence[int]) -> int:
        """Number of cells of a combination of axes."""
        return math.prod(self.axes[a].n_bins for a in chosen)

    def ray_sets(
        self,
        question: Question,
        chosen: Sequence[int],
        hopeful: Iterable[tuple[int, ...]] | None = None,
    ) -> Iterator[tuple[int, ...]]:
        """Sets of rays, one per axis, that some structure can hold; of all, or the `hopeful`."""
        clash, used = question.prepared.clash, [self.axes[a] for a in chosen]
        for rays in product(*(axis.turns for axis in used)) if hopeful is None else hopeful:
            same = any(
                a is b and rays[i] >= rays[j] for (i, a), (j, b) in combinations(enumerate(used), 2)
            )
            if same or any(clash[p, q] for p, q in combinations(rays, 2)):
                continue
            if question.prepared.fits(rays):
                yield rays


def _axes_of(
    question: Question, sample: Whole, feature: int, members: list[int], size: int
) -> Iterator[tuple[Axis, Binning]]:
    rays = question.prepared.rays.rays
    if question.schema.features[feature].kind is Kind.NUMERIC:
        yield _numeric_axis(question, sample, feature, members, size)
        return
    n_levels = len(question.coder.levels[feature])
    step = LEVELS_PER_AXIS
    for start in range(0, max(n_levels, 1), step):
        own = range(start, min(start + step, n_levels))
        other, missing = len(own), len(own) + 1
        look_up = np.full(n_levels + 1, other, np.uint8)
        look_up[own.start : own.stop] = np.arange(len(own))
        look_up[-1] = missing
        axis = Axis(feature, len(own) + 2)
        codes = np.array([*own, -2, MISSING])  # -2 stands for "some other level"
        for index in members:
            ray = rays[index]
            if (ray.code in own) if ray.code >= 0 else start == 0:
                _add_single(axis, index, ray, codes)
        if axis.turns:
            yield axis, Binning(feature, axis.n_bins, look_up=look_up)


def _numeric_axis(
    question: Question, sample: Whole, feature: int, members: list[int], size: int
) -> tuple[Axis, Binning]:
    rays = question.prepared.rays.rays
    ends = question.ranges[feature]
    edges = np.empty(0, np.int64) if not len(ends) else _cuts(question, sample, feature, size)
    n_bins = len(edges)
    axis = Axis(feature, n_bins + 1)
    for index in members:
        ray = rays[index]
        if ray.op is Op.GE:
            axis.turns[index] = np.append(np.arange(n_bins), -1)
            axis.edges[index] = np.append(ends[0], edges)
        elif ray.op is Op.LT:
            axis.turns[index] = np.append(np.arange(n_bins)[::-1], -1)
            axis.edges[index] = np.concatenate([[-ends[1]], -edges[-2::-1] - 1, [-ends[0]]])
        else:
            _add_single(axis, index, ray, np.append(np.zeros(n_bins, np.int64), MISSING))
    return axis, Binning(feature, axis.n_bins, edges=edges)


def _cuts(question: Question, sample: Whole, feature: int, size: int) -> Whole:
    """The largest key of each bin; the last is the largest of all."""
    ends, few, bins = question.ranges[feature], question.values[feature], BINS[size]
    if few is not None and len(few) <= bins:
        return few
    known = np.unique(np.concatenate([sample[sample != MISSING], ends]))
    codes = np.searchsorted(known, np.append(sample[sample != MISSING], ends)).astype(np.int32)
    starts = bin_edges(codes, len(known), bins)  # codes that begin each bin
    return known[starts[1:] - 1]


def _add_single(axis: Axis, index: int, ray: Ray, codes: Whole) -> None:
    """A ray of one condition; `codes` says which code each bin stands for."""
    if ray.op is Op.EQ:
        covered = codes == ray.code
    elif ray.op is Op.NE:
        covered = (codes != ray.code) & (codes != MISSING)
    elif ray.op is Op.IN:
        covered = np.isin(codes, ray.levels)
    elif ray.op is Op.MISSING:
        covered = codes == MISSING
    else:
        covered = codes != MISSING
    axis.turns[index] = covered.astype(np.int64)
    axis.edges[index] = None


class View:
    """The counted cells of some axes along one set of rays.

    `counts` (n_cells, n_classes) are weights; `mass` and `loss` are for one class of rules.
    """

    def __init__(self, axes: Sequence[Axis], rays: tuple[int, ...], counts: Whole) -> None:
        self._axes, self.rays, self._counts = axes, rays, counts
        self._edges = [axis.edges[ray] for axis, ray in zip(axes, rays, strict=True)]
        self._dims = np.array([axis.n_bins for axis in axes], np.int64)
        self._sizes = np.array([2 if e is None else len(e) - 1 for e in self._edges], np.int64)
        self._strides = np.append(np.cumprod(self._sizes[::-1])[::-1][1:], 1)

    @property
    def is_single(self) -> bool:
        """Whether the rays hold one rule only."""
        return all(edges is None for edges in self._edges)

    def _sums(self, factors: Whole) -> tuple[Whole, Whole]:
        """Mass and loss of all cells at least as tight, in places of the rays."""
        turns = np.full((len(self.rays), int(self._dims.max())), -1, np.int64)
        for row, axis, ray in zip(turns, self._axes, self.rays, strict=True):
            row[: axis.n_bins] = axis.turns[ray]
        mass, loss = np.empty((2, int(self._sizes.prod())), np.int64)
        cells.orient(
            self._counts.reshape(-1), self._dims, len(factors), factors, turns, self._sizes,
            self._strides, mass, loss,
        )  # fmt: skip
        cells.accumulate(mass, self._sizes, self._strides)
        cells.accumulate(loss, self._sizes, self._strides)
        return mass, loss

    def bound(self, factors: Whole, goal: int) -> tuple[int, tuple[Whole, Whole, Whole]]:
        """The best exact value at bin borders; bounds and boxes of the cells alive."""
        upper = np.empty(int(self._sizes[0]), np.int64)
        low, high = np.empty((2, int(self._sizes[0]), len(self.rays)), np.int64)
        if len(self.rays) == 2:
            one, two = (a.places(r) for a, r in zip(self._axes, self.rays, strict=True))
            scratch = np.empty((3, len(two[1]) - 1), np.int64)
            best = cells.bound_pair(
                self._counts.reshape(-1), int(self._dims[1]), len(factors), factors, *one, *two,
                goal, *scratch, upper, low, high,
            )  # fmt: skip
            upper[len(one[1]) - 1 :] = kernels.NEG
            return int(best), (upper, low, high)
        mass, loss = self._sums(factors)
        exact = np.array([edges is None for edges in self._edges])
        best = cells.bound_cells(
            mass, loss, self._sizes, self._strides, exact, goal, upper, low, high
        )
        return int(best), (upper, low, high)

    def corners(self) -> tuple[Whole, NDArray[np.bool_]]:
        """Class weights of the rules at bin borders (n_places, n_classes), and which are rules."""
        n_classes = self._counts.shape[1]
        eye = np.eye(n_classes, dtype=np.int64)
        covers = np.stack([self._sums(eye[g])[0] for g in range(n_classes)], axis=1)
        places = np.unravel_index(np.arange(len(covers)), tuple(self._sizes))
        valid = np.ones(len(covers), bool)
        for place, edges in zip(places, self._edges, strict=True):
            valid &= (place == 1) if edges is None else (place > 0)
        return covers, valid

    def spots(self, corner: int) -> tuple[int, ...]:
        """The positions of the rule at a corner."""
        places = np.unravel_index(corner, tuple(self._sizes))
        return tuple(
            1 if edges is None else int(edges[place]) + 1
            for place, edges in zip(places, self._edges, strict=True)
        )

    def boxes(self, label: int, alive: tuple[Whole, Whole, Whole], n_rows: int) -> Iterator[Box]:
        """The boxes of the cells alive; `n_rows` is the number of all rows."""
        counted: Whole | None = None
        for bound, first, last in groups_of(*alive):
            lows, highs = [], []
            for edges, a, b in zip(self._edges, first, last, strict=True):
                lows.append(0 if edges is None else int(edges[a]))
                highs.append(1 if edges is None else int(edges[b + 1]))
            if any(a >= b for a, b in zip(lows, highs, strict=True)):
                continue  # nothing is looser than the loosest border: no rule lies there
            if counted is None:
                counted = self._sums(np.ones(self._counts.shape[1], np.int64))[0]
            rows = min(n_rows, self._undecided(counted, first, last))
            yield Box(bound, label, self.rays, tuple(lows), tuple(highs), rows)

    def _undecided(self, counted: Whole, first: list[int], last: list[int]) -> int:
        """Weight of the rows inside a box of places that its tightest rule need not cover."""
        inside = tight = 0
        beyond = False
        for stride, size, edges, a, b in zip(
            self._strides, self._sizes, self._edges, first, last, strict=True
        ):
            step = 0 if edges is None else 1
            inside += (1 if edges is None else a) * int(stride)
            tight += (1 if edges is None else b + step) * int(stride)
            beyond = beyond or (edges is not None and b + step >= size)
        return int(counted[inside]) - (0 if beyond else int(counted[tight]))
