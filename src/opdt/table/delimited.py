"""Text tables as Arrow columns: whole, or a piece at a time.

pyarrow cuts the text into cells; what the cells mean is said by `opdt.table.cells`, for a table in
memory and for pieces alike.
"""

from __future__ import annotations

import csv
import mmap
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from opdt.checks import check_choice
from opdt.errors import InputError, OpdtWarning
from opdt.machine import cores, mappable
from opdt.table import cells
from opdt.table.cells import ORDERS, Reading
from opdt.table.missing_words import MISSING_TEXT
from opdt.table.origin import remember
from opdt.table.places import is_remote, open_binary, shown, size_of
from opdt.table.textfile import (
    PARSE_BYTES,
    UTF8,
    WESTERN,
    TextFile,
    check_fits,
    needed,
    readable,
    too_large,
)

BLOCK = 1 << 22  # bytes of text that are cut into cells at once; no row may be longer
_HEAD = 1 << 14  # letters in which the names are looked for, and so on
_RAGGED = re.compile(r"Expected (\d+) columns, got (\d+)")
_T = TypeVar("_T")


def load(file: TextFile, order: str | None = None, as_text: Collection[str] = ()) -> pa.Table:
    """The table of a text file, in memory.

    Parameters
    ----------
    order : "dmy" or "mdy", optional
        The order of days and months in dates with slashes, where the cells leave it open.
    as_text : collection of str
        Columns that stay text, whatever their cells are.
    """
    check_order(order)
    file, text = in_its_encoding(file, _whole_text)
    warn_of_encoding(file)
    names, columns = text.column_names, list(text.columns)
    del text
    found: list[Reading] = [cells.ANY] * len(names)

    def work(at: int) -> None:
        if names[at] in as_text:
            found[at], columns[at] = cells.TEXT, cells.convert(columns[at], cells.TEXT)
        else:  # the text is let go
            found[at], columns[at] = cells.read(columns[at], file.decimal, order)

    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(work, range(len(names))))
    warn_of_dates(file.path, dict(zip(names, found, strict=True)), order)
    table = pa.Table.from_arrays(columns, names=names)
    remember(table, file)
    return table


def judge(file: TextFile, going: Callable[[], bool] = lambda: True) -> dict[str, Reading]:
    """The readings that all cells of each column share, by one pass in pieces.

    Nobody asks for the result any more when `going` says no.
    """
    reader = _open(file)
    found = dict.fromkeys(reader.schema.names, cells.ANY)
    for batch in _each(file, reader):
        if not going():
            break
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if found[name]:
                found[name] &= cells.readings(pa.chunked_array([column]), file.decimal)
    return found


def batches(
    file: TextFile, forms: Mapping[str, Reading], columns: Sequence[str], rows: int
) -> Iterator[pa.RecordBatch]:
    """Some columns, in the ways that `forms` says, at most so many rows at a time."""
    for batch in _each(file, _open(file, columns)):
        typed = pa.table(
            {
                name: cells.convert(pa.chunked_array([batch[name]]), forms[name], file.decimal)
                for name in columns
            }
        )
        yield from typed.combine_chunks().to_batches(max_chunksize=rows)


def in_its_encoding(file: TextFile, work: Callable[[TextFile], _T]) -> tuple[TextFile, _T]:
    """What `work` makes of a file, and the file in the encoding in which that was possible.

    A guess from the first part may fail further on: then the file is an eight-bit one.
    """
    eight_bit = [WESTERN, "latin-1"] if file.guessed and file.encoding != "utf-16" else []
    tries = list(dict.fromkeys([file.encoding, *eight_bit]))
    for encoding in tries:
        file = replace(file, encoding=encoding)
        try:
            result = work(file)
            break
        except (UnicodeDecodeError, pa.ArrowInvalid) as error:
            if not _is_decoding(error) or encoding == tries[-1]:
                raise
    return file, result


def warn_of_encoding(file: TextFile) -> None:
    """Say that the encoding of a file was guessed, where it is one of eight bits."""
    if file.guessed and file.encoding not in (UTF8, "utf-16"):
        warnings.warn(
            f"{shown(file.path)} is not in UTF-8 and was read as {file.encoding}; "
            "name its encoding if letters look wrong.",
            OpdtWarning,
            stacklevel=5,
        )


def check_order(order: str | None) -> None:
    """Refuse an order of days and months that there is not."""
    if order is not None:
        check_choice("date_order", order, ORDERS)


def warn_of_dates(path: str, found: Mapping[str, Reading], order: str | None) -> None:
    """Say which columns of dates stay text, and how to have them read."""
    for name, readings in found.items():
        why = cells.open_dates(readings, order)
        if why is not None:
            warnings.warn(
                f"column {name!r} of {shown(path)} holds dates {why}; it stays text. Name their "
                "order with date_order='dmy' or 'mdy' ('--date-order'), or write them as "
                "2024-12-31.",
                OpdtWarning,
                stacklevel=5,
            )


def names_of(file: TextFile) -> list[str]:
    """The column names; duplicates, of which a rule could not say which it means, are refused."""
    head = _head(file).encode()
    options = _options(replace(file, encoding=UTF8))
    options["parse_options"].invalid_row_handler = lambda _: "skip"  # reading will tell
    try:
        names = arrow_csv.open_csv(pa.BufferReader(head), **options).schema.names
    except pa.ArrowInvalid as error:
        if "Empty CSV" not in str(error):
            raise
        names = next(file.numbered_rows())[1]  # and not even a line end after them
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        some = ", ".join(map(repr, twice[:5]))
        raise InputError(f"{shown(file.path)} has duplicate column names: {some}; rename them.")
    return list(names)


def _head(file: TextFile) -> str:
    """The first lines of a file, whole ones; names, and what says that there are rows."""
    with file.open() as text:
        part = text.read(_HEAD)
        while more := text.read(_HEAD):
            end = max(part.rfind("\n"), part.rfind("\r"))
            if end > 0 and part.count('"', 0, end) % 2 == 0:
                return part[: end + 1]
            part += more
    return part


def _whole_text(file: TextFile) -> pa.Table:
    """All cells as text; refused before the memory is taken where they do not fit."""
    if mappable() is not None:
        check_fits(file)
    most, names = readable(), names_of(file)
    size = size_of(file.path) if file.is_plain else None
    if size is not None and size * PARSE_BYTES[0] > most:
        raise too_large(file.path)
    if size is not None and size * sum(PARSE_BYTES) <= most:  # whatever its letters are
        try:
            quotes, ascii_only = _letters(file.path)
            options = _options(file, names, threads=True, quotes=quotes)
            options["convert_options"].check_utf8 = not ascii_only
            with _translated(file), _bytes(file) as stream:
                return arrow_csv.read_csv(stream, **options)
        except _HeaderOnly:
            return _empty(names)
    letters = n_cells = n_rows = 0
    parts = [_empty(names)]
    for batch in _each(file, _open(file, threads=True)):
        n_rows += batch.num_rows
        n_cells += batch.num_rows * batch.num_columns
        letters += batch.nbytes - 4 * batch.num_rows * batch.num_columns
        if needed(letters, n_cells, n_rows) > most:
            raise too_large(file.path)
        parts.append(pa.Table.from_batches([batch]))
    return pa.concat_tables(parts)


def _letters(path: str) -> tuple[bool, bool]:
    """Whether a file has quotes, and whether all of its letters are ASCII; both cost little."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        codes = np.frombuffer(text, np.int8)  # those above 127 are negative
        starts = range(0, len(codes), BLOCK)
        ascii_only = all(codes[at : at + BLOCK].min() >= 0 for at in starts)
        del codes  # it holds the map open
        return text.find(b'"') >= 0, ascii_only


class _HeaderOnly(Exception):
    """There are names, and no row."""


class _Reader:
    """A streaming reader with its stream, which is closed after the last batch."""

    def __init__(self, file: TextFile, names: list[str], columns: Sequence[str], threads: bool):
        self.schema = pa.schema([(name, pa.string()) for name in columns])
        self._stream = _bytes(file)
        options = _options(file, names, threads=threads)
        options["convert_options"].include_columns = list(columns)
        try:
            with _translated(file):
                self._batches = iter(arrow_csv.open_csv(self._stream, **options))
        except _HeaderOnly:
            self._batches = iter(())

    def next(self) -> pa.RecordBatch | None:
        batch = next(self._batches, None)
        if batch is None:
            self._stream.close()
        return batch


def _open(
    file: TextFile, columns: Sequence[str] | None = None, *, threads: bool = False
) -> _Reader:
    names = names_of(file)
    return _Reader(file, names, names if columns is None else columns, threads)


def _each(file: TextFile, reader: _Reader) -> Iterator[pa.RecordBatch]:
    while True:
        with _translated(file):
            batch = reader.next()
        if batch is None:
            return
        yield batch


def _bytes(file: TextFile) -> Any:
    """The stream of a file, unpacked on the way."""
    raw = (
        pa.PythonFile(open_binary(file.path), "r") if is_remote(file.path) else pa.OSFile(file.path)
    )
    return pa.CompressedInputStream(raw, "gzip") if file.zipped else raw


def _options(
    file: TextFile, names: Sequence[str] = (), *, threads: bool = False, quotes: bool = True
) -> dict[str, Any]:
    """How pyarrow cuts the text into cells: all of the named columns stay text.

    Without quotes no cell holds a line end, and blocks end at any line.
    """
    # Arrow skips the mark of UTF-8 by itself, and decodes nothing that it need not decode.
    encoding = "utf8" if file.encoding == UTF8 else file.encoding
    return {
        "read_options": arrow_csv.ReadOptions(
            block_size=BLOCK, encoding=encoding, use_threads=threads
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=file.separator,
            newlines_in_values=quotes,
            ignore_empty_lines=not _keeps_empty(file, names),
        ),
        "convert_options": arrow_csv.ConvertOptions(
            null_values=list(MISSING_TEXT),
            strings_can_be_null=True,
            column_types=dict.fromkeys(names, pa.string()),
        ),
    }


def _keeps_empty(file: TextFile, names: Sequence[str]) -> bool:
    """Whether an empty line is a row: of one column, with a missing value."""
    return len(names) == 1 and not _head(file).startswith(("\n", "\r"))


def _empty(names: Sequence[str]) -> pa.Table:
    return pa.table({name: pa.array([], pa.string()) for name in names})


class _translated:
    """What pyarrow raises, as sentences that name the line."""

    def __init__(self, file: TextFile) -> None:
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if not isinstance(error, pa.ArrowInvalid):
            return
        text, path = str(error), shown(self._file.path)
        if "Empty CSV" in text:
            raise _HeaderOnly from None
        if _RAGGED.search(text):
            raise _ragged(self._file, text) from None
        if "straddling" in text or "out of sync" in text:
            raise InputError(
                f"{path} has a row of more than {BLOCK >> 20} MB; is a quote not closed?"
            ) from None


def _ragged(file: TextFile, text: str) -> InputError:
    """The row of another number of cells than the header, and where it is."""
    found = _RAGGED.search(text)
    assert found is not None
    width, got, where = int(found[1]), int(found[2]), "a line"
    try:
        for line, row in file.numbered_rows():
            if len(row) != width:
                got, where = len(row), f"line {line}"
                break
    except (csv.Error, UnicodeDecodeError):
        pass  # the sentence is true without the line
    return InputError(
        f"{where} of {shown(file.path)} has {got} cell{'s' * (got != 1)}, but the columns are "
        f"{width}; correct the file, or name its separator."
    )


def _is_decoding(error: Exception) -> bool:
    return isinstance(error, UnicodeDecodeError) or "UTF8" in str(error)
