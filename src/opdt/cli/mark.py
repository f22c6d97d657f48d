"""A table with one column more, whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.table import column_names
from opdt.table.read import PARQUET
from opdt.table.textfile import examine, text_ending

SEPARATORS = {".csv": ",", ".tsv": "\t"}


def check_marked(frame: Any, column: str, out: Path | None) -> None:
    """Refuse a column that is already there, and an output of unknown format."""
    if column in column_names(frame):
        raise InputError(
            f"the table already has a column {column!r}; choose another name with '--column'."
        )
    if out is not None and out.suffix.lower() not in (*SEPARATORS, *PARQUET):
        raise InputError(
            f"'--out' {str(out)!r} must end in .csv, .tsv, .parquet or .pq, which says its format."
        )


def write_marked(
    data: str,
    frame: Any,
    column: str,
    fires: NDArray[np.bool_],
    out: Path | None,
    written: Mapping[str, str | None],
) -> None:
    """Write the table with the column `fires`; as CSV to the terminal without `out`.

    `written` says how the data are, as far as the user does: arguments of `read_frame`.

    The cells of a text file are copied as they stand (an identifier 007 stays 007); a CSV or
    TSV file gets the words true and false, a Parquet file a boolean column.
    """
    if out is None:
        _write_text(sys.stdout, ",", _rows(data, frame, len(fires), written), column, fires)
        return
    draft = out.with_name(out.name + ".part")
    ending = out.suffix.lower()
    try:
        if ending in PARQUET:
            marks = nw.new_series(column, fires, nw.Boolean, backend=nw.get_native_namespace(frame))
            nw.from_native(frame).with_columns(marks).write_parquet(draft)
        else:
            with draft.open("w", newline="", encoding="utf-8") as file:
                rows = _rows(data, frame, len(fires), written)
                _write_text(file, SEPARATORS[ending], rows, column, fires)
        os.replace(draft, out)
    finally:
        draft.unlink(missing_ok=True)


def _write_text(
    file: TextIO,
    separator: str,
    rows: Iterator[list[str]],
    column: str,
    fires: NDArray[np.bool_],
) -> None:
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow([*next(rows), column])
    writer.writerows(
        [*row, "true" if fired else "false"]
        for row, fired in zip(rows, fires.tolist(), strict=True)
    )


def _refuse_nested(frame: Any) -> None:
    for name, dtype in nw.from_native(frame).schema.items():
        if dtype.is_nested():
            raise InputError(
                f"column {name!r} holds nested values ({dtype}), which a text file cannot hold; "
                "name a Parquet file with '--out'."
            )


def _rows(
    data: str, frame: Any, n_rows: int, written: Mapping[str, str | None]
) -> Iterator[list[str]]:
    """The names and then the rows of a file, as text."""
    if text_ending(data) is None:
        _refuse_nested(frame)
        text = nw.from_native(frame).write_csv()
        yield from csv.reader(io.StringIO(text))
        return
    try:
        marks = {name: value for name, value in written.items() if name != "date_order"}
        names, *rows = examine(data, **marks).rows()
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"cannot copy the rows of {data!r}: {error}.") from None
    # Whether an empty line is a row is for the reader of the table to say.
    if len(rows) != n_rows:
        rows = [row for row in rows if row]
    if len(rows) != n_rows:
        raise InputError(f"{data!r} has lines that are not rows of the table; clean it first.")
    yield names
    yield from (row + [""] * (len(names) - len(row)) for row in rows)
