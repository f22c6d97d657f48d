"""Gains in whole units: exact where the user's numbers are, and never overflowing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from opdt import discover
from opdt.errors import InputError
from opdt.objectives.gains import (
    GAIN_ROOM,
    MAX_TOTAL,
    MAX_WEIGHT,
    as_written,
    row_gains,
    volume_impurity,
    weight_units,
)

CLASSES = np.array([0, 1, 2, 1, 0], dtype=np.int32)

prices = st.one_of(
    st.integers(1, 1000),
    st.decimals(1, 100, places=3).map(float),
    st.fractions(1, 50, max_denominator=1000),
    st.floats(1, 1e6),
)
decimals = st.integers(0, 6).flatmap(lambda places: st.decimals(0, 50, places=places)).map(float)
weights_of_rows = st.lists(decimals, min_size=5, max_size=5).filter(any)


# -- the VI --------------------------------------------------------------------------------------


@given(prices, st.none() | weights_of_rows, st.integers(0, 2), st.integers(0, 31))
def test_the_gains_of_covered_rows_add_up_to_the_vi(w, weights, label, chosen):
    given_weights = None if weights is None else np.array(weights)
    objective = volume_impurity(CLASSES, 3, w, None, given_weights)
    rows = np.array([bool(chosen >> i & 1) for i in range(5)])
    exact = [Fraction(int(u), objective.weight_scale) for u in objective.weights]
    covered = sum((exact[i] for i in np.flatnonzero(rows)), Fraction(0))
    errors = sum((exact[i] for i in np.flatnonzero(rows & (label != CLASSES))), Fraction(0))
    gain = int(objective.gains(label)[rows].sum()) * objective.unit
    assert gain == covered - objective.w * errors
    assert np.array_equal(objective.wrong(label), label != CLASSES)


@given(prices, st.none() | weights_of_rows)
def test_sums_of_gains_stay_exact_in_any_order(w, weights):
    objective = volume_impurity(CLASSES, 3, w, None, None if weights is None else np.array(weights))
    for label in objective.labels:
        assert sum(abs(int(g)) for g in objective.gains(label)) <= MAX_TOTAL
    assert int(objective.weights.sum()) <= MAX_WEIGHT


@pytest.mark.parametrize(
    ("w", "kept"),
    [
        (10, Fraction(10)),
        (2.5, Fraction(5, 2)),
        (1.1, Fraction(11, 10)),
        (4 / 3, Fraction(4, 3)),
        (np.float32(1.1), Fraction(11, 10)),
        (np.int64(7), Fraction(7)),
        (Fraction(22, 7), Fraction(22, 7)),
        (1.000001, Fraction(1000001, 1000000)),
    ],
)
def test_a_price_is_kept_as_it_was_written(w, kept):
    assert volume_impurity(CLASSES, 3, w).w == kept


@given(st.floats(1, 1e6))
def test_any_other_price_is_kept_to_fourteen_digits(w):
    assert abs(volume_impurity(CLASSES, 3, w).w / Fraction(w) - 1) <= Fraction(1, 2**47)


@given(st.floats(1, 1000), st.floats(1, 1e6))
def test_weights_do_not_change_the_price(w, weight):
    weights = np.array([weight, 1, 2, 3, weight / 3])
    assert volume_impurity(CLASSES, 3, w, None, weights).w == volume_impurity(CLASSES, 3, w).w


def test_a_price_with_endless_digits_is_kept_for_many_rows():
    many = np.zeros(10**7, dtype=np.int32)
    objective = volume_impurity(many, 2, float(np.pi) * 1000)
    assert float(objective.w) == pytest.approx(np.pi * 1000, rel=1e-14)
    assert len(many) * (objective.w.numerator - objective.w.denominator) <= MAX_TOTAL


def test_a_price_of_more_digits_than_can_be_added_is_refused():
    fine = 1 + Fraction(1, 10**17)
    with pytest.raises(
        InputError, match=r"'w' is 1.0, which has too many digits .* over 5 rows; round it to 16 d"
    ):
        volume_impurity(CLASSES, 3, fine)
    with pytest.raises(
        InputError, match=r"too many digits .* with weights that sum to 5e\+11; round it to 5 dec"
    ):
        volume_impurity(CLASSES, 3, Fraction(1234567891, 10**9), None, np.full(5, 1e11))
    assert volume_impurity(CLASSES, 3, Fraction(123457, 10**5), None, np.full(5, 1e11)).w == (
        Fraction(123457, 10**5)
    )


@pytest.mark.parametrize("w", [0.5, -1, 0, float("nan"), float("inf"), True, "10", None, 1j])
def test_a_price_that_is_none_is_refused(w):
    with pytest.raises(InputError, match=r"'w' must be a finite number >= 1 .* got "):
        volume_impurity(CLASSES, 3, w)


@pytest.mark.parametrize("w", [1e300, 10**400, Fraction(10**400, 3)], ids=["a", "b", "c"])
def test_a_price_too_large_to_be_added_is_refused(w):
    with pytest.raises(InputError, match=r"'w' is .*, which is too large to be added exactly"):
        volume_impurity(CLASSES, 3, w)


def test_rules_may_have_any_class_or_the_target():
    assert volume_impurity(CLASSES, 3).labels == (0, 1, 2)
    assert volume_impurity(CLASSES, 3, label=1).labels == (1,)


# -- row weights ---------------------------------------------------------------------------------


@given(weights_of_rows)
def test_decimal_weights_are_exact(weights):
    units, scale, rounding = weight_units(np.array(weights), 5, MAX_WEIGHT)
    assert [Fraction(int(u), scale) for u in units] == [Fraction(str(w)) for w in weights]
    assert rounding == 0


@given(st.lists(st.floats(0, 1e6), min_size=5, max_size=5).filter(any))
def test_other_weights_are_rounded_by_a_tiny_part_of_their_sum(weights):
    units, scale, rounding = weight_units(np.array(weights), 5, MAX_WEIGHT)
    assert sum(map(int, units)) <= MAX_WEIGHT
    changes = [
        abs(Fraction(int(unit), scale) - Fraction(weight))
        for unit, weight in zip(units, weights, strict=True)
    ]
    assert max(changes) <= Fraction(sum(weights)) / 2**40
    # A decimal is exact as it is written, although the double next to it is not quite that.
    assert sum(changes) <= Fraction(rounding) + Fraction(sum(weights)) / 2**50


@pytest.mark.parametrize(
    ("weights", "scale"),
    [([1, 2, 0], 1), ([0.5, 1, 2], 2), ([0.25, 0.1], 20), ([0.57, 1], 100), ([0.29, 0.3], 100)],
)
def test_the_units_of_weights_are_as_coarse_as_they_can_be(weights, scale):
    assert weight_units(np.array(weights), len(weights), MAX_WEIGHT)[1] == scale


def test_rows_without_weights_count_one():
    units, scale, rounding = weight_units(None, 3, MAX_WEIGHT)
    assert (units.tolist(), scale, rounding) == ([1, 1, 1], 1, 0)


def test_weights_of_any_size_are_told_apart():
    units, _, _ = weight_units(np.array([1e-300, 3e-300]), 2, MAX_WEIGHT)
    assert units[1] == pytest.approx(3 * units[0])
    assert units[0] > 2**30


def test_a_price_of_endless_digits_leaves_weights_theirs():
    weights = np.full(1000, 1 / 3)
    objective = volume_impurity(np.zeros(1000, dtype=np.int32), 2, float(np.pi), None, weights)
    assert float(objective.w) == pytest.approx(np.pi, rel=1e-14)
    assert abs(objective.weights[0] / objective.weight_scale - 1 / 3) < 1e-5
    assert 0 < objective.rounding < 0.01


def test_weights_beside_a_high_price_are_accepted():
    weights = np.array([50, 0, 0.0005, 50, 50])
    objective = volume_impurity(CLASSES, 3, 663949.1701640646, None, weights)
    assert float(objective.w) == pytest.approx(663949.1701640646)
    assert objective.weights[0] / objective.weight_scale == pytest.approx(50)


def test_weights_whose_sum_is_no_number_are_refused():
    with pytest.raises(InputError, match="'sample_weight' sums to inf"):
        volume_impurity(CLASSES, 3, 10, None, np.full(5, 1e308))


def test_weights_too_large_to_be_added_are_refused():
    with pytest.raises(
        InputError, match=r"'sample_weight' sums to 1e\+20, .*scale the weights down"
    ):
        weight_units(np.array([1e20, 1.0]), 2, MAX_WEIGHT)


# -- gains per row -------------------------------------------------------------------------------


def in_full(objective):
    return [int(g) * objective.unit for g in objective.gains(0)]


@given(st.lists(st.integers(-(10**6), 10**6) | decimals.map(lambda d: -d), min_size=1, max_size=9))
def test_short_decimals_are_exact_gains(gains):
    assert in_full(row_gains(gains)) == [Fraction(str(g)) for g in gains]


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=9))
def test_other_gains_are_rounded_by_a_tiny_part_of_their_sum(gains):
    total = sum(abs(Fraction(g)) for g in gains)
    objective = row_gains(gains)
    assert sum(abs(int(g)) for g in objective.gains(0)) <= GAIN_ROOM
    changes = [abs(g - Fraction(gain)) for g, gain in zip(in_full(objective), gains, strict=True)]
    assert max(changes) <= total / 2**44
    assert sum(changes) <= Fraction(objective.rounding) + total / 2**50


@pytest.mark.parametrize("gains", [[0, 0], [5e-324, -5e-324], [2**60, -(2**59)]])
def test_extreme_gains_are_held(gains):
    assert in_full(row_gains(gains)) == [Fraction(g) for g in gains]


def test_rows_of_negative_gain_are_errors():
    objective = row_gains([1, -2, 0], label=1)
    assert objective.wrong(1).tolist() == [False, True, False]
    assert (objective.labels, objective.weights.tolist()) == ((1,), [1, 1, 1])


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ([1, float("nan")], "'gains' must be one finite number per row"),
        ([1, float("inf")], "'gains' must be one finite number per row"),
        ([[1, 2]], "'gains' must be one finite number per row"),
        (["a", "b"], "'gains' must be numbers, one for each row"),
        ([1.5e308, 1.5e308], "'gains' are too large to be added; scale them down"),
    ],
)
def test_gains_that_are_no_numbers_are_refused(gains, message):
    with pytest.raises(InputError, match=message):
        row_gains(gains)


# -- numbers as they are written -----------------------------------------------------------------


@given(st.integers(-(10**9), 10**9), st.integers(0, 6))
def test_a_short_decimal_is_itself(whole, places):
    number = float(Decimal(whole).scaleb(-places))
    assert as_written(number) == Fraction(whole, 10**places)


@given(st.integers(0, 10**6), st.integers(7, 9))
def test_a_decimal_of_nine_places_is_itself_however_close_a_simpler_fraction_is(digits, places):
    assert as_written(1 + digits * 10**-places) == 1 + Fraction(digits, 10**places)


@pytest.mark.parametrize(
    ("number", "meant"),
    [
        (1.0000004, Fraction(2500001, 2500000)),
        (0.9999996, Fraction(2499999, 2500000)),
        (0.1 + 0.2, Fraction(3, 10)),
        (np.arange(1, 100, 0.1)[-1], Fraction(999, 10)),
        (np.cumsum(np.full(200, 0.1))[-1], Fraction(20)),
        (-2 / 3, Fraction(-2, 3)),
        (2**60 + 1, Fraction(2**60 + 1)),
    ],
)
def test_a_number_is_what_was_meant(number, meant):
    assert as_written(number) == meant


@given(st.integers(1, 999), st.integers(1, 999))
def test_the_quotient_of_two_numbers_is_their_fraction(over, under):
    assert as_written(over / under) == Fraction(over, under)


# -- against fractions of the numbers given ------------------------------------------------------

weight = st.one_of(
    st.integers(0, 10**11).map(float),
    st.floats(0, 1e11, allow_subnormal=False),
    st.integers(0, 10**11).map(lambda n: n + 0.25),
    st.floats(0, 1, allow_subnormal=False),
)


def best_vi(x, y, w, weights):
    """The largest VI of a rule of one condition, or of none, for class 1; in fractions."""
    tests = [
        lambda v: True,
        *(lambda v, t=t: v >= t for t in x),
        *(lambda v, t=t: v < t for t in x),
    ]
    rows = list(zip(x, y, weights, strict=True))
    values = [
        sum((g * (1 if c else 1 - w) for v, c, g in rows if test(v)), Fraction(0)) for test in tests
    ]
    return max(0, *values)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans(), weight), min_size=2, max_size=8),
    prices | st.floats(1, 3),
)
def test_the_value_is_that_of_the_numbers_given(rows, w):
    x, y, weights = zip(*rows, strict=True)
    assume(len(set(x)) > 1 and len(set(y)) == 2 and sum(weights) > 0)
    try:
        found = discover(
            {"x": list(x)}, list(y), w=w, sample_weight=weights, label=True, max_depth=1
        )
    except InputError as refused:
        assert "too many digits" in str(refused) or "too large" in str(refused)  # noqa: PT017
        return
    price, exact = as_written(w), [Fraction(str(g)) for g in weights]
    best = best_vi(x, y, price, exact)
    noise = max(1, price - 1) * sum(exact) / 2**52  # floats, and the digits of the price
    assert abs(Fraction(found.value) - best) <= Fraction(found.rounding) + noise
    assert Fraction(found.bound) + Fraction(found.rounding) + noise >= best
    if all(g == round(g, 2) for g in weights) and sum(weights) * price.numerator < 1e14:
        assert found.rounding == 0


def test_a_price_beside_large_weights_is_not_rounded():
    found = discover(
        {"x": [1, 2, 3, 4, 5, 6]},
        [1, 0, 1, 1, 0, 1],
        w=1.999,
        sample_weight=[1e8 + 0.25] * 6,
        label=1,
    )
    assert (found.value, found.bound, found.rounding) == (200200000.5005, 200200000.5005, 0)


@pytest.mark.parametrize("share", [0.9999996, Fraction(2499999, 2500000)])
def test_a_precision_is_not_rounded(share):
    x, y = [0] * 4 + [1] * 6, [1] * 10
    y[0] = 0
    weights = [1] + [2500000 - 1] + [0] * 8  # in all of them exactly that share is of class 1
    for limit, value in ((share, 2500000 - 10), (share + Fraction(1, 10**8), 0)):
        found = discover(
            {"x": x}, y, sample_weight=weights, label=1, constraints={"min_precision": limit}
        )
        assert found.value == value


def test_a_precision_of_too_many_digits_beside_fine_weights_is_refused():
    with pytest.raises(InputError, match=r"'min_precision' is 0.123456789, .* round it to 6 decim"):
        discover(
            {"x": [1, 2, 3]},
            [0, 1, 1],
            sample_weight=[1 / 3, 1 / 7, 1 / 11],
            constraints={"min_precision": 0.123456789},
        )
