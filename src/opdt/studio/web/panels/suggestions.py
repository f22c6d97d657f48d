"""Groups that the data themselves suggest, without a look at the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opdt.analysis.groups_association import associations, clusters, columns_of
from opdt.table import Plan

MAX_FEATURES = 60  # every two of them are compared
_MAX_ROWS = 2_000
_THRESHOLDS = (0.7, 0.5, 0.3)


def suggested_groups(
    frame: Any, roles: Mapping[str, str] | Plan
) -> tuple[list[tuple[str, ...]], float | None]:
    """Features that go together, and how strongly at least; (none, None) where no two do.

    Parameters
    ----------
    frame : pandas.DataFrame
        The features; of many rows, some are looked at.
    roles : mapping of feature to role, or Plan
        As in `opdt.discover`.
    """
    columns = columns_of(frame.iloc[:: max(1, len(frame) // _MAX_ROWS)], roles)
    matrix = associations(columns)
    for threshold in _THRESHOLDS:
        found = [each for each in clusters(matrix, threshold) if len(each) > 1]
        if found:
            return [tuple(columns[j].name for j in each) for each in found], threshold
    return [], None
