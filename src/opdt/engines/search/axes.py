"""Axes: features cut into few bins, so that the cells of several fit into a cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.rays import Rays
from opdt.rules import Op
from opdt.table import Column, Kind

MAX_LEVELS = 200  # a categorical feature with more levels gets one axis per level
# Bins of a numeric axis when so many axes are combined.
BINS = {1: 250, 2: 64, 3: 22, 4: 11, 5: 7, 6: 5, 7: 4, 8: 4}


@dataclass(frozen=True, eq=False)
class Axis:
    """One binned feature: its bins, and how its rays order them.

    `turns[ray]` gives for each bin its place from loose to tight on that ray (-1: never
    covered); `edges[ray]` the ray's positions between places (None where the ray has one
    condition only: then place 1 is covered and place 0 is not).
    """

    feature: int
    n_bins: int  # with the bin of missing values, which is the last
    turns: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    edges: dict[int, NDArray[np.int64] | None] = field(default_factory=dict)

    def places(self, ray: int) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
        """Bins of a ray from tight to loose, where each place begins, and whether it has one."""
        turn, single = self.turns[ray], self.edges[ray] is None
        if single:
            bins = np.flatnonzero(turn == 1)
            return bins, np.array([0, len(bins)]), True
        bins = np.argsort(turn)[::-1]
        bins = bins[turn[bins] >= 0]
        return bins, np.arange(len(bins) + 1), False


# The bin of each code of a feature, shifted by one so that missing (-1) comes first.
LookUp = NDArray[np.uint8]


def count_axes(rays: Rays) -> int:
    """How many axes `make_axes` makes."""
    wide = {
        (ray.feature, ray.code)
        for ray in rays.rays
        if rays.columns[ray.feature].kind is Kind.CATEGORICAL and rays.n_values(ray) > MAX_LEVELS
    }
    features = {ray.feature for ray in rays.rays} - {feature for feature, _ in wide}
    return len(features) + len(wide)


def make_axes(rays: Rays, size: int) -> Iterator[tuple[Axis, LookUp]]:
    """The axes on which rules of `size` conditions are counted, one after the other.

    Their look-up tables are as long as a feature has values, and are not kept.
    """
    by_feature: dict[int, list[int]] = {}
    for index, ray in enumerate(rays.rays):
        by_feature.setdefault(ray.feature, []).append(index)
    for feature, members in by_feature.items():
        column = rays.columns[feature]
        if column.kind is Kind.NUMERIC:
            yield _numeric_axis(rays, feature, column, members, BINS[size])
        elif column.n_values <= MAX_LEVELS:
            yield _level_axis(rays, feature, column, members)
        else:
            yield from _binary_axes(rays, feature, column, members)


def _numeric_axis(
    rays: Rays, feature: int, column: Column, members: list[int], bins: int
) -> tuple[Axis, LookUp]:
    edges = bin_edges(column.codes, column.n_values, bins)
    n_bins, n_values = len(edges) - 1, column.n_values
    look_up = np.empty(n_values + 1, np.uint8)
    look_up[0] = n_bins
    look_up[1:] = np.repeat(np.arange(n_bins), np.diff(edges))
    axis = Axis(feature, n_bins + 1)
    for index in members:
        op = rays.rays[index].op
        if op is Op.GE:
            axis.turns[index] = np.append(np.arange(n_bins), -1)
            axis.edges[index] = edges
        elif op is Op.LT:
            axis.turns[index] = np.append(np.arange(n_bins)[::-1], -1)
            axis.edges[index] = n_values - edges[::-1]
        else:
            _add_single(rays, axis, index, np.append(np.zeros(n_bins, int), -1))
    return axis, look_up


def _level_axis(
    rays: Rays, feature: int, column: Column, members: list[int]
) -> tuple[Axis, LookUp]:
    n = column.n_values
    look_up = np.append(n, np.arange(n)).astype(np.uint8)
    axis = Axis(feature, n + 1)
    for index in members:
        _add_single(rays, axis, index, np.append(np.arange(n), -1))
    return axis, look_up


def _binary_axes(
    rays: Rays, feature: int, column: Column, members: list[int]
) -> Iterator[tuple[Axis, LookUp]]:
    """One axis per level (bins: other, this), and one for presence."""
    by_code: dict[int, list[int]] = {}
    for index in members:
        by_code.setdefault(rays.rays[index].code, []).append(index)
    other = -2  # stands for "some other level"
    for code, indices in by_code.items():
        look_up = np.zeros(column.n_values + 1, np.uint8)
        look_up[0] = 2
        if code >= 0:
            look_up[code + 1] = 1
        axis = Axis(feature, 3)
        for index in indices:
            _add_single(rays, axis, index, np.array([other, code if code >= 0 else other, -1]))
        yield axis, look_up


def _add_single(rays: Rays, axis: Axis, index: int, codes: NDArray[np.int64]) -> None:
    """A ray of one condition; `codes` says which code each bin stands for."""
    ray = rays.rays[index]
    if ray.op is Op.EQ:
        covered = codes == ray.code
    elif ray.op is Op.NE:
        covered = (codes != ray.code) & (codes != -1)
    elif ray.op is Op.IN:
        covered = np.isin(codes, ray.levels)
    elif ray.op is Op.MISSING:
        covered = codes == -1
    else:
        covered = codes != -1
    axis.turns[index] = covered.astype(np.int64)
    axis.edges[index] = None


def bin_edges(codes: NDArray[np.int32], n_values: int, bins: int) -> NDArray[np.int64]:
    """Codes that begin each bin, then the number of codes; at most `bins` bins.

    A bound is good where a bin is small beside the rows on its tight side, so bins shrink
    geometrically towards both ends, where conditions cover few rows.
    """
    if n_values <= bins:
        return np.arange(n_values + 1, dtype=np.int64)
    counts = np.bincount(codes[codes >= 0], minlength=n_values)
    shares = counts.cumsum() / counts.sum()
    tail = 0.5 * 0.72 ** np.arange(bins // 4 * 2)[: bins // 2]
    wanted = np.unique(np.concatenate([tail, 1 - tail, np.linspace(0, 1, bins // 4 + 2)[1:-1]]))
    # the bin after a share begins at the first code beyond it
    edges = np.unique(np.searchsorted(shares, wanted, side="left") + 1)
    edges = np.concatenate([[0], edges[(edges > 0) & (edges < n_values)], [n_values]])
    if len(edges) - 1 > bins:
        edges = edges[np.unique(np.linspace(0, len(edges) - 1, bins + 1).astype(int))]
    return edges.astype(np.int64)
