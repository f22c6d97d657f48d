"""Rows drawn with replacement: the problem on them, exactly as if their table were read anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from opdt.problem import Problem, VolumeImpurity
from opdt.problem.objective import MAX_TOTAL, MAX_WEIGHT, volume_impurity
from opdt.table import Column, Table

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
    table = problem.table
    small = Table(
        tuple(_taken(column, rows) for column in table.columns), table.labels[rows], table.classes
    )
    return Problem(
        small,
        problem.structure,
        problem.groups,
        _objective(problem, rows, counts[rows]),
        problem.constraints,
    )


def _taken(column: Column, rows: Rows) -> Column:
    codes = column.codes[rows]
    drawn = np.zeros(column.n_values + 1, bool)  # the last is that of missing values, code -1
    drawn[codes] = True
    known = np.flatnonzero(drawn[:-1])
    place = np.full(column.n_values + 1, -1, np.int32)
    place[known] = np.arange(len(known))
    return Column(column.name, column.kind, place[codes], column.values[known], column.cleaning)


def _objective(problem: Problem, rows: Rows, counts: Rows) -> VolumeImpurity:
    objective = problem.objective
    assert isinstance(objective, VolumeImpurity)
    weights, price = objective.weights[rows] * counts, objective.w
    total = int(weights.sum())
    rounding = objective.rounding * float(counts.max(initial=0))
    if total <= MAX_WEIGHT and total * max(price.numerator, price.denominator) <= MAX_TOTAL:
        return replace(
            objective, classes=objective.classes[rows], weights=weights, rounding=rounding
        )
    # Weights of very many digits, the large ones drawn too often: in coarser units.
    target = objective.labels[0] if len(objective.labels) == 1 else None
    coarse = volume_impurity(
        objective.classes[rows],
        len(problem.table.classes),
        price,
        target,
        weights / objective.weight_scale,
    )
    return replace(coarse, rounding=coarse.rounding + rounding)
