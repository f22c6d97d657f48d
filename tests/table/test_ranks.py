from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt.table import Table, ranks
from opdt.table.columns import code_matrix

TYPES = ["f2", "f4", "f8", ">f4", "i1", "i2", "i4", "i8", ">i8", "u1", "u2", "u4", "u8", "?"]


def cells(draw: st.DrawFn, dtype: np.dtype, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """A column of the kinds that are ranked in different ways."""
    if dtype.kind == "b":
        return rng.random(n_rows) < 0.3
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low = draw(st.integers(limits.min, limits.max))
        high = min(limits.max, low + draw(st.sampled_from([0, 1, 5, 3000, limits.max])))
        return rng.integers(low, high, n_rows, dtype=dtype.newbyteorder("="), endpoint=True)
    close = 1 + rng.integers(0, 50, n_rows) * np.finfo(dtype).eps
    column = draw(
        st.sampled_from(
            [
                rng.normal(size=n_rows),
                rng.normal(size=n_rows).round(1),
                rng.integers(-3, 4, n_rows) * 1.0,
                rng.integers(-9, 9, n_rows) / 3,
                np.where(rng.random(n_rows) < 0.5, -0.0, 2.0),
                np.exp(rng.normal(size=n_rows) * 3),
                close,
                # Each value has a close neighbour, but whether it comes first is by chance.
                np.where(rng.random(n_rows) < 0.5, close, -close * 1e4),
                rng.integers(-5, 5, n_rows) * 1e300,
            ]
        )
    )
    with np.errstate(over="ignore"):
        column = column.astype(dtype)
    column[np.isinf(column)] = 0
    if draw(st.booleans()):
        column[rng.random(n_rows) < draw(st.sampled_from([0.01, 0.5, 1]))] = draw(
            st.sampled_from([np.nan, -np.nan])
        )
    return column


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    n_rows = draw(st.sampled_from([1, 2, 40, 300, 3000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_features = draw(st.integers(1, 5))
    matrix = np.empty((n_rows, n_features), dtype, order=draw(st.sampled_from("CF")))
    for j in range(n_features):
        matrix[:, j] = cells(draw, dtype, n_rows, rng)
    return matrix


@settings(deadline=None, max_examples=300)
@given(
    matrices(),
    st.sampled_from([60, 1 << 18]),
    st.sampled_from([7, 4096]),
    st.sampled_from([0, 1 << 14]),
)
def test_ranks_and_values_are_those_that_sorting_the_column_gives(
    matrix: np.ndarray, block_cells: int, turned_rows: int, few_cells: int
) -> None:
    before = matrix.copy()
    names = [f"x{j}" for j in range(matrix.shape[1])]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        patch.setattr(ranks, "_BLOCK_CELLS", block_cells)
        patch.setattr(ranks, "_TURNED_ROWS", turned_rows)
        patch.setattr(ranks, "_FEW_CELLS", few_cells)
        columns = code_matrix(names, matrix)
    np.testing.assert_array_equal(matrix, before)
    for column, cells in zip(columns, matrix.T, strict=True):
        known = ~np.isnan(cells) if cells.dtype.kind == "f" else np.full(len(cells), True)
        values, codes = np.unique(cells[known], return_inverse=True)
        if cells.dtype.kind == "f":
            values = values.astype(np.float64) + 0.0
        elif cells.dtype != np.uint64 or values.max() < 2**63:
            values = values.astype(np.int64)
        assert column.values.dtype == values.dtype
        assert column.values.tobytes() == values.tobytes()
        assert column.codes.dtype == np.int32
        assert column.codes[known].tolist() == codes.tolist()
        assert (column.codes[~known] == -1).all()


def test_numbers_that_share_their_leading_bits_are_put_in_order() -> None:
    rng = np.random.default_rng(3)
    many = np.concatenate([[-1e300, 1e300], 1 + rng.permutation(5000) * 2.0**-52])
    (column,) = code_matrix(["x"], many[:, None])
    assert (column.values == np.sort(many)).all()
    assert (column.values[column.codes] == many).all()


def test_infinite_values_are_refused_whatever_the_type_and_the_size() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        X = np.zeros((3000, 40), dtype)
        X[7, 3] = -np.inf
        with pytest.raises(ValueError, match=r"column 'x3' contains infinity in 1 row \(first at"):
            Table.build(X, np.arange(3000) % 2)
