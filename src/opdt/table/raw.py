"""One column of any input as a plain NumPy array and its missing mask.

Whatever comes in, only these value types go out: bool, int64, uint64 (only where int64 is too
small), float64, datetime64, and object. Missing cells hold 0, NaN, NaT or None respectively.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.table.kinds import Kind

# Recognised by name so that pandas need not be installed to recognise pandas' missing values.
_MISSING_TYPES = {"NoneType", "NAType", "NaTType", "MaskedConstant"}
_INTEGERS = (int, np.integer, np.bool_)
_NUMBERS = (*_INTEGERS, float, np.floating, Decimal)
_INSTANTS = (dt.date, np.datetime64)
_MAY_BE_NAN = (float, np.floating, Decimal, np.datetime64, np.timedelta64)
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?$")


@dataclass(frozen=True, eq=False)
class Raw:
    """The values of one column before coding.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        One of the types listed in the module's docstring.
    missing : ndarray of bool of shape (n_rows,), or None
        None when no value is missing.
    kind : Kind
        What the content suggests; the user may override it.
    order : tuple of levels
        Where the type says how the levels are ordered, from the lowest to the highest.
    is_duration : bool
        Whether the values are durations, in seconds.
    is_declared : bool
        Whether the type itself says that the cells are levels.
    zone : str
        "UTC" where the values are instants of a type that knows its time zone.
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None
    kind: Kind
    order: tuple[Any, ...] = ()
    is_duration: bool = False
    is_declared: bool = False
    zone: str = ""

    @property
    def mask(self) -> NDArray[np.bool_]:
        """The missing mask as an array, also where nothing is missing."""
        return np.zeros(len(self.values), dtype=bool) if self.missing is None else self.missing


def from_array(values: NDArray[Any], what: str) -> Raw:
    """Return a one-dimensional NumPy array of any type as a `Raw` column.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    what : str
        How an error calls it, such as "column 'age'".
    """
    if isinstance(values, np.ma.MaskedArray):
        plain = from_array(values.filled(_filler(values)), what)
        return with_missing(plain, np.ma.getmaskarray(values))
    kind = values.dtype.kind
    if kind == "f":
        return _floats(values)
    if kind in "iub":
        return Raw(_integers(values), None, Kind.NUMERIC)
    if kind == "M":
        if np.datetime_data(values.dtype)[0] == "generic":
            values = values.astype("datetime64[s]")
        return _masked(values, np.isnat(values), Kind.NUMERIC)
    if kind == "O":
        return from_objects(values, what)
    if kind in "UST":
        return Raw(values.astype(object), None, Kind.CATEGORICAL)
    if kind == "c":
        raise InputError(
            f"{what} is complex: Complex data not supported; pass real and imaginary parts apart."
        )
    if kind == "m":
        return _seconds(values)
    raise InputError(f"{what} has the type {values.dtype}, which is neither number, date nor text.")


def from_objects(values: NDArray[Any], what: str) -> Raw:
    """Return an array of Python objects as a `Raw` column, judged by its content."""
    missing = _missing_objects(values.tolist())
    present = values if missing is None else values[~missing]
    types = set(map(type, present.tolist()))
    if not types:
        return Raw(np.full(len(values), np.nan), missing, Kind.NUMERIC)
    if all(issubclass(t, _NUMBERS) for t in types):
        return _scatter(_numbers(present, types), missing, len(values))
    if all(issubclass(t, _INSTANTS) for t in types):
        dates = _scatter(_instants(present.tolist(), what), missing, len(values))
        aware = isinstance(present[0], dt.datetime) and present[0].tzinfo is not None
        return replace(dates, zone="UTC") if aware else dates
    if any(issubclass(t, complex | np.complexfloating) for t in types):
        raise InputError(
            f"{what} is complex: Complex data not supported; pass real and imaginary parts apart."
        )
    if all(issubclass(t, dt.timedelta | np.timedelta64) for t in types):
        blank = np.timedelta64("NaT", "s")
        cells = [blank if v is None or v != v else np.timedelta64(v) for v in values.tolist()]
        return _seconds(np.array(cells))
    if missing is not None:
        values = values.copy()
        values[missing] = None
    return Raw(values, missing, Kind.CATEGORICAL)


def from_sequence(values: Sequence[Any], what: str) -> Raw:
    """Return a list or tuple of cells as a `Raw` column, judged by its content."""
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return from_objects(cells, what)


def with_missing(raw: Raw, missing: NDArray[np.bool_] | None) -> Raw:
    """Return the column with further cells marked as missing."""
    if missing is None or not missing.any():
        return raw
    values = raw.values.copy()
    values[missing] = _blank(values.dtype)
    return replace(raw, values=values, missing=missing | raw.mask)


class BadRows(InputError):
    """Rows that cannot be used: how many, and where the first of them is.

    Parameters
    ----------
    before, after : str
        What the message says before and after the rows.
    mask : ndarray of bool of shape (n_rows,)
        The bad ones.
    at : ndarray of integers, optional
        The rows that the mask speaks of; 0, 1, 2, … if left out.
    """

    def __init__(
        self,
        before: str,
        mask: NDArray[np.bool_],
        after: str,
        at: NDArray[np.integer[Any]] | None = None,
    ) -> None:
        first = int(mask.argmax())
        self.before, self.after, self.count = before, after, int(mask.sum())
        self.row = first if at is None else int(at[first])
        super().__init__(self._said(f"at row {self.row}"))

    def _said(self, where: str) -> str:
        many = "s" if self.count > 1 else ""
        return f"{self.before} in {self.count} row{many} (first {where}){self.after}"

    def behind(self, rows: int) -> BadRows:
        """The same error for rows that come after others."""
        other = BadRows.__new__(BadRows)
        vars(other).update(vars(self), row=self.row + rows)
        InputError.__init__(other, other._said(f"at row {other.row}"))
        return other

    def in_file(self, line: int, path: str) -> InputError:
        """The same error, naming the line of a file rather than the row of a table."""
        return InputError(self._said(f"in line {line} of {path}"))


def as_numeric(raw: Raw, what: str) -> Raw:
    """Return a column as numbers or dates, reading them out of text where it holds text."""
    if raw.values.dtype != object:
        return Raw(raw.values, raw.missing, Kind.NUMERIC)
    judged = from_objects(raw.values, what)
    if judged.kind is Kind.NUMERIC:
        return judged
    cells = raw.values.tolist()
    parsed = {cell: _parse(cell) for cell in set(cells)}
    bad = np.array([cell is not None and parsed[cell] is None for cell in cells])
    if bad.any():
        raise BadRows(
            f"{what} holds no number but {cells[bad.argmax()]!r} or the like",
            bad,
            "; clean it or treat the column as categorical.",
        )
    result = from_sequence([parsed[cell] for cell in cells], what)
    if result.kind is not Kind.NUMERIC:
        raise InputError(f"{what} mixes numbers and dates; make it one of them.")
    return result


def _parse(cell: object) -> int | float | np.datetime64 | None:
    """Return the number or ISO date that a cell spells, or None."""
    if isinstance(cell, _NUMBERS):
        return cell  # type: ignore[return-value]
    if not isinstance(cell, str):
        return None
    for read in (int, float):
        try:
            return read(cell)
        except ValueError:
            continue
    return np.datetime64(cell.strip()) if _ISO_DATE.match(cell.strip()) else None


def _missing_objects(cells: list[Any]) -> NDArray[np.bool_] | None:
    types = set(map(type, cells))
    empty = {t for t in types if t.__name__ in _MISSING_TYPES}
    maybe = {t for t in types - empty if issubclass(t, _MAY_BE_NAN)}
    if not empty and not maybe:
        return None
    mask = np.fromiter(
        (type(c) in empty or (type(c) in maybe and bool(c != c)) for c in cells), bool, len(cells)
    )
    return mask if mask.any() else None


def _floats(values: NDArray[Any]) -> Raw:
    # Adding zero turns -0.0 into 0.0, so that equal values also look equal.
    values = np.add(values, 0.0, dtype=np.float64)
    return _masked(values, np.isnan(values), Kind.NUMERIC)


def _integers(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "b":
        return values
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        fits = values.size == 0 or int(values.max()) <= np.iinfo(np.int64).max
        return values.astype(np.int64) if fits else values
    return values.astype(np.int64, copy=False)


def _numbers(present: NDArray[Any], types: set[type]) -> NDArray[Any]:
    if all(issubclass(t, bool | np.bool_) for t in types):
        return present.astype(bool)
    if all(issubclass(t, _INTEGERS) for t in types):
        for dtype in (np.int64, np.uint64):
            try:
                return present.astype(dtype)
            except OverflowError:
                continue
    return present.astype(np.float64) + 0.0


def _instants(present: list[Any], what: str) -> NDArray[Any]:
    aware = [isinstance(v, dt.datetime) and v.tzinfo is not None for v in present]
    if any(aware):
        if not all(aware):
            raise InputError(
                f"{what} mixes dates with and without a time zone; give all of them one."
            )
        present = [v.astimezone(dt.UTC).replace(tzinfo=None) for v in present]
    # pandas' timestamps know nanoseconds, which np.datetime64() would drop.
    return np.array(
        [v.to_datetime64() if hasattr(v, "to_datetime64") else np.datetime64(v) for v in present]
    )


def _scatter(present: NDArray[Any], missing: NDArray[np.bool_] | None, n_rows: int) -> Raw:
    """Spread the present values over all rows, blanks where they are missing."""
    if missing is None:
        return Raw(present, None, Kind.NUMERIC)
    values = np.full(n_rows, _blank(present.dtype), dtype=present.dtype)
    values[~missing] = present
    return Raw(values, missing, Kind.NUMERIC)


def _masked(values: NDArray[Any], mask: NDArray[np.bool_], kind: Kind) -> Raw:
    return Raw(values, mask if mask.any() else None, kind)


def _blank(dtype: np.dtype[Any]) -> Any:
    blanks = {"f": np.nan, "M": np.datetime64("NaT", "s"), "O": None, "b": False}
    return blanks.get(dtype.kind, 0)


def _filler(values: np.ma.MaskedArray[Any, Any]) -> Any:
    return "" if values.dtype.kind in "UST" else _blank(values.dtype)


def _seconds(values: NDArray[Any]) -> Raw:
    """Durations as seconds."""
    if np.datetime_data(values.dtype)[0] in ("generic", "Y", "M"):
        values = values.astype("timedelta64[s]")
    seconds = values / np.timedelta64(1, "s")
    return replace(_floats(seconds), is_duration=True)
