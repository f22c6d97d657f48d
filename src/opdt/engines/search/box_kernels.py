"""Compiled kernels that open boxes of positions, bound them, and cut them into smaller ones.

A *box* is a range of positions low < position <= high on each of `k` rays. Seen from it, a row has
a level from 0 to `top` = high - low on each ray: it is covered at the position low + j exactly if
its level is at least j. Rows with level 0 somewhere are never covered and dropped, rows at the top
everywhere are covered always and added up; the others are *undecided*.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opdt.engines.jit import kernel

NEG = -(1 << 62)
DENSE = 8  # a box of cells is split while it holds so many times more cells than are alive


@kernel
def first_levels(codes: Any, mirrored: bool, n_values: int, low: int, high: int, out: Any) -> None:
    """Level of each row on an ordered ray, counted from `low` and cut off at `high`."""
    for i in range(codes.size):
        code: Any = np.int64(codes[i])
        level: Any = np.int64(0)
        if code >= 0:
            level = n_values - 1 - code if mirrored else code
        out[i] = max(0, min(level, high) - low)


@kernel(allocates=True)
def keep_undecided(
    levels: Any, shift: Any, tops: Any, gains: Any, weights: Any, wrong: Any, fixed: Any,
    out_levels: Any, out_gains: Any, out_weights: Any, out_wrong: Any,
) -> int:  # fmt: skip
    """The undecided rows of a box, from those of a larger one.

    `levels` (k, n) are seen from the larger box, `shift` (k,) says how much later this one begins.
    `fixed` has [gain, weight, error weight] of the rows always covered added to it. Returns the
    number of undecided rows, which go into the arrays `out_…`.
    """
    k, n = tops.size, gains.size
    # how many sides a row is inside of, and at the top of: side by side, in vector instructions
    inside, whole = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    for d in range(k):
        own, least, most = levels[d], np.int32(shift[d]), np.int32(shift[d] + tops[d])
        for i in range(n):
            inside[i] += np.uint8(own[i] > least)
            whole[i] += np.uint8(own[i] >= most)
    count = 0
    for i in range(n):
        if inside[i] < k:
            continue
        if whole[i] == k:
            fixed[0] += gains[i]
            fixed[1] += weights[i]
            fixed[2] += wrong[i]
            continue
        for d in range(k):
            out_levels[d, count] = min(levels[d, i] - shift[d], tops[d])
        out_gains[count] = gains[i]
        out_weights[count] = weights[i]
        out_wrong[count] = wrong[i]
        count += 1
    return count


@kernel(allocates=True)
def most_of_strips(levels: Any, tops: Any, gains: Any) -> Any:
    """The most that the undecided rows of a box can add to those it covers always.

    A row that only one side of the box decides on lies in that side's *strip*. What a rule covers
    of a strip depends on its position on that side alone, so the best position is found exactly;
    of the rows that several sides decide on the mass is taken.
    """
    k = tops.size
    longest = np.int64(0)
    for d in range(k):
        longest = max(longest, tops[d])
    strips = np.zeros((k, longest + 1), np.int64)
    most = np.int64(0)
    for i in range(gains.size):
        side = -1
        several = False
        for d in range(k):
            if levels[d, i] < tops[d]:
                several = side >= 0
                side = d
                if several:
                    break
        if not several:
            strips[side, levels[side, i]] += gains[i]
        elif gains[i] > 0:
            most += gains[i]
    for d in range(k):
        best = np.int64(0)
        total = np.int64(0)
        for level in range(tops[d] - 1, 0, -1):
            total += strips[d, level]
            best = max(best, total)
        most += best
    return most


@kernel(inner=True, allocates=True)
def add_places(levels: Any, top: int, edges: Any, size: int, stride: int, cell_of: Any) -> None:
    """Add the place of each level between the `edges` of one side, times the stride."""
    if size == top:
        for i in range(levels.size):
            cell_of[i] += (levels[i] - 1) * stride
        return
    if top <= 2 * levels.size:  # few levels: a table of their places
        table = np.empty(top + 1, np.uint32)
        for place in range(size):
            for level in range(edges[place] + 1, edges[place + 1] + 1):
                table[level] = place * stride
        for i in range(levels.size):
            cell_of[i] += table[levels[i]]
        return
    for i in range(levels.size):
        low, high = np.int64(0), np.int64(size - 1)
        while low < high:
            middle = (low + high) >> 1
            if edges[middle + 1] < levels[i]:
                low = middle + 1
            else:
                high = middle
        cell_of[i] += low * stride


@kernel(allocates=True)
def cut_box(
    levels: Any, tops: Any, gains: Any, fixed: int, goal: int, edges: Any, sizes: Any, cells: Any,
    alive: Any, bounds: Any, order: Any, stack: Any, out: Any, corner: Any,
) -> Any:  # fmt: skip
    """Cut a box into cells and put those that may gain the goal together to smaller boxes.

    Side d is cut into `sizes[d]` places between the levels `edges[d]`, 0 first and the top last.
    Scratch: `cells` (2, n_cells) and that of `bound_cut`. Into `out` (capacity, 1 + 2 k) go bound,
    low and high positions of the boxes, counted from this one's low side, and into `corner` (k,)
    the position of the best exact gain. Returns the number of boxes, that gain, and whether the
    cells decide all.
    """
    k = tops.size
    strides = np.empty(k, np.int64)
    n_cells = np.int64(1)
    decided = True
    for d in range(k):
        decided = decided and sizes[d] == tops[d]
    for d in range(k - 1, -1, -1):
        strides[d] = n_cells
        n_cells *= sizes[d]
    mass, loss = cells[0][:n_cells], cells[1][:n_cells]
    for at in range(n_cells):
        mass[at] = 0
        loss[at] = 0
    cell_of = np.zeros(gains.size, np.uint32)
    for d in range(k):
        add_places(levels[d], tops[d], edges[d], sizes[d], strides[d], cell_of)
    for i in range(gains.size):
        if gains[i] > 0:
            mass[cell_of[i]] += gains[i]
        else:
            loss[cell_of[i]] -= gains[i]
    mass[n_cells - 1] += max(fixed, 0)  # rows that every position covers
    loss[n_cells - 1] += max(-fixed, 0)
    number, best, told_apart = bound_cut(
        mass, loss, sizes, strides, goal, alive, bounds, order, stack, out, corner
    )
    for d in range(k):
        corner[d] = edges[d, corner[d]] + 1
        for b in range(number):
            out[b, 1 + d] = edges[d, out[b, 1 + d]]
            out[b, 1 + k + d] = edges[d, out[b, 1 + k + d] + 1]
    return number, best, decided and told_apart


@kernel(allocates=True)
def bound_cut(
    mass: Any, loss: Any, sizes: Any, strides: Any, goal: int, alive: Any, bounds: Any, order: Any,
    stack: Any, out: Any, corner: Any,
) -> Any:  # fmt: skip
    """Bound the cells of a box, and put those that may gain the goal together.

    `mass` and `loss` (n_cells,) are those of each cell, the last side's places side by side, and
    become sums over all cells at least as tight. The loosest position of a place covers the places
    from it on exactly, so that every cell has an exact gain; its other positions cover at least the
    places behind it.

    Scratch: `alive` (capacity, k), `bounds`, `order` (capacity,), `stack` (capacity + 2, 2). Into
    `out` (capacity, 1 + 2 k) go bound, first and last places of the boxes, and into `corner` (k,)
    the places of the best exact gain. Returns the number of boxes, that gain, and whether all cells
    were told apart; where more are alive than fit, the box is halved instead.
    """
    k = sizes.size
    sum_tighter(mass, sizes, strides)
    sum_tighter(loss, sizes, strides)
    best = NEG
    found = 0
    place_of = np.zeros(k, np.int64)
    for at in range(mass.size):
        if mass[at] >= goal:
            tight = np.int64(at)
            for d in range(k):
                if place_of[d] + 1 < sizes[d]:
                    tight += strides[d]
            bound = mass[at] - loss[tight]
            if mass[at] - loss[at] > best:
                best = mass[at] - loss[at]
                for d in range(k):
                    corner[d] = place_of[d]
            if bound >= goal:
                if found == bounds.size:  # too many to be told apart: one box for all
                    found += 1
                    break
                for d in range(k):
                    alive[found, d] = place_of[d]
                bounds[found] = bound
                found += 1
        d = k - 1
        while d >= 0:
            place_of[d] += 1
            if place_of[d] < sizes[d]:
                break
            place_of[d] = 0
            d -= 1
    if found > bounds.size:
        # what is left is not looked at: halve the box across its longest side
        side = 0
        for d in range(k):
            if sizes[d] > sizes[side]:
                side = d
        for half in range(2):
            out[half, 0] = mass[0]
            for d in range(k):
                out[half, 1 + d] = 0
                out[half, 1 + k + d] = sizes[d] - 1
        out[0, 1 + k + side] = sizes[side] // 2 - 1
        out[1, 1 + side] = sizes[side] // 2
        return 2, best, False
    return gather(alive, bounds, found, k, order, stack, out), best, True


@kernel
def sum_tighter(values: Any, sizes: Any, strides: Any) -> None:
    """Sums over all cells at least as tight on every side, in place."""
    for d in range(sizes.size):
        stride, block = strides[d], strides[d] * sizes[d]
        for start in range(0, values.size, block):
            own = values[start : start + block]
            for t in range(sizes[d] - 2, -1, -1):
                here = own[t * stride : (t + 1) * stride]
                tighter = own[(t + 1) * stride : (t + 2) * stride]
                for at in range(stride):
                    here[at] += tighter[at]


@kernel(inner=True, allocates=True)
def gather(alive: Any, bounds: Any, found: int, k: int, order: Any, stack: Any, out: Any) -> int:
    """Boxes of places that hold all cells alive, and few others.

    `alive` (found, k) are the places of the cells, `bounds` (found,) their bounds. Into `out` go
    bound, lowest and highest places of each box; returns their number, at most `found`.
    """
    if found == 0:
        return 0
    for i in range(found):
        order[i] = i
    stack[0, 0], stack[0, 1] = 0, found
    depth = 1
    number = 0
    low, high = np.empty(k, np.int64), np.empty(k, np.int64)
    while depth > 0:
        depth -= 1
        begin, end = stack[depth, 0], stack[depth, 1]
        bound = NEG
        for d in range(k):
            low[d], high[d] = alive[order[begin], d], alive[order[begin], d]
        for at in range(begin, end):
            cell = order[at]
            bound = max(bound, bounds[cell])
            for d in range(k):
                low[d] = min(low[d], alive[cell, d])
                high[d] = max(high[d], alive[cell, d])
        volume = 1.0
        side = 0
        for d in range(k):
            volume *= high[d] - low[d] + 1
            if high[d] - low[d] > high[side] - low[side]:
                side = d
        if volume <= DENSE * (end - begin):
            out[number, 0] = bound
            for d in range(k):
                out[number, 1 + d] = low[d]
                out[number, 1 + k + d] = high[d]
            number += 1
            continue
        middle = (low[side] + high[side]) // 2
        left, right = begin, end - 1
        while left <= right:
            if alive[order[left], side] <= middle:
                left += 1
            else:
                kept = order[left]
                order[left] = order[right]
                order[right] = kept
                right -= 1
        stack[depth, 0], stack[depth, 1] = begin, left
        stack[depth + 1, 0], stack[depth + 1, 1] = left, end
        depth += 2
    return number
