"""The RULES family on discretised tables: RULES, RRULES and the paper's RSCRULES.

RULES (Pham and Aksoy 1995) looks for rules without error from general to specific: it tries the
combinations of one bin, of two, of three, … that occur among the rows no rule explains yet, and
makes a rule of every combination whose rows are all of one class. RRULES (Palliser-Sans 2021)
drops a rule at once if it explains no further row, and stops as soon as every row is explained.
RSCRULES, from the paper, is the best rule by VI with one bin for each level of a rule structure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.checks import check_int_or_none
from opdt.engines.bins import DEFAULT_BINS, BinnedTable
from opdt.engines.rscrules import BinSearch, Places
from opdt.problem import Measure, Problem, Structure
from opdt.rules import Rule
from opdt.solution import Budget
from opdt.table import Table

Ints = NDArray[np.intp]
# Combined codes of several features are made dense again before they could overflow.
_MAX_CODE = 2**40


def rules(
    X: Any,
    y: Any = None,
    *,
    bins: int = DEFAULT_BINS,
    max_conditions: int | None = None,
    roles: Mapping[str, str] | None = None,
) -> list[Rule]:
    """The rules of RULES, the more general first.

    Every rule is without error on the table, but for those of rows that conflict: rows in the
    same bins as a row of another class. They end as rules of all their bins that point to the
    most frequent class there (of equals the first).

    Parameters
    ----------
    X : data frame, 2-D array, mapping of columns, path, or Table
    y : array-like of shape (n_rows,), or str
        Labels, or the name of the column that holds them. Left out when X is a Table.
    bins : int
        Bins of equal width per numeric feature. A missing value lies in no bin.
    max_conditions : int, optional
        The largest number of bins in a rule; rows that would need more stay unexplained. As many
        as there are features, if left out, which takes long for many features.
    roles : mapping of column to role, optional

    Examples
    --------
    >>> found = rules({"sky": ["sun", "sun", "rain"], "wind": ["low", "high", "low"]},
    ...               ["out", "in", "in"])
    >>> for rule in found:
    ...     print(rule)
    IF sky == 'rain' THEN in
    IF wind == 'high' THEN in
    IF sky == 'sun' AND wind == 'low' THEN out
    """
    return _learn(_table(X, y, roles), bins, max_conditions, only_needed=False)


def rrules(
    X: Any,
    y: Any = None,
    *,
    bins: int = DEFAULT_BINS,
    max_conditions: int | None = None,
    roles: Mapping[str, str] | None = None,
) -> list[Rule]:
    """The rules of RRULES: those of RULES that explain a row no rule before them does.

    Parameters are those of `rules`. Together the rules explain the same rows.
    """
    return _learn(_table(X, y, roles), bins, max_conditions, only_needed=True)


def rscrules(
    X: Any,
    y: Any = None,
    *,
    levels: Sequence[str] = ("all", "all"),
    groups: Mapping[str, Iterable[str]] | None = None,
    bins: int = DEFAULT_BINS,
    w: float = 10.0,
    label: Any = None,
    sample_weight: Any = None,
    roles: Mapping[str, str] | None = None,
) -> Rule | None:
    """The rule of greatest VI with at most one bin per level; None where none has a positive VI.

    As in the paper a bin counts as one condition, so a rule of two levels may hold two intervals,
    that is, four comparisons. Such a rule need not fit the structure of the same levels in
    `discover`; `RSCRULESEngine` counts comparisons instead and always does.

    Parameters
    ----------
    X : data frame, 2-D array, mapping of columns, path, or Table
    y : array-like of shape (n_rows,), or str
        Labels, or the name of the column that holds them. Left out when X is a Table.
    levels : sequence of str
        The group of features of each level; a level may stay unused.
    groups : mapping of name to features, optional
        Groups the levels refer to, beside `all`, `num` and `cat`.
    bins : int
        Bins of equal width per numeric feature. A missing value lies in no bin.
    w : float
        The price of one error, in rows.
    label : class, optional
        The class the rule must have; the best over all classes if left out.
    sample_weight : array-like of shape (n_rows,), optional
        Left out when X is a Table.
    roles : mapping of column to role, optional

    Examples
    --------
    >>> print(rscrules({"x": list(range(9))}, list("aaabbbaab"), bins=3, label="b"))
    IF x >= 3 AND x < 6 THEN b
    """
    table = _table(X, y, roles, sample_weight)
    structure = Structure.levels(*levels)
    problem = Problem.build(table, structure=structure, groups=groups, w=w, label=label)
    members = [problem.groups.require(name) for name in levels]
    binned = BinnedTable.of(table, bins)

    def accepts(places: Places, label: int, measure: Measure) -> bool:
        return _fits([binned.bins[at].feature for at in places], members)

    sizes = [1] * len(binned.bins)
    search = BinSearch(problem, binned, sizes, len(levels), accepts, Budget().start())
    improvements = list(search)
    if not improvements:
        return None
    places, label, _ = improvements[-1]
    return _rule(table, binned, places, label)


def _table(X: Any, y: Any, roles: Mapping[str, str] | None, sample_weight: Any = None) -> Table:
    if isinstance(X, Table):
        return X
    return Table.build(X, y, sample_weight=sample_weight, roles=roles)


def _rule(table: Table, binned: BinnedTable, places: Iterable[int], label: int) -> Rule:
    conditions = (c for at in places for c in binned.bins[at].conditions)
    return Rule(conditions, table.classes[label])


def _fits(features: list[int], levels: list[tuple[int, ...]]) -> bool:
    """Whether each feature can have a level of its own whose group holds it."""
    if not features:
        return True
    return any(
        features[0] in level and _fits(features[1:], levels[:at] + levels[at + 1 :])
        for at, level in enumerate(levels)
    )


def _learn(table: Table, bins: int, max_conditions: int | None, *, only_needed: bool) -> list[Rule]:
    """The rules of RULES, or of RRULES where rules that explain no further row are dropped."""
    most = _check_most(max_conditions, table.n_features)
    binned = BinnedTable.of(table, bins)
    conflicting = _conflicts(table, binned)
    # No combination of bins of a row that conflicts is without error, so it is left for the end.
    open_rows = ~conflicting
    found: list[Rule] = []
    for length in range(1, most + 1):
        if not open_rows.any():
            break
        explained = np.zeros(table.n_rows, dtype=bool)
        for features in combinations(range(table.n_features), length):
            for rows, label in _pure(table, binned, features, open_rows):
                if only_needed and not (open_rows & ~explained)[rows].any():
                    continue
                explained[rows] = True
                found.append(_rule(table, binned, binned.cells[rows[0], list(features)], label))
            if only_needed and not (open_rows & ~explained).any():
                break
        open_rows &= ~explained
    return found + _conflict_rules(table, binned, conflicting, most)


def _check_most(max_conditions: int | None, n_features: int) -> int:
    most = check_int_or_none("max_conditions", max_conditions)
    return n_features if most is None else min(most, n_features)


def _pure(
    table: Table, binned: BinnedTable, features: tuple[int, ...], open_rows: NDArray[np.bool_]
) -> Iterator[tuple[Ints, int]]:
    """Rows and class of each combination of bins without error that holds a row still open."""
    rows, combined = _combine(binned, features)
    if not open_rows[rows].any():
        return
    n_classes = len(table.classes)
    n_codes = int(combined.max()) + 1
    labels = table.labels[rows]
    counts = np.bincount(combined * n_classes + labels, minlength=n_codes * n_classes)
    pure = np.count_nonzero(counts.reshape(n_codes, n_classes), axis=1) == 1
    wanted = np.zeros(n_codes, dtype=bool)
    wanted[combined[open_rows[rows]]] = True
    for code in np.flatnonzero(pure & wanted):
        inside = rows[combined == code]
        yield inside, int(table.labels[inside[0]])


def _combine(binned: BinnedTable, features: Sequence[int]) -> tuple[Ints, Ints]:
    """The rows that lie in a bin of each of these features, and a dense code of their bins."""
    missing = len(binned.bins)
    cells = binned.cells[:, list(features)]
    rows = np.flatnonzero((cells != missing).all(axis=1))
    combined = np.zeros(len(rows), dtype=np.intp)
    for column in cells[rows].T:
        if len(rows) and int(combined.max()) >= _MAX_CODE // (missing + 1):
            combined = np.unique(combined, return_inverse=True)[1].astype(np.intp)
        combined = combined * (missing + 1) + column
    return rows, np.unique(combined, return_inverse=True)[1].astype(np.intp)


def _conflicts(table: Table, binned: BinnedTable) -> NDArray[np.bool_]:
    """Rows all of whose bins together also hold a row of another class, shape (n_rows,)."""
    out = np.zeros(table.n_rows, dtype=bool)
    for features, own in _patterns(binned):
        rows, combined = _combine(binned, features)
        labels = table.labels[rows]
        n_codes = int(combined.max(initial=-1)) + 1
        low, high = np.full(n_codes, len(table.classes)), np.full(n_codes, -1)
        np.minimum.at(low, combined, labels)
        np.maximum.at(high, combined, labels)
        mixed = np.zeros(table.n_rows, dtype=bool)
        mixed[rows] = (low != high)[combined]
        out |= mixed & own
    return out


def _conflict_rules(
    table: Table, binned: BinnedTable, conflicting: NDArray[np.bool_], most: int
) -> list[Rule]:
    """One rule for all the bins of each conflicting row, to the most frequent class there."""
    found: dict[Rule, None] = {}
    for features, own in _patterns(binned):
        if not 0 < len(features) <= most:
            continue
        rows, combined = _combine(binned, features)
        for code in np.unique(combined[(conflicting & own)[rows]]):
            inside = rows[combined == code]
            label = int(np.argmax(np.bincount(table.labels[inside])))
            found[_rule(table, binned, binned.cells[inside[0], list(features)], label)] = None
    return list(found)


def _patterns(binned: BinnedTable) -> Iterator[tuple[list[int], NDArray[np.bool_]]]:
    """Each set of features that some row has bins for, and no others, with those rows."""
    present = binned.cells != len(binned.bins)
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    for at, pattern in enumerate(patterns):
        yield np.flatnonzero(pattern).tolist(), which.reshape(-1) == at
