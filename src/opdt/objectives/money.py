"""What a rule brings in money: the benefit of rows of its class, less the cost of all others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.checks import is_finite
from opdt.errors import InputError
from opdt.objectives.evidence import log_chance_of_classes
from opdt.objectives.gains import (
    GAIN_ROOM,
    NumberUnits,
    ObjectiveGains,
    Units,
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
        benefit, cost = self._amounts(rows, held)
        worth = np.where(right, benefit.units, -cost.units)
        numbers = NumberUnits(worth, benefit.unit, benefit.rounding + cost.rounding)
        return MoneyGains.of_units(
            numbers,
            held,
            label=rows.label,
            right=right,
            other=np.where(right, -cost.units, benefit.units),
            class_name=str(table.classes[rows.label]),
            money=self.unit,
        )

    def _amounts(self, rows: BoundRows, held: WeightUnits) -> tuple[NumberUnits, NumberUnits]:
        """Benefit and cost of each row in the same whole units: exactly, or rounded for room."""
        room = GAIN_ROOM // max(1, int(held.units.max(initial=1)))
        benefit = _amounts(rows, "benefit", self.benefit)
        cost = _amounts(rows, "cost", self.cost)
        if isinstance(cost, np.ndarray) and (cost < 0).any():
            raise BadRows(
                "'cost' is negative", cost < 0, "; write what a row of another class costs as a "
                "positive number.",
            )  # fmt: skip
        parts = [_in_units(amounts, rows.n_rows, room) for amounts in (benefit, cost)]
        if all(part is not None and not part.rounding for part in parts):
            joined = _joined(parts[0], parts[1], room)  # type: ignore[arg-type]
            if joined is not None:
                return joined
        both = np.concatenate([_floats(each, rows.n_rows) for each in (benefit, cost)])
        rough = number_units(both, room, "benefit")
        first, second = np.split(rough.units, 2)
        return NumberUnits(first, rough.unit, rough.rounding), NumberUnits(second, rough.unit)

    @property
    def words(self) -> Words:
        """Net benefit in its unit."""
        show = with_unit(self.unit)
        return Words("net benefit", "a larger net benefit", "a net benefit", show, show)


@dataclass(frozen=True, eq=False, kw_only=True)
class MoneyGains(ObjectiveGains):
    """`Money` on rows."""

    per_row: ClassVar[tuple[str, ...]] = ("worth", "right", "other")
    chance_by_rows: ClassVar[bool] = True
    shuffled: ClassVar[str] = "classes are shuffled"

    right: NDArray[np.bool_]  # (n_rows,) rows of the rule's class
    other: Units  # (n_rows,) what the row would be worth if it were not, or were, of the class
    class_name: str
    money: str

    def wrong(self, label: int) -> NDArray[np.bool_]:
        """Rows of another class."""
        return ~self.right

    def permuted(self, order: Units, *, with_weights: bool) -> MoneyGains:
        """Classes in another order; amounts stay with their rows."""
        right = self.right[order]
        swapped = right != self.right
        weights = self.weights[order] if with_weights else self.weights
        return replace(
            self,
            right=right,
            worth=np.where(swapped, self.other, self.worth),
            other=np.where(swapped, self.worth, self.other),
            weights=weights,
        )

    def chance(self, fires: NDArray[np.bool_], mean: float) -> tuple[float, float]:
        """Where the classes are dealt to the rows anew, and the amounts stay."""
        there = self.weights > 0
        fires, unit = fires & there, float(self.unit * self.weight_scale)
        share = float(self.right[there].mean())
        of_class = np.where(self.right, self.worth, self.other)[fires] * unit
        of_others = np.where(self.right, self.other, self.worth)[fires] * unit
        extra, right = of_class - of_others, self.right[fires]
        expected = float((of_others + share * extra).mean()) if len(extra) else 0.0
        if (extra < 0).any():  # then the bound does not hold
            return 0.0, expected
        return log_chance_of_classes(extra, share, float(extra[right].sum())), expected

    def told(self, mean: float, overall: float, covered: int) -> str:
        """What a covered row brings, and what by chance, in words."""
        show, rows = with_unit(self.money), "row" if covered == 1 else "rows"
        by_chance = f"{show(overall)} were the class spread by chance"
        return f"brings {show(mean)} a row in {covered:,} {rows}, {by_chance}"

    def account(self, fires: NDArray[np.bool_], label: int) -> Account:
        """Benefits and costs, and what is left."""
        gains, unit = self.gains(label), self.unit
        right, wrong = fires & self.right, fires & ~self.right
        benefit = float(int(gains[right].sum()) * unit)
        cost = -float(int(gains[wrong].sum()) * unit)
        net = float(int(gains[fires].sum()) * unit)
        parts = (int(right.sum()), benefit), (int(wrong.sum()), cost)
        return money_account(*parts, self.class_name, self.money, net)


def money_account(
    right: tuple[int, float],
    wrong: tuple[int, float],
    class_name: str,
    unit: str,
    net: float | None = None,
) -> Account:
    """What a rule brings: its rows of the class and their benefit, the others and their cost."""
    (n_right, benefit), (n_wrong, cost) = right, wrong
    net, show = benefit - cost if net is None else net, with_unit(unit)
    verb = f"brings {show(net)}" if net >= 0 else f"loses {show(-net)}"
    rows = "row" if n_right == 1 else "rows"
    others = "other" if n_wrong == 1 else "others"
    return Account(
        f"{verb}: {show(benefit)} from {n_right:,} {rows} of {class_name}, less "
        f"{show(cost)} for {n_wrong:,} {others}",
        {"net benefit": net, "benefit": benefit, "cost": cost},
        unit,
    )


def _amounts(rows: BoundRows, name: str, given: Any) -> Fraction | NDArray[np.float64]:
    """One exact number for all rows, or a number for each."""
    return as_written(given) if is_finite(given) else rows.numbers(name, given)


def _floats(amounts: Fraction | NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
    return np.full(n_rows, float(amounts)) if isinstance(amounts, Fraction) else amounts


def _in_units(
    amounts: Fraction | NDArray[np.float64], n_rows: int, room: int
) -> NumberUnits | None:
    """Amounts of rows in whole units; None where they are too large."""
    if not isinstance(amounts, Fraction):
        return number_units(amounts, room, "benefit")
    if abs(amounts.numerator) * n_rows >= room:
        return None
    units = np.full(n_rows, amounts.numerator, np.int64)
    return NumberUnits(units, Fraction(1, amounts.denominator))


def _joined(
    benefit: NumberUnits, cost: NumberUnits, room: int
) -> tuple[NumberUnits, NumberUnits] | None:
    """Both in the largest unit that they are multiples of; None without room."""
    one, other = benefit.unit, cost.unit
    unit = Fraction(
        math.gcd(one.numerator * other.denominator, other.numerator * one.denominator),
        one.denominator * other.denominator,
    )
    factors = int(one / unit), int(other / unit)
    sizes = [float(np.abs(part.units).sum()) for part in (benefit, cost)]
    if factors[0] * sizes[0] + factors[1] * sizes[1] >= room:
        return None
    return NumberUnits(benefit.units * factors[0], unit), NumberUnits(cost.units * factors[1], unit)
