"""CSV and Parquet files as data frames, with whichever library is installed.

All libraries are told the same about missing values, dates and truth values, so that the same
file gives the same table everywhere.
"""

from __future__ import annotations

import csv
import importlib
import warnings
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from opdt.errors import InputError, OpdtError, OpdtWarning, first_line
from opdt.table.textfile import (
    PARSE_BYTES,
    UTF8,
    WESTERN,
    TextFile,
    examine,
    readable,
    text_ending,
    too_large,
)

MISSING_TEXT = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
PARQUET = (".parquet", ".pq")
# Bytes of a cell of the types that take fewer than eight.
_NARROW = {"bool": 1, "boolean": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2}
_NARROW |= {"int32": 4, "uint32": 4, "float32": 4, "float": 4}
_READERS = ("polars", "pyarrow", "pandas")
_CODE = r"^\s*[+-]?0[0-9]"
_ISO_DATE = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?"


def read_frame(
    path: str | PathLike[str],
    *,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    as_text: Collection[str] = (),
) -> Any:
    """Return the data frame in a CSV, TSV or Parquet file.

    The first row of a text file holds the column names; empty cells and NA, N/A, NaN, nan,
    null and NULL are missing values; dates in ISO form are dates.

    Parameters
    ----------
    path : str or path-like
        The ending (.csv, .tsv, .txt, also with .gz; .parquet, .pq) says what the file holds.
    separator, encoding, decimal : str, optional
        How a text file is written; by default guessed from its first rows. A file that is
        neither UTF-8 nor UTF-16 is read as Windows-1252, with a warning.
    as_text : collection of str
        Columns of a text file whose cells are kept as they stand, for a recorded `Cleaning`.
    """
    file = Path(fspath(path))
    ending = file.suffix.lower()
    if text_ending(file) is None and ending not in PARQUET:
        raise InputError(
            f"cannot tell what {str(file)!r} holds; name a file that ends in "
            ".csv, .tsv, .txt (also with .gz), .parquet or .pq."
        )
    if not file.is_file():
        raise InputError(f"there is no file {str(file)!r}.")
    library = _installed(parquet=ending in PARQUET)
    try:
        if ending in PARQUET:
            return _read_parquet(library, file)
        return _read_text(
            library,
            examine(file, separator=separator, encoding=encoding, decimal=decimal),
            as_text,
        )
    except OpdtError:
        raise
    except MemoryError:
        raise too_large(file) from None
    except Exception as error:
        # Each library has its own errors for a broken file; all mean the same here.
        raise InputError(
            f"cannot read {str(file)!r} as {ending[1:]}: {first_line(error)}."
        ) from error


def _installed(*, parquet: bool) -> str:
    for library in _READERS:
        needs = ("pandas", "pyarrow") if parquet and library == "pandas" else (library,)
        if all(find_spec(name) is not None for name in needs):
            return library
    raise InputError(
        "reading a file needs polars, pyarrow or pandas; run: pip install 'opdt[polars]'."
    )


def _read_parquet(library: str, file: Path) -> Any:
    if _parquet_bytes(library, file) > readable():
        raise too_large(file)
    if library == "pyarrow":
        return importlib.import_module("pyarrow.parquet").read_table(file)
    options = {"glob": False} if library == "polars" else {}  # a name is no pattern
    return importlib.import_module(library).read_parquet(file, **options)


def _parquet_bytes(library: str, file: Path) -> int:
    """What the columns take at least; a few bytes of the file may stand for millions of cells."""
    if library == "polars":
        polars = importlib.import_module("polars")
        lazy = polars.scan_parquet(file, glob=False)
        n_rows = lazy.select(polars.len()).collect().item()
        kinds = list(lazy.collect_schema().values())
    else:
        parquet = importlib.import_module("pyarrow.parquet")
        n_rows = parquet.read_metadata(file).num_rows
        kinds = parquet.read_schema(file).types
    return int(n_rows) * sum(_NARROW.get(str(kind).lower(), 8) for kind in kinds)


def _read_text(library: str, file: TextFile, as_text: Collection[str]) -> Any:
    file = _survey(file)
    header = _header(file)
    source = file.path if file.is_plain else file.as_utf8()
    texts = [name for name in as_text if name in header]
    frame = _TEXT_READERS[library](source, file.separator, file.decimal, texts)
    if library == "polars":
        # polars leaves the quotes of a quoted name doubled.
        quoted = [name for name in header if '"' in name]
        frame = frame.rename({name.replace('"', '""'): name for name in quoted}, strict=False)
    return frame


def _survey(file: TextFile) -> TextFile:
    """Go through the file once: whether it fits into memory, and whether its encoding holds.

    A guess from the first part may fail further on: then the file is an eight-bit one.
    """
    # No letter of a plain file need be read to know how many there are.
    if file.is_plain and file.path.stat().st_size * PARSE_BYTES[0] > readable():
        raise too_large(file.path)
    for encoding in dict.fromkeys([file.encoding, *([WESTERN, "latin-1"] if file.guessed else [])]):
        file = replace(file, encoding=encoding)
        try:
            for _ in file.parts():
                pass
            break
        except UnicodeDecodeError:
            if not file.guessed or encoding == "utf-16":
                raise
    if file.guessed and file.encoding not in (UTF8, "utf-16"):
        warnings.warn(
            f"{str(file.path)!r} is not in UTF-8 and was read as {file.encoding}; "
            "name its encoding if letters look wrong.",
            OpdtWarning,
            stacklevel=5,
        )
    return file


def _header(file: TextFile) -> list[str]:
    """The first row; duplicate names, which libraries rename in ways of their own, are refused."""
    try:
        header = next(file.rows(), [])
    except csv.Error as error:
        raise InputError(f"cannot read the first row of {str(file.path)!r}: {error}.") from None
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        shown = ", ".join(map(repr, twice[:5]))
        raise InputError(f"{str(file.path)!r} has duplicate column names: {shown}; rename them.")
    return header


def _with_polars(source: Any, separator: str, decimal: str, as_text: list[str]) -> Any:
    polars = importlib.import_module("polars")
    form = {"separator": separator, "null_values": list(MISSING_TEXT), "glob": False}

    def read(texts: list[str]) -> Any:
        if hasattr(source, "seek"):
            source.seek(0)
        return polars.read_csv(
            source,
            decimal_comma=decimal == ",",
            try_parse_dates=True,
            infer_schema_length=None,
            schema_overrides=dict.fromkeys(texts, polars.String),
            **form,
        )

    frame = read(as_text)
    whole = [name for name, dtype in frame.schema.items() if dtype.is_integer()]
    if not whole:
        return frame
    if hasattr(source, "seek"):
        source.seek(0)
    # A code such as 01008 is no number: its zero would be lost.
    cells = polars.read_csv(source, columns=whole, infer_schema=False, **form)
    codes = cells.select(polars.all().str.contains(_CODE).any())
    coded = [name for name in whole if codes[name][0]]
    return read([*as_text, *coded]) if coded else frame


def _with_pyarrow(source: Any, separator: str, decimal: str, as_text: list[str]) -> Any:
    options = arrow_options(separator, decimal)
    text = importlib.import_module("pyarrow").string()
    options["convert_options"].column_types = dict.fromkeys(as_text, text)
    return importlib.import_module("pyarrow.csv").read_csv(source, **options)


def arrow_options(separator: str, decimal: str) -> dict[str, Any]:
    """How pyarrow is to read a text table: its `parse_options` and `convert_options`."""
    text = importlib.import_module("pyarrow.csv")
    return {
        "parse_options": text.ParseOptions(delimiter=separator),
        "convert_options": text.ConvertOptions(
            null_values=list(MISSING_TEXT),
            strings_can_be_null=True,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            decimal_point=decimal,
        ),
    }


def _with_pandas(source: Any, separator: str, decimal: str, as_text: list[str]) -> Any:
    """Read with pandas, which alone needs to be told which columns hold dates."""
    pandas = importlib.import_module("pandas")
    frame = pandas.read_csv(
        source,
        sep=separator,
        decimal=decimal,
        dtype=dict.fromkeys(as_text, str),
        na_values=list(MISSING_TEXT),
        keep_default_na=False,
        low_memory=False,
        encoding=UTF8,
    )
    texts = frame.columns[[dtype.kind == "O" for dtype in frame.dtypes]]
    for name in [name for name in texts if name not in as_text]:
        text = frame[name].dropna()
        if len(text) and text.astype(str).str.fullmatch(_ISO_DATE).all():
            frame[name] = pandas.to_datetime(frame[name], format="ISO8601")
    return frame


_TEXT_READERS = {"polars": _with_polars, "pyarrow": _with_pyarrow, "pandas": _with_pandas}
