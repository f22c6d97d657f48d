"""The text file that a table came from, so that messages can name the lines of the file."""

from __future__ import annotations

import weakref
from typing import Any

import narwhals as nw

from opdt.table.textfile import TextFile

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
