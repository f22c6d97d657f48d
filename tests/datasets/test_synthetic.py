from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.datasets import planted_rule
from opdt.errors import InputError
from opdt.rules import Op

pytest.importorskip("pandas")

plans = st.fixed_dictionaries(
    {
        "n_rows": st.integers(1, 60),
        "n_numeric": st.integers(2, 4),
        "n_categorical": st.integers(0, 3),
        "n_levels": st.integers(2, 4),
        "missing": st.sampled_from([0.0, 0.2]),
        "noise": st.sampled_from([0.0, 0.3]),
        "depth": st.integers(1, 2),
        "seed": st.integers(0, 2**32),
        "as_numpy": st.booleans(),
    }
)


def close(share: float, expected: float, n_rows: int, slack: float = 0.0) -> bool:
    """Whether a share of `n_rows` draws is within five standard deviations of its mean."""
    return abs(share - expected) <= 5 * np.sqrt(expected * (1 - expected) / n_rows) + slack


@given(plans)
def test_the_planted_rule_covers_exactly_the_planted_rows(plan):
    data = planted_rule(**plan)
    assert data.rule.covers(data.X).tolist() == data.covered.tolist()
    assert len(data.rule.conditions) == plan["depth"]
    assert len(set(data.rule.features)) == plan["depth"]


@given(plans)
def test_the_same_seed_gives_the_same_table(plan):
    first, second = planted_rule(**plan), planted_rule(**plan)
    assert first.rule == second.rule
    assert np.array_equal(first.y, second.y)
    if plan["as_numpy"]:
        assert np.array_equal(first.X, second.X, equal_nan=True)
    else:
        assert first.X.equals(second.X)


@given(plans)
def test_the_array_and_the_frame_hold_the_same_table(plan):
    array = planted_rule(**{**plan, "as_numpy": True})
    frame = planted_rule(**{**plan, "as_numpy": False})
    assert array.covered.tolist() == frame.covered.tolist()
    assert (array.y == 1).tolist() == (frame.y == "target").tolist()
    assert np.array_equal(np.isnan(array.X), frame.X.isna().to_numpy())
    for name in frame.categorical:
        codes = array.X[:, int(name[1:])]
        words = [None if np.isnan(code) else f"level {int(code)}" for code in codes]
        assert frame.X[name].astype(object).where(frame.X[name].notna(), None).tolist() == words


def test_a_column_does_not_depend_on_how_many_others_there_are():
    small = planted_rule(50, 2, seed=4, as_numpy=True)
    large = planted_rule(50, 5, seed=4, as_numpy=True)
    assert np.array_equal(small.X, large.X[:, :2])


def test_another_seed_gives_another_table():
    first, second = (planted_rule(50, 2, seed=s, as_numpy=True) for s in (1, 2))
    assert not np.array_equal(first.X, second.X)


@pytest.mark.parametrize("n_categorical", [0, 2])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_coverage_precision_and_balance_are_as_asked(n_categorical, missing, depth):
    n = 40_000
    data = planted_rule(
        n, 3, n_categorical, missing=missing, depth=depth, strength=0.8, balance=0.3, coverage=0.25,
        seed=depth, as_numpy=True,
    )  # fmt: skip
    # Thresholds are rounded to three decimals, which moves the coverage by less than 0.002.
    assert close(data.covered.mean(), 0.25, n, slack=0.002)
    assert close(data.y[data.covered].mean(), 0.8, data.covered.sum())
    # Outside the region (0.3 - 0.25 * 0.8) / 0.75 of the rows have the target class.
    assert close(data.y[~data.covered].mean(), 0.1 / 0.75, (~data.covered).sum())
    assert close(np.isnan(data.X).mean(), missing, data.X.size)


def test_noise_flips_labels_inside_and_outside_the_region():
    n = 40_000
    clean, noisy = (
        planted_rule(n, 2, strength=1.0, balance=0.2, coverage=0.2, noise=noise, as_numpy=True)
        for noise in (0.0, 0.1)
    )
    assert np.array_equal(clean.y, clean.covered)
    for region in (clean.covered, ~clean.covered):
        assert close((clean.y != noisy.y)[region].mean(), 0.1, region.sum())


def test_a_rule_on_a_mixed_table_uses_both_kinds():
    for seed in range(10):
        data = planted_rule(20, 3, 3, seed=seed)
        ops = {condition.op for condition in data.rule.conditions}
        assert Op.EQ in ops
        assert ops & {Op.GE, Op.LT}


def test_a_table_may_be_all_categorical():
    data = planted_rule(200, 0, 3, n_levels=2)
    assert data.numeric == ()
    assert {condition.op for condition in data.rule.conditions} == {Op.EQ}


def test_an_array_is_stored_column_by_column_as_float64():
    data = planted_rule(100, 3, 1, as_numpy=True)
    assert data.X.dtype == np.float64
    assert data.X.flags.f_contiguous
    assert data.y.dtype == np.int64


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_rows": 0}, "'n_rows' of planted_rule must be an int >= 1, got 0"),
        ({"n_levels": 1}, "'n_levels' of planted_rule must be an int >= 2, got 1"),
        ({"depth": 4}, "'depth' of planted_rule must be at most the number of features, 3, got 4"),
        ({"noise": 0.7}, "'noise' of planted_rule must be between 0 and 0.5, got 0.7"),
        ({"coverage": 0.5, "missing": 0.5}, r"'coverage' .* less than .* = 0.25, got 0.5"),
        ({"balance": 0.01}, r"'balance' .* between coverage\*strength = 0.18 and 0.98, got 0.01"),
        ({"seed": -1}, "'seed' of planted_rule must be an int >= 0, got -1"),
    ],
)
def test_an_impossible_plan_is_refused_in_one_sentence(options, sentence):
    with pytest.raises(InputError, match=sentence):
        planted_rule(**{"n_rows": 10, "n_numeric": 3, **options})
