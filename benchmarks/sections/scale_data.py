"""Made-up claims in Parquet files: numbers, levels, missing values, a planted rule and noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 17
TARGET, CLASS = "fraud", "yes"
FILE_ROWS = 1_000_000  # one row group
LEVELS = np.array([f"level{i:02d}" for i in range(24)])
PLANTED = "x00 >= 0.75 and x05 < 0.9"


def rows(start: int, n: int, n_columns: int) -> pa.Table:
    """Some rows from `start` on: four fifths numbers, one fifth text.

    Doubles, singles (skewed) and whole numbers take turns; one number in ten has a tenth of its
    values missing, one level in three some. The planted rule holds 96 % of the target class,
    all else 4 %.
    """
    rng = np.random.default_rng([SEED, start])
    n_text = n_columns // 5
    columns: dict[str, Any] = {}
    for j in range(n_columns - n_text):
        values: Any = rng.standard_normal(n)
        if j % 4 == 1:
            values = np.exp(values).astype(np.float32)
        elif j % 4 == 2:
            values = (values * 40).astype(np.int32)
        gone = rng.random(n) < 0.1 if j % 10 == 3 else None
        columns[f"x{j:02d}"] = pa.array(values, mask=gone)
    for j in range(n_text):
        codes = np.minimum(rng.geometric(0.15, n) - 1, 3 + 4 * (j % 6))
        mask = rng.random(n) < 0.05 if j % 3 == 2 else None
        coded = pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int8), mask=mask), LEVELS[: 4 + 4 * (j % 6)]
        )
        columns[f"c{j}"] = coded.cast(pa.string())
    planted = (columns["x00"].to_numpy() >= 0.75) & (columns["x05"].to_numpy() < 0.9)
    labels = np.where(planted, rng.random(n) < 0.96, rng.random(n) < 0.04)
    columns[TARGET] = pa.array(np.where(labels, CLASS, "no"))
    return pa.table(columns)


def write(folder: Path, n_rows: int, n_columns: int) -> Path:
    """The rows in files of a million, if they are not there yet; returns their folder."""
    target = folder / f"rows-{n_rows}-{n_columns}"
    done = target / "_done"
    if not done.exists():
        target.mkdir(parents=True, exist_ok=True)
        for start in range(0, n_rows, FILE_ROWS):
            part = rows(start, min(FILE_ROWS, n_rows - start), n_columns)
            path = target / f"{start // FILE_ROWS:05d}.parquet"
            pq.write_table(part, path, row_group_size=FILE_ROWS)
        done.touch()
    return target
