"""How a text table is written: separator, encoding, decimal mark; guessed where nobody says."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import mul
from os import PathLike
from typing import BinaryIO, TextIO, cast

from opdt.checks import check_choice
from opdt.errors import InputError, MemoryLimit
from opdt.machine import available, format_size, mappable
from opdt.table.places import is_remote, open_binary, shown

ENDINGS = {".csv": ",", ".tsv": "\t", ".txt": ","}
UTF8 = "utf-8-sig"
WESTERN = "cp1252"  # what programs on Windows write where they do not write UTF-8
_SEPARATORS = (",", ";", "\t", "|")
_MARKS = {codecs.BOM_UTF8: UTF8, codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Bytes that reading takes at its peak: of each letter, cell and row. Measured on tables of digits,
# decimals, text, one column and empty cells.
PARSE_BYTES = (3, 14, 48)
# Where address space is limited: Arrow maps so much, and beside it 12 times its peak for small
# files or twice for large ones.
MAPPED_BYTES = (40_000_000, 540_000_000)
_PART = 1 << 20  # letters
_SAMPLE_BYTES = 1 << 18
_SAMPLE_ROWS = 100
_COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+")
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+")


@dataclass(frozen=True)
class TextFile:
    """A text table, and how it is written.

    Attributes
    ----------
    path : str
        A file of this machine, or an address.
    separator, decimal : str
        One character between cells, and the one before the fraction of a number.
    encoding : str
        A codec of Python.
    zipped : bool
        Whether gzip has packed it.
    guessed : bool
        Whether the encoding was guessed from the first part of the file.
    """

    path: str
    separator: str
    encoding: str
    decimal: str
    zipped: bool
    guessed: bool

    @property
    def is_plain(self) -> bool:
        """Whether the size of the file is the number of its letters, and threads can share it."""
        return not self.zipped and self.encoding == UTF8 and not is_remote(self.path)

    def open(self) -> TextIO:
        """The text, line ends as they are."""
        raw = _binary(self.path, self.zipped)
        return io.TextIOWrapper(raw, encoding=self.encoding, newline="")

    def rows(self) -> Iterator[list[str]]:
        """The names, and then the cells of each row, as text."""
        with self.open() as text:
            yield from csv.reader(text, delimiter=self.separator)

    def numbered_rows(self) -> Iterator[tuple[int, list[str]]]:
        """The names and the rows that are not empty, each with the number of its last line."""
        with self.open() as text:
            reader = csv.reader(text, delimiter=self.separator)
            for row in reader:
                if row:
                    yield reader.line_num, row


def check_fits(file: TextFile) -> None:
    """Go through a file and refuse it where a table of so much does not fit into memory.

    What is packed says nothing of how much it unpacks to, so it is counted on the way. Needed where
    the address space is limited: there native threads end the process rather than fail.
    """
    most, letters, cells, rows = readable(), 0, 0, 0
    with file.open() as text:
        while part := text.read(_PART):
            letters += len(part)
            rows += part.count("\n")
            cells += part.count(file.separator)
            if needed(letters, cells + rows, rows) > most:
                raise too_large(file.path)


def readable() -> float:
    """Bytes that reading a file may take at its peak; infinity where nothing limits them."""
    free, space = available(), mappable()
    most = float("inf") if free is None else float(free)
    if space is not None:
        few, many = MAPPED_BYTES
        most = min(most, max((space - few) / 12, (space - many) / 2))
    return most


def needed(letters: int, cells: int, rows: int) -> int:
    """Bytes that reading so much text takes at its peak."""
    return sum(map(mul, (letters, cells, rows), PARSE_BYTES))


def too_large(path: str) -> MemoryLimit:
    """The refusal of a file that does not fit into memory."""
    free = format_size(available() or 0)
    return MemoryLimit(
        f"reading {shown(path)} needs more than the {free} of memory that are free; give a "
        "'memory_limit', with which files are read in pieces, or fewer rows or columns."
    )


def text_ending(path: str | PathLike[str]) -> str | None:
    """The ending of a text table, without .gz; None for any other file."""
    name = os.fspath(path)
    name = (name.partition("?")[0] if is_remote(name) else name).lower().removesuffix(".gz")
    return next((ending for ending in ENDINGS if name.endswith(ending)), None)


def examine(
    path: str | PathLike[str],
    *,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
) -> TextFile:
    """How a text table is written, as far as its first rows show what is not given."""
    _check_marks(separator, decimal)
    path = os.fspath(path)
    zipped = _is_zipped(path)
    sample = _sample(path, zipped)
    if not sample.strip():
        raise InputError(f"{shown(path)} is empty; its first row must hold the column names.")
    known = _codec(encoding) if encoding is not None else _guess_encoding(path, sample)
    # The sample may end inside a letter, and does end inside a row.
    decoder = codecs.getincrementaldecoder(known)(errors="replace")
    lines = decoder.decode(sample).splitlines(keepends=True)
    lines = lines[:-1] if len(sample) == _SAMPLE_BYTES and len(lines) > 1 else lines
    mark = separator or _guess_separator(lines, ENDINGS[text_ending(path) or ".csv"])
    point = decimal or _guess_decimal(_cells(lines, mark), mark)
    return TextFile(path, mark, known, point, zipped, encoding is None)


def _binary(path: str, zipped: bool) -> BinaryIO:
    if not zipped:
        return open_binary(path)
    return cast(BinaryIO, gzip.open(open_binary(path) if is_remote(path) else path))


def _is_zipped(path: str) -> bool:
    with open_binary(path) as file:
        return file.read(2) == b"\x1f\x8b"


def _sample(path: str, zipped: bool) -> bytes:
    try:
        with _binary(path, zipped) as file:
            return file.read(_SAMPLE_BYTES)
    except (EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"cannot unpack {shown(path)}: {str(error).rstrip('.')}.") from None


def _check_marks(separator: str | None, decimal: str | None) -> None:
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise InputError(
            f"'separator' must be one character other than a quote, got {separator!r}."
        )
    if decimal is not None:
        check_choice("decimal", decimal, (".", ","))
    if decimal is not None and decimal == separator:
        raise InputError(f"'separator' and 'decimal' must differ, got {decimal!r} for both.")


def _codec(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # some codecs, such as hex, are not of text
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"'encoding' {encoding!r} is not known; try 'utf-8', 'cp1252' or 'utf-16'."
        ) from None
    return UTF8 if name in ("utf-8", "ascii", UTF8) else name


def _guess_encoding(path: str, sample: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if sample.startswith(mark):
            return encoding
    if b"\0" in sample:
        raise InputError(
            f"{shown(path)} is no text table: it holds zero bytes; save it as CSV or Parquet."
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return western(sample)
    return UTF8


def western(content: bytes) -> str:
    """The eight-bit codec that can read these bytes; Latin-1 can read any."""
    try:
        content.decode(WESTERN)
    except UnicodeDecodeError:
        return "latin-1"
    return WESTERN


def _cells(lines: list[str], separator: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=separator):
            rows += [row] if row else []
            if len(rows) == _SAMPLE_ROWS:
                break
    except csv.Error:
        pass  # what has been read so far is enough for a guess
    return rows


def _guess_separator(lines: list[str], usual: str) -> str:
    """The character that cuts most rows into as many cells as the first."""

    def fit(separator: str) -> tuple[float, int, bool]:
        rows = _cells(lines, separator)
        width = len(rows[0]) if rows else 0
        if width < 2:
            return 0.0, 0, separator == usual
        alike = sum(len(row) == width for row in rows) / len(rows)
        return alike, width, separator == usual

    return max(_SEPARATORS, key=fit)


def _guess_decimal(rows: list[list[str]], separator: str) -> str:
    """A comma if numbers are written with one and none is written with a point."""
    if separator == ",":
        return "."
    cells = [cell.strip() for row in rows[1:] for cell in row]
    if any(_POINT_NUMBER.fullmatch(cell) for cell in cells):
        return "."
    commas = [cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
    return "," if any(not _THOUSANDS.fullmatch(cell) for cell in commas) else "."
