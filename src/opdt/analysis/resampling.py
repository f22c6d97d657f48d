"""Rows drawn with replacement: the problem on them, exactly as if their table were read anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from opdt.objectives.gains import MAX_TOTAL, MAX_WEIGHT, ObjectiveGains, volume_impurity
from opdt.problem import Gains, Problem, VolumeImpurity

Rows = NDArray[np.int64]


def draw_counts(n_rows: int, seed: int, index: int) -> Rows:
    """How often each row is drawn in bootstrap number `index`, shape (n_rows,).

    Depends on the seed and the index alone.
    """
    drawn = np.random.default_rng([seed, index]).integers(n_rows, size=n_rows)
    return np.bincount(drawn, minlength=n_rows).astype(np.int64)


def resampled(problem: Problem, counts: Rows) -> Problem:
    """The problem on rows that occur so often: those drawn, each with its count as a weight.

    Columns are coded again, from codes to codes: a value that was not drawn offers no condition,
    so the rules are those of the resampled table, not those of the original one.
    """
    rows = np.flatnonzero(counts)
    table = replace(problem.table.take(rows), weights=None)  # rows weigh as often as drawn
    objective = _objective(problem, rows, counts[rows])
    return replace(problem, table=table, objective=objective, frequent=None)


def _objective(problem: Problem, rows: Rows, counts: Rows) -> Gains:
    objective = problem.objective
    if isinstance(objective, ObjectiveGains):
        return objective.drawn(rows, counts)
    assert isinstance(objective, VolumeImpurity)
    weights, price = objective.weights[rows] * counts, objective.w
    total = int(weights.sum())
    rounding = objective.rounding * float(counts.max(initial=0))
    if total <= MAX_WEIGHT and total * max(price.numerator, price.denominator) <= MAX_TOTAL:
        return replace(objective.take(rows), weights=weights, rounding=rounding)
    # Weights of very many digits, the large ones drawn too often: in coarser units.
    label = objective.labels[0] if len(objective.labels) == 1 else None
    coarse = volume_impurity(
        objective.classes[rows],
        len(problem.table.classes),
        price,
        label,
        weights / objective.weight_scale,
    )
    return replace(coarse, rounding=coarse.rounding + rounding)
