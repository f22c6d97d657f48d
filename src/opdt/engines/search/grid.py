"""Axes: features cut into few bins, so that the cells of several of them fit into a cache.

An axis knows which rays its bins decide. An *ordered* ray (`>=`, `<`) runs along the bins; its
threshold lies in one of them, so that the bin bounds what it covers. A *single* ray (`==`, `!=`,
`in`, `is missing`, `is present`) covers whole bins and is decided exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.jit import kernel
from opdt.engines.search.rays import Rays
from opdt.rules import Op
from opdt.table import Column, Kind, SparseColumn

Whole = NDArray[np.int64]
Bins = NDArray[np.uint8]
Levels = tuple[int, ...]  # codes of a feature without order

ENDS = 4.5  # log-odds of the share of the rows that the outermost bins hold
MANY_BINS, TAIL_SHARE = 50, 3  # bins from which some are for the tails: one in so many
SAMPLE = 50_000  # rows by which features are cut into bins
# How a single ray covers bins: one, all but one, some, the missing one, all present ones.
THIS, OTHERS, SOME, MISSING, PRESENT = range(5)
HOW = {
    Op.EQ: THIS,
    Op.NE: OTHERS,
    Op.IN: SOME,
    Op.MISSING: MISSING,
    Op.PRESENT: PRESENT,
}


@dataclass(frozen=True, eq=False)
class Axis:
    """A feature in bins.

    Attributes
    ----------
    feature : int
    n_bins : int
        Bins of present values; the bin behind them is that of missing values.
    edges : ndarray of shape (n_bins + 1,), or None
        The first position of each bin on an ordered axis, and where the last one ends: bin `b`
        holds the levels edges[b] <= level < edges[b + 1] of the ray `>=`. None without order.
    lone : ndarray of bool of shape (n_bins,)
        Bins that hold one value only, in which no threshold lies.
    up, down : int
        The rays `>=` and `<` of an ordered axis; -1 where there is none.
    singles : list of (ray, how, bin, levels)
        The rays of one condition; `bin` for `==` and `!=`, `levels` for `in`.
    """

    feature: int
    n_bins: int
    edges: Whole | None
    lone: NDArray[np.bool_]
    up: int = -1
    down: int = -1
    singles: list[tuple[int, int, int, tuple[int, ...]]] = field(default_factory=list)

    def rays(self) -> list[int]:
        """All rays that the axis decides."""
        return [r for r in (self.up, self.down) if r >= 0] + [ray for ray, *_ in self.singles]


class Grid(NamedTuple):
    """The axes of a scan as arrays that kernels take.

    `codes` (n_axes, n_rows) are the rows' bins. Axis `a` has `n_bins[a]` bins and, if
    `missing[a]`, one more of missing values; `lone` (n_axes, most bins) marks bins of one value.
    `up[a]` and `down[a]` are its ordered rays or -1. Its single rays are the entries
    `first[a] : first[a + 1]` of `single_ray`, `single_how`, `single_bin`; an `in` covers the bins
    `some[some_first[s] : some_first[s + 1]]`. `features[a]` is the axis's feature.
    """

    codes: Bins
    features: Whole
    n_bins: Whole
    missing: Whole
    lone: NDArray[np.uint8]
    up: Whole
    down: Whole
    first: Whole
    single_ray: Whole
    single_how: Whole
    single_bin: Whole
    some_first: Whole
    some: Whole


def as_grid(axes: Sequence[Axis], codes: Bins, missing: Sequence[bool]) -> Grid:
    """The axes as arrays."""
    singles = [single for axis in axes for single in axis.singles]
    lone = np.zeros((len(axes), max((a.n_bins for a in axes), default=1) or 1), np.uint8)
    for row, axis in zip(lone, axes, strict=True):
        row[: axis.n_bins] = axis.lone

    def whole(values: Iterator[int] | list[int]) -> Whole:
        return np.array(list(values), np.int64)

    return Grid(
        codes,
        whole(a.feature for a in axes),
        whole(a.n_bins for a in axes),
        np.array(missing, np.int64),
        lone,
        whole(a.up for a in axes),
        whole(a.down for a in axes),
        np.append(0, np.cumsum([len(a.singles) for a in axes])).astype(np.int64),
        whole(s[0] for s in singles),
        whole(s[1] for s in singles),
        whole(s[2] for s in singles),
        np.append(0, np.cumsum([len(s[3]) for s in singles])).astype(np.int64),
        whole(level for s in singles for level in s[3]),
    )


def ordered_axis(rays: Rays, feature: int, members: Sequence[int], edges: Whole) -> Axis:
    """The axis of a numeric feature whose codes are cut at `edges`."""
    n_bins = len(edges) - 1
    ends: dict[Any, int] = {Op.GE: -1, Op.LT: -1}
    singles: list[tuple[int, int, int, tuple[int, ...]]] = []
    for index in members:
        op = rays.rays[index].op
        if op.is_threshold:
            ends[op] = index
        else:
            singles.append((index, HOW[op], 0, ()))
    lone = np.diff(edges) == 1
    return Axis(feature, n_bins, edges, lone, ends[Op.GE], ends[Op.LT], singles)


def level_parts(rays: Rays, members: Iterable[int], n_values: int, most: int) -> list[Levels]:
    """The levels of each axis of a categorical feature, at most so many on an axis.

    Subsets need their levels side by side: these come first.
    """
    together = sorted({level for index in members for level in rays.rays[index].levels})
    if n_values <= most + 1 or len(together) == n_values:
        return [tuple(range(n_values))]
    rest = sorted(set(range(n_values)).difference(together))
    parts = [tuple(rest[at : at + most]) for at in range(0, len(rest), most)]
    return [tuple(together), *parts] if together else parts


def level_axis(
    rays: Rays, feature: int, members: Sequence[int], levels: Levels, n_values: int, *, first: bool
) -> Axis:
    """The axis of some levels of a categorical feature; its last bin holds the other levels.

    A feature of many levels has several such axes, the first of which has the subsets and the
    rays of its presence, too.
    """
    singles = []
    places = {level: place for place, level in enumerate(levels)}
    for index in members:
        ray = rays.rays[index]
        if ray.code in places or (ray.code < 0 and first):
            bins = tuple(places[level] for level in ray.levels)
            singles.append((index, HOW[ray.op], places.get(ray.code, 0), bins))
    n_bins = len(levels) + (len(levels) < n_values)
    return Axis(feature, n_bins, None, np.ones(n_bins, bool), singles=singles)


@kernel
def fill_bins(codes: Any, order: Any, look_up: Any, out: Any) -> None:
    """The bin of each row, in the given order: `look_up` (n_values + 1,), missing first."""
    for i in range(out.size):
        out[i] = look_up[np.uintp(codes[order[i]] + 1)]


class AxisMaker:
    """Makes the axes of a table in memory, with the bins of its rows.

    Parameters
    ----------
    rays : Rays
    order : ndarray of shape (n_rows,)
        The order of the rows in the axes' codes.
    """

    def __init__(self, rays: Rays, order: NDArray[np.intp]) -> None:
        self._rays, self._order = rays, order
        self._places: NDArray[np.int32] | None = None
        self._common: dict[tuple[int, bool], Whole] = {}
        self._codes: dict[int, dict[int, list[int]]] = {}
        self._members: dict[int, list[int]] = {}
        self._first: dict[int, Levels] = {}
        for index, ray in enumerate(rays.rays):
            self._members.setdefault(ray.feature, []).append(index)

    def axes(self, bins: int, most_levels: int) -> list[tuple[int, Levels | None]]:
        """The axes to be made: a feature, and its levels where it has no order."""
        out: list[tuple[int, Levels | None]] = []
        for feature in self._members:
            column = self._rays.columns[feature]
            if column.kind is Kind.NUMERIC:
                out.append((feature, None))
                continue
            parts = level_parts(self._rays, self._members[feature], column.n_values, most_levels)
            self._first[feature] = parts[0]
            out += [(feature, part) for part in parts]
        return out

    def axis(self, feature: int, levels: Levels | None, bins: int, *, even: bool = False) -> Axis:
        """An axis in at most so many bins; see `bin_edges`."""
        column = self._rays.columns[feature]
        members = self._members[feature]
        if levels is None:
            return ordered_axis(self._rays, feature, members, self._edges(column, bins, even))
        by_code = self._by_code(feature)
        wanted = [index for code in levels for index in by_code.get(code, ())]
        first = levels == self._first[feature]
        if first:
            wanted += by_code.get(-1, [])
        return level_axis(self._rays, feature, sorted(wanted), levels, column.n_values, first=first)

    def _by_code(self, feature: int) -> dict[int, list[int]]:
        """The rays of a feature without order by the level they name, -1 where they name none."""
        if feature not in self._codes:
            known: dict[int, list[int]] = {}
            for index in self._members[feature]:
                known.setdefault(self._rays.rays[index].code, []).append(index)
            self._codes[feature] = known
        return self._codes[feature]

    def look_up(self, axis: Axis, levels: Levels | None) -> Bins:
        """The bin of each code of an axis, behind that of a missing value."""
        look_up = np.empty(self._rays.columns[axis.feature].n_values + 1, np.uint8)
        look_up[0] = axis.n_bins
        if levels is None:
            assert axis.edges is not None
            look_up[1:] = np.repeat(np.arange(axis.n_bins), np.diff(axis.edges))
        else:
            look_up[1:] = len(levels)
            look_up[1 + np.array(levels, np.intp)] = np.arange(len(levels))
        return look_up

    def fill(self, axis: Axis, levels: Levels | None, out: Bins) -> None:
        """Put the bins of an axis's rows into `out`, in the order of the rows."""
        column, look_up = self._rays.columns[axis.feature], self.look_up(axis, levels)
        if isinstance(column, SparseColumn):
            out[:] = look_up[column.default + 1]
            out[self.places[column.rows]] = look_up[column.row_codes + 1]
        else:
            fill_bins(column.codes, self._order, look_up, out)

    @property
    def places(self) -> NDArray[np.int32]:
        """The place of each row in the order of the rows."""
        if self._places is None:
            places = np.empty(len(self._order), np.int32)
            places[self._order] = np.arange(len(self._order), dtype=np.int32)
            self._places = places
        return self._places

    def _edges(self, column: Column, bins: int, even: bool) -> Whole:
        """`bin_edges`, which are the same for all columns whose rows all differ."""
        n_values = column.n_values
        if n_values <= bins:
            return np.arange(n_values + 1, dtype=np.int64)
        if isinstance(column, SparseColumn):
            counts = np.bincount(column.row_codes[column.row_codes >= 0], minlength=n_values)
            if column.default >= 0:
                counts[column.default] += column.n_rows - len(column.rows)
            return bin_edges(counts, bins, even=even)
        if n_values == column.n_rows and (bins, even) in self._common:
            return self._common[bins, even]
        if n_values == column.n_rows:
            counts = np.ones(n_values, np.intp)
        else:
            # Which bins are good is a matter of speed alone, so a sample of the rows will do.
            sample = column.codes[:: max(1, column.n_rows // SAMPLE)]
            counts = np.bincount(sample[sample >= 0], minlength=n_values)
        edges = bin_edges(counts, bins, even=even)
        if n_values == column.n_rows:
            self._common[bins, even] = edges
        return edges


def _log_odds(bins: int, n_rows: int) -> NDArray[np.float64]:
    """Log-odds of the shares of the rows at which bins begin, behind the first bin.

    Even steps of log-odds make bins near either end small beside what lies beyond them. Of many
    bins a part is for the tails, down to single rows: where no rule is worth much, the best ones
    cover few rows.
    """
    ends = math.log(max(1, n_rows))
    if bins < MANY_BINS or ends <= ENDS:
        return np.linspace(-ENDS, ENDS, bins - 1)
    outer = bins // (2 * TAIL_SHARE)
    tail = np.linspace(ENDS, ends, outer + 1)[1:]
    return np.concatenate([-tail[::-1], np.linspace(-ENDS, ENDS, bins - 1 - 2 * outer), tail])


def bin_edges(counts: NDArray[np.intp], bins: int, *, even: bool = False) -> Whole:
    """Codes that begin each bin, then the number of codes; at most `bins` bins.

    `counts` (n_values,) are the rows of each code, or of a sample of them. A bound is good where a
    bin is small beside the rows on its tight side, so bins shrink towards both ends, where
    conditions cover few rows. A value that many rows share has a bin of its own, in which nothing
    is uncertain. `even` bins have equally many rows, which is better for both ends of an interval.
    """
    n_values = len(counts)
    shares = counts.cumsum() / max(1, counts.sum())
    wanted = (
        np.arange(1, bins) / bins if even else 1 / (1 + np.exp(-_log_odds(bins, int(counts.sum()))))
    )
    # the bin after a share begins at the first code beyond it
    edges = np.unique(np.searchsorted(shares, wanted, side="left") + 1)
    heavy = np.flatnonzero(counts > counts.sum() / bins)
    edges = np.unique(np.concatenate([edges, heavy, heavy + 1]))
    edges = np.concatenate([[0], edges[(edges > 0) & (edges < n_values)], [n_values]])
    if len(edges) - 1 > bins:
        edges = edges[np.unique(np.linspace(0, len(edges) - 1, bins + 1).astype(int))]
    return edges.astype(np.int64)
