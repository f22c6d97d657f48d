"""One test on one feature."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError

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


@dataclass(frozen=True, slots=True)
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

    Examples
    --------
    >>> str(Condition("age", ">=", 41.5))
    'age >= 41.5'
    """

    feature: str
    op: Op
    value: Any = None

    def __post_init__(self) -> None:
        try:
            op = Op(self.op)
        except ValueError:
            allowed = ", ".join(repr(str(o)) for o in Op)
            raise InputError(
                f"'op' of a condition on {self.feature!r} must be one of {allowed}, got {self.op!r}."
            ) from None
        value = self.value
        if op is Op.IN:
            if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
                raise InputError(
                    f"a condition '{self.feature} in …' needs a set of levels, got {value!r}; "
                    "write {'a', 'b'}."
                )
            value = frozenset(_plain(v) for v in value)
            if not value:
                raise InputError(f"a condition '{self.feature} in …' needs at least one level.")
        elif op.needs_value:
            value = _plain(value)
            if value is None or value != value:
                raise InputError(
                    f"a condition '{self.feature} {op}' needs a value to compare with, got {value!r}."
                )
            if op.is_threshold and isinstance(value, (str, bool)):
                raise InputError(
                    f"the threshold of '{self.feature} {op}' must be a number or a date, "
                    f"got {value!r}; compare levels with '==' or '!='."
                )
        elif value is not None:
            raise InputError(f"a condition '{self.feature} {op}' takes no value, got {value!r}.")
        object.__setattr__(self, "op", op)
        object.__setattr__(self, "value", value)

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
        out[~missing] = self._test(present)
        return out

    def _test(self, present: NDArray[Any]) -> NDArray[np.bool_]:
        if self.op is Op.GE:
            return np.asarray(present >= self.value, dtype=bool)
        if self.op is Op.LT:
            return np.asarray(present < self.value, dtype=bool)
        if self.op is Op.IN:
            return np.fromiter((v in self.value for v in present.tolist()), bool, len(present))
        same = np.fromiter((v == self.value for v in present.tolist()), bool, len(present))
        return same if self.op is Op.EQ else ~same

    def __str__(self) -> str:
        if self.op is Op.IN:
            levels = sorted(self.value, key=lambda v: (type(v).__name__, v))
            return f"{self.feature} in {{{', '.join(map(format_value, levels))}}}"
        if self.op.needs_value:
            return f"{self.feature} {self.op} {format_value(self.value)}"
        return f"{self.feature} {self.op}"
