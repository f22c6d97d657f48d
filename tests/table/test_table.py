from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt.errors import InputError, OpdtWarning
from opdt.table import Kind, Table

words = st.text("abcxyz é,;'\"", min_size=1, max_size=4).map(lambda s: "w" + s.strip())


@st.composite
def frames(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Columns of every kind with missing values, each with at least one value in the first row."""
    n_rows = draw(st.integers(2, 8))

    def column(cells: st.SearchStrategy[Any]) -> list[Any]:
        rest = st.lists(st.none() | cells, min_size=n_rows - 1, max_size=n_rows - 1)
        return [draw(cells), *draw(rest)]

    return {
        "whole": column(st.integers(-1000, 1000)),
        "part": column(st.integers(-1000, 1000).map(lambda k: k + 0.25)),
        "name": column(words),
        "label": ["p" if i % 2 else "q" for i in range(n_rows)],
    }


def assert_same(one: Table, other: Table) -> None:
    assert one.names == other.names
    assert one.labels.tolist() == other.labels.tolist()
    assert one.classes.tolist() == other.classes.tolist()
    for a, b in zip(one.columns, other.columns, strict=True):
        assert a.kind is b.kind
        assert a.codes.tolist() == b.codes.tolist()
        assert a.values.tolist() == b.values.tolist()


@settings(deadline=None)
@given(frames())
def test_every_kind_of_input_gives_the_same_table(columns: dict[str, list[Any]]) -> None:
    expected = Table.build(columns, "label", warn=False)
    frame = pl.DataFrame(columns)
    with tempfile.TemporaryDirectory() as folder:
        csv, parquet = Path(folder) / "t.csv", Path(folder) / "t.parquet"
        frame.write_csv(csv)
        frame.write_parquet(parquet)
        for X in (pd.DataFrame(columns), frame, pa.table(columns), csv, str(csv), parquet):
            assert_same(Table.build(X, "label", warn=False), expected)
    rows = np.array(list(zip(*columns.values(), strict=True)), dtype=object)
    array = Table.build(rows[:, :3], rows[:, 3], warn=False)
    assert array.names == ("x0", "x1", "x2")
    for a, b in zip(array.columns, expected.columns, strict=True):
        assert a.codes.tolist() == b.codes.tolist()


def test_numbers_of_numpy_and_of_frames_give_the_same_table() -> None:
    X = np.random.default_rng(1).normal(size=(40, 5)).round(1)
    X[3, 2] = X[7, 2] = np.nan
    y = np.arange(40) % 3
    expected = Table.build(X, y)
    names = list(expected.names)
    for same in (
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        pa.table(dict(zip(names, X.T, strict=True))),
        dict(zip(names, X.T, strict=True)),
        X.tolist(),
        np.asfortranarray(X),
    ):
        assert_same(Table.build(same, y), expected)
    assert Table.build(X.astype(np.float32), y).columns[0].values.dtype == np.float64


def test_a_mixed_pandas_frame_keeps_the_order_of_its_columns() -> None:
    X = pd.DataFrame({"s": ["u", "v", "u"], "f": [1.5, 2.5, 1.0], "i": [3, 2, 1], "g": [0.5, 1, 2]})
    table = Table.build(X, [0, 1, 0])
    assert table.names == ("s", "f", "i", "g")
    assert [c.codes.tolist() for c in table.columns] == [
        [0, 1, 0],
        [1, 2, 0],
        [2, 1, 0],
        [0, 1, 2],
    ]
    assert table.numeric == (1, 2, 3)
    assert table.categorical == (0,)


def test_a_pandas_frame_of_many_rows_gives_the_same_table(monkeypatch: pytest.MonkeyPatch) -> None:
    X = pd.DataFrame({"f": [1.5, np.nan, 1.0], "i": [3, 2, 1], "g": [0.5, 1, 2]})
    expected = Table.build(X, [0, 1, 0])
    monkeypatch.setattr("opdt.table.frames._FEW_ROWS", 2)
    assert_same(Table.build(X, [0, 1, 0]), expected)


def test_positions_sizes_and_weights() -> None:
    table = Table.build({"a": [1, 2], "b": [3, 4]}, ["p", "q"], sample_weight=[1, 0.5])
    assert (table.n_rows, table.n_features) == (2, 2)
    assert table.index("b") == 1
    assert table.weights is not None
    assert table.weights.tolist() == [1.0, 0.5]
    assert Table.build({"a": [1, 2]}, [0, 1]).weights is None
    with pytest.raises(InputError, match=r"no column 'bb' in X; did you mean 'b'\?"):
        table.index("bb")


def test_arrays_of_a_table_are_read_only() -> None:
    table = Table.build(np.array([[1.0], [2.0]]), [0, 1], sample_weight=[1, 1])
    assert table.weights is not None
    for array in (table.labels, table.classes, table.weights, table.columns[0].codes):
        assert not array.flags.writeable


def test_the_label_column_is_no_feature() -> None:
    X = pd.DataFrame({0: [1, 2, 3], 1: [1, 2, 1], 2: [5.0, 6.0, 7.0]})
    table = Table.build(X, "1")
    assert table.names == ("0", "2")
    assert table.classes.tolist() == [1, 2]
    array = Table.build(np.array([[1.0, 0.0], [2.0, 1.0]]), "x1")
    assert array.names == ("x0",)


def test_roles_override_what_the_content_suggests() -> None:
    X = {"zip": [10, 20, 10], "size": ["1", "2.5", None], "flag": [True, False, True]}
    table = Table.build(
        X, [0, 1, 0], roles={"zip": "categorical", "size": Kind.NUMERIC, "flag": "categorical"}
    )
    zip_, size, flag = table.columns
    assert zip_.kind is Kind.CATEGORICAL
    assert [type(level) for level in zip_.values] == [int, int]
    assert size.kind is Kind.NUMERIC
    assert size.values.tolist() == [1.0, 2.5]
    assert size.codes.tolist() == [0, 1, -1]
    assert [type(level) for level in flag.values] == [bool, bool]


def test_roles_override_columns_of_an_array() -> None:
    table = Table.build(np.array([[1, 5], [2, 6], [1, 5]]), [0, 1, 0], roles={"x1": "categorical"})
    assert table.columns[1].values.tolist() == [5, 6]
    assert table.categorical == (1,)
    assert table.columns[0].codes.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.empty((0, 3)), {"y": []}, r"X has no rows: Found array with 0 sample\(s\)"),
        (
            np.empty((2, 0)),
            {},
            r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required\.",
        ),
        ({}, {}, r"X has no columns"),
        ({"c": [0, 1]}, {"y": "c"}, r"X has no columns to make rules of"),
        (np.ones((3, 1)), {}, r"X and y must have the same number of rows, got 3 and 2"),
        (pd.DataFrame([[1, 2]] * 2, columns=["a", "a"]), {}, r"duplicate column names: 'a'"),
        (pd.DataFrame([[1, 2]] * 2, columns=["1", 1]), {}, r"duplicate column names: '1'"),
        (np.array([[1.0], [np.inf]]), {}, r"column 'x0' contains infinity in 1 row"),
        (np.array([[1j], [2]]), {}, r"column 'x0' is complex: Complex data not supported"),
        ({"c": [1, "a"]}, {}, r"column 'c' mixes values of the types 'int' and 'str'"),
        ({"c": [{}, {}]}, {}, r"column 'c' holds objects of type 'dict'"),
        ({"cls": [0, 1]}, {"y": "class"}, r"no column 'class' in X; did you mean 'cls'\?"),
        ({"a": [0, 1]}, {"roles": {"b": "numeric"}}, r"no column 'b' in X; the columns are 'a'"),
        (
            {"a": [0, 1]},
            {"roles": {"a": "number"}},
            r"roles\['a'\] must be 'numeric' .* got 'number'",
        ),
        ({"a": ["u", "x"]}, {"roles": {"a": "numeric"}}, r"column 'a' holds no number but 'u'"),
        ({"a": [0, 1]}, {"roles": ["a"]}, r"'roles' must map columns to roles, got list"),
    ],
)
def test_data_that_cannot_be_used_are_refused(
    X: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Table.build(X, **{"y": [0, 1], **options})


def test_constant_columns_are_noted_once_at_the_line_of_the_caller() -> None:
    X = {"a": [1, 1, 1], "b": [1, 2, 3], "c": [None] * 3, "half": [1, None, 1]}
    with pytest.warns(OpdtWarning, match=r"constant columns.*: 'a', 'c'\.$") as caught:
        Table.build(X, [0, 1, 0])
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_columns_that_are_left_out_are_noted() -> None:
    X = {"id": ["u", "v", "w"], "b": [1, 2, 3], "s": ["u", "v", "u"]}
    with pytest.warns(OpdtWarning, match=r"not used: 'id' \(id: its name says so"):
        table = Table.build(X, [0, 1, 0])
    assert table.names == ("b", "s")


def test_remarks_can_be_silenced() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Table.build({"a": [1, 1, 1], "id": ["u", "v", "w"]}, [0, 1, 0], warn=False)
