"""Slow twins of the compiled kernels: each says in plain Python what a kernel is to return.

They try everything. Rows are few, and positions are tried one by one; nothing here is shared
with the kernels but the name of "no such thing", `NEG`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.kernels import NEG

Array = NDArray[Any]


def compress(
    levels: Array,
    gains: Array,
    floor: int,
    *,
    first: bool,
    mass_above: bool,
    reduce: bool,
) -> list[int]:
    """The positions of one ray that are kept, from the levels and gains of a node's rows."""
    kept: list[int] = []
    occurring = sorted(set(levels.tolist()))
    for at, level in enumerate(occurring):
        if level == 0 or mass_of(gains[levels >= level]) < floor:
            continue
        below = gains[levels == occurring[at - 1]] if at else np.empty(0)
        here = gains[levels == level]
        separates = bool((below <= 0).any()) and (bool((here > 0).any()) or not mass_above)
        if not reduce or separates or (first and not kept):
            kept.append(level)
    return kept


def mass_of(gains: Array) -> int:
    """The sum of the positive gains."""
    return int(gains[gains > 0].sum())


class Cover(NamedTuple):
    """Positions of some rays, and what they cover."""

    positions: tuple[int, ...]
    gain: int
    covered: int
    errors: int

    def within(self, limits: Sequence[int]) -> bool:
        """Whether coverage, errors and precision are as demanded."""
        return (
            self.covered >= limits[0]
            and self.errors <= limits[1]
            and (self.covered - self.errors) * int(limits[3]) >= self.covered * int(limits[2])
        )


def covers(
    levels: Array,
    tops: Sequence[int],
    gains: Array,
    weights: Array | None = None,
    wrong: Array | None = None,
    *,
    start: int = 1,
) -> Iterator[Cover]:
    """Every combination of positions from `start` on, loosest first, with what it covers."""
    weights = np.zeros_like(gains) if weights is None else weights
    wrong = np.zeros_like(gains) if wrong is None else wrong
    for positions in product(*(range(start, int(top) + 1) for top in tops)):
        fires = np.ones(len(gains), dtype=bool)
        for own, position in zip(levels, positions, strict=True):
            fires &= own >= position
        yield Cover(
            positions, int(gains[fires].sum()), int(weights[fires].sum()), int(wrong[fires].sum())
        )


def best_gain(found: Iterator[Cover], limits: Sequence[int] | None = None) -> int:
    """The largest gain of some covers within the limits; NEG if there is none."""
    return max((c.gain for c in found if limits is None or c.within(limits)), default=NEG)


def outside_gain(levels: Array, tops: Sequence[int], gains: Array) -> int:
    """The best gain with at least one of the conditions left out."""
    return best_gain(c for c in covers(levels, tops, gains, start=0) if 0 in c.positions)


def first_positions(
    found: Iterator[Cover], goal: int, limits: Sequence[int] | None, *, fewest_errors: bool
) -> Cover | None:
    """The loosest positions, in the order of the rays, that gain exactly the goal."""
    fine = [c for c in found if c.gain == goal and (limits is None or c.within(limits))]
    return min(fine, key=lambda c: (c.errors if fewest_errors else 0, c.positions), default=None)


def best_between(low: int, high: int, at_low: int, at_high: int, mass: Array, loss: Array) -> int:
    """The largest of the bounds at the positions strictly between two settled ones."""
    return max(
        (
            min(at_low + int(loss[low] - loss[j]), at_high + int(mass[j] - mass[high]))
            for j in range(low + 1, high)
        ),
        default=NEG,
    )


def by_position(levels: Array, values: Array, top: int) -> Array:
    """The sum of the values of the rows at each position 0 … top + 1."""
    return np.array([values[levels >= j].sum() for j in range(top + 2)], np.int64)


# -- boxes ---------------------------------------------------------------------------------------


def split_rows(
    levels: Array, tops: Sequence[int], gains: Array, weights: Array, wrong: Array
) -> tuple[list[int], list[int]]:
    """Rows that a box covers sometimes, and gain, weight and errors of those it covers always."""
    whole = [i for i in range(len(gains)) if (levels[:, i] == tops).all()]
    some = [i for i in range(len(gains)) if (levels[:, i] > 0).all() and i not in whole]
    return some, [int(values[whole].sum()) for values in (gains, weights, wrong)]


def clip_level(code: int, n_values: int, low: int, high: int, *, mirrored: bool) -> int:
    """How many of the positions low + 1 … high of a numeric ray a row satisfies."""
    positions = range(low + 1, high + 1)
    if code < 0:
        return 0
    # position j of `>=` asks for a code of at least j, that of `<` for one below n_values - j
    return sum(code < n_values - j if mirrored else code >= j for j in positions)
