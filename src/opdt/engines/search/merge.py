"""Rows that no condition tells apart, put together to one of their joint weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.tuning import Tuning
from opdt.problem import Problem, VolumeImpurity
from opdt.table import Column, Table

SAMPLE = 1_000  # rows whose variety tells whether it may
MOST_DISTINCT = 0.97  # share of them that may differ


def merged(problem: Problem, features: NDArray[np.int64], tuning: Tuning) -> Problem | None:
    """The same problem on fewer, heavier rows; None where that would not pay.

    Rows of one class with the same codes of all `features` that rules may use are covered by the
    same rules, so only the sum of their weights matters. The columns keep their values, and so a
    rule of the merged problem is one of the given.
    """
    table, objective = problem.table, problem.objective
    if table.n_rows < tuning.merged_rows or not isinstance(objective, VolumeImpurity):
        return None
    columns = [table.columns[f] for f in features]
    if any(c.n_values > table.n_rows // tuning.merged_worth or c.is_sparse for c in columns):
        return None
    rows = np.arange(0, table.n_rows, max(1, table.n_rows // SAMPLE))
    if len(np.unique(_keys(columns, objective, rows))) > MOST_DISTINCT * len(rows):
        return None
    _, first, inverse = np.unique(
        _keys(columns, objective, slice(None)), return_index=True, return_inverse=True
    )
    if tuning.merged_worth * len(first) > table.n_rows:
        return None
    weights = np.zeros(len(first), np.int64)
    np.add.at(weights, inverse.reshape(-1), objective.weights)
    smaller = Table(
        tuple(Column(c.name, c.kind, c.codes[first], c.values) for c in table.columns),
        table.labels[first],
        table.classes,
    )
    fewer = replace(objective, classes=objective.classes[first], weights=weights)
    return Problem(
        smaller, problem.structure, problem.groups, fewer, problem.constraints, problem.limited
    )


def _keys(
    columns: list[Column], objective: VolumeImpurity, rows: NDArray[np.int64] | slice
) -> NDArray[np.int64]:
    """A number for each row, the same for those of one class that no column tells apart."""
    keys = objective.classes[rows].astype(np.int64)
    span = int(keys.max()) + 1
    for column in columns:
        width = column.n_values + 1
        if span * width >= 1 << 62:
            keys = np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)
            span = int(keys.max()) + 1
        keys = keys * width + (column.codes[rows] + 1)
        span *= width
    return keys
