from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from opdt.errors import InputError
from opdt.table import Table, column_names, n_rows_of, open_source, raw_column

COLUMNS: dict[str, list[Any]] = {
    "whole": [3, None, 1],
    "part": [0.5, None, 2.5],
    "truth": [True, False, True],
    "name": ["b", None, "a"],
    "day": [dt.date(2020, 1, 2), None, dt.date(1960, 1, 1)],
}
LAST = {
    "whole": 1,
    "part": 2.5,
    "truth": 1,
    "name": "a",
    "day": np.datetime64("1960-01-01"),
}


def inputs() -> dict[str, Any]:
    rows = [list(row) for row in zip(*COLUMNS.values(), strict=True)]
    return {
        "mapping": COLUMNS,
        "pandas": pd.DataFrame(COLUMNS),
        "pandas nullable": pd.DataFrame(COLUMNS).convert_dtypes(),
        "pandas arrow": pa.table(COLUMNS).to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.DataFrame(COLUMNS),
        "polars lazy": pl.LazyFrame(COLUMNS),
        "pyarrow": pa.table(COLUMNS),
        "rows": rows,
        "objects": np.array(rows, dtype=object),
    }


@pytest.mark.parametrize("kind", inputs())
def test_raw_columns_of_any_input_hold_the_same_values(kind: str) -> None:
    X = inputs()[kind]
    source = open_source(X)
    assert n_rows_of(source) == 3
    named = kind not in {"rows", "objects"}
    assert column_names(source) == (tuple(COLUMNS) if named else ("x0", "x1", "x2", "x3", "x4"))
    for index, (name, cells) in enumerate(COLUMNS.items()):
        values, missing = raw_column(X, name if named else index)
        assert missing.tolist() == [cell is None for cell in cells]
        assert values[2] == LAST[name]
        assert values.dtype.kind in {"truth": "i", "name": "O", "day": "M"}.get(name, "if")


def test_raw_columns_of_a_file_are_read_by_name(tmp_path: Path) -> None:
    pl.DataFrame(COLUMNS).write_csv(tmp_path / "data.csv")
    values, missing = raw_column(tmp_path / "data.csv", "whole")
    assert values[~missing].tolist() == [3, 1]


def test_raw_columns_of_an_array_keep_their_numbers() -> None:
    X = np.array([[1.0, np.nan], [2.0, 4.0]])
    values, missing = raw_column(X, "x1")
    assert missing.tolist() == [True, False]
    assert values[1] == 4.0
    assert raw_column(X, -1)[0][1] == 4.0
    assert raw_column(np.array([[1], [2]], dtype=np.uint8), 0)[0].dtype == np.int64


def test_a_mask_marks_missing_values() -> None:
    X = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert raw_column(X, 1)[1].tolist() == [True, False]
    text = np.ma.MaskedArray([["a"], ["b"]], mask=[[False], [True]])
    values, missing = raw_column(text, 0)
    assert values.tolist() == ["a", None]
    assert missing.tolist() == [False, True]


def test_times_with_a_zone_are_moved_to_universal_time() -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    cells = [dt.datetime(2020, 1, 2, 3, tzinfo=zone), None]
    for X in ({"t": cells}, pd.DataFrame({"t": cells}), pl.DataFrame({"t": cells})):
        values, missing = raw_column(X, "t")
        assert values[0] == np.datetime64("2020-01-02T01:00")
        assert missing.tolist() == [False, True]


def test_pandas_categories_keep_their_levels_and_intervals_become_text() -> None:
    X = pd.DataFrame(
        {
            "text": pd.Categorical(["b", None, "a"], categories=["b", "a", "z"], ordered=True),
            "whole": pd.Categorical([2, 1, None]),
            "cut": pd.cut(pd.Series([1, 5, 9]), [0, 4, 10]),
        }
    )
    assert raw_column(X, "text")[0].tolist() == ["b", None, "a"]
    assert raw_column(X, "whole")[0].tolist() == [2, 1, None]
    assert raw_column(X, "cut")[0].tolist() == ["(0, 4]", "(4, 10]", "(4, 10]"]


def test_polars_categories_become_text() -> None:
    X = pl.DataFrame(
        {
            "c": pl.Series(["b", None], dtype=pl.Categorical),
            "e": pl.Series(["b", None], dtype=pl.Enum(["b", "a"])),
        }
    )
    for name in ("c", "e"):
        assert raw_column(X, name)[0].tolist() == ["b", None]


def test_integers_wider_than_64_bits_become_floats() -> None:
    X = pl.DataFrame({"c": pl.Series([2**70, None], dtype=pl.Int128)})
    values, missing = raw_column(X, "c")
    assert values[0] == 2.0**70
    assert missing.tolist() == [False, True]


def test_a_column_without_a_use_does_not_disturb_the_others() -> None:
    X = {"good": [1, 2], "bad": [[1], {}]}
    for same in (X, pd.DataFrame(X)):
        assert raw_column(same, "good")[0].tolist() == [1, 2]


def test_a_numeric_column_reads_numbers_in_text_and_refuses_other_text() -> None:
    X = {"c": ["1", "2"], "d": ["1", "x"]}
    assert raw_column(X, "c", "numeric")[0].tolist() == [1, 2]
    with pytest.raises(InputError, match=r"column 'd' holds no number but 'x'"):
        raw_column(X, "d", "numeric")


@pytest.mark.parametrize("X", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), COLUMNS])
def test_an_unknown_column_is_refused_with_the_closest_names(X: Any) -> None:
    with pytest.raises(InputError, match=r"no column 'hole' in X; did you mean 'whole'\?"):
        raw_column(X, "hole")
    with pytest.raises(InputError, match=r"no column 'q' in X; the columns are 'whole', 'part'"):
        raw_column(X, "q")
    with pytest.raises(InputError, match=r"no column number 5 in X, which has 5 columns"):
        raw_column(X, 5)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(3), r"Expected 2D array, got 1D array instead; Reshape your data"),
        ([1, 2, 3], r"Expected 2D array, got 1D array instead; Reshape your data"),
        (np.zeros((2, 2, 2)), r"Expected 2D array, got 3D array instead"),
        (None, r"X must be a two-dimensional array.*got 'NoneType'"),
        (5, r"X must be a two-dimensional array.*got 'int'"),
        ([[1], [2, 3]], r"rows of X must be of equal length"),
        (np.zeros(3, dtype=[("a", int)]), r"X is a structured array; pass a data frame"),
        (scipy.sparse.coo_array(np.ones(3)), r"Expected 2D array, got 1D array instead"),
        (scipy.sparse.csr_array(np.eye(2) * 1j), r"X is a sparse matrix of the type complex128"),
        ({"a": scipy.sparse.eye(2, 1)}, r"column 'a' is a sparse matrix; pass its cells"),
        ({"a": 1, "b": 2}, r"X as a mapping must give a list or an array"),
        ({"a": [1, 2], "b": [1]}, r"columns of X must be of equal length, got lengths \[1, 2\]"),
    ],
)
def test_inputs_that_are_no_table_are_refused(X: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_source(X)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (pl.Series([[1], [2]]), r"column 'c' holds nested values \(List\(Int64\)\)"),
        (pd.Series([1j]), r"column 'c' is complex: Complex data not supported"),
    ],
)
def test_columns_without_a_use_are_refused(cells: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        raw_column(cells.to_frame("c"), "c")


WHOLE = [2**60 + 1, None, 2**60 + 2]


@pytest.mark.parametrize(
    "cells",
    [
        pd.array(WHOLE, dtype="Int64"),
        pd.array(WHOLE, dtype="UInt64"),
        pd.array(WHOLE, dtype="int64[pyarrow]"),
        pd.Index(pd.array(WHOLE, dtype="Int64")),
        pa.array(WHOLE),
        pa.chunked_array([WHOLE]),
        pl.Series(WHOLE),
    ],
    ids=lambda cells: type(cells).__name__,
)
def test_whole_numbers_with_gaps_stay_whole_in_a_mapping(cells: Any) -> None:
    values, missing = raw_column({"c": cells}, "c")
    assert values[[0, 2]].tolist() == [2**60 + 1, 2**60 + 2]
    assert missing.tolist() == [False, True, False]


def test_arrays_of_pandas_and_arrow_are_read_as_their_series_are() -> None:
    for cells in (
        pd.array([True, None, False], dtype="boolean"),
        pd.array([0.5, None, 2], dtype="Float32"),
        pd.array(["b", None, "a"], dtype="string"),
        pd.Categorical(["b", None, "a"]),
        pd.DatetimeIndex(["2020-01-02", None, "1960-01-01"]),
        pd.arrays.SparseArray([0.0, np.nan, 1.0]),
    ):
        values, missing = raw_column({"c": cells}, "c")
        expected, gone = raw_column(pd.DataFrame({"c": cells}), "c")
        assert values.dtype == expected.dtype
        assert missing.tolist() == gone.tolist() == [False, True, False]
        assert values[[0, 2]].tolist() == expected[[0, 2]].tolist()
    assert raw_column({"c": pa.array(["b", None])}, "c")[0].tolist() == ["b", None]


def test_a_name_that_is_a_pattern_to_polars_is_a_name():
    frame = pl.DataFrame({"^a.*$": [1, None, 2], "ab": [True, None, False]})
    table = Table.build(frame, [0, 1, 1])
    assert table.names == ("^a.*$", "ab")
    assert [c.codes.tolist() for c in table.columns] == [[0, -1, 1], [1, -1, 0]]
