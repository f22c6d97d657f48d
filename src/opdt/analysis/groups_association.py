"""How strongly two features go together, whatever their kinds, and which form clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.table import Column, Kind, Plan, Table, open_source
from opdt.table.frames import check_names, has_names
from opdt.table.planning import plan_raw
from opdt.table.roles import check_roles

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


def columns_of(X: Any, roles: Mapping[str, str] | Plan | None) -> tuple[Column, ...]:
    """Return the rank-coded columns of some data that are features; no labels are needed."""
    if isinstance(X, Table):
        return X.columns
    source = open_source(X)
    check_names(source.names)
    if not source.names or not source.n_rows:
        raise InputError(
            f"X must have at least one row and one column, got {source.n_rows} and "
            f"{len(source.names)}; give the features' values."
        )
    chosen, named = check_roles(roles, source.names), has_names(source)
    planned = (
        plan_raw(name, source.column(j), chosen.get(name), named=named)
        for j, name in enumerate(source.names)
    )
    return tuple(column for _, column in planned if column is not None)


def associations(columns: Sequence[Column]) -> Floats:
    """Return the association of every two columns, shape (n_columns, n_columns), in [0, 1]."""
    matrix = np.eye(len(columns))
    for i, first in enumerate(columns):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = association(first, columns[j])
    return matrix


def association(first: Column, second: Column) -> float:
    """Return how strongly two columns go together: 0 not at all, 1 the one tells the other.

    Two numeric columns: the absolute rank correlation of Spearman. Two categorical ones:
    Cramér's V, corrected for chance as Bergsma (2013) does. One of each: the square root of
    epsilon squared, the share of the variance of ranks between the levels, corrected likewise.
    Rows with a missing value in either column are left out; without variation it is 0.
    """
    both = (first.codes >= 0) & (second.codes >= 0)
    one, other = first.codes[both], second.codes[both]
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    kinds = {first.kind, second.kind}
    if kinds == {Kind.NUMERIC}:
        value = abs(float(np.corrcoef(_ranks(one), _ranks(other))[0, 1]))
    elif kinds == {Kind.CATEGORICAL}:
        value = _cramer(one, other)
    else:
        numeric, levels = (one, other) if first.kind is Kind.NUMERIC else (other, one)
        value = _epsilon(_ranks(numeric), levels)
    return min(1.0, max(0.0, value))


def clusters(matrix: Floats, threshold: float) -> list[list[int]]:
    """Return clusters in which every two columns are associated by at least `threshold`.

    Hierarchical clustering with complete linkage; clusters are in the order of their first
    column.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(matrix) == 1:
        return [[0]]
    tree = linkage(squareform(1 - matrix, checks=False), method="complete")
    # Rounding in 1 - x must not part columns that lie on the threshold.
    numbers = fcluster(tree, 1 - threshold + 1e-12, criterion="distance")
    found: dict[int, list[int]] = {}
    for column, number in enumerate(numbers):
        found.setdefault(int(number), []).append(column)
    return list(found.values())


def representative(matrix: Floats, cluster: Sequence[int]) -> int:
    """Return the column of a cluster most associated with the others; of equals the first."""
    inner = matrix[np.ix_(cluster, cluster)].sum(axis=1)
    return cluster[int(np.argmax(inner > inner.max() - 1e-9))]


def _ranks(codes: Codes) -> Floats:
    from scipy.stats import rankdata

    return np.asarray(rankdata(codes), dtype=np.float64)


def _cramer(one: Codes, other: Codes) -> float:
    """Cramér's V with Bergsma's correction for chance."""
    _, rows = np.unique(one, return_inverse=True)
    _, places = np.unique(other, return_inverse=True)
    n, r, c = len(one), int(rows.max()) + 1, int(places.max()) + 1
    counts = np.bincount(rows * c + places, minlength=r * c).reshape(r, c)
    expected = np.outer(counts.sum(1), counts.sum(0)) / n
    phi2 = float(((counts - expected) ** 2 / expected).sum()) / n
    phi2 = max(0.0, phi2 - (r - 1) * (c - 1) / (n - 1))
    fewest = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return float(np.sqrt(phi2 / fewest)) if fewest > 0 else 0.0


def _epsilon(ranks: Floats, levels: Codes) -> float:
    """The root of epsilon squared: 1 - (variance within levels) / (variance)."""
    _, places, counts = np.unique(levels, return_inverse=True, return_counts=True)
    n, k = len(ranks), len(counts)
    if n == k:
        return 0.0
    means = np.bincount(places, ranks) / counts
    within = float(((ranks - means[places]) ** 2).sum()) / (n - k)
    whole = float(((ranks - ranks.mean()) ** 2).sum()) / (n - 1)
    return float(np.sqrt(max(0.0, 1 - within / whole)))
