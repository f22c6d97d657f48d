"""Columns of which most rows hold one and the same value, kept by their other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.table.columns import Column, check_finite, code_matrix, code_values
from opdt.table.kinds import Kind
from opdt.table.ranks import turned
from opdt.table.raw import Raw, from_array, from_sequence

# To find one column of a matrix stored by rows takes a pass over it; to sort all takes several.
_FEW_COLUMNS = 5
# From so many rows and columns of bytes on it is worth looking for zeros, and keeping a column by
# its other rows if these are one in so many.
_MANY_ROWS, _MANY_COLUMNS, _DENSE = 10_000, 100, 8


class SparseColumn(Column):
    """A column that stores only the rows whose value is not the common one.

    Parameters
    ----------
    name : str
    kind : Kind
    values : ndarray of shape (n_values,)
        The sorted distinct values present, the common one included.
    rows : ndarray of int32 of shape (n_stored,)
        The rows with another code than `default`, ascending.
    row_codes : ndarray of int32 of shape (n_stored,)
        Their codes; -1 where the value is missing.
    default : int
        The code of all other rows, of which there is at least one; -1 if they are missing.
    n_rows : int
    """

    is_sparse = True
    rows: NDArray[np.int32]
    row_codes: NDArray[np.int32]
    default: int

    def __init__(
        self,
        name: str,
        kind: Kind,
        values: NDArray[Any],
        *,
        rows: NDArray[np.int32],
        row_codes: NDArray[np.int32],
        default: int,
        n_rows: int,
    ) -> None:
        for array in (values, rows, row_codes):
            array.setflags(write=False)
        # Past the fields of the base class, of which `codes` is not stored here.
        self.__dict__.update(
            name=name,
            kind=kind,
            values=values,
            rows=rows,
            row_codes=row_codes,
            default=default,
            n_rows=n_rows,
            cleaning=None,
        )

    @property
    def codes(self) -> NDArray[np.int32]:
        """The code of each row, int32 of shape (n_rows,); made anew for every call."""
        codes = np.full(self.n_rows, self.default, dtype=np.int32)
        codes[self.rows] = self.row_codes
        codes.setflags(write=False)
        return codes

    @cached_property
    def has_missing(self) -> bool:
        """Whether any row's value is missing."""
        return self.default < 0 or bool((self.row_codes < 0).any())


@dataclass(frozen=True, eq=False)
class Entries:
    """The stored cells of a column and the value of all other rows.

    Attributes
    ----------
    rows : ndarray of int32 of shape (n_stored,), ascending
    values : ndarray of shape (n_stored,), of a float, integer or boolean type
    fill : scalar, or None
        The value of the rows that are not stored; None where it is missing.
    n_rows : int
    """

    rows: NDArray[np.int32]
    values: NDArray[Any]
    fill: Any
    n_rows: int


def code_entries(name: str, entries: Entries, kind: Kind | None = None) -> Column:
    """Return a column rank-coded from its stored cells alone, as its dense cells would be.

    A column with more than half of its rows stored takes less room as a plain `Column`.
    """
    if kind is not Kind.CATEGORICAL and (quick := _code_one_value(name, entries)):
        return quick
    what = f"column {name!r}"
    cells, rows, fill = entries.values, entries.rows, entries.fill
    if cells.dtype.kind == "f":
        check_finite(cells, what, rows)
    n_rows = entries.n_rows
    if len(rows) < n_rows and fill is not None:
        if np.isinf(fill):
            raise InputError(f"{what} contains infinity in all rows that are not stored.")
        cells = np.append(cells, np.array([fill], dtype=cells.dtype))
    raw = from_array(cells, what)
    kind = raw.kind if kind is None else kind
    codes, values = code_values(raw, kind, what)
    # The value of the rows that are not stored comes last; if all are stored, any will do.
    default = -1 if fill is None and len(rows) < n_rows else int(codes[-1])
    codes = codes[: len(rows)]
    other = codes != default
    if not other.all():
        rows, codes = rows[other], codes[other]
    if 2 * len(rows) <= n_rows:
        return SparseColumn(
            name, kind, values, rows=rows, row_codes=codes, default=default, n_rows=n_rows
        )
    every = np.full(n_rows, default, dtype=np.int32)
    every[rows] = codes
    return Column(name, kind, every, values)


def _code_one_value(name: str, entries: Entries) -> SparseColumn | None:
    """Return a numeric column whose stored cells all hold one number, as of flags and dummies.

    Such columns come by the ten thousand, and this is many times quicker than the general way.
    """
    cells, n_rows = entries.values, entries.n_rows
    if entries.fill is None or not 0 < 2 * len(cells) <= n_rows or cells[0] != cells[-1]:
        return None
    low = cells.min()
    if low != cells.max() or not np.isfinite(low) or not np.isfinite(entries.fill):
        return None
    pair = from_array(np.array([entries.fill, low], dtype=cells.dtype), name).values
    if pair[0] == pair[1]:
        return None
    code = int(pair[0] < pair[1])
    return SparseColumn(
        name,
        Kind.NUMERIC,
        np.sort(pair.astype(np.int64) if pair.dtype.kind == "b" else pair),
        rows=entries.rows,
        row_codes=np.full(len(cells), code, dtype=np.int32),
        default=1 - code,
        n_rows=n_rows,
    )


def mostly_zeros(matrix: NDArray[Any]) -> bool:
    """Whether a matrix may be one of very many flags or small counts, most of them zero."""
    n_rows, n_features = matrix.shape
    return matrix.itemsize == 1 and n_rows >= _MANY_ROWS and n_features >= _MANY_COLUMNS


def code_flags(names: Sequence[str], matrix: NDArray[Any]) -> list[Column]:
    """As `code_matrix`, for bytes; columns of mostly zeros are kept by their other rows."""
    block = turned(matrix)
    n_rows = block.shape[1]
    out: list[Column] = []
    for name, row in zip(names, block, strict=True):
        if _DENSE * np.count_nonzero(row) > n_rows:
            out += code_matrix([name], row[:, None])
            continue
        rows = np.flatnonzero(row).astype(np.int32)
        out.append(code_entries(name, Entries(rows, row[rows], row.dtype.type(0), n_rows)))
    return out


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array of SciPy or one that can be made such."""
    return hasattr(X, "tocsc") and hasattr(X, "nnz")


class SparseSource:
    """A sparse matrix of SciPy; its columns are called x0, x1, …."""

    def __init__(self, matrix: Any) -> None:
        if matrix.ndim != 2:
            raise InputError(f"X: Expected 2D array, got {matrix.ndim}D array instead.")
        if matrix.dtype.kind not in "fiub":
            raise InputError(
                f"X is a sparse matrix of the type {matrix.dtype}; a sparse matrix must hold real "
                "numbers or booleans."
            )
        if matrix.shape[0] > np.iinfo(np.int32).max:
            raise InputError(f"X has {matrix.shape[0]} rows; at most 2,147,483,647 are possible.")
        # Single columns can be had only of these.
        self.matrix = matrix if matrix.format in ("csr", "csc") else matrix.tocsc()
        self.names = tuple(f"x{j}" for j in range(matrix.shape[1]))
        self.n_rows = int(matrix.shape[0])
        self._asked = 0

    def column(self, index: int) -> Raw:
        """Return one column's values, not coded."""
        self._asked += 1
        if self._asked <= _FEW_COLUMNS:
            cells = self.matrix[:, [index]].toarray()[:, 0]
        else:
            entries = self.entries(index)
            cells = np.zeros(self.n_rows, dtype=self.matrix.dtype)
            cells[entries.rows] = entries.values
        return from_array(cells, f"column {self.names[index]!r}")

    def blocks(self, wanted: Sequence[int]) -> list[tuple[Sequence[int], NDArray[Any]]]:
        """Return nothing: each column stands apart."""
        return []

    def entries(self, index: int) -> Entries:
        """Return the stored cells of one column."""
        starts, rows, values = self.by_column
        part = slice(int(starts[index]), int(starts[index + 1]))
        return Entries(rows[part], values[part], 0, self.n_rows)

    @cached_property
    def by_column(self) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[Any]]:
        """Where each column begins, and the rows and values of all of them, column by column.

        Rows ascend within a column and none comes twice: cells stored twice are added up.
        """
        matrix = self.matrix.tocsc()
        if not matrix.has_canonical_format:
            matrix = matrix.copy() if matrix is self.matrix else matrix
            matrix.sum_duplicates()
        rows = matrix.indices.astype(np.int32, copy=matrix is self.matrix)
        return matrix.indptr, rows, matrix.data


def pandas_entries(values: Any) -> Entries | None:
    """Return the stored cells of a pandas series or array of a sparse type of numbers."""
    array = getattr(values, "array", values)
    if not hasattr(array, "sp_index") or array.dtype.subtype.kind not in "fiub":
        return None
    missing = from_sequence([array.fill_value], "").missing is not None
    rows = np.array(array.sp_index.to_int_index().indices, dtype=np.int32)
    return Entries(rows, array.sp_values, None if missing else array.fill_value, len(array))
