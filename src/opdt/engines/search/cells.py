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
def bound_cells(mass, loss, sizes, strides, exact, goal, upper, low, high):
    """Bounds over all cells of accumulated mass and loss.

    `exact[d]` marks dimensions of one condition (place 1 is covered, place 0 is not): no
    uncertainty there. For each place `t` of the first dimension, `upper[t]` receives the largest
    bound of its cells that are alive (have a bound of at least `goal`; NEG if none), and
    `low[t]`, `high[t]` (k,) the box that holds them. Returns the best exact gain at bin borders.
    """
    k = sizes.size
    for t in range(sizes[0]):
        upper[t] = NEG
    best = NEG
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
                valid = valid and t == 1
            else:
                border = border and t > 0
                if t + 1 == sizes[d]:
                    beyond = True
                else:
                    tight += strides[d]
        if not valid:
            continue
        bound = mass[at] - (np.int64(0) if beyond else loss[tight])
        if border and mass[at] - loss[at] > best:
            best = mass[at] - loss[at]
        if bound >= goal:
            note_alive(place, bound, upper, low, high)
    return best


@kernel
def note_alive(place, bound, upper, low, high):
    """Widen the box of the cells that are alive at a place of the first dimension."""
    t = place[0]
    fresh = upper[t] == NEG
    upper[t] = max(upper[t], bound)
    for d in range(place.size):
        low[t, d] = place[d] if fresh else min(low[t, d], place[d])
        high[t, d] = place[d] if fresh else max(high[t, d], place[d])


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
def split_rows(levels, tops, rows, gains, weights, wrong, picked, always):
    """Rows that a box of positions covers always, sometimes, or never.

    `levels` (k, n) count from the box's loosest side, so 0 is never and `tops[d]` always.
    `always` has [gain, weight, error weight] of the rows always covered added to it. Returns
    the number and the mass of the other rows, which go into `picked` (n,), their levels to the
    front of `levels`.
    """
    k = tops.size
    count = 0
    mass = np.int64(0)
    for at in range(rows.size):
        inside = True
        whole = True
        for d in range(k):
            level = levels[d, at]
            inside = inside and level > 0
            whole = whole and level == tops[d]
        if not inside:
            continue
        row = rows[at]
        if whole:
            always[0] += gains[row]
            always[1] += weights[row]
            always[2] += wrong[row]
        else:
            picked[count] = row
            for d in range(k):
                levels[d, count] = levels[d, at]
            count += 1
            if gains[row] > 0:
                mass += gains[row]
    return count, mass


@kernel
def bound_inside(mass, loss, sizes, strides, goal, upper, low, high):
    """`bound_cells` inside a box, whose loosest corner covers all its rows.

    Here place `t` holds the levels edges[t] < level <= edges[t + 1], and the last place holds the
    top level alone. The position edges[t] + 1 covers the places from `t` on exactly: every
    place has an exact gain. Its other positions cover at least the places from `t + 1` on, or
    just the last place where `t` is the last.
    """
    k = sizes.size
    for t in range(sizes[0]):
        upper[t] = NEG
    best = NEG
    place = np.zeros(k, np.int64)
    for at in range(mass.size):
        if mass[at] < goal:
            continue
        rest = at
        tight = np.int64(at)
        for d in range(k):
            t = rest // strides[d]
            rest -= t * strides[d]
            place[d] = t
            if t + 1 < sizes[d]:
                tight += strides[d]
        bound = mass[at] - loss[tight]
        best = max(best, mass[at] - loss[at])
        if bound >= goal:
            note_alive(place, bound, upper, low, high)
    return best


@kernel
def count_inside(levels, look_up, starts, strides, gains, mass, loss):
    """Mass and loss of the rows of a box at each combination of places.

    `look_up[starts[d] + level]` is the place of a level of dimension `d`.
    """
    k = strides.size
    for at in range(mass.size):
        mass[at] = 0
        loss[at] = 0
    for i in range(gains.size):
        cell = np.int64(0)
        for d in range(k):
            cell += np.int64(look_up[starts[d] + levels[d, i]]) * strides[d]
        gain = gains[i]
        if gain > 0:
            mass[cell] += gain
        else:
            loss[cell] -= gain


@kernel
def bound_pair(
    counts, width, n_groups, factors, bins1, starts1, exact1, bins2, starts2, exact2, goal,
    mass, loss, tighter, upper, low, high,
):  # fmt: skip
    """`orient`, `accumulate` and `bound_cells` in one pass, for two dimensions.

    `bins[starts[u] : starts[u + 1]]` are the bins of the u-th place of a dimension, the tightest
    first; a dimension of one condition has one place. `mass`, `loss`, `tighter` are scratch.
    """
    n1, n2 = starts1.size - 1, starts2.size - 1
    place = np.zeros(2, np.int64)
    for t in range(n1):
        upper[t] = NEG
    for u in range(n2):
        mass[u] = 0
        loss[u] = 0
        tighter[u] = 0
    best = NEG
    for u1 in range(n1):
        for at1 in range(starts1[u1], starts1[u1 + 1]):
            row = bins1[at1] * width
            for u2 in range(n2):
                for at2 in range(starts2[u2], starts2[u2 + 1]):
                    cell = (row + bins2[at2]) * n_groups
                    for g in range(n_groups):
                        gain = counts[cell + g] * factors[g]
                        if gain > 0:
                            mass[u2] += gain
                        else:
                            loss[u2] -= gain
        t1 = n1 - 1 - u1  # places are numbered from the loose side
        covered_mass = np.int64(0)
        covered_loss = np.int64(0)
        before = np.int64(0)  # loss of the previous row's tighter places
        for u2 in range(n2):
            covered_mass += mass[u2]
            inner_loss = covered_loss  # of this row, without this place
            covered_loss += loss[u2]
            if exact1:
                least = covered_loss if exact2 else inner_loss
            else:
                least = tighter[u2] if exact2 else before
            before = tighter[u2]
            tighter[u2] = covered_loss
            bound = covered_mass - least
            t2 = n2 - 1 - u2
            if (exact1 or t1 > 0) and (exact2 or t2 > 0) and covered_mass - covered_loss > best:
                best = covered_mass - covered_loss
            if bound >= goal:
                place[0], place[1] = t1, t2
                note_alive(place, bound, upper, low, high)
    return best


@kernel
def sort_by_code(codes, starts, order):
    """Rows in the order of their codes, missing ones left out; `starts[c]` is where code `c`
    begins, and the last of them where all end.
    """
    n_values = starts.size - 1
    for c in range(n_values + 1):
        starts[c] = 0
    for i in range(codes.size):
        if codes[i] >= 0:
            starts[codes[i] + 1] += 1
    for c in range(n_values):
        starts[c + 1] += starts[c]
    for i in range(codes.size):
        c = codes[i]
        if c >= 0:
            order[starts[c]] = i
            starts[c] += 1
    for c in range(n_values, 0, -1):
        starts[c] = starts[c - 1]
    starts[0] = 0


@kernel
def add_by_code(codes, gains, sums):
    """Add each row's gain to the sum of its code, one place up: missing rows go to place 0."""
    for i in range(codes.size):
        sums[codes[i] + 1] += gains[i]


@kernel
def greatest_rise(gains):
    """The largest sum of neighbouring gains, 0 if none is positive."""
    best = np.int64(0)
    here = np.int64(0)
    for gain in gains:
        here = max(here + gain, 0)
        best = max(best, here)
    return best
