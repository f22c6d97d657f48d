"""Boxes of positions that may hold the optimum."""

from __future__ import annotations

from typing import NamedTuple


class Box(NamedTuple):
    """Rays with ranges of positions low < position <= high that may hold the optimum.

    `rows` is, where the rows are not at hand, the largest possible number of those that some
    positions of the box cover and others do not.
    """

    bound: int
    label: int
    rays: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    rows: int = 0


def is_most_of(part: Box, box: Box) -> bool:
    """Whether a part is hardly smaller than the box it was cut from."""
    pairs = zip(part.low, part.high, box.low, box.high, strict=True)
    return all(b - a > 0.5 * (d - c) for a, b, c, d in pairs)


def halves(part: Box) -> list[Box]:
    """A box cut in two across its longest side."""
    widths = [b - a for a, b in zip(part.low, part.high, strict=True)]
    d = max(range(len(widths)), key=lambda d: widths[d])
    if widths[d] < 2:
        return [part]
    middle = part.low[d] + widths[d] // 2
    return [
        part._replace(high=tuple(middle if i == d else h for i, h in enumerate(part.high))),
        part._replace(low=tuple(middle if i == d else v for i, v in enumerate(part.low))),
    ]
