from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from opdt import Condition, Rule, discover
from opdt.errors import InputError
from opdt.table import Kind, SparseColumn, Table, raw_column
from opdt.table.columns import code_matrix
from opdt.table.sparse import Entries, SparseSource, code_entries, code_flags

FORMATS = ["csr", "csc", "coo", "dok", "lil", "dia", "bsr"]
TYPES = ["f4", "f8", "i1", "i8", "u1", "u8", "?"]


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Any, np.ndarray]:
    """A sparse matrix, with zeros and the same cell stored twice, and the same cells dense."""
    n_rows, n_features = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.integers(0, 2 * n_rows * n_features))
    cells = rng.integers(0 if dtype.kind in "ub" else -3, 4, size).astype(dtype)
    if dtype.kind == "f":
        cells[rng.random(size) < 0.2] = np.nan
        cells[rng.random(size) < 0.1] = -0.0
    if dtype == np.uint64 and draw(st.booleans()):
        cells += np.uint64(2**63)
    index = draw(st.sampled_from([np.int32, np.int64]))
    places = tuple(rng.integers(0, n, size).astype(index) for n in (n_rows, n_features))
    build = draw(st.sampled_from([sparse.coo_array, sparse.coo_matrix]))
    triples = build((cells, places), shape=(n_rows, n_features))
    form = draw(st.sampled_from(FORMATS))
    if form in ("csr", "csc") and draw(st.booleans()):
        # Cells stored twice and out of order, which the constructors of SciPy allow.
        by, across = places if form == "csr" else places[::-1]
        order = np.argsort(by, kind="stable")
        n_lines = triples.shape[0 if form == "csr" else 1]
        starts = np.append(0, np.cumsum(np.bincount(by, minlength=n_lines)))
        build = getattr(sparse, f"{form}_array")
        matrix = build((cells[order], across[order], starts), shape=triples.shape)
    else:
        matrix = triples if form == "coo" else triples.asformat(form)
    return matrix, matrix.toarray()


def assert_same(one: Table, other: Table) -> None:
    assert one.names == other.names
    for a, b in zip(one.columns, other.columns, strict=True):
        assert (a.name, a.kind, a.n_rows) == (b.name, b.kind, b.n_rows)
        assert a.codes.dtype == b.codes.dtype == np.int32
        assert a.codes.tolist() == b.codes.tolist()
        assert a.values.dtype == b.values.dtype
        assert a.values.tolist() == b.values.tolist()
        assert not np.signbit(a.values[a.values == 0].astype(float)).any()
        assert a.has_missing == b.has_missing
        if isinstance(a, SparseColumn):
            assert a.is_sparse
            assert (np.diff(a.rows) > 0).all()
            assert (a.row_codes != a.default).all()
            assert 2 * len(a.rows) <= a.n_rows
            assert a.rows.dtype == a.row_codes.dtype == np.int32
        else:
            assert not a.is_sparse


@settings(deadline=None, max_examples=400)
@given(matrices(), st.booleans())
def test_a_sparse_matrix_gives_the_table_of_its_dense_cells(
    both: tuple[Any, np.ndarray], categorical: bool
) -> None:
    matrix, cells = both
    before = matrix.copy()
    y = np.arange(len(cells)) % 2
    kinds = {"x0": "categorical"} if categorical else None
    expected = Table.build(cells, y, roles=kinds, warn=False)
    assert_same(Table.build(matrix, y, roles=kinds, warn=False), expected)
    source = SparseSource(matrix)
    for _ in range(3):
        for j in range(cells.shape[1]):
            values, missing = raw_column(source, j)
            dense = raw_column(cells, j)
            np.testing.assert_array_equal(values, dense[0])
            np.testing.assert_array_equal(missing, dense[1])
    assert type(matrix) is type(before)
    assert matrix.nnz == before.nnz
    np.testing.assert_array_equal(matrix.toarray(), cells)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([0, 1, 1, 2, 5]), min_size=2, max_size=12),
    st.sampled_from([0, 1, 2, np.nan]),
    st.sampled_from(["float64", "int64", "bool", "float32"]),
)
def test_sparse_columns_of_pandas_give_the_same_table(
    cells: list[int], fill: float, dtype: str
) -> None:
    if np.isnan(fill) and dtype != "float64":
        return
    array = np.array(cells, dtype=dtype)
    if np.isnan(fill):
        array[array == 0] = np.nan
    stored = pd.arrays.SparseArray(array, fill_value=array.dtype.type(fill))
    assert stored.dtype.subtype == array.dtype
    y = np.arange(len(cells)) % 2
    expected = Table.build({"a": array, "b": array}, y, warn=False)
    frame = pd.DataFrame({"a": stored, "b": array})
    assert_same(Table.build(frame, y, warn=False), expected)
    for column in (stored, pd.Series(stored)):
        assert_same(Table.build({"a": column, "b": array}, y, warn=False), expected)
    np.testing.assert_array_equal(raw_column(frame, "a")[0], raw_column(frame, "b")[0])


def test_a_frame_of_a_sparse_matrix_stays_sparse() -> None:
    X = pd.DataFrame.sparse.from_spmatrix(
        sparse.eye_array(9, 4, format="csr"), columns=list("abcd")
    )
    table = Table.build(X, np.arange(9) % 2)
    assert all(column.is_sparse for column in table.columns)
    assert table.columns[1].codes.tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0]


def test_a_missing_fill_value_of_whole_numbers_is_missing() -> None:
    cells = pd.arrays.SparseArray([1, 2, 1], fill_value=np.nan, dtype=pd.SparseDtype(int, np.nan))
    entries = Entries(np.array([2], np.int32), np.array([7]), None, 5)
    column = code_entries("c", entries)
    assert column.codes.tolist() == [-1, -1, 0, -1, -1]
    assert column.has_missing
    assert Table.build({"c": cells}, [0, 1, 0]).columns[0].codes.tolist() == [0, 1, 0]


def test_dates_and_text_in_sparse_columns_of_pandas_are_read_too() -> None:
    text = pd.Series(pd.arrays.SparseArray(["a", "", ""], fill_value="", dtype="Sparse[object]"))
    (column,) = Table.build(pd.DataFrame({"t": text}), [0, 1, 0]).columns
    assert column.kind is Kind.CATEGORICAL
    assert column.values.tolist() == ["a"]  # an empty cell holds no value


def test_codes_of_a_sparse_column_are_made_on_demand_and_read_only() -> None:
    table = Table.build(sparse.eye_array(6, 2, format="csc"), [0, 1] * 3)
    column = table.columns[0]
    assert isinstance(column, SparseColumn)
    assert column.codes is not column.codes
    for array in (column.codes, column.values, column.rows, column.row_codes):
        assert not array.flags.writeable
    again = pickle.loads(pickle.dumps(column))
    assert again.codes.tolist() == column.codes.tolist()
    assert again.n_rows == 6
    assert "name='x0'" in repr(column)


def test_the_arrays_of_a_matrix_are_neither_kept_nor_changed() -> None:
    X = sparse.eye_array(6, 2, format="csc")
    column = Table.build(X, [0, 1] * 3).columns[1]
    X.indices[:] = 5
    assert column.codes.tolist() == [0, 1, 0, 0, 0, 0]


def test_a_column_of_many_stored_cells_is_a_plain_one() -> None:
    X = sparse.csr_array(np.array([[1.0, 0], [2, 0], [3, 0], [4, 1]]))
    table = Table.build(X, [0, 1, 0, 1])
    assert [column.is_sparse for column in table.columns] == [False, True]


def test_labels_may_be_a_column_of_a_sparse_matrix() -> None:
    table = Table.build(sparse.csr_array(np.eye(4, dtype=int)), "x1")
    assert table.names == ("x0", "x2", "x3")
    assert table.classes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (sparse.csr_array(np.eye(2)), sparse.csr_array([[1], [0]]), r"^y is a sparse matrix; pass"),
        (sparse.csr_array(np.eye(2)), [0, 1, 0], r"same number of rows, got 2 and 3"),
        (sparse.csr_array((2, 0)), [0, 1], r"X has no columns to make rules of"),
        (sparse.csr_array((0, 2)), [], r"X has no rows"),
        (
            sparse.csr_array([[0, 1], [np.inf, 0], [0, 0.5], [-np.inf, 0], [0, 0]]),
            [0, 1, 0, 1, 0],
            r"^column 'x0' contains infinity in 2 rows \(first at row 1\); replace it",
        ),
        (
            sparse.csr_array([[0, 0.5], [0, 0], [np.inf, 0]]),
            [0, 1, 0],
            r"^column 'x0' contains infinity in 1 row \(first at row 2\); replace it",
        ),
        (
            pd.DataFrame({"a": pd.arrays.SparseArray([np.inf, 1.0, np.inf], fill_value=np.inf)}),
            [0, 1, 0],
            r"^column 'a' contains infinity in all rows that are not stored",
        ),
    ],
)
def test_sparse_input_that_cannot_be_used_is_refused(X: Any, y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Table.build(X, y)


def test_a_rule_is_found_and_applied_without_the_dense_matrix() -> None:
    rng = np.random.default_rng(0)
    cells = (rng.random((300, 6)) < 0.2) * rng.integers(1, 4, (300, 6))
    y = (cells[:, 2] >= 1) & (cells[:, 4] < 1)
    for X in (sparse.csr_array(cells), sparse.csc_matrix(cells), sparse.coo_array(cells)):
        solution = discover(X, y, label=True)
        assert solution.rule == discover(cells, y, label=True).rule
        assert solution.rule is not None
        assert (solution.rule.covers(X) == y).all()
    rule = Rule([Condition("x2", "<", 0.5), Condition("x5", "==", 3)], True)
    assert (rule.covers(sparse.csr_array(cells)) == rule.covers(cells)).all()


def test_a_wide_matrix_is_never_made_dense() -> None:
    rng = np.random.default_rng(1)
    size, shape = 20_000, (3_000_000, 5_000)  # 15 GB as single bytes
    places = tuple(rng.integers(0, n, size) for n in shape)
    X = sparse.coo_array((np.ones(size, np.uint8), places), shape=shape).tocsr()
    y = np.zeros(shape[0], bool)
    y[places[0][places[1] == 7]] = True
    table = Table.build(X, y, warn=False)
    assert all(column.is_sparse for column in table.columns)
    rule = Rule([Condition("x7", ">=", 0.5)], True)
    assert (rule.covers(X) == y).all()


# -- dense matrices of mostly zeros ----------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8"])
def test_bytes_that_are_mostly_zero_are_coded_as_any_others(dtype: str) -> None:
    rng = np.random.default_rng(3)
    share = np.linspace(0, 0.4, 30)
    cells = rng.integers(-2, 5, size=(200, 30)) * (rng.random((200, 30)) < share)
    matrix = np.abs(cells).astype(dtype) if dtype != "int8" else cells.astype(dtype)
    names = [f"x{j}" for j in range(30)]
    plain, found = code_matrix(names, matrix), code_flags(names, matrix)
    assert sum(column.is_sparse for column in found) > 5
    for one, two in zip(plain, found, strict=True):
        assert (one.name, one.kind, one.values.dtype) == (two.name, two.kind, two.values.dtype)
        np.testing.assert_array_equal(one.values, two.values)
        np.testing.assert_array_equal(one.codes, two.codes)


def test_very_many_columns_of_flags_are_kept_by_their_ones() -> None:
    rng = np.random.default_rng(4)
    flags = (rng.random((10_000, 100)) < 0.05).astype(np.uint8)
    table = Table.build(flags, rng.integers(0, 2, size=10_000))
    assert all(column.is_sparse for column in table.columns)
    assert not any(c.is_sparse for c in Table.build(flags[:, :9], table.labels).columns)
