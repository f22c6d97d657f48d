"""Conditions and rules on rank codes: what engines work with instead of names and thresholds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.rules import Op

# The rank of an operator among conditions of one feature: part of the tie-break.
OP_ORDER = {op: rank for rank, op in enumerate(Op)}


class CodedCondition(NamedTuple):
    """A condition on rank codes.

    `code` is, for `>=` and `<`, the rank c of the first value that passes or fails (1 <= c <
    number of values); for `==` and `!=` the rank of the level; otherwise -1. `levels` holds the
    ascending ranks of an `in` condition.
    """

    feature: int
    op: Op
    code: int = -1
    levels: tuple[int, ...] = ()


class CodedRule(NamedTuple):
    """Coded conditions in the order of the table's features, and a class code."""

    conditions: tuple[CodedCondition, ...]
    label: int


def tightness(condition: CodedCondition, n_values: int) -> tuple[int, ...]:
    """The place of a condition among those of its feature: the looser, the smaller."""
    rank = OP_ORDER[condition.op]
    if condition.op is Op.LT:
        return (rank, n_values - condition.code)
    if condition.op is Op.IN:
        return (rank, -len(condition.levels), *condition.levels)
    return (rank, condition.code)


def simplify(conditions: tuple[CodedCondition, ...]) -> tuple[CodedCondition, ...]:
    """The same conjunction without repeated and implied conditions, in the order of the table.

    Of several `>=` (or `<`) on a feature the tightest stays; `==` and `in` are intersected and
    swallow `!=`; `is present` is implied by any other condition on its feature. Only what
    follows from logic is merged, never what merely holds on the rows at hand.
    """
    by_feature: dict[int, list[CodedCondition]] = {}
    for condition in conditions:
        by_feature.setdefault(condition.feature, []).append(condition)
    out: list[CodedCondition] = []
    for feature in sorted(by_feature):
        out.extend(_simplify_feature(feature, by_feature[feature]))
    return tuple(out)


def _simplify_feature(feature: int, conditions: list[CodedCondition]) -> list[CodedCondition]:
    if len(conditions) == 1:
        return conditions
    of = {op: [c for c in conditions if c.op is op] for op in Op}
    out: list[CodedCondition] = []
    if of[Op.GE]:
        out.append(max(of[Op.GE], key=lambda c: c.code))
    if of[Op.LT]:
        out.append(min(of[Op.LT], key=lambda c: c.code))
    excluded = {c.code for c in of[Op.NE]}
    kept = [{c.code} for c in of[Op.EQ]] + [set(c.levels) for c in of[Op.IN]]
    if kept:
        levels = tuple(sorted(set.intersection(*kept) - excluded))
        if len(levels) == 1:
            out.append(CodedCondition(feature, Op.EQ, levels[0]))
        else:  # no level left: contradictory, covers nothing whatever is written
            out.append(CodedCondition(feature, Op.IN, -1, levels))
    else:
        out.extend(CodedCondition(feature, Op.NE, code) for code in sorted(excluded))
    out.extend(of[Op.MISSING][:1])
    if all(c.op is Op.MISSING for c in out):  # anything else implies that a value is present
        out.extend(of[Op.PRESENT][:1])
    return out


def is_wider(other: CodedCondition, condition: CodedCondition) -> bool:
    """Whether `other` excludes levels that `condition`, a `==` or `in`, excludes as well."""
    if condition.op not in (Op.EQ, Op.IN):
        return False
    kept = set(condition.levels or (condition.code,))
    if other.op is Op.IN:
        return kept <= set(other.levels)
    return other.op is Op.NE and other.code not in kept


def is_possible(condition: CodedCondition, n_values: int) -> bool:
    """Whether a column of so many values offers the condition, operators of its kind provided."""
    _, op, code, levels = condition
    if op is Op.IN:
        ascending = levels == tuple(sorted({c for c in levels if 0 <= c < n_values}))
        return code == -1 and ascending and 2 <= len(levels) <= n_values - 2
    first = 1 if op.is_threshold else 0
    return not levels and (first <= code < n_values if op.needs_value else code == -1)


def count_possible(op: Op, n_values: int) -> int:
    """How many conditions with this operator a column of so many values offers."""
    if op is Op.IN:  # all sets but the empty one, single levels, and what leaves out one or none
        return max(0, (1 << n_values) - 2 * n_values - 2)
    if op.is_threshold:
        return max(0, n_values - 1)
    return n_values if op.needs_value else 1


def holds(condition: CodedCondition, codes: NDArray[np.signedinteger[Any]]) -> NDArray[np.bool_]:
    """Rows, shape (n_rows,), that satisfy the condition; code -1 (missing) satisfies none but
    `is missing`. What an operator says of codes is said here alone.
    """
    fires: NDArray[np.bool_]
    match condition.op:
        case Op.GE:
            fires = codes >= condition.code
        case Op.LT:
            fires = (codes < condition.code) & (codes >= 0)
        case Op.EQ:
            fires = codes == condition.code
        case Op.NE:
            fires = (codes != condition.code) & (codes >= 0)
        case Op.IN:
            fires = np.isin(codes, condition.levels)
        case Op.MISSING:
            fires = codes < 0
        case Op.PRESENT:
            fires = codes >= 0
    return fires
