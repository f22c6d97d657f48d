"""CSV and Parquet files as data frames, with whichever library is installed."""

from __future__ import annotations

import csv
import importlib.util
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from opdt.errors import InputError


def read_frame(path: str | PathLike[str]) -> Any:
    """Return the data frame in a CSV or Parquet file."""
    file = Path(fspath(path))
    import polars as pl

    return pl.read_csv(file) if file.suffix == ".csv" else pl.read_parquet(file)
