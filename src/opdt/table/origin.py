"""The text file that a table came from, so that messages can name the lines of the file."""

from __future__ import annotations

import csv
import weakref
from itertools import islice
from typing import Any

import narwhals as nw

from opdt.table.textfile import TextFile

MOST_WALKED = 1 << 20  # rows up to which a line is looked for: a message must not take minutes

_known: dict[int, tuple[weakref.ref[Any], TextFile]] = {}


def remember(table: Any, file: TextFile) -> None:
    """Keep in mind, for as long as a table lives, that its rows are those of a file."""
    key = id(table)
    _known[key] = (weakref.ref(table, lambda _: _known.pop(key, None)), file)


def file_of(table: Any) -> TextFile | None:
    """The text file that a table was read from; None for others, also for parts of such tables."""
    native = nw.to_native(getattr(table, "frame", table), pass_through=True)
    found = _known.get(id(native))
    return found[1] if found is not None and found[0]() is native else None


def pass_on(table: Any, other: Any) -> None:
    """Keep in mind that another table has the same rows, maybe fewer columns."""
    file = file_of(table)
    if file is not None:
        remember(nw.to_native(other, pass_through=True), file)


def line_of(file: TextFile, row: int, column: str = "", cell: str | None = None) -> int | None:
    """The line of a row counted from 0, the names being on line 1; None where it is not known.

    Parameters
    ----------
    column, cell : str, optional
        A cell that must stand there, or else the file is not what it was.
    """
    if not 0 <= row < MOST_WALKED:
        return None
    try:
        rows = file.numbered_rows()
        names = next(rows)[1]
        found = next(islice(rows, row, None), None)
    except (OSError, EOFError, StopIteration, UnicodeError, csv.Error):
        return None
    if found is None or len(names) < 2:  # in one column an empty line may be a row
        return None
    line, cells = found
    if cell is not None and (column not in names or cells[names.index(column)] != cell):
        return None
    return line
