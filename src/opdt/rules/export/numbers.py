"""Numbers that are read in the same way whatever the type of the column beside them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

# Whole numbers below this size are doubles too, so comparing either way gives the same answer.
EXACT = 2**53


def is_single(value: float) -> bool:
    """Whether a float of single precision holds the number as well, so that no type rounds it."""
    with np.errstate(over="ignore"):
        return bool(float(np.float32(value)) == value)


def is_whole(value: Any) -> bool:
    """Whether a number is best compared as a whole one where the column's type is not known.

    At this size every double is whole, so a column of doubles is parted the same way, while
    whole numbers would be rounded by a comparison with a double. NumPy has none beyond 2**64.
    """
    return bool(-(2**63) <= value < 2**64 and abs(value) >= EXACT and value == math.floor(value))


def nearest_double(value: Any) -> int | None:
    """The double that a column of doubles is compared with in the place of a whole number.

    None where that is the number itself, or lies beyond all doubles.
    """
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) <= EXACT:
        return None
    try:
        double = int(float(value))
    except OverflowError:
        return None
    return None if double == value else double


def next_double(value: Any) -> float:
    """The smallest double that is not below a number: it parts all doubles as the number does."""
    try:
        double = float(value)
    except OverflowError:
        return math.inf if value > 0 else -float(np.finfo(np.float64).max)
    return math.nextafter(double, math.inf) if Fraction(double) < Fraction(value) else double
