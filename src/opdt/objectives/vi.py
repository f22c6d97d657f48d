"""The paper's objective: rows covered less the price of the errors among them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from opdt.objectives.gains import Gains, error_price, volume_impurity
from opdt.objectives.objective import Objective
from opdt.objectives.rows import BoundRows
from opdt.objectives.words import NAMED, Words


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VI(Objective):
    """The volume-impurity index VI = rows covered - w × errors among them.

    Parameters
    ----------
    w : float
        The price of one error, in rows; at least 1.

    Examples
    --------
    >>> from opdt import discover
    >>> discover({"age": [25, 31, 47, 52]}, ["well", "well", "ill", "ill"], label="ill",
    ...          max_depth=1, objective=VI(w=5)).value
    2.0
    """

    kind: ClassVar[str] = "vi"

    w: float | Fraction = 10.0

    def __post_init__(self) -> None:
        error_price(self.w)

    def bind(self, rows: BoundRows) -> Gains:
        """1 for a row of the rule's class, 1 - w for another."""
        table = rows.table
        return volume_impurity(table.labels, len(table.classes), self.w, rows.label, table.weights)

    @property
    def words(self) -> Words:
        """Those of the VI."""
        return NAMED["vi"]
