from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.rules.thresholds import readable_threshold

doubles = st.floats(allow_nan=False, allow_infinity=False)
moments = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))


def decimals(value: float) -> int:
    """Digits after the point, negative for trailing zeros before it."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (127, 128, 127.5),
        (127, 131, 130.0),
        (29.85, 29.93, 29.9),
        (0.1, 0.2, 0.15),
        (0, 1, 0.5),
        (-1, 1, 0.0),
        (999, 1001, 1000.0),
        (1999.0, 2003.0, 2000.0),
        (-131, -127, -130.0),
        (0, 1000, 500.0),
        (1, 4, 2.0),  # 2 and 3 are equally near: the smaller
        (-4, -1, -3.0),
        (5, 5000, 3000.0),
        (1e-300, 2e-300, 1.5e-300),
        (0.0, 5e-324, 5e-324),
        (0.0, 1e-323, 5e-324),
        (1e308, 1.7e308, 1.3e308),
        (127.49999, 127.50001, 127.5),
    ],
)
def test_known_gaps_give_the_shortest_decimal(low: float, high: float, expected: float) -> None:
    threshold = readable_threshold(low, high)
    assert threshold == expected
    assert isinstance(threshold, float)


@given(doubles, doubles)
def test_a_threshold_parts_any_two_doubles(a: float, b: float) -> None:
    low, high = sorted((a, b))
    if low == high:
        return
    threshold = readable_threshold(low, high)
    assert low < threshold <= high
    if math.nextafter(low, high) < high:
        assert threshold < high


@given(doubles, st.integers(1, 5))
def test_a_threshold_parts_neighbouring_doubles(low: float, steps: int) -> None:
    high = low
    for _ in range(steps):
        high = math.nextafter(high, math.inf)
    if math.isinf(high):
        return
    threshold = readable_threshold(low, high)
    assert low < threshold <= high
    assert (threshold == high) == (steps == 1)


@given(st.integers(-9999, 9999), st.integers(1, 9999), st.integers(0, 3))
def test_no_shorter_or_more_central_decimal_lies_in_the_gap(low: int, gap: int, scale: int) -> None:
    """Count in units of the last decimal plus one: everything is then a small integer."""
    unit = 10 ** (scale + 1)
    first, last = low * 10, (low + gap) * 10
    threshold = readable_threshold(first / unit, last / unit)
    grid = range(first + 1, last)

    def rank(k: int) -> tuple[int, int, int]:
        zeros = 99 if k == 0 else len(str(k)) - len(str(k).rstrip("0"))
        return (-zeros, abs(2 * k - first - last), k)

    assert threshold == min(grid, key=rank) / unit
    assert decimals(threshold) <= scale + 1


@given(
    st.integers(-(2**63), 2**63 - 1),
    st.one_of(st.integers(1, 3), st.integers(1, 2**64)),
)
def test_a_threshold_parts_any_two_integers_in_the_arithmetic_of_the_data(
    low: int, gap: int
) -> None:
    high = min(low + gap, 2**63 - 1)
    if low == high:
        return
    threshold = readable_threshold(np.int64(low), np.int64(high))
    data = np.array([low, high], dtype=np.int64)
    assert (data >= threshold).tolist() == [False, True]
    assert (data < threshold).tolist() == [True, False]


def test_integers_beyond_the_doubles_give_the_exact_integer() -> None:
    assert readable_threshold(2**53, 2**53 + 1) == 2**53 + 1
    assert isinstance(readable_threshold(2**60, 2**60 + 1), int)
    assert readable_threshold(np.uint64(2**64 - 2), np.uint64(2**64 - 1)) == 2**64 - 1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("2023-12-30", "2024-01-03", "2024-01-01"),
        ("2015-05-05", "2020-05-05", "2018-01-01"),
        ("2024-01-15", "2024-02-20", "2024-02-01"),
        ("2024-02-03", "2024-02-04", "2024-02-04"),
        ("2024-02-03T10:30", "2024-02-04T09:00", "2024-02-04"),
        ("2024-02-03T10:30", "2024-02-03T11:30", "2024-02-03T11:00"),
        ("2024-02-03T10:30:10", "2024-02-03T10:31:20", "2024-02-03T10:31"),
        ("2024-02-03T10:30:10.2", "2024-02-03T10:30:11.9", "2024-02-03T10:30:11"),
        ("2024-02-03T10:30:10.200", "2024-02-03T10:30:10.201", "2024-02-03T10:30:10.201"),
        ("1969-12-30", "1970-01-03", "1970-01-01"),
        ("1965-03-04", "1965-03-09", "1965-03-06"),
        ("2019", "2021", "2020-01-01"),
    ],
)
def test_dates_are_parted_where_a_calendar_unit_starts(low: str, high: str, expected: str) -> None:
    threshold = readable_threshold(np.datetime64(low), np.datetime64(high))
    assert isinstance(threshold, np.datetime64)
    assert str(threshold) == expected


@given(moments, moments, st.sampled_from(["D", "s", "ms", "us", "ns"]))
def test_a_threshold_parts_any_two_dates(a: dt.datetime, b: dt.datetime, unit: str) -> None:
    low, high = np.sort(np.array([a, b], dtype=f"datetime64[{unit}]"))
    if low == high:
        return
    threshold = readable_threshold(low, high)
    data = np.array([low, high])
    assert (data >= threshold).tolist() == [False, True]


@given(moments, st.integers(1, 10**9))
def test_a_threshold_parts_dates_that_are_close(a: dt.datetime, gap: int) -> None:
    low = np.datetime64(a, "ns")
    high = low + np.timedelta64(gap, "ns")
    assert low < readable_threshold(low, high) <= high
