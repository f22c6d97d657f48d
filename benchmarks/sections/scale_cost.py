"""Tables of the runs over partitions, and a cost model fitted to them.

Processor time of a pass = a × values read + b × rows × sets of features counted + c × rows × boxes
refined, with another `a` for the first pass.
On a cluster this time is shared by the workers; to it come one millisecond per task on the
scheduler, and the results, which are added up in a tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from common import Grid, Record, short
from scipy.optimize import nnls

NAMES = {
    "local": "local, 2 threads",
    "dask1": "Dask, 1 worker",
    "dask2": "Dask, 2 workers",
    "spark": "Spark, local[2]",
}
# What the extension to a cluster assumes.
BANDWIDTH = 1.25e9  # bytes a second of one worker: 10 Gbit/s
SCHEDULING = 1e-3  # seconds of the scheduler for one task
FAN_IN = 8
ROWS_PER_TASK = 1_000_000
SHRINK = 64  # the undecided rows of a box shrink at least so much in one refining pass
CLUSTERS = [(10**9, 100), (10**9, 1000), (10**11, 100), (10**11, 1000)]


Captioned = tuple[str, Grid]


def run_grids(records: Sequence[Record]) -> list[Captioned]:
    """What the runs took, and what travelled."""
    busy = max(r["load"] for r in records)
    note = (
        f" Other programs shared the machine (load up to {busy:.0f}), so times of day are far "
        "above those of a quiet one; processor time is that of all processes of a run."
        if busy > 4
        else ""
    )
    return [
        ("Whole runs, every one in a process of its own with `memory_limit` 2 GB." + note,
         _totals(records)),
        ("Their passes. A task goes to every worker and a result comes back from every partition: "
         "counts and the few rows of small boxes, never the table.", _by_pass(records)),
    ]  # fmt: skip


def _totals(records: Sequence[Record]) -> Grid:
    base = {
        (r["rows"], r["depth"]): r["cpu"] for r in records if r["scanner"] == "local"
    }  # fmt: skip
    rows = []
    for r in records:
        own = base.get((r["rows"], r["depth"]))
        rows.append((
            f"{r['rows'] / 1e6:g} million", str(r["depth"]), NAMES[r["scanner"]],
            "proven" if r["status"] == "optimal" else f"{r['stopped_by']}, {r['value']:g} of at "
            f"most {r['bound']:g}",
            str(r["passes"]), _bytes(r["bytes_read"]) if r["bytes_read"] else "",
            short(r["seconds"]), short(r["cpu"]), f"{r['cpu'] / own:.1f} ×" if own else "",
            _bytes(r["peak"]), _bytes(r["peak_worker"]) if r["peak_worker"] else "",
        ))  # fmt: skip
    header = (
        "rows", "depth", "scanner", "rule", "passes", "read", "time", "processor time",
        "against local", "peak memory", "of a worker",
    )  # fmt: skip
    return Grid(header, rows, 4)


def _by_pass(records: Sequence[Record]) -> Grid:
    """Every pass of the largest local runs and of the largest on a cluster."""
    rows = []
    for scanner in NAMES:
        mine = [r for r in records if r["scanner"] == scanner]
        most = max((r["rows"] for r in mine), default=0)
        for r in (r for r in mine if r["rows"] == most and scanner != "dask1"):
            for at, one in enumerate(r["by_pass"]):
                rows.append((
                    NAMES[scanner], f"{r['rows'] / 1e6:g} million", str(r["depth"]), str(at + 1),
                    one["kind"], str(one["columns"]), str(one["sets"]), short(one["cpu"]),
                    _bytes(one["bytes_read"]) if one["bytes_read"] else "",
                    _bytes(one["task_bytes"]), _bytes(one["result_bytes"]),
                ))  # fmt: skip
    header = (
        "scanner", "rows", "depth", "pass", "for", "columns", "sets counted", "processor time",
        "read", "task", "result",
    )  # fmt: skip
    return Grid(header, rows, 5)


@dataclass(frozen=True)
class Cost:
    """Constants of the model, in seconds of a processor; `driver` is what passes do not take."""

    start: float  # once, in the first pass: kernels are loaded
    first: float  # a value in the first pass, which looks for distinct ones
    value: float  # a value in any other
    update: float  # a row in a set of features that is counted
    box: float  # a row held against a box that is refined
    driver: float

    def of_pass(self, n_rows: float, one: Record) -> float:
        """Processor time of a pass."""
        costs = (self.start, self.first, self.value, self.update, self.box)
        return float(np.dot(costs, _work(n_rows, one)))


def _work(n_rows: float, one: Record) -> tuple[float, ...]:
    """How often each constant is paid in a pass."""
    values = n_rows * one["columns"]
    is_first = one["kind"] == "summary"
    return (
        is_first, values if is_first else 0, 0 if is_first else values, n_rows * one["sets"],
        n_rows * one.get("boxes", 0),
    )  # fmt: skip


def fit(records: Sequence[Record]) -> Cost:
    """The constants that explain the passes of some runs best, none of them negative.

    Every pass counts the same, long or short: it is the relative error that is made small.
    """
    passes = [(r, one) for r in records for one in r["by_pass"]]
    known = np.array([_work(r["n_rows"], one) for r, one in passes], float)
    seconds = np.array([max(0.05, one["cpu"]) for _, one in passes])
    known /= seconds[:, None]
    spread = known.max(axis=0)
    spread[spread == 0] = 1
    constants = nnls(known / spread, np.ones(len(seconds)))[0] / spread
    rest = [r["cpu"] - sum(one["cpu"] for one in r["by_pass"]) for r in records]
    return Cost(*constants.tolist(), max(0.0, float(np.mean(rest))))


def cost_grids(records: Sequence[Record]) -> list[Captioned]:
    """The constants, the check, and the extension."""
    costs = {}
    for scanner in NAMES:
        mine = [r for r in records if r["scanner"] == scanner]
        if mine:
            costs[scanner] = fit(mine)
    return [
        (
            "Constants, in processor time, fitted to the passes of all runs below:",
            _constants(costs, counted="boxes" in records[0]["by_pass"][0]),
        ),
        (
            "What they say of the same runs; no run was kept apart to test them:",
            _check(costs, records),
        ),
        *_extended(costs, records),
    ]


def _constants(costs: dict[str, Cost], *, counted: bool) -> Grid:
    rows = [
        (
            NAMES[scanner], short(cost.start), *(
                f"{1e9 * each:.3g} ns" for each in (cost.first, cost.value, cost.update)
            ), f"{1e9 * cost.box:.3g} ns" if counted else "not measured", short(cost.driver),
        )
        for scanner, cost in costs.items()
    ]  # fmt: skip
    header = (
        "fitted to", "to begin", "a value, first pass", "a value, others", "a row in a set",
        "a row at a box", "the driver",
    )  # fmt: skip
    return Grid(header, rows)


def _check(costs: dict[str, Cost], records: Sequence[Record]) -> Grid:
    rows = []
    for r in records:
        cost = costs[r["scanner"]]
        said = cost.driver + sum(cost.of_pass(r["n_rows"], one) for one in r["by_pass"])
        rows.append((
            NAMES[r["scanner"]], f"{r['rows'] / 1e6:g} million", str(r["depth"]), short(said),
            short(r["cpu"]), f"{100 * (said / r['cpu'] - 1):+.0f} %",
        ))  # fmt: skip
    header = ("run", "rows", "depth", "predicted processor time", "measured", "off by")
    return Grid(header, rows)


def _extended(costs: dict[str, Cost], records: Sequence[Record]) -> list[Captioned]:
    """What the model says of clusters, by the constants of the local runs.

    Those of Dask and Spark come from runs so short that starting the workers is most of them.
    """
    local = [r for r in records if r["scanner"] == "local" and r["status"] == "optimal"]
    if not local:
        return []
    most = max(r["rows"] for r in local)
    cost = costs["local"]
    rows = []
    for r in (r for r in local if r["rows"] == most):
        for n_rows, workers in CLUSTERS:
            rows.append((f"10^{round(math.log10(n_rows))}", str(r["depth"]), f"{workers:,}",
                         *_cluster(cost, r, n_rows, workers)))  # fmt: skip
    header = (
        "rows", "depth", "workers", "passes", "scanned", "moved in all", "driver memory", "reading",
        "counting", "scheduler", "network", "time", "breaks first",
    )  # fmt: skip
    caption = (
        "On paper, not measured: the passes of the largest local run with the "
        "local constants, on more rows, "
        f"assuming partitions of a million, {BANDWIDTH * 8 / 1e9:.0f} Gbit/s to "
        f"each worker, 1 ms of the "
        f"scheduler per task, results added up by {FAN_IN}, and one more pass for every "
        f"{SHRINK}-fold of the rows. The last column names what takes most of the time."
    )
    return [(caption, Grid(header, rows))]


def _cluster(cost: Cost, r: Record, n_rows: int, workers: int) -> tuple[str, ...]:
    """One line of the extension: the passes of a measured run, on more rows."""
    more = max(0, math.ceil(math.log(n_rows / r["n_rows"], SHRINK)))
    passes = [*r["by_pass"], *[r["by_pass"][-1]] * more]
    tasks = math.ceil(n_rows / ROWS_PER_TASK)
    bytes_of = [one["bytes_read"] * n_rows / r["n_rows"] for one in passes]
    results = [one["result_bytes"] for one in passes]
    levels = max(1.0, math.log(max(2, tasks), FAN_IN))
    times = {
        "reading": cost.start
        + sum(cost.of_pass(n_rows, one | {"sets": 0}) for one in passes) / workers,
        "counting": sum(cost.update * n_rows * one["sets"] for one in passes) / workers,
        "the scheduler": len(passes) * SCHEDULING * tasks * (1 + 1 / (FAN_IN - 1)),
        "the network": sum(
            size * (tasks / workers + FAN_IN * levels) / BANDWIDTH for size in results
        ),
    }
    moved = sum(results) * tasks * FAN_IN / (FAN_IN - 1)
    worst = max(times, key=lambda name: times[name])
    total = sum(times.values()) + cost.driver
    return (
        str(len(passes)), _bytes(sum(bytes_of)), _bytes(moved), _bytes(r["peak"]),
        *(_span(seconds) for seconds in times.values()), _span(total), worst,
    )  # fmt: skip


def _span(seconds: float) -> str:
    if seconds < 120:
        return short(seconds)
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 999.5:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} PB"
