from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from opdt import Condition, InputError, Rule, discover, rule_report, vi_index
from opdt.analysis.intervals import share_interval
from opdt.report import coverage, precision

Y = ["ill", "ill", "well", "ill", "well"]
FIRES = [True, True, True, False, False]


def test_vi_precision_and_coverage_are_those_of_the_definition():
    # N = 3 covered rows, L = 1 of them not ill.
    assert vi_index(Y, FIRES, "ill", w=10) == 3 - 10 * 1
    assert vi_index(Y, FIRES, "ill", w=1.5) == 1.5
    assert precision(Y, FIRES, "ill") == 2 / 3
    assert coverage(FIRES) == 3 / 5


def test_row_weights_count_as_that_many_rows():
    weights = [2, 0.5, 1, 4, 0]
    assert vi_index(Y, FIRES, "ill", 2, weights) == 3.5 - 2 * 1
    assert precision(Y, FIRES, "ill", weights) == 2.5 / 3.5
    assert coverage(FIRES, weights) == 3.5 / 7.5


def test_covering_nothing_has_vi_zero_and_no_precision():
    nothing = [False] * 5
    assert vi_index(Y, nothing, "ill") == 0
    assert math.isnan(precision(Y, nothing, "ill"))
    assert coverage(nothing) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vi_index(Y, FIRES[:4], "ill"), "one label for each of the 4 rows"),
        (lambda: vi_index(Y, [1, 1, 0, 0, 0], "ill"), "'covered' must be one True or False"),
        (lambda: vi_index(Y, FIRES, "ill", w=0.5), "'w' must be a finite number >= 1"),
        (lambda: vi_index(Y, FIRES, "ill", w=float("nan")), "'w' must be a finite number >= 1"),
        (lambda: precision(Y, FIRES, "ill", [1, 2]), "sample_weight must have one number"),
        (lambda: share_interval(1, 2, level=95), "'level' must be a number between 0 and 1"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_interval_is_that_of_scipy(count, level):
    exact = binomtest(*count).proportion_ci(level, method="exact")
    assert share_interval(*count, level) == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(counts, st.sampled_from([0.5, 0.95]))
def test_the_limits_are_where_the_tails_have_half_of_what_is_left(count, level):
    correct, n = count
    low, high = share_interval(correct, n, level)
    if correct:
        assert binom.sf(correct - 1, n, low) == pytest.approx((1 - level) / 2, rel=1e-6)
    if correct < n:
        assert binom.cdf(correct, n, high) == pytest.approx((1 - level) / 2, rel=1e-6)
    assert 0 <= low <= correct / n <= high <= 1


RULE = Rule([Condition("age", ">=", 40)], "ill")
AGES = {"age": [25, 31, 47, 52, 60, None], "unused": list("abcdef")}
STATE = ["well", "ill", "ill", "well", "ill", "ill"]


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
def test_a_report_counts_the_rows_of_any_table(frame):
    report = rule_report(RULE, frame(AGES), STATE, w=2)
    assert (report.n_rows, report.covered, report.correct, report.errors) == (6, 3, 2, 1)
    assert (report.precision, report.coverage, report.base_rate) == (2 / 3, 3 / 6, 4 / 6)
    assert report.lift == pytest.approx(1)
    assert (report.value, report.w) == (3 - 2 * 1, 2)
    assert report.interval == share_interval(2, 3)


def test_labels_may_be_a_column_of_the_table_or_of_the_file(tmp_path):
    frame = pl.DataFrame({**AGES, "state": STATE})
    frame.write_csv(tmp_path / "a.csv")
    expected = rule_report(RULE, AGES, STATE)
    assert rule_report(RULE, frame, "state") == expected
    assert rule_report(RULE, tmp_path / "a.csv", "state") == expected


def test_a_rule_that_covers_nothing_has_no_precision_and_an_interval_that_says_nothing():
    report = rule_report(RULE, {"age": [1, 2]}, ["ill", "well"])
    assert (report.covered, report.value, report.coverage) == (0, 0, 0)
    assert math.isnan(report.precision)
    assert math.isnan(report.lift)
    assert report.interval == (0, 1)
    assert "precision  –  (0 of 0" in str(report)


def test_a_report_is_printed_in_aligned_lines():
    lines = str(rule_report(RULE, AGES, STATE, w=2)).splitlines()
    low, high = (f"{100 * bound:.1f} %" for bound in share_interval(2, 3))
    assert lines == [
        "VI         1  (w = 2; all rows: 2)",
        f"precision  66.7 %  (2 of 3; 95% interval {low} to {high})",
        "coverage   50.0 %  (3 of 6 rows)",
        "errors     1",
        "base rate  66.7 %",
        "lift       1.00",
    ]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=30).filter(
        lambda rows: len({label for _, label in rows}) == 2
    )
)
@pytest.mark.filterwarnings("ignore::opdt.OpdtWarning")
def test_a_report_on_the_training_rows_agrees_with_the_solution(rows):
    X, y = {"a": [a for a, _ in rows]}, np.array([label for _, label in rows])
    solution = discover(X, y, w=3, engine="exhaustive")
    if solution.rule is not None:
        report = rule_report(solution.rule, X, y, w=3)
        assert report.value == solution.value
        assert (report.covered, report.errors) == (solution.covered, solution.errors)
        assert report.precision == pytest.approx(solution.precision)
