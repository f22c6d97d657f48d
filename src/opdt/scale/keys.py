"""Every cell as a whole number of the same order, so that one kind of kernel serves all columns.

A key is the integer itself, the bits of a double arranged in its order, the ticks of a date, or
the rank of a level. Keys compare as the values do, wherever a partition lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.scale import kernels
from opdt.scale.schema import Layout, Schema
from opdt.table import Kind, open_source
from opdt.table.columns import check_finite

Whole = NDArray[np.int64]
MISSING = np.iinfo(np.int64).min
_BELOW_SIGN = np.int64(np.iinfo(np.int64).max)


@dataclass(frozen=True, eq=False)
class Coded:
    """Some rows: keys of the features that were read, class and weight of each row.

    `memo` keeps what is made of the rows and may be asked for again.
    """

    keys: dict[int, Whole]
    groups: NDArray[np.uint8]
    weights: Whole
    memo: dict[int, NDArray[np.uint8]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.groups)


@dataclass(frozen=True, eq=False)
class Coder:
    """Turns Arrow tables into keys, classes and weight units.

    `levels` holds the sorted levels of the categorical features; `classes` those of the target;
    a weight is a whole multiple of 1/weight_scale.
    """

    schema: Schema
    levels: dict[int, pa.Array]
    classes: pa.Array
    weight_scale: int

    def columns(self, features: Iterable[int]) -> tuple[str, ...]:
        """The columns to read for some features."""
        names = [self.schema.features[f].name for f in sorted(features)]
        return (*names, self.schema.target.name, *self._weight)

    @cached_property
    def _weight(self) -> tuple[str, ...]:
        return () if self.schema.weight is None else (self.schema.weight,)

    def code(self, table: pa.Table, features: Iterable[int]) -> Coded:
        """Keys of some features, and class and weight of every row."""
        keys = {f: self.feature(f, table) for f in features}
        groups = _ranks(table.column(self.schema.target.name), self.schema.target, self.classes)
        if self.schema.weight is None:
            weights = np.ones(len(groups), np.int64)
        else:
            values = weight_values(table, self.schema.weight)
            weights = np.rint(values * self.weight_scale).astype(np.int64)
        return Coded(keys, groups.astype(np.uint8), weights)

    def feature(self, feature: int, table: pa.Table) -> Whole:
        """The keys of one feature."""
        layout = self.schema.features[feature]
        column = table.column(layout.name)
        if layout.kind is Kind.CATEGORICAL:
            return _ranks(column, layout, self.levels[feature])
        return numeric_keys(column, layout)


def slices(batches: Iterable[pa.Table], step: int) -> Iterator[pa.Table]:
    """The same rows in tables of at most `step` rows."""
    for table in batches:
        for start in range(0, table.num_rows, step):
            yield table.slice(start, step)


def column_of(table: pa.Table, layout: Layout) -> pa.ChunkedArray:
    """A column in the type agreed on; NaN is missing like null.

    Raises
    ------
    InputError
        If the values cannot be of that type.
    """
    column = _cast(table.column(layout.name), layout)
    if layout.family == "float":
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
    return column


def levels_in(table: pa.Table, layout: Layout) -> pa.Table:
    """The levels of a column and the rows of each, missing ones too.

    A level may come more than once, as several cells may mean it. Coded columns are not written
    out.
    """
    found = pc.value_counts(table.column(layout.name))
    distinct = pa.table({layout.name: found.field("values")})
    return pa.table({"level": column_of(distinct, layout), "count": found.field("counts")})


def _cast(column: Any, layout: Layout) -> Any:
    """An array in the type agreed on, cleaned first where the column is."""
    if layout.cleaning is not None and not layout.cleaning.is_idle:
        column = cleaned(column, layout)
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if column.type == layout.arrow:
            return column
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            column = column.cast(pa.timestamp(column.type.unit))  # the same instants, in UTC
        if pa.types.is_boolean(column.type) and layout.family == "float":
            column = column.cast(pa.int64())
        return column.cast(layout.arrow)
    except pa.ArrowException as error:
        raise InputError(
            f"column {layout.name!r} should hold {layout.arrow} everywhere, but: {error}."
        ) from error


def cleaned(column: Any, layout: Layout) -> Any:
    """Cells as the values that are compared; each different cell is read once."""
    if isinstance(column, pa.ChunkedArray):
        parts = [cleaned(chunk, layout) for chunk in column.chunks]
        return pa.chunked_array(parts, None if parts else layout.arrow)
    assert layout.cleaning is not None
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    cells = pa.table({"cells": coded.dictionary})
    raw, _ = layout.cleaning.apply(open_source(cells).column(0))
    values = pa.array(raw.values, mask=raw.mask, from_pandas=True)
    return values.cast(layout.arrow).take(coded.indices)


def unread_cells(column: Any, layout: Layout) -> tuple[NDArray[np.bool_], list[Any]]:
    """The rows whose cells hold nothing that fits, and the cells of these rows."""
    assert layout.cleaning is not None
    coded = pa.chunked_array(column.chunks if hasattr(column, "chunks") else [column], column.type)
    coded = coded.combine_chunks()
    if not pa.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode()
    _, bad = layout.cleaning.apply(open_source(pa.table({"cells": coded.dictionary})).column(0))
    if bad is None or not bad.any():
        return np.zeros(len(coded), bool), []
    rows = np.append(bad, False)[pc.fill_null(coded.indices.cast(pa.int64()), -1).to_numpy()]
    return rows, coded.filter(pa.array(rows)).to_pylist()


def numeric_keys(column: pa.ChunkedArray, layout: Layout) -> Whole:
    """Keys of numbers or dates, `MISSING` where there is none."""
    if layout.family == "null":
        return np.full(len(column), MISSING)
    if layout.family == "float":
        narrow = pa.types.is_float32(column.type) and layout.cleaning is None
        values = (column if narrow else _cast(column, layout)).to_numpy()  # null becomes NaN
        keys = np.add(values, 0.0, dtype=np.float64).view(np.int64)
        if kernels.order_bits(keys, MISSING):
            check_finite(np.asarray(values), f"column {layout.name!r}")
        return np.asarray(keys, np.int64)
    column = _cast(column, layout)
    if layout.family == "date":
        column = column.cast(pa.int32() if layout.unit == "D" else pa.int64())
    keys = pc.fill_null(column, 0).to_numpy().astype(np.int64)
    if (keys == MISSING).any():
        raise InputError(f"column {layout.name!r} holds {MISSING}, which is out of range.")
    if column.null_count:
        keys[column.is_null().to_numpy()] = MISSING
    return np.asarray(keys, np.int64)


def float_keys(values: NDArray[np.float64]) -> Whole:
    """The bits of doubles as integers of the same order; -0.0 equals 0.0."""
    bits = (values + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & _BELOW_SIGN)


def value_of(key: int, layout: Layout) -> Any:
    """The value of a numeric column that a key stands for, as a NumPy scalar."""
    if layout.family == "float":
        bits = np.array([key], np.int64)
        return (bits ^ ((bits >> 63) & _BELOW_SIGN)).view(np.float64)[0]
    if layout.family == "date":
        return np.array([key], np.int64).astype(layout.numpy)[0]
    return np.int64(key)


def key_of(value: Any, layout: Layout) -> int:
    """The smallest key of a value that is not below a threshold."""
    if layout.family == "float":
        return int(float_keys(np.array([float(value)]))[0])
    if layout.family == "date":
        ticks = np.datetime64(value).astype(layout.numpy)
        return int(ticks.astype(np.int64)) + int(ticks < np.datetime64(value))
    return int(np.ceil(value))


def weight_values(table: pa.Table, name: str) -> NDArray[np.float64]:
    """Row weights as doubles, checked."""
    column = table.column(name)
    try:
        column = column.cast(pa.float64())
    except pa.ArrowException as error:
        raise InputError(f"the weights in column {name!r} must be numbers, but: {error}.") from None
    if column.null_count:
        raise InputError(f"the weights in column {name!r} have missing values; drop those rows.")
    values = column.to_numpy()
    if not np.isfinite(values).all() or (values < 0).any():
        bad = values[~(np.isfinite(values) & (values >= 0))][0]
        raise InputError(
            f"the weights in column {name!r} must be finite and not negative, got {bad}."
        )
    return np.asarray(values, np.float64)


def _ranks(column: pa.ChunkedArray, layout: Layout, levels: pa.Array) -> Whole:
    """The place of each cell among the levels; `MISSING` for none and for other levels."""
    if not len(levels):
        return np.full(len(column), MISSING)
    if pa.types.is_dictionary(column.type):
        parts = [_ranks_of_codes(chunk, layout, levels) for chunk in column.chunks]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)
    places = pc.index_in(_cast(column, layout), value_set=levels, skip_nulls=True)
    return np.asarray(pc.fill_null(places.cast(pa.int64()), MISSING).to_numpy(), np.int64)


def _ranks_of_codes(chunk: pa.DictionaryArray, layout: Layout, levels: pa.Array) -> Whole:
    """The same for cells that are coded already: only the dictionary is looked up."""
    entries = pc.index_in(_cast(chunk.dictionary, layout), value_set=levels, skip_nulls=True)
    ranks = np.append(pc.fill_null(entries.cast(pa.int64()), MISSING).to_numpy(), MISSING)
    codes = pc.fill_null(chunk.indices.cast(pa.int64()), len(entries)).to_numpy()
    return np.asarray(ranks[codes], np.int64)
