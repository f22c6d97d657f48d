"""The largest of many lines, and what is proven about it between two prices."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from opdt.engines.prices import Line


class EnvelopePiece(NamedTuple):
    """A line and the price from which on it is the largest."""

    w_from: Fraction
    line: Line


def crossing(steep: Line, flat: Line) -> Fraction:
    """The price at which two lines meet; the first has more errors."""
    return Fraction(steep.covered - flat.covered, steep.errors - flat.errors)


def upper_envelope(lines: Iterable[Line]) -> list[EnvelopePiece]:
    """The lines that are the largest over a stretch of prices from 1 on, in its order.

    A line that reaches the envelope in a single point is left out. Of lines with equal counts
    the first is taken.
    """
    best: dict[int, Line] = {}
    for line in lines:
        known = best.get(line.errors)
        if known is None or line.covered > known.covered:
            best[line.errors] = line
    pieces: list[EnvelopePiece] = []
    for errors in sorted(best, reverse=True):
        line, w_from = best[errors], Fraction(1)
        while pieces:
            w_from = max(Fraction(1), crossing(pieces[-1].line, line))
            if w_from > pieces[-1].w_from:
                break
            pieces.pop()
            w_from = Fraction(1)
        pieces.append(EnvelopePiece(w_from, line))
    return pieces


def piece_at(pieces: Sequence[EnvelopePiece], w: Fraction | None) -> EnvelopePiece:
    """The piece that holds the price; at a crossing the one before it; None is infinity."""
    if w is None:
        return pieces[-1]
    index = bisect_left(pieces, w, key=lambda piece: piece.w_from)
    return pieces[max(0, index - 1)]


class Ceiling:
    """An upper bound of the optimum at all prices, from upper bounds at some.

    The optimum is the largest of many lines, so it is convex: between two prices it does not
    exceed the chord. No line rises, so no bound at a lower price is exceeded later.
    """

    def __init__(self, points: Iterable[tuple[Fraction, Fraction]]) -> None:
        hull: list[tuple[Fraction, Fraction]] = []
        lowest: Fraction | None = None
        for w, bound in sorted(points):
            if hull and hull[-1][0] == w:
                continue  # the lower one of the same price came first
            lowest = bound if lowest is None else min(lowest, bound)
            point = (w, lowest)
            while len(hull) > 1 and not _below(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        self.points = hull
        self._prices = [w for w, _ in hull]

    def at(self, w: Fraction | None) -> Fraction:
        """The bound at a price not below the first; None is infinity."""
        index = len(self.points) if w is None else bisect_right(self._prices, w)
        left, low = self.points[index - 1]
        if w is None or index == len(self.points):
            return low
        right, high = self.points[index]
        return low + (high - low) * (w - left) / (right - left)


def _below(
    one: tuple[Fraction, Fraction], two: tuple[Fraction, Fraction], three: tuple[Fraction, Fraction]
) -> bool:
    """Whether the second point lies strictly below the chord of the other two."""
    return (two[1] - one[1]) * (three[0] - one[0]) < (three[1] - one[1]) * (two[0] - one[0])
