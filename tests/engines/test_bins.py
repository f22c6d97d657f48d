"""Bins: equal width, every present value in exactly one, said the same in codes and edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.engines.bins import BinnedTable
from opdt.errors import InputError
from opdt.problem import Problem
from opdt.rules import Rule
from opdt.table import Table
from strategies import small_problems


def texts(binned: BinnedTable) -> list[str]:
    return [" and ".join(map(str, each.conditions)) for each in binned.bins]


def test_a_numeric_feature_is_cut_into_bins_of_equal_width() -> None:
    table = Table.build({"x": [0.0, 1.0, 2.5, 4.0, 6.0]}, [0, 1, 0, 1, 1])
    binned = BinnedTable.of(table, 3)
    assert texts(binned) == ["x < 2", "x >= 2 and x < 4", "x >= 4"]
    assert binned.cells[:, 0].tolist() == [0, 0, 1, 2, 2]


def test_a_numeric_feature_is_cut_into_bins_of_equal_frequency() -> None:
    values = [0.0, 0.1, 0.2, 0.3, 5.0, 6.0, 100.0, 1000.0]
    binned = BinnedTable.of(Table.build({"x": values}, [0, 1] * 4), 4, binning="frequency")
    assert texts(binned) == [
        "x < 0.15", "x >= 0.15 and x < 2.65", "x >= 2.65 and x < 53", "x >= 53",
    ]  # fmt: skip
    assert binned.cells[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@given(
    values=st.lists(st.integers(-5, 5) | st.floats(-9, 9, width=32), min_size=2, max_size=40),
    n_bins=st.integers(2, 12),
)
def test_bins_of_equal_frequency_are_those_of_pandas(values: list[float], n_bins: int) -> None:
    pd = pytest.importorskip("pandas")
    numbers = np.array(values, dtype=np.float64)
    table = Table.build({"x": numbers}, np.arange(len(numbers)) % 2, warn=False)
    binned = BinnedTable.of(table, n_bins, binning="frequency")
    theirs = pd.qcut(numbers, n_bins, labels=False, duplicates="drop")
    if len(set(theirs)) < 2:  # most values are equal: the bins are of equal width
        theirs = BinnedTable.of(table, n_bins).cells[:, 0]
    # The same rows together; pandas may number empty bins.
    assert np.array_equal(
        np.unique(theirs, return_inverse=True)[1],
        np.unique(binned.cells[:, 0], return_inverse=True)[1],
    )


def test_an_empty_bin_is_left_out_and_its_neighbours_keep_their_edges() -> None:
    table = Table.build({"x": [0, 1, 99, 100]}, [0, 1, 0, 1])
    assert texts(BinnedTable.of(table, 4)) == ["x < 25", "x >= 75"]


def test_edges_of_whole_numbers_and_dates_are_whole() -> None:
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-06"], dtype="datetime64[D]")
    table = Table.build({"n": [0, 3, 5], "day": days}, [0, 1, 1])
    # Halves of 5 numbers and of 5 days lie at 2.5.
    assert texts(BinnedTable.of(table, 2)) == [
        "n < 3",
        "n >= 3",
        "day < 2024-01-04",
        "day >= 2024-01-04",
    ]


def test_edges_are_short_decimals() -> None:
    table = Table.build({"x": [0.0, 0.1, 0.2, 0.3]}, [0, 1, 0, 1])
    # 0.3 * 2 / 3 is 0.19999999999999998 in doubles.
    assert texts(BinnedTable.of(table, 3)) == ["x < 0.1", "x >= 0.1 and x < 0.2", "x >= 0.2"]


def test_each_level_is_a_bin_and_a_missing_value_lies_in_none() -> None:
    table = Table.build({"c": ["u", None, "v"]}, [0, 1, 1])
    binned = BinnedTable.of(table)
    assert texts(binned) == ["c == 'u'", "c == 'v'"]
    assert binned.cells[:, 0].tolist() == [0, 2, 1]


def test_a_constant_number_has_no_bins() -> None:
    table = Table.build({"x": [7, 7], "y": [1, 2]}, [0, 1], warn=False)
    binned = BinnedTable.of(table)
    assert {each.feature for each in binned.bins} == {1}
    assert (binned.cells[:, 0] == len(binned.bins)).all()


@given(problem=small_problems(options=()), n_bins=st.integers(2, 12))
def test_codes_and_edges_say_the_same_and_every_present_value_has_one_bin(
    problem: Problem, n_bins: int
) -> None:
    table = problem.table
    binned = BinnedTable.of(table, n_bins)
    data: dict[str, Any] = {
        column.name: [None if c < 0 else column.values[c] for c in column.codes]
        for column in table.columns
    }
    times = np.zeros((table.n_rows, table.n_features), dtype=int)
    for place, each in enumerate(binned.bins):
        inside = binned.cells[:, each.feature] == place
        assert inside.any()
        assert problem.cover(each.coded).tolist() == inside.tolist()
        assert Rule(each.conditions, 0).covers(data).tolist() == inside.tolist()
        times[inside, each.feature] += 1
    for feature, column in enumerate(table.columns):
        if any(each.feature == feature for each in binned.bins):
            assert times[:, feature].tolist() == (column.codes >= 0).astype(int).tolist()


@pytest.mark.parametrize("n_bins", [1, 0, 2.5, True, "ten"])
def test_a_number_of_bins_that_parts_nothing_is_refused(n_bins: Any) -> None:
    table = Table.build({"x": [1, 2]}, [0, 1])
    with pytest.raises(InputError, match="'bins' must be an int >= 2, got"):
        BinnedTable.of(table, n_bins)
