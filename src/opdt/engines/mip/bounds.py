"""What a solver's floating-point claim is worth in whole units."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from opdt.problem import Problem, VolumeImpurity

# Solvers accept this much violation of each row and of each integrality.
SOLVER_TOLERANCE = 1e-6
# Errors are enumerated to round a bound down to a VI that can occur, up to this many.
MAX_ENUMERATED = 100_000


def tolerance(problem: Problem) -> float:
    """How far a solver's objective may be off: its tolerance on every row's gain, as a VI."""
    objective = problem.objective
    total = max(int(np.abs(objective.gains(label)).sum()) for label in objective.labels)
    return SOLVER_TOLERANCE * max(1.0, float(total * objective.unit))


def resolvable(problem: Problem) -> bool:
    """Whether a solver can tell gains that differ by one unit apart."""
    return float(problem.objective.unit) > 4 * tolerance(problem)


def weights_resolvable(problem: Problem) -> bool:
    """Whether a solver can tell covered weights that differ by one unit apart."""
    objective = problem.objective
    total = float(objective.weights.sum() / objective.weight_scale)
    return 1 / objective.weight_scale > 4 * SOLVER_TOLERANCE * max(1.0, total)


def absolute_gap(problem: Problem) -> float:
    """The gap between bound and value at which a solver may stop: just below one unit.

    Every gain is a whole number of units, so that nothing better fits into the gap; for w = 10
    that is 0.999, for w = 2.5 it is 0.4995. Where a unit is too small for solvers, 0.
    """
    return 0.999 * float(problem.objective.unit) if resolvable(problem) else 0.0


def attainable(problem: Problem, bound: float) -> int:
    """The largest gain, in units, that can occur and does not exceed a solver's bound.

    A VI is ``right + (1 - w) wrong`` for whole amounts of covered weight, so between a solver's
    bound and the next such value there is nothing; this recovers an exact proof from a floating
    bound even where w is not a whole number.
    """
    objective = problem.objective
    most = problem.ceiling
    if not math.isfinite(bound):
        return most
    limit = math.floor((Fraction(bound) + Fraction(tolerance(problem))) / objective.unit)
    if limit >= most:
        return most
    if not isinstance(objective, VolumeImpurity):
        return limit
    step = int(np.gcd.reduce(objective.weights)) or 1
    gain = objective.w.denominator * step
    loss = objective.w.numerator * step - gain
    most_wrong = int(objective.weights.sum()) // step
    if most_wrong > MAX_ENUMERATED:
        return limit
    return max(
        (
            (limit + loss * wrong) // gain * gain - loss * wrong
            for wrong in range(most_wrong + 1)
            if limit + loss * wrong >= 0
        ),
        default=limit,
    )
