"""Tables larger than memory: time, passes, bytes and peak memory of proven rules over partitions.

    python benchmarks/scale.py --rows 20000000 --depth 2 --folder /tmp/opdt-scale
    python benchmarks/scale.py --rows 2000000 --through dask --workers 2
    python benchmarks/scale.py --rows 2000000 --through spark

Each run is a process of its own, because peak memory is that of a process. The rows are written
once: 24 numeric features (a tenth with missing values, some skewed, some whole numbers) and 6
categorical ones, a planted rule of two conditions, and noise.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from opdt.scale import discover_partitioned
from opdt.solution import Budget

CHUNK = 1_000_000
LEVELS = np.array([f"level{i:02d}" for i in range(24)])


def rows(start: int, n: int) -> pa.Table:
    """Some rows of the made-up claims; the same whatever the number of files."""
    rng = np.random.default_rng([17, start])
    columns: dict[str, Any] = {}
    for j in range(24):
        values: Any = rng.standard_normal(n)
        if j % 4 == 1:
            values = np.exp(values).astype(np.float32)
        elif j % 4 == 2:
            values = (values * 40).astype(np.int32)
        gone = rng.random(n) < 0.1 if j % 10 == 3 else None
        columns[f"x{j:02d}"] = pa.array(values, mask=gone)
    for j in range(6):
        codes = np.minimum(rng.geometric(0.15, n) - 1, 3 + 4 * j)
        columns[f"c{j}"] = pa.DictionaryArray.from_arrays(
            codes.astype(np.int8), LEVELS[: 4 + 4 * j]
        ).cast(pa.string())
    planted = (columns["x00"].to_numpy() >= 0.75) & (columns["x05"].to_numpy() < 0.9)
    fraud = np.where(planted, rng.random(n) < 0.96, rng.random(n) < 0.04)
    columns["fraud"] = pa.array(np.where(fraud, "yes", "no"))
    return pa.table(columns)


def write(folder: Path, n_rows: int) -> Path:
    """The rows as Parquet files of a million each, if they are not there yet."""
    target = folder / f"rows-{n_rows}"
    done = target / "_done"
    if done.exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    for start in range(0, n_rows, CHUNK):
        part = rows(start, min(CHUNK, n_rows - start))
        pq.write_table(part, target / f"{start // CHUNK:05d}.parquet", row_group_size=CHUNK)
    done.touch()
    return target


def solve(folder: Path, options: argparse.Namespace) -> Any:
    budget = Budget(threads=options.threads, memory=options.memory, seconds=options.seconds)
    settings = {"target": "yes", "max_depth": options.depth, "budget": budget}
    pattern = str(folder / "*.parquet")
    if options.through == "local":
        return discover_partitioned(pattern, "fraud", **settings)
    if options.through == "dask":
        from dask import dataframe
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=options.workers, threads_per_worker=1) as cluster,
            Client(cluster) as client,
        ):
            frame = dataframe.read_parquet(pattern)
            return discover_partitioned(frame, "fraud", client=client, **settings)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master(f"local[{options.workers}]").getOrCreate()
    try:
        return discover_partitioned(spark.read.parquet(pattern), "fraud", **settings)
    finally:
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--memory", type=int, default=1 << 29)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--through", choices=("local", "dask", "spark"), default="local")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("opdt-scale"))
    parser.add_argument("--write-only", action="store_true")
    options = parser.parse_args()
    folder = write(options.folder, options.rows)
    if options.write_only:
        return
    started = time.perf_counter()
    solution = solve(folder, options)
    result = {
        "rows": options.rows,
        "depth": options.depth,
        "through": options.through,
        "workers": options.workers,
        "rule": str(solution.rule),
        "value": solution.value,
        "bound": solution.bound,
        "status": str(solution.status),
        "stopped_by": str(solution.stopped_by),
        "seconds": round(time.perf_counter() - started, 1),
        "passes": solution.details.passes,
        "gigabytes_read": round(solution.details.bytes_read / 1e9, 2),
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
