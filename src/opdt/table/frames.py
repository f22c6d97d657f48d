"""Every kind of input behind one small interface: names, number of rows, one raw column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.table.cleaning import Cleaning
from opdt.table.kinds import Kind, unknown_column
from opdt.table.raw import Raw, as_numeric, from_array, from_sequence, with_missing
from opdt.table.read import read_frame
from opdt.table.sparse import Entries, SparseSource, is_sparse, pandas_entries

Blocks = list[tuple[Sequence[int], NDArray[Any]]]

# Above this, coding one column costs so much more than fetching it that blocks gain nothing.
_FEW_ROWS = 100_000
_NUMBERS = "fiub"  # NumPy's kinds
_PLAIN = {
    *(nw.Boolean, nw.Int8, nw.Int16, nw.Int32, nw.Int64),
    *(nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64),
}


class Source(Protocol):
    """An input table, whatever library it came from; open one with `open_source`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in the order of the input."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def column(self, index: int) -> Raw:
        """Return one column's values, not coded."""

    def blocks(self, wanted: Sequence[int]) -> Blocks:
        """Return those wanted columns that are best coded together.

        Each block is the columns' positions and a (n_rows, n_columns) array of numbers.
        """

    def entries(self, index: int) -> Entries | None:
        """Return the stored cells of a column of which most rows are not stored."""


class ArraySource:
    """A two-dimensional NumPy array; its columns are called x0, x1, …."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values
        self.names = tuple(f"x{j}" for j in range(values.shape[1]))
        self.n_rows = int(values.shape[0])

    def column(self, index: int) -> Raw:
        """Return one column's values, not coded."""
        return from_array(self.values[:, index], f"column {self.names[index]!r}")

    def blocks(self, wanted: Sequence[int]) -> Blocks:
        """Return the whole array if it is one of numbers."""
        values = self.values
        if values.dtype.kind not in _NUMBERS or isinstance(values, np.ma.MaskedArray):
            return []
        if len(wanted) < len(self.names):
            values = values[:, wanted]
        return [(wanted, values)]

    def entries(self, index: int) -> None:
        """Return nothing: all cells are stored."""


class PandasSource:
    """A pandas data frame, read by position, so that any column labels will do."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.names = tuple(map(str, frame.columns))
        self.n_rows = len(frame)
        self._dtypes = list(frame.dtypes)

    def column(self, index: int) -> Raw:
        """Return one column's values, not coded."""
        return from_values(self.frame.iloc[:, index], f"column {self.names[index]!r}")

    def blocks(self, wanted: Sequence[int]) -> Blocks:
        """Return the columns of each NumPy number type, if few rows make copying them cheap."""
        alike: dict[Any, list[int]] = {}
        for index in wanted:
            dtype = self._dtypes[index]
            if isinstance(dtype, np.dtype) and dtype.kind in _NUMBERS:
                alike.setdefault(dtype, []).append(index)
        blocks: Blocks = []
        for some in alike.values():
            if len(some) == 1 or self.n_rows > _FEW_ROWS:
                blocks += [([j], self.frame.iloc[:, j].to_numpy()[:, None]) for j in some]
            else:
                whole = len(some) == len(self.names)
                frame = self.frame if whole else self.frame.iloc[:, some]
                blocks.append((some, frame.to_numpy()))
        return blocks

    def entries(self, index: int) -> Entries | None:
        """Return the stored cells of a column of a sparse type of numbers."""
        if isinstance(self._dtypes[index], np.dtype):
            return None
        return pandas_entries(self.frame.iloc[:, index])


class FrameSource:
    """A data frame of any other library that narwhals reads, such as polars or pyarrow."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self.frame = frame
        self.names = tuple(frame.columns)
        self.n_rows = len(frame)

    def column(self, index: int) -> Raw:
        """Return one column's values, not coded."""
        name = self.names[index]
        return _from_series(self.frame.get_column(name), f"column {name!r}")

    def blocks(self, wanted: Sequence[int]) -> Blocks:
        """Return complete columns of numbers, and floats with missing values if rows are few."""
        columns: dict[int, NDArray[Any]] = {}
        for index in wanted:
            series = self.frame.get_column(self.names[index])
            dtype = series.dtype
            if dtype.is_float():
                fits = self.n_rows <= _FEW_ROWS or series.null_count() == 0
            else:
                fits = dtype in _PLAIN and series.null_count() == 0
            if fits:
                columns[index] = series.to_numpy()
        return _side_by_side(columns)

    def entries(self, index: int) -> None:
        """Return nothing: all cells are stored."""


class MappingSource:
    """A mapping of names to columns of equal length."""

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self.names = tuple(map(str, columns))
        self.columns = list(columns.values())
        if any(
            not hasattr(column, "__len__") or isinstance(column, str) for column in self.columns
        ):
            raise InputError("X as a mapping must give a list or an array of cells for each name.")
        for name, column in zip(self.names, self.columns, strict=True):
            _refuse_sparse(column, f"column {name!r}")
        lengths = set(map(len, self.columns))
        if len(lengths) > 1:
            raise InputError(
                f"the columns of X must be of equal length, got lengths {sorted(lengths)}."
            )
        self.n_rows = lengths.pop() if lengths else 0

    def column(self, index: int) -> Raw:
        """Return one column's values, not coded."""
        return from_values(self.columns[index], f"column {self.names[index]!r}")

    def blocks(self, wanted: Sequence[int]) -> Blocks:
        """Return the plain arrays of numbers."""
        return _side_by_side(
            {
                j: self.columns[j]
                for j in wanted
                if type(self.columns[j]) is np.ndarray
                and self.columns[j].ndim == 1
                and self.columns[j].dtype.kind in _NUMBERS
            }
        )

    def entries(self, index: int) -> Entries | None:
        """Return the stored cells of a pandas series or array of a sparse type of numbers."""
        return pandas_entries(self.columns[index])


def _side_by_side(columns: Mapping[int, NDArray[Any]]) -> Blocks:
    """Return columns of one type as one block, or each alone and not copied if rows are many."""
    alike: dict[Any, dict[int, NDArray[Any]]] = {}
    for index, values in columns.items():
        alike.setdefault(index if len(values) > _FEW_ROWS else values.dtype, {})[index] = values
    return [
        (list(some), np.column_stack(arrays) if len(arrays) > 1 else arrays[0][:, None])
        for some in alike.values()
        if (arrays := list(some.values()))
    ]


def open_source(X: Any) -> Source:
    """Return any supported input as a `Source`; a source is returned as it is.

    Parameters
    ----------
    X : array-like, data frame, mapping of columns, or path
        A two-dimensional NumPy array or list of rows; a sparse matrix or array of SciPy; a
        pandas, polars or pyarrow table or anything else narwhals reads; a mapping of names to
        columns; the path of a CSV or Parquet file.
    """
    if isinstance(X, ArraySource | PandasSource | FrameSource | MappingSource | SparseSource):
        return X
    if type(X) is np.ndarray or isinstance(X, np.ma.MaskedArray):
        return _array_source(X)
    if is_sparse(X):
        return SparseSource(X)
    if isinstance(X, str | PathLike):
        X = read_frame(X)
    elif isinstance(X, Mapping):
        return MappingSource(X)
    if nw.dependencies.is_pandas_dataframe(X):
        return PandasSource(X)
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return FrameSource(frame)
    return _array_source(_rows_to_array(X))


def has_names(source: Source) -> bool:
    """Whether the columns have names that somebody gave them, rather than x0, x1, …."""
    return not isinstance(source, ArraySource | SparseSource)


def check_rows(X: Any, values: Any, what: str) -> None:
    """Refuse a pandas series whose index has the rows of X in another order.

    An index that is not that of X at all, as after `reset_index`, says nothing: rows then go by
    position.
    """
    frame = X.frame if isinstance(X, PandasSource) else X
    both = nw.dependencies.is_pandas_dataframe(frame) and nw.dependencies.is_pandas_series(values)
    if not both or len(frame) != len(values):
        return
    index, other = frame.index, values.index
    if index.equals(other) or not (index.is_unique and other.is_unique):
        return
    if len(index.difference(other)) == 0:
        raise InputError(
            f"{what} has the same index as X, but in another order, so that rows would be mixed "
            f"up; write {what}.loc[X.index] to align them, or {what}.to_numpy() to go by position."
        )


def column_names(X: Any) -> tuple[str, ...]:
    """Return the names of the columns of any supported input."""
    return open_source(X).names


def n_rows_of(X: Any) -> int:
    """Return the number of rows of any supported input."""
    return open_source(X).n_rows


def raw_column(
    X: Any,
    key: str | int,
    kind: Kind | str | None = None,
    cleaning: Cleaning | None = None,
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the values of one column, not coded, and the mask of its missing values.

    Parameters
    ----------
    X : any supported input, or a `Source`
        Open a source once with `open_source` to read several columns of a file.
    key : str or int
        The column's name or its position.
    kind : Kind, optional
        With ``"numeric"`` the values are numbers or dates for certain: numbers in text are
        read, and any other text is refused.
    cleaning : Cleaning, optional
        How the cells become values: that of the training rows.

    Returns
    -------
    values : ndarray of shape (n_rows,)
        int64 (booleans too), uint64, float64, datetime64 or object.
    missing : ndarray of bool of shape (n_rows,)
    """
    source = open_source(X)
    index = find_column(source, key)
    raw = source.column(index)
    if cleaning is not None:
        raw, _ = cleaning.apply(raw)
    if kind is not None and Kind(kind) is Kind.NUMERIC:
        raw = as_numeric(raw, f"column {source.names[index]!r}")
    values = raw.values.astype(np.int64) if raw.values.dtype.kind == "b" else raw.values
    return values, raw.mask


def find_column(source: Source, key: str | int) -> int:
    """Return the position of a column given by name or position."""
    names = source.names
    if isinstance(key, str):
        if key not in names:
            raise unknown_column(key, names)
        return names.index(key)
    if not -len(names) <= key < len(names):
        raise InputError(f"there is no column number {key} in X, which has {len(names)} columns.")
    return key % len(names)


def check_names(names: tuple[str, ...]) -> None:
    """Refuse column names that occur more than once."""
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        shown = ", ".join(map(repr, twice[:5]))
        raise InputError(f"X has duplicate column names: {shown}; rename them.")


def from_values(values: Any, what: str) -> Raw:
    """Return anything one-dimensional (array, series, list) as a `Raw` column."""
    _refuse_sparse(values, what)
    values = _as_series(values)
    if nw.dependencies.is_pandas_series(values):
        return _from_pandas(values, what)
    if isinstance(values, np.ndarray):
        array = values
    else:
        series = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(series, nw.Series):
            return _from_series(series, what)
        if isinstance(values, list | tuple | range):
            return from_sequence(values, what)
        array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{what} must be one-dimensional, got the shape {array.shape}.")
    return from_array(array, what)


def _refuse_sparse(values: Any, what: str) -> None:
    if is_sparse(values):
        raise InputError(f"{what} is a sparse matrix; pass its cells, as toarray().ravel() does.")


def _as_series(values: Any) -> Any:
    """Return arrays of pandas and pyarrow as series, which keep types that NumPy has not.

    As a plain array, whole numbers with missing values would be rounded to floats.
    """
    pandas, pyarrow = nw.dependencies.get_pandas(), nw.dependencies.get_pyarrow()
    if pandas and isinstance(values, pandas.api.extensions.ExtensionArray | pandas.Index):
        return pandas.Series(values)
    if pyarrow and isinstance(values, pyarrow.Array):
        return pyarrow.chunked_array([values])
    return values


def _from_pandas(series: Any, what: str) -> Raw:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) or hasattr(series.array, "sp_index"):
        return from_array(series.to_numpy(), what)
    if hasattr(dtype, "categories"):
        codes = series.cat.codes.to_numpy()
        levels = dtype.categories
        if levels.inferred_type not in {"string", "integer", "floating", "boolean"}:
            levels = levels.astype(str)  # such as the intervals that pandas.cut makes
        cells = np.append(levels.astype(object).to_numpy(), [None])
        order = tuple(cells[:-1].tolist()) if dtype.ordered else ()
        missing = codes < 0 if (codes < 0).any() else None
        return Raw(cells[codes], missing, Kind.CATEGORICAL, order, is_declared=True)
    return _from_series(nw.from_native(series, series_only=True), what)


def _from_series(series: nw.Series[Any], what: str) -> Raw:
    dtype = series.dtype
    missing = None
    series = series.alias("")  # polars takes a name such as ^a.*$ for a pattern
    if series.null_count() > 0:
        missing = series.is_null().to_numpy().astype(bool)
    declared = isinstance(dtype, nw.Categorical | nw.Enum)
    order: tuple[Any, ...] = ()
    if declared:
        order = tuple(dtype.categories) if isinstance(dtype, nw.Enum) else ()
        series, dtype = series.cast(nw.String), nw.String()
    if isinstance(dtype, nw.Decimal):
        series, dtype = series.cast(nw.Float64), nw.Float64()
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        dates = from_array(series.to_numpy(), what)
        return replace(with_missing(dates, missing), zone="UTC")
    if isinstance(dtype, nw.List | nw.Array | nw.Struct):
        raise InputError(f"{what} holds nested values ({dtype}); make one column of each part.")
    if isinstance(dtype, nw.String):
        values = series.to_numpy().astype(object)
        raw = Raw(values, None, Kind.CATEGORICAL, order, is_declared=declared)
        return with_missing(raw, missing)
    if dtype in (nw.Int128, nw.UInt128):
        return from_sequence(series.to_list(), what)  # wider than any of NumPy's
    if missing is not None and dtype.is_integer():
        series = series.fill_null(0)
    elif missing is not None and dtype == nw.Boolean:
        series = series.fill_null(False)
    if dtype.is_numeric() or dtype.is_temporal() or dtype == nw.Boolean:
        return with_missing(from_array(series.to_numpy(), what), missing)
    return from_sequence(series.to_list(), what)


def _rows_to_array(X: Any) -> NDArray[Any]:
    """Return rows of cells as an array; as objects where text and numbers are mixed."""
    try:
        values = np.asarray(X)
        if values.dtype.kind in "US" and not hasattr(X, "__array__"):
            values = np.array(X, dtype=object)
    except (TypeError, ValueError):
        raise InputError("the rows of X must be of equal length, one cell per column.") from None
    if values.ndim == 0:
        raise InputError(
            "X must be a two-dimensional array, a data frame, a mapping of columns or a path, "
            f"got {type(X).__name__!r}."
        )
    return values


def _array_source(values: NDArray[Any]) -> ArraySource:
    if values.dtype.names is not None:
        raise InputError("X is a structured array; pass a data frame or a plain 2-D array instead.")
    if values.ndim != 2:
        raise InputError(
            f"X: Expected 2D array, got {values.ndim}D array instead; Reshape your data with "
            "X.reshape(-1, 1) for one column or X.reshape(1, -1) for one row."
        )
    return ArraySource(values)
