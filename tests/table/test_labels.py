from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.errors import InputError
from opdt.table import Table
from opdt.table.frames import from_values
from opdt.table.labels import check_weights, code_labels

X = np.array([[1.0], [2.0], [3.0]])


@pytest.mark.parametrize(
    ("y", "classes", "dtype"),
    [
        (["b", "a", "b"], ["a", "b"], "object"),
        (np.array(["b", "a", "b"]), ["a", "b"], "<U1"),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"], "object"),
        ([2, 1, 2], [1, 2], "int64"),
        (np.array([2, 1, 2], dtype=np.int8), [1, 2], "int64"),
        (np.array([[2], [1], [2]]), [1, 2], "int64"),
        ([True, False, True], [False, True], "bool"),
        ([2.0, -1.0, 2.0], [-1.0, 2.0], "float64"),
        (pd.Series(["b", "a", "b"]), ["a", "b"], "object"),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"], "object"),
        (pd.Series([2, 1, 2], dtype="Int64"), [1, 2], "int64"),
        (pl.Series(["b", "a", "b"]), ["a", "b"], "object"),
        (pl.Series(["b", "a", "b"], dtype=pl.Categorical), ["a", "b"], "object"),
        (pa.chunked_array([["b", "a"], ["b"]]), ["a", "b"], "object"),
    ],
)
def test_labels_of_any_source_give_sorted_classes_of_their_own_type(
    y: Any, classes: list[Any], dtype: str
) -> None:
    table = Table.build(X, y)
    assert table.labels.tolist() == [1, 0, 1]
    assert table.labels.dtype == np.int32
    assert table.classes.tolist() == classes
    assert table.classes.dtype == np.dtype(dtype)


@given(st.lists(st.integers(-5, 5), min_size=2).filter(lambda y: len(set(y)) > 1))
def test_decoding_labels_gives_them_back(y: list[int]) -> None:
    labels, classes = code_labels(from_values(y, "y"))
    assert classes[labels].tolist() == y
    assert classes.tolist() == sorted(set(y))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1], r"y has only one class, 1;"),
        ([1.0, np.nan, 2.0], r"Input y contains NaN .* in 1 row \(first at row 1\)"),
        (["a", None, None], r"missing label in 2 rows \(first at row 1\)"),
        ([0.5, 1.0, 2.0], r"Unknown label type: continuous.*looks like a regression target"),
        ([1.0, np.inf, 2.0], r"Input y contains infinity in 1 row \(first at row 1\)"),
        ([1, "a", 2], r"y mixes values of the types 'int' and 'str'"),
        ([[1], [2], [1]], r"y holds objects of type 'list'"),
        (np.array(["2020", "2021", "2022"], dtype="datetime64[D]"), r"y holds dates"),
        (np.array([1j, 2, 1]), r"y is complex: Complex data not supported"),
        (np.zeros((3, 2)), r"y must be one-dimensional, got the shape \(3, 2\)"),
        ([0, 1], r"X and y must have the same number of rows, got 3 and 2"),
        (None, r"requires y to be passed, but the target y is None"),
    ],
)
def test_labels_that_cannot_be_classes_are_refused(y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Table.build(X, y)


def test_weights_are_a_read_only_copy() -> None:
    given_weights = np.array([1.0, 0.0, 2.5])
    weights = check_weights(given_weights, 3)
    assert weights is not None
    assert weights.tolist() == [1.0, 0.0, 2.5]
    assert not weights.flags.writeable
    assert given_weights.flags.writeable
    assert check_weights(None, 3) is None


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"sample_weight must have one number for each of the 3 rows"),
        ([[1], [2], [3]], r"got the shape \(3, 1\)"),
        ([1, -2, 1], r"sample_weight must not be negative, got -2.0 at row 1"),
        ([0, 0, 0], r"sample_weight is zero in every row"),
        ([1, 1, np.nan], r"sample_weight must be finite, got nan at row 2"),
        ([1, np.inf, 1], r"sample_weight must be finite, got inf at row 1"),
        (["a", "b", "c"], r"sample_weight must be numbers"),
    ],
)
def test_weights_that_cannot_weigh_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Table.build(X, [0, 1, 0], sample_weight=weights)
