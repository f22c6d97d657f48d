"""Limits on sums of rows as they are written on the command line."""

from __future__ import annotations

import re

from opdt.errors import InputError
from opdt.problem import Parity, PerSegment

_NUMBER = r"\s*(\d+(?:\.\d+)?)\s*"
_PER = re.compile(rf"(.+?)\s+(precision\s*>=|errors\s*<=|coverage\s*<=){_NUMBER}")
_PARITY = re.compile(
    rf"(.+?)(?:\s+(coverage|recall))?\s+(difference\s*<=|ratio\s*>=){_NUMBER}", re.DOTALL
)
_ARGUMENTS = {
    "precision": "min_precision", "errors": "max_errors", "coverage": "max_coverage",
    "difference": "max_difference", "ratio": "min_ratio",
}  # fmt: skip


def rows_or_share(number: float) -> float:
    """A number of rows as an int, from 1 on; what is below is a share."""
    return int(number) if number >= 1 and number == int(number) else number


def segment_of(text: str) -> PerSegment:
    """A limit in every segment of a column: 'region precision>=0.8'."""
    found = _PER.fullmatch(text)
    if found is None:
        raise InputError(
            "'--per' must look like 'region precision>=0.8', 'month coverage<=200' or "
            f"'shop errors<=5', got {text!r}."
        )
    column, what, number = found.groups()
    argument, value = _ARGUMENTS[what.rstrip("<>= \t")], float(number)
    if argument == "max_coverage":
        value = rows_or_share(value)
    return PerSegment(column, **{argument: value})


def parity_of(text: str) -> Parity:
    """How far groups may differ: 'sex difference<=0.1', 'sex recall ratio>=0.8'."""
    found = _PARITY.fullmatch(text)
    if found is None:
        raise InputError(
            "'--parity' must look like 'sex difference<=0.1', 'sex ratio>=0.8' or "
            f"'sex recall difference<=0.05', got {text!r}."
        )
    column, of, what, number = found.groups()
    return Parity(column, of=of or "coverage", **{_ARGUMENTS[what.rstrip("<>= \t")]: float(number)})
