"""The mean effect of a group of rows, from their doubly robust scores."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Effect:
    """A mean effect and its interval, in the outcome's unit.

    Attributes
    ----------
    mean, low, high : float
        The estimate, and the ends of its interval; NaN where there are too few rows.
    rows, treated : int
        Rows it is the mean of, and those that were treated among them.
    """

    mean: float
    low: float
    high: float
    rows: int
    treated: int

    @property
    def controls(self) -> int:
        """Rows that were not treated."""
        return self.rows - self.treated

    @property
    def empty_arm(self) -> str | None:
        """The arm that has no row, where one has none: such an effect is the models' guess."""
        if self.rows and not self.treated:
            return "treated"
        return "untreated" if self.rows and not self.controls else None


@dataclass(frozen=True)
class EffectSplit:
    """The effect inside a rule, outside, and how far they are apart."""

    inside: Effect
    outside: Effect
    difference: float
    low: float
    high: float


def effect_of(
    scores: NDArray[np.float64],
    treated: NDArray[np.bool_],
    rows: NDArray[np.bool_] | None = None,
    level: float = CONFIDENCE,
) -> Effect:
    """The mean effect of some rows, with a normal interval from the spread of their scores.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_rows,)
    treated : ndarray of bool, shape (n_rows,)
    rows : ndarray of bool, shape (n_rows,), optional
        All if left out.
    level : float
        Confidence of the interval.
    """
    if rows is not None:
        scores, treated = scores[rows], treated[rows]
    if not len(scores):
        return Effect(np.nan, np.nan, np.nan, 0, 0)
    mean, half = float(scores.mean()), _reach(level) * _error(scores)
    return Effect(mean, mean - half, mean + half, len(scores), int(treated.sum()))


def effect_split(
    scores: NDArray[np.float64],
    treated: NDArray[np.bool_],
    inside: NDArray[np.bool_],
    level: float = CONFIDENCE,
) -> EffectSplit:
    """The effects inside and outside a rule, and their difference with its interval."""
    within, beyond = (effect_of(scores, treated, rows, level) for rows in (inside, ~inside))
    apart = within.mean - beyond.mean
    half = _reach(level) * float(np.hypot(_error(scores[inside]), _error(scores[~inside])))
    return EffectSplit(within, beyond, apart, apart - half, apart + half)


def _reach(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def _error(scores: NDArray[np.float64]) -> float:
    """The standard error of the mean."""
    return float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else float("nan")
