from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.errors import InputError
from opdt.table import Kind
from opdt.table.raw import Raw, as_numeric, from_array, from_sequence, with_missing

MORNING = dt.datetime(2020, 1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=2)))


@pytest.mark.parametrize(
    "blank",
    [None, float("nan"), np.nan, pd.NA, pd.NaT, np.float32("nan"), Decimal("nan"), np.ma.masked],
)
@pytest.mark.parametrize("cells", [["a", "b"], [1.5, 2.5], [1, 2], [True, False]])
def test_every_mark_of_a_missing_value_is_recognised(blank: Any, cells: list[Any]) -> None:
    raw = from_sequence([*cells, blank], "column")
    assert raw.mask.tolist() == [False, False, True]
    assert raw.values[:2].tolist() == cells


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        ([True, False], "bool"),
        ([True, 2], "int64"),
        ([1, 2.5], "float64"),
        ([Decimal("1.5"), 2], "float64"),
        ([np.int8(1), np.float32(2)], "float64"),
        ([dt.date(2020, 1, 2)], "datetime64[D]"),
        ([dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3)], "datetime64[us]"),
        ([pd.Timestamp("2020-01-02 03:04:05.000000001")], "datetime64[ns]"),
        (["a"], "object"),
    ],
)
def test_objects_are_judged_by_their_content(cells: list[Any], dtype: str) -> None:
    assert from_sequence(cells, "column").values.dtype == np.dtype(dtype)


def test_times_with_a_zone_are_moved_to_universal_time() -> None:
    raw = from_sequence([MORNING, None], "column")
    assert raw.values[0] == np.datetime64("2020-01-02T01:00")
    assert raw.mask.tolist() == [False, True]


def test_text_is_read_as_numbers_where_asked() -> None:
    raw = as_numeric(from_sequence(["1", None, " 2.5"], "column"), "column")
    assert raw.kind is Kind.NUMERIC
    np.testing.assert_array_equal(raw.values, [1.0, np.nan, 2.5])
    assert as_numeric(from_sequence(["1", "2"], "c"), "c").values.dtype == np.int64


def test_text_is_read_as_dates_where_asked() -> None:
    raw = as_numeric(from_sequence(["2020-03-01", None, "2020-03-01 10:30"], "column"), "column")
    assert raw.values[0] == np.datetime64("2020-03-01")
    assert raw.values[2] == np.datetime64("2020-03-01T10:30")
    assert np.isnat(raw.values[1])


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_numbers_written_as_text_are_read_back(numbers: list[float]) -> None:
    raw = as_numeric(from_sequence([repr(x) for x in numbers], "column"), "column")
    assert raw.values.tolist() == numbers


def test_further_missing_cells_are_blanked_without_touching_the_original() -> None:
    values = np.array([1, 2, 3])
    raw = with_missing(Raw(values, None, Kind.NUMERIC), np.array([False, True, False]))
    assert raw.values.tolist() == [1, 0, 3]
    assert values.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([1j]), r"column 'c' is complex: Complex data not supported"),
        (np.array([1j, "a"], dtype=object), r"Complex data not supported"),
        (np.zeros(1, dtype="V4"), r"column 'c' has the type \|V4"),
        (
            np.array([MORNING, MORNING.replace(tzinfo=None)], dtype=object),
            r"column 'c' mixes dates with and without a time zone",
        ),
    ],
)
def test_types_without_a_use_are_refused(values: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_array(values, "column 'c'")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ["1", "x", None, "y"],
            r"column 'c' holds no number but 'x' .* in 2 rows \(first at row 1",
        ),
        (["1", "2020-01-01"], r"column 'c' mixes numbers and dates"),
        ([(1, 2)], r"column 'c' holds no number but \(1, 2\)"),
    ],
)
def test_text_that_is_no_number_is_refused_by_cell(cells: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_numeric(from_sequence(cells, "column 'c'"), "column 'c'")


@pytest.mark.parametrize(
    "values",
    [
        np.array([90, "NaT"], dtype="timedelta64[s]"),
        np.array([dt.timedelta(minutes=1.5), None]),
        np.array([90_000, "NaT"], dtype="timedelta64[ms]"),
    ],
)
def test_durations_are_numbers_of_seconds(values: np.ndarray) -> None:
    raw = from_array(values, "column 'c'")
    assert raw.is_duration
    assert raw.values[0] == 90.0
    assert raw.mask.tolist() == [False, True]
