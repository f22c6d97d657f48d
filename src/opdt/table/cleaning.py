"""How the cells of a column become values: decided once, recorded, and never guessed again.

A rule speaks about the cleaned column. Every condition carries the cleaning of its column, so that
new rows are cleaned as the training rows were.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.checks import check_choice
from opdt.errors import InputError
from opdt.table.kinds import Kind
from opdt.table.numbers_in_text import read_number
from opdt.table.raw import Raw, with_missing
from opdt.table.slash_dates import cell_moment

FORMS = ("", "number", "whole", "date", "seconds")
_READ = ("number", "whole", "date")  # what is read out of text
ISO = "iso"
DATE_FORMS = (ISO, "d.m.y", "d/m/y", "m/d/y")
PARTS = ("year", "month", "day", "weekday", "hour")
UTC = "UTC"
_WHOLE = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,18})")


@dataclass(frozen=True)
class Cleaning:
    """What is done to the cells of one column before anything is compared with them.

    Attributes
    ----------
    form : {"", "number", "whole", "date", "seconds"}
        What is read out of text, or "seconds" for durations; nothing for values as they are.
        "whole" is for whole numbers that no double holds.
    decimal : {".", ","}
        The mark before the fraction of a number in text.
    unit : str
        What may stand beside a number in text; a cell with another unit cannot be read.
    dates : str
        How dates in text are written: one of `DATE_FORMS`.
    zone : {"", "UTC"}
        Of dates: "UTC" where cells are instants, which are compared in that zone.
    part : str
        What is taken of a date: one of `PARTS`, or the whole of it.
    missing : tuple of scalars
        Cells that mean that there is no value, exactly as they stand.
    renamed : tuple of (cell, level)
        Cells that are other spellings of a level.
    kept : tuple of levels
        Where not empty: all other levels are merged into `other`.
    other : str
    order : tuple of levels
        Where not empty: the levels from the lowest to the highest; the value is the place.
    """

    form: str = ""
    decimal: str = "."
    unit: str = ""
    dates: str = ISO
    zone: str = ""
    part: str = ""
    missing: tuple[Any, ...] = ()
    renamed: tuple[tuple[Any, Any], ...] = ()
    kept: tuple[Any, ...] = ()
    other: str = "other"
    order: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        for name, allowed in (
            ("form", FORMS),
            ("decimal", (".", ",")),
            ("dates", DATE_FORMS),
            ("zone", ("", UTC)),
            ("part", ("", *PARTS)),
        ):
            check_choice(f"'{name}' of a cleaning", getattr(self, name), allowed)

    def apply(self, raw: Raw) -> tuple[Raw, NDArray[np.bool_] | None]:
        """Return the column as it is compared, and the cells that could not be read.

        Cells that cannot be read are missing. Values that have their type already, as a column of
        numbers where the training rows had numbers in text, are taken as they are.
        """
        raw = self._without_missing(raw)
        unread = None
        if self.form in _READ and raw.values.dtype == object:
            raw, unread = self._parsed(raw)
        elif self.renamed or self.kept:
            raw = replace(raw, values=_mapped(raw.values, self._level))
        elif self.order and raw.values.dtype == object:
            raw, unread = self._placed(raw)
        if self.part and raw.values.dtype.kind == "M":
            raw = Raw(_part(raw.values, raw.mask, self.part), raw.missing, Kind.NUMERIC)
        return raw, unread

    def _without_missing(self, raw: Raw) -> Raw:
        if not self.missing:
            return raw
        if raw.values.dtype == object:
            gone = set(self.missing)
            cells = raw.values.tolist()
            return with_missing(raw, np.fromiter((c in gone for c in cells), bool, len(cells)))
        numbers = [m for m in self.missing if isinstance(m, int | float)]
        if raw.values.dtype.kind not in "iuf" or not numbers:
            return raw
        return with_missing(raw, np.isin(raw.values, numbers))

    def _parsed(self, raw: Raw) -> tuple[Raw, NDArray[np.bool_]]:
        read: Callable[[Any], Any]
        dtype: Any
        read, dtype, blank = {
            "number": (self._read_number, np.float64, np.nan),
            "whole": (read_whole, np.int64, 0),
            "date": (self._read_date, "datetime64[us]", np.datetime64("NaT", "us")),
        }[self.form]
        cells = raw.values.tolist()
        known: dict[Any, Any] = {cell: read(cell) for cell in set(cells)}
        missing = np.fromiter((known[c] is None for c in cells), bool, len(cells))
        values = np.array([blank if (v := known[c]) is None else v for c in cells], dtype=dtype)
        if self.form == "date":
            values = _coarse(values)
        unread = missing & ~raw.mask
        return Raw(values, missing if missing.any() else None, Kind.NUMERIC), unread

    def _read_number(self, cell: Any) -> float | None:
        if isinstance(cell, str):
            return read_number(cell, self.decimal, self.unit)
        if isinstance(cell, bool | np.bool_) or not isinstance(cell, int | float | np.number):
            return None
        return float(cell)

    def _read_date(self, cell: Any) -> np.datetime64 | None:
        if isinstance(cell, str):
            return read_date(cell, self.dates, zoned=bool(self.zone))
        if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
            cell = cell.astimezone(dt.UTC).replace(tzinfo=None)
        if isinstance(cell, dt.date):
            return np.datetime64(cell, "us")
        return cell.astype("datetime64[us]") if isinstance(cell, np.datetime64) else None

    def _level(self, cell: Any) -> Any:
        if cell is None:
            return None
        level = self._names.get(cell, cell)
        return level if not self.kept or level in self.kept else self.other

    @property
    def _names(self) -> dict[Any, Any]:
        return dict(self.renamed)

    def _placed(self, raw: Raw) -> tuple[Raw, NDArray[np.bool_]]:
        places = {level: place for place, level in enumerate(self.order)}
        cells = raw.values.tolist()
        values = np.array([places.get(c, -1) for c in cells], np.int64)
        missing = values < 0
        values[missing] = 0
        return Raw(values, missing if missing.any() else None, Kind.NUMERIC), missing & ~raw.mask

    @property
    def reads_text(self) -> bool:
        """Whether cells of text are expected, which a reader of files must not change before."""
        return self.form in _READ or bool(self.renamed or self.kept or self.order)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is done to any cell: all that is said is the zone of the dates."""
        return replace(self, zone="") == Cleaning()

    @property
    def is_plain(self) -> bool:
        """Whether the values are the cells, some of them missing or under another name.

        Then a condition can be said about the cells themselves, in any language.
        """
        return not self.form and not self.part

    def spellings(self, level: Any) -> tuple[Any, ...]:
        """The cells that are read as a level, its own name among them."""
        others = tuple(cell for cell, name in self.renamed if name == level)
        own = (
            () if any(cell == level and name != level for cell, name in self.renamed) else (level,)
        )
        return tuple(dict.fromkeys((*own, *others)))

    def to_dict(self) -> dict[str, Any]:
        """The cleaning as plain data: what differs from values as they are."""
        data: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default:
                data[each.name] = _plain(value)
        return data

    @classmethod
    def from_dict(cls, data: Any, source: str) -> Cleaning:
        """The cleaning that `to_dict` wrote; `source` names it in messages."""
        known = [each.name for each in fields(cls)]
        if not isinstance(data, Mapping):
            raise InputError(f"a 'cleaning' of {source} must be an object, got {data!r}.")
        unknown = [key for key in data if key not in known]
        if unknown:
            raise InputError(f"a 'cleaning' of {source} has an unknown key {unknown[0]!r}.")
        given: dict[str, Any] = {}
        for name, value in data.items():
            is_list = name in ("missing", "renamed", "kept", "order")
            if is_list != isinstance(value, list) or (not is_list and not isinstance(value, str)):
                want = "a list" if is_list else "a text"
                raise InputError(f"{name!r} of a cleaning of {source} must be {want}.")
            given[name] = _levels(value, name, source) if is_list else value
        try:
            return cls(**given)
        except InputError as error:
            raise InputError(f"{source} cannot be used: {error}") from None


def read_whole(cell: Any) -> int | None:
    """Return the whole number of 64 bits that a cell holds; None for none."""
    if isinstance(cell, str):
        text = cell.strip()
        cell = int(text) if _WHOLE.fullmatch(text) else None
    fits = isinstance(cell, int | np.integer) and not isinstance(cell, bool)
    return int(cell) if fits and -(1 << 63) <= cell < 1 << 63 else None


def read_date(text: str, form: str, *, zoned: bool = False) -> np.datetime64 | None:
    """Return the date that a cell holds, written in one of `DATE_FORMS`; None for none.

    Of ISO dates, those with an offset from UTC if `zoned`, in UTC; the others if not.
    """
    text = text.strip()
    if form != ISO:
        fits = form != "d.m.y" or "." in text[:3]
        moment = cell_moment(text, day_first=form != "m/d/y") if fits else None
        return None if moment is None else np.datetime64(moment, "us")
    if not (text[:4].isdecimal() and text[4:5] == "-"):
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
        if (moment.tzinfo is not None) != zoned:
            return None
        moment = moment.astimezone(dt.UTC).replace(tzinfo=None) if zoned else moment
    except (ValueError, OverflowError):
        return None
    return np.datetime64(moment, "us")


def _coarse(values: NDArray[Any]) -> NDArray[Any]:
    """Dates as days where none has a time of day, which is how days are read elsewhere."""
    days = values.astype("datetime64[D]")
    whole = (days == values) | np.isnat(values)
    return days if whole.all() else values


def _part(values: NDArray[Any], missing: NDArray[np.bool_], part: str) -> NDArray[np.int64]:
    """A part of each date as a whole number; weekdays from 1 for Monday to 7 for Sunday."""
    values = np.where(missing, np.zeros(1, values.dtype), values)
    days = values.astype("datetime64[D]")
    if part == "hour":
        out = (values.astype("datetime64[h]") - days.astype("datetime64[h]")).astype(np.int64)
    elif part == "weekday":
        out = (days.astype(np.int64) + 3) % 7 + 1
    elif part == "day":
        out = (days - values.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) + 1
    elif part == "month":
        out = values.astype("datetime64[M]").astype(np.int64) % 12 + 1
    else:
        out = values.astype("datetime64[Y]").astype(np.int64) + 1970
    return np.where(missing, 0, out).astype(np.int64)


def _mapped(values: NDArray[Any], change: Callable[[Any], Any]) -> NDArray[Any]:
    cells = values.tolist()
    known = {cell: change(cell) for cell in set(cells)}
    out = np.empty(len(cells), dtype=object)
    out[:] = [known[cell] for cell in cells]
    return out


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _levels(values: Iterable[Any], name: str, source: str) -> tuple[Any, ...]:
    out = []
    for value in values:
        each = value
        if name == "renamed":
            if not isinstance(value, list) or len(value) != 2:
                raise InputError(f"'renamed' of a cleaning of {source} must hold pairs.")
            each = tuple(value)
        parts = each if isinstance(each, tuple) else (each,)
        if not all(isinstance(part, str | int | float) for part in parts):
            raise InputError(f"{name!r} of a cleaning of {source} must hold texts and numbers.")
        out.append(each)
    return tuple(out)
