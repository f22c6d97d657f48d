"""Compiled kernels that count the cells of many sets of axes and bound the rules in them.

A *set* of axes is a choice of `k` of them; its *cells* are the combinations of their bins. Along a
ray the bins are numbered from loose to tight, as *places*: a threshold in place `t` covers at most
the rows of the places >= t and at least those of the places >= t + 1. In a place that holds one
value alone no threshold lies, so it covers exactly those >= t + 1. So a rule whose thresholds lie
in some cell gains at most the mass of the loosest such cover less the loss of the tightest.

Nothing here is done per set in Python: one call takes thousands of sets and returns the few
combinations of rays that may hold a better rule than the best known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.jit import kernel
from opdt.engines.search.grid import MISSING, OTHERS, PRESENT, SOME

Whole = NDArray[np.int64]

NEG = -(1 << 62)
DONE, STOPPED, FULL = 0, 1, 2  # how a kernel ended
UP, DOWN, FIRST_SINGLE = 0, 1, 2  # how a set uses an axis: along it, against it, by a single ray
ALL_WAYS = -1  # to use the axes of a set
# The ways that use an axis downwards, of up to six axes: bits b with bit d of b set.
DOWNWARDS = np.array([sum(1 << b for b in range(63) if b >> d & 1) for d in range(6)], np.int64)
# Columns of a record; then follow k rays, k lowest and k highest places, and k places of the best
# rule exactly between bins.
BOUND, LABEL, RIGHT, WRONG, OWNER, HEAD = 0, 1, 2, 3, 4, 5
READY, SINGLES, ENDED = 0, 1, 2  # what `next_rays` has found


class Groups(NamedTuple):
    """Rows by group, and what a unit of weight of each group is worth.

    Rows of group `g` are `starts[g] : starts[g + 1]`; `weights` (n_rows,), or empty where each is
    one. Rules of `labels[p]` gain `plus[p]` for a unit of group `right[p]` and lose `minus[p]` for
    one of group `wrong[p]`; -1 there means all groups but the right one.
    """

    starts: Whole
    weights: Whole
    labels: Whole
    right: Whole
    wrong: Whole
    plus: Whole
    minus: Whole


class Rules(NamedTuple):
    """Which sets of rays may stand together.

    `kinds` (n_rays,) is the kind of each ray, `allowed` (n_kinds ** k,) says which kinds may stand
    together (empty: all may). With `once` no feature is used twice. `open_all` keeps also what is
    decided exactly, because it is still to be looked at.
    """

    kinds: Whole
    n_kinds: int
    allowed: NDArray[np.bool_]
    once: bool
    open_all: bool


class Asked(NamedTuple):
    """What rules must gain, and the limits on their rows that counts can check.

    `need` is the least gain of interest, in the units of `Groups`, where gains may be priced (see
    `records.Task`): a rule of the true gain g has at least `parts` × g + `allowance` of these.
    `plus` and `minus` (n_passes,) are the true gain and loss of a unit of weight. If `limited`,
    rules cover a weight of at least `least`, of which at most `most` is wrong, and the right part
    is at least `numerator` / `denominator`.
    """

    need: int
    plus: Whole
    minus: Whole
    parts: int
    allowance: int
    limited: bool
    least: int
    most: int
    numerator: int
    denominator: int


class Places(NamedTuple):
    """Room for the cells of some rows, in the type that holds their numbers."""

    narrow: NDArray[np.uint16]
    wide: NDArray[np.uint32]

    @classmethod
    def room(cls) -> Places:
        """Room for 512 rows at a time."""
        return cls(np.empty(512, np.uint16), np.empty(512, np.uint32))


class Course(NamedTuple):
    """The rays that use the axes of a set, one after the other, and what is known of them.

    Arrays of one entry for each of `k` axes, or of k + 1 where they are about the axes so far.
    """

    modes: Whole  # (k,) how each axis is used
    chosen: Whole  # (k,) by which ray
    extents: Whole  # (k,) bins of each axis, with that of missing values
    inners: Whole  # (k + 1,) cells of the dimensions done
    outers: Whole  # (k + 1,) cells of the dimensions left
    code: Whole  # (k + 1,) of the kinds of the rays so far
    live: Whole  # (k + 1,) the ways that agree with the rays so far
    kept: Whole  # (k + 1,) ordered dimensions so far
    dims: Whole  # (k,) which those are
    low: Whole  # (k,) the box of the places that reach the need
    high: Whole  # (k,)
    corner: Whole  # (k,) the best rule exactly between bins
    place: Whole  # (k,) the places under way, of the ordered dimensions
    sizes: Whole  # (k,) numbers of their places
    strides: Whole  # (k,)
    loose: Whole  # (k, bins) the loosest places that a threshold in each covers

    @classmethod
    def room(cls, size: int, bins: int) -> Course:
        """Arrays to be filled."""
        own = dict(zip(cls._fields[:-1], np.empty((15, size + 1), np.int64), strict=True))
        return cls(**own, loose=np.empty((size, bins), np.int64))


class ScanScratch(NamedTuple):
    """Arrays of one thread: `cells` (k + 1, size) of a set, `sums` (k, size) of its dimensions."""

    cells: NDArray[np.integer[Any]]
    sums: NDArray[np.integer[Any]]
    covered: Whole  # (channels or more,)
    places: Places
    course: Course

    @classmethod
    def of(cls, size: int, n_cells: int, weight: int, bins: int) -> ScanScratch:
        """Room for sets of so many axes with so many cells in all channels, and so many bins.

        `weight` is that of all rows: where it is small, so are the numbers that hold it.
        """
        dtype = cell_type(weight)
        return cls(
            np.empty((size + 1, n_cells), dtype), np.empty((size, n_cells), dtype),
            np.empty(n_cells, np.int64), Places.room(), Course.room(size, bins),
        )  # fmt: skip

    def holds(self, n_cells: int, bins: int) -> bool:
        """Whether there is room for so many."""
        return bool(self.cells.shape[1] >= n_cells and self.course.loose.shape[1] >= bins)

    @staticmethod
    def n_bytes(size: int, n_cells: int, weight: int) -> int:
        """Bytes that `of` would take."""
        return ((2 * size + 1) * np.dtype(cell_type(weight)).itemsize + 8) * n_cells


def cell_type(weight: int) -> type[np.integer[Any]]:
    """The numbers that hold sums of up to this weight; most tables need one kind, compiled once."""
    return np.int32 if weight < 1 << 31 else np.int64


class Alone(NamedTuple):
    """What the ordered rays of the axes gain by themselves, by pass, direction (UP, DOWN), axis.

    `best` (n_passes, 2, n_axes, bins) is the best gain of a threshold in each place, exactly;
    `wrong` (n_passes, 2, n_axes, bins + 1) the weight of the wrong group in the places from each
    on. Both are empty where they are not of use.
    """

    best: Whole
    wrong: Whole

    @classmethod
    def none(cls) -> Alone:
        """Nothing known."""
        return cls(np.empty((0, 0, 0, 0), np.int64), np.empty((0, 0, 0, 0), np.int64))

    @classmethod
    def room(cls, n_passes: int, n_axes: int, bins: int) -> Alone:
        """Arrays to be filled by `weigh_alone`."""
        shape = (n_passes, 2, n_axes)
        return cls(np.full((*shape, bins), NEG), np.zeros((*shape, bins + 1), np.int64))


class About(NamedTuple):
    """What a scan is about: the axes, the rows, and the rules of interest."""

    grid: Any  # of `grid.Grid`
    alone: Alone
    groups: Groups
    channels: int
    rules: Rules
    asked: Asked


class Counted(NamedTuple):
    """Cells that were counted elsewhere: those of set `s` begin at `starts[s]`; empty if none."""

    cells: Whole
    starts: Whole

    @classmethod
    def none(cls) -> Counted:
        """Nothing is counted yet."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))


@kernel(allocates=True)
def weigh_alone(
    codes: Any, order: Any, groups: Any, edges: Any, n_values: int, axis: int, alone: Any
) -> None:
    """Fill the entries of one axis, whose feature has these `codes` and bins from these `edges`."""
    n_groups = groups.starts.size - 1
    sums = np.zeros((n_groups + 1, n_values + 1), np.int64)
    for g in range(n_groups):
        for i in range(groups.starts[g], groups.starts[g + 1]):
            code = codes[order[i]]
            if code >= 0:
                weight = groups.weights[i] if groups.weights.size > 0 else np.int64(1)
                sums[g, code] += weight
                sums[n_groups, code] += weight
    n_bins = edges.size - 1
    for p in range(groups.labels.size):
        plus, minus, g = groups.plus[p], groups.minus[p], groups.right[p]
        for down in range(2):
            best, lost = alone.best[p, down, axis], alone.wrong[p, down, axis]
            right, wrong = np.int64(0), np.int64(0)
            # from the tightest threshold to the loosest; `c` is the first code that passes (>=),
            # or the last one (<)
            for step in range(n_values):
                c = step if down else n_values - 1 - step
                right += sums[g, c]
                other = sums[n_groups, c] - sums[g, c]
                wrong += other if groups.wrong[p] < 0 else sums[groups.wrong[p], c]
                # the place of the threshold, and whether a bin is complete here
                b = np.searchsorted(edges, c, side="right") - 1
                if down:
                    if c + 1 == edges[b + 1]:
                        lost[n_bins - 1 - b] = wrong
                    first = np.searchsorted(edges, c + 1, side="right") - 1
                    t = n_bins - 1 - first
                else:
                    if c == edges[b]:
                        lost[b] = wrong
                    t = np.searchsorted(edges, c, side="left") - 1
                if step < n_values - 1 and 0 <= t < n_bins:
                    best[t] = max(best[t], plus * right - minus * wrong)


def n_channels(groups: Groups) -> int:
    """Arrays of counts: one for each group, and one for all together where it is needed."""
    return len(groups.starts) - 1 + int((groups.wrong < 0).any())


@kernel(inner=True)
def add_rows(
    codes: Any, axes: Any, extents: Any, begin: int, end: int, weights: Any, place: Any, own: Any
) -> None:
    """Add the rows from `begin` to `end` to their cells.

    The cells of some rows are worked out together, dimension by dimension, which the compiler
    turns into vector instructions; `place` is scratch for them.
    """
    for start in range(begin, end, place.size):
        stop = min(end, start + place.size)
        size = stop - start
        last = codes[axes[axes.size - 1], start:stop]
        for i in range(size):
            place[i] = last[i]
        for d in range(axes.size - 2, -1, -1):
            one, extent = codes[axes[d], start:stop], extents[d]
            for i in range(size):
                place[i] = place[i] * extent + one[i]
        if weights.size > 0:
            heavy = weights[start:stop]
            for i in range(size):
                own[place[i]] += heavy[i]
        else:
            for i in range(size):
                own[place[i]] += 1


@kernel(inner=True)
def count_set(
    about: Any, axes: Any, s: int, counted: Any, extents: Any, places: Any, out: Any
) -> None:
    """Weight of each group in each cell of a set, into `out` (channels × n_cells).

    Neighbours along the first axis lie side by side. Cells that were counted elsewhere are copied.
    """
    groups = about.groups
    n_cells = 1
    for d in range(axes.size):
        n_cells *= extents[d]
    n_groups = groups.starts.size - 1
    if counted.starts.size > 0:
        known = counted.cells[counted.starts[s] :]
        for at in range(n_groups * n_cells):
            out[at] = known[at]
    else:
        for at in range(n_groups * n_cells):
            out[at] = 0
        for g in range(n_groups):
            own = out[g * n_cells : (g + 1) * n_cells]
            first, last = groups.starts[g], groups.starts[g + 1]
            codes, weights = about.grid.codes, groups.weights
            if n_cells <= 1 << 16:
                add_rows(codes, axes, extents, first, last, weights, places.narrow, own)
            else:
                add_rows(codes, axes, extents, first, last, weights, places.wide, own)
    if about.channels > n_groups:
        total = out[n_groups * n_cells : (n_groups + 1) * n_cells]
        for at in range(n_cells):
            total[at] = 0
        for g in range(n_groups):
            for at in range(n_cells):
                total[at] += out[g * n_cells + at]


@kernel(inner=True)
def use_ordered(cells: Any, channels: int, outer: int, extent: int, inner: int, n_bins: int,
                down: bool, out: Any) -> None:  # fmt: skip
    """Turn one dimension into places of an ordered ray, each the sum of itself and the tighter.

    `cells` is (channels, outer, extent, inner), `out` (channels, outer, n_bins + 1, inner); the
    place behind the tightest covers nothing.
    """
    for block in range(channels * outer):
        source = cells[block * extent * inner : (block + 1) * extent * inner]
        target = out[block * (n_bins + 1) * inner : (block + 1) * (n_bins + 1) * inner]
        if inner == 1:
            total = np.int64(0)
            target[n_bins] = 0
            for u in range(n_bins):
                tight = np.uintp(n_bins - 1 - u)
                total += source[u] if down else source[tight]
                target[tight] = total
            continue
        for at in range(n_bins * inner, (n_bins + 1) * inner):
            target[at] = 0
        for t in range(n_bins - 1, -1, -1):
            b = n_bins - 1 - t if down else t
            here = target[t * inner : (t + 1) * inner]
            tighter = target[(t + 1) * inner : (t + 2) * inner]
            own = source[b * inner : (b + 1) * inner]
            for at in range(inner):
                here[at] = tighter[at] + own[at]


@kernel(inner=True)
def sum_present(
    cells: Any, channels: int, outer: int, extent: int, inner: int, n_bins: int, out: Any
) -> None:
    """Sums over the present bins of one dimension, into `out` (channels, outer, inner)."""
    for block in range(channels * outer):
        source = cells[block * extent * inner : (block + 1) * extent * inner]
        target = out[block * inner : (block + 1) * inner]
        for at in range(inner):
            target[at] = 0
        for b in range(n_bins):
            own = source[b * inner : (b + 1) * inner]
            for at in range(inner):
                target[at] += own[at]


@kernel(inner=True)
def use_single(
    cells: Any, sums: Any, channels: int, outer: int, extent: int, inner: int, n_bins: int,
    how: int, bin_: int, some: Any, out: Any,
) -> None:  # fmt: skip
    """Keep what a single ray covers of one dimension, into `out` (channels, outer, inner)."""
    for block in range(channels * outer):
        source = cells[block * extent * inner : (block + 1) * extent * inner]
        target = out[block * inner : (block + 1) * inner]
        present = sums[block * inner : (block + 1) * inner]
        b = n_bins if how == MISSING else bin_
        for at in range(inner):
            target[at] = present[at] if how in (PRESENT, OTHERS) else 0
        if how == SOME:
            for b in some:
                own = source[b * inner : (b + 1) * inner]
                for at in range(inner):
                    target[at] += own[at]
        elif how != PRESENT and b < extent:  # else no row is missing
            own = source[b * inner : (b + 1) * inner]
            sign = -1 if how == OTHERS else 1
            for at in range(inner):
                target[at] += sign * own[at]


@kernel(inner=True)
def may_stand(grid: Any, axes: Any, modes: Any, depth: int, once: bool) -> bool:
    """Whether the ray at `depth` may stand beside those before it on the same feature.

    Two rays of one feature imply or contradict each other, but for the two ends of an interval and
    for two levels that are excluded.
    """
    for e in range(depth):
        if grid.features[axes[e]] != grid.features[axes[depth]]:
            continue
        if once:
            return False
        same = axes[e] == axes[depth]
        if modes[e] < FIRST_SINGLE or modes[depth] < FIRST_SINGLE:
            if not (same and modes[e] == UP and modes[depth] == DOWN):
                return False
            continue
        one = grid.first[axes[e]] + modes[e] - FIRST_SINGLE
        two = grid.first[axes[depth]] + modes[depth] - FIRST_SINGLE
        if grid.single_how[one] != OTHERS or grid.single_how[two] != OTHERS:
            return False
        if same and modes[e] >= modes[depth]:
            return False
    return True


@kernel(inner=True)
def ray_of(grid: Any, axis: int, mode: int) -> Any:
    """The ray that uses an axis in a mode, -1 where there is none."""
    if mode >= FIRST_SINGLE:
        return grid.single_ray[grid.first[axis] + mode - FIRST_SINGLE]
    return grid.up[axis] if mode == UP else grid.down[axis]


@kernel(inner=True)
def begin_course(grid: Any, axes: Any, ways: Any, begin: int, course: Any) -> None:
    """No ray is chosen yet. With `begin` 1 the bins of the first axis stay as they are."""
    course.modes[begin], course.code[begin], course.live[begin] = -1, 0, ways
    course.inners[begin], course.kept[begin], course.outers[begin] = 1, 0, 1
    for d in range(axes.size):
        course.extents[d] = grid.n_bins[axes[d]] + grid.missing[axes[d]]
        if d < begin:
            course.inners[begin] = course.extents[d]
        else:
            course.outers[begin] *= course.extents[d]


@kernel(inner=True)
def use_axis(about: Any, axis: int, depth: int, course: Any, scratch: Any) -> None:
    """The cells that the ray chosen for an axis covers, into `scratch.cells[depth + 1]`."""
    grid, channels, mode = about.grid, about.channels, course.modes[depth]
    cells, out = scratch.cells[depth], scratch.cells[depth + 1]
    n_bins, extent, inner = grid.n_bins[axis], course.extents[depth], course.inners[depth]
    outer, at = course.outers[depth] // extent, course.kept[depth]
    course.outers[depth + 1] = outer
    if mode < FIRST_SINGLE:
        use_ordered(cells, channels, outer, extent, inner, n_bins, mode == DOWN, out)
        course.inners[depth + 1] = inner * (n_bins + 1)
        course.dims[at] = depth
        course.kept[depth + 1] = at + 1
        for t in range(n_bins):
            b = n_bins - 1 - t if mode == DOWN else t
            course.loose[at, t] = t + grid.lone[axis, b]
    else:
        single = grid.first[axis] + mode - FIRST_SINGLE
        some = grid.some[grid.some_first[single] : grid.some_first[single + 1]]
        use_single(
            cells, scratch.sums[depth], channels, outer, extent, inner, n_bins,
            grid.single_how[single], grid.single_bin[single], some, out,
        )  # fmt: skip
        course.inners[depth + 1] = inner
        course.kept[depth + 1] = at


@kernel(inner=True)
def may_gain(groups: Any, cells: Any, outer: int, step: int, width: int, need: int) -> bool:
    """Whether some label has the mass: the loosest places of the dimensions done lie first."""
    for p in range(groups.labels.size):
        mass = np.int64(0)
        for at in range(outer):
            first = groups.right[p] * outer * step + at * step
            for b in range(width):
                mass += cells[first + b]
        if mass * groups.plus[p] >= need:
            return True
    return False


@kernel(inner=True)
def next_rays(
    about: Any, axes: Any, ways: Any, begin: int, depth: int, course: Any, scratch: Any
) -> int:
    """Go on, from a depth, to the next rays on all axes whose mass may be enough.

    `ways` says which sets are of interest: bit b stands for the set that uses the axis d downwards
    exactly if bit d of b is set; ALL_WAYS stands for all sets.

    Returns READY, with the rays and their cells in course and scratch; SINGLES, where all single
    rays of the last axis come next and stand beside single rays alone; or ENDED.
    """
    grid, rules, k = about.grid, about.rules, axes.size
    modes, live = course.modes, course.live
    width = grid.n_bins[axes[0]] if begin == 1 else np.int64(1)
    while depth >= begin:
        axis = axes[depth]
        n_modes = FIRST_SINGLE + grid.first[axis + 1] - grid.first[axis]
        extent, inner = course.extents[depth], course.inners[depth]
        if modes[depth] < 0 and n_modes > FIRST_SINGLE:
            sum_present(
                scratch.cells[depth], about.channels, course.outers[depth] // extent, extent, inner,
                grid.n_bins[axis], scratch.sums[depth],
            )  # fmt: skip
        modes[depth] += 1
        mode = modes[depth]
        alone = depth == k - 1 and inner == 1 and begin == 0 and ways == ALL_WAYS
        if mode == FIRST_SINGLE and mode < n_modes and alone:
            return SINGLES
        if mode >= n_modes:
            depth -= 1
            continue
        ray = ray_of(grid, axis, mode)
        if ray < 0 or not may_stand(grid, axes, modes, depth, rules.once):
            continue
        if ways != ALL_WAYS:
            if mode >= FIRST_SINGLE:
                continue
            down = DOWNWARDS[depth]
            live[depth + 1] = live[depth] & (down if mode == DOWN else ~down)
            if live[depth + 1] == 0:
                continue
        course.chosen[depth] = ray
        course.code[depth + 1] = course.code[depth] * rules.n_kinds + rules.kinds[ray]
        asks = depth == k - 1 and rules.allowed.size > 0 and begin == 0
        if asks and not rules.allowed[course.code[k]]:
            continue
        use_axis(about, axis, depth, course, scratch)
        outer, step = course.outers[depth + 1], course.inners[depth + 1]
        out = scratch.cells[depth + 1]
        if not may_gain(about.groups, out, outer, step, width, about.asked.need):
            continue
        if depth == k - 1:
            return READY
        depth += 1
        modes[depth] = -1
    return ENDED


@kernel(inner=True)
def bound_rays(
    about: Any, axes: Any, s: int, course: Any, cells: Any, records: Any, n_records: int
) -> int:
    """Bound the rules of the rays chosen, whose cells are given, for each label.

    Writes a record where they may gain what is asked: the bound and the box of the places that
    reach it (bound NEG where all that may is decided), and the weights (RIGHT, WRONG) of the best
    rule exactly between bins, -1 where none gains the need within the limits. Returns the new
    number of records, or -1 where they do not fit.
    """
    grid, groups, k = about.grid, about.groups, axes.size
    # One ordered ray beside nothing but excluded levels: what it gains alone bounds it, too.
    ordered = -1
    if about.alone.best.size > 0 and course.kept[k] == 1:
        ordered = course.dims[0]
        for d in range(k):
            at = grid.first[axes[d]] + course.modes[d] - FIRST_SINGLE
            if d != ordered and grid.single_how[at] != OTHERS:
                ordered = -1
                break
    for p in range(groups.labels.size):
        bound, right, wrong = bound_places(about, p, axes, ordered, course, cells)
        if bound == NEG and right < 0:
            continue
        if n_records >= records.shape[0]:
            return -1
        record = records[n_records]
        record[BOUND], record[LABEL], record[OWNER] = bound, groups.labels[p], s
        record[RIGHT], record[WRONG] = right, wrong
        for d in range(k):
            record[HEAD + d] = course.chosen[d]
            record[HEAD + k + d] = course.low[d]
            record[HEAD + 2 * k + d] = course.high[d]
            record[HEAD + 3 * k + d] = course.corner[d]
        n_records += 1
    return n_records


@kernel(inner=True)
def bound_singles(
    about: Any, axes: Any, s: int, course: Any, scratch: Any, records: Any, n_records: int
) -> int:
    """The single rays of the last axis, beside single rays on all others: each is one rule.

    What `bound_rays` does for every ray, without copying cells. Returns the number of records, or
    -1 where they do not fit.
    """
    grid, groups, rules, asked = about.grid, about.groups, about.rules, about.asked
    channels, covered, last = about.channels, scratch.covered, axes.size - 1
    axis = axes[last]
    n_bins, extent = grid.n_bins[axis], course.extents[last]
    cells, sums, code = scratch.cells[last], scratch.sums[last], course.code[last] * rules.n_kinds
    for single in range(grid.first[axis], grid.first[axis + 1]):
        course.modes[last] = FIRST_SINGLE + single - grid.first[axis]
        ray, how = grid.single_ray[single], grid.single_how[single]
        if not may_stand(grid, axes, course.modes, last, rules.once):
            continue
        if rules.allowed.size > 0 and not rules.allowed[code + rules.kinds[ray]]:
            continue
        b = n_bins if how == MISSING else grid.single_bin[single]
        for c in range(channels):
            covered[c] = 0
            if how == SOME:
                for at in range(grid.some_first[single], grid.some_first[single + 1]):
                    covered[c] += cells[c * extent + grid.some[at]]
                continue
            own = np.int64(0)
            if how != PRESENT and b < extent:
                own = cells[c * extent + b]
            covered[c] = sums[c] - own if how in (OTHERS, PRESENT) else own
        for p in range(groups.labels.size):
            right = covered[groups.right[p]]
            if right * groups.plus[p] < asked.need:
                continue
            but_right = groups.wrong[p] < 0
            lost = covered[channels - 1] - right if but_right else covered[groups.wrong[p]]
            gain = groups.plus[p] * right - groups.minus[p] * lost
            if gain < asked.need or not meets(right, lost, asked):
                continue
            if n_records >= records.shape[0]:
                return -1
            record = records[n_records]
            record[BOUND] = gain if rules.open_all else NEG
            record[LABEL], record[RIGHT], record[WRONG] = groups.labels[p], right, lost
            record[OWNER] = s
            for d in range(last + 1):
                record[HEAD + d] = ray if d == last else course.chosen[d]
            for at in range(HEAD + last + 1, HEAD + 4 * (last + 1)):
                record[at] = -1
            n_records += 1
    return n_records


@kernel(inner=True)
def meets(right: Any, wrong: Any, asked: Any) -> bool:
    """Whether rows of these weights are within the limits."""
    return not asked.limited or (
        right + wrong >= asked.least
        and wrong <= asked.most
        and right * asked.denominator >= (right + wrong) * asked.numerator
    )


@kernel(inner=True)
def most_within(right: Any, wrong: Any, most_wrong: Any, p: int, asked: Any) -> Any:
    """What rules within the limits gain at most, in the units of `Groups`; NEG where none are.

    They cover at most `right` of the right weight, at least `wrong` and at most `most_wrong` of
    the other: the more of the right and the less of the other, the more precise they are. Where
    the right weight alone is too little, the other has to make up for it.
    """
    if (
        right + most_wrong < asked.least
        or wrong > asked.most
        or right * asked.denominator < (right + wrong) * asked.numerator
    ):
        return NEG
    gain = asked.plus[p] * right - asked.minus[p] * max(wrong, asked.least - right)
    return asked.parts * gain + asked.allowance


@kernel(inner=True)
def lay_out(grid: Any, axes: Any, k: int, first: Any, course: Any) -> None:
    """Places, their numbers and strides, of the `k` ordered dimensions; all at their loosest."""
    for j in range(k):
        course.place[j] = 0
        course.strides[j] = first
        course.sizes[j] = grid.n_bins[axes[course.dims[j]]]
        first *= course.sizes[j] + 1


@kernel(inner=True)
def bound_places(about: Any, p: int, axes: Any, ordered: int, course: Any, cells: Any) -> Any:
    """The largest bound over all places of the ordered dimensions, and the best exact corner.

    A corner's gain is its true one, and it is within the limits. `course.low` and `high` receive
    the box of the places alive, `corner` the loosest places that the best corner covers (-1 in
    the other dimensions). `ordered` is the one ordered dimension that is known alone, or -1.
    """
    groups, asked, alone, grid = about.groups, about.asked, about.alone, about.grid
    k, open_all = axes.size, about.rules.open_all
    n_dims, dims, loose = course.kept[k], course.dims, course.loose
    low, high, corner = course.low, course.high, course.corner
    place, sizes, strides = course.place, course.sizes, course.strides
    size = course.outers[k] * course.inners[k]
    plus, minus = groups.plus[p], groups.minus[p]
    right = cells[groups.right[p] * size : (groups.right[p] + 1) * size]
    but_right = groups.wrong[p] < 0
    at_wrong = about.channels - 1 if but_right else groups.wrong[p]
    wrong = cells[at_wrong * size : (at_wrong + 1) * size]
    need, own_plus, own_minus = asked.need, asked.plus[p], asked.minus[p]
    bound, best = NEG, (need - asked.allowance) // asked.parts - 1
    best_right, best_wrong = np.int64(-1), np.int64(-1)
    for d in range(k):
        low[d], high[d], corner[d] = -1, -1, -1
    if n_dims == 0:
        lost = wrong[0] - right[0] if but_right else wrong[0]
        gain = plus * right[0] - minus * lost
        if gain >= need and meets(right[0], lost, asked):
            best_right, best_wrong = np.int64(right[0]), np.int64(lost)
            if open_all:
                bound = gain
        return bound, best_right, best_wrong
    lay_out(grid, axes, n_dims, np.int64(1), course)
    down = 1 if ordered >= 0 and course.modes[ordered] == DOWN else 0
    n_first = sizes[0]
    from_first = loose[0]
    while True:
        from_loose, from_tight = np.int64(0), np.int64(0)
        sure, real, within = True, True, True
        for j in range(1, n_dims):
            t = place[j]
            from_loose += loose[j, t] * strides[j]
            from_tight += (t + 1) * strides[j]
            lone = loose[j, t] > t
            sure = sure and lone
            real = real and t + 1 < sizes[j]
            within = within and not (lone and t + 1 == sizes[j])
        first_mass = plus * right[np.uintp(from_loose + from_first[0])]
        if within and first_mass >= need:
            for t in range(n_first):
                lone = from_first[t] > t
                if lone and t + 1 == n_first:
                    continue
                mass = plus * right[np.uintp(from_loose + from_first[t])]
                if mass < need:
                    break
                tight = np.uintp(from_tight + t + 1)
                lost = wrong[tight] - right[tight] if but_right else wrong[tight]
                here = mass - minus * lost
                if ordered >= 0 and here >= need:
                    # the excluded rows are worth no more than the loss among them
                    own = np.uintp(from_first[t])
                    kept_wrong = wrong[own] - right[own] if but_right else wrong[own]
                    dropped = alone.wrong[p, down, axes[ordered], own] - kept_wrong
                    here = min(here, alone.best[p, down, axes[ordered], t] + minus * dropped)
                if asked.limited and here >= need:
                    own = np.uintp(from_loose + from_first[t])
                    most_wrong = wrong[own] - right[own] if but_right else wrong[own]
                    here = min(here, most_within(right[own], lost, most_wrong, p, asked))
                if here < need:
                    continue
                if real and t + 1 < n_first and meets(right[tight], lost, asked):
                    gain = own_plus * right[tight] - own_minus * lost
                    # of equal gains the one with fewer errors is worth more
                    if gain > best or (gain == best and lost < best_wrong):
                        best = gain
                        best_right, best_wrong = right[tight], lost
                        corner[dims[0]] = t + 1
                        for j in range(1, n_dims):
                            corner[dims[j]] = place[j] + 1
                if sure and lone and not open_all:
                    continue
                place[0] = t
                for j in range(n_dims):
                    d = dims[j]
                    if bound == NEG:
                        low[d] = place[j]
                        high[d] = place[j]
                    else:
                        low[d] = min(low[d], place[j])
                        high[d] = max(high[d], place[j])
                bound = max(bound, here)
        j = 1
        # What has too little mass at a place has no more at tighter ones.
        if n_dims > 1 and first_mass < need and within:
            place[1] = sizes[1] - 1
        while j < n_dims:
            place[j] += 1
            if place[j] < sizes[j]:
                break
            place[j] = 0
            j += 1
        if j >= n_dims:
            return bound, best_right, best_wrong


@kernel
def scan_sets(
    about: Any, sets: Any, ways: Any, begin: int, counted: Any, control: Any, scratch: Any,
    records: Any, state: Any,
) -> int:  # fmt: skip
    """Count and bound the sets of axes from `state[0]` on.

    `state` is [next set, records written]; `sets` (n_sets, k) ascending axes, `ways` (n_sets,) how
    they are used. Returns DONE, STOPPED (by `control[1]`), or FULL where the records of the next
    set did not fit any more.

    With `begin` 1 instead of 0, both ordered rays of the first axis are used together; `records`
    has a row for each set then, and nothing is written but the largest bound.
    """
    course = scratch.course
    last = sets.shape[1] - 1
    while state[0] < sets.shape[0]:
        if control[1] != 0:
            return STOPPED
        s = state[0]
        axes = sets[s]
        begin_course(about.grid, axes, ways[s], begin, course)
        count_set(about, axes, s, counted, course.extents, scratch.places, scratch.cells[begin])
        if begin == 1:
            records[s, BOUND] = NEG
        written = state[1]
        found = next_rays(about, axes, ways[s], begin, begin, course, scratch)
        while found != ENDED:
            if found == SINGLES:
                written = bound_singles(about, axes, s, course, scratch, records, written)
            elif begin == 0:
                out = scratch.cells[last + 1]
                written = bound_rays(about, axes, s, course, out, records, written)
            else:
                for p in range(about.groups.labels.size):
                    bound = bound_interval(about, p, axes, course, scratch.cells[last + 1])
                    records[s, BOUND] = max(records[s, BOUND], bound)
            if written < 0:
                return FULL
            found = next_rays(about, axes, ways[s], begin, last, course, scratch)
        state[1] = written
        state[0] += 1
    return DONE


@kernel(inner=True)
def bound_interval(about: Any, p: int, axes: Any, course: Any, cells: Any) -> Any:
    """Bound the rules of an interval on the first axis, over all places of the others.

    With the thresholds of the other rays in some places, let R and W be the sums over the first
    bins of the first axis, of the right weight they cover at most and of the wrong weight they
    cover at least. An interval from bin i to bin j > i covers at most the bins i … j and at least
    those between, so it gains at most

        plus × (R(j + 1) - R(i)) - minus × (W(j) - W(i + 1)),

    a difference of what depends on j and what depends on i: its largest is found in one go.
    """
    groups, grid, need = about.groups, about.grid, about.asked.need
    n_dims, loose = course.kept[axes.size], course.loose
    place, strides = course.place, course.strides
    size = course.outers[axes.size] * course.inners[axes.size]
    plus, minus = groups.plus[p], groups.minus[p]
    right = cells[groups.right[p] * size : (groups.right[p] + 1) * size]
    but_right = groups.wrong[p] < 0
    at_wrong = about.channels - 1 if but_right else groups.wrong[p]
    wrong = cells[at_wrong * size : (at_wrong + 1) * size]
    n_bins = grid.n_bins[axes[0]]
    lay_out(grid, axes, n_dims, course.extents[0], course)
    best = NEG
    while True:
        from_loose, from_tight = np.int64(0), np.int64(0)
        for j in range(n_dims):
            from_loose += loose[j, place[j]] * strides[j]
            from_tight += (place[j] + 1) * strides[j]
        most = right[from_loose : from_loose + n_bins]
        least = wrong[from_tight : from_tight + n_bins]
        least_right = right[from_tight : from_tight + n_bins]
        mass = np.int64(0)
        for b in range(n_bins):
            mass += most[b]
        hopeful = plus * mass >= need
        if hopeful:
            sum_right, sum_wrong = np.int64(0), np.int64(0)
            before = np.int64(1) << 62
            for b in range(n_bins):
                own = plus * most[b]
                best = max(best, own, own + sum_right - sum_wrong - before)  # ends here
                lost = minus * (least[b] - least_right[b] if but_right else least[b])
                sum_wrong += lost
                before = min(before, sum_right - sum_wrong)  # begins here
                sum_right += own
        j = 0
        # What has too little mass at a place has no more at tighter ones.
        if n_dims > 0 and not hopeful:
            place[0] = course.sizes[0] - 1
        while j < n_dims:
            place[j] += 1
            if place[j] < course.sizes[j]:
                break
            place[j] = 0
            j += 1
        if j >= n_dims:
            return best if best >= need else NEG
