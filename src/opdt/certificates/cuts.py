"""Where to cut the positions of an axis, so that few cells are left open.

In a cell, rows of a gain > 0 count from its first position on and rows of a gain < 0 from its
last. So nothing is lost where the rows between the two are first losses, then gains: one position
of the cell covers just the gains. A cut is needed only where a loss follows a gain, and at a
level that holds both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]


def cut_positions(
    levels: Whole, gains: Whole, low: int, high: int, most: int, limit: int
) -> list[int]:
    """The first positions of at most about `limit` intervals of low … high.

    Parameters
    ----------
    levels, gains : (n_rows,)
        Of rows; those that do not reach position `low` do not count.
    most : int
        From where on the gains > 0 add up to no more than this, one interval is enough.
    """
    width, reach = high - low, levels >= low
    levels, gains = levels[reach], gains[reach]
    at = np.minimum(levels - low, width)
    is_gain = gains > 0
    mass = np.bincount(at[is_gain], gains[is_gain], width + 1)
    lost = np.bincount(at[gains < 0], minlength=width + 1) > 0
    hopeless = np.cumsum(mass[::-1])[::-1] <= most
    tail = int(np.argmax(hopeless)) if hopeless.any() else width + 1
    kind = (mass > 0) + 2 * lost[: width + 1]
    seen = np.flatnonzero(kind[: min(tail, width)])  # the last position has no row above it
    kinds = kind[seen]
    after = np.append(0, kinds[:-1])
    breaks = seen[(kinds == 3) | ((kinds == 2) & (after == 1))] + 1
    starts = np.append(0, breaks[breaks < tail])
    if len(starts) > limit:
        starts = starts[(np.arange(limit) * len(starts)) // limit]
    if 0 < tail <= width:
        starts = np.append(starts, tail)
    return (low + starts).tolist()
