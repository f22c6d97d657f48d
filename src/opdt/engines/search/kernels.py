"""Compiled kernels of the search: arrays and numbers in, arrays and numbers out.

Everything here lives in one file because Numba's disk cache does not notice edits in another.

Words used throughout. A *ray* is a feature with an operator (`age >=`, `age <`, `job ==
nurse`); its *positions* 1, 2, … are its conditions from loose to tight, nested in each other.
`levels[r, i]` is the tightest position of ray `r` that row `i` satisfies, 0 if none: the row is
covered at position `j` exactly when `levels[r, i] >= j`, and position 0 is "no condition".
`gains` are whole numbers; the *mass* of rows is the sum of their positive gains, their *loss* the
sum of their negative gains, without the sign.

`control` is shared by the threads: [best value so far, stop flag]. It is read and written
without a lock. A lost update can only leave the best too low for a moment, and a best that is too
low prunes less, never more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.jit import kernel

NEG = -(1 << 62)
BEST, STOP = 0, 1  # places in `control`
NODES, EVALUATIONS, PRUNED, RECORDS = 0, 1, 2, 3  # places in `counters`
DONE, STOPPED, FULL = 0, 1, 2  # how a kernel ended
ANY, ALL = 1, 2  # `Flags.decide`: stop at the first that reaches the best; leave the best as it is
TABLE_CELLS = 1 << 20  # a larger pair table is swept instead

Whole = NDArray[np.int64]
Small = NDArray[np.int32]
Levels = NDArray[np.uint16]
Bits = NDArray[np.uint64]


class Limits(NamedTuple):
    """What a rule's rows must meet, in units of weight."""

    least: int  # fewest covered
    most: int  # most errors
    numerator: int  # of the least precision
    denominator: int


class Flags(NamedTuple):
    """How nodes are settled.

    `first` keeps the loosest real position of every ray, `mass_above` allows to tighten past rows
    without mass, `reduce` keeps only positions that can matter, `uniform` says that rows with
    mass all gain the same and the others lose the same, `constrained` that there are limits on
    rows, `priced` that the gains hold prices of these limits, `decide` is 0, ANY or ALL;
    `intervals` and `exclusion` switch these bounds on.
    """

    first: bool
    mass_above: bool
    reduce: bool
    uniform: bool
    constrained: bool
    priced: bool
    decide: int
    intervals: bool
    exclusion: bool


class Node(NamedTuple):
    """Some rows: those with mass first, then the others.

    All bounds are bounds of `gains`. What a rule is worth is the sum of `true`: the same, unless
    the gains hold prices of limits on rows.
    """

    levels: Levels  # (n_rays, n_rows or more)
    tops: Whole  # (n_rays,)
    gains: Whole  # (n_rows,)
    weights: Whole  # (n_rows,)
    wrong: Whole  # (n_rows,) weight of a row of another class, else 0
    true: Whole  # (n_rows,)


class Pairs(NamedTuple):
    """Pairs of rays, (n_pairs,) each."""

    first: Small
    second: Small


class Search(NamedTuple):
    """What a search shares between its nodes.

    `offset` is added to a true gain to make a value (the price of the conditions), `goal_offset`
    to a bound on gains to make a bound on values (prices of limits are in it, too). `chosen` holds
    the rays of the set under way; `records` (capacity, 1 + size) receives value and rays of
    everything as good as the best, `counters[RECORDS]` is their number.
    """

    offset: int
    goal_offset: int
    flags: Flags
    limits: Limits
    control: Whole
    counters: Whole
    chosen: Whole
    records: Whole


class Kinds(NamedTuple):
    """Which rays stand together (`deepen.kinds_of` makes it).

    Two rays of one feature are apart if the bit of one is among those that the other blocks. A
    set of rays is a path through states: `following[state, type]` is the state after a ray of the
    type, -1 where nothing that fits begins so.
    """

    features: Whole  # (n_rays,)
    sides: Whole  # (n_rays,)
    blocks: Whole  # (n_rays,)
    types: Whole  # (n_rays,)
    following: Whole  # (n_states, n_types)
    canonical: bool  # whether a set is visited in one order of its rays only


class Lists(NamedTuple):
    """Sets of rays to be settled, and where their listing goes on."""

    first: Small  # (n_items,)
    second: Small  # (n_items,)
    third: Small  # (n_items,)
    start: Whole  # (n_items,) a bound of each
    cursor: Whole  # (3,)
    open: NDArray[np.uint8]  # (n_rays,)


class Frames(NamedTuple):
    """The intervals of one ray's positions that wait in a bisection, and what is bisected.

    The items (pairs or triples of other rays) of a frame are `ids[frame, :counts[frame]]`, their
    bounds at both ends `at_low` and `at_high`.
    """

    ids: Small  # (n_frames, n_items)
    at_low: Whole  # (n_frames, n_items)
    at_high: Whole  # (n_frames, n_items)
    lows: Whole  # (n_frames,)
    highs: Whole  # (n_frames,)
    counts: Whole  # (n_frames,)
    wanted: Small  # (n_items,) items to settle at the middle
    bounds: Whole  # (n_items,) what is known at the middle
    ends: Whole  # (n_items,) a bound over all positions >= 1
    mass: Whole  # (top + 3,) mass of the rows at each position of the ray, or above it
    loss: Whole  # (top + 3,)


class Scratch(NamedTuple):
    """Room for one node at which pairs are evaluated."""

    mass: Whole  # (top + 2,)
    loss: Whole  # (top + 2,)
    renumber: Whole  # (top + 2,)
    covered: Whole  # (top + 2,)
    errors: Whole  # (top + 2,)
    starts: Whole  # (top + 3,)
    order: Small  # (n_rows,)
    table: Whole
    tree: Whole
    words: Bits  # (n_rays, n_words) rows that a binary ray covers
    single: Whole  # (n_rays,) gain of a binary ray alone
    ready: NDArray[np.uint8]  # (n_rays,) whether a ray is prepared
    dropped: Bits  # (n_rays, n_words) rows without mass that a ray can drop
    left: Bits  # (n_rays, n_words) those it cannot
    worth: Whole  # (n_words,)
    every: Bits  # (n_words,)


class Room(NamedTuple):
    """Room for one node: its rows, and bits for the exclusion bound."""

    rows: Small  # (n_rows,)
    levels: Levels  # (n_rays, n_rows)
    tops: Whole  # (n_rays,)
    gains: Whole  # (n_rows,)
    weights: Whole  # (n_rows,)
    wrong: Whole  # (n_rows,)
    true: Whole  # (n_rows,)
    dropped: Bits  # (n_rays, n_words)
    left: Bits  # (3, n_words)
    worth: Whole  # (n_words,)
    every: Bits  # (n_words,)


class Space(NamedTuple):
    """All the room of one thread."""

    scratch: Scratch
    lists: Lists
    frames: Frames
    room: Room
    triples: Lists
    triple_frames: Frames
    triple_room: Room


@kernel
def popcount(word):
    """Number of set bits of an unsigned 64-bit integer."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = word + (word >> np.uint64(8))
    word = word + (word >> np.uint64(16))
    word = word + (word >> np.uint64(32))
    return np.int64(word & np.uint64(0x7F))


@kernel
def compress(levels, rows, gains, true, top, floor, flags, mass, loss, renumber, out):
    """Renumber one ray's positions on some rows so that only those that can matter remain.

    A position is kept if the rows it drops (those between the previous non-empty level and it)
    hold a loss, and the next non-empty level holds mass: otherwise loosening or tightening it is
    never worse. `mass_above` asks for the second half (a minimum coverage forbids tightening);
    `first` always keeps the loosest real position (where leaving the condition out is not
    allowed); `reduce` off keeps every position that changes the rows. Positions whose rows
    have a mass below `floor` are dropped: nothing they cover is worth more.

    `out[: rows.size]` receives the new levels; returns the number of positions left.
    """
    n = rows.size
    for level in range(top + 1):
        mass[level] = 0
        loss[level] = 0
        renumber[level] = 0
    for i in range(n):
        level = levels[rows[i]]
        gain = gains[i]
        renumber[level] = 1  # the level occurs
        if gain > 0:
            mass[level] += gain
        else:
            loss[level] += 1  # also without a loss of gain: it may be an error the limits count
    if flags.priced:
        for i in range(n):
            level = levels[rows[i]]
            if true[i] > 0:
                renumber[level] = 2  # and is not passed over, whatever its mass
            else:
                loss[level] += 1
    above = np.int64(0)
    for level in range(top + 1):
        above += mass[level]
    kept = 0
    previous = 0  # last non-empty level
    occurs = renumber[0] != 0
    above -= mass[0]
    renumber[0] = 0
    for level in range(1, top + 1):
        if renumber[level] == 0:
            renumber[level] = kept
            continue
        if above >= floor:
            keep = True
            if flags.reduce:
                tight = mass[level] > 0 or renumber[level] == 2 or not flags.mass_above
                keep = occurs and loss[previous] > 0 and tight
                if flags.first and kept == 0:
                    keep = True
            if keep:
                kept += 1
        above -= mass[level]
        renumber[level] = kept
        previous = level
        occurs = True
    for i in range(n):
        out[i] = renumber[levels[rows[i]]]
    return kept


@kernel
def pair_by_table(first, second, gains, n, top1, top2, table):
    """Best gain over positions >= 1 of both rays, and over positions >= 0 of both.

    Counts the gain of each pair of levels and sums it from tight to loose:
    O(n + top1 × top2).
    """
    width = top2 + 1
    for cell in range((top1 + 1) * width):
        table[cell] = 0
    for i in range(n):
        table[np.int64(first[i]) * width + second[i]] += gains[i]
    inner = NEG
    full = NEG
    for a in range(top1, -1, -1):
        base = a * width
        if a < top1:
            for b in range(base, base + width):
                table[b] += table[b + width]
        total = np.int64(0)
        best = NEG
        for b in range(base + top2, base, -1):
            total += table[b]
            if total > best:
                best = total
        if a > 0 and best > inner:
            inner = best
        total += table[base]
        full = max(full, best, total)
    return inner, full


@kernel
def sweep(first, second, gains, n, top1, top2, scratch):
    """All positions of two rays in O(n log top2), for rays with many positions.

    Rows enter from the tightest level of the first ray to the loosest, into a tree over the
    levels of the second that holds for each node the sum and the best suffix sum. Returns what
    `pair_by_table` does. The tree has a power of two of leaves: where that leaves some empty,
    covering nothing counts as a suffix, so gains are never below 0.
    """
    starts, order, tree = scratch.starts, scratch.order, scratch.tree
    sort_by_level(first, n, top1, starts, order)
    leaves = 1
    while leaves < top2:
        leaves *= 2
    for node in range(4 * leaves):
        tree[node] = 0
    outside = np.int64(0)  # gain of rows at position 0 of the second ray
    inner = NEG
    full = NEG
    for a in range(top1, -1, -1):
        begin = starts[a - 1] if a > 0 else 0
        for at in range(begin, starts[a]):
            i = order[at]
            b = np.int64(second[i])
            if b == 0:
                outside += gains[i]
            else:
                add_to_tree(tree, leaves + b - 1, gains[i])
        best = tree[3] if top2 > 0 else NEG
        if a > 0 and top2 > 0:
            inner = max(inner, best)
        full = max(full, best, tree[2] + outside)
    return inner, full


@kernel(inner=True)
def add_to_tree(tree, node, gain):
    """Add to a leaf of a tree of (sum, best suffix sum), and to all nodes above it."""
    tree[2 * node] += gain
    tree[2 * node + 1] = tree[2 * node]
    node >>= 1
    while node >= 1:
        left, right = 2 * node, 2 * node + 1
        tree[2 * node] = tree[2 * left] + tree[2 * right]
        tree[2 * node + 1] = max(tree[2 * right + 1], tree[2 * right] + tree[2 * left + 1])
        node >>= 1


@kernel
def best_pair(first, second, gains, n, top1, top2, scratch):
    """The quicker of table and sweep."""
    cells = (top1 + 1) * (top2 + 1)
    depth = 1
    while (1 << depth) < top2:
        depth += 1
    if cells <= TABLE_CELLS and cells <= n * (1 + 2 * depth) + 64:
        return pair_by_table(first, second, gains, n, top1, top2, scratch.table)
    return sweep(first, second, gains, n, top1, top2, scratch)


@kernel(inner=True)
def sort_by_level(first, n, top, starts, order):
    """Rows in the order of their level; afterwards `starts[a]` is the end of level `a`."""
    for a in range(top + 2):
        starts[a] = 0
    for i in range(n):
        starts[first[i] + 1] += 1
    for a in range(top + 1):
        starts[a + 1] += starts[a]
    for i in range(n):
        a = first[i]
        order[starts[a]] = i
        starts[a] += 1


@kernel
def constrained_pair(first, second, node, top1, top2, limits, goal, scratch):
    """Best true gain over positions >= 1 of both rays among the covers within the limits.

    Covers whose gain is below the goal are left out: at positions of the first ray where none
    reaches it, as a tree like that of `sweep` tells, those of the second are not tried.
    """
    starts, order, tree = scratch.starts, scratch.order, scratch.tree
    table, covered, errors = scratch.mass, scratch.covered, scratch.errors
    n = node.gains.size
    sort_by_level(first, n, top1, starts, order)
    for b in range(top2 + 1):
        table[b] = 0
        covered[b] = 0
        errors[b] = 0
    leaves = 1
    depth = 1
    while leaves < top2:
        leaves *= 2
        depth += 1
    asks = top1 * top2 > n * (1 + 2 * depth)
    if asks:
        for at in range(4 * leaves):
            tree[at] = 0
    inner = NEG
    for a in range(top1, 0, -1):
        for at in range(starts[a - 1], starts[a]):
            i = order[at]
            b = second[i]
            table[b] += node.true[i]
            covered[b] += node.weights[i]
            errors[b] += node.wrong[i]
            if asks and b > 0:
                add_to_tree(tree, leaves + np.int64(b) - 1, node.gains[i])
        if asks and tree[3] < goal:
            continue
        total = np.int64(0)
        rows = np.int64(0)
        bad = np.int64(0)
        for b in range(top2, 0, -1):
            total += table[b]
            rows += covered[b]
            bad += errors[b]
            if total > inner and within(rows, bad, limits):
                inner = total
    return inner


@kernel
def within(covered, errors, limits):
    """Whether a cover of this weight and error weight meets the limits."""
    return (
        covered >= limits.least
        and errors <= limits.most
        and (covered - errors) * limits.denominator >= covered * limits.numerator
    )


@kernel
def pack(levels, n, n_mass, words):
    """Set bit i of `words` where a binary ray covers row i.

    Rows with mass come first and fill words of their own, so that they can be counted apart.
    """
    shift = ((n_mass + 63) // 64) * 64 - n_mass
    for at in range(words.size):
        words[at] = 0
    for i in range(n):
        if levels[i] > 0:
            bit = i if i < n_mass else i + shift
            words[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@kernel
def binary_pair(first, second, n_mass, n_words, high, low):
    """Gain of the rows that two binary rays cover: bits, not rows, are counted."""
    split = (n_mass + 63) // 64
    good = np.int64(0)
    bad = np.int64(0)
    for at in range(split):
        good += popcount(first[at] & second[at])
    for at in range(split, n_words):
        bad += popcount(first[at] & second[at])
    return good * high + bad * low


@kernel
def compress_all(parent, rows, node, floor, flags, mass, loss, renumber):
    """`compress` for every ray: levels and numbers of positions of a node on some rows."""
    for ray in range(node.tops.size):
        node.tops[ray] = compress(
            parent.levels[ray], rows, node.gains, node.true, parent.tops[ray], floor, flags,
            mass, loss, renumber, node.levels[ray],
        )  # fmt: skip


@kernel
def mark_dropped(levels, n_mass, n, top, out):
    """Set bit i where a ray's tightest position drops the i-th row without mass."""
    for at in range(out.size):
        out[at] = 0
    for i in range(n_mass, n):
        if levels[i] < top:
            bit = i - n_mass
            out[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@kernel
def count_losses(gains, worth, every):
    """What the exclusion bound needs of a node: see `rest`.

    `worth` receives the least loss among the rows of each word (64 rows without mass, in their
    order), `every` the bits of all of them. Returns the number of rows with mass, the mass, and
    the number of words.
    """
    n = gains.size
    n_mass = 0
    mass = np.int64(0)
    while n_mass < n and gains[n_mass] > 0:
        mass += gains[n_mass]
        n_mass += 1
    n_words = (n - n_mass + 63) // 64
    for at in range(n_words):
        begin = n_mass + 64 * at
        end = min(n, begin + 64)
        least = -gains[begin]
        for i in range(begin + 1, end):
            least = min(least, -gains[i])
        worth[at] = least
        every[at] = (
            ~np.uint64(0)
            if end - begin == 64
            else ((np.uint64(1) << np.uint64(end - begin)) - np.uint64(1))
        )
    return n_mass, mass, n_words


@kernel
def drop(left, dropped, n_words, out):
    """The rows of `left` that a ray cannot drop."""
    for at in range(n_words):
        out[at] = left[at] & ~dropped[at]


@kernel
def rest(left, dropped, worth, n_words):
    """At least so much loss is left of some rows when a ray drops all it can."""
    total = np.int64(0)
    for at in range(n_words):
        total += popcount(left[at] & ~dropped[at]) * worth[at]
    return total


@kernel(inner=True)
def prepare(parent, rows, node, ray, n_mass, floor, flags, scratch):
    """Compress one ray onto a node's rows, and pack it if it is binary there."""
    n = rows.size
    out = node.levels[ray]
    top = compress(
        parent.levels[ray], rows, node.gains, node.true, parent.tops[ray], floor, flags,
        scratch.mass, scratch.loss, scratch.renumber, out,
    )  # fmt: skip
    node.tops[ray] = top
    if not (flags.uniform and top == 1):
        mark_dropped(out, n_mass, n, top, scratch.dropped[ray])
    else:
        pack(out, n, n_mass, scratch.words[ray])
        split_at = (n_mass + 63) // 64
        for at in range((n - n_mass + 63) // 64):
            scratch.dropped[ray, at] = scratch.every[at] & ~scratch.words[ray, split_at + at]
        single = np.int64(0)
        for i in range(n):
            if out[i] > 0:
                single += node.gains[i]
        scratch.single[ray] = single


@kernel
def evaluate(parent, rows, node, pairs, bounds, wanted, floor, depth, search, scratch):
    """Evaluate the wanted pairs of rays on one node's rows.

    Parameters
    ----------
    parent : Node
        `rows` (n,) picks the node's rows among its.
    node : Node
        Gains, weights and errors of the node's rows; its levels and tops are scratch, filled in
        for the rays that are wanted.
    pairs : Pairs
    bounds : (n_pairs,)
        Receives for each wanted pair its best gain with either condition left out too: a bound
        for tighter nodes.
    wanted : (n_wanted,)
        The pairs to evaluate.
    floor : int
        Gains below it are of no interest; `bounds` is exact above it.
    depth : int
        How many rays `search.chosen` holds.

    Returns DONE, STOPPED (by the flag in `control`), or FULL when the records did not fit.
    """
    n = rows.size
    flags, control, counters = search.flags, search.control, search.counters
    gains = node.gains
    n_mass, most, n_losses = count_losses(gains, scratch.worth, scratch.every)
    total = np.int64(0)
    for i in range(n):
        total += gains[i]
    n_words = (n_mass + 63) // 64 + (n - n_mass + 63) // 64
    high = gains[0] if n_mass > 0 else np.int64(0)
    low = gains[n - 1] if n_mass < n else np.int64(0)
    ready = scratch.ready
    for ray in range(ready.size):
        ready[ray] = 0
    counters[NODES] += 1
    for at in range(wanted.size):
        if control[STOP] != 0:
            return STOPPED
        pair = wanted[at]
        p, q = pairs.first[pair], pairs.second[pair]
        for ray in (p, q):
            if ready[ray] == 0:
                ready[ray] = 1
                prepare(parent, rows, node, ray, n_mass, floor, flags, scratch)
                drop(scratch.every, scratch.dropped[ray], n_losses, scratch.left[ray])
        top1, top2 = node.tops[p], node.tops[q]
        binary = flags.uniform and top1 == 1 and top2 == 1
        if flags.exclusion and not binary:
            bound = most - rest(scratch.left[p], scratch.dropped[q], scratch.worth, n_losses)
            if bound < floor:
                bounds[pair] = max(floor - 1, 0)
                counters[PRUNED] += 1
                continue
        counters[EVALUATIONS] += 1
        if binary:
            inner = binary_pair(
                scratch.words[p, :n_words], scratch.words[q, :n_words], n_mass, n_words, high, low
            )
            full = max(inner, scratch.single[p], scratch.single[q], total)
        else:
            inner, full = best_pair(node.levels[p], node.levels[q], gains, n, top1, top2, scratch)
        # 0: elsewhere the pair may go on to positions that none of these rows reaches
        bounds[pair] = max(full, floor - 1, 0)
        if top1 == 0 or top2 == 0:
            continue
        if flags.constrained:
            if inner + search.goal_offset < control[BEST]:
                continue
            goal = control[BEST] - search.goal_offset
            inner = constrained_pair(
                node.levels[p], node.levels[q], node, top1, top2, search.limits, goal, scratch
            )
            if inner == NEG:
                continue
        value = inner + search.offset
        if value >= control[BEST]:
            search.chosen[depth], search.chosen[depth + 1] = p, q
            if not record(search, value, depth + 2):
                return FULL
    return DONE


@kernel(inner=True)
def record(search, value, size):
    """Note the rays that are chosen as having a value; False if there is no room for it."""
    control, counters = search.control, search.counters
    if value > control[BEST] and search.flags.decide != ALL:
        counters[RECORDS] = 0  # nothing of what is noted is as good
        control[BEST] = value
    at = counters[RECORDS]
    if at >= search.records.shape[0]:
        return False
    search.records[at, 0] = value
    for d in range(size):
        search.records[at, 1 + d] = search.chosen[d]
    counters[RECORDS] += 1
    if search.flags.decide == ANY:
        control[STOP] = 1
    return True


@kernel
def best_between(low, high, at_low, at_high, mass, loss):
    """A bound on a pair's best gain at any position strictly between two settled ones.

    From the looser side: dropping rows raises the best by at most the loss dropped. From the
    tighter side: adding rows raises it by at most the mass added. The first bound grows with
    the position, the second falls: their smaller one is largest where they cross.
    """
    left, right = low + 1, high - 1
    if left > right:
        return NEG
    while left < right:
        middle = (left + right) // 2
        if at_low + loss[low] - loss[middle] >= at_high + mass[middle] - mass[high]:
            right = middle
        else:
            left = middle + 1
    best = min(at_low + loss[low] - loss[left], at_high + mass[left] - mass[high])
    if left > low + 1:
        before = left - 1
        best = max(
            best, min(at_low + loss[low] - loss[before], at_high + mass[before] - mass[high])
        )
    return best


@kernel(inner=True)
def begin(frames, node, ray, start, n_items):
    """Lay out the bisection of a ray's positions for some items.

    `start` (n_items,) bounds each item at position 0.
    """
    own, top = node.levels[ray], node.tops[ray]
    mass, loss = frames.mass, frames.loss
    for j in range(top + 2):
        mass[j] = 0
        loss[j] = 0
    for i in range(node.gains.size):
        if node.gains[i] > 0:
            mass[own[i]] += node.gains[i]
        else:
            loss[own[i]] -= node.gains[i]
    for j in range(top - 1, -1, -1):
        mass[j] += mass[j + 1]
        loss[j] += loss[j + 1]
    for item in range(n_items):
        frames.ids[0, item] = item
        frames.at_low[0, item] = start[item]
        frames.at_high[0, item] = 0
        frames.ends[item] = NEG
    frames.counts[0] = n_items
    frames.lows[0], frames.highs[0] = 0, top + 1


@kernel(inner=True)
def ask(frames, depth, middle, goal, intervals, counters):
    """Which items are to be settled at the middle of an interval; returns their number."""
    low, high = frames.lows[depth], frames.highs[depth]
    mass, loss = frames.mass, frames.loss
    n_wanted = 0
    for at in range(frames.counts[depth]):
        item = frames.ids[depth, at]
        bound = min(
            frames.at_low[depth, at] + loss[low] - loss[middle],
            frames.at_high[depth, at] + mass[middle] - mass[high],
        )
        frames.bounds[item] = bound
        if bound >= goal or not intervals:
            frames.wanted[n_wanted] = item
            n_wanted += 1
        else:
            counters[PRUNED] += 1
    return n_wanted


@kernel(inner=True)
def split(frames, depth, middle, goal, intervals):
    """Go on in both halves of an interval with the items whose bound reaches the goal there.

    The right half replaces the frame, the left half goes on top of it (or takes its place where
    nothing lies to the right, so that the stack stays logarithmic). Returns the top frame.
    """
    low, high = frames.lows[depth], frames.highs[depth]
    mass, loss, ids, ends = frames.mass, frames.loss, frames.ids, frames.ends
    n_left = 0
    n_right = 0
    left = depth + 1 if high - middle > 1 else depth
    for at in range(frames.counts[depth]):
        item = ids[depth, at]
        settled = frames.bounds[item]
        if settled > ends[item]:
            ends[item] = settled
        before, after = frames.at_low[depth, at], frames.at_high[depth, at]
        bound = best_between(low, middle, before, settled, mass, loss)
        if bound >= goal or not intervals:
            ids[left, n_left] = item
            frames.at_low[left, n_left] = before
            frames.at_high[left, n_left] = settled
            n_left += 1
        elif bound > ends[item]:
            ends[item] = bound
        bound = best_between(middle, high, settled, after, mass, loss)
        if bound >= goal and intervals:
            ids[depth, n_right] = item
            frames.at_low[depth, n_right] = settled
            frames.at_high[depth, n_right] = after
            n_right += 1
        elif bound > ends[item]:
            ends[item] = bound
    frames.lows[depth], frames.highs[depth], frames.counts[depth] = middle, high, n_right
    frames.lows[left], frames.highs[left], frames.counts[left] = low, middle, n_left
    return left


@kernel(inner=True)
def pick(node, ray, position, room):
    """The node of the rows that a ray covers at a position, in `room`.

    Its levels and tops are still to be filled in; returns its rows among the node's, too.
    """
    own = node.levels[ray]
    picked = 0
    for i in range(node.gains.size):
        if own[i] >= position:
            room.rows[picked] = i
            room.gains[picked] = node.gains[i]
            room.weights[picked] = node.weights[i]
            room.wrong[picked] = node.wrong[i]
            room.true[picked] = node.true[i]
            picked += 1
    tops = room.tops[: node.tops.size]
    gains, true = room.gains[:picked], room.true[:picked]
    weights, wrong = room.weights[:picked], room.wrong[:picked]
    return Node(room.levels, tops, gains, weights, wrong, true), room.rows[:picked]


@kernel
def outer(node, ray, pairs, start, depth, search, frames, room, scratch):
    """Add one ray, at each of its positions, to each of the pairs.

    The positions are nested, so a settled position bounds its neighbours (`best_between`); they
    are settled by bisection, each time only for the pairs whose bound still reaches the best.
    `start` (n_pairs,) bounds each pair at position 0; `frames.ends` receives a bound over all
    positions >= 1. Returns as `evaluate` does.
    """
    intervals = search.flags.intervals
    begin(frames, node, ray, start, pairs.first.size)
    search.chosen[depth] = ray
    frame = np.int64(0)
    while frame >= 0:
        if search.control[STOP] != 0:
            return STOPPED
        low, high = frames.lows[frame], frames.highs[frame]
        if high - low < 2 or frames.counts[frame] == 0:
            frame -= 1
            continue
        middle = (low + high) // 2 if intervals else high - 1
        goal = search.control[BEST] - search.goal_offset
        n_wanted = ask(frames, frame, middle, goal, intervals, search.counters)
        if n_wanted > 0:
            child, rows = pick(node, ray, middle, room)
            floor = goal - (frames.mass[low + 1] - frames.mass[middle]) if intervals else NEG
            ended = evaluate(
                node, rows, child, pairs, frames.bounds, frames.wanted[:n_wanted],
                floor, depth + 1, search, scratch,
            )  # fmt: skip
            if ended != DONE:
                return ended
        frame = split(frames, frame, middle, search.control[BEST] - search.goal_offset, intervals)
    return DONE


@kernel
def apart(kinds, one, two):
    """Whether no simplified rule holds two rays together (see `Fits.kinds`)."""
    return one == two or (
        kinds.features[one] == kinds.features[two] and kinds.sides[one] & kinds.blocks[two] != 0
    )


@kernel(inner=True)
def open_rays(kinds, tops, chosen, depth, out):
    """Mark the rays that have a position and stand together with the first chosen ones."""
    for ray in range(tops.size):
        fine = tops[ray] > 0
        for d in range(depth):
            fine = fine and not apart(kinds, ray, chosen[d])
        out[ray] = fine


@kernel(inner=True)
def bits_of(node, room):
    """Bits of the rows without mass that each ray of a node can drop; as `count_losses` returns."""
    n_mass, mass, n_words = count_losses(node.gains, room.worth, room.every)
    for ray in range(node.tops.size):
        mark_dropped(
            node.levels[ray], n_mass, node.gains.size, node.tops[ray], room.dropped[ray, :n_words]
        )
    return mass, n_words


@kernel
def list_pairs(node, ray, depth, kinds, state, search, lists, room):
    """Pairs behind a ray that stand with the rays chosen, from `lists.cursor` on.

    `search.chosen[:depth]` are the rays before it, `state` is that after it in `kinds`. Returns the
    number of pairs, which go into `lists`, and a bound on the gains of those that cannot reach the
    goal with the ray; the cursor ends behind the last ray when all are listed.
    """
    n_rays = kinds.types.size
    capacity = lists.first.size
    behind = ray + 1 if kinds.canonical else 0
    goal = search.control[BEST] - search.goal_offset
    cut = NEG
    count = 0
    search.chosen[depth] = ray
    open_rays(kinds, node.tops, search.chosen, depth + 1, lists.open)
    mass, n_words = bits_of(node, room)
    drop(room.every, room.dropped[ray], n_words, room.left[0])
    p = lists.cursor[0]
    q = lists.cursor[1]
    if p < 0:
        p, q = behind, 0
    while p < n_rays:
        after = kinds.following[state, kinds.types[p]] if lists.open[p] != 0 else -1
        if after < 0:
            p, q = p + 1, 0
            continue
        drop(room.left[0], room.dropped[p], n_words, room.left[1])
        q = max(q, p + 1)
        while q < n_rays:
            if lists.open[q] == 0 or kinds.following[after, kinds.types[q]] < 0:
                q += 1
                continue
            if apart(kinds, p, q):
                q += 1
                continue
            if search.flags.exclusion:
                bound = mass - rest(room.left[1], room.dropped[q], room.worth, n_words)
                if bound < goal:
                    cut = max(cut, bound)
                    search.counters[PRUNED] += 1
                    q += 1
                    continue
            if count == capacity:
                lists.cursor[0], lists.cursor[1] = p, q
                return count, cut
            lists.first[count], lists.second[count], lists.start[count] = p, q, mass
            count += 1
            q += 1
        p, q = p + 1, 0
    lists.cursor[0], lists.cursor[1] = p, q
    return count, cut


@kernel(inner=True)
def list_triples(kinds, state, ray, mass, n_words, goal, search, lists, room):
    """`list_pairs` for triples."""
    n_rays = kinds.types.size
    capacity = lists.first.size
    cut = NEG
    count = 0
    drop(room.every, room.dropped[ray], n_words, room.left[0])
    s, p, q = lists.cursor[0], lists.cursor[1], lists.cursor[2]
    if s < 0:
        s, p, q = ray + 1 if kinds.canonical else 0, 0, 0
    while s < n_rays:
        second = kinds.following[state, kinds.types[s]] if lists.open[s] != 0 else -1
        if second < 0:
            s, p, q = s + 1, 0, 0
            continue
        drop(room.left[0], room.dropped[s], n_words, room.left[1])
        p = max(p, s + 1) if kinds.canonical else p
        while p < n_rays:
            third = kinds.following[second, kinds.types[p]] if lists.open[p] != 0 else -1
            if third < 0 or apart(kinds, s, p):
                p, q = p + 1, 0
                continue
            drop(room.left[1], room.dropped[p], n_words, room.left[2])
            q = max(q, p + 1)
            while q < n_rays:
                if (
                    lists.open[q] == 0
                    or kinds.following[third, kinds.types[q]] < 0
                    or apart(kinds, s, q)
                    or apart(kinds, p, q)
                ):
                    q += 1
                    continue
                if search.flags.exclusion:
                    bound = mass - rest(room.left[2], room.dropped[q], room.worth, n_words)
                    if bound < goal:
                        cut = max(cut, bound)
                        search.counters[PRUNED] += 1
                        q += 1
                        continue
                if count == capacity:
                    lists.cursor[0], lists.cursor[1], lists.cursor[2] = s, p, q
                    return count, cut
                lists.first[count], lists.second[count], lists.third[count] = s, p, q
                lists.start[count] = mass
                count += 1
                q += 1
            p, q = p + 1, 0
        s, p, q = s + 1, 0, 0
    lists.cursor[0] = s
    return count, cut


@kernel
def settle_triples(node, ray, state, depth, kinds, search, space):
    """Settle a ray with every triple behind it on a node.

    `search.chosen[:depth]` are the rays before it, `state` their state in `kinds`. Returns how it
    ended and a bound on the gains, over all positions of all four rays.

    The ray's positions are bisected as in `outer`, with a bound of its own for every triple; at
    each position the triples left are settled by `outer`, together for each first ray.
    """
    lists, frames, room = space.triples, space.triple_frames, space.triple_room
    flags = search.flags
    keeping = Flags(
        True, flags.mass_above, flags.reduce, flags.uniform, flags.constrained, flags.priced,
        flags.decide, flags.intervals, flags.exclusion,
    )  # fmt: skip
    search.chosen[depth] = ray
    open_rays(kinds, node.tops, search.chosen, depth + 1, lists.open)
    after = kinds.following[state, kinds.types[ray]]
    bound = NEG
    lists.cursor[0] = -1
    while after >= 0 and lists.cursor[0] < kinds.types.size:
        mass, n_words = bits_of(node, room)
        goal = search.control[BEST] - search.goal_offset
        count, cut = list_triples(kinds, after, ray, mass, n_words, goal, search, lists, room)
        bound = max(bound, cut)
        begin(frames, node, ray, lists.start, count)
        frame = np.int64(0)
        while frame >= 0:
            if search.control[STOP] != 0:
                return STOPPED, bound
            low, high = frames.lows[frame], frames.highs[frame]
            if high - low < 2 or frames.counts[frame] == 0:
                frame -= 1
                continue
            middle = (low + high) // 2 if flags.intervals else high - 1
            goal = search.control[BEST] - search.goal_offset
            n_wanted = ask(frames, frame, middle, goal, flags.intervals, search.counters)
            if n_wanted > 0:
                floor = goal - (frames.mass[low + 1] - frames.mass[middle])
                if not (flags.intervals and flags.reduce):
                    floor = NEG
                child, rows = pick(node, ray, middle, room)
                compress_all(
                    node, rows, child, floor, keeping, space.scratch.mass,
                    space.scratch.loss, space.scratch.renumber,
                )  # fmt: skip
                ended = settle_groups(child, n_wanted, floor, depth, search, space)
                if ended != DONE:
                    return ended, bound
            goal = search.control[BEST] - search.goal_offset
            frame = split(frames, frame, middle, goal, flags.intervals)
        for item in range(count):
            bound = max(bound, frames.ends[item])
    return DONE, bound


@kernel(inner=True)
def settle_groups(node, n_wanted, floor, depth, search, space):
    """Settle the wanted triples on a node, all of one first ray at a time."""
    lists, frames, room = space.triples, space.triple_frames, space.triple_room
    wanted, known = frames.wanted, frames.bounds
    mass, n_words = bits_of(node, room)
    least = max(floor - 1, 0)
    at = 0
    while at < n_wanted:
        if search.control[STOP] != 0:
            return STOPPED
        goal = search.control[BEST] - search.goal_offset
        ray = np.int64(lists.first[wanted[at]])
        drop(room.every, room.dropped[ray], n_words, room.left[0])
        previous = -1
        begin_at = at
        count = 0
        while at < n_wanted and lists.first[wanted[at]] == ray:
            item = wanted[at]
            p, q = lists.second[item], lists.third[item]
            if search.flags.exclusion:
                if p != previous:
                    drop(room.left[0], room.dropped[p], n_words, room.left[1])
                    previous = p
                bound = mass - rest(room.left[1], room.dropped[q], room.worth, n_words)
                if bound < goal and least < goal:
                    known[item] = min(known[item], max(bound, least))
                    search.counters[PRUNED] += 1
                    at += 1
                    continue
            space.lists.first[count], space.lists.second[count] = p, q
            space.lists.start[count] = min(known[item], mass)
            wanted[begin_at + count] = item
            count += 1
            at += 1
        if count == 0:
            continue
        pairs = Pairs(space.lists.first[:count], space.lists.second[:count])
        ended = outer(
            node, ray, pairs, space.lists.start[:count], depth + 1, search, space.frames,
            space.room, space.scratch,
        )  # fmt: skip
        if ended != DONE:
            return ended
        for k in range(count):
            known[wanted[begin_at + k]] = max(space.frames.ends[k], least)
    return DONE


@kernel
def singles(node, constrained, limits, values, positions, mass, covered, errors):
    """Best gain of each ray alone within the limits, and the loosest position that has it."""
    levels, tops, gains, weights, wrong, _ = node
    n = gains.size
    for ray in range(tops.size):
        top = tops[ray]
        own = levels[ray]
        for j in range(top + 1):
            mass[j] = 0
            covered[j] = 0
            errors[j] = 0
        for i in range(n):
            mass[own[i]] += gains[i]
            if constrained:
                covered[own[i]] += weights[i]
                errors[own[i]] += wrong[i]
        total = np.int64(0)
        rows = np.int64(0)
        bad = np.int64(0)
        values[ray] = NEG
        positions[ray] = 0
        for j in range(top, 0, -1):
            total += mass[j]
            rows += covered[j]
            bad += errors[j]
            if total >= values[ray] and (not constrained or within(rows, bad, limits)):
                values[ray] = total
                positions[ray] = j


@kernel
def split_items(
    low, middle, high, ids, at_low, settled, at_high, mass, loss, goal, ends, left, right
):
    """Bisection of `outer`, one level up: which items go on to the left and right halves.

    `ids`, `at_low`, `at_high` (n_items,) describe one interval, `settled` (n_all,) the middle;
    `left` and `right` (n_items,) receive the places of those that go on. Bounds of the others
    go into `ends` (n_all,). Returns both numbers and the larger bounds of what goes on.
    """
    n_left = 0
    n_right = 0
    bound_left = NEG
    bound_right = NEG
    for at in range(ids.size):
        item = ids[at]
        here = settled[item]
        if here > ends[item]:
            ends[item] = here
        bound = best_between(low, middle, at_low[at], here, mass, loss)
        if bound >= goal:
            left[n_left] = at
            n_left += 1
            bound_left = max(bound_left, bound)
        elif bound > ends[item]:
            ends[item] = bound
        bound = best_between(middle, high, here, at_high[at], mass, loss)
        if bound >= goal:
            right[n_right] = at
            n_right += 1
            bound_right = max(bound_right, bound)
        elif bound > ends[item]:
            ends[item] = bound
    return n_left, n_right, bound_left, bound_right
