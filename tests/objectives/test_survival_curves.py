"""Curves, scores and the log-rank test, held to published numbers and to plain Python."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.objectives.survival_curves import (
    expected_events,
    log_rank_scores,
    log_rank_test,
    martingale_residuals,
    survival_curve,
)

# Remission of leukaemia in weeks (Freireich et al. 1963), as printed in textbooks: 21 patients
# with 6-MP, + where the time is cut short, and 21 with a placebo.
TREATED = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"
PLACEBO = "1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23"


def read(text: str) -> tuple[np.ndarray, np.ndarray]:
    words = text.split()
    return (
        np.array([float(word.rstrip("+")) for word in words]),
        np.array([not word.endswith("+") for word in words]),
    )


@st.composite
def watched(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times with many ties, events, and a group."""
    n = draw(st.integers(2, 30))
    some = st.lists(st.integers(0, 8), min_size=n, max_size=n)
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    return (
        np.array(draw(some), float),
        np.array(draw(flags), bool),
        np.array(draw(flags), bool),
    )


def test_the_curve_of_a_textbook() -> None:
    curve = survival_curve(*read(TREATED))
    assert curve.times.tolist() == [0, 6, 7, 10, 13, 16, 22, 23]
    published = [1, 0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448]
    assert curve.survival == pytest.approx(published, abs=5e-4)
    # of R's survfit with conf.type = "log-log"
    assert curve.low[1:] == pytest.approx(
        [0.620, 0.563, 0.503, 0.432, 0.368, 0.268, 0.188], abs=5e-4
    )
    assert curve.high[1:] == pytest.approx(
        [0.952, 0.923, 0.889, 0.849, 0.805, 0.747, 0.680], abs=5e-4
    )
    assert curve.median == 23
    assert survival_curve(*read(PLACEBO)).median == 8
    assert (curve.rows, curve.events, curve.last) == (21, 9, 35)
    assert curve.at(6) == curve.at(6.9) == curve.survival[1]
    assert curve.at(0) == 1
    assert np.isnan(curve.at(36))


def test_the_log_rank_test_of_a_textbook() -> None:
    (t1, e1), (t2, e2) = read(PLACEBO), read(TREATED)
    inside = np.arange(42) < 21
    test = log_rank_test(np.concatenate((t1, t2)), np.concatenate((e1, e2)), inside)
    assert test.statistic == pytest.approx(16.79, abs=5e-3)
    assert test.p_value == pytest.approx(4.17e-5, rel=5e-3)
    assert test.observed == (21, 9)
    assert test.expected == pytest.approx((10.75, 19.25), abs=5e-3)
    assert test.ratio == pytest.approx((21 / 10.75) / (9 / 19.25), rel=1e-3)
    assert test.low < test.ratio < test.high


def test_a_curve_that_never_falls_and_one_that_ends() -> None:
    never = survival_curve(np.array([1.0, 2.0]), np.array([False, False]))
    assert never.survival.tolist() == [1]
    assert never.median == float("inf")
    ends = survival_curve(np.array([1.0, 2.0]), np.array([True, True]))
    assert ends.survival.tolist() == [1, 0.5, 0]
    assert np.isnan(ends.low[-1])
    assert np.isnan(ends.high[-1])


@given(watched())
def test_the_curve_is_the_product_over_times(rows: tuple[np.ndarray, ...]) -> None:
    time, event, _ = rows
    share, shares = Fraction(1), [1.0]
    for moment in sorted(set(time[event])):
        share *= 1 - Fraction(int((event & (time == moment)).sum()), int((time >= moment).sum()))
        shares.append(float(share))
    assert survival_curve(time, event).survival == pytest.approx(shares, abs=1e-12)


@given(watched())
def test_scores_add_up_to_what_the_test_compares(rows: tuple[np.ndarray, ...]) -> None:
    time, event, inside = rows
    test = log_rank_test(time, event, inside)
    scores = log_rank_scores(time, event)
    assert scores[inside].sum() == pytest.approx(test.observed[0] - test.expected[0], abs=1e-9)
    assert scores.sum() == pytest.approx(0, abs=1e-9)
    assert martingale_residuals(time, event).sum() == pytest.approx(0, abs=1e-9)
    expected = 0.0
    for moment in set(time[event]):
        at_risk = time >= moment
        share = (at_risk & inside).sum() / at_risk.sum()
        expected += (event & (time == moment)).sum() * share
    assert test.expected[0] == pytest.approx(expected, abs=1e-9)


@given(watched())
def test_both_scores_agree_where_no_times_are_shared(rows: tuple[np.ndarray, ...]) -> None:
    _, event, _ = rows
    time = np.arange(len(event), dtype=float)
    assert martingale_residuals(time, event) == pytest.approx(log_rank_scores(time, event))


def test_shared_times_one_after_the_other() -> None:
    # Two of three rows have the event at 1: the third sees 1/3 + 1/2, each of them 1/3 + 1/4.
    time, event = np.array([1.0, 1.0, 2.0]), np.array([True, True, False])
    assert expected_events(time, event, efron=True) == pytest.approx([7 / 12, 7 / 12, 5 / 6])
    assert expected_events(time, event) == pytest.approx([2 / 3, 2 / 3, 2 / 3])


def test_a_ratio_asks_for_more_than_the_average() -> None:
    time, event = np.array([1.0, 2.0, 3.0]), np.array([True, False, True])
    assert log_rank_scores(time, event, 2.0) == pytest.approx(
        event - 2 * expected_events(time, event)
    )


def test_groups_that_no_event_tells_apart() -> None:
    nobody = log_rank_test(np.array([1.0, 2.0]), np.array([False, False]), np.array([True, False]))
    assert np.isnan(nobody.statistic)
    assert np.isnan(nobody.p_value)
    assert np.isnan(nobody.ratio)
