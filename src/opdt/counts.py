"""What a rule does on rows, as counts, and the only definition of what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


class Shares:
    """Precision and coverage of anything that counts `covered`, `errors` and `n_rows`.

    Counts are whole numbers of rows, or sums of row weights.
    """

    covered: float
    errors: float
    n_rows: float

    @property
    def correct(self) -> float:
        """Covered rows of the rule's own class."""
        if isinstance(self.covered, int) and isinstance(self.errors, int):
            return self.covered - self.errors
        # As decimals, so that 10.1 - 1.25 is 8.85 and not a little more than any bound on it.
        return float(Decimal(repr(float(self.covered))) - Decimal(repr(float(self.errors))))

    @property
    def precision(self) -> float:
        """Share of the covered rows that are of the rule's class; NaN if none is covered."""
        return ratio(self.correct, self.covered)

    @property
    def coverage(self) -> float:
        """Share of all rows that are covered; NaN if there are none."""
        return ratio(self.covered, self.n_rows)


@dataclass(frozen=True)
class RuleCounts(Shares):
    """The rows of a table, and what a rule does on them.

    Attributes
    ----------
    n_rows, n_class : int, or float with weights
        All rows, and those of the rule's class.
    covered, errors : int, or float with weights
        Rows on which the rule fires, and those of another class among them.
    """

    n_rows: float
    n_class: float
    covered: float
    errors: float

    @property
    def base_rate(self) -> float:
        """Share of the rule's class in all rows; NaN if there are none."""
        return ratio(self.n_class, self.n_rows)

    @property
    def lift(self) -> float:
        """Precision over base rate; NaN if one of them does not exist or the latter is 0."""
        return ratio(self.precision, self.base_rate)

    def value_at(self, w: float) -> float:
        """The volume-impurity index covered - w × errors at a price of one error."""
        return self.covered - w * self.errors if self.errors else self.covered


def ratio(part: float, whole: float) -> float:
    """A share; NaN of nothing."""
    return float(part / whole) if whole else float("nan")
