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
_STRIP = str.maketrans("", "", SPACES + "'’")


def shape_of(text: str) -> tuple[str, str, str] | None:
    """Return the form of the digits, a sign such as `<` before them, and the unit; None for none.

    Examples
    --------
    >>> shape_of("€ 1.234,56"), shape_of("0.5"), shape_of("abc"), shape_of("<12 %")
    (('point_groups', '', '€'), ('point_decimal', '', ''), None, ('whole', '<', '%'))
    """
    found = _CELL.fullmatch(text)
    if found is None or (found["open"] is None) != (found["close"] is None):
        return None
    if found["sign"] and found["sign2"]:
        return None
    digits = found["digits"]
    shape = next((name for name, form in _GROUPS.items() if form.fullmatch(digits)), None)
    if shape is None:
        return None
    if found["point"]:  # a mark and nothing behind it, as in `12.`
        if shape not in ("whole", "code"):
            return None
        shape = "point_decimal" if found["point"] == "." else "comma_decimal"
    if shape == "whole" and len(digits) > _MOST_DIGITS:
        shape = "code"  # no double holds it: the number of an account rather than a quantity
    return shape, found["limit"] or "", (found["before"] or "") + (found["after"] or "")


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


@lru_cache(maxsize=1 << 16)
def read_number(text: str, decimal: str) -> float | None:
    """Return the number that a cell holds, None if it holds none.

    A percentage is the number before its sign. `<0.6` is the largest double below 0.6, and `>90`
    the smallest above 90, so that they lie on the side of the threshold that they speak of.

    Examples
    --------
    >>> read_number("€ 1.234,56", ","), read_number("1,234", "."), read_number("(12)", ".")
    (1234.56, 1234.0, -12.0)
    """
    shape = shape_of(text)
    if shape is None or not fits(shape[0], decimal):
        return None
    found = _CELL.fullmatch(text)
    assert found is not None  # shape_of has matched it
    digits = found["digits"].translate(_STRIP)
    digits = digits.replace("." if decimal == "," else ",", "").replace(",", ".")
    number = float(digits + (found["exponent"] or ""))
    if math.isinf(number):
        return None
    if (found["sign"] or found["sign2"] or "+") in _MINUS or found["open"]:
        number = -number
    limit = (found["limit"] or "")[:1]
    if limit in ("<", ">") and not found["limit"].endswith("="):
        number = math.nextafter(number, -math.inf if limit == "<" else math.inf)
    return number


def fits(shape: str, decimal: str) -> bool:
    """Whether digits of this form can be read with this mark before the fraction."""
    return shape not in (_SAY_COMMA if decimal == "." else _SAY_POINT)
