"""What a rule brings in money: the benefit of rows of its class, less the cost of all others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.checks import is_finite
from opdt.errors import InputError
from opdt.objectives.gains import (
    GAIN_ROOM,
    NumberUnits,
    ObjectiveGains,
    WeightUnits,
    as_written,
    hold_weights,
    number_units,
)
from opdt.objectives.objective import Objective
from opdt.objectives.rows import BoundRows
from opdt.objectives.words import Account, Words, with_unit
from opdt.table.raw import BadRows


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Money(Objective):
    """The benefit of covered rows of the rule's class, less the cost of covered rows of another.

    The best rule is the one of the largest net benefit: the *optimised gain* of Fukuda et al.
    (1996), for any conjunction of conditions. Rules are for one class, which `label` says.

    Parameters
    ----------
    benefit : number, column name, or array-like of shape (n_rows,)
        What a covered row of the rule's class brings. It may be negative, where a row is not worth
        the work.
    cost : number, column name, or array-like of shape (n_rows,)
        What a covered row of another class costs; not negative.
    unit : str
        That of both, for texts: "EUR".

    A column that is named is no feature. Where rules may use it as well, give its values:
    ``benefit=X["amount"]``. Numbers and columns of up to six decimals are exact; of others
    `Solution.rounding` says how far the value may be off.

    References
    ----------
    Fukuda, T., Morimoto, Y., Morishita, S. and Tokuyama, T. (1996). Data mining using
    two-dimensional optimized association rules. SIGMOD Record 25(2), 13–23.

    Examples
    --------
    >>> from opdt import discover
    >>> claims = {"hour": [2, 3, 4, 14, 15, 16], "amount": [900, 20, 400, 50, 80, 60]}
    >>> fraud = ["yes", "no", "yes", "no", "no", "yes"]
    >>> print(discover(claims, fraud, label="yes", max_depth=1,
    ...                objective=Money(benefit="amount", cost=40, unit="EUR")).account)
    brings 1,260 EUR: 1,300 EUR from 2 rows of yes, less 40 EUR for 1 other
    """

    kind: ClassVar[str] = "money"
    reads: ClassVar[tuple[str, ...]] = ("benefit", "cost")

    benefit: Any = 1
    cost: Any = 1
    unit: str = ""

    def __post_init__(self) -> None:
        for name in self.reads:
            given = getattr(self, name)
            if given is None or isinstance(given, bool) or (np.isscalar(given) and not (
                isinstance(given, str) or is_finite(given)
            )):  # fmt: skip
                raise InputError(
                    f"'{name}' must be a number, the name of a column or one number for each row, "
                    f"got {given!r}."
                )
        if is_finite(self.cost) and self.cost < 0:
            raise InputError(
                f"'cost' must not be negative, got {self.cost!r}: it is what a covered row of "
                "another class costs; write it as a positive number."
            )
        if not isinstance(self.unit, str):
            raise InputError(f"'unit' must be text, got {self.unit!r}.")

    def bind(self, rows: BoundRows) -> MoneyGains:
        """The benefit of rows of the class, minus the cost of others."""
        table = rows.table
        if rows.label is None:
            shown = ", ".join(map(repr, table.classes.tolist()[:5]))
            raise InputError(
                "'label' must say which class brings the benefit when the objective is Money; the "
                f"classes are {shown}."
            )
        right = table.labels == rows.label
        held = hold_weights(table.weights, table.n_rows)
        worth = self._worth(rows, right, held)
        name = str(table.classes[rows.label])
        return MoneyGains.of_units(
            worth, held, label=rows.label, right=right, class_name=name, money=self.unit
        )

    def _worth(self, rows: BoundRows, right: NDArray[np.bool_], held: WeightUnits) -> NumberUnits:
        """What each row is worth in whole units: exactly, or rounded where there is no room."""
        room = GAIN_ROOM // max(1, int(held.units.max(initial=1)))
        benefit = _amounts(rows, "benefit", self.benefit)
        cost = _amounts(rows, "cost", self.cost)
        if isinstance(cost, np.ndarray) and (cost < 0).any():
            raise BadRows(
                "'cost' is negative", cost < 0, "; write what a row of another class costs as a "
                "positive number.",
            )  # fmt: skip
        parts = [_in_units(benefit, right, room), _in_units(cost, ~right, room)]
        if all(part is not None and not part.rounding for part in parts):
            joined = _joined(parts[0], parts[1], room)  # type: ignore[arg-type]
            if joined is not None:
                return joined
        values = np.where(right, _floats(benefit), -_floats(cost))
        return number_units(values, room, "benefit")

    @property
    def words(self) -> Words:
        """Net benefit in its unit."""
        show = with_unit(self.unit)
        return Words("net benefit", "a larger net benefit", "a net benefit", show, show)


@dataclass(frozen=True, eq=False, kw_only=True)
class MoneyGains(ObjectiveGains):
    """`Money` on rows."""

    per_row: ClassVar[tuple[str, ...]] = ("worth", "right")

    right: NDArray[np.bool_]  # (n_rows,) rows of the rule's class
    class_name: str
    money: str

    def wrong(self, label: int) -> NDArray[np.bool_]:
        """Rows of another class."""
        return ~self.right

    def told(self, mean: float, overall: float, covered: int) -> str:
        """What a covered row and any row bring, in words."""
        show, rows = with_unit(self.money), "row" if covered == 1 else "rows"
        return f"brings {show(mean)} a row in {covered:,} {rows}, {show(overall)} overall"

    def account(self, fires: NDArray[np.bool_], label: int) -> Account:
        """Benefits and costs, and what is left."""
        gains, unit = self.gains(label), self.unit
        right, wrong = fires & self.right, fires & ~self.right
        benefit = float(int(gains[right].sum()) * unit)
        cost = -float(int(gains[wrong].sum()) * unit)
        show, n_right, n_wrong = with_unit(self.money), int(right.sum()), int(wrong.sum())
        net = float(int(gains[fires].sum()) * unit)
        verb = f"brings {show(net)}" if net >= 0 else f"loses {show(-net)}"
        rows = "row" if n_right == 1 else "rows"
        others = "other" if n_wrong == 1 else "others"
        return Account(
            f"{verb}: {show(benefit)} from {n_right:,} {rows} of {self.class_name}, less "
            f"{show(cost)} for {n_wrong:,} {others}",
            {"net benefit": net, "benefit": benefit, "cost": cost},
            self.money,
        )


def _amounts(rows: BoundRows, name: str, given: Any) -> Fraction | NDArray[np.float64]:
    """One exact number for all rows, or a number for each."""
    return as_written(given) if is_finite(given) else rows.numbers(name, given)


def _floats(amounts: Fraction | NDArray[np.float64]) -> float | NDArray[np.float64]:
    return float(amounts) if isinstance(amounts, Fraction) else amounts


def _in_units(
    amounts: Fraction | NDArray[np.float64], there: NDArray[np.bool_], room: int
) -> NumberUnits | None:
    """Amounts of the rows that they count for, 0 for others; None where they are too large."""
    if not isinstance(amounts, Fraction):
        return number_units(np.where(there, amounts, 0.0), room, "benefit")
    if abs(amounts.numerator) * len(there) >= room:
        return None
    return NumberUnits(there * np.int64(amounts.numerator), Fraction(1, amounts.denominator))


def _joined(benefit: NumberUnits, cost: NumberUnits, room: int) -> NumberUnits | None:
    """Benefits less costs in the largest unit that both are multiples of; None without room."""
    one, other = benefit.unit, cost.unit
    unit = Fraction(
        math.gcd(one.numerator * other.denominator, other.numerator * one.denominator),
        one.denominator * other.denominator,
    )
    factors = int(one / unit), int(other / unit)
    sizes = [float(np.abs(part.units).sum()) for part in (benefit, cost)]
    if factors[0] * sizes[0] + factors[1] * sizes[1] >= room:
        return None
    return NumberUnits(benefit.units * factors[0] - cost.units * factors[1], unit)
