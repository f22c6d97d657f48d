"""Numbers as the target: where they are high, or low."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.checks import check_choice, check_number, is_finite
from opdt.errors import InputError
from opdt.objectives.estimate import Estimate, estimate_of_means
from opdt.objectives.gains import (
    GAIN_ROOM,
    MAX_TOTAL,
    NumberUnits,
    ObjectiveGains,
    Units,
    WeightUnits,
    as_written,
    hold_weights,
    number_units,
)
from opdt.objectives.objective import Objective, TargetKind
from opdt.objectives.rows import BoundRows
from opdt.objectives.words import Account, Words, plain, with_unit
from opdt.rules.export.prose import name_in_words

DIRECTIONS = ("high", "low")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Mean(Objective):
    """Rows in which a number is high, or low.

    With a threshold the best rule has the largest sum of (y - threshold) over the rows that it
    covers: how much more there is than the threshold a row. Without one it has the highest mean
    of all rules that cover enough rows (`min_coverage`; 5 % where nothing else is said).

    Parameters
    ----------
    threshold : float, optional
        The number from which on a row is worth covering, in the unit of `y`.
    direction : "high" or "low"
        "low" asks for the opposite: the largest sum of (threshold - y), or the lowest mean.
    unit : str
        That of `y`, for texts: "days".

    The target `y` holds finite numbers. Those of up to six decimals are exact; of others
    `Solution.rounding` says how far the value may be off.

    Examples
    --------
    >>> from opdt import discover
    >>> age, days = {"age": [25, 31, 47, 52, 60, 64]}, [2, 3, 5, 4, 9, 12]
    >>> solution = discover(age, days, max_depth=1, objective=Mean(threshold=5, unit="days"))
    >>> print(solution.rule, "|", solution.value)
    IF age >= 56 THEN high | 11.0
    >>> solution = discover(age, days, max_depth=1, min_coverage=3, objective=Mean(unit="days"))
    >>> print(solution.rule, "|", solution.account)
    IF age >= 50 THEN high | has a mean of 8.333 days in 3 covered rows, 3.333 days in the other 3
    """

    kind: ClassVar[str] = "mean"
    target: ClassVar[TargetKind] = TargetKind.NUMBERS
    counts_errors: ClassVar[bool] = False

    threshold: float | Fraction | None = None
    direction: str = "high"
    unit: str = ""

    def __post_init__(self) -> None:
        if self.threshold is not None:
            check_number("threshold", self.threshold, "a finite number or None", is_finite)
        check_choice("direction", self.direction, DIRECTIONS)
        if not isinstance(self.unit, str):
            raise InputError(f"'unit' must be text, got {self.unit!r}.")

    @property
    def rule_label(self) -> str:
        """The direction."""
        return self.direction

    def then(self, target: str | None = None) -> str:
        """The target is high, or low."""
        what = "the number" if target is None else name_in_words(target)
        return f"{what} is {self.direction}"

    @property
    def needs_coverage(self) -> bool:
        """The highest mean is that of one row, if nothing is said against it."""
        return self.threshold is None

    @property
    def sign(self) -> int:
        """1 where large numbers are wanted, else -1."""
        return 1 if self.direction == "high" else -1

    def bind(self, rows: BoundRows) -> MeanGains:
        """The number of each row less the threshold, or less the mean of all rows."""
        held = hold_weights(rows.table.weights, rows.n_rows)
        total = max(1, int(held.units.sum()))
        # A mean has at most the weight of all rows as its denominator.
        room = MAX_TOTAL // 4 // (total if self.threshold is None else 1)
        heaviest = max(1, int(held.units.max(initial=1)))
        numbers = number_units(rows.target(), min(room, GAIN_ROOM) // heaviest, "y")
        if self.threshold is None:
            middle = Fraction(int((numbers.units * held.units).sum()), total)
        else:
            middle = as_written(self.threshold) / numbers.unit
            size = float(np.abs(numbers.units).sum()) * heaviest * middle.denominator
            if size + abs(middle.numerator) * float(total) >= MAX_TOTAL / 4:
                raise InputError(
                    f"'threshold' is {float(self.threshold)!r}, which has too many digits to be "
                    "added exactly beside these numbers; round it."
                )
        return _bound(self, numbers, held, middle)

    def estimate(
        self, gains: ObjectiveGains, fires: NDArray[np.bool_], level: float = 0.95
    ) -> Estimate:
        """The mean of the target inside, on held-out rows."""
        assert isinstance(gains, MeanGains)
        values = gains.numbers * np.float64(gains.number_unit)
        show, there = with_unit(self.unit), gains.weights > 0
        return estimate_of_means(values, there, fires, level, "mean of", show, self.sign)

    @property
    def words(self) -> Words:
        """A mean, or a sum beyond the threshold, in the unit of the numbers."""
        show = with_unit(self.unit)
        if self.threshold is None:
            more = "higher" if self.sign > 0 else "lower"
            beyond = "above" if self.sign > 0 else "below"
            return Words(
                "mean", f"a {more} mean", "a mean", show, show,
                better=f"with enough rows has a {more} mean",
                above=f"with enough rows has a mean {beyond} {{}}",
            )  # fmt: skip
        edge = plain(float(self.threshold))
        name = f"sum of (y - {edge})" if self.sign > 0 else f"sum of ({edge} - y)"
        return Words(name, f"a larger {name}", f"a {name}", show, show)


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanGains(ObjectiveGains):
    """`Mean` on rows."""

    per_row: ClassVar[tuple[str, ...]] = ("worth", "numbers")

    numbers: Units  # (n_rows,) the target, in multiples of `number_unit`
    number_unit: Fraction
    mean: Mean
    middle: Fraction  # where worth is 0, in multiples of `number_unit`
    change: float = 0.0  # how far the sum of the target over any rows may be from the true one

    def at(self, middle: Fraction) -> MeanGains:
        """The gains where `middle` is the number from which on a row is worth covering.

        It is in multiples of `number_unit`.
        """
        worth = self.mean.sign * (self.numbers * middle.denominator - middle.numerator)
        unit = self.number_unit / middle.denominator / self.weight_scale
        return replace(self, worth=worth, unit=unit, middle=middle)

    def mean_of(self, fires: NDArray[np.bool_]) -> Fraction | None:
        """The exact mean of some rows in multiples of `number_unit`; None where there are none."""
        weights = self.weights[fires]
        total = int(weights.sum())
        return Fraction(int((self.numbers[fires] * weights).sum()), total) if total else None

    def shown(self, middle: Fraction | None) -> float:
        """A mean in the unit of the target; NaN for none."""
        return math.nan if middle is None else float(middle * self.number_unit)

    def told(self, mean: float, overall: float, covered: int) -> str:
        """The two means, in words."""
        show, middle = with_unit(self.mean.unit), self.shown(self.middle)
        inside, whole = (middle + self.mean.sign * each for each in (mean, overall))
        rows = "row" if covered == 1 else "rows"
        return f"a mean of {show(inside)} in {covered:,} {rows}, {show(whole)} overall"

    def account(self, fires: NDArray[np.bool_], label: int) -> Account:
        """The means inside and outside."""
        n_inside = int(fires.sum())
        inside, outside = self.shown(self.mean_of(fires)), self.shown(self.mean_of(~fires))
        return mean_account((n_inside, inside), (len(fires) - n_inside, outside), self.mean.unit)


def mean_account(inside: tuple[int, float], outside: tuple[int, float], unit: str) -> Account:
    """Rows and mean inside of a rule, and outside."""
    (n_inside, mean), (n_outside, other), show = inside, outside, with_unit(unit)
    rows = "row" if n_inside == 1 else "rows"
    sentence = f"has a mean of {show(mean)} in {n_inside:,} covered {rows}"
    if n_outside:
        sentence += f", {show(other)} in the other {n_outside:,}"
    numbers: dict[str, Any] = {"mean inside": mean, "mean outside": other}
    return Account(sentence, numbers, unit)


def _bound(mean: Mean, numbers: NumberUnits, held: WeightUnits, middle: Fraction) -> MeanGains:
    plainly = MeanGains.of_units(
        numbers, held, numbers=numbers.units, number_unit=numbers.unit, mean=mean, middle=middle
    )
    return replace(plainly, change=plainly.rounding).at(middle)
