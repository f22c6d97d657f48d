"""The validated, rank-coded input that everything else works on."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError, OpdtWarning
from opdt.table.columns import Column, code_column, code_matrix, tiles
from opdt.table.frames import Source, check_names, find_column, from_values, open_source
from opdt.table.kinds import Kind, check_kinds, unknown_column
from opdt.table.labels import check_weights, code_labels
from opdt.table.parallel import run
from opdt.table.raw import Raw
from opdt.table.sparse import SparseSource, code_entries, code_flags, mostly_zeros

# Cells from which on it pays to code columns on several cores.
_LARGE = 1 << 20
_TOGETHER = 32


@dataclass(frozen=True, eq=False)
class Table:
    """Features, labels and row weights, validated, rank-coded and read-only.

    Attributes
    ----------
    columns : tuple of Column, length n_features
    labels : ndarray of int32 of shape (n_rows,)
        The code of each row's class in `classes`.
    classes : ndarray of shape (n_classes,)
        The sorted distinct labels.
    weights : ndarray of float64 of shape (n_rows,), or None
        Row weights; None means that every row counts one.

    Examples
    --------
    >>> table = Table.build({"age": [31, 64, 58], "smoker": ["no", "yes", "yes"]}, [0, 1, 1])
    >>> table.names, table.n_rows
    (('age', 'smoker'), 3)
    >>> table.columns[0].codes.tolist()
    [0, 2, 1]
    """

    columns: tuple[Column, ...]
    labels: NDArray[np.int32]
    classes: NDArray[Any]
    weights: NDArray[np.float64] | None = None

    @classmethod
    def build(
        cls,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        kinds: Mapping[str, str] | None = None,
        warn: bool = True,
        watch: Callable[[], object] | None = None,
        threads: int | None = None,
    ) -> Self:
        """Return the table of some data and its labels.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), data frame, mapping of columns, or path
            NumPy array (columns x0, x1, …), list of rows, sparse matrix of SciPy, pandas, polars
            or pyarrow table, anything else narwhals reads, or the path of a CSV or Parquet file.
            Sparse matrices and sparse columns of pandas stay sparse.
        y : array-like of shape (n_rows,), or str
            Labels of at least two classes, or the name of the column of `X` that holds them;
            that column is then no feature.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights, finite, not negative, not all zero.
        kinds : mapping of column name to "numeric" or "categorical", optional
            What to take a column for, where its content suggests otherwise.
        warn : bool
            Whether to warn of constant columns and of text that differs in every row.
        watch : callable, optional
            Called without arguments between blocks of columns, and of a large table at least
            every 0.1 s. What it raises ends the work and passes through.
        threads : int, optional
            The most that code a large table; all cores that the process may use if left out.

        Raises
        ------
        InputError
            If the data cannot be used; the message names the column and the cure.
        """
        source = open_source(X)
        names = source.names
        check_names(names)
        features = list(range(len(names)))
        if isinstance(y, str):
            features.remove(find_column(source, y))
        raw_labels = _raw_labels(source, y)
        _check_shape(source, len(features), len(raw_labels.values))
        labels, classes = code_labels(raw_labels, fixed_width=_is_fixed_width(y))
        chosen = check_kinds(kinds, [names[j] for j in features])
        columns = _code(source, features, chosen, watch, threads)
        weights = check_weights(sample_weight, source.n_rows)
        table = cls(columns, labels, classes, weights)
        if warn:
            _remark(table)
        return table

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features' names in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """Positions of the numeric features, ascending."""
        return tuple(j for j, c in enumerate(self.columns) if c.kind is Kind.NUMERIC)

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """Positions of the categorical features, ascending."""
        return tuple(j for j, c in enumerate(self.columns) if c.kind is Kind.CATEGORICAL)

    def index(self, name: str) -> int:
        """Return a feature's position; an unknown name is refused with the closest ones."""
        try:
            return self._positions[name]
        except KeyError:
            raise unknown_column(name, self.names) from None

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}


def _raw_labels(source: Source, y: Any) -> Raw:
    if isinstance(y, str):
        return source.column(find_column(source, y))
    if y is None:
        raise InputError(
            "a table requires y to be passed, but the target y is None; give one label a row."
        )
    return from_values(y, "y")


def _is_fixed_width(y: Any) -> bool:
    return isinstance(y, np.ndarray) and y.dtype.kind == "U"


def _check_shape(source: Source, n_features: int, n_labels: int) -> None:
    shape = f"(shape=({source.n_rows}, {n_features})) while a minimum of 1 is required"
    if n_features == 0:
        raise InputError(f"X has no columns to make rules of: 0 feature(s) {shape}.")
    if source.n_rows == 0:
        raise InputError(f"X has no rows: Found array with 0 sample(s) {shape}.")
    if source.n_rows != n_labels:
        raise InputError(
            f"X and y must have the same number of rows, got {source.n_rows} and {n_labels}."
        )


def _code(
    source: Source,
    features: list[int],
    chosen: Mapping[str, Kind],
    watch: Callable[[], object] | None,
    threads: int | None,
) -> tuple[Column, ...]:
    names = source.names
    plain = [j for j in features if names[j] not in chosen] if chosen else features
    jobs: list[Callable[[], Iterable[Column]]] = []
    order: list[int] = []
    for block, matrix in source.blocks(plain):
        order += block
        code = code_flags if mostly_zeros(matrix) else code_matrix
        for part in tiles(matrix):
            jobs.append(partial(code, [names[j] for j in block[part]], matrix[:, part]))
    large = source.n_rows * len(features) >= _LARGE
    if isinstance(source, SparseSource):
        run([lambda: source.by_column], large=large, watch=watch, threads=threads)
    rest = sorted(set(features).difference(order))
    order += rest
    # Columns of few stored cells are coded so quickly that a job of its own would cost more.
    step = _TOGETHER if isinstance(source, SparseSource) else 1
    for start in range(0, len(rest), step):
        jobs.append(partial(_code_apart, source, rest[start : start + step], chosen))
    done = chain.from_iterable(run(jobs, large=large, watch=watch, threads=threads))
    columns = dict(zip(order, done, strict=True))
    return tuple(columns[j] for j in features)


def _code_apart(source: Source, some: list[int], chosen: Mapping[str, Kind]) -> list[Column]:
    columns = []
    for j in some:
        name, entries = source.names[j], source.entries(j)
        kind = chosen.get(name)
        if entries is None:
            columns.append(code_column(name, source.column(j), kind))
        else:
            columns.append(code_entries(name, entries, kind))
    return columns


def _remark(table: Table) -> None:
    """Warn once of constant columns, and once of text that differs in every row."""
    constant = [
        c.name for c in table.columns if c.n_values < 2 and not (c.n_values and c.has_missing)
    ]
    unique = [
        c.name
        for c in table.columns
        if c.kind is Kind.CATEGORICAL and c.n_values == table.n_rows > 2
    ]
    for found, remark in (
        (constant, "constant columns, which no condition can use"),
        (unique, "categorical columns with a different level in every row, as identifiers have"),
    ):
        if found:
            shown = ", ".join(map(repr, found[:10])) + (", …" if len(found) > 10 else "")
            warnings.warn(f"{remark}: {shown}.", OpdtWarning, _outside())


def _outside() -> int:
    """Return the stack level, for `_remark`, of the first caller that is not of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("opdt."):
        level, frame = level + 1, frame.f_back
    return level
