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

import numpy as np

from opdt.engines.search.jit import kernel

NEG = -(1 << 62)
BEST, STOP = 0, 1  # places in `control`
NODES, EVALUATIONS, PRUNED, RECORDS = 0, 1, 2, 3  # places in `counters`
DONE, STOPPED, FULL = 0, 1, 2  # how a kernel ended
FIRST, MASS_ABOVE, REDUCE, UNIFORM, CONSTRAINED, DECIDE, INTERVALS = 0, 1, 2, 3, 4, 5, 6  # `flags`
ANY, ALL = 1, 2  # `flags[DECIDE]`: stop at the first that reaches the best; leave the best as it is
TABLE_CELLS = 1 << 20  # a larger pair table is swept instead


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
def compress(levels, rows, gains, top, floor, first, mass_above, reduce, mass, loss, renumber, out):
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
            if reduce:
                keep = occurs and loss[previous] > 0 and (mass[level] > 0 or not mass_above)
                if first and kept == 0:
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
def sweep(first, second, gains, n, top1, top2, goal, starts, order, tree):
    """All positions of two rays in O(n log top2), for rays with many positions.

    Rows enter from the tightest level of the first ray to the loosest, into a tree over the
    levels of the second that holds for each node the sum and the best suffix sum. Returns what
    `pair_by_table` does, and the loosest position >= 1 of the first ray at which some position
    >= 1 of the second gains the goal (0: none). The tree has a power of two of leaves: where
    that leaves some empty, covering nothing counts as a suffix, so gains are never below 0.
    """
    sort_by_level(first, n, top1, starts, order)
    leaves = 1
    while leaves < top2:
        leaves *= 2
    for node in range(4 * leaves):
        tree[node] = 0
    outside = np.int64(0)  # gain of rows at position 0 of the second ray
    inner = NEG
    full = NEG
    found = 0
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
            if best >= goal:
                found = a
        full = max(full, best, tree[2] + outside)
    return inner, full, found


@kernel
def pair_by_sweep(first, second, gains, n, top1, top2, starts, order, tree):
    """What `pair_by_table` returns, but never less than 0 where `sweep` says so."""
    inner, full, _ = sweep(first, second, gains, n, top1, top2, NEG, starts, order, tree)
    return inner, full


@kernel
def loosest_by_sweep(first, second, gains, n, top1, top2, goal, starts, order, tree):
    """The loosest position >= 1 of the first ray at which some position >= 1 of the second gains
    the goal; 0 if there is none. Also the best gain with either condition left out.
    """
    _, full, found = sweep(first, second, gains, n, top1, top2, goal, starts, order, tree)
    return found, full


@kernel
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
def best_pair(first, second, gains, n, top1, top2, table, starts, order, tree):
    """The quicker of table and sweep."""
    cells = (top1 + 1) * (top2 + 1)
    depth = 1
    while (1 << depth) < top2:
        depth += 1
    if cells <= TABLE_CELLS and cells <= n * (1 + 2 * depth) + 64:
        return pair_by_table(first, second, gains, n, top1, top2, table)
    return pair_by_sweep(first, second, gains, n, top1, top2, starts, order, tree)


@kernel
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
def constrained_pair(
    first, second, gains, weights, wrong, n, top1, top2, limits, starts, order, table, covered,
    errors,
):  # fmt: skip
    """Best gain over positions >= 1 of both rays among the covers within the limits.

    `limits` = [fewest covered, most errors, precision numerator, precision denominator].
    O(n + top1 × top2) time, O(n + top2) memory.
    """
    sort_by_level(first, n, top1, starts, order)
    for b in range(top2 + 1):
        table[b] = 0
        covered[b] = 0
        errors[b] = 0
    inner = NEG
    for a in range(top1, 0, -1):
        for at in range(starts[a - 1], starts[a]):
            i = order[at]
            b = second[i]
            table[b] += gains[i]
            covered[b] += weights[i]
            errors[b] += wrong[i]
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
        covered >= limits[0]
        and errors <= limits[1]
        and (covered - errors) * limits[3] >= covered * limits[2]
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
def prepare(
    ray, levels, rows, gains, tops, floor, first, mass_above, reduce, uniform, n_mass,
    mass, loss, renumber, node_levels, node_tops, node_words, node_single,
):  # fmt: skip
    """Compress one ray onto a node's rows, and pack it if it is binary there."""
    n = rows.size
    out = node_levels[ray]
    top = compress(
        levels[ray], rows, gains, tops[ray], floor, first, mass_above, reduce,
        mass, loss, renumber, out,
    )  # fmt: skip
    node_tops[ray] = top
    if uniform and top == 1:
        pack(out, n, n_mass, node_words[ray])
        single = np.int64(0)
        for i in range(n):
            if out[i] > 0:
                single += gains[i]
        node_single[ray] = single


@kernel
def evaluate(
    levels, rows, gains, weights, wrong, tops, pairs1, pairs2, bounds, wanted, offset, floor,
    flags, limits, control, counters, prefix, records,
    mass, loss, renumber, node_levels, node_tops, node_words, node_single, ready,
    table, covered, errors, starts, order, tree,
):  # fmt: skip
    """Evaluate the wanted pairs of rays on one node's rows.

    Parameters
    ----------
    levels : (n_rays, n_parent) levels on the parent's rows; `rows` (n,) picks the node's.
    gains, weights, wrong : (n,) of the node's rows, rows with mass first.
    pairs1, pairs2, bounds : (n_pairs,); `bounds` holds what is known, and receives for each
        wanted pair its best gain with either condition left out too: a bound for tighter nodes.
    wanted : (n_wanted,) indices of the pairs to evaluate.
    offset : added to a gain to make a value (the price of the conditions).
    floor : gains below it are of no interest; `bounds` is exact above it.
    flags : see the names above.
    records : (capacity, 4) receives [value, prefix, ray, ray] of everything as good as the best;
        `counters[RECORDS]` is their number.

    Returns DONE, STOPPED (by the flag in `control`), or FULL when the records did not fit.
    """
    n = rows.size
    first, mass_above, reduce = flags[FIRST] != 0, flags[MASS_ABOVE] != 0, flags[REDUCE] != 0
    uniform, constrained = flags[UNIFORM] != 0, flags[CONSTRAINED] != 0
    n_mass = 0
    total = np.int64(0)
    for i in range(n):
        total += gains[i]
        if gains[i] > 0:
            n_mass += 1
    n_words = (n_mass + 63) // 64 + (n - n_mass + 63) // 64
    high = gains[0] if n_mass > 0 else np.int64(0)
    low = gains[n - 1] if n_mass < n else np.int64(0)
    for ray in range(ready.size):
        ready[ray] = 0
    counters[NODES] += 1
    for at in range(wanted.size):
        if control[STOP] != 0:
            return STOPPED
        pair = wanted[at]
        p, q = pairs1[pair], pairs2[pair]
        for ray in (p, q):
            if ready[ray] == 0:
                ready[ray] = 1
                prepare(
                    ray, levels, rows, gains, tops, floor, first, mass_above, reduce, uniform,
                    n_mass, mass, loss, renumber, node_levels, node_tops, node_words, node_single,
                )  # fmt: skip
        top1, top2 = node_tops[p], node_tops[q]
        counters[EVALUATIONS] += 1
        if uniform and top1 == 1 and top2 == 1:
            inner = binary_pair(
                node_words[p, :n_words], node_words[q, :n_words], n_mass, n_words, high, low
            )
            full = max(inner, node_single[p], node_single[q], total)
        else:
            inner, full = best_pair(
                node_levels[p], node_levels[q], gains, n, top1, top2, table, starts, order, tree
            )
        # 0: elsewhere the pair may go on to positions that none of these rows reaches
        bounds[pair] = max(full, floor - 1, 0)
        if top1 == 0 or top2 == 0:
            continue
        if constrained and inner + offset >= control[BEST]:
            inner = constrained_pair(
                node_levels[p], node_levels[q], gains, weights, wrong, n, top1, top2, limits,
                starts, order, table, covered, errors,
            )  # fmt: skip
            if inner == NEG:
                continue
        value = inner + offset
        if value >= control[BEST]:
            record = counters[RECORDS]
            if record >= records.shape[0]:
                return FULL
            records[record, 0] = value
            records[record, 1] = prefix
            records[record, 2] = p
            records[record, 3] = q
            counters[RECORDS] += 1
            if value > control[BEST] and flags[DECIDE] != ALL:
                control[BEST] = value
            if flags[DECIDE] == ANY:
                control[STOP] = 1
    return DONE


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


@kernel
def outer(
    levels, gains, weights, wrong, tops, ray, pairs1, pairs2, start_bounds, end_bounds, offset,
    flags, limits, control, counters, records,
    rows, node_gains, node_weights, node_wrong, ray_mass, ray_loss,
    ids, lows, highs, counts, at_low, at_high, wanted, node_bounds,
    mass, loss, renumber, node_levels, node_tops, node_words, node_single, ready,
    table, covered, errors, starts, order, tree,
):  # fmt: skip
    """Add one ray, at each of its positions, to each of the pairs.

    The positions are nested, so a settled position bounds its neighbours (`best_between`); they
    are settled by bisection, each time only for the pairs whose bound still reaches the best.
    `start_bounds` (n_pairs,) bounds each pair at position 0; `end_bounds` receives a bound over
    all positions >= 1. Returns as `evaluate` does.
    """
    use_intervals = flags[INTERVALS] != 0
    n = gains.size
    top = tops[ray]
    own = levels[ray]
    for j in range(top + 2):
        ray_mass[j] = 0
        ray_loss[j] = 0
    for i in range(n):
        if gains[i] > 0:
            ray_mass[own[i]] += gains[i]
        else:
            ray_loss[own[i]] -= gains[i]
    for j in range(top - 1, -1, -1):
        ray_mass[j] += ray_mass[j + 1]
        ray_loss[j] += ray_loss[j + 1]
    size = pairs1.size
    for pair in range(size):
        ids[0, pair] = pair
        at_low[0, pair] = start_bounds[pair]
        at_high[0, pair] = 0
        end_bounds[pair] = NEG
    counts[0] = size
    lows[0], highs[0] = 0, top + 1
    depth = 0
    while depth >= 0:
        if control[STOP] != 0:
            return STOPPED
        low, high, count = lows[depth], highs[depth], counts[depth]
        if high - low < 2 or count == 0:
            depth -= 1
            continue
        middle = (low + high) // 2
        if not use_intervals:
            middle = high - 1
        goal = control[BEST] - offset
        n_wanted = 0
        for at in range(count):
            pair = ids[depth, at]
            bound = min(
                at_low[depth, at] + ray_loss[low] - ray_loss[middle],
                at_high[depth, at] + ray_mass[middle] - ray_mass[high],
            )
            node_bounds[pair] = bound
            if bound >= goal or not use_intervals:
                wanted[n_wanted] = pair
                n_wanted += 1
            else:
                counters[PRUNED] += 1
        if n_wanted > 0:
            picked = 0
            for i in range(n):
                if own[i] >= middle:
                    rows[picked] = i
                    node_gains[picked] = gains[i]
                    node_weights[picked] = weights[i]
                    node_wrong[picked] = wrong[i]
                    picked += 1
            floor = goal - (ray_mass[low + 1] - ray_mass[middle])
            if not use_intervals:
                floor = NEG
            ended = evaluate(
                levels, rows[:picked], node_gains[:picked], node_weights[:picked],
                node_wrong[:picked], tops, pairs1, pairs2, node_bounds, wanted[:n_wanted],
                offset, floor, flags, limits, control, counters, ray, records,
                mass, loss, renumber, node_levels, node_tops, node_words, node_single, ready,
                table, covered, errors, starts, order, tree,
            )  # fmt: skip
            if ended != DONE:
                return ended
        goal = control[BEST] - offset
        # The right half replaces this frame, the left half goes on top of it (or takes its place
        # where nothing lies to the right, so that the stack stays logarithmic).
        n_left = 0
        n_right = 0
        left = depth + 1 if high - middle > 1 else depth
        for at in range(count):
            pair = ids[depth, at]
            settled = node_bounds[pair]
            if settled > end_bounds[pair]:
                end_bounds[pair] = settled
            before, after = at_low[depth, at], at_high[depth, at]
            bound = best_between(low, middle, before, settled, ray_mass, ray_loss)
            if bound >= goal or not use_intervals:
                ids[left, n_left] = pair
                at_low[left, n_left] = before
                at_high[left, n_left] = settled
                n_left += 1
            elif bound > end_bounds[pair]:
                end_bounds[pair] = bound
            bound = best_between(middle, high, settled, after, ray_mass, ray_loss)
            if bound >= goal and use_intervals:
                ids[depth, n_right] = pair
                at_low[depth, n_right] = settled
                at_high[depth, n_right] = after
                n_right += 1
            elif bound > end_bounds[pair]:
                end_bounds[pair] = bound
        lows[depth], highs[depth], counts[depth] = middle, high, n_right
        lows[left], highs[left], counts[left] = low, middle, n_left
        depth = left
    return DONE


@kernel
def singles(
    levels, gains, weights, wrong, tops, flags, limits, values, positions, mass, covered, errors
):
    """Best gain of each ray alone within the limits, and the loosest position that has it."""
    constrained = flags[CONSTRAINED] != 0
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
def compress_all(
    levels, rows, gains, tops, floor, first, mass_above, reduce, out, out_tops, mass, loss, renumber
):
    """`compress` for every ray: the levels and numbers of positions on some rows."""
    for ray in range(tops.size):
        out_tops[ray] = compress(
            levels[ray], rows, gains, tops[ray], floor, first, mass_above, reduce,
            mass, loss, renumber, out[ray],
        )  # fmt: skip


@kernel
def first_positions(
    levels, tops, gains, weights, wrong, goal, limits, constrained, fewest_errors,
    rows, sizes, positions, found, mass, covered, errors,
):  # fmt: skip
    """The loosest positions, in the order of the rays, at which a set of rays gains `goal`.

    Goes through the positions of the first ray from loose to tight, then of the second, and so
    on; a position that drops no row more than the one before it is passed over, and so is one
    whose mass is below the goal. With `fewest_errors` all are visited and those of fewest
    errors win; without, the first is taken (then errors are part of the gain already).

    `rows` is (n_rays, n) scratch, `sizes` (n_rays,), `positions` and `found` (n_rays,).
    Returns the error weight of the cover, or -1 if no position gains the goal.
    """
    n_rays = tops.size
    last = n_rays - 1
    n = gains.size
    best = np.int64(-1)
    for i in range(n):
        rows[0, i] = i
    sizes[0] = n
    depth = 0
    positions[0] = 0
    while depth >= 0:
        if depth == last:
            own = levels[last]
            for j in range(tops[last] + 1):
                mass[j] = 0
                covered[j] = 0
                errors[j] = 0
            for at in range(sizes[last]):
                i = rows[last, at]
                level = own[i]
                mass[level] += gains[i]
                covered[level] += weights[i]
                errors[level] += wrong[i]
            total = np.int64(0)
            count = np.int64(0)
            bad = np.int64(0)
            here = -1
            here_errors = np.int64(-1)
            for j in range(tops[last], 0, -1):
                total += mass[j]
                count += covered[j]
                bad += errors[j]
                if total == goal and (not constrained or within(count, bad, limits)):
                    better = here < 0 or not fewest_errors or bad <= here_errors
                    if better:
                        here = j
                        here_errors = bad
            if here > 0 and (best < 0 or here_errors < best):
                best = here_errors
                for at in range(last):
                    found[at] = positions[at]
                found[last] = here
                if not fewest_errors:
                    return best
            depth -= 1
            continue
        # Tighten this ray to its next position that drops a row, and go on to the next ray.
        own = levels[depth]
        position = positions[depth] + 1
        if position > 1:
            # the rows dropped by the step to `position` are those at level `position - 1`
            drops = False
            while position <= tops[depth] and not drops:
                for at in range(sizes[depth]):
                    if own[rows[depth, at]] == position - 1:
                        drops = True
                        break
                if not drops:
                    position += 1
        if position > tops[depth]:
            depth -= 1
            continue
        positions[depth] = position
        picked = 0
        above = np.int64(0)
        for at in range(sizes[depth]):
            i = rows[depth, at]
            if own[i] >= position:
                rows[depth + 1, picked] = i
                picked += 1
                if gains[i] > 0:
                    above += gains[i]
        if above < goal:
            depth -= 1
            continue
        sizes[depth + 1] = picked
        positions[depth + 1] = 0
        depth += 1
    return best


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
