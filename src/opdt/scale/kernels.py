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
def add_cells(
    codes: Any, sets: Any, strides: Any, starts: Any, groups: Any, weights: Any, out: Any
) -> None:
    """Add the weight of each row to its cell of every set of axes.

    `codes` (n_axes, n_rows) are bins; `sets` and `strides` (n_sets, k) say which axes, and how far
    apart their bins lie; `starts[s]` is the first cell of set `s` in `out` (n_cells, n_classes).
    """
    n_classes = np.uintp(out.shape[1])
    flat = out.reshape(-1)
    for s in range(sets.shape[0]):
        # unsigned places spare the test for negative ones
        own = flat[starts[s] * out.shape[1] :]
        one, outer = codes[sets[s, 0]], np.uintp(strides[s, 0])
        if sets.shape[1] == 1:
            for i in range(groups.size):
                own[np.uintp(one[i]) * n_classes + np.uintp(groups[i])] += weights[i]
            continue
        two, inner = codes[sets[s, 1]], np.uintp(strides[s, 1])
        if sets.shape[1] == 2:
            for i in range(groups.size):
                cell = np.uintp(one[i]) * outer + np.uintp(two[i])
                own[cell * n_classes + np.uintp(groups[i])] += weights[i]
            continue
        three = codes[sets[s, 2]]
        for i in range(groups.size):
            cell = np.uintp(one[i]) * outer + np.uintp(two[i]) * inner + np.uintp(three[i])
            own[cell * n_classes + np.uintp(groups[i])] += weights[i]


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
