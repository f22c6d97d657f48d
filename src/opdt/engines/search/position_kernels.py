"""Compiled kernels that list every pair of positions whose rows are worth enough.

They stand in a file of their own, apart from those of the search, which Numba's disk cache takes
as one. A ray, its levels and its positions are what they are in `kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.jit import kernel
from opdt.engines.search.kernels import Limits, sort_by_level, within

Whole = NDArray[np.int64]
Levels = NDArray[np.int32]

NEG = -(1 << 62)
DONE, MORE = 0, 1  # how `list_pair` ended
AT, RECORDS, BEST, ENTERED = 0, 1, 2, 3  # places in `state`
VALUE, GAIN, COVERED, ERRORS, SIGNATURE, LIMITED = 0, 1, 2, 3, 4, 6  # columns of sums over rows


@kernel
def squeeze(
    levels: Levels,
    values: Whole,
    top: int,
    floor: int,
    mass: Whole,
    occurs: Levels,
    low: Whole,
    high: Whole,
    out: Levels,
) -> int:
    """Renumber a ray's positions so that each of them drops a row.

    Position `k` of the new ones stands for the old positions `low[k]` to `high[k]`, which cover
    the same rows here. Positions whose rows have a mass below `floor` are left out: whatever else
    is demanded of their rows, these are worth less. `out` (n,) receives the new levels. Returns
    the number of positions.
    """
    for level in range(top + 1):
        mass[level] = 0
        occurs[level] = 0
    above = np.int64(0)
    for i in range(levels.size):
        level = levels[i]
        occurs[level] = 1
        if values[i] > 0:
            mass[level] += values[i]
            above += values[i]
    above -= mass[0]
    kept = 0
    before = 0  # the last level below that occurs
    for level in range(1, top + 1):
        if occurs[level] != 0:
            if above >= floor:
                kept += 1
                low[kept] = before + 1
                high[kept] = level
            above -= mass[level]
            before = level
        occurs[level] = kept
    occurs[0] = 0
    for i in range(levels.size):
        out[i] = occurs[levels[i]]
    return kept


@kernel(inner=True)
def insert(tree: Whole, leaf: int, row: Whole, goals: Whole) -> None:
    """Add a row to a leaf and to every node above it.

    A node holds the sums of its rows, one per column, and behind them for each goal the best sum
    of a suffix of its leaves.
    """
    m = row.size
    for c in range(m):
        tree[leaf, c] += row[c]
    for g in range(goals.shape[0]):
        tree[leaf, m + g] = goals[g, 1] * tree[leaf, goals[g, 0]]
    node = leaf >> 1
    while node >= 1:
        left, right = 2 * node, 2 * node + 1
        for c in range(m):
            tree[node, c] += row[c]
        for g in range(goals.shape[0]):
            whole = goals[g, 1] * tree[right, goals[g, 0]] + tree[left, m + g]
            tree[node, m + g] = max(tree[right, m + g], whole)
        node >>= 1


@kernel(inner=True)
def may_reach(tree: Whole, node: int, beyond: Whole, goals: Whole, m: int) -> bool:
    """Whether for each goal some suffix of a node, with all rows beyond it, may reach it."""
    for g in range(goals.shape[0]):
        if goals[g, 1] * beyond[goals[g, 0]] + tree[node, m + g] < goals[g, 2]:
            return False
    return True


class PairRoom(NamedTuple):
    """Room of `list_pair`, and what it has found."""

    starts: Whole  # (top1 + 2,)
    order: Levels  # (n,)
    tree: Whole  # (2 × leaves, m + n_goals) over the levels of the second ray
    stack: Whole  # (depth, m + 1) sums of the rows beyond a node, and the node
    places: Whole  # (capacity, 2) what is found
    sums: Whole  # (capacity, m) of its rows
    state: Whole  # (4,) level to go on at, records, best value of all, whether rows have entered

    @classmethod
    def of(cls, n: int, m: int, top1: int, top2: int, n_goals: int, capacity: int) -> PairRoom:
        """Room for `n` rows and `m` sums; the capacity is at least `top2`, unless it is 1."""
        leaves = 1 << (top2 - 1).bit_length()
        return cls(
            np.empty(top1 + 2, np.int64), np.empty(n, np.int32),
            np.empty((2 * leaves, m + n_goals), np.int64),
            np.empty((leaves.bit_length() + 2, m + 1), np.int64),
            np.empty((capacity, 2), np.int64), np.empty((capacity, m), np.int64),
            np.zeros(4, np.int64),
        )  # fmt: skip


@kernel(inner=True)
def find_places(
    a: int, top2: int, goals: Whole, limits: Limits, first_only: bool, room: PairRoom
) -> int:
    """Record the positions of the second ray that reach all goals beside position `a`.

    The tree is descended only where each goal is reached by some suffix, its loose half first.
    Returns the number of nodes seen, or -1 where the records are full.
    """
    _, _, tree, stack, places, sums, state = room
    m, leaves = sums.shape[1], tree.shape[0] // 2
    depth, seen = 0, 0
    for c in range(m):
        stack[0, c] = 0
    stack[0, m] = 1
    while depth >= 0:
        seen += 1
        node = stack[depth, m]
        if not may_reach(tree, node, stack[depth], goals, m):
            depth -= 1
        elif node < leaves:
            # The left half has all of the right behind it, and is next in turn.
            left, right = 2 * node, 2 * node + 1
            for c in range(m):
                stack[depth + 1, c] = stack[depth, c] + tree[right, c]
            stack[depth, m] = right
            stack[depth + 1, m] = left
            depth += 1
        else:
            b = node - leaves + 1
            record = np.int64(0) if first_only else state[RECORDS]
            if b <= top2:  # the tree may have more leaves
                if record >= sums.shape[0]:
                    return -1
                for c in range(m):
                    sums[record, c] = stack[depth, c] + tree[node, c]
                if m == 1 or within(sums[record, COVERED], sums[record, ERRORS], limits):
                    places[record, 0] = a
                    places[record, 1] = b
                    state[RECORDS] = record + 1
                    if first_only:
                        break
            depth -= 1
    return seen


@kernel
def list_pair(
    first: Levels, second: Levels, columns: Whole, top1: int, top2: int, goals: Whole,
    limits: Limits, most_steps: int, resume: bool, first_only: bool, room: PairRoom,
) -> int:  # fmt: skip
    """Every pair of positions >= 1 of two rays whose rows reach all goals and meet the limits.

    Rows enter from the tightest level of the first ray to the loosest, into a tree over the
    levels of the second. With one goal the work is O((n + found) log top2).

    Parameters
    ----------
    columns : (n, m) what each row adds to the sums: see the names above. The values alone will do
        where there are no limits to meet.
    goals : (n_goals, 3) [column, sign, least]: sign × sum of the column is at least that. The
        first is that of the values, whose best, whatever else is asked, goes into the state.
    limits : what covered rows and errors must meet.
    most_steps : rows and nodes after which the caller has a look at the clock.
    resume : go on where the last call ended, after the records were emptied.
    first_only : keep one record alone, the loosest so far: that of the last level with one, and
        there the loosest position of the second ray.

    Returns DONE, or MORE when the records are full or a while has passed.
    """
    starts, order, tree, state = room.starts, room.order, room.tree, room.state
    m, leaves = columns.shape[1], tree.shape[0] // 2
    if not resume:
        sort_by_level(first, first.size, top1, starts, order)
        for node in range(2 * leaves):
            for c in range(m + goals.shape[0]):
                tree[node, c] = 0
        state[AT] = top1
        state[BEST] = NEG
        state[ENTERED] = 0
    state[RECORDS] = 0
    steps = 0
    for a in range(state[AT], 0, -1):
        if state[ENTERED] == 0:
            for at in range(starts[a - 1], starts[a]):
                i = order[at]
                if second[i] > 0:
                    insert(tree, leaves + second[i] - 1, columns[i], goals)
            state[BEST] = max(state[BEST], tree[1, m])
            state[ENTERED] = 1
            steps += starts[a] - starts[a - 1]
        before = state[RECORDS]
        seen = find_places(a, top2, goals, limits, first_only, room)
        if seen < 0:
            state[AT] = a
            state[RECORDS] = before
            return MORE
        steps += seen
        state[ENTERED] = 0
        if steps > most_steps and a > 1:
            state[AT] = a - 1
            return MORE
    return DONE
