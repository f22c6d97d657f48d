"""Compiled loops over the rows of one batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from opdt.engines.search.jit import kernel


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


@kernel
def into_bins(keys: Any, edges: Any, missing: Any, out: Any) -> None:
    """The bin of each key: the first edge not below it; missing keys go into the last bin."""
    for i in range(keys.size):
        key = keys[i]
        if key == missing:
            out[i] = edges.size
            continue
        first, last = 0, edges.size - 1
        while first < last:
            middle = (first + last) // 2
            if edges[middle] < key:
                first = middle + 1
            else:
                last = middle
        out[i] = first


@kernel
def add_cells(codes: Any, axes: Any, strides: Any, groups: Any, weights: Any, out: Any) -> None:
    """Add the weight of each row to its cell; `out` is (n_cells, n_classes)."""
    if axes.size == 2:
        one, two, stride = codes[axes[0]], codes[axes[1]], strides[0]
        for i in range(groups.size):
            out[np.int64(one[i]) * stride + two[i], groups[i]] += weights[i]
        return
    for i in range(groups.size):
        cell = np.int64(0)
        for d in range(axes.size):
            cell += np.int64(codes[axes[d], i]) * strides[d]
        out[cell, groups[i]] += weights[i]
