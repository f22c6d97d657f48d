"""What a rule is worth on rows that had no part in finding it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from opdt.objectives.gains import ObjectiveGains
from opdt.objectives.words import Words


@dataclass(frozen=True)
class Estimate:
    """What a rule is worth on held-out rows, per covered row, with an interval.

    Attributes
    ----------
    n_rows, covered : int
        Held-out rows, and those that the rule covers.
    inside, outside : float
        The mean per row, covered and not; NaN where there are none.
    interval : tuple of float
        Confidence interval of `inside`; NaN where too few rows are covered.
    level : float
        Its confidence.
    p_value : float
        One-sided: so much more inside than outside, if there were no difference. 1 where the rows
        cannot tell.
    sentence : str
        All of it in the objective's own words and units, without a full stop.
    numbers : mapping of name to float
        Further numbers, for JSON and tables.
    """

    n_rows: int
    covered: int
    inside: float
    outside: float
    interval: tuple[float, float]
    level: float
    p_value: float
    sentence: str
    numbers: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.sentence


def estimate_of_gains(
    gains: ObjectiveGains, fires: NDArray[np.bool_], level: float, words: Words
) -> Estimate:
    """The mean gain per covered row: Student's interval, and Welch's test against other rows.

    Row weights are not taken into account: rows are what is drawn.
    """
    there = gains.weights > 0
    values, fires = gains.values[there], fires[there]
    inside, outside = values[fires], values[~fires]
    interval = mean_interval(inside, level)
    low, high = (words.show_gap(end) for end in interval)
    sentence = f"covers none of the {len(values):,} held-out rows"
    if len(inside):
        each = words.show_gap(float(inside.mean()))
        sentence = (
            f"{words.name} of {each} per covered row ({level:.0%} interval {low} to {high}) in "
            f"{len(inside):,} of {len(values):,} held-out rows"
        )
    return Estimate(
        len(values), len(inside), _mean(inside), _mean(outside), interval, level,
        welch_p_value(inside, outside), sentence,
    )  # fmt: skip


def mean_interval(values: NDArray[np.float64], level: float) -> tuple[float, float]:
    """Student's confidence interval of a mean; NaN of fewer than two values."""
    from scipy.stats import t

    n = len(values)
    if n < 2:
        return math.nan, math.nan
    half = float(t.ppf((1 + level) / 2, n - 1)) * float(values.std(ddof=1)) / math.sqrt(n)
    mean = float(values.mean())
    return mean - half, mean + half


def welch_p_value(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """Welch's test, one-sided: is the mean inside larger? 1 where the rows cannot tell."""
    from scipy.stats import ttest_ind

    if len(inside) < 2 or len(outside) < 2:
        return 1.0
    if inside.std() == 0 and outside.std() == 0:
        return 1.0  # no spread to judge a difference by
    found = ttest_ind(inside, outside, equal_var=False, alternative="greater")
    return float(found.pvalue)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else math.nan
