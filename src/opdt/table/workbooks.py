"""Worksheets of Excel and OpenDocument files, read by python-calamine."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from opdt.errors import InputError
from opdt.optional import require
from opdt.table.places import open_binary, shown
from opdt.table.textfile import PARSE_BYTES, readable, too_large
from opdt.table.untyped import name_of, typed_table

_EXACT = 1 << 53  # up to here every whole number is a float of its own


def load(path: str, sheet: str | None, order: str | None) -> pa.Table:
    """The table of a sheet, the first if none is named; its first row holds the column names."""
    calamine = require("python_calamine", "excel", f"reading {shown(path)}")
    with open_binary(path) as file:
        content = file.read()
    _check_size(path, content)
    book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
    if sheet is None:
        sheet = next(iter(book.sheet_names), "")
    if sheet not in book.sheet_names:
        names = ", ".join(map(repr, book.sheet_names[:8]))
        raise InputError(f"there is no sheet {sheet!r} in {shown(path)}; it has {names}.")
    rows = [row for row in book.get_sheet_by_name(sheet).to_python() if any(c != "" for c in row)]
    if not rows:
        raise InputError(
            f"the sheet {sheet!r} of {shown(path)} is empty; its first row must hold the column "
            "names."
        )
    return typed_table(path, [name_of(_plain(c)) for c in rows[0]], _values(rows[1:]), order)


def _values(rows: list[list[Any]]) -> Iterator[list[Any]]:
    for row in rows:
        yield [_plain(cell) for cell in row]


def _plain(cell: Any) -> Any:
    """A cell; a sheet knows floats only, and 5 means 5."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= _EXACT:
        return int(cell)
    return cell


def _check_size(path: str, content: bytes) -> None:
    """Refuse a file that unpacks to more than fits, by what its directory says."""
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            letters = sum(entry.file_size for entry in packed.infolist())
        if letters * PARSE_BYTES[0] > readable():
            raise too_large(path)
