"""Numbers as people write them: `€ 1.234,56`, `12 %`, `1'000`, `<0.6`, `12 kg`.

What the marks of a column mean is decided once, from counts of the shapes of its cells
(`shape_of`, `Marks.of`); from then on a cell is read by these marks alone (`read_number`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

SPACES = "\u0020\u00a0\u2009\u202f"
_CURRENCY = r"[€$£¥₹]|EUR|USD|GBP|CHF|JPY|kr|zł|R\$"
_UNIT = r"%|‰|°[CFK]?|[a-zA-Zµμ]{1,8}[²³23]?(?:/[a-zA-Zµμ]{1,8}[²³23]?)?"
_CELL = re.compile(
    rf"""[{SPACES}]*
    (?P<limit>[<>≤≥]=?|≈|~)?[{SPACES}]*
    (?P<open>\()?
    (?P<sign>[+\-−–])?[{SPACES}]*
    (?P<before>{_CURRENCY})?[{SPACES}]*
    (?P<sign2>[+\-−–])?
    (?P<digits>\d[\d.,'’{SPACES}]*\d|\d|[.,]\d+)
    (?P<point>[.,])?
    (?P<exponent>[eE][+\-]?\d{{1,3}})?
    (?P<close>\))?
    [{SPACES}]*(?P<after>{_CURRENCY}|{_UNIT})?[{SPACES}]*""",
    re.VERBOSE,
)
_GROUPS = {
    # The form of the digits, and what it says; the first that fits the whole is taken.
    "code": re.compile(r"0\d+"),
    "whole": re.compile(r"\d+"),
    "one_comma": re.compile(r"[1-9]\d{0,2},\d{3}"),
    "one_point": re.compile(r"[1-9]\d{0,2}\.\d{3}"),
    "point_decimal": re.compile(r"\d*\.\d+"),
    "comma_decimal": re.compile(r"\d*,\d+"),
    "comma_groups": re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:,\d{2})*,\d{3}(?:\.\d+)?"),
    "point_groups": re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?"),
    "space_groups": re.compile(rf"\d{{1,3}}(?:[{SPACES}'’]\d{{3}})+"),
    "space_groups_point": re.compile(rf"\d{{1,3}}(?:[{SPACES}'’]\d{{3}})+\.\d+"),
    "space_groups_comma": re.compile(rf"\d{{1,3}}(?:[{SPACES}'’]\d{{3}})+,\d+"),
}
SHAPES = tuple(_GROUPS)
# Shapes that only make sense with a point, or only with a comma, before the fraction.
_SAY_POINT = ("point_decimal", "comma_groups", "space_groups_point")
_SAY_COMMA = ("comma_decimal", "point_groups", "space_groups_comma")
_MOST_DIGITS = 15
_MINUS = "-−–"
_FIRST = re.compile("[0-9]")
_ALIKE = str.maketrans("012345678", "9" * 9)
_STRIP = str.maketrans("", "", SPACES + "'’")


def shape_of(text: str) -> tuple[str, str, str] | None:
    """Return the form of the digits, a sign such as `<` before them, and the unit; None for none.

    Examples
    --------
    >>> shape_of("€ 1.234,56"), shape_of("0.5"), shape_of("abc"), shape_of("<12 %")
    (('point_groups', '', '€'), ('point_decimal', '', ''), None, ('whole', '<', '%'))
    """
    found = _match(_skeleton(text))
    return None if found is None else (found.form, found.limit, found.unit)


class _Match(NamedTuple):
    """Where the parts of a number stand in a cell, and what they are."""

    form: str
    limit: str
    unit: str
    digits: slice
    exponent: slice | None
    negative: bool


def _skeleton(text: str) -> str:
    """The cell with all digits alike, but for a leading zero: a column has few of these."""
    first = _FIRST.search(text)
    bones = text.translate(_ALIKE)
    if first is None or first[0] != "0":
        return bones
    return f"{bones[: first.start()]}0{bones[first.end() :]}"


@lru_cache(maxsize=1 << 14)
def _match(skeleton: str) -> _Match | None:
    found = _CELL.fullmatch(skeleton)
    form = None if found is None else _form(found)
    if found is None or form is None:
        return None
    return _Match(
        form,
        found["limit"] or "",
        (found["before"] or "") + (found["after"] or ""),
        slice(*found.span("digits")),
        slice(*found.span("exponent")) if found["exponent"] else None,
        (found["sign"] or found["sign2"] or "+") in _MINUS or bool(found["open"]),
    )


def _form(found: re.Match[str]) -> str | None:
    """The form of the digits of a cell; None where signs or marks do not go together."""
    if (found["open"] is None) != (found["close"] is None) or (found["sign"] and found["sign2"]):
        return None
    digits = found["digits"]
    if digits.isdecimal():
        is_code = len(digits) > _MOST_DIGITS or (digits[0] == "0" and len(digits) > 1)
        # No double holds so many digits: the number of an account rather than a quantity.
        shape: str | None = "code" if is_code else "whole"
    else:
        shape = next((name for name, form in _GROUPS.items() if form.fullmatch(digits)), None)
    if shape is None or not found["point"]:
        return shape
    if shape not in ("whole", "code"):
        return None
    return "point_decimal" if found["point"] == "." else "comma_decimal"  # such as `12.`


@dataclass(frozen=True)
class Marks:
    """What the marks inside the numbers of a column mean.

    Attributes
    ----------
    decimal : {".", ","}
        The mark before the fraction; the other one parts groups of three digits.
    sure : bool
        Whether the cells say so; False where `1,234` could be either and nothing else helps.
    """

    decimal: str
    sure: bool = True

    @classmethod
    def of(cls, shapes: Mapping[str, int]) -> Marks:
        """The marks that most of the cells that say anything agree with."""
        point = sum(shapes.get(name, 0) for name in _SAY_POINT)
        comma = sum(shapes.get(name, 0) for name in _SAY_COMMA)
        if point != comma:
            return cls("." if point > comma else ",")
        return cls(".", sure=not shapes.get("one_comma"))


def read_number(text: str, decimal: str, unit: str | None = None) -> float | None:
    """Return the number that a cell holds, None if it holds none.

    A percentage is the number before its sign. `<0.6` is the largest double below 0.6, and `>90`
    the smallest above 90, so that they lie on the side of the threshold that they speak of.

    Parameters
    ----------
    decimal : {".", ","}
        The mark before the fraction.
    unit : str, optional
        The only unit that may stand beside the number; any, if left out.

    Examples
    --------
    >>> read_number("€ 1.234,56", ","), read_number("1,234", "."), read_number("(12)", ".")
    (1234.56, 1234.0, -12.0)
    """
    found = _match(_skeleton(text))
    if found is None or not fits(found.form, decimal):
        return None
    if unit is not None and found.unit not in ("", unit):
        return None
    digits = text[found.digits].translate(_STRIP)
    digits = digits.replace("." if decimal == "," else ",", "").replace(",", ".")
    number = float(digits + (text[found.exponent] if found.exponent else ""))
    if math.isinf(number):
        return None
    number = -number if found.negative else number
    if found.limit in ("<", ">"):
        number = math.nextafter(number, -math.inf if found.limit == "<" else math.inf)
    return number + 0.0  # no negative zero


def fits(shape: str, decimal: str) -> bool:
    """Whether digits of this form can be read with this mark before the fraction."""
    return shape not in (_SAY_COMMA if decimal == "." else _SAY_POINT)
