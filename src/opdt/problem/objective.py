"""What a covered row is worth, in exact whole units.

Floating-point sums depend on their order, and an optimum proven in one order may lose to a tie
in another. So every gain is a whole number of *units*; `Objective.unit` says how much one unit
is worth. Integers add exactly, in any order, in any engine and on any machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError

# Sums of units stay below this, so that no engine overflows a signed 64-bit integer even after
# it has multiplied by a small tie-breaking factor.
MAX_TOTAL = 2**52
# Row weights and w are held as fractions of at most this denominator.
MAX_DENOMINATOR = 2**20
# Denominators of row weights that are tried before falling back to binary rounding.
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
        return self.classes != label


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


def volume_impurity(
    classes: NDArray[np.int32],
    n_classes: int,
    w: float | Fraction = 10.0,
    target: int | None = None,
    weights: NDArray[np.float64] | None = None,
) -> VolumeImpurity:
    """The VI objective for rows of these classes.

    `w` is held as a fraction of denominator at most 2**20: decimals such as 2.5 or 1.1 are
    exact, and any other number is off by less than one part in 10**12.
    """
    if isinstance(w, bool) or not isinstance(w, Real) or not np.isfinite(float(w)) or w < 1:
        raise InputError(
            f"'w' must be a finite number >= 1 (the price of one error in rows), got {w!r}."
        )
    ratio = Fraction(w).limit_denominator(MAX_DENOMINATOR)
    largest = max(ratio.denominator, abs(ratio.denominator - ratio.numerator))
    units, scale = weight_units(weights, len(classes), MAX_TOTAL // largest)
    labels = tuple(range(n_classes)) if target is None else (target,)
    return VolumeImpurity(classes, ratio, labels, units, scale)


def row_gains(gains: Any, label: int = 0) -> RowGains:
    """The objective with these real gains, shape (n_rows,), rounded to whole units.

    Gains that are whole numbers (or short decimals) are kept exactly; others are rounded to one
    part in about 2**52 of the sum of their absolute values.
    """
    values = np.asarray(gains, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError("'gains' must be one finite number per row.")
    total = float(np.abs(values).sum())
    for scale in _SCALES:
        scaled = values * scale
        if total * scale < MAX_TOTAL and np.array_equal(scaled, np.rint(scaled)):
            unit = Fraction(1, scale)
            break
    else:
        exponent = int(np.floor(np.log2(MAX_TOTAL / total)))
        unit = Fraction(2) ** -exponent
        scaled = np.ldexp(values, exponent)
    ones = np.ones(len(values), dtype=np.int64)
    return RowGains(np.rint(scaled).astype(np.int64), unit, (label,), ones)


def weight_units(
    weights: NDArray[np.float64] | None, n_rows: int, limit: int
) -> tuple[Units, int]:
    """Row weights as whole multiples of 1/scale, and the scale; their sum stays below `limit`."""
    if weights is None:
        return np.ones(n_rows, dtype=np.int64), 1
    total = float(weights.sum())
    if total >= limit:
        raise InputError(
            f"'sample_weight' sums to {total:g}, which is too large to add exactly; "
            f"scale the weights down to a sum below {limit:g}."
        )
    for scale in _SCALES:
        scaled = weights * scale
        if total * scale < limit and (np.abs(scaled - np.rint(scaled)) <= 1e-9 * scaled).all():
            return np.rint(scaled).astype(np.int64), scale
    scale = 2 ** max(0, int(np.floor(np.log2(limit / total))) - 1)
    return np.rint(weights * scale).astype(np.int64), scale
