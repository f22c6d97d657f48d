"""Compiled kernels of the large-table path: counting cells, and bounding what lies inside them.

A *cell* is a combination of bins, one per axis. Along an axis the bins are ordered from loose to
tight, as positions of a ray are; `t` stands for the conditions whose threshold lies in bin `t`:
they cover at most the rows of bins >= t and at least those of bins >= t + 1. So the rule with all
its thresholds in one cell gains at most the mass of the loosest box minus the loss of the
tightest, and the conditions exactly between bins have their exact gain.
"""

from __future__ import annotations

import numpy as np

from opdt.engines.search.jit import kernel
from opdt.engines.search.kernels import NEG


@kernel
def count_cells(codes, axes, strides, groups, weights, n_groups, out):
    """Sum the weights of each group of rows in each cell.

    Parameters
    ----------
    codes : (n_axes, n_rows) uint8, the bin of each row on each axis.
    axes, strides : (k,) which axes, and how far apart their bins lie in `out`.
    groups, weights : (n_rows,) group (class) and weight of each row.
    out : (n_cells × n_groups,) receives the sums.
    """
    for cell in range(out.size):
        out[cell] = 0
    n = groups.size
    if axes.size == 2:
        first, second, stride = codes[axes[0]], codes[axes[1]], strides[0]
        for i in range(n):
            cell = np.int64(first[i]) * stride + second[i]
            out[cell * n_groups + groups[i]] += weights[i]
        return
    for i in range(n):
        cell = np.int64(0)
        for d in range(axes.size):
            cell += np.int64(codes[axes[d], i]) * strides[d]
        out[cell * n_groups + groups[i]] += weights[i]


@kernel
def accumulate(values, sizes, strides):
    """Sums over all cells at least as tight in every dimension, in place."""
    for d in range(sizes.size):
        stride, block = strides[d], strides[d] * sizes[d]
        for start in range(0, values.size, block):
            for at in range(start + block - stride - 1, start - 1, -1):
                values[at] += values[at + stride]


@kernel
def orient(counts, dims, n_groups, factors, turn, sizes, strides, mass, loss):
    """Counts of cells, turned so that every dimension runs from loose to tight.

    `turn[d, b]` is the place of bin `b` of dimension `d` (-1: never covered); `factors` is the
    gain of a unit of weight of each group.
    """
    for at in range(mass.size):
        mass[at] = 0
        loss[at] = 0
    k = dims.size
    n_cells = counts.size // n_groups
    for cell in range(n_cells):
        rest = cell
        place = np.int64(0)
        inside = True
        for d in range(k - 1, -1, -1):
            t = turn[d, rest % dims[d]]
            rest //= dims[d]
            if t < 0:
                inside = False
                break
            place += t * strides[d]
        if inside:
            for g in range(n_groups):
                gain = counts[cell * n_groups + g] * factors[g]
                if gain > 0:
                    mass[place] += gain
                else:
                    loss[place] -= gain


@kernel
def bound_cells(mass, loss, sizes, strides, exact, goal, low, high):
    """Bounds over all cells of accumulated mass and loss.

    `exact[d]` marks dimensions of one condition (bin 1 is covered, bin 0 is not): no uncertainty
    there. Returns the largest upper bound, the best exact gain at bin borders, and how many cells
    have an upper bound of at least `goal`; `low` and `high` (k,) receive the smallest box of
    places that holds them all.
    """
    k = sizes.size
    for d in range(k):
        low[d] = sizes[d]
        high[d] = -1
    upper = NEG
    best = NEG
    alive = 0
    place = np.zeros(k, np.int64)
    for at in range(mass.size):
        rest = at
        valid = True
        border = True
        tight = np.int64(at)
        beyond = False
        for d in range(k):
            t = rest // strides[d]
            rest -= t * strides[d]
            place[d] = t
            if exact[d]:
                if t != 1:
                    valid = False
            else:
                if t == 0:
                    border = False
                if t + 1 == sizes[d]:
                    beyond = True
                else:
                    tight += strides[d]
        if not valid:
            continue
        bound = mass[at] - (np.int64(0) if beyond else loss[tight])
        if bound > upper:
            upper = bound
        if border and mass[at] - loss[at] > best:
            best = mass[at] - loss[at]
        if bound >= goal:
            alive += 1
            for d in range(k):
                low[d] = min(low[d], place[d])
                high[d] = max(high[d], place[d])
    return upper, best, alive


@kernel
def clip_levels(codes, rows, mirrored, n_values, low, high, out):
    """Position of each row on a numeric ray, counted from `low` and cut off at `high`."""
    for at in range(rows.size):
        code = codes[rows[at]]
        level = np.int64(0)
        if code >= 0:
            level = n_values - 1 - code if mirrored else code
        out[at] = max(0, min(level, high) - low)


@kernel
def split_rows(levels, tops, rows, gains, weights, wrong, active, always):
    """Rows that a box of positions covers always, sometimes (`active`), or never.

    `levels` (k, n) count from the box's loosest side, so 0 is never and `tops[d]` always.
    `always` receives [gain, weight, error weight] of the rows always covered. Returns the number
    of active rows, whose places go into `active`.
    """
    k = tops.size
    count = 0
    always[0] = 0
    always[1] = 0
    always[2] = 0
    for at in range(rows.size):
        inside = True
        whole = True
        for d in range(k):
            if levels[d, at] == 0:
                inside = False
                break
            if levels[d, at] < tops[d]:
                whole = False
        if not inside:
            continue
        if whole:
            row = rows[at]
            always[0] += gains[row]
            always[1] += weights[row]
            always[2] += wrong[row]
        else:
            active[count] = at
            count += 1
    return count


@kernel
def bound_inside(mass, loss, sizes, strides, goal, low, high):
    """`bound_cells` inside a box, whose loosest corner covers all its rows.

    Here place `t` holds the levels edges[t] < level <= edges[t + 1], and the last place holds the
    top level alone. The position edges[t] + 1 covers the places from `t` on exactly: every
    place has an exact gain. Its other positions cover at least the places from `t + 1` on, or
    just the last place where `t` is the last.
    """
    k = sizes.size
    for d in range(k):
        low[d] = sizes[d]
        high[d] = -1
    upper = NEG
    best = NEG
    alive = 0
    for at in range(mass.size):
        rest = at
        tight = np.int64(at)
        for d in range(k):
            t = rest // strides[d]
            rest -= t * strides[d]
            if t + 1 < sizes[d]:
                tight += strides[d]
        bound = mass[at] - loss[tight]
        upper = max(upper, bound)
        best = max(best, mass[at] - loss[at])
        if bound >= goal:
            alive += 1
            rest = at
            for d in range(k):
                t = rest // strides[d]
                rest -= t * strides[d]
                low[d] = min(low[d], t)
                high[d] = max(high[d], t)
    return upper, best, alive
