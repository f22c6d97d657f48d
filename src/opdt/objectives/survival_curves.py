"""Times until an event, some of them cut short: curves, scores and the log-rank test.

Sources: E. L. Kaplan and P. Meier, JASA 53 (1958); R. Peto and J. Peto, Asymptotically Efficient
Rank Invariant Test Procedures, JRSS A 135 (1972); T. M. Therneau, P. M. Grambsch and T. R.
Fleming, Martingale-based Residuals for Survival Models, Biometrika 77 (1990).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RiskTable:
    """At each time of an event: how many rows had it, and how many could have had it.

    Attributes
    ----------
    times : ndarray of float64, shape (n_times,)
        The distinct times of events, ascending.
    events, at_risk : ndarray of int64, shape (n_times,)
    """

    times: Floats
    events: Counts
    at_risk: Counts

    @classmethod
    def of(cls, time: Floats, event: Bools) -> RiskTable:
        """Count the rows; a row whose time is cut short at t is still at risk at t."""
        times, events = np.unique(time[event], return_counts=True)
        at_risk = len(time) - np.searchsorted(np.sort(time), times, side="left")
        return cls(times, events.astype(np.int64), at_risk.astype(np.int64))


@dataclass(frozen=True, eq=False)
class SurvivalCurve:
    """The share of rows without the event as time goes by, by Kaplan and Meier.

    Attributes
    ----------
    times : ndarray of float64, shape (n_times + 1,)
        0 and the distinct times of events; the curve is constant from one to the next.
    survival, low, high : ndarray of float64, shape (n_times + 1,)
        The share, and its 95% interval: Greenwood's variance on the scale of log(-log), so that
        it stays between 0 and 1; NaN where the share is 0.
    censored : ndarray of float64
        The times that were cut short, ascending.
    last : float
        The largest time; the curve says nothing beyond it.
    rows, events : int
    """

    times: Floats
    survival: Floats
    low: Floats
    high: Floats
    censored: Floats
    last: float
    rows: int
    events: int

    def at(self, time: float) -> float:
        """The share without the event at a time; NaN beyond the last time seen."""
        if time > self.last:
            return float("nan")
        return float(self.survival[np.searchsorted(self.times, time, side="right") - 1])

    @property
    def median(self) -> float:
        """The time at which the share falls to a half; infinite where it never does."""
        below = np.flatnonzero(self.survival <= 0.5 + 1e-12)
        return float(self.times[below[0]]) if len(below) else float("inf")


def survival_curve(time: Floats, event: Bools) -> SurvivalCurve:
    """The Kaplan–Meier curve of rows with these times.

    Parameters
    ----------
    time : ndarray of float64, shape (n_rows,)
        Not negative; at least one row.
    event : ndarray of bool, shape (n_rows,)
        Whether the event came at that time; otherwise the row was no longer watched.
    """
    table = RiskTable.of(time, event)
    survival = np.cumprod(1 - table.events / table.at_risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.cumsum(table.events / (table.at_risk * (table.at_risk - table.events)))
        reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        power = np.exp(reach * np.sqrt(spread) / np.log(survival))
        low, high = survival ** (1 / power), survival**power
    gone = survival == 0
    low[gone] = high[gone] = np.nan
    start = np.ones(1)
    return SurvivalCurve(
        np.concatenate((np.zeros(1), table.times)),
        np.concatenate((start, survival)),
        np.concatenate((start, low)),
        np.concatenate((start, high)),
        np.sort(time[~event]),
        float(time.max()),
        len(time),
        int(event.sum()),
    )


def expected_events(time: Floats, event: Bools, *, efron: bool = False) -> Floats:
    """The number of events that each row would have had at everybody's pace, shape (n_rows,).

    It is the cumulative hazard of all rows up to the row's own time (Nelson and Aalen). Events
    less expectations add up to 0. With `efron`, events of the same time count one after the
    other, as in the residuals of a Cox model; without, all at once, as in the log-rank test.
    """
    table = RiskTable.of(time, event)
    if not efron:
        return _up_to(table.times, np.cumsum(table.events / table.at_risk), time)
    others, own = np.empty(len(table.times)), np.empty(len(table.times))
    for k, (events, at_risk) in enumerate(zip(table.events, table.at_risk, strict=True)):
        before = np.arange(events)
        others[k] = (1 / (at_risk - before)).sum()
        own[k] = ((1 - before / events) / (at_risk - before)).sum()
    expected = _up_to(table.times, np.cumsum(others), time)
    at = np.searchsorted(table.times, time[event])
    expected[event] += own[at] - others[at]
    return expected


def _up_to(times: Floats, sums: Floats, time: Floats) -> Floats:
    return np.concatenate((np.zeros(1), sums))[np.searchsorted(times, time, side="right")]


def log_rank_scores(time: Floats, event: Bools, ratio: float = 1.0) -> Floats:
    """Event less `ratio` times the expected events, for each row.

    With the ratio 1 the sum over any group is observed less expected events, which is what the
    log-rank test compares with its spread.
    """
    scores: Floats = event - ratio * expected_events(time, event)
    return scores


def martingale_residuals(time: Floats, event: Bools, ratio: float = 1.0) -> Floats:
    """The same, with Efron's way of events of the same time: residuals of a Cox model without
    features.
    """
    scores: Floats = event - ratio * expected_events(time, event, efron=True)
    return scores


@dataclass(frozen=True)
class LogRankTest:
    """Whether two groups have events at the same pace.

    Attributes
    ----------
    statistic, p_value : float
        Chi-square with one degree of freedom; NaN where no event can tell the groups apart.
    observed, expected : tuple of float
        Events inside and outside, and those expected if both had the same pace.
    ratio, low, high : float
        How many times as fast events come inside as outside, (O1 / E1) / (O2 / E2), with an
        interval; NaN where one group has no event or expects none.
    """

    statistic: float
    p_value: float
    observed: tuple[float, float]
    expected: tuple[float, float]
    ratio: float
    low: float
    high: float


def log_rank_test(
    time: Floats, event: Bools, inside: Bools, level: float = CONFIDENCE
) -> LogRankTest:
    """Compare the rows inside with those outside.

    Parameters
    ----------
    time : ndarray of float64, shape (n_rows,)
    event, inside : ndarray of bool, shape (n_rows,)
    level : float
        Confidence of the interval of the ratio.
    """
    table = RiskTable.of(time, event)
    risk = int(inside.sum()) - np.searchsorted(np.sort(time[inside]), table.times, side="left")
    share = risk / table.at_risk
    expected = float((table.events * share).sum())
    rest = (table.at_risk - table.events) / np.maximum(table.at_risk - 1, 1)
    variance = float((table.events * share * (1 - share) * rest).sum())
    observed, total = float((event & inside).sum()), float(event.sum())
    seen, wanted = (observed, total - observed), (expected, total - expected)
    statistic = (observed - expected) ** 2 / variance if variance > 0 else float("nan")
    p_value = math.erfc(math.sqrt(statistic / 2))  # the tail of a squared normal variable
    ratio = low = high = float("nan")
    if min(*seen, *wanted) > 0:
        ratio = (seen[0] / wanted[0]) / (seen[1] / wanted[1])
        reach = NormalDist().inv_cdf((1 + level) / 2)
        half = reach * math.sqrt(1 / wanted[0] + 1 / wanted[1])
        low, high = ratio * math.exp(-half), ratio * math.exp(half)
    return LogRankTest(statistic, p_value, seen, wanted, ratio, low, high)
