"""The rows that an objective is bound to, and the columns that it reads from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.checks import is_finite
from opdt.errors import InputError
from opdt.table import Source, Table
from opdt.table.frames import check_rows, find_column, from_values
from opdt.table.raw import BadRows, Raw, as_numeric

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoundRows:
    """What `Objective.bind` is given: the rows, coded and as they came.

    Attributes
    ----------
    table : Table
        The features (without the columns that the objective names), classes and row weights. An
        objective without classes has one class only, its own word.
    source : Source or None
        All columns as they came; None where the user gave a `Table`.
    y : array-like, column name, or None
        As the user gave it; for objectives whose target holds no classes.
    label : int or None
        The code of the class that rules are for; None where any may be it.
    """

    table: Table
    source: Source | None = None
    y: Any = None
    label: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def cells(self, argument: str, given: Any) -> Raw:
        """The cells of a column that is named, or of an array of shape (n_rows,), as they came.

        Parameters
        ----------
        argument : str
            As the user wrote it, for messages.
        given : str or array-like
        """
        if isinstance(given, str):
            if self.source is None:
                raise InputError(
                    f"'{argument}' names the column {given!r}, but a Table holds features only; "
                    f"give its values, one for each row."
                )
            return self.source.column(find_column(self.source, given))
        if self.source is not None:
            check_rows(self.source, given, f"'{argument}'")
        raw = from_values(given, f"'{argument}'")
        if len(raw.values) != self.n_rows:
            raise InputError(
                f"'{argument}' has {len(raw.values):,} values, but X has {self.n_rows:,} rows; "
                "give one for each row, or name a column of X."
            )
        return raw

    def numbers(self, argument: str, given: Any) -> Numbers:
        """The numbers of a column that is named, of an array, or one number for all rows.

        Returns
        -------
        ndarray of float64 of shape (n_rows,)
            Finite: cells that are missing or no numbers are refused in one sentence.
        """
        if is_finite(given):
            return np.full(self.n_rows, float(given))
        what = f"'{argument}' (column {given!r})" if isinstance(given, str) else f"'{argument}'"
        try:
            raw = as_numeric(self.cells(argument, given), what)
        except BadRows as error:
            raise InputError(
                f"{error.before} (first at row {error.row}), but numbers are needed; name another "
                "column, or clean it."
            ) from None
        if raw.missing is not None:
            raise BadRows(f"{what} is missing", raw.missing, "; fill the cells or drop the rows.")
        if raw.values.dtype.kind == "M":
            raise InputError(f"{what} holds dates, but numbers are needed.")
        values: Numbers = raw.values.astype(np.float64)
        if not np.isfinite(values).all():
            raise BadRows(f"{what} is not finite", ~np.isfinite(values), "; drop the rows.")
        return values

    def target(self) -> Numbers:
        """The target as numbers, shape (n_rows,)."""
        if self.y is None:
            raise InputError("'y' must be the numbers of the rows, or the name of their column.")
        return self.numbers("y", self.y)
