"""PRIM (Friedman and Fisher 1999): boxes with ever more of one class, peeled layer by layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.baselines.base import Baseline
from opdt.checks import check_share
from opdt.problem import CodedCondition, simplify
from opdt.problem.coded import holds
from opdt.problem.lifting import lift_condition
from opdt.rules import Op, Rule
from opdt.table import Column, Kind, Table


@dataclass(frozen=True)
class PRIM(Baseline):
    """The boxes of the peeling for each class, the largest first.

    From a box a layer is peeled off: the share `alpha` of its rows with the smallest or with the
    largest values of a numeric feature (or those of the outermost value, if it is that
    frequent), or the rows of one level. Of all layers the one is peeled whose removal leaves the
    greatest share of the class, of equals the one that leaves most rows, then the first; until
    the box is pure or would hold less than the share `min_support` of all rows. A condition on a
    feature also peels off the rows where it is missing. There is no pasting, and rows that a box
    covers are not removed for a second one.

    Parameters
    ----------
    alpha : float
        The share of the box peeled off at once: the smaller, the more patient.
    min_support : float
        The share of all rows that a box must hold.
    """

    name: ClassVar[str] = "prim"

    alpha: float = 0.05
    min_support: float = 0.05

    def __post_init__(self) -> None:
        check_share("alpha", self.alpha)
        check_share("min_support", self.min_support)

    def _fit(self, table: Table) -> list[Rule]:
        least = max(1, int(np.ceil(self.min_support * table.n_rows)))
        return [
            _rule(table, box, label)
            for code, label in enumerate(table.classes)
            for box in peel(table, table.labels == code, self.alpha, least)
        ]


class PrimBox(NamedTuple):
    """Conditions on rank codes and the ascending positions of the rows they cover."""

    conditions: tuple[CodedCondition, ...]
    rows: NDArray[np.intp]


def peel(table: Table, wanted: NDArray[np.bool_], alpha: float, least: int) -> Iterator[PrimBox]:
    """Every box of the peeling but the whole table, each within the one before."""
    box = PrimBox((), np.arange(table.n_rows))
    while not wanted[box.rows].all():
        inner = [each for each in _layers(table, box, alpha) if len(each.rows) >= least]
        if not inner:
            return
        # Of equals `max` takes the first.
        box = max(inner, key=lambda each: (float(wanted[each.rows].mean()), len(each.rows)))
        yield box


def _layers(table: Table, box: PrimBox, alpha: float) -> Iterator[PrimBox]:
    """The boxes that are left after each possible peel."""
    for feature, column in enumerate(table.columns):
        codes = column.codes[box.rows]
        present = codes[codes >= 0]
        if not len(present):
            continue
        for condition in _cuts(feature, column, present, alpha):
            yield PrimBox(simplify((*box.conditions, condition)), box.rows[holds(condition, codes)])


def _cuts(
    feature: int, column: Column, present: NDArray[np.int32], alpha: float
) -> Iterator[CodedCondition]:
    """The conditions that peel something off these codes and leave something."""
    if column.kind is Kind.CATEGORICAL:
        levels = np.unique(present)
        if len(levels) > 1:
            yield from (CodedCondition(feature, Op.NE, int(level)) for level in levels)
        return
    ordered = np.sort(present)
    size = max(1, int(alpha * len(ordered)))
    first, last = ordered[0], ordered[-1]
    if first == last:
        return
    low = ordered[size]  # the first code that stays
    if low == first:
        low = ordered[np.searchsorted(ordered, first, side="right")]
    high = ordered[-size - 1]  # the last code that stays
    if high == last:
        high = ordered[np.searchsorted(ordered, last, side="left") - 1]
    yield CodedCondition(feature, Op.GE, int(low))
    yield CodedCondition(feature, Op.LT, int(high) + 1)


def _rule(table: Table, box: PrimBox, label: object) -> Rule:
    """The rule of a box; several levels peeled off a feature become the set of those left."""
    excluded: dict[int, list[int]] = {}
    for condition in box.conditions:
        if condition.op is Op.NE:
            excluded.setdefault(condition.feature, []).append(condition.code)
    merged = {}
    for feature, codes in excluded.items():
        left = tuple(code for code in range(table.columns[feature].n_values) if code not in codes)
        if len(left) == 1:
            merged[feature] = CodedCondition(feature, Op.EQ, left[0])
        elif len(codes) > 1:
            merged[feature] = CodedCondition(feature, Op.IN, -1, left)
    conditions = dict.fromkeys(merged.get(c.feature, c) for c in box.conditions)
    return Rule((lift_condition(table, each) for each in conditions), label)
