"""What the cells of a text table may mean: numbers, truth values, dates; all others are text.

Every cell has some *readings*, and a column has those that all of its cells share. So the type of a
column is decided by all of its cells, and the same whether they come at once or piece by piece.

============  ==================================================================================
missing       nothing, ``NA``, ``N/A``, ``NaN``, ``nan``, ``null``, ``NULL``
whole number  ``5``, ``-5``, ``+5``, within 64 bits; larger ones stay text if all are whole, and so
              do codes that begin with a zero, such as ``007``
number        ``1.5``, ``.5``, ``5.``, ``1e-3``, ``inf``, ``Infinity``, ``nan`` in any case
truth value   ``true`` and ``false`` in any case
date, time    ``2024-02-29``, ``2024-02-29 13:05``, ``2024-02-29T13:05:00.123456``; also with ``Z``
              or an offset such as ``+01:00`` if all of them have one
other dates   ``29/02/2024``, ``02/29/2024 13:05``, also with points or dashes, if all cells can be
              read in one order of day and month only, or if the user names the order
============  ==================================================================================

Spaces and tabs around a cell do not count; in text they stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntFlag
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from opdt.table.missing_words import MISSING_TEXT
from opdt.table.slash_columns import SlashColumn
from opdt.table.slash_dates import Orders, cell_orders

ORDERS = ("dmy", "mdy")
_BLANKS = " \t"
_FEW = 100  # cells that are looked at one by one, before all are
_WHOLE = re.compile(r"[+-]?[0-9]+")
_CODE = re.compile(r"[+-]?0[0-9]+")
_NAN = re.compile(r"[+-]?nan", re.IGNORECASE)
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE
)
_TRUTH = re.compile(r"true|false", re.IGNORECASE)
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
_ISO = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})([ T]{_CLOCK})?")
_ZONE = r"(?:Z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)"
_ZONED = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})[ T]{_CLOCK}{_ZONE}")
_LARGEST = 1 << 63
_TRUTHS = pa.array(["true", "false"])


class Reading(IntFlag):
    """What a cell can be read as, and whether it says more than a day."""

    WHOLE = 1  # a whole number of 64 bits
    LARGE = 2  # a whole number of any size
    NUMBER = 4
    TRUTH = 8
    ISO = 16
    ZONED = 32
    SLASH = 64  # a date of days and months in whichever order
    DMY = 128
    MDY = 256
    DAY = 512  # a date without a time of day
    DOT = 1024  # a date such as 1.2.2024, which begins with the day unless the cells say otherwise

    @property
    def is_text(self) -> bool:
        """Whether there is no way to read all cells but as text, as they stand."""
        return not self & ~(Reading.DAY | Reading.SLASH | Reading.DOT)


ANY = reduce(or_, Reading)  # of a missing cell
TEXT = Reading(0)
_WHOLES = Reading.WHOLE | Reading.LARGE | Reading.NUMBER


def cell_readings(cell: str, decimal: str = ".") -> Reading:
    """The readings of one cell."""
    cell = cell.strip(_BLANKS)
    if cell in MISSING_TEXT:
        return ANY
    if _CODE.fullmatch(cell):
        return TEXT
    if _WHOLE.fullmatch(cell):
        # the length first: Python refuses to read thousands of digits
        short = len(cell.lstrip("+-0")) < 20
        small = short and -_LARGEST <= int(cell) < _LARGEST
        return _WHOLES if small else Reading.LARGE | Reading.NUMBER
    if decimal != "." and "." not in cell:
        cell = cell.replace(decimal, ".")
    elif decimal != "." and _NUMBER.fullmatch(cell):
        return TEXT
    if _NUMBER.fullmatch(cell):
        return Reading.NUMBER
    if _TRUTH.fullmatch(cell):
        return Reading.TRUTH
    for pattern, reading in ((_ISO, Reading.ISO), (_ZONED, Reading.ZONED)):
        if found := pattern.fullmatch(cell):
            if not _is_day(found[1]):
                return TEXT
            day_only = reading is Reading.ISO and found[2] is None
            return reading | Reading.DAY if day_only else reading
    return _slash(cell_orders(cell))


def column_of(texts: Sequence[str | None]) -> pa.ChunkedArray:
    """Cells as a column of text, those that mean a missing value as null."""
    column = pa.chunked_array([pa.array(texts, pa.string())])
    gone = pc.is_in(column, value_set=pa.array(MISSING_TEXT))
    return pc.if_else(gone, pa.scalar(None, pa.string()), column)


def readings(column: pa.ChunkedArray, decimal: str = ".") -> Reading:
    """The readings that all cells of a column of text share.

    Missing cells are null, as `column_of` makes them, unless there are blanks around them.
    """
    return _examined(column, decimal).found


def read(
    column: pa.ChunkedArray, decimal: str = ".", order: str | None = None
) -> tuple[Reading, pa.ChunkedArray]:
    """The readings of a column of text, and the column in the one that is `settled`.

    What was converted to find out is not converted again.
    """
    seen = _examined(column, decimal)
    form = settled(seen.found, order)
    if isinstance(seen.values, SlashColumn) and form & (Reading.DMY | Reading.MDY):
        return seen.found, _in_order(seen.values, form)
    if isinstance(seen.values, pa.ChunkedArray) and seen.values.type == type_of(form):
        return seen.found, seen.values
    return seen.found, convert(column, form, decimal)


def settled(found: Reading, order: str | None = None) -> Reading:
    """The one way in which a column is read, from the readings that its cells share.

    Parameters
    ----------
    order : "dmy" or "mdy", optional
        The order of days and months, where the cells leave it open.
    """
    if found == ANY:
        return ANY
    for reading in (Reading.WHOLE, Reading.LARGE, Reading.NUMBER, Reading.TRUTH, Reading.ZONED):
        if reading in found:
            return TEXT if reading is Reading.LARGE else reading
    if Reading.ISO in found:
        return found & (Reading.ISO | Reading.DAY)
    orders = [Reading[name.upper()] for name in ORDERS if order in (None, name)]
    possible = [one for one in orders if one in found]
    if Reading.DOT in found and Reading.DMY in possible:
        possible = [Reading.DMY]
    return found & (possible[0] | Reading.DAY) if len(possible) == 1 else TEXT


def open_dates(found: Reading, order: str | None = None) -> str | None:
    """Why dates with slashes stay text: half a sentence; None where nothing is to be said."""
    if Reading.SLASH not in found or found == ANY or settled(found, order):
        return None
    if Reading.DMY in found and Reading.MDY in found:
        return "which may begin with the day or with the month"
    if order is not None and found & (Reading.DMY | Reading.MDY):
        return f"which are not all written in the order {order!r}"
    return "some of which can only begin with the day and some only with the month"


def type_of(form: Reading) -> pa.DataType:
    """The Arrow type of a column that is read in this way."""
    if form == ANY:
        return pa.null()
    plain = {
        Reading.WHOLE: pa.int64(),
        Reading.NUMBER: pa.float64(),
        Reading.TRUTH: pa.bool_(),
        Reading.ZONED: pa.timestamp("us", tz="UTC"),
        TEXT: pa.string(),
    }
    if form in plain:
        return plain[form]
    return pa.date32() if Reading.DAY in form else pa.timestamp("us")


def convert(column: pa.ChunkedArray, form: Reading, decimal: str = ".") -> pa.ChunkedArray:
    """A column of text in the type of one of its readings, as `settled` returns it."""
    if form == ANY:
        return pa.chunked_array([pa.nulls(len(column))])
    if form == TEXT:
        return _without_padded_gaps(column)
    try:
        return _converted(column, form, decimal)
    except pa.ArrowInvalid:
        return _converted(unpadded(column), form, decimal)


def _converted(column: pa.ChunkedArray, form: Reading, decimal: str) -> pa.ChunkedArray:
    if form is Reading.WHOLE:
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            return _unsigned(column).cast(pa.int64())
    if form is Reading.NUMBER:
        return _with_point(column, decimal).cast(pa.float64())
    if form is Reading.TRUTH:
        return pc.equal(pc.ascii_lower(unpadded(column)), "true")
    if form & (Reading.DMY | Reading.MDY):
        dates = SlashColumn.of(unpadded(column))
        assert dates is not None
        return _in_order(dates, form)
    return column.cast(type_of(form))


def _in_order(dates: SlashColumn, form: Reading) -> pa.ChunkedArray:
    moments = dates.moments(day_first=Reading.DMY in form)
    return pa.chunked_array([moments.cast(type_of(form))])


def unpadded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The cells without spaces and tabs around them; those that then are missing are null."""
    if not _is_padded(column):
        return column
    cells = pc.ascii_trim(column, _BLANKS)
    gone = pc.is_in(cells, value_set=pa.array(MISSING_TEXT, cells.type))
    return pc.if_else(gone, pa.scalar(None, cells.type), cells)


def _without_padded_gaps(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text as it stands; a cell that is missing but for blanks around it is null."""
    if not _is_padded(column):
        return column
    gone = pc.is_null(unpadded(column))
    return pc.if_else(gone, pa.scalar(None, column.type), column)


def _is_padded(column: pa.ChunkedArray) -> bool:
    """Whether any cell begins or ends with a space or a tab; twice as fast as to cut them off."""
    for places, codes in _letters(column):
        full = places[1:] > places[:-1]
        for at in (places[:-1][full], places[1:][full] - 1):
            edge = codes[at]
            if ((edge == 32) | (edge == 9)).any():
                return True
    return False


def _has_zeros(column: pa.ChunkedArray) -> bool:
    """Whether any cell begins with a zero and a digit or a letter, a sign before them or not."""
    for places, codes in _letters(column):
        at, length = places[:-1].astype(np.intp), np.diff(places)
        one = codes.take(at, mode="clip")  # the last cells may be shorter than what is looked at
        signed = (one == ord("+")) | (one == ord("-"))
        for before, zero in ((0, one == ord("0")), (1, signed)):
            if before and zero.any():
                zero &= codes.take(at + 1, mode="clip") == ord("0")
            zero &= length > before + 1
            if zero.any() and (codes.take(at[zero] + before + 1) >= ord("0")).any():
                return True
    return False


def _letters(column: pa.ChunkedArray) -> Iterator[tuple[NDArray[Any], NDArray[np.uint8]]]:
    """Where the cells of each chunk begin and end, and the bytes of all of them."""
    for chunk in column.chunks:
        _, ends, letters = chunk.buffers()
        if letters is None or not len(letters) or not len(chunk):
            continue
        wide = np.int64 if pa.types.is_large_string(chunk.type) else np.int32
        places: NDArray[Any] = np.frombuffer(ends, wide)
        yield places[chunk.offset : chunk.offset + len(chunk) + 1], np.frombuffer(letters, np.uint8)


def _of_first(column: pa.ChunkedArray, decimal: str) -> Reading:
    """The readings that a few cells share, the first that are not null."""
    known, left = ANY, _FEW
    for chunk in column.chunks:
        cells = chunk.drop_null()[:left].to_pylist()
        for cell in cells:
            known &= cell_readings(cell, decimal)
            if not known:
                return known
        left -= len(cells)
        if not left:
            break
    return known


class _Seen(NamedTuple):
    """The readings of all cells, and what was made of them to find out."""

    found: Reading
    values: pa.ChunkedArray | SlashColumn | None = None


_NOTHING = _Seen(TEXT)


def _examined(column: pa.ChunkedArray, decimal: str) -> _Seen:
    known = _of_first(column, decimal)
    if known == ANY:  # these are missing; are all others?
        column = unpadded(column)
        known = _of_first(column, decimal)
    if known == ANY or known.is_text or len(column) - column.null_count <= _FEW:
        return _Seen(known)
    seen = _shared(column, known, decimal)
    if not seen.found:
        seen = _shared(unpadded(column), known, decimal)
    return _Seen(known & seen.found, seen.values)


def _shared(column: pa.ChunkedArray, known: Reading, decimal: str) -> _Seen:
    """The readings of all cells, of the family that the first cells are of."""
    if Reading.NUMBER in known:
        return _numbers(column, decimal, may_be_whole=Reading.LARGE in known)
    if Reading.TRUTH in known and _all(pc.is_in(pc.ascii_lower(column), value_set=_TRUTHS), column):
        return _Seen(Reading.TRUTH)
    if Reading.ISO in known:
        return _iso(column, may_be_days=Reading.DAY in known)
    if Reading.ZONED in known and _matches(column, _ZONED):
        values = _cast(column, Reading.ZONED)
        return _NOTHING if values is None else _Seen(Reading.ZONED, values)
    if Reading.SLASH in known:
        dates = SlashColumn.of(column)
        return _NOTHING if dates is None else _Seen(_slash(dates.orders()), dates)
    return _NOTHING


def _numbers(column: pa.ChunkedArray, decimal: str, *, may_be_whole: bool) -> _Seen:
    """Arrow reads our numbers and no others, but for nan(text) as a float, and 007 and 0x10."""
    zeros = _has_zeros(column)
    if zeros and pc.any(pc.match_substring_regex(column, f"^(?:{_CODE.pattern})$")).as_py():
        return _NOTHING
    if may_be_whole and not zeros:
        wholes = _cast(column, Reading.WHOLE)
        if wholes is not None:
            return _Seen(_WHOLES, wholes)
    if decimal != "." and pc.any(pc.match_substring(column, ".")).as_py():
        return _wholes(column) if may_be_whole and _matches(column, _WHOLE) else _NOTHING
    values = _cast(_with_point(column, decimal), Reading.NUMBER)
    if values is None:
        return _NOTHING
    total = pc.sum(values).as_py()
    if total is not None and total != total:  # there may be a NaN
        odd = column.filter(pc.is_nan(values)).unique().to_pylist()
        if not all(cell is None or _NAN.fullmatch(cell) for cell in odd):
            return _NOTHING
    no_fractions = may_be_whole and pc.all(pc.equal(pc.floor(values), values)).as_py()
    if no_fractions and _matches(column, _WHOLE):
        return _wholes(column)
    return _Seen(Reading.NUMBER, values)


def _wholes(column: pa.ChunkedArray) -> _Seen:
    values = _cast(_unsigned(column), Reading.WHOLE)
    return _Seen(Reading.LARGE | Reading.NUMBER) if values is None else _Seen(_WHOLES, values)


def _iso(column: pa.ChunkedArray, *, may_be_days: bool) -> _Seen:
    """Arrow takes an hour without minutes, which is no time of ours, and all else as we do."""
    days = _cast(column, Reading.ISO | Reading.DAY) if may_be_days else None
    if days is not None:
        return _Seen(Reading.ISO | Reading.DAY, days)
    if pc.any(pc.equal(pc.binary_length(column), 13)).as_py():
        return _NOTHING
    moments = _cast(column, Reading.ISO)
    return _NOTHING if moments is None else _Seen(Reading.ISO, moments)


def _slash(orders: Orders | None) -> Reading:
    if orders is None:
        return TEXT
    found = Reading.SLASH
    found |= Reading.DMY if orders.day_first else TEXT
    found |= Reading.MDY if orders.month_first else TEXT
    found |= Reading.DOT if orders.dotted else TEXT
    return found | (Reading.DAY if orders.day_only else TEXT)


def _cast(column: pa.ChunkedArray, form: Reading) -> pa.ChunkedArray | None:
    """The column in the type of a reading; None where Arrow cannot read a cell so."""
    try:
        return column.cast(type_of(form))
    except pa.ArrowInvalid:
        return None


def _matches(column: pa.ChunkedArray, pattern: re.Pattern[str]) -> bool:
    marks = pc.match_substring_regex(column, f"^(?:{pattern.pattern})$")
    return _all(marks, column)


def _all(marks: Any, column: pa.ChunkedArray) -> bool:
    """Whether all cells are marked but those that are null."""
    return bool(pc.all(pc.or_kleene(marks, pc.is_null(column)), min_count=0).as_py())


def _unsigned(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring_regex(column, r"^\+", "")


def _with_point(column: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    return column if decimal == "." else pc.replace_substring(column, decimal, ".")


def _is_day(text: str) -> bool:
    try:
        np.datetime64(text)
    except ValueError:
        return False
    return True
