"""Where to cut the positions of an axis, so that few cells are left open.

In a cell, rows of a gain > 0 count from its first position on and rows of a gain < 0 from its
last. So nothing is lost where the rows between the two are first losses, then gains: one position
of the cell covers just the gains. A cut is needed only where a loss follows a gain, and at a
level that holds both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opdt.engines.jit import kernel

Whole = NDArray[np.int64]


def cut_positions(
    levels: NDArray[np.signedinteger], gains: Whole, low: int, high: int, most: int, limit: int
) -> list[int]:
    """The first positions of at most about `limit` intervals of low … high.

    Parameters
    ----------
    levels, gains : (n_rows,)
        Of rows; those that do not reach position `low` do not count.
    most : int
        From where on the gains > 0 add up to no more than this, one interval is enough.
    """
    starts, tail = _starts(levels.astype(np.int64, copy=False), gains, low, high, most)
    if len(starts) > limit:
        starts = starts[(np.arange(limit) * len(starts)) // limit]
    if 0 < tail <= high - low:
        starts = np.append(starts, tail)
    found: list[int] = (low + starts).tolist()
    return found


@kernel(allocates=True)
def _starts(levels: Whole, gains: Whole, low: int, high: int, most: int) -> tuple[Whole, int]:
    """Where intervals must begin for nothing to be lost, and from where on nothing is to be won;
    both counted from `low`.
    """
    width = high - low
    mass = np.zeros(width + 1, np.int64)
    lost = np.zeros(width + 1, np.bool_)
    for row in range(len(levels)):
        at = min(levels[row] - low, width)
        if at >= 0:
            mass[at] += max(gains[row], 0)
            lost[at] |= gains[row] < 0
    tail, left = width + 1, 0
    while tail > 0 and left + mass[tail - 1] <= most:
        tail -= 1
        left += mass[tail]
    starts = np.zeros(width + 2, np.int64)
    n_starts, after_gain = 1, False
    for at in range(min(tail, width)):  # the last position has no row above it
        is_gain = mass[at] > 0
        if lost[at] and (is_gain or after_gain):
            if at + 1 < tail:
                starts[n_starts] = at + 1
                n_starts += 1
            after_gain = False
        elif is_gain:
            after_gain = True
        elif lost[at]:
            after_gain = False
    return starts[:n_starts], tail
