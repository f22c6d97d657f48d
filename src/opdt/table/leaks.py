"""Columns that tell the class too well: what a rule would find may have come after the outcome."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opdt.table.columns import Column

LEAST_ROWS = 50
MOST_ROWS = 200_000  # more are looked at in equal steps
MOST_VALUES = 4096
MOST_COLUMNS = 1000  # of very many columns some tell any class by chance
LEFT = 0.02  # the share of the errors of the most frequent class that may be left
LEVEL_ROWS = 20  # rows of a level on average; rare levels tell any class by chance


def leak_of(
    column: Column, labels: NDArray[np.int32], n_classes: int, total: int | None = None
) -> str | None:
    """Why a column alone tells nearly all classes, None if it does not.

    Parameters
    ----------
    labels : ndarray of int32 of shape (n_rows,)
    total : int, optional
        The rows of the whole table, where these are a sample of it.
    """
    total = len(labels) if total is None else total
    step = max(1, len(labels) // MOST_ROWS)
    labels, codes = labels[::step], column.codes[::step]
    n_rows = len(labels)
    n_values = column.n_values
    if n_values > MOST_VALUES:  # neighbouring values together: a leak need not be told to the row
        codes = np.where(codes < 0, -1, codes.astype(np.int64) * MOST_VALUES // n_values)
        n_values = MOST_VALUES
    errors = n_rows - int(np.bincount(labels, minlength=n_classes).max())
    if n_rows < LEAST_ROWS or errors < LEAST_ROWS // 5:
        return None
    cells = (codes.astype(np.int64) + 1) * n_classes + labels
    counts = np.bincount(cells, minlength=(n_values + 1) * n_classes)
    counts = counts.reshape(n_values + 1, n_classes)
    limit = LEFT * errors
    present = counts[1:].sum(axis=0)
    if n_rows - int(counts[0].max() + present.max()) <= limit and counts[0].any():
        seen = "" if n_rows == total else f" in {n_rows:,} rows drawn from all"
        return f"whether it is filled tells the class{seen}; is it filled only after the outcome?"
    left = n_rows
    if n_values * LEVEL_ROWS <= n_rows:
        left = n_rows - int(counts.max(axis=1).sum())
    below = np.cumsum(counts[1:], axis=0)
    sides = below.max(axis=1) + (present - below).max(axis=1) if len(below) else np.zeros(1, int)
    left = min(left, n_rows - int(sides.max()) - int(counts[0].max()))
    if left > limit:
        return None
    share = 100 * (1 - left / n_rows)
    rows = "the rows" if n_rows == total else f"{n_rows:,} rows drawn from all"
    return f"it alone tells the class of {share:.1f} % of {rows}; is it made from the outcome?"
