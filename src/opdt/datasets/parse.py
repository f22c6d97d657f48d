"""Raw bytes to columns of cells: the paper's rows, still as text."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from opdt.datasets.source import DatasetField, DatasetSource, FieldRole, FileLayout
from opdt.errors import InputError

MISSING = frozenset({"", "?"})


@dataclass(frozen=True)
class Cells:
    """The rows kept of a raw file.

    Attributes
    ----------
    rows : tuple of tuple of str
        One tuple of cells per kept row, in the order of the source's fields.
    n_dropped : int
        Rows left out because a value is missing.
    """

    rows: tuple[tuple[str, ...], ...]
    n_dropped: int


def parse(source: DatasetSource, content: bytes) -> Cells:
    """Return the rows of a raw file that the paper uses, with codes turned into words."""
    text = content.decode("utf-8-sig")
    complete = []
    n_dropped = 0
    for number, cells in _lines(source, text):
        if len(cells) != len(source.fields):
            raise InputError(
                f"line {number} of {source.file!r} must have {len(source.fields)} cells, "
                f"got {len(cells)}; supply the raw file of the archive."
            )
        if any(_drops(source, f, cell) for f, cell in zip(source.fields, cells, strict=True)):
            n_dropped += 1
        else:
            complete.append(tuple(map(_word, source.fields, cells)))
    _check_classes(source, complete)
    return Cells(tuple(complete), n_dropped)


def _lines(source: DatasetSource, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, stripped cells) of every data line."""
    in_data = source.layout is not FileLayout.ARFF
    skip_header = source.header
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not in_data:
            in_data = line.lower() == "@data"
        elif not line or line.startswith("%") or number in source.skip_lines:
            continue
        elif skip_header:
            skip_header = False
        else:
            yield number, _split(source, line)


def _split(source: DatasetSource, line: str) -> list[str]:
    """Return the cells of one line, without the white space around them."""
    if source.layout is FileLayout.SPACES:
        return line.split()
    cells = [cell.strip() for cell in next(csv.reader([line]))]
    if source.layout is FileLayout.ARFF and len(cells) > len(source.fields):
        # ARFF writes a missing value as "?", so an empty cell can only be a surplus comma.
        cells = [cell for cell in cells if cell]
    return cells


def _drops(source: DatasetSource, column: DatasetField, cell: str) -> bool:
    """Whether this cell makes the paper leave the row out."""
    if cell not in MISSING or column.role is FieldRole.IGNORED:
        return False
    return not (source.missing_is_level and column.role is FieldRole.CATEGORICAL)


def _word(column: DatasetField, cell: str) -> str:
    """Return the word for a code, or the cell itself where it needs none."""
    return column.levels.get(cell, cell)


def _check_classes(source: DatasetSource, rows: list[tuple[str, ...]]) -> None:
    position = source.fields.index(source.target)
    found = {row[position] for row in rows}
    if found != set(source.class_order):
        raise InputError(
            f"the class column of {source.file!r} must hold {', '.join(source.target.levels)}, "
            f"got {', '.join(sorted(found)) or 'no rows'}; supply the raw file of the archive."
        )
