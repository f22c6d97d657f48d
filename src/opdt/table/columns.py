"""Rank coding: every value becomes its place among the distinct values of its column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.table.cleaning import Cleaning
from opdt.table.kinds import Kind
from opdt.table.ranks import rank_rows, turned
from opdt.table.raw import BadRows, Raw, as_numeric

# What is coded in one call: at least half a line of memory of each row, and so many cells.
FEW = 8  # values for each row taken, from which a table of all values does not pay
_TILE_BYTES = 32
_TILE_CELLS = 1 << 18


@dataclass(frozen=True, eq=False)
class Column:
    """One feature, rank-coded and read-only.

    Attributes
    ----------
    name : str
    kind : Kind
    codes : ndarray of int32 of shape (n_rows,)
        The rank of each row's value in `values`; -1 where it is missing.
    values : ndarray of shape (n_values,)
        The sorted distinct values present: float64, int64, uint64 or datetime64 for a numeric
        column (booleans are 0 and 1), an object array of levels for a categorical one.
    cleaning : Cleaning or None
        How the cells became these values; None where they are the cells.
    """

    name: str
    kind: Kind
    codes: NDArray[np.int32]
    values: NDArray[Any]
    cleaning: Cleaning | None = None

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)
        self.values.setflags(write=False)

    # Whether most rows hold one value and only the others are stored; see `SparseColumn`.
    is_sparse: ClassVar[bool] = False

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def n_values(self) -> int:
        """Number of distinct values present."""
        return len(self.values)

    @cached_property
    def has_missing(self) -> bool:
        """Whether any row's value is missing."""
        return bool((self.codes < 0).any())

    def take(self, rows: NDArray[np.int64]) -> Column:
        """The column on some rows, coded again: a value that none of them has is no value."""
        codes = self.codes[rows]
        if FEW * len(rows) < self.n_values:  # sorting them is quicker than a table of all values
            some, ranks = np.unique(codes, return_inverse=True)
            absent = int((some < 0).sum())
            own = (ranks - absent).astype(np.int32)
            return Column(self.name, self.kind, own, self.values[some[absent:]], self.cleaning)
        present = np.zeros(self.n_values + 1, bool)  # the last is that of missing values, code -1
        present[codes] = True
        known = np.flatnonzero(present[:-1])
        place = np.full(self.n_values + 1, -1, np.int32)
        place[known] = np.arange(len(known))
        return Column(self.name, self.kind, place[codes], self.values[known], self.cleaning)


def code_column(name: str, raw: Raw, kind: Kind | None = None) -> Column:
    """Return a column rank-coded, as the kind asked for or the one its content suggests.

    Takes O(n log n) for numbers and dates, O(n) and the sorting of the levels for text.
    """
    kind = raw.kind if kind is None else kind
    codes, values = code_values(raw, kind, f"column {name!r}")
    return Column(name, kind, codes, values)


def code_values(raw: Raw, kind: Kind, what: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the codes of all rows and the sorted distinct values; errors call it `what`."""
    if kind is Kind.NUMERIC:
        raw = as_numeric(raw, what)
    if raw.values.dtype == object:
        return _code_levels(raw.values, what)
    if raw.values.dtype.kind == "f":
        check_finite(raw.values, what)
    values = raw.values
    if values.dtype.kind == "b" and kind is Kind.NUMERIC:
        values = values.astype(np.int64)
    if raw.missing is None:
        codes, distinct = _rank(values)
    else:
        codes = np.full(len(values), -1, dtype=np.int32)
        codes[~raw.missing], distinct = _rank(values[~raw.missing])
    return codes, distinct if kind is Kind.NUMERIC else _as_levels(distinct)


def tiles(matrix: NDArray[Any]) -> list[slice]:
    """Return the columns of an array in the pieces that are best coded in one call each.

    The cells of a row that lie next to each other in memory are read together.
    """
    n_rows, n_features = matrix.shape
    step = max(1, _TILE_BYTES // matrix.itemsize, _TILE_CELLS // max(1, n_rows))
    return [slice(start, start + step) for start in range(0, n_features, step)]


def code_matrix(names: Sequence[str], matrix: NDArray[Any]) -> list[Column]:
    """Return the columns of a two-dimensional array of numbers, all of them numeric.

    Parameters
    ----------
    names : sequence of str of length n_features
    matrix : ndarray of shape (n_rows, n_features), any float, integer or boolean type
    """
    block = turned(matrix)
    absent = None
    if block.dtype.kind == "f" and not np.isfinite(block).all():
        for name, row in zip(names, block, strict=True):
            check_finite(row, f"column {name!r}")
        absent = np.isnan(block)
    codes = np.empty(block.shape, dtype=np.int32)
    values = map(_as_number, rank_rows(block, codes, absent))
    return list(map(Column, names, repeat(Kind.NUMERIC), codes, values))


def check_finite(
    values: NDArray[np.floating[Any]], what: str, at: NDArray[np.integer[Any]] | None = None
) -> None:
    """Refuse infinite values, saying how many there are and where the first is.

    Parameters
    ----------
    values : ndarray of float
    what : str
        How the error calls them.
    at : ndarray of integers of the same shape, optional
        The values' rows; 0, 1, 2, … if left out.
    """
    infinite = np.isinf(values)
    if infinite.any():
        after = "; replace it by a finite number or by a missing value."
        raise BadRows(f"{what} contains infinity", infinite, after, at)


def _rank(values: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the ranks and the sorted distinct values of an array without missing values."""
    codes = np.empty((1, len(values)), dtype=np.int32)
    if not len(values):
        return codes[0], values
    (distinct,) = rank_rows(np.ascontiguousarray(values)[None], codes)
    return codes[0], distinct


def _as_number(values: NDArray[Any]) -> NDArray[Any]:
    """Return sorted numbers of any type as float64 or int64, uint64 where int64 is too small."""
    if values.dtype.kind == "f":
        return values.astype(np.float64, copy=False)
    if values.dtype == np.uint64 and values[-1] > np.iinfo(np.int64).max:
        return values
    return values.astype(np.int64, copy=False)


def _code_levels(values: NDArray[Any], what: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the codes and sorted levels of an object array whose missing cells are None."""
    cells = values.tolist()
    try:
        distinct = set(cells)
    except TypeError:
        raise unhashable(cells, what) from None
    distinct.discard(None)
    try:
        levels = sorted(distinct)
    except TypeError:
        types = " and ".join(sorted({repr(type(c).__name__) for c in distinct}))
        raise InputError(
            f"{what} mixes values of the types {types}, which have no common order; "
            "convert all of them to text or all to numbers."
        ) from None
    places: dict[Any, int] = {level: code for code, level in enumerate(levels)}
    places[None] = -1
    codes = np.fromiter(map(places.__getitem__, cells), np.int32, len(cells))
    return codes, _as_levels(levels)


def unhashable(cells: Sequence[Any], what: str) -> InputError:
    """The refusal of cells that cannot be compared."""
    bad = next(type(c).__name__ for c in cells if getattr(c, "__hash__", None) is None)
    return InputError(
        f"{what} holds objects of type {bad!r}, which cannot be compared as levels; "
        "convert them to text or numbers, or drop the column."
    )


def _as_levels(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return values as an object array of Python objects (dates stay NumPy's)."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "M":
        values = values.tolist()
    levels = np.empty(len(values), dtype=object)
    for code, value in enumerate(values):
        levels[code] = str(value) if isinstance(value, str) else value
    return levels
