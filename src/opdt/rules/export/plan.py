"""Conditions put to columns of a known type, for languages in which every column has one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np

from opdt.errors import InputError
from opdt.rules.condition import Condition, Op
from opdt.rules.export.cases import kind_of
from opdt.rules.export.cells import on_cells
from opdt.rules.export.numbers import is_whole, next_double
from opdt.rules.rule import Rule
from opdt.table import open_source


class ColumnType(StrEnum):
    """What a column holds; the last two are what conditions alone may leave open."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    TEXT = "text"
    DATE = "date"
    NUMBER = "number"
    UNKNOWN = "unknown"

    @property
    def may_be_nan(self) -> bool:
        """Whether a value may be a NaN, which counts as missing."""
        return self in (ColumnType.FLOAT, ColumnType.NUMBER, ColumnType.UNKNOWN)


GIVEN = (
    ColumnType.BOOLEAN,
    ColumnType.INTEGER,
    ColumnType.FLOAT,
    ColumnType.TEXT,
    ColumnType.DATE,
)


@dataclass(frozen=True)
class Test:
    """One condition in the values of its column's type.

    Attributes
    ----------
    op : Op
        `>=`, `<` and `!=` with one value; `in` with any number of them, none included, where the
        column cannot hold the levels; `is missing` and `is present` with nothing.
    values : tuple
        bool, int, float, str or datetime without a time zone.
    zone : str
        "UTC" where the column holds instants rather than dates of no zone.
    """

    feature: str
    type: ColumnType
    op: Op
    values: tuple[Any, ...] = ()
    zone: str = ""


def plan(rules: Sequence[Rule], types: Mapping[str, str] | None) -> list[list[Test]]:
    """The conditions of each rule as tests of typed columns, in the same order.

    Conditions on cleaned columns are first put to the cells, or refused (see `on_cells`). A type
    that is not given is inferred from all conditions on the column, in whichever rule.
    """
    known = check_types(types)
    rules = [on_cells(rule, known) for rule in rules]
    conditions = [condition for rule in rules for condition in rule.conditions]
    inferred = {
        feature: _inferred([c for c in conditions if c.feature == feature], feature)
        for feature in dict.fromkeys(c.feature for c in conditions)
        if feature not in known
    }
    return [
        [
            _given(condition, known[condition.feature])
            if condition.feature in known
            else _test(condition, inferred[condition.feature])
            for condition in rule.conditions
        ]
        for rule in rules
    ]


def check_types(types: Mapping[str, str] | None) -> dict[str, ColumnType]:
    """The types as given, with their names checked."""
    known = {}
    if types is not None and not isinstance(types, Mapping):
        raise InputError(
            f"'types' must map columns to what they hold, got {type(types).__name__}; "
            "write {'age': 'integer'}, or take column_types(X)."
        )
    for feature, name in (types or {}).items():
        if name not in GIVEN:
            raise InputError(
                f"types[{feature!r}] must be one of {', '.join(map(repr, map(str, GIVEN)))}, "
                f"got {name!r}."
            )
        known[feature] = ColumnType(name)
    return known


def column_types(X: Any) -> dict[str, str]:
    """The types of the columns of a table, for `types` of `to_sql` and `to_pmml`.

    Columns that hold neither numbers, dates, booleans nor text alone are left out.

    Parameters
    ----------
    X : data frame, mapping of columns, 2-D array or path

    Examples
    --------
    >>> column_types({"age": [31, None], "smoker": [True, False], "site": ["a", "b"]})
    {'age': 'integer', 'smoker': 'boolean', 'site': 'text'}
    """
    source = open_source(X)
    found = {}
    for index, name in enumerate(source.names):
        raw = source.column(index)
        present = raw.values[~raw.mask]
        kind = raw.values.dtype.kind
        if kind == "O" and not all(isinstance(cell, str) for cell in present):
            continue
        if len(present):
            found[name] = {"b": "boolean", "f": "float", "M": "date", "O": "text"}.get(
                kind, "integer"
            )
    return found


def as_instant(value: np.datetime64, feature: str) -> datetime:
    """A date as Python has it: to the microsecond, from the year 1 to 9999."""
    year = int(value.astype("datetime64[Y]").astype(np.int64)) + 1970
    exact = value.astype("datetime64[us]")  # wraps around far from our time
    if exact != value or not 1 <= year <= 9999:
        raise InputError(
            f"the date {value} of column {feature!r} cannot be exported; dates are whole "
            "microseconds from the year 1 to 9999."
        )
    plain: datetime = exact.item()
    return plain


def _inferred(conditions: Sequence[Condition], feature: str) -> ColumnType:
    """What the values that a column is compared with say about its type."""
    thresholds = [c.value for c in conditions if c.op.is_threshold]
    if thresholds:
        is_date = isinstance(thresholds[0], np.datetime64)
        return ColumnType.DATE if is_date else ColumnType.NUMBER
    kinds = {kind_of(level) for c in conditions for level in _levels(c)}
    if not kinds:
        return ColumnType.UNKNOWN
    if kinds == {"boolean", "number"}:
        return ColumnType.NUMBER
    if len(kinds) > 1:
        raise InputError(
            f"column {feature!r} is compared with levels of several kinds "
            f"({', '.join(sorted(kinds))}); say what it holds: types={{{feature!r}: 'text'}}."
        )
    return ColumnType(kinds.pop())


def _levels(condition: Condition) -> list[Any]:
    if condition.op is Op.IN:
        return sorted(condition.value, key=lambda level: (type(level).__name__, level))
    return [condition.value] if condition.op in (Op.EQ, Op.NE) else []


def _given(condition: Condition, of: ColumnType) -> Test:
    if of is not ColumnType.BOOLEAN or not condition.op.needs_value:
        return _test(condition, of)
    # The column holds two values only, so the condition may as well be put to both.
    holds = condition.holds(np.array([0, 1]), np.zeros(2, dtype=bool))
    if holds.all():
        return Test(condition.feature, of, Op.PRESENT)
    return Test(condition.feature, of, Op.IN, tuple(np.array([False, True])[holds].tolist()))


def _test(condition: Condition, of: ColumnType) -> Test:
    feature, op = condition.feature, condition.op
    if not op.needs_value:
        return Test(feature, of, op)
    if op.is_threshold:
        return Test(feature, of, op, (_threshold(condition, of),), condition.zone)
    found = (_level(level, of, feature) for level in _levels(condition))
    values = tuple(dict.fromkeys(value for value in found if value is not None))
    if op is not Op.NE:
        return Test(feature, of, Op.IN, values, condition.zone)
    if not values:
        return Test(feature, of, Op.PRESENT)
    return Test(feature, of, op, values, condition.zone)


def _threshold(condition: Condition, of: ColumnType) -> Any:
    value, feature = condition.value, condition.feature
    is_date = isinstance(value, np.datetime64)
    if of is ColumnType.TEXT or is_date != (of is ColumnType.DATE):
        raise InputError(f"'{condition}' cannot be put to column {feature!r}, which holds {of}.")
    if is_date:
        return as_instant(value, feature)
    if of is ColumnType.INTEGER:
        return math.ceil(value)
    if of is ColumnType.NUMBER and is_whole(value):
        return int(value)
    return next_double(value)


def _level(level: Any, of: ColumnType, feature: str) -> Any:
    """The level as a value of the column's type, None if such a column cannot hold it."""
    kind = kind_of(level)
    if of is ColumnType.DATE:
        return as_instant(level, feature) if kind == "date" else None
    if of is ColumnType.TEXT:
        return level if kind == "text" else None
    if kind not in ("number", "boolean"):
        return None
    if of is ColumnType.BOOLEAN:
        return level
    if of is ColumnType.INTEGER:
        return int(level) if level == math.floor(level) else None
    if of is ColumnType.NUMBER and is_whole(level):
        return int(level)
    double = next_double(level)
    return double if double == level else None
