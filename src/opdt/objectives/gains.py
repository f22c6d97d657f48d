"""What a covered row is worth, in exact whole units.

Floating-point sums depend on their order, and an optimum proven in one order may lose to a tie
in another. So every gain is a whole number of *units*; `Gains.unit` says how much one unit
is worth. Integers add exactly, in any order, in any engine and on any machine.

An `Objective` is said before the rows are known; bound to the rows of a table it becomes `Gains`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opdt.checks import check_number
from opdt.errors import InputError
from opdt.objectives.evidence import Spread
from opdt.objectives.words import Account, plain

# Sums of the gains of all rows, in units, stay below this: the search adds and compares two such
# sums in 64 bits.
MAX_TOTAL = 2**58
# Sums of row weights in units stay below this, so that comparing a precision, which multiplies
# them by a fraction, fits into a signed 64-bit integer.
MAX_WEIGHT = 2**42
# The same where gains of any number of digits stand beside them.
MAX_WEIGHTED = 2**30
# Gains of arbitrary digits are rounded to units of this part of their sum.
GAIN_ROOM = 2**46
# Denominators of weights and gains that are tried before falling back to binary rounding.
SCALES = (1, 2, 4, 5, 10, 20, 25, 50, 100, 1000, 10_000, 100_000, 1_000_000)

# The part of itself by which a computed float may be off: a hundred sums change its last digits.
_NOISE = Fraction(1, 2**48)

Units = NDArray[np.int64]


class Gains(ABC):
    """Row gains in units, for each class a rule may point to."""

    unit: Fraction  # how much of the objective one unit is worth
    labels: tuple[int, ...]  # class codes a rule may have
    weights: Units  # (n_rows,) row weights in units of 1 / weight_scale
    weight_scale: int
    rounding: float = 0.0  # how far a rule's worth may be from that with the very numbers given

    @abstractmethod
    def gains(self, label: int) -> Units:
        """Gain of covering each row by a rule of class `label`, shape (n_rows,)."""

    @abstractmethod
    def wrong(self, label: int) -> NDArray[np.bool_]:
        """Rows that count as errors when covered by a rule of class `label`."""

    @abstractmethod
    def take(self, rows: Units) -> Gains:
        """The same gains on some rows."""

    def account(self, fires: NDArray[np.bool_], label: int) -> Account | None:
        """What a rule of class `label` does on the rows that it covers, in the objective's words.

        None where covered rows and errors say it all.
        """
        return None


@dataclass(frozen=True, eq=False)
class VolumeImpurity(Gains):
    """The paper's VI = N - w L: a covered row gains 1 if it is of the rule's class, else 1 - w."""

    classes: NDArray[np.int32]  # (n_rows,) class code of each row
    w: Fraction
    labels: tuple[int, ...]
    weights: Units
    weight_scale: int
    rounding: float = 0.0

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

    def take(self, rows: Units) -> VolumeImpurity:
        """The same price on some rows."""
        return replace(self, classes=self.classes[rows], weights=self.weights[rows])


@dataclass(frozen=True, eq=False)
class RowGains(Gains):
    """Any real gain per row: what weight paths and column generation ask for."""

    row_gains: Units
    unit: Fraction
    labels: tuple[int, ...]
    weights: Units
    weight_scale: int = 1
    rounding: float = 0.0

    def gains(self, label: int) -> Units:
        """The given gains, whatever the class."""
        return self.row_gains

    def wrong(self, label: int) -> NDArray[np.bool_]:
        """Rows of negative gain."""
        return self.row_gains < 0

    def take(self, rows: Units) -> RowGains:
        """The gains of some rows."""
        return replace(self, row_gains=self.row_gains[rows], weights=self.weights[rows])


@dataclass(frozen=True, eq=False, kw_only=True)
class ObjectiveGains(Gains):
    """The gains of an `Objective` bound to rows: what a row is worth, times its weight.

    Subclasses add what their account needs. `per_row` names the arrays of shape (n_rows,) that
    belong to what a row is worth: they are taken, drawn and permuted together.
    """

    per_row: ClassVar[tuple[str, ...]] = ("worth",)
    # Whether what chance does depends on which rows are covered, and not on their number alone.
    chance_by_rows: ClassVar[bool] = False
    shuffled: ClassVar[str] = "what rows are worth is shuffled"

    worth: Units  # (n_rows,) what a unit of weight of each row is worth, in units
    unit: Fraction
    labels: tuple[int, ...]
    weights: Units
    weight_scale: int = 1
    rounding: float = 0.0

    @classmethod
    def of(
        cls,
        values: Any,
        weights: NDArray[np.float64] | None,
        *,
        label: int = 0,
        name: str = "gains",
        **more: Any,
    ) -> Self:
        """The gains of rows that are worth these finite real numbers, shape (n_rows,).

        Whole numbers and decimals of up to six places are exact where there is room; others are
        rounded, and `rounding` says by how much the sum of any rows may have changed. `name` is
        said in messages, `more` are fields of a subclass.
        """
        given = _finite(name, values)
        held = hold_weights(weights, len(given))
        heaviest = max(1, int(held.units.max(initial=1)))
        numbers = number_units(given, GAIN_ROOM // heaviest, name)
        return cls.of_units(numbers, held, label=label, **more)

    @classmethod
    def of_units(
        cls, numbers: NumberUnits, held: WeightUnits, /, *, label: int = 0, **more: Any
    ) -> Self:
        """The gains of rows that are worth these whole units, each as often as its weight says."""
        heaviest = float(held.units.max(initial=1))
        largest = float(np.abs(numbers.units).max(initial=0)) * float(numbers.unit)
        return cls(
            worth=numbers.units,
            unit=numbers.unit / held.scale,
            labels=(label,),
            weights=held.units,
            weight_scale=held.scale,
            rounding=numbers.rounding * heaviest / held.scale + held.rounding * largest,
            **more,
        )

    def gains(self, label: int) -> Units:
        """What each row is worth, times its weight."""
        return self._gains

    @cached_property
    def _gains(self) -> Units:
        return self.worth * self.weights

    def wrong(self, label: int) -> NDArray[np.bool_]:
        """Rows of negative worth."""
        return self.worth < 0

    @property
    def values(self) -> NDArray[np.float64]:
        """What each row is worth in the objective's measure, weights apart, shape (n_rows,)."""
        each: NDArray[np.float64] = self.worth * np.float64(self.unit * self.weight_scale)
        return each

    @cached_property
    def spread(self) -> Spread:
        """How the worths of rows that have a weight are spread."""
        return Spread(self.values[self.weights > 0])

    def chance(self, fires: NDArray[np.bool_], mean: float) -> tuple[float, float]:
        """What chance does on covered rows that have a weight, shape (n_rows,); weights apart.

        The logarithm of a bound on the probability of so large a `mean` for a rule that was fixed
        before, and the mean that is to be expected. See `opdt.objectives.evidence`.
        """
        return self.spread.log_chance(int(fires.sum()), mean), self.spread.mean

    def told(self, mean: float, overall: float, covered: int) -> str:
        """What a covered row is worth on average, and what by chance, in words; weights apart."""
        rows = "row" if covered == 1 else "rows"
        return f"worth {plain(mean)} a row in {covered:,} {rows}, {plain(overall)} overall"

    def take(self, rows: Units) -> Self:
        """The gains of some rows."""
        return replace(self._of(rows), weights=self.weights[rows])

    def permuted(self, order: Units, *, with_weights: bool) -> Self:
        """What rows are worth in another order; their weights change places too, or stay."""
        weights = self.weights[order] if with_weights else self.weights
        return replace(self._of(order), weights=weights)

    def drawn(self, rows: Units, counts: Units) -> Self:
        """The gains of some rows, each drawn so often."""
        rounding = self.rounding * float(counts.max(initial=0))
        return replace(self._of(rows), weights=self.weights[rows] * counts, rounding=rounding)

    def _of(self, rows: Units) -> Self:
        parts: dict[str, Any] = {name: getattr(self, name)[rows] for name in self.per_row}
        return replace(self, **parts)


def as_written(value: float | Fraction) -> Fraction:
    """A number as the user meant it: 0.95 is 95/100, and 5 / 6 and 3 * 1.1 are 5/6 and 33/10.

    Fractions, whole numbers and decimals of up to nine places are themselves, exactly. A float of
    more digits is the result of a computation, which may be off in its last digits: of all
    fractions that agree with it to one part in 2**48 (14 digits) the one of the smallest
    denominator is meant. Nothing else is ever rounded.
    """
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    decimal = Fraction(str(value))  # the shortest decimal that is this float, of any precision
    if 10**9 % decimal.denominator == 0:
        return decimal
    size = abs(decimal)
    simplest = _simplest(size * (1 - _NOISE), size * (1 + _NOISE))
    return simplest if decimal > 0 else -simplest


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of the smallest denominator from `low` to `high`, both positive."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    part = whole - 1
    return part + 1 / _simplest(1 / (high - part), 1 / (low - part))


def error_price(w: Any) -> Fraction:
    """The price of an error as an exact fraction, see `as_written`; or one sentence."""
    wanted = "a finite number >= 1 (the price of one error in rows)"
    check_number("w", w, wanted, lambda price: 1 <= price < math.inf)
    return as_written(w)


def weight_room(price: Fraction, n_rows: int, total: float | None = None) -> int:
    """What the row weights may add up to, in units, so that all gains add up exactly.

    Parameters
    ----------
    price : Fraction
        That of an error; see `error_price`.
    n_rows : int
    total : float, optional
        The sum of the row weights; rows without weights count one.
    """
    largest = max(price.denominator, price.numerator - price.denominator)
    if (total or n_rows) * largest < MAX_TOTAL:
        return min(MAX_WEIGHT, MAX_TOTAL // largest)
    beside = f"over {n_rows} rows" if total is None else f"with weights that sum to {total:g}"
    most = MAX_TOTAL / (total or n_rows)
    if most <= price:
        shown = Decimal(price.numerator) / Decimal(price.denominator)  # floats end at 1e308
        raise InputError(
            f"'w' is {shown:.6g}, which is too large to be added exactly {beside}; "
            "a price above the weight of all rows already forbids every error."
        )
    places = max(0, math.floor(math.log10(most / float(price))))
    raise InputError(
        f"'w' is {float(price)!r}, which has too many digits to be added exactly {beside}; "
        f"round it to {places} decimals."
    )


def volume_impurity(
    classes: NDArray[np.int32],
    n_classes: int,
    w: float | Fraction = 10.0,
    label: int | None = None,
    weights: NDArray[np.float64] | None = None,
    most: int = MAX_WEIGHT,
) -> VolumeImpurity:
    """The VI objective for rows of these classes.

    `w` is exact (see `as_written`), or refused where it has more digits than can be added
    exactly over so many rows. Weights are held as `weight_units` says; where they had to be
    rounded, `rounding` says by how much the VI of any rule may have changed.
    """
    price = error_price(w)
    total = None if weights is None else _total(weights)
    if total is not None and total >= MAX_WEIGHT:
        raise _too_heavy(total, MAX_WEIGHT)
    held = weight_units(weights, len(classes), min(most, weight_room(price, len(classes), total)))
    labels = tuple(range(n_classes)) if label is None else (label,)
    rounding = held.rounding * max(1.0, float(price) - 1)
    return VolumeImpurity(classes, price, labels, held.units, held.scale, rounding)


def row_gains(gains: Any, label: int = 0) -> RowGains:
    """These real gains, shape (n_rows,), in whole units.

    Whole numbers and decimals of up to six places are kept exactly; others are rounded to one
    part in about 2**46 of the sum of their absolute values, and `rounding` says by how much.
    """
    values = _finite("gains", gains)
    ones = np.ones(len(values), dtype=np.int64)
    numbers = number_units(values, GAIN_ROOM, "gains")
    return RowGains(numbers.units, numbers.unit, (label,), ones, rounding=numbers.rounding)


def _finite(name: str, given: Any) -> NDArray[np.float64]:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"'{name}' must be numbers, one for each row.") from None
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError(f"'{name}' must be one finite number per row.")
    return values


class NumberUnits(NamedTuple):
    """Numbers as whole multiples of `unit`.

    `rounding` is the sum of the changes to all numbers where they had to be rounded, else 0.
    """

    units: Units
    unit: Fraction
    rounding: float = 0.0


def number_units(values: NDArray[np.float64], room: int, name: str) -> NumberUnits:
    """Numbers in whole units, the absolute values of which add up to less than `room`.

    Whole numbers and decimals of up to six places are exact where the room allows; others are
    rounded, each by at most one part in room / 2 of their sum. `name` is said in messages.
    """
    scale = _decimal_scale(values, room)
    if scale is not None:
        return NumberUnits(np.rint(values * scale).astype(np.int64), Fraction(1, scale))
    exponent = _binary_exponent(values, room, name)
    rounded = np.rint(np.ldexp(values, exponent))
    change = _change(values, np.ldexp(rounded, -exponent))
    return NumberUnits(rounded.astype(np.int64), Fraction(2) ** -exponent, change)


def hold_weights(weights: NDArray[np.float64] | None, n_rows: int) -> WeightUnits:
    """Row weights in whole units that leave room for gains beside them."""
    return weight_units(weights, n_rows, MAX_WEIGHTED)


class WeightUnits(NamedTuple):
    """Row weights as whole multiples of 1 / scale.

    `rounding` is the sum of the changes to all weights where they had to be rounded, else 0.
    """

    units: Units
    scale: int
    rounding: float = 0.0


def weight_units(weights: NDArray[np.float64] | None, n_rows: int, limit: int) -> WeightUnits:
    """Row weights in whole units; their sum stays below `limit`.

    Whole numbers and decimals of up to six places are exact where the limit allows, and so is
    what a power of two makes whole. Other weights, such as quotients and probabilities, are
    rounded, each by at most one part in limit / 2 of their sum.
    """
    if weights is None:
        return WeightUnits(np.ones(n_rows, dtype=np.int64), 1)
    total = _total(weights)
    if total >= limit:
        raise _too_heavy(total, limit)
    scale = _decimal_scale(weights, limit)
    if scale is not None:
        return WeightUnits(np.rint(weights * scale).astype(np.int64), scale)
    exponent = max(0, _binary_exponent(weights, limit, "sample_weight"))
    units = np.rint(np.ldexp(weights, exponent))
    change = _change(weights, np.ldexp(units, -exponent))
    return WeightUnits(units.astype(np.int64), 2**exponent, change)


def _too_heavy(total: float, limit: int) -> InputError:
    return InputError(
        f"'sample_weight' sums to {total:g}, which is too large to add exactly; "
        f"scale the weights down to a sum below {limit:g}."
    )


def _change(given: NDArray[np.float64], held: NDArray[np.float64]) -> float:
    """The sum of the absolute differences, rounded up: sums of floats are off by far less."""
    return float(np.abs(given - held).sum()) * (1 + 1e-9)


def _decimal_scale(values: NDArray[np.float64], limit: int) -> int | None:
    """The first scale at which the values are whole numbers; None where none is.

    The values are taken as they are written: 0.57 is 57 hundredths, although the product of the
    double next to it and 100 is not quite 57.
    """
    total = _total(values)
    for scale in SCALES:
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
