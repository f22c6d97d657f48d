"""PRISM (Cendrowska 1987): rules for one class after the other, each grown until without error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.baselines.base import Baseline
from opdt.engines.bins import DEFAULT_BINS, BinnedTable, check_bins
from opdt.rules import Rule
from opdt.table import Table

Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class PRISM(Baseline):
    """Rules without error on the table, unless rows conflict.

    For each class, as long as some of its rows are in no rule: start with all those rows and the
    rows of other classes; add the bin in which the share of the class is greatest, of equals the
    one that holds most rows of the class, then the first; until no other class is left or no
    further bin parts the rows. The latter happens only where rows of two classes lie in the same
    bins. A rule has at most one bin per feature; missing values lie in no bin.

    Parameters
    ----------
    bins : int
        Bins of equal width per numeric feature.

    Examples
    --------
    >>> found = PRISM().fit({"sky": ["sun", "sun", "rain"], "wind": ["low", "high", "low"]},
    ...                     ["out", "in", "in"])
    >>> for rule in found:
    ...     print(rule)
    IF sky == 'rain' THEN in
    IF wind == 'high' THEN in
    IF sky == 'sun' AND wind == 'low' THEN out
    """

    name: ClassVar[str] = "prism"

    bins: int = DEFAULT_BINS

    def __post_init__(self) -> None:
        check_bins(self.bins)

    def _fit(self, table: Table) -> list[Rule]:
        binned = BinnedTable.of(table, self.bins)
        found = []
        for code, label in enumerate(table.classes):
            other = table.labels != code
            remaining = ~other
            while remaining.any():
                places = _grow(binned, remaining, other)
                if not places:  # rows that lie in no bin that tells them from the others
                    break
                remaining &= ~_inside(binned, places)
                conditions = (c for at in sorted(places) for c in binned.bins[at].conditions)
                found.append(Rule(conditions, label))
        return found


def _grow(binned: BinnedTable, wanted: Rows, other: Rows) -> list[int]:
    """The bins of one rule, in the order in which they are added."""
    cells, n_bins = binned.cells, len(binned.bins)
    rows = np.flatnonzero(wanted | other)
    features = list(range(cells.shape[1]))
    places: list[int] = []
    while features and other[rows].any():
        here = cells[rows][:, features]
        total = np.bincount(here.ravel(), minlength=n_bins + 1)[:n_bins]
        right = np.bincount(here[wanted[rows]].ravel(), minlength=n_bins + 1)[:n_bins]
        # A bin that holds all of the rows would make the rule longer and nothing else.
        parts = np.flatnonzero((right > 0) & (total < len(rows)))
        if not len(parts):
            break
        share = right[parts] / total[parts]
        place = int(parts[np.lexsort((parts, -right[parts], -share))[0]])
        feature = binned.bins[place].feature
        rows = rows[cells[rows, feature] == place]
        features.remove(feature)
        places.append(place)
    return places


def _inside(binned: BinnedTable, places: list[int]) -> Rows:
    """Rows that lie in all of these bins."""
    features = [binned.bins[at].feature for at in places]
    inside: Rows = (binned.cells[:, features] == places).all(axis=1)
    return inside
