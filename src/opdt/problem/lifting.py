"""From codes to names and readable thresholds, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from opdt.errors import InputError
from opdt.problem.coded import CodedCondition
from opdt.rules import Condition, Op
from opdt.rules.thresholds import readable_threshold
from opdt.table import Column, Kind, Table

RAREST = "rarest"  # stands for a class
RARER = "rarer of two"  # stands for the rarest of two classes, and for none of more


def lift_condition(table: Table, condition: CodedCondition) -> Condition:
    """The condition with its name and the most readable value that covers the same rows."""
    column = table.columns[condition.feature]
    op, values = condition.op, column.values
    if op.is_threshold:
        low, high = values[condition.code - 1], values[condition.code]
        return Condition(column.name, op, readable_threshold(low, high), column.cleaning)
    if op in (Op.EQ, Op.NE):
        return Condition(column.name, op, values[condition.code], column.cleaning)
    if op is Op.IN:
        levels = [values[code] for code in condition.levels]
        return Condition(column.name, op, levels, column.cleaning)
    return Condition(column.name, op, cleaning=column.cleaning)


def lower_condition(table: Table, condition: Condition) -> CodedCondition | None:
    """The coded condition that covers the same rows of the table; None where every row passes.

    Raises
    ------
    InputError
        When the column or the level does not occur in the table, when a condition does not
        suit the column's kind, or when a threshold lies outside the values that occur, so that
        it passes no row, or exactly those whose value is present.
    """
    feature = table.index(condition.feature)
    column = table.columns[feature]
    op = condition.op
    if not op.needs_value:
        return CodedCondition(feature, op)
    if op.is_threshold != (column.kind is Kind.NUMERIC):
        raise InputError(
            f"a condition '{condition}' cannot be put to the {column.kind} column {column.name!r}."
        )
    if op.is_threshold:
        return _lower_threshold(feature, column, condition)
    if op is Op.IN:
        levels = tuple(sorted(_level(column, value) for value in condition.value))
        if len(levels) == 1:
            return CodedCondition(feature, Op.EQ, levels[0])
        return CodedCondition(feature, op, -1, levels)
    return CodedCondition(feature, op, _level(column, condition.value))


def _lower_threshold(feature: int, column: Column, condition: Condition) -> CodedCondition | None:
    # The values below the threshold, counted with the exact comparison of the condition itself.
    passing = int(condition.holds(column.values, np.zeros(column.n_values, dtype=bool)).sum())
    code = passing if condition.op is Op.LT else column.n_values - passing
    if 0 < code < column.n_values:
        return CodedCondition(feature, condition.op, code)
    passes_all = (code == 0) == (condition.op is Op.GE)
    if passes_all and not column.has_missing:
        return None
    held = f"{column.values[0]} to {column.values[-1]}" if column.n_values else "all missing"
    raise InputError(
        f"the threshold of '{condition}' lies outside the values of column {column.name!r} "
        f"({held})."
    )


def _level(column: Column, value: object) -> int:
    for code, level in enumerate(column.values.tolist()):
        if level == value:
            return code
    raise InputError(f"level {value!r} does not occur in column {column.name!r}.")


def class_code(table: Table, label: Any, totals: Any = None) -> int:
    """The code of a class, refusing one that the table does not have.

    "rarest" is the class of the least weight, the first of them in a tie, unless a class is called
    so. `totals` are the weights of the classes where the rows of the table do not tell them.
    """
    if not np.isscalar(label) and np.ndim(label):
        raise InputError(f"'label' must be one class of the labels, got {type(label).__name__}.")
    for code, known in enumerate(table.classes.tolist()):
        if known == label and isinstance(known, str) == isinstance(label, str):
            return code
    if isinstance(label, str) and label == RAREST:
        if totals is None:
            totals = np.bincount(table.labels, table.weights, len(table.classes))
        return int(np.argmin(totals))
    shown = ", ".join(repr(c) for c in table.classes.tolist()[:10])
    raise InputError(f"class {label!r} does not occur in the labels; they are: {shown}.")


def label_code(table: Table, label: Any, totals: Any = None) -> int | None:
    """The code of the class that a rule must have; None where it may have any."""
    if label is None:
        return None
    if isinstance(label, str) and label == RARER and RARER not in table.classes.tolist():
        return class_code(table, RAREST, totals) if len(table.classes) == 2 else None
    return class_code(table, label, totals)
