"""Rules that keep apart: the best rule, then the best that overlaps it little, and so on."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.checks import check_choice, check_number
from opdt.errors import InputError
from opdt.objectives.gains import as_written
from opdt.problem import CodedRule, Measure
from opdt.solution import Clock, StopReason

if TYPE_CHECKING:
    from opdt.engines.search import RowLimit, Searcher

OVERLAPS = ("share", "jaccard")
# An overlap is compared by multiplying sums of weights with its fraction in 64 bits.
MAX_PRODUCT = 2**60


def find_diverse(
    searcher: Searcher, clock: Clock, limit: int, most: Fraction, overlap: str
) -> tuple[list[tuple[CodedRule, Measure]], list[float], StopReason]:
    """Rules one after the other, their overlaps, and why it ended."""
    problem = searcher.problem
    weights = problem.objective.weights
    if int(weights.sum()) * (most.numerator + most.denominator) > MAX_PRODUCT:
        raise InputError(
            f"'max_overlap' is {float(most)!r}, which has too many digits to be compared exactly "
            "beside these row weights; round it."
        )
    ranked: list[tuple[CodedRule, Measure]] = []
    overlaps: list[float] = []
    limits: list[RowLimit] = []
    covers: list[NDArray[np.bool_]] = []
    while len(ranked) < limit:
        found, stopped = searcher.best_within(limits, budget=clock)
        if found is not None:
            fires = problem.cover(found[0].conditions)
            shares = [_overlap(weights, fires, other, overlap) for other in covers]
            ranked.append(found)
            overlaps.append(float(max(shares)) if shares else math.nan)
            covers.append(fires)
            limits += _limits(weights, fires, most, overlap)
        if found is None or stopped is not StopReason.FINISHED:
            return ranked, overlaps, stopped
    return ranked, overlaps, StopReason.FINISHED


def _limits(
    weights: NDArray[np.int64], fires: NDArray[np.bool_], limit: Fraction, overlap: str
) -> list[RowLimit]:
    """What a rule must keep to overlap these rows by at most the limit p / q.

    With W the weight of these rows, J of its rows among them and A of all its rows, the Jaccard
    overlap J / (A + W - J) is at most p / q exactly if (q + p) J - p A <= p W; the share
    J / min(A, W) exactly if q J - p A <= 0 and q J <= p W.
    """
    from opdt.engines.search import RowLimit

    p, q = limit.numerator, limit.denominator
    most = p * int(weights[fires].sum())
    inside = fires.astype(np.int64)
    if overlap == "jaccard":
        return [RowLimit(weights * ((q + p) * inside - p), most)]
    return [RowLimit(weights * (q * inside - p), 0), RowLimit(weights * q * inside, most)]


def _overlap(
    weights: NDArray[np.int64], one: NDArray[np.bool_], two: NDArray[np.bool_], overlap: str
) -> Fraction:
    both = int(weights[one & two].sum())
    if overlap == "jaccard":
        return Fraction(both, int(weights[one | two].sum()))
    return Fraction(both, min(int(weights[one].sum()), int(weights[two].sum())))


def check_overlap(max_overlap: Any, overlap: Any) -> Fraction:
    """The limit as a fraction, both arguments checked."""
    check_choice("overlap", overlap, OVERLAPS)
    wanted = "a number from 0 to below 1 (at 1 a rule may be repeated)"
    return as_written(check_number("max_overlap", max_overlap, wanted, lambda n: 0 <= n < 1))
