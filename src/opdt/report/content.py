"""What a report says, as plain values: counts, shares and text, nothing that knows of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.report.formats import format_cell
from opdt.rules import Rule
from opdt.table import Cleaning, Kind, Source, Table, raw_column

OTHER_COLUMNS = 6  # columns beside the rule's own in the table of errors
TOP_LEVELS = 4  # levels of a categorical column that the summary names


class WrongRow(NamedTuple):
    """A covered row of another class: its number in the data from 1, its class, its cells."""

    number: int
    label: str
    cells: tuple[str | None, ...]


@dataclass(frozen=True)
class WrongRows:
    """Rows that the rule covers and that are of another class.

    Attributes
    ----------
    columns : tuple of str
        The rule's own columns first.
    rows : tuple of WrongRow
    total : int
        How many there are; `rows` may hold only the first of them.
    """

    columns: tuple[str, ...]
    rows: tuple[WrongRow, ...]
    total: int


@dataclass(frozen=True)
class ColumnSummary:
    """One line of the summary of the data."""

    name: str
    kind: str
    distinct: int
    missing: int
    content: str  # smallest to largest, or the most frequent levels


def wrong_rows(
    rule: Rule,
    source: Source,
    labels: Sequence[Any],
    is_class: NDArray[np.bool_],
    limit: int,
    target: str | None = None,
) -> WrongRows:
    """The covered rows of another class, at most `limit` of them; `target` is no column to show."""
    at = np.flatnonzero(rule.covers(source) & ~is_class)
    names = [name for name in source.names if name != target]
    columns = wrong_columns(rule, names, OTHER_COLUMNS)
    shown = at[:limit]
    clean = {c.feature: c.cleaning for c in rule.conditions}
    cells = [_cells(source, name, shown, clean.get(name)) for name in columns]
    rows = tuple(
        WrongRow(int(row) + 1, str(labels[row]), tuple(column[k] for column in cells))
        for k, row in enumerate(shown)
    )
    return WrongRows(columns, rows, len(at))


def wrong_columns(rule: Rule, names: Iterable[str], n_others: int) -> tuple[str, ...]:
    """The columns that rows are listed with: the rule's own, and a few of the others."""
    others = [name for name in names if name not in rule.features]
    return (*rule.features, *others[:n_others])


def summarise(table: Table) -> list[ColumnSummary]:
    """Kind, distinct and missing values and the range of each column."""
    return [
        ColumnSummary(
            name=column.name,
            kind=str(column.kind),
            distinct=column.n_values,
            missing=int((column.codes < 0).sum()),
            content=_content(column),
        )
        for column in table.columns
    ]


def class_counts(table: Table) -> list[tuple[str, int]]:
    """Classes and their rows."""
    counts = np.bincount(table.labels, minlength=len(table.classes))
    return [(str(c), int(n)) for c, n in zip(table.classes.tolist(), counts, strict=True)]


def _cells(
    source: Source, name: str, rows: NDArray[np.intp], cleaning: Cleaning | None
) -> list[str]:
    try:
        values, missing = raw_column(source, name, cleaning=cleaning)
    except InputError:  # of a column that is ignored, as it holds no plain values
        return ["…"] * len(rows)
    return ["missing" if missing[row] else format_cell(values[row]) for row in rows]


def _content(column: Any) -> str:
    if column.n_values == 0:
        return "nothing"
    if column.kind is Kind.NUMERIC:
        low, high = format_cell(column.values[0]), format_cell(column.values[-1])
        return low if column.n_values == 1 else f"{low} to {high}"
    counts = np.bincount(column.codes[column.codes >= 0], minlength=column.n_values)
    order = np.argsort(-counts, kind="stable")[:TOP_LEVELS]
    named = ", ".join(f"{format_cell(column.values[k])} ({counts[k]:,})" for k in order)
    return named + (", …" if column.n_values > TOP_LEVELS else "")
