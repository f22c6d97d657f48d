"""Compiled kernels that bound pairs of axes by bits: for wide tables, and for few-valued columns.

An axis of `B` bins is kept as `B` rows of bits: bit `i` of row `s` says that table row `i` lies in
a bin >= s (row 0: that its value is present). The rows that two axes cover together are counted by
`and` and `popcount`. One axis is held against a strip of others at a time, side by side in memory,
so that the compiler can work on several of them with each instruction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.jit import kernel
from opdt.engines.search.kernels import popcount

STRIP = 64  # axes held against one at a time
DONE, STOPPED, FULL = 0, 1, 2


class BitAxes(NamedTuple):
    """Axes of the same number of bins, as bits.

    `words` (n_bins, n_words, n_axes) with the rows of the first group in the first `split` words;
    `counts` (n_bins, 2, n_axes) rows of each group in the bins >= s. `lone` says that every bin of
    every axis holds one value, `missing` that some axis lacks some value. `axes` (n_axes,) are
    their numbers.
    """

    words: NDArray[np.uint64]
    split: int
    counts: NDArray[np.int64]
    lone: bool
    missing: bool
    axes: NDArray[np.int64]


def exact_type(n_rows: int, largest: int) -> type[np.floating]:
    """A type in which sums of so many numbers of at most this size are exact."""
    if n_rows * largest < 1 << 24:
        return np.float32
    if n_rows * largest < 1 << 53:
        return np.float64
    raise OverflowError("counts are too large for bits")


@kernel
def pack_axis(codes: Any, n_bins: int, split: int, starts: Any, words: Any, counts: Any) -> None:
    """The bits of one axis into `words` (n_bins, n_words) and its counts into `counts` (n_bins, 2).

    `codes` (n_rows,) are bins, the rows of the first group first (`starts` as in `Groups`); a bin
    of `n_bins` or more stands for a missing value.
    """
    words[:] = 0
    counts[:] = 0
    for g in range(2):
        for i in range(starts[g], starts[g + 1]):
            code = codes[i]
            if code >= n_bins:
                continue
            at = i - starts[g]
            word = (at >> 6) + (split if g == 1 else 0)
            bit = np.uint64(1) << np.uint64(at & 63)
            for s in range(code + 1):
                words[s, word] |= bit
                counts[s, g] += 1


@kernel(inner=True)
def count_pairs(one: Any, a: int, two: Any, start: int, size: int, sums: Any, out: Any) -> None:
    """Rows of each group that bins >= i of axis `a` and bins >= j of others hold together.

    `out` (2, B1 + 1, B2 + 1, STRIP) receives the counts for the axes from `start` on; the bins
    behind the last hold nothing.
    """
    b1, b2 = one.words.shape[0], two.words.shape[0]
    n_words = one.words.shape[1]
    for g in range(2):
        low = 0 if g == 0 else one.split
        high = one.split if g == 0 else n_words
        for i in range(b1 + 1):
            for j in range(b2 + 1):
                own = out[g, i, j]
                if i == b1 or j == b2:
                    for lane in range(size):
                        own[lane] = 0
                elif i == 0 and not one.missing:
                    for lane in range(size):
                        own[lane] = two.counts[j, g, start + lane]
                elif j == 0 and not two.missing:
                    for lane in range(size):
                        own[lane] = one.counts[i, g, a]
                else:
                    for lane in range(size):
                        sums[lane] = 0
                    for w in range(low, high):
                        word = one.words[i, w, a]
                        if word == 0:
                            continue
                        others = two.words[j, w, start : start + size]
                        for lane in range(size):
                            sums[lane] += popcount(word & others[lane])
                    for lane in range(size):
                        own[lane] = sums[lane]


@kernel(inner=True)
def covered(counts: Any, b1: int, b2: int, down1: int, down2: int, i: int, j: int, size: int,
            out: Any) -> None:  # fmt: skip
    """Rows covered at place `i` of one ray and `j` of another, for a strip of axes.

    Places run from loose to tight: along the bins, or against them where `down` is set.
    """
    if down1 == 0 and down2 == 0:
        own = counts[i, j]
        for lane in range(size):
            out[lane] = own[lane]
    elif down1 == 1 and down2 == 0:
        whole, rest = counts[0, j], counts[b1 - i, j]
        for lane in range(size):
            out[lane] = whole[lane] - rest[lane]
    elif down1 == 0:
        whole, rest = counts[i, 0], counts[i, b2 - j]
        for lane in range(size):
            out[lane] = whole[lane] - rest[lane]
    else:
        whole, rest = counts[0, 0], counts[b1 - i, b2 - j]
        first, second = counts[b1 - i, 0], counts[0, b2 - j]
        for lane in range(size):
            out[lane] = whole[lane] - first[lane] - second[lane] + rest[lane]


@kernel(allocates=True)
def scan_pairs(
    one: Any, two: Any, same: bool, begin: int, end: int, groups: Any, need: int, control: Any,
    counts: Any, right: Any, wrong: Any, found: Any, bounds: Any, state: Any,
) -> int:  # fmt: skip
    """Pairs of axes on which some rule may gain `need`.

    Axes `begin` to `end` of `one` are held against all of `two` (behind them, where both are the
    `same`). `counts` (2, B1 + 1, B2 + 1, STRIP), `right` and `wrong` ((B1 + 1) × (B2 + 1),
    STRIP) are scratch. Into `found` (capacity, 2) go the numbers of the axes, and into `bounds`
    (capacity,) a bound on what they gain. `state` is [next axis, next strip, pairs found].

    Counts are held as floating-point numbers of a type that holds all sums and products as whole
    numbers exactly (`exact_type`): vector instructions multiply these, and not wide integers.
    """
    b1, b2 = one.words.shape[0], two.words.shape[0]
    step1, step2 = (0 if one.lone else 1), (0 if two.lone else 1)
    n_two = two.words.shape[2]
    upper = np.empty(STRIP, counts.dtype)
    sums = np.empty(STRIP, np.int64)
    plus, minus = np.empty(2, counts.dtype), np.empty(2, counts.dtype)
    for p in range(groups.labels.size):
        plus[p], minus[p] = groups.plus[p], groups.minus[p]
    while state[0] < end:
        a = state[0]
        if state[1] < 0:
            state[1] = (a // STRIP) * STRIP if same else 0
        while state[1] < n_two:
            if control[1] != 0:
                return STOPPED
            start = state[1]
            size = min(STRIP, n_two - start)
            if state[2] + size > bounds.size:
                return FULL
            count_pairs(one, a, two, start, size, sums, counts)
            for lane in range(size):
                upper[lane] = -np.inf
            for way in range(4):
                down1, down2 = way & 1, way >> 1
                for i in range(b1 + 1):
                    for j in range(b2 + 1):
                        at = i * (b2 + 1) + j
                        covered(counts[0], b1, b2, down1, down2, i, j, size, right[at])
                        covered(counts[1], b1, b2, down1, down2, i, j, size, wrong[at])
                for p in range(groups.labels.size):
                    price, cost = plus[p], minus[p]
                    first = right if groups.right[p] == 0 else wrong
                    other = wrong if groups.right[p] == 0 else right
                    for i in range(1 - step1, b1):
                        for j in range(1 - step2, b2):
                            loose = first[i * (b2 + 1) + j]
                            tight = other[(i + step1) * (b2 + 1) + j + step2]
                            for lane in range(size):
                                bound = price * loose[lane] - cost * tight[lane]
                                upper[lane] = max(upper[lane], bound)
            for lane in range(size):
                if upper[lane] >= need and (not same or start + lane > a):
                    found[state[2], 0] = one.axes[a]
                    found[state[2], 1] = two.axes[start + lane]
                    bounds[state[2]] = np.int64(upper[lane])
                    state[2] += 1
            state[1] += STRIP
        state[1] = -1
        state[0] += 1
    return DONE
