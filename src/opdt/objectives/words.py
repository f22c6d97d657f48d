"""How values of an objective are spoken of, and what a rule does in an objective's own words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opdt.objectives.objective import Objective


@dataclass(frozen=True)
class Words:
    """How the values of an objective are spoken of.

    Attributes
    ----------
    name : str
        What a value measures: "VI", "precision", "saving".
    more, some : str
        What a better rule has, and what any rule has: "a larger VI", "a VI".
    show : function
        A value with its unit: "12,340 EUR".
    show_gap : function
        A difference of two values with its unit.

    The last three are made of `more` and `some` where they are left out:

    better : str
        What no rule does where one is proven the best: "has a larger VI".
    above : str
        What no rule does beyond a bound, which takes the place of {}: "has a VI above {}".
    nothing : str
        What no rule does where there is no pattern: "has a VI above 0".
    """

    name: str
    more: str
    some: str
    show: Callable[[float], str]
    show_gap: Callable[[float], str]
    better: str = ""
    above: str = ""
    nothing: str = ""

    def __post_init__(self) -> None:
        usual = {
            "better": f"has {self.more}",
            "above": f"has {self.some} above {{}}",
            "nothing": f"has {self.some} above 0",
        }
        for name, said in usual.items():
            object.__setattr__(self, name, getattr(self, name) or said)


@dataclass(frozen=True)
class Account:
    """What a rule does on rows, in the words and units of its objective.

    Attributes
    ----------
    sentence : str
        Without a full stop: "saves 12,340 EUR: …".
    numbers : mapping of name to float
        The numbers of the sentence, for JSON and tables; names are words with spaces between.
    unit : str
        That of the numbers; "" where they have none.
    """

    sentence: str
    numbers: Mapping[str, float]
    unit: str = ""

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, object]:
        """Sentence, numbers and unit, for JSON."""
        return {"sentence": self.sentence, "numbers": dict(self.numbers), "unit": self.unit}


def plain(value: float) -> str:
    """A number as short as it is clear, with commas between thousands.

    Examples
    --------
    >>> plain(12340.0), plain(9.23456), plain(0.00012345)
    ('12,340', '9.235', '0.000123')
    """
    if math.isinf(value) or math.isnan(value):
        return "nothing" if math.isnan(value) else "∞" if value > 0 else "-∞"
    size = abs(value)
    if 0 < size < 0.001:
        return f"{value:.3g}"
    decimals = 3 if size < 100 else 2 if size < 1e5 else 0
    text = f"{value:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def with_unit(unit: str) -> Callable[[float], str]:
    """Numbers as `plain` has them, with a unit behind."""
    return (lambda value: f"{plain(value)} {unit}") if unit else plain


def percent(value: float) -> str:
    """A share of rows."""
    return f"{value:.1%}"


def points(value: float) -> str:
    """A difference of two shares."""
    return f"{100 * value:.1f} points"


def _number(value: float) -> str:
    return f"{value:g}"


# Objectives that are said by a name alone.
# fmt: off
NAMED = {
    "vi": Words("VI", "a larger VI", "a VI", _number, _number),
    "precision": Words(
        "precision", "a higher precision", "a precision", percent, points,
        better="with enough rows is more precise",
        above="with enough rows has a precision above {}",
    ),
    "coverage": Words(
        "correct rows", "more rows of its class", "a number of rows of its class", _number, _number,
        better="covers more rows of its class",
        above="covers more than {} rows of its class",
        nothing="covers any row of its class",
    ),
}
# fmt: on


def words_of(objective: str | Objective) -> Words:
    """The words of an objective, by its name or of its own."""
    if not isinstance(objective, str):
        return objective.words
    if objective in NAMED:
        return NAMED[objective]
    from opdt.objectives.measures import measure_named

    measure = measure_named(objective)
    assert measure is not None, objective
    return measure.words
