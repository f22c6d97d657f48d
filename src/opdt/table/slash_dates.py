"""Dates of days and months in an order that only the cells can tell: 29/02/2024, 02/29/2024."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from typing import NamedTuple

CLOCK = r"(?:[ T](?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?)?"
# the same mark twice: 1/2/2024, 1.2.2024, 1-2-2024
MARKS = "|".join(rf"[0-9]{{1,2}}{mark}[0-9]{{1,2}}{mark}[0-9]{{4}}" for mark in ("/", r"\.", "-"))
_CELL = re.compile(f"({MARKS})({CLOCK})")


class Orders(NamedTuple):
    """Whether all cells are dates with the day first, with the month first; without a time.

    `dotted` are those like 1.2.2024: where both orders are possible, the day comes first.
    """

    day_first: bool
    month_first: bool
    day_only: bool
    dotted: bool


def cell_orders(cell: str) -> Orders | None:
    """The orders in which a cell can be read; None where it is a date in neither."""
    found = _CELL.fullmatch(cell)
    if found is None:
        return None
    one, two, year = _numbers(found[1])
    day_first, month_first = _is_date(one, two, year), _is_date(two, one, year)
    if not (day_first or month_first):
        return None
    return Orders(day_first, month_first, not found[2], "." in found[1])


def cell_moment(cell: str, *, day_first: bool) -> dt.datetime | None:
    """The date of a cell in one order; None where it is none."""
    found = _CELL.fullmatch(cell)
    if found is None:
        return None
    one, two, year = _numbers(found[1])
    day, month = (one, two) if day_first else (two, one)
    if not year or not _is_date(day, month, year):
        return None
    hour, minute, second = (*found[2][1:].split(":"), "0", "0", "0")[:3] if found[2] else "000"
    whole, _, fraction = second.partition(".")
    micro = int(fraction.ljust(6, "0")) if fraction else 0
    return dt.datetime(year, month, day, int(hour), int(minute), int(whole), micro)


def _numbers(days: str) -> list[int]:
    return [int(part) for part in re.split("[/.-]", days)]


def _is_date(day: int, month: int, year: int) -> bool:
    # the calendar of Python has no year 0
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year or 2000, month)[1]
