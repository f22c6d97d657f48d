from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from opdt.errors import InputError
from opdt.table import Kind
from opdt.table.columns import Column, code_column, code_matrix, tiles
from opdt.table.raw import from_array, from_sequence

doubles = st.one_of(st.floats(allow_infinity=False), st.sampled_from([0.0, -0.0, 1.0, np.nan]))
matrices = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=doubles, fill=doubles
)
cells = st.one_of(
    st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=1),
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=1),
    st.lists(st.one_of(st.none(), st.floats(allow_infinity=False)), min_size=1),
    st.lists(st.one_of(st.none(), st.dates()), min_size=1),
)


def is_missing(cell: Any) -> bool:
    return cell is None or cell != cell


def check_coding(column: Column, original: list[Any]) -> None:
    """Decoding gives back the values, and the order of codes is the order of values."""
    assert column.codes.dtype == np.int32
    for code, cell in zip(column.codes.tolist(), original, strict=True):
        assert (code == -1) == is_missing(cell)
        if code >= 0:
            assert column.values[code] == cell
    assert all(a < b for a, b in zip(column.values[:-1], column.values[1:], strict=True))
    assert set(column.codes.tolist()) - {-1} == set(range(column.n_values))
    assert column.has_missing == any(map(is_missing, original))


@given(matrices)
def test_a_matrix_is_coded_so_that_decoding_gives_it_back(matrix: np.ndarray) -> None:
    names = [f"x{j}" for j in range(matrix.shape[1])]
    for j, column in enumerate(code_matrix(names, matrix)):
        assert column.name == names[j]
        check_coding(column, matrix[:, j].tolist())


@given(matrices)
def test_columns_coded_together_equal_columns_coded_one_by_one(matrix: np.ndarray) -> None:
    names = [f"x{j}" for j in range(matrix.shape[1])]
    for j, column in enumerate(code_matrix(names, matrix)):
        alone = code_column(names[j], from_array(matrix[:, j], "column"))
        assert column.kind is alone.kind
        np.testing.assert_array_equal(column.codes, alone.codes)
        np.testing.assert_array_equal(column.values, alone.values)


@given(cells, st.sampled_from([None, Kind.CATEGORICAL]))
def test_a_list_of_cells_is_coded_so_that_decoding_gives_it_back(
    cells: list[Any], kind: Kind | None
) -> None:
    column = code_column("c", from_sequence(cells, "column 'c'"), kind)
    check_coding(column, cells)
    if kind is Kind.CATEGORICAL and column.n_values:
        present = {type(c) for c in cells if not is_missing(c)}
        assert {type(v) for v in column.values} <= present | {np.datetime64}


def test_tiles_cover_all_columns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.zeros((20, 70))
    assert tiles(matrix) == [slice(0, 13107)]
    monkeypatch.setattr("opdt.table.columns._TILE_CELLS", 60)
    places = [j for part in tiles(matrix) for j in range(70)[part]]
    assert places == list(range(70))
    assert len(tiles(matrix)) == 18


def test_arrays_are_read_only() -> None:
    (column,) = code_matrix(["x"], np.array([[2.0], [1.0]]))
    for array in (column.codes, column.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.array([1, 2], dtype=np.int8), np.int64),
        (np.array([True, False]), np.int64),
        (np.array([1, 2], dtype=np.uint64), np.int64),
        (np.array([1, 2**64 - 1], dtype=np.uint64), np.uint64),
        (np.array([1.5, 2.5], dtype=np.float32), np.float64),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), "datetime64[D]"),
        (np.array([1, 2.5, None], dtype=object), np.float64),
        (np.array([None, None], dtype=object), np.float64),
        (np.array([2**70, 1], dtype=object), np.float64),
    ],
)
def test_numeric_values_keep_the_type_that_holds_them(array: np.ndarray, dtype: Any) -> None:
    column = code_column("c", from_array(array, "column 'c'"))
    assert column.kind is Kind.NUMERIC
    assert column.values.dtype == dtype


def test_negative_zero_is_zero() -> None:
    column = code_column("c", from_array(np.array([0.0, -0.0, 1.0]), "column 'c'"))
    assert column.codes.tolist() == [0, 0, 1]
    assert not np.signbit(column.values[0])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1, "a"], r"column 'c' mixes values of the types 'int' and 'str'"),
        ([[1], [2]], r"column 'c' holds objects of type 'list'"),
        ([1.0, np.inf, -np.inf], r"column 'c' contains infinity in 2 rows \(first at row 1\)"),
        ([object(), object()], r"column 'c' mixes values of the types 'object'"),
    ],
)
def test_values_that_cannot_be_coded_are_refused(cells: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        code_column("c", from_sequence(cells, "column 'c'"))


def test_an_infinite_value_in_a_matrix_is_refused_by_column() -> None:
    matrix = np.array([[1.0, 2.0], [3.0, np.inf]])
    with pytest.raises(InputError, match=r"column 'b' contains infinity in 1 row \(first at row 1"):
        code_matrix(["a", "b"], matrix)


def test_few_rows_of_many_values_are_coded_as_any_rows() -> None:
    rng = np.random.default_rng(0)
    values = np.append(rng.permutation(1_000).astype(float), np.nan)
    column = code_column("x", from_array(values, "x"))
    for rows in ([3, 999, 3, 1_000], [5], [], [1_000], list(range(200))):
        own = column.take(np.array(rows, np.int64))
        present = values[rows][~np.isnan(values[rows])]
        assert own.values.tolist() == sorted(set(present.tolist()))
        assert own.codes.dtype == np.int32
        shown = [np.nan if code < 0 else own.values[code] for code in own.codes]
        assert np.array_equal(shown, values[rows], equal_nan=True)
