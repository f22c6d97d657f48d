"""Files as tables of Arrow: the one door to whatever lies outside of this process.

=====================  ===========================================================================
``.csv .tsv .txt``     text, also gzipped (``.csv.gz``); cells mean what `opdt.table.cells` says
``.parquet .pq``       Parquet
``.xlsx .xls .ods``    a workbook; ``book.xlsx::Sheet2`` names a sheet, the first if left out
``.db .sqlite``        SQLite, ``.duckdb`` DuckDB: ``clinic.db::patients`` is a table or a view,
                       ``clinic.db::SELECT …`` a query
=====================  ===========================================================================

Each may lie at an address that fsspec knows (``s3://``, ``gs://``, ``abfss://``, ``https://``).
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Collection
from importlib import import_module
from os import PathLike
from typing import Any, BinaryIO

from opdt.errors import InputError, OpdtError, first_line
from opdt.table.places import check_there, ending_of, is_remote, open_binary, shown
from opdt.table.textfile import examine, readable, text_ending, too_large

PARQUET = (".parquet", ".pq")
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb")
ENDINGS = (
    ".csv, .tsv, .txt (also with .gz), .parquet, .pq, .xlsx, .xls, .ods, .db, .sqlite or .duckdb"
)
# Bytes of a cell of the types that take fewer than eight.
_NARROW = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2}
_NARROW |= {"int32": 4, "uint32": 4, "float": 4, "date32[day]": 4}
_INSIDE = re.compile(
    rf"(.+(?:{'|'.join(re.escape(e) for e in (*WORKBOOKS, *DATABASES))}))::(.*)",
    re.IGNORECASE | re.DOTALL,
)


def read_frame(
    path: str | PathLike[str],
    *,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    date_order: str | None = None,
    as_text: Collection[str] = (),
) -> Any:
    """The table in a file: text, Parquet, a workbook or a database.

    The first row of a text file holds the column names. The type of a column is decided by all of
    its cells; empty cells and NA, N/A, NaN, nan, null and NULL are missing values.

    Parameters
    ----------
    path : str or path-like
        A file or an address. The ending says what it holds: .csv, .tsv, .txt, also with .gz;
        .parquet, .pq; .xlsx, .xls, .ods, with ``::Sheet2`` for another sheet than the first;
        .db, .sqlite, .duckdb, with ``::table`` or ``::SELECT …``.
    separator, encoding, decimal : str, optional
        How a text file is written; by default guessed from its first rows. A file that is
        neither UTF-8 nor UTF-16 is read as Windows-1252, with a warning.
    date_order : "dmy" or "mdy", optional
        The order of days and months in dates such as 03/04/2024. By default the cells decide:
        a day above 12 tells; where none does the column stays text, with a warning.
    as_text : collection of str
        Columns of a text file whose cells are kept as they stand, for a recorded `Cleaning`.

    Returns
    -------
    pyarrow.Table
    """
    place, inside = split_inside(os.fspath(path))
    ending = ending_of(place)
    if text_ending(place) is None and ending not in (*PARQUET, *WORKBOOKS, *DATABASES):
        raise InputError(
            f"cannot tell what {shown(place)} holds; name a file that ends in {ENDINGS}."
        )
    check_there(place)
    try:
        if ending in PARQUET:
            return _read_parquet(place)
        if ending in WORKBOOKS:
            from opdt.table import workbooks

            return workbooks.load(place, inside, date_order)
        if ending in DATABASES:
            from opdt.table import databases

            return databases.load(place, inside, date_order)
        from opdt.table import delimited

        text = examine(place, separator=separator, encoding=encoding, decimal=decimal)
        return delimited.load(text, date_order, as_text)
    except OpdtError:
        raise
    except (MemoryError, SystemError):
        # A SystemError is Python's own for an allocation that failed inside a library unnoticed.
        raise too_large(place) from None
    except Exception as error:
        # Each library has its own errors for a broken file; all mean the same here.
        raise InputError(
            f"cannot read {shown(place)} as {_format(place)}: {first_line(error)}."
        ) from error


def _format(path: str) -> str:
    """What a file should hold, by its name: `parquet`, `csv`, `csv.gz`."""
    ending, text = ending_of(path), text_ending(path)
    return (ending if text in (None, ending) else f"{text}{ending}").removeprefix(".")


def split_inside(path: str) -> tuple[str, str | None]:
    """The file of a path, and the sheet, table or query that stands behind '::'."""
    found = None if os.path.exists(path) else _INSIDE.fullmatch(path)
    return (path, None) if found is None else (found[1], found[2])


def _seekable(path: str) -> BinaryIO:
    """The bytes of a file; those at an address are brought here, as not all can be read in part."""
    if not is_remote(path):
        return open_binary(path)
    with open_binary(path) as raw:
        return io.BytesIO(raw.read())


def _read_parquet(path: str) -> Any:
    parquet = import_module("pyarrow.parquet")
    with _seekable(path) as raw, parquet.ParquetFile(raw) as file:
        # a few bytes of the file may stand for millions of cells
        width = sum(_NARROW.get(str(kind), 8) for kind in file.schema_arrow.types)
        if file.metadata.num_rows * width > readable():
            raise too_large(path)
        return file.read()
