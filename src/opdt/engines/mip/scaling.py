"""Features as columns in [0, 1], with the gap that turns ``<`` into ``<=``: P and epsilon.

The paper scales each numeric feature by its minimum and maximum and takes for epsilon the smallest
distance of two values. Such a distance is easily below what a solver can tell apart, and then
"optimal" answers are wrong; so ranks are the default here: the same splits, and no distance is
smaller than 1/(number of values - 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opdt.problem import Problem
from opdt.table import Column, Kind

Floats = NDArray[np.float64]

# Solvers accept violations of 1e-6; below ten times that they split rows of equal value.
MIN_EPSILON = 1e-5
# A level is 0 or 1 and is split at 0.5: a larger gap would keep every row off the left branch.
ONE_HOT_EPSILON = 0.5
SCALINGS = ("rank", "minmax")


@dataclass(frozen=True, eq=False)
class ScaledColumns:
    """The paper's P: numeric features scaled to [0, 1], and one 0/1 column per level.

    Attributes
    ----------
    feature : ndarray of int64 of shape (n_columns,)
        The feature each column is of, ascending.
    level : ndarray of int64 of shape (n_columns,)
        The code of the level that a column indicates; -1 for a numeric feature.
    x : ndarray of float64 of shape (n_rows, n_columns)
    epsilon : ndarray of float64 of shape (n_columns,)
        The smallest distance of two values of the column; 0.5 for levels.
    grid : tuple of ndarray, length n_columns
        The scaled value of each code; (0, 1) for levels.
    """

    feature: NDArray[np.int64]
    level: NDArray[np.int64]
    x: Floats
    epsilon: Floats
    grid: tuple[Floats, ...]

    @classmethod
    def of(cls, problem: Problem, scaling: str = "rank") -> ScaledColumns:
        """The columns of a problem's table; missing values, of no use here, become 0."""
        feature, level, x, epsilon, grid = [], [], [], [], []
        for index, column in enumerate(problem.table.columns):
            if column.kind is Kind.NUMERIC:
                values = scaled(column, scaling)
                feature.append(index)
                level.append(-1)
                x.append(np.append(values, 0.0)[column.codes])
                epsilon.append(smallest_gap(values))
                grid.append(values)
                continue
            for code in range(column.n_values):
                feature.append(index)
                level.append(code)
                x.append((column.codes == code).astype(np.float64))
                epsilon.append(ONE_HOT_EPSILON)
                grid.append(np.array([0.0, 1.0]))
        return cls(
            np.array(feature, dtype=np.int64),
            np.array(level, dtype=np.int64),
            np.column_stack(x) if x else np.empty((problem.table.n_rows, 0)),
            np.array(epsilon),
            tuple(grid),
        )

    @property
    def n_columns(self) -> int:
        """Number of columns, the paper's |P|."""
        return len(self.feature)

    def of_feature(self, feature: int) -> NDArray[np.int64]:
        """The columns of one feature."""
        return np.flatnonzero(self.feature == feature)

    def find(self, feature: int, level: int) -> int:
        """The column of a numeric feature (level -1) or of a level."""
        return int(np.flatnonzero((self.feature == feature) & (self.level == level))[0])


def count_columns(problem: Problem) -> int:
    """The number of columns that `ScaledColumns.of` makes."""
    columns = problem.table.columns
    return sum(1 if column.kind is Kind.NUMERIC else column.n_values for column in columns)


def scaled(column: Column, scaling: str) -> Floats:
    """The distinct values of a numeric column scaled to [0, 1], shape (n_values,).

    A feature of one value is put at 1, where no row is on the left of any threshold.
    """
    count = column.n_values
    if count < 2:
        return np.ones(count)
    if scaling == "rank":
        return np.arange(count) / (count - 1)
    values = column.values
    if values.dtype.kind == "M":
        values = values.astype(np.int64)
    if values.dtype.kind in "iu":  # exact before the division, even beyond 2**53
        first = int(values[0])
        values = np.array([int(value) - first for value in values], dtype=np.float64)
    wide = values.astype(np.longdouble)
    out: Floats = ((wide - wide[0]) / (wide[-1] - wide[0])).astype(np.float64)
    return out


def smallest_gap(values: Floats) -> float:
    """The smallest distance of adjacent values; 0.5 where there are no two."""
    return float(np.diff(values).min(initial=1.0)) if len(values) > 1 else ONE_HOT_EPSILON


def indistinct(problem: Problem, scaling: str) -> str | None:
    """Why a solver could not tell two values of some feature apart, or None."""
    for feature, column in enumerate(problem.table.columns):
        if column.kind is Kind.CATEGORICAL or feature in problem.forbidden:
            continue
        gap = smallest_gap(scaled(column, scaling))
        if not gap >= MIN_EPSILON:
            cure = "round its values" if scaling == "rank" else "use scaling='rank'"
            return (
                f"two values of column {column.name!r} are {gap:.1g} apart after scaling to "
                f"[0, 1], and solvers cannot tell less than {MIN_EPSILON:g} apart; {cure}"
            )
    return None
