"""Weight paths and Pareto frontiers of the fifteen datasets at depth 2."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from common import Grid, Log, Record, short, timed

from opdt.analysis.frontier import pareto_frontier
from opdt.analysis.path import weight_path
from opdt.datasets import load
from opdt.errors import OpdtWarning
from opdt.table import Table

SECTION = "path"
GOAL = 10.0  # seconds for the paths of all datasets together
DEPTH = 2


class Wanted(Protocol):
    """What the section needs to know."""

    data: Path | None
    datasets: tuple[str, ...]
    threads: int
    quick: bool


def run(log: Log, settings: Wanted) -> None:
    """Measure the path and the frontier of each dataset, over all classes."""
    total = 0.0
    for name in settings.datasets:
        record = measure(name, settings)
        log.add(SECTION, **record)
        total += record["seconds"]
        print(
            f"  {name}: {record['segments']} segments in {short(record['seconds'])}, "
            f"{record['points']} points in {short(record['frontier_seconds'])}",
            flush=True,
        )
    print(f"  all paths together: {short(total)} (aim: {GOAL:g} s)")


def measure(name: str, settings: Wanted) -> Record:
    """One dataset: medians of three runs, after one that compiles."""
    data = load(name, folder=settings.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)  # of constant columns
        table = Table.build(data.X, data.y)
    repeats = 1 if settings.quick else 3
    asked = {"max_depth": DEPTH, "n_jobs": settings.threads}
    weight_path(table, **asked)
    cpu = time.process_time()
    seconds, path = timed(lambda: weight_path(table, **asked), repeats)
    cpu = (time.process_time() - cpu) / repeats
    frontier_seconds, frontier = timed(lambda: pareto_frontier(table, **asked), repeats)
    return {
        "dataset": name,
        "rows": table.n_rows,
        "features": table.n_features,
        "seconds": seconds,
        "cpu": cpu,
        "segments": len(path),
        "searches": path.n_solves,
        "complete": path.complete,
        "last_price": float(path.breakpoints[-1]) if path.breakpoints else 1.0,
        "frontier_seconds": frontier_seconds,
        "frontier_searches": frontier.n_solves,
        "points": len(frontier),
        "off_path": sum(not point.supported for point in frontier),
        "frontier_complete": frontier.complete,
    }


def grids(records: Sequence[Record]) -> list[Grid]:
    """One row per dataset, and the sums."""
    header = (
        "dataset", "rows × features", "path", "processor", "segments", "searches",
        "last breakpoint", "frontier", "points", "of them on no path", "all proven",
    )  # fmt: skip
    rows = [
        (
            r["dataset"],
            f"{r['rows']} × {r['features']}",
            short(r["seconds"]),
            short(r["cpu"]),
            str(r["segments"]),
            str(r["searches"]),
            f"{r['last_price']:.3g}",
            short(r["frontier_seconds"]),
            str(r["points"]),
            str(r["off_path"]),
            "yes" if r["complete"] and r["frontier_complete"] else "no",
        )
        for r in records
    ]
    path, cpu, frontier = (
        short(sum(r[field] for r in records)) for field in ("seconds", "cpu", "frontier_seconds")
    )
    rows.append(("**together**", "", path, cpu, "", "", "", frontier, "", "", ""))
    return [Grid(header, rows)]
