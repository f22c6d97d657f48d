"""Axes cut by the sample, on which the cells of partitions are counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.grid import (
    Axis,
    as_grid,
    bin_edges,
    level_axis,
    level_parts,
    ordered_axis,
)
from opdt.engines.search.rays import Rays
from opdt.engines.search.records import Positions
from opdt.engines.search.rows import Layer
from opdt.rules import Op
from opdt.scale.keys import MISSING
from opdt.scale.passes import Binning
from opdt.scale.question import Question
from opdt.table import Kind

Whole = NDArray[np.int64]
LAST = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class PartitionLayer(Layer):
    """The axes of rules of `size` conditions; positions are levels as in `opdt.scale.passes`.

    `extents` (n_axes,) are the bins of each axis, with that of missing values where there are any.
    """

    size: int
    binnings: tuple[Binning, ...]
    extents: Whole

    @classmethod
    def of(
        cls, question: Question, sample: dict[int, Whole], size: int, bins: int, levels: int
    ) -> PartitionLayer:
        """Axes for all features that some ray uses, in so many bins or levels at most."""
        rays = question.prepared.rays
        members: dict[int, list[int]] = {}
        for index, ray in enumerate(rays.rays):
            members.setdefault(ray.feature, []).append(index)
        axes: list[Axis] = []
        binnings: list[Binning] = []
        for feature, own in members.items():
            if question.problem.table.columns[feature].kind is Kind.NUMERIC:
                made = iter([_ordered(question, sample[feature], feature, own, bins)])
            else:
                made = _levels(question, feature, own, levels)
            for axis, binning in made:
                axes.append(axis)
                binnings.append(binning)
        missing = [bool(question.absent[axis.feature]) for axis in axes]
        grid = as_grid(axes, np.empty((len(axes), 0), np.uint8), missing)
        positions = Positions(axes, rays.rays, *_ends(question))
        return cls(axes, grid, positions, size, tuple(binnings), grid.n_bins + grid.missing)

    def covered(self, ray: int, place: int, *, loosest: bool) -> slice | Whole:
        """Bins that a ray covers with a threshold in a place: at most (`loosest`), or at least."""
        axis = self.axes[self.positions.axis_of[ray]]
        n = axis.n_bins
        if ray == axis.up:
            return slice(place + int(not loosest or axis.lone[place]), n)
        if ray == axis.down:
            return slice(0, n - place - int(not loosest or axis.lone[n - 1 - place]))
        _, how, bin_, some = next(single for single in axis.singles if single[0] == ray)
        bins = np.arange(n + 1)
        of_how = (
            bins == bin_,
            (bins != bin_) & (bins < n),
            np.isin(bins, some),
            bins == n,
            bins < n,
        )
        return np.flatnonzero(of_how[how])


def _ends(question: Question) -> tuple[Whole, Whole]:
    """The levels of the last value and of the first on each ray; 1 and 0 without order."""
    tops, floors = [], []
    for ray in question.prepared.rays.rays:
        ends = question.ranges[ray.feature].tolist() if ray.op.is_threshold else [0, 1]
        low, high = ends if ray.op is not Op.LT else (-ends[1], -ends[0])
        tops.append(high)
        floors.append(low)
    return np.array(tops, np.int64), np.array(floors, np.int64)


def _levels(
    question: Question, feature: int, members: list[int], most: int
) -> Iterator[tuple[Axis, Binning]]:
    """The axes of the levels of a categorical feature."""
    rays = question.prepared.rays
    n_levels = question.problem.table.columns[feature].n_values
    for at, own in enumerate(level_parts(rays, members, n_levels, most)):
        axis = level_axis(rays, feature, members, own, n_levels, first=at == 0)
        look_up = np.full(n_levels + 1, len(own), np.uint8)
        look_up[np.array(own, np.intp)] = np.arange(len(own))
        look_up[-1] = axis.n_bins
        yield axis, Binning(feature, look_up=look_up)


def _ordered(
    question: Question, sample: Whole, feature: int, members: list[int], bins: int
) -> tuple[Axis, Binning]:
    """The axis of a numeric feature, whose bins begin at keys."""
    rays: Rays = question.prepared.rays
    ends, few = question.ranges[feature], question.values[feature]
    if not len(ends):
        return ordered_axis(rays, feature, members, np.zeros(1, np.int64)), Binning(
            feature, edges=np.empty(0, np.int64)
        )
    if few is not None and len(few) <= bins:
        last = few
    else:
        present = np.append(sample[sample != MISSING], ends)
        known, counts = np.unique(present, return_counts=True)
        last = known
        if len(known) > bins:
            last = known[bin_edges(counts, bins)[1:] - 1]
    # A bin begins behind the last key of the one before it.
    edges = np.append(ends[0], np.minimum(last, LAST - 1) + 1)
    if few is None:
        lone = edges[:-1] == last
    else:
        lone = np.diff(np.append(0, np.searchsorted(few, last, side="right"))) == 1
    axis = replace(ordered_axis(rays, feature, members, edges), lone=lone)
    return axis, Binning(feature, edges=last)
