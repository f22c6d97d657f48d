"""One search over partitions in a process of its own; prints what it took as a line of JSON.

    python benchmarks/sections/scale_run.py FOLDER SCANNER DEPTH MEMORY SECONDS

A process of its own, because peak memory is that of a process.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from opdt.scale import (
    LocalScanner,
    PartitionSource,
    Parts,
    Scanner,
    ScanTask,
    Watch,
    discover_partitioned,
    open_scanner,
)
from opdt.scale.passes import CountCells, FetchRows, Pass, SiftBoxes
from opdt.scale.scanner import to_bytes
from opdt.solution import Budget
from sections.scale_data import CLASS, TARGET

BEAT = 0.2  # seconds between two looks at the workers' memory


class Metered(Scanner):
    """Any scanner, with a record of each pass."""

    def __init__(self, inner: Scanner) -> None:
        self.inner = inner
        self.passes: list[dict[str, Any]] = []

    def sources(self) -> list[PartitionSource]:
        """Those of the scanner."""
        return self.inner.sources()

    def known_rows(self) -> int | None:
        """As the scanner knows."""
        return self.inner.known_rows()

    @property
    def bytes_read(self) -> int:
        """Those of the scanner."""
        return self.inner.bytes_read

    def scan(self, task: ScanTask, watch: Watch) -> Parts:
        """One pass, measured."""
        wall, cpu = time.perf_counter(), tree_seconds()
        read, moved = self.inner.bytes_read, self.inner.bytes_moved
        parts = 0

        def watched(done: int, total: int) -> None:
            nonlocal parts
            parts = total
            watch(done, total)

        result = self.inner.scan(task, watched)
        self.passes.append({
            "kind": kind_of(task),
            "columns": len(set(task.columns)),
            "sets": n_sets(task),
            "boxes": n_boxes(task),
            "tasks": parts,
            "seconds": time.perf_counter() - wall,
            "cpu": tree_seconds() - cpu,
            "bytes_read": self.inner.bytes_read - read,
            "bytes_moved": self.inner.bytes_moved - moved,
            "task_bytes": len(pickle.dumps(task)),
            "result_bytes": len(to_bytes(result)),
        })  # fmt: skip
        return result


def kind_of(task: ScanTask) -> str:
    """What a pass is for."""
    if not isinstance(task, Pass):
        return "summary"
    return "count" if n_sets(task) else "refine"


def n_sets(task: ScanTask) -> int:
    """Sets of axes whose cells a pass counts."""
    parts = task.parts if isinstance(task, Pass) else ()
    return sum(len(part.sets) for part in parts if isinstance(part, CountCells))


def n_boxes(task: ScanTask) -> int:
    """Boxes that a pass refines."""
    parts = task.parts if isinstance(task, Pass) else ()
    return sum(len(part.boxes) for part in parts if isinstance(part, (SiftBoxes, FetchRows)))


def tree_seconds() -> float:
    """Processor time of this process and all that it started and that still run."""
    total = 0.0
    for one in (me := psutil.Process(), *me.children(recursive=True)):
        try:
            times = one.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


@contextmanager
def worker_memory() -> Iterator[list[int]]:
    """The largest memory of any process started by this one, in bytes, seen from time to time."""
    peak, stop = [0], threading.Event()

    def look() -> None:
        while not stop.wait(BEAT):
            for child in psutil.Process().children(recursive=True):
                try:
                    peak[0] = max(peak[0], child.memory_info().rss)
                except psutil.Error:
                    continue

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


@contextmanager
def scanner_of(name: str, folder: Path, memory: float) -> Iterator[Scanner]:
    """A scanner of the files: local, dask1, dask2 (workers) or spark (local[2])."""
    pattern = str(folder / "*.parquet")
    if name == "local":
        yield LocalScanner(pattern, Budget().n_threads, memory)
    elif name.startswith("dask"):
        from dask import dataframe
        from distributed import Client, LocalCluster

        workers = int(name.removeprefix("dask"))
        with (
            LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=None
            ) as cluster,
            Client(cluster) as client,
        ):
            frame = dataframe.read_parquet(pattern, dtype_backend="pyarrow")
            yield open_scanner(frame, client=client)
    else:
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "2g")
            .config("spark.sql.session.timeZone", "UTC")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        try:
            yield open_scanner(session.read.parquet(pattern))
        finally:
            session.stop()


def main() -> None:
    """Solve, and print the record."""
    folder, name, depth, memory, seconds = sys.argv[1:]
    limit = Budget(memory_limit=int(float(memory)), time_limit=float(seconds))
    with scanner_of(name, Path(folder), float(memory)) as inner, worker_memory() as peak:
        scanner = Metered(inner)
        started, cpu = time.perf_counter(), tree_seconds()
        solution = discover_partitioned(
            scanner, TARGET, label=CLASS, max_depth=int(depth), budget=limit
        )
        record = {
            "rule": str(solution.rule),
            "value": solution.value,
            "bound": solution.bound,
            "status": str(solution.status),
            "stopped_by": str(solution.stopped_by),
            "seconds": time.perf_counter() - started,
            "cpu": tree_seconds() - cpu,
            "passes": solution.details.passes,
            "n_rows": solution.details.n_rows,
            "bytes_read": solution.details.bytes_read,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "peak_worker": peak[0],
            "load": os.getloadavg()[0],
            "by_pass": scanner.passes,
        }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
