"""Rows of Python values from sources without types of columns, read as the cells of a text file.

What a cell of a worksheet or of SQLite means is so what it would mean in a CSV file of the same
table.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from opdt.errors import InputError
from opdt.table import cells
from opdt.table.delimited import check_order, warn_of_dates
from opdt.table.places import shown
from opdt.table.textfile import needed, readable, too_large

_ROWS = 1 << 15  # that are made text at once


def typed_table(
    path: str, names: Sequence[str], rows: Iterable[Sequence[Any]], order: str | None
) -> pa.Table:
    """The table of some rows; refused where they do not fit into memory.

    Parameters
    ----------
    path : str
        What messages name.
    rows : iterable
        A value for each name; None is missing.
    order : "dmy" or "mdy", optional
        The order of days and months in dates with slashes, where the cells leave it open.
    """
    check_order(order)
    check_names(path, names)
    most, stream = readable(), iter(rows)
    letters = n_rows = 0
    parts: list[list[pa.ChunkedArray]] = [[cells.column_of([])] for _ in names]
    while some := list(islice(stream, _ROWS)):
        n_rows += len(some)
        for at, values in enumerate(zip(*some, strict=True)):
            part = cells.column_of([_text(value, path, names[at]) for value in values])
            letters += part.nbytes
            parts[at].append(part)
        if needed(letters, n_rows * len(names), n_rows) > most:
            raise too_large(path)
    columns = [pa.chunked_array([c for part in each for c in part.chunks]) for each in parts]
    read = [cells.read(column, order=order) for column in columns]
    warn_of_dates(path, {name: found for name, (found, _) in zip(names, read, strict=True)}, order)
    return pa.table([values for _, values in read], names=list(names))


def check_names(path: str, names: Sequence[str]) -> None:
    """Refuse column names that occur more than once."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        some = ", ".join(map(repr, twice[:5]))
        raise InputError(f"{shown(path)} has duplicate column names: {some}; rename them.")


def name_of(value: Any) -> str:
    """What stands in the first row of a sheet, as the name of a column."""
    return _text(value, "", "") or ""


def _text(value: Any, path: str, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        day_only = value.time() == dt.time() and value.tzinfo is None
        return str(value.date()) if day_only else value.isoformat(sep=" ")
    if isinstance(value, bytes):
        raise InputError(
            f"column {name!r} of {shown(path)} holds bytes, which are neither number, date nor "
            "text; leave it out by a query."
        )
    return repr(value) if isinstance(value, float) else str(value)
