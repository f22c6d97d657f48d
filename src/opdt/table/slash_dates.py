"""Dates of days and months in an order that only the cells can tell: 29/02/2024, 02/29/2024."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_CLOCK = (
    r"(?:[ T](?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>[0-5][0-9])(?:\.(?P<part>[0-9]{1,6}))?)?)?"
)
# the same mark twice: 1/2/2024, 1.2.2024, 1-2-2024
_MARKS = "|".join(
    rf"(?P<one{i}>[0-9]{{1,2}}){mark}(?P<two{i}>[0-9]{{1,2}}){mark}(?P<year{i}>[0-9]{{4}})"
    for i, mark in enumerate(("/", r"\.", "-"))
)
_PATTERN = f"^(?:{_MARKS}){_CLOCK}$"
Whole = NDArray[np.int64]


class _Parts(NamedTuple):
    """The numbers of the cells that are not null, and their places; `clock` in microseconds."""

    at: NDArray[np.intp]
    one: Whole
    two: Whole
    year: Whole
    clock: Whole
    has_clock: NDArray[np.bool_]


def orders(column: pa.ChunkedArray) -> tuple[bool, bool, bool]:
    """Whether all cells are dates with the day first, with the month first, without a time."""
    parts = _parts(column)
    if parts is None:
        return False, False, False
    day_first = bool(_is_date(parts.one, parts.two, parts.year).all())
    month_first = bool(_is_date(parts.two, parts.one, parts.year).all())
    return day_first, month_first, not parts.has_clock.any()


def in_some_order(column: pa.ChunkedArray) -> bool:
    """Whether each cell is a date, in one order or the other."""
    parts = _parts(column)
    if parts is None:
        return False
    either = _is_date(parts.one, parts.two, parts.year) | _is_date(parts.two, parts.one, parts.year)
    return bool(either.all())


def moments(column: pa.ChunkedArray, *, day_first: bool) -> pa.Array:
    """The dates of cells for which that order is one of `orders`; microseconds, without a zone."""
    parts = _parts(column)
    assert parts is not None
    day, month = (parts.one, parts.two) if day_first else (parts.two, parts.one)
    start = _month(parts.year, month).astype("datetime64[us]")
    ticks = np.full(len(column), np.datetime64("NaT"), "datetime64[us]")
    days = (day - 1) * np.timedelta64(1, "D").astype("timedelta64[us]")
    ticks[parts.at] = start + days + parts.clock.astype("timedelta64[us]")
    return pa.array(ticks, pa.timestamp("us"))


def _is_date(day: Whole, month: Whole, year: Whole) -> NDArray[np.bool_]:
    fits = (month >= 1) & (month <= 12)
    start = _month(year, np.where(fits, month, 1))
    length = ((start + 1).astype("datetime64[D]") - start.astype("datetime64[D]")).astype(np.int64)
    return np.asarray(fits & (day >= 1) & (day <= length))


def _month(year: Whole, month: Whole) -> NDArray[np.datetime64]:
    return np.asarray(((year - 1970) * 12 + month - 1).astype("datetime64[M]"))


def _parts(column: pa.ChunkedArray) -> _Parts | None:
    """The numbers of all cells; None where one is not written so."""
    cells = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(cells, pa.ChunkedArray):
        cells = pa.concat_arrays(cells.chunks)
    at = np.flatnonzero(pc.is_valid(cells).to_numpy(zero_copy_only=False))
    found = pc.extract_regex(cells.drop_null(), _PATTERN)
    if found.null_count:
        return None

    def number(name: str) -> Whole:
        digits = found.field(name)
        digits = pc.if_else(pc.equal(digits, ""), "0", digits)
        return np.asarray(digits.cast(pa.int64()).to_numpy(zero_copy_only=False))

    def any_of(name: str) -> Whole:
        return np.asarray(sum(number(f"{name}{i}") for i in range(3)))

    part = pc.if_else(pc.equal(found.field("part"), ""), "0", found.field("part"))
    micro = pc.utf8_rpad(part, 6, "0").cast(pa.int64()).to_numpy(zero_copy_only=False)
    seconds = (number("hour") * 60 + number("minute")) * 60 + number("second")
    has_clock = pc.not_equal(found.field("hour"), "").to_numpy(zero_copy_only=False)
    return _Parts(
        at, any_of("one"), any_of("two"), any_of("year"), seconds * 1_000_000 + micro, has_clock
    )
