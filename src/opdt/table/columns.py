"""Rank coding: every value becomes its place among the distinct values of its column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.table.kinds import Kind
from opdt.table.raw import Raw, as_numeric, rows

# Cells ranked in one go: large enough to hide the cost per call, small enough for the cache.
_BLOCK_CELLS = 1 << 18


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
    """

    name: str
    kind: Kind
    codes: NDArray[np.int32]
    values: NDArray[Any]

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)
        self.values.setflags(write=False)

    @property
    def n_values(self) -> int:
        """Number of distinct values present."""
        return len(self.values)

    @cached_property
    def has_missing(self) -> bool:
        """Whether any row's value is missing."""
        return bool((self.codes < 0).any())


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


def code_matrix(names: Sequence[str], matrix: NDArray[Any]) -> list[Column]:
    """Return the columns of a two-dimensional float or integer array, all of them numeric.

    Ranks many narrow columns in one go, which for small tables is several times faster than
    one by one, and a large table block by block, which keeps the working memory small.

    Parameters
    ----------
    names : sequence of str of length n_features
    matrix : ndarray of shape (n_rows, n_features), any float or signed integer type
    """
    n_rows, n_features = matrix.shape
    dtype = np.dtype(np.float64 if matrix.dtype.kind == "f" else np.int64)
    codes = np.empty((n_features, n_rows), dtype=np.int32)
    step = max(1, _BLOCK_CELLS // max(1, n_rows))
    columns: list[Column] = []
    for start in range(0, n_features, step):
        stop = min(start + step, n_features)
        # Adding zero turns -0.0 into 0.0, so that equal values also look equal.
        block = np.add(matrix[:, start:stop].T, dtype.type(0), order="C", dtype=dtype)
        values = _rank_block(block, codes[start:stop], names[start:stop])
        columns += map(Column, names[start:stop], repeat(Kind.NUMERIC), codes[start:stop], values)
    return columns


def check_finite(values: NDArray[np.float64], what: str) -> None:
    """Refuse infinite values, saying how many there are and where the first is."""
    infinite = np.isinf(values)
    if infinite.any():
        raise InputError(
            f"{what} contains infinity in {rows(infinite)}; "
            "replace it by a finite number or by a missing value."
        )


def _rank_block(
    block: NDArray[Any], codes: NDArray[np.int32], names: Sequence[str]
) -> list[NDArray[Any]]:
    """Fill `codes` (n_features, n_rows) with the ranks of each row of `block`; return the values.

    Each NaN counts as a fresh value, but sorts last, so it moves no other value's rank.
    """
    absent = None
    if block.dtype.kind == "f" and not np.isfinite(block).all():
        for name, row in zip(names, block, strict=True):
            check_finite(row, f"column {name!r}")
        absent = np.isnan(block)
    # Positions in the flat block, so that one plain index serves to take and to put.
    order = np.argsort(block, axis=1)
    order += np.arange(0, block.size, block.shape[1])[:, None]
    ordered = block.reshape(-1)[order]
    fresh = np.empty(block.shape, dtype=bool)
    fresh[:, :1] = True
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=fresh[:, 1:])
    ranks = np.cumsum(fresh, axis=1, dtype=np.int32)
    ranks -= 1
    codes.reshape(-1)[order] = ranks
    if absent is not None:
        codes[absent] = -1
        fresh &= ~np.isnan(ordered)
    distinct = ordered[fresh]
    ends = np.cumsum(np.count_nonzero(fresh, axis=1)).tolist()
    return [distinct[i:j] for i, j in zip([0, *ends[:-1]], ends, strict=True)]


def _rank(values: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the ranks and the sorted distinct values of an array without missing values."""
    codes = np.empty((1, len(values)), dtype=np.int32)
    if not len(values):
        return codes[0], values
    (distinct,) = _rank_block(values[None], codes, [""])
    return codes[0], distinct


def _code_levels(values: NDArray[Any], what: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the codes and sorted levels of an object array whose missing cells are None."""
    cells = values.tolist()
    try:
        distinct = set(cells)
    except TypeError:
        bad = next(type(c).__name__ for c in cells if getattr(c, "__hash__", None) is None)
        raise InputError(
            f"{what} holds objects of type {bad!r}, which cannot be compared as levels; "
            "convert them to text or numbers, or drop the column."
        ) from None
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


def _as_levels(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return values as an object array of Python objects (dates stay NumPy's)."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "M":
        values = values.tolist()
    levels = np.empty(len(values), dtype=object)
    for code, value in enumerate(values):
        levels[code] = str(value) if isinstance(value, str) else value
    return levels
