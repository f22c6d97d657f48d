"""Compiled loops over the rows of one batch, and over the counts that they add up to."""

from __future__ import annotations

from typing import Any

import numpy as np

from opdt.engines.jit import kernel
from opdt.engines.search.scan_kernels import add_rows


@kernel
def sift(
    z: Any, rays: Any, sizes: Any, low: Any, high: Any, edges: Any, starts: Any, strides: Any,
    cells: Any, factors: Any, groups: Any, weights: Any, mass: Any, loss: Any, rows: Any,
) -> None:  # fmt: skip
    """Add the rows of a batch to the finer cells of many boxes.

    `z` (n_rays, n_rows) are levels; box `b` has `sizes[b]` dimensions with rays `rays[b]`,
    positions `low[b] < position <= high[b]`, and cuts `edges[starts[b, d] : starts[b, d + 1]]`:
    place `t` holds the levels above edge `t` up to edge `t + 1`. Its cells begin at `cells[b]`.
    """
    for b in range(sizes.size):
        for i in range(groups.size):
            cell = cells[b]
            inside = True
            for d in range(sizes[b]):
                level = z[rays[b, d], i]
                if level <= low[b, d]:
                    inside = False
                    break
                first, last = starts[b, d], starts[b, d + 1] - 2
                if level >= high[b, d]:
                    first = last
                while first < last:
                    middle = (first + last + 1) // 2
                    if edges[middle] < level:
                        first = middle
                    else:
                        last = middle - 1
                cell += (first - starts[b, d]) * strides[b, d]
            if inside:
                gain = factors[b, groups[i]] * weights[i]
                if gain > 0:
                    mass[cell] += gain
                else:
                    loss[cell] -= gain
                rows[cell] += 1


@kernel
def pick(
    z: Any, rays: Any, low: Any, high: Any, groups: Any, weights: Any, picked: Any, always: Any
) -> int:
    """Rows of some weight that a box covers at some positions; those always covered are added up.

    `always` (n_classes,) receives the weight of each class. Returns how many rows were `picked`.
    """
    count = 0
    for i in range(groups.size):
        if weights[i] == 0:
            continue
        inside = True
        whole = True
        for d in range(rays.size):
            level = z[rays[d], i]
            if level <= low[d]:
                inside = False
                break
            whole = whole and level >= high[d]
        if inside:
            if whole:
                always[groups[i]] += weights[i]
            else:
                picked[count] = i
                count += 1
    return count


@kernel(allocates=True)
def into_bins(keys: Any, edges: Any, missing: Any, out: Any) -> None:
    """The bin of each key: the first edge not below it, at most the last; missing ones come last.

    Edges below a key are counted, first every eighth and then those between, without a branch:
    many times quicker than bisection, whose branches cannot be predicted.
    """
    size = edges.size
    n_groups = (size + 7) // 8
    padded = np.full(8 * n_groups + 8, np.iinfo(np.int64).max)
    for j in range(size - 1):
        padded[j] = edges[j]
    tops = padded[7::8].copy()
    for i in range(keys.size):
        key = keys[i]
        group = np.int64(0)
        for j in range(n_groups):
            group += tops[j] < key
        place = 8 * group
        for j in range(8):
            place += padded[8 * group + j] < key
        out[i] = size if key == missing else place


@kernel
def add_sets(
    codes: Any, sets: Any, extents: Any, starts: Any, ends: Any, weights: Any, places: Any, out: Any
) -> None:
    """Add the rows of a batch, sorted by group, to their cells of every set of axes.

    `codes` (n_axes, n_rows) are bins; the rows of group `g` are `ends[g] : ends[g + 1]`. Set `s`
    has the axes `sets[s]` with `extents[s]` bins; its cells begin at `starts[s]` of `out` and lie
    there as `scan_kernels.count_set` lays them out.
    """
    for s in range(sets.shape[0]):
        n_cells = np.int64(1)
        for d in range(sets.shape[1]):
            n_cells *= extents[s, d]
        for g in range(ends.size - 1):
            begin = starts[s] + g * n_cells
            own = out[begin : begin + n_cells]
            if n_cells <= 1 << 16:
                add_rows(
                    codes, sets[s], extents[s], ends[g], ends[g + 1], weights, places.narrow, own
                )
            else:
                add_rows(
                    codes, sets[s], extents[s], ends[g], ends[g + 1], weights, places.wide, own
                )


@kernel
def order_bits(bits: Any, missing: Any) -> bool:
    """Turn the bits of doubles into integers of the same order, NaN into `missing`, in place.

    Returns whether some value is infinite.
    """
    infinite = np.int64(0x7FF0000000000000)
    magnitude = np.int64(0x7FFFFFFFFFFFFFFF)
    found = False
    for i in range(bits.size):
        own = bits[i] & magnitude
        if own >= infinite:
            found = found or own == infinite
            bits[i] = missing
        else:
            bits[i] ^= (bits[i] >> 63) & magnitude
    return found
