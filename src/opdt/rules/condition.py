"""One test on one feature."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.table import Cleaning

Scalar = float | int | str | bool | np.datetime64


class Op(StrEnum):
    """What a condition asks of a value."""

    GE = ">="
    LT = "<"
    EQ = "=="
    NE = "!="
    IN = "in"
    MISSING = "is missing"
    PRESENT = "is present"

    @property
    def is_threshold(self) -> bool:
        """Whether the condition compares with a threshold."""
        return self in (Op.GE, Op.LT)

    @property
    def needs_value(self) -> bool:
        """Whether the condition compares with anything at all."""
        return self not in (Op.MISSING, Op.PRESENT)


def format_value(value: Any) -> str:
    """Text of a threshold or level: `127.5`, `130`, `'yes'`, `2024-03-01`."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (float, np.floating)):
        text = repr(float(value))
        return text[:-2] if text.endswith(".0") else text
    if isinstance(value, np.datetime64):
        return format_date(value)
    return repr(value) if isinstance(value, str) else str(value)


def format_date(value: np.datetime64) -> str:
    """ISO text of a date, as short as it can be without losing anything."""
    for unit in ("D", "m", "s", "ms", "us"):
        if value == value.astype(f"datetime64[{unit}]"):
            return str(value.astype(f"datetime64[{unit}]"))
    return str(value)


def _plain(value: Any) -> Any:
    """NumPy scalars as Python's own, so that equality and JSON do not depend on the origin."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        return value.item()
    return value


def _is_finite(value: Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all doubles
        return False


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A test of one feature: `Condition("age", ">=", 41.5)`.

    Parameters
    ----------
    feature : str
        Name of the column.
    op : Op or str
        `>=`, `<` with a number or date; `==`, `!=` with a level; `in` with a set of levels;
        `is missing`, `is present` with nothing.
    value : number, numpy.datetime64, level, or iterable of levels, optional
        What the column is compared with.
    cleaning : Cleaning, optional
        How the cells of the column become the values that are compared; the cells themselves if
        left out. How missing cells are spelled does not count when conditions are compared.

    Examples
    --------
    >>> str(Condition("age", ">=", 41.5))
    'age >= 41.5'
    """

    feature: str
    op: Op
    value: Any = None
    cleaning: Cleaning | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.feature, str):
            raise InputError(f"a condition needs the name of a column, got {self.feature!r}.")
        if not (self.cleaning is None or isinstance(self.cleaning, Cleaning)):
            raise InputError(
                f"'cleaning' of a condition on {self.feature!r} must be a Cleaning, "
                f"got {type(self.cleaning).__name__}."
            )
        try:
            op = Op(self.op)
        except ValueError:
            allowed = ", ".join(repr(str(o)) for o in Op)
            raise InputError(
                f"'op' of a condition on {self.feature!r} must be one of {allowed}, "
                f"got {self.op!r}."
            ) from None
        if op is Op.IN:
            value = self._checked_levels()
        elif op.is_threshold:
            value = self._checked_threshold()
        elif op.needs_value:
            value = self._checked_level(self.value)
        else:
            value = None
            if self.value is not None:
                raise InputError(
                    f"a condition '{self.feature} {op}' takes no value, got {self.value!r}."
                )
        object.__setattr__(self, "op", op)
        object.__setattr__(self, "value", value)

    def _meaning(self) -> tuple[Any, ...]:
        clean = None if self.cleaning is None else replace(self.cleaning, missing=())
        return self.feature, self.op, self.value, None if clean == Cleaning() else clean

    def __eq__(self, other: object) -> bool:
        return self._meaning() == other._meaning() if isinstance(other, Condition) else False

    def __hash__(self) -> int:
        return hash(self._meaning())

    def _checked_threshold(self) -> Any:
        value = _plain(self.value)
        if isinstance(value, np.datetime64):
            fits = not np.isnat(value)
        else:
            fits = isinstance(value, Real) and not isinstance(value, bool) and _is_finite(value)
        if not fits:
            raise InputError(
                f"the threshold of '{self.feature} {self.op}' must be a finite number or a "
                f"numpy.datetime64, got {value!r}; compare levels with '==' or '!='."
            )
        return value

    def _checked_levels(self) -> frozenset[Any]:
        if isinstance(self.value, (str, bytes)) or not isinstance(self.value, Iterable):
            raise InputError(
                f"a condition '{self.feature} in …' needs a set of levels, got {self.value!r}; "
                "write {'a', 'b'}."
            )
        levels = frozenset(self._checked_level(level) for level in self.value)
        if not levels:
            raise InputError(f"a condition '{self.feature} in …' needs at least one level.")
        return levels

    def _checked_level(self, value: Any) -> Any:
        value = _plain(value)
        endless = isinstance(value, float) and not math.isfinite(value)
        if value is None or endless or not isinstance(value, Hashable) or value != value:
            raise InputError(
                f"a condition '{self.feature} {self.op}' needs a level to compare with, "
                f"got {value!r}."
            )
        return value

    def holds(self, values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Rows that satisfy the condition, shape (n_rows,).

        A missing value satisfies no condition but `is missing`, as in SQL.
        """
        if self.op is Op.MISSING:
            return missing.copy()
        if self.op is Op.PRESENT:
            return ~missing
        out = np.zeros(len(values), dtype=bool)
        present = values[~missing] if missing.any() else values
        if len(present):  # a column of missing values only has no type to compare with
            out[~missing] = self._test(present)
        return out

    def _test(self, present: NDArray[Any]) -> NDArray[np.bool_]:
        if self.op.is_threshold:
            threshold = self._threshold_for(present)
            fires = present >= threshold if self.op is Op.GE else present < threshold
            return np.asarray(fires, dtype=bool)
        # Dates as they are: tolist() would turn those of nanoseconds into integers.
        cells = list(present) if present.dtype.kind == "M" else present.tolist()
        if self.op is Op.IN:
            return np.fromiter((cell in self.value for cell in cells), bool, len(cells))
        same = np.fromiter((cell == self.value for cell in cells), bool, len(cells))
        return same if self.op is Op.EQ else ~same

    def _threshold_for(self, present: NDArray[Any]) -> Any:
        """The threshold that parts values of this type as the condition's own does, exactly.

        NumPy would compare integers with a float by rounding them to floats first.
        """
        threshold, kind = self.value, present.dtype.kind
        if kind == "O" or (kind == "M") != isinstance(threshold, np.datetime64):
            held = {"O": "text", "M": "dates"}.get(kind, "numbers")
            raise InputError(
                f"'{self}' cannot be put to column {self.feature!r}, which holds {held}."
            )
        if kind in "iu" and isinstance(threshold, float):
            return math.ceil(threshold)
        if kind == "f" and isinstance(threshold, int) and float(threshold) < threshold:
            return math.nextafter(threshold, math.inf)
        return threshold

    @property
    def subject(self) -> str:
        """What is compared, for people: the column, or a part of its dates."""
        part = "" if self.cleaning is None else self.cleaning.part
        return f"{part} of {self.feature}" if part else self.feature

    @property
    def shown(self) -> Any:
        """The value to show people: for levels with an order, the level at the threshold."""
        order = () if self.cleaning is None else self.cleaning.order
        if order and self.op.is_threshold:
            return order[min(max(0, math.ceil(self.value)), len(order) - 1)]
        return self.value

    def __str__(self) -> str:
        if self.op is Op.IN:
            levels = sorted(self.value, key=lambda v: (type(v).__name__, v))
            return f"{self.subject} in {{{', '.join(map(format_value, levels))}}}"
        if self.op.needs_value:
            return f"{self.subject} {self.op} {format_value(self.shown)}"
        return f"{self.subject} {self.op}"
