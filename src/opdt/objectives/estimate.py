"""What a rule is worth on rows that had no part in finding it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from opdt.objectives.gains import ObjectiveGains
from opdt.objectives.words import Words
from opdt.verdict import LEVEL, format_p_value

# Covered held-out rows from which on a test that finds nothing speaks against a rule.
LEAST_COVERED = 10


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
    sign : int
        -1 where less is better, else 1.
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
    sign: int = 1

    @property
    def speaks(self) -> bool | None:
        """Whether the rows speak for the rule; None where too few are covered to say anything."""
        if self.p_value <= LEVEL:
            return True
        return False if self.covered >= LEAST_COVERED else None

    @property
    def advantage(self) -> float:
        """How much better a covered row is than any row."""
        if not self.covered:
            return 0.0
        rest = self.n_rows - self.covered
        overall = self.inside * self.covered + (self.outside * rest if rest else 0.0)
        return self.sign * (self.inside - overall / self.n_rows)

    @property
    def said(self) -> str:
        """What they say, in words."""
        return f"{self.sentence} (p = {format_p_value(self.p_value)})"

    @property
    def mute(self) -> str:
        """Why they say nothing, in words."""
        return f"it covers {self.covered:,} of the {self.n_rows:,} held-out rows, too few"

    def __str__(self) -> str:
        return self.sentence


def estimate_of_gains(
    gains: ObjectiveGains, fires: NDArray[np.bool_], level: float, words: Words
) -> Estimate:
    """The mean gain per covered row, with an interval and a test against all other rows."""
    return estimate_of_means(
        gains.values, gains.weights > 0, fires, level, f"{words.name} of", words.show_gap
    )


def estimate_of_means(
    values: NDArray[np.float64],
    there: NDArray[np.bool_],
    fires: NDArray[np.bool_],
    level: float,
    name: str,
    show: Callable[[float], str],
    sign: int = 1,
) -> Estimate:
    """The mean of values inside: Student's interval, and Welch's test against those outside.

    Row weights are not taken into account, as rows are what is drawn; `there` are those that have
    one. `name` begins the sentence, `show` says a value with its unit, `sign` is -1 where low
    values are wanted.
    """
    values, fires = values[there], fires[there]
    inside, outside = values[fires], values[~fires]
    interval = mean_interval(inside, level)
    sentence = f"covers none of {len(values):,} held-out rows"
    if len(inside):
        low, high = map(show, interval)
        sentence = (
            f"{name} {show(float(inside.mean()))} per covered row ({level:.0%} interval {low} to "
            f"{high}; outside {show(_mean(outside))}) in {len(inside):,} of {len(values):,} "
            "held-out rows"
        )
    return Estimate(
        len(values), len(inside), _mean(inside), _mean(outside), interval, level,
        welch_p_value(sign * inside, sign * outside), sentence, sign=sign,
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
    from scipy.special import stdtr

    sizes = len(inside), len(outside)
    if min(sizes) < 2:
        return 1.0
    one, other = (float(part.var(ddof=1)) / len(part) for part in (inside, outside))
    if one + other <= 0:
        return 1.0  # no spread to judge a difference by
    freedom = (one + other) ** 2 / (one**2 / (sizes[0] - 1) + other**2 / (sizes[1] - 1))
    far = float(inside.mean() - outside.mean()) / math.sqrt(one + other)
    return float(stdtr(freedom, -far))


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else math.nan
