"""What a column holds, in a few numbers that fit beside its name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.report.formats import format_cell
from opdt.table import Kind
from opdt.table.raw import Raw

BINS = 12
TOP_LEVELS = 6


@dataclass(frozen=True)
class Profile:
    """One column.

    Attributes
    ----------
    name : str
    kind : {"numeric", "categorical"}
        What the content suggests.
    missing, distinct : int
        Cells that are missing, and different values of the others.
    low, median, high : str
        Of a numeric column, as text; empty where there is no value.
    levels : tuple of (str, int)
        The most frequent levels of a categorical column with their rows.
    histogram : tuple of int
        Rows in equal parts of the range of a numeric column; rows of `levels` for a categorical.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    low: str = ""
    median: str = ""
    high: str = ""
    levels: tuple[tuple[str, int], ...] = ()
    histogram: tuple[int, ...] = ()


def profile(name: str, raw: Raw) -> Profile:
    """The profile of a column that is not coded yet."""
    present = raw.values[~raw.mask]
    missing = int(raw.mask.sum())
    if raw.kind is Kind.NUMERIC:
        return _numeric(name, present, missing)
    counts = Counter(map(str, present.tolist()))
    top = tuple(counts.most_common(TOP_LEVELS))
    rows = tuple(count for _, count in top)
    return Profile(name, str(raw.kind), missing, len(counts), levels=top, histogram=rows)


def _numeric(name: str, present: NDArray[Any], missing: int) -> Profile:
    distinct = len(np.unique(present))
    if present.dtype.kind == "f":
        present = present[np.isfinite(present)]
    if not len(present):
        return Profile(name, str(Kind.NUMERIC), missing, distinct)
    ordered = np.sort(present)
    low, high = ordered[0], ordered[-1]
    places = ordered.astype(np.int64 if ordered.dtype.kind == "M" else np.float64)
    counts, _ = np.histogram(places.astype(np.float64), bins=min(BINS, max(1, distinct)))
    return Profile(
        name,
        str(Kind.NUMERIC),
        missing,
        distinct,
        format_cell(low),
        format_cell(ordered[(len(ordered) - 1) // 2]),
        format_cell(high),
        histogram=tuple(counts.tolist()),
    )
