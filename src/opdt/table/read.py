"""CSV and Parquet files as data frames, with whichever library is installed.

All libraries are told the same about missing values, dates and truth values, so that the same
file gives the same table everywhere.
"""

from __future__ import annotations

import csv
import importlib
from collections import Counter
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from opdt.errors import InputError

MISSING_TEXT = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_PARQUET = {".parquet", ".pq"}
_READERS = ("polars", "pyarrow", "pandas")
_ISO_DATE = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?"


def read_frame(path: str | PathLike[str]) -> Any:
    """Return the data frame in a CSV, TSV or Parquet file.

    The first row of a text file holds the column names; empty cells and NA, N/A, NaN, nan,
    null and NULL are missing values; dates in ISO form are dates.

    Parameters
    ----------
    path : str or path-like
        The ending (.csv, .tsv, .parquet, .pq) says what the file holds.
    """
    file = Path(fspath(path))
    ending = file.suffix.lower()
    if ending not in _SEPARATORS and ending not in _PARQUET:
        raise InputError(
            f"cannot tell what {str(file)!r} holds; name a file that ends in "
            ".csv, .tsv, .parquet or .pq."
        )
    if not file.is_file():
        raise InputError(f"there is no file {str(file)!r}.")
    library = _installed(parquet=ending in _PARQUET)
    try:
        if ending in _PARQUET:
            return _read_parquet(library, file)
        _check_header(file, _SEPARATORS[ending])
        return _read_text(library, file, _SEPARATORS[ending])
    except InputError:
        raise
    except Exception as error:
        # Each library has its own errors for a broken file; all mean the same here.
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise InputError(f"cannot read {str(file)!r} as {ending[1:]}: {reason}.") from error


def _installed(*, parquet: bool) -> str:
    for library in _READERS:
        needs = ("pandas", "pyarrow") if parquet and library == "pandas" else (library,)
        if all(find_spec(name) is not None for name in needs):
            return library
    raise InputError(
        "reading a file needs polars, pyarrow or pandas; run: pip install 'opdt[polars]'."
    )


def _check_header(file: Path, separator: str) -> None:
    """Refuse duplicate names, which every library would rename in its own way."""
    with file.open(newline="", encoding="utf-8-sig") as lines:
        header = next(csv.reader(lines, delimiter=separator), [])
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        shown = ", ".join(map(repr, twice[:5]))
        raise InputError(f"{str(file)!r} has duplicate column names: {shown}; rename them.")
    if not header:
        raise InputError(f"{str(file)!r} is empty; its first row must hold the column names.")


def _read_parquet(library: str, file: Path) -> Any:
    if library == "pyarrow":
        return importlib.import_module("pyarrow.parquet").read_table(file)
    return importlib.import_module(library).read_parquet(file)


def _read_text(library: str, file: Path, separator: str) -> Any:
    if library == "polars":
        return importlib.import_module("polars").read_csv(
            file,
            separator=separator,
            null_values=list(MISSING_TEXT),
            try_parse_dates=True,
            infer_schema_length=None,
        )
    if library == "pyarrow":
        text = importlib.import_module("pyarrow.csv")
        options = text.ConvertOptions(
            null_values=list(MISSING_TEXT),
            strings_can_be_null=True,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
        )
        return text.read_csv(
            file, parse_options=text.ParseOptions(delimiter=separator), convert_options=options
        )
    return _read_with_pandas(file, separator)


def _read_with_pandas(file: Path, separator: str) -> Any:
    """Read with pandas, which alone needs to be told which columns hold dates."""
    pandas = importlib.import_module("pandas")
    frame = pandas.read_csv(
        file,
        sep=separator,
        na_values=list(MISSING_TEXT),
        keep_default_na=False,
        low_memory=False,
        encoding="utf-8-sig",
    )
    for name in frame.columns[[dtype.kind == "O" for dtype in frame.dtypes]]:
        text = frame[name].dropna()
        if len(text) and text.astype(str).str.fullmatch(_ISO_DATE).all():
            frame[name] = pandas.to_datetime(frame[name], format="ISO8601")
    return frame
