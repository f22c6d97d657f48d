"""What a covered row is worth, in exact whole units.

Floating-point sums depend on their order, and an optimum proven in one order may lose to a tie
in another. So every gain is a whole number of *units*; `Objective.unit` says how much one unit
is worth. Integers add exactly, in any order, in any engine and on any machine.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError

# Sums of gains in units stay below this: exact as doubles too, and with room to carry ties.
MAX_TOTAL = 2**46
# Prices, shares and precisions are held as fractions of at most this denominator.
MAX_DENOMINATOR = 2**20
# Sums of row weights in units stay below this, so that comparing a precision, which multiplies
# them by such a fraction, fits into a signed 64-bit integer.
MAX_WEIGHT = 2**42
# Denominators of weights and gains that are tried before falling back to binary rounding.
_SCALES = (1, 2, 4, 5, 10, 20, 25, 50, 100, 1000, 10_000, 100_000, 1_000_000)

Units = NDArray[np.int64]


class Objective(ABC):
    """Row gains in units, for each class a rule may point to."""

    unit: Fraction  # how much of the objective one unit is worth
    labels: tuple[int, ...]  # class codes a rule may have
    weights: Units  # (n_rows,) row weights in units of 1 / weight_scale
    weight_scale: int

    @abstractmethod
    def gains(self, label: int) -> Units:
        """Gain of covering each row by a rule of class `label`, shape (n_rows,)."""

    @abstractmethod
    def wrong(self, label: int) -> NDArray[np.bool_]:
        """Rows that count as errors when covered by a rule of class `label`."""


@dataclass(frozen=True, eq=False)
class VolumeImpurity(Objective):
    """The paper's VI = N - w L: a covered row gains 1 if it is of the rule's class, else 1 - w."""

    classes: NDArray[np.int32]  # (n_rows,) class code of each row
    w: Fraction
    labels: tuple[int, ...]
    weights: Units
    weight_scale: int

    @property
    def unit(self) -> Fraction:  # type: ignore[override]
        """VI per unit: row weights are multiples of 1/weight_scale, w of 1/denominator."""
        return Fraction(1, self.w.denominator * self.weight_scale)

    def gains(self, label: int) -> Units:
        """Gain of each row in units, shape (n_rows,)."""
        right, wrong = self.w.denominator, self.w.denominator - self.w.numerator
        return self.weights * np.where(self.classes == label, right, wrong).astype(np.int64)

    def wrong(self, label: int) -> NDArray[np.bool_]:
        """Rows of another class."""
        other: NDArray[np.bool_] = self.classes != label
        return other


@dataclass(frozen=True, eq=False)
class RowGains(Objective):
    """Any real gain per row: what weight paths and column generation ask for."""

    row_gains: Units
    unit: Fraction
    labels: tuple[int, ...]
    weights: Units
    weight_scale: int = 1

    def gains(self, label: int) -> Units:
        """The given gains, whatever the class."""
        return self.row_gains

    def wrong(self, label: int) -> NDArray[np.bool_]:
        """Rows of negative gain."""
        return self.row_gains < 0


def as_written(value: float | Fraction) -> Fraction:
    """A number as the user meant it: 0.95 is 95/100 and 5 / 6 is 5/6, not a binary neighbour.

    The nearest fraction of denominator at most 2**20, which is off by less than 2**-40.
    """
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(str(value)).limit_denominator(MAX_DENOMINATOR)


def volume_impurity(
    classes: NDArray[np.int32],
    n_classes: int,
    w: float | Fraction = 10.0,
    target: int | None = None,
    weights: NDArray[np.float64] | None = None,
) -> VolumeImpurity:
    """The VI objective for rows of these classes.

    `w` is held as a fraction of denominator at most 2**20 (less for millions of rows or beside
    fractional row weights, so that sums stay exact): decimals such as 2.5 or 1.1 are exact, and
    any other number is off by less than one part in 10**12.
    """
    if isinstance(w, bool) or not isinstance(w, Real) or not 1 <= float(w) < math.inf:
        raise InputError(
            f"'w' must be a finite number >= 1 (the price of one error in rows), got {w!r}."
        )
    total = len(classes) if weights is None else math.ceil(min(_total(weights), MAX_WEIGHT))
    room = MAX_TOTAL // (total * math.ceil(w) + 1)
    if room < 1:
        raise InputError(
            f"'w' is {w!r}, which is too large to be added exactly over {len(classes)} rows; "
            "a price above the number of rows already forbids every error."
        )
    whole = weights is None or np.array_equal(weights, np.rint(weights))
    finest = room if whole else math.isqrt(room)  # weights with digits share the room
    ratio = as_written(w).limit_denominator(min(finest, MAX_DENOMINATOR))
    largest = max(ratio.denominator, abs(ratio.denominator - ratio.numerator))
    units, scale = weight_units(weights, len(classes), min(MAX_WEIGHT, MAX_TOTAL // largest))
    labels = tuple(range(n_classes)) if target is None else (target,)
    return VolumeImpurity(classes, ratio, labels, units, scale)


def row_gains(gains: Any, label: int = 0) -> RowGains:
    """The objective with these real gains, shape (n_rows,), rounded to whole units.

    Whole numbers and decimals of up to six places are kept exactly; others are rounded to one
    part in about 2**46 of the sum of their absolute values.
    """
    try:
        values = np.asarray(gains, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("'gains' must be numbers, one for each row.") from None
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError("'gains' must be one finite number per row.")
    scale = _decimal_scale(values, MAX_TOTAL)
    if scale is not None:
        units, unit = np.rint(values * scale), Fraction(1, scale)
    else:
        exponent = _binary_exponent(values, MAX_TOTAL, "gains")
        units, unit = np.rint(np.ldexp(values, exponent)), Fraction(2) ** -exponent
    ones = np.ones(len(values), dtype=np.int64)
    return RowGains(units.astype(np.int64), unit, (label,), ones)


def weight_units(weights: NDArray[np.float64] | None, n_rows: int, limit: int) -> tuple[Units, int]:
    """Row weights as whole multiples of 1/scale, and the scale; their sum stays below `limit`.

    Whole numbers and decimals of up to six places are exact, others are rounded.
    """
    if weights is None:
        return np.ones(n_rows, dtype=np.int64), 1
    total = _total(weights)
    if total >= limit:
        raise InputError(
            f"'sample_weight' sums to {total:g}, which is too large to add exactly; "
            f"scale the weights down to a sum below {limit:g}."
        )
    scale = _decimal_scale(weights, limit)
    if scale is not None:
        return np.rint(weights * scale).astype(np.int64), scale
    exponent = max(0, _binary_exponent(weights, limit, "sample_weight"))
    return np.rint(np.ldexp(weights, exponent)).astype(np.int64), 2**exponent


def _decimal_scale(values: NDArray[np.float64], limit: int) -> int | None:
    """The first scale at which the values are whole numbers; None where none is.

    The values are taken as they are written: 0.57 is 57 hundredths, although the product of the
    double next to it and 100 is not quite 57.
    """
    total = _total(values)
    for scale in _SCALES:
        if total * scale >= limit:
            return None
        if np.array_equal(np.rint(values * scale) / scale, values):
            return scale
    return None


def _binary_exponent(values: NDArray[np.float64], limit: int, name: str) -> int:
    """The power of two by which the values can be multiplied with their sum below `limit`."""
    total = _total(values)
    if not math.isfinite(total):
        raise InputError(f"'{name}' are too large to be added; scale them down.")
    # One power is kept back for the rounding of each value.
    return limit.bit_length() - 2 - math.frexp(total)[1]


def _total(values: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore"):
        return float(np.abs(values).sum())
