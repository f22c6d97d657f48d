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


@kernel
def open_triples(
    mass: Any, loss: Any, start: Any, size: Any, single: Any, clash: Any, one: Any, two: Any,
    three: Any, same12: bool, same23: bool, goal: Any, out: Any,
) -> int:  # fmt: skip
    """Triples of rays that may gain the goal, into `out` (n, 3); returns how many.

    `mass` and `loss` are those of `PairTables`; ray `p` has the steps `start[p]` and the
    `size[p]` - 1 that follow. Rays of the same axis are taken in ascending order.
    """
    count = 0
    for p in one:
        for q in two:
            if (same12 and p >= q) or clash[p, q]:
                continue
            reach = mass[0, start[p], start[q]]
            for c in range(1, mass.shape[0]):
                reach = max(reach, mass[c, start[p], start[q]])
            if reach < goal:
                continue
            for r in three:
                if (same23 and q >= r) or clash[p, r] or clash[q, r]:
                    continue
                for c in range(mass.shape[0]):
                    if triple_is_open(mass[c], loss[c], start, size, single, p, q, r, goal):
                        out[count, 0], out[count, 1], out[count, 2] = p, q, r
                        count += 1
                        break
    return count


@kernel
def triple_is_open(
    mass: Any, loss: Any, start: Any, size: Any, single: Any, p: int, q: int, r: int, goal: Any
) -> bool:
    """Whether some steps of three rays have a bound of at least the goal."""
    # masses fall from step to step: beyond the first below the goal nothing can reach it
    for a in range(start[p], start[p] + size[p]):
        if mass[a, a] < goal:
            break
        tight_a = a if single[p] else a + 1
        for b in range(start[q], start[q] + size[q]):
            if mass[a, b] < goal:
                break
            tight_b = b if single[q] else b + 1
            none = tight_a == start[p] + size[p] or tight_b == start[q] + size[q]
            for c in range(start[r], start[r] + size[r]):
                most = min(mass[a, b], mass[a, c], mass[b, c])
                if most < goal:
                    break
                tight_c = c if single[r] else c + 1
                if none or tight_c == start[r] + size[r]:
                    return True
                ab, ac = loss[tight_a, tight_b], loss[tight_a, tight_c]
                bc = loss[tight_b, tight_c]
                least = max(0, ab + ac - loss[tight_a, tight_a])
                least = max(least, ab + bc - loss[tight_b, tight_b])
                least = max(least, ac + bc - loss[tight_c, tight_c])
                if most - least >= goal:
                    return True
    return False
