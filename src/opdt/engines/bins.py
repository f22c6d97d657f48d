"""Discretised tables: what the learners of the RULES family work on.

A numeric feature is cut into bins of equal width between its smallest and largest value, or into
bins that hold equally many rows; a level of a categorical feature is a bin too. Every row lies in
one bin of each feature, or in none where its value is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.checks import check_choice, check_int
from opdt.problem import CodedCondition
from opdt.rules import Condition, Op
from opdt.solution import Budget, Clock
from opdt.table import Column, Kind, Table

DEFAULT_BINS = 10  # the paper's number of equal bins
# What is equal about the bins of a numeric feature: their width, or the rows in them.
BINNINGS = WIDTH, FREQUENCY = ("width", "frequency")
# Edges are shown without the dust of binary arithmetic, where that moves no value.
_DIGITS = 12


class Bin(NamedTuple):
    """A bin of a feature that holds rows.

    `coded` says it in rank codes: one condition for a level and for the first and last bin of a
    numeric feature, two for a bin between. `conditions` says the same with the edges of the bin,
    which also holds for rows that were not there when it was made.
    """

    feature: int
    coded: tuple[CodedCondition, ...]
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """The bins of a table's features, and the bin of every cell.

    Attributes
    ----------
    bins : tuple of Bin
        In the order of the table's features, then of values. A numeric feature whose rows all
        fall into one bin has none, since that bin says nothing.
    cells : ndarray of int32 of shape (n_rows, n_features)
        Position in `bins` of the bin of each cell; ``len(bins)`` where it lies in none.
    """

    bins: tuple[Bin, ...]
    cells: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        table: Table,
        n_bins: int = DEFAULT_BINS,
        clock: Clock | None = None,
        binning: str = WIDTH,
    ) -> BinnedTable:
        """Cut the numeric features of a table into bins of equal width or of equal frequency.

        The clock's limits end the work with `LimitReached` or `MemoryLimit`.
        """
        check_bins(n_bins, binning)
        clock = clock or Budget().start()
        clock.require(
            table.n_rows * (4 * table.n_features + 32),
            "a table of bins",
            "take fewer rows or columns, or use the engine 'search'",
        )
        bins: list[Bin] = []
        lookups: list[NDArray[np.intp]] = []  # the bin of each value, and -1 where it has none
        for feature, column in enumerate(table.columns):
            clock.check()
            if column.kind is Kind.NUMERIC:
                made, places = _numeric(feature, column, _CUTS[binning](column, n_bins))
            else:
                made, places = _levels(feature, column)
            # One place more, at the end, for the code -1 of missing values.
            lookups.append(np.append(places + len(bins) if made else np.full(len(places), -1), -1))
            bins += made
        cells = np.empty((table.n_rows, table.n_features), dtype=np.int32, order="F")
        for feature, lookup in enumerate(lookups):
            clock.check()
            lookup[lookup < 0] = len(bins)
            cells[:, feature] = lookup[table.columns[feature].codes]
        return cls(tuple(bins), cells)


def check_bins(n_bins: Any, binning: Any = WIDTH) -> None:
    """Refuse a number of bins that cannot part anything, and an unknown way to cut them."""
    check_int("bins", n_bins, 2)
    check_choice("binning", binning, BINNINGS)


def _levels(feature: int, column: Column) -> tuple[list[Bin], NDArray[np.intp]]:
    """One bin per level, and the place of each level among them."""
    bins = [
        Bin(
            feature,
            (CodedCondition(feature, Op.EQ, code),),
            (Condition(column.name, Op.EQ, level, column.cleaning),),
        )
        for code, level in enumerate(column.values.tolist())
    ]
    return bins, np.arange(column.n_values)


class _Cut(NamedTuple):
    """Edges between which no value lies: the first code beyond them, the first and last edge."""

    code: int
    first: Any
    last: Any


def _numeric(feature: int, column: Column, cuts: list[_Cut]) -> tuple[list[Bin], NDArray[np.intp]]:
    """The bins between these cuts, which all hold rows, and the place of each value among them."""
    codes = np.array([cut.code for cut in cuts], dtype=np.intp)
    places = np.searchsorted(codes, np.arange(column.n_values), side="right")
    if not cuts:
        return [], places
    bins = []
    for at in range(len(cuts) + 1):
        coded, conditions = [], []
        if at > 0:
            coded.append(CodedCondition(feature, Op.GE, cuts[at - 1].code))
            conditions.append(Condition(column.name, Op.GE, cuts[at - 1].last, column.cleaning))
        if at < len(cuts):
            coded.append(CodedCondition(feature, Op.LT, cuts[at].code))
            conditions.append(Condition(column.name, Op.LT, cuts[at].first, column.cleaning))
        bins.append(Bin(feature, tuple(coded), tuple(conditions)))
    return bins, places


def _equal_width(column: Column, n_bins: int) -> list[_Cut]:
    """The inner edges of bins of equal width that part values, ascending.

    Edges of whole numbers and dates are rounded up, which parts the same values. Between edges
    with the same first value beyond them lie empty bins.
    """
    values = column.values
    if not len(values):
        return []
    low, high = (_number(values[at]) for at in (0, -1))
    cuts: dict[int, _Cut] = {}
    for step in range(1, n_bins):
        # Weighted, because the difference of two large doubles may overflow.
        middle = low * ((n_bins - step) / n_bins) + high * (step / n_bins)
        edge = _like(middle, values)
        code = int(np.searchsorted(values, edge, side="left"))
        short = _like(float(f"{middle:.{_DIGITS}g}"), values)
        if int(np.searchsorted(values, short, side="left")) == code:
            edge = short
        if 0 < code < len(values):
            cuts[code] = _Cut(code, cuts[code].first if code in cuts else edge, edge)
    return list(cuts.values())


def _equal_frequency(column: Column, n_bins: int) -> list[_Cut]:
    """The inner edges of bins that hold equally many rows, as far as equal values allow.

    The edges are the quantiles of pandas' `qcut`, by interpolation between rows; a row with the
    value of an edge lies below it, and edges that are equal count once. Where that leaves one bin,
    because most rows have the same value, the bins are of equal width. An edge is written halfway
    between the values around it.
    """
    values = column.values
    if not len(values):
        return []
    numbers = values.astype(np.int64) if values.dtype.kind == "M" else values
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(values))
    shares = np.arange(1, n_bins) / n_bins
    quantiles = np.quantile(np.repeat(numbers, counts).astype(np.float64), shares)
    cuts = []
    for code in np.unique(np.searchsorted(numbers, quantiles, side="right")).tolist():
        if 0 < code < len(values):
            low, high = (_number(values[at]) for at in (code - 1, code))
            middle = low / 2 + high / 2
            edge = _like(float(f"{middle:.{_DIGITS}g}"), values)
            if not values[code - 1] < edge <= values[code]:
                edge = values[code]
            cuts.append(_Cut(code, edge, edge))
    return cuts or _equal_width(column, n_bins)


_CUTS = {WIDTH: _equal_width, FREQUENCY: _equal_frequency}


def _number(value: Any) -> float:
    return float(value.astype(np.int64) if isinstance(value, np.datetime64) else value)


def _like(edge: float, values: NDArray[Any]) -> Any:
    """An edge as a value of the column's type."""
    if values.dtype.kind == "f":
        return edge
    whole = np.int64(math.ceil(edge)) if values.dtype.kind == "M" else math.ceil(edge)
    return np.asarray(whole).astype(values.dtype)[()]
