"""What a rule set is charged, in whole units.

For the rows of one class, the *wanted* rows, and rules k = 1, 2, … that point to it,

    loss = weight of the wanted rows that no rule covers
         + sum over the rules of the weight of the other rows that they cover
         + price × number of conditions of all rules.

A row of another class that two rules cover is charged twice (the Hamming loss of Dash, Günlük and
Wei 2018), so the loss is never less than the number of wrong predictions; it is linear in the
choice of rules, and that is what makes a bound possible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.checks import check_number
from opdt.errors import InputError
from opdt.objectives.gains import as_written
from opdt.problem import Problem, RowGains

# Losses in units stay below this where weights allow: exact as doubles in any order of adding
# up, far finer than the tolerances of a linear program, and with room for the search's ties.
ROOM = 2**40
# The weight of all rows in units never exceeds this, so that doubles hold losses exactly.
MOST = 2**50

Floats = NDArray[np.float64]  # whole numbers below 2**53, which doubles hold and add exactly


@dataclass(frozen=True, eq=False)
class Loss:
    """The loss of rule sets for one class.

    Attributes
    ----------
    label : int
        The code of the class.
    wanted : ndarray of bool of shape (n_rows,)
        Rows of the class.
    weights : ndarray of float64 of shape (n_rows,)
        Row weights in units.
    price : int
        What one condition costs, in units.
    step : int
        Every loss is a multiple of so many units.
    unit : Fraction
        How many rows one unit is.
    objective : RowGains
        Row weights as the constraints count them.
    """

    label: int
    wanted: NDArray[np.bool_]
    weights: Floats
    price: int
    step: int
    unit: Fraction
    objective: RowGains

    @classmethod
    def of(cls, problem: Problem, condition_price: Any) -> Loss:
        """The loss of rules for the class that the problem's rules point to."""
        (label,) = problem.objective.labels
        weights, scale = problem.objective.weights, problem.objective.weight_scale
        total = int(weights.sum())
        # Beyond the weight of all rows a price forbids every condition, however high it is.
        price = min(check_price(condition_price) * scale, Fraction(total + 1))
        fine = price.denominator
        if total * fine > MOST:
            raise InputError(
                f"'condition_price' is {condition_price!r}, which has too many digits to be added "
                "exactly beside these row weights; round it, or round the weights."
            )
        fine *= max(1, 2 ** (ROOM.bit_length() - (total * fine).bit_length() - 1))
        in_units = weights * fine
        step = math.gcd(int(np.gcd.reduce(in_units)), int(price * fine))
        return cls(
            label=label,
            wanted=problem.table.labels == label,
            weights=in_units.astype(np.float64),
            price=int(price * fine),
            step=step,
            unit=Fraction(1, scale * fine),
            objective=RowGains(in_units, Fraction(1), (label,), weights, scale),
        )

    @property
    def missed(self) -> Floats:
        """What missing each wanted row costs, shape (n_wanted,)."""
        return self.weights[self.wanted]

    def gains(self, multipliers: Floats, scale: int = 1) -> RowGains:
        """What a rule gains by each row that it covers, if covering wanted rows is worth so much.

        Parameters
        ----------
        multipliers : ndarray of shape (n_wanted,)
            Whole numbers, `scale` of which make one unit.
        scale : int
            How many times everything is taken.
        """
        gains = -scale * self.weights
        gains[self.wanted] = multipliers
        of = self.objective
        return RowGains(gains.astype(np.int64), of.unit, of.labels, of.weights, of.weight_scale)

    def cost(self, cover: NDArray[np.bool_], n_conditions: int) -> int:
        """What a rule is charged whichever other rules are chosen: other rows and conditions."""
        return int(self.weights[cover & ~self.wanted].sum()) + self.price * n_conditions

    def up(self, loss: float) -> int:
        """The least loss of a rule set that is not below this number of units."""
        return math.ceil(Fraction(loss) / self.step) * self.step

    def in_rows(self, loss: float) -> float:
        """A number of units in rows."""
        return float(Fraction(loss) * self.unit)


def check_price(condition_price: Any) -> Fraction:
    """The price of a condition as an exact number."""
    wanted = "a finite number of rows >= 0 (the price of one condition)"
    check_number("condition_price", condition_price, wanted, lambda n: 0 <= n < math.inf)
    return as_written(condition_price)
