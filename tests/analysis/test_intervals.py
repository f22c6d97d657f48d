from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from opdt import Condition, InputError, Rule
from opdt.analysis.intervals import holdout_report, lower_bound, share_interval
from opdt.report import rule_report

RULE = Rule([Condition("age", ">=", 40)], "ill")
shares = st.integers(0, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_no_error_in_59_rows_means_95_per_cent_with_confidence_of_95_per_cent():
    # the share whose 59th power is 0.05
    assert lower_bound(59, 59) == pytest.approx(0.05 ** (1 / 59))
    assert lower_bound(0, 59) == 0


@given(shares, st.sampled_from([0.5, 0.9, 0.99]))
def test_at_the_ends_of_the_exact_interval_the_tails_have_half_of_what_is_left(share, level):
    part, whole = share
    low, high = share_interval(part, whole, level)
    tail = (1 - level) / 2
    assert low == 0 if part == 0 else binom.sf(part - 1, whole, low) == pytest.approx(tail)
    assert high == 1 if part == whole else binom.cdf(part, whole, high) == pytest.approx(tail)


@given(shares)
def test_intervals_hold_the_share_and_the_one_sided_bound_lies_between(share):
    part, whole = share
    for method in ("exact", "wilson"):
        low, high = share_interval(part, whole, 0.9, method)
        assert 0 <= low <= lower_bound(part, whole, 0.9, method) + 1e-12
        if whole:
            assert low - 1e-12 <= part / whole <= high + 1e-12


@pytest.mark.parametrize("true", [0.03, 0.4, 0.9])
def test_the_exact_interval_misses_no_more_often_than_it_says(true):
    n, level = 30, 0.9
    chances = [binom.pmf(k, n, true) for k in range(n + 1)]
    inside = [share_interval(k, n, level) for k in range(n + 1)]
    held = sum(c for c, (low, high) in zip(chances, inside, strict=True) if low <= true <= high)
    assert held >= level
    above = sum(c for k, c in enumerate(chances) if lower_bound(k, n, level) <= true)
    assert above >= level


def test_wilson_is_the_root_of_its_equation():
    low, high = share_interval(8, 10, 0.95, "wilson")
    z = 1.959963984540054
    for end in (low, high):
        assert (0.8 - end) ** 2 == pytest.approx(z**2 * end * (1 - end) / 10)


def test_without_rows_nothing_is_known():
    assert share_interval(0, 0) == (0, 1)
    assert lower_bound(0, 0) == 0


def test_held_out_rows_are_counted():
    ages = [25, 31, 47, 52, 60, 70]
    states = ["well", "ill", "ill", "ill", "well", "ill"]
    report = holdout_report(RULE, {"age": ages, "state": states}, "state", level=0.9)
    assert (report.n_rows, report.n_class, report.covered, report.correct) == (6, 4, 4, 3)
    assert (report.precision, report.coverage, report.base_rate) == (0.75, 4 / 6, 4 / 6)
    assert report.precision_interval == share_interval(3, 4, 0.9)
    assert report.coverage_interval == share_interval(4, 6, 0.9)
    assert report.precision_bound == lower_bound(3, 4, 0.9)
    # of the 15 ways to cover 4 of 6 rows, 1 has 4 of the 4 ill ones and 8 have 3
    assert report.p_value == pytest.approx(9 / 15)
    known = rule_report(RULE, {"age": ages}, states, 10, 0.9).interval
    assert report.precision_interval == pytest.approx(known)
    assert "75.0%  (3 of 4; 90% interval" in str(report)


def test_a_rule_that_never_fires_has_no_precision():
    report = holdout_report(RULE, {"age": [20, 30]}, ["ill", "well"])
    assert math.isnan(report.precision)
    assert report.precision_interval == (0, 1)
    assert report.p_value == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: share_interval(3, 2), "'part' must be at most 'whole'"),
        (lambda: share_interval(-1, 2), "'part' must be an int >= 0"),
        (lambda: share_interval(1, 2.5), "'whole' must be an int >= 0"),
        (lambda: share_interval(1, 2, 95), "'level' must be a number between 0 and 1"),
        (lambda: share_interval(1, 2, method="wald"), "'exact' or 'wilson'"),
        (lambda: holdout_report("IF", {"age": [1]}, [0]), "'rule' must be a Rule"),
        (lambda: holdout_report(RULE, {"age": [1, 2]}, [0]), "one label for each of the 2 rows"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()
