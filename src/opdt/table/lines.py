"""The line of a text file on which a row stands."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from opdt.table.textfile import TextFile

MOST_CUT = 1 << 22  # rows that are cut into cells on the way: a message must not take minutes
_PART = 1 << 20  # letters
_LONGEST = 1 << 26  # letters between two quotes, beyond which one is not closed


def line_of(file: TextFile, row: int, column: str = "", cell: str | None = None) -> int | None:
    """The line of a row counted from 0, the names being on line 1; None where it is not known.

    It is not known in files of one column, in which an empty line may be a row, and behind
    `MOST_CUT` rows with quotes.

    Parameters
    ----------
    column, cell : str, optional
        A cell that must stand there, or else the file is not what it was.
    """
    try:
        names = next((cells for _, cells in file.numbered_rows()), [])
        found = _row_behind(file, row + 1) if row >= 0 and len(names) > 1 else None
    except (OSError, EOFError, UnicodeError, csv.Error):
        return None
    if found is None:
        return None
    line, cells = found
    if cell is not None and (column not in names or cells[names.index(column)] != cell):
        return None
    return line


def _row_behind(file: TextFile, left: int) -> tuple[int, list[str]] | None:
    """The last line of the row behind so many others, the names among them, and its cells.

    Where every line is a row, lines are counted; elsewhere they are cut into cells.
    """
    line = cut = 0
    for part in _parts(file):
        count = _count_plain(part)
        if count is not None and count <= left:
            left, line = left - count, line + count
            continue
        rows = csv.reader(io.StringIO(part, newline=""), delimiter=file.separator)
        for cells in rows:
            if cells and not left:
                return line + rows.line_num, cells
            left, cut = left - bool(cells), cut + 1
            if cut > MOST_CUT:
                return None
        line += rows.line_num
    return None


def _parts(file: TextFile) -> Iterator[str]:
    """The text, in parts that end where a row ends."""
    kept = ""
    with file.open() as text:
        while more := text.read(_PART):
            kept += more
            end = kept.rfind("\n") + 1
            if end and kept.count('"', 0, end) % 2 == 0:  # not inside of a cell
                yield kept[:end]
                kept = kept[end:]
            elif len(kept) > _LONGEST:
                return
    yield kept


def _count_plain(part: str) -> int | None:
    """The number of lines, where each is a row; None where that is not seen at once."""
    returns = part.count("\r")
    if part.startswith(("\n", "\r")) or '"' in part or "\n\n" in part or not part.endswith("\n"):
        return None
    if returns and ("\n\r" in part or part.count("\r\n") != returns):
        return None
    return part.count("\n")
