"""Compiled kernel that bounds two ordered rays by what thresholds inside a bin can add.

Each axis is cut into `C` bins, and each bin into `S` parts. A rule whose thresholds lie in the
places t and u covers

* every row of the tighter places of both rays: their gain is known exactly;
* of the strip of place t (its rows in the tighter places of the other ray) a suffix of its parts
  and some rows of one part: at most the best suffix with the mass of the part before it;
* the same of the strip of place u;
* of the rows in both places at most the mass.

The first count has the parts of one axis beside the bins of the other, the second the reverse.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.jit import kernel

Whole = NDArray[np.int64]

NEG = -(1 << 62)
NOWHERE = 65_535  # the spot of a missing value
N_WAYS = 4  # each of two axes is used upwards or downwards


class StripScratch(NamedTuple):
    """Arrays of one thread, for `C` bins of `S` parts each."""

    mass: Whole  # (2, C, S * C) by axis in parts, bin of the other, part and bin of its own
    gain: Whole  # (2, C, S * C) the same; losses while rows are counted
    inside: Whole  # (2, S * C) mass and gain of the tighter places of the other axis
    most: Whole  # (2, C) sums of the parts done, and the best so far
    known: Whole  # (N_WAYS, C, C) what is known of a bin of the first axis and one of the second

    @classmethod
    def of(cls, bins: int, parts: int) -> StripScratch:
        """Room for so many."""
        shape = (2, bins, parts * bins)
        return cls(
            np.empty(shape, np.int64), np.empty(shape, np.int64),
            np.empty((2, parts * bins), np.int64), np.empty((2, bins), np.int64),
            np.empty((N_WAYS, bins, bins), np.int64),
        )  # fmt: skip


@kernel(inner=True)
def count_strips(one: Any, two: Any, gains: Any, n_bins: int, scratch: Any) -> None:
    """Mass and gain of the parts of each axis beside the bins of the other.

    `one` and `two` (n_rows,) are the spots of the rows: part × n_bins + bin.
    """
    mass, gain = scratch.mass, scratch.gain
    for at in range(2):
        for b in range(n_bins):
            for f in range(mass.shape[2]):
                mass[at, b, f] = 0
                gain[at, b, f] = 0
    for i in range(gains.size):
        p, q = np.int64(one[i]), np.int64(two[i])
        if p == NOWHERE or q == NOWHERE:
            continue
        if gains[i] > 0:
            mass[0, q % n_bins, p] += gains[i]
            mass[1, p % n_bins, q] += gains[i]
        else:
            gain[0, q % n_bins, p] += gains[i]
            gain[1, p % n_bins, q] += gains[i]
    for at in range(2):
        for b in range(n_bins):
            own, total = mass[at, b], gain[at, b]
            for f in range(own.size):
                total[f] += own[f]


@kernel(inner=True)
def add_strips(at: int, other_down: int, n_bins: int, n_parts: int, scratch: Any) -> None:
    """Add what is known by the count of the axis `at` in parts, for one way to use the other.

    For the first axis that is the strip, the rows covered always, and the mass of the rows in both
    places; for the second its strip alone.
    """
    inside, most = scratch.inside, scratch.most
    masses, gains = inside[0], inside[1]
    run, best = most[0], most[1]
    for f in range(masses.size):
        masses[f] = 0
        gains[f] = 0
    for step in range(n_bins):
        b = step if other_down else n_bins - 1 - step  # from the tightest place to the loosest
        for down in range(2):
            for t in range(n_bins):
                run[t] = 0
                best[t] = NEG
            for s in range(n_parts):
                part = (s if down else n_parts - 1 - s) * n_bins
                own, add = masses[part : part + n_bins], gains[part : part + n_bins]
                for t in range(n_bins):
                    best[t] = max(best[t], run[t] + own[t])
                    run[t] += add[t]
            if at == 0:
                known = scratch.known[down + 2 * other_down]
                tighter = np.int64(0)
                for place in range(n_bins):
                    t = place if down else n_bins - 1 - place
                    known[t, b] = best[t] + tighter
                    tighter += run[t]
                for s in range(n_parts):
                    corner = scratch.mass[0, b, s * n_bins : (s + 1) * n_bins]
                    for t in range(n_bins):
                        known[t, b] += corner[t]
            else:
                known = scratch.known[other_down + 2 * down]
                for t in range(n_bins):
                    known[b, t] += best[t]
        new_mass, new_gain = scratch.mass[at, b], scratch.gain[at, b]
        for f in range(masses.size):
            masses[f] += new_mass[f]
            gains[f] += new_gain[f]


@kernel
def bound_strips(
    spots: Any, gains: Any, sets: Any, n_bins: int, n_parts: int, control: Any, scratch: Any,
    out: Any,
) -> int:  # fmt: skip
    """Bounds on the gain of two ordered rays, for each set of two axes and way to use them.

    `spots` (n_axes, n_rows) are the rows' spots, `gains` (n_rows,) what they add. Bit d of a way
    says that axis d is used downwards. Into `out` (n_sets, N_WAYS) go the bounds. Returns the
    number of sets done: fewer than all where `control[1]` says to stop.
    """
    for s in range(sets.shape[0]):
        if control[1] != 0:
            return s
        count_strips(spots[sets[s, 0]], spots[sets[s, 1]], gains, n_bins, scratch)
        for at in range(2):
            for other_down in range(2):
                add_strips(at, other_down, n_bins, n_parts, scratch)
        for way in range(N_WAYS):
            bound = NEG
            known = scratch.known[way]
            for t in range(n_bins):
                for u in range(n_bins):
                    bound = max(bound, known[t, u])
            out[s, way] = bound
    return int(sets.shape[0])
