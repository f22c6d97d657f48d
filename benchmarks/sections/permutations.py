"""Permutation tests and bootstraps of the fifteen datasets at depth 2."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from common import Grid, Log, Record, short

from opdt import Table, discover
from opdt.analysis.intervals import holdout_report
from opdt.analysis.permutation import permutation_test
from opdt.analysis.stability import stability
from opdt.datasets import load
from opdt.errors import OpdtWarning

SECTION = "permutations"
N_PERMUTATIONS, N_BOOTSTRAP, SEED = 999, 200, 0


class Wanted(Protocol):
    """What the section needs to know."""

    data: Path | None
    datasets: tuple[str, ...]
    threads: int
    w: float
    quick: bool


def run(log: Log, settings: Wanted) -> None:
    """Measure all permutations, the sequential test, and the bootstraps of each dataset."""
    for name in settings.datasets:
        record = measure(name, settings)
        log.add(SECTION, **record)
        print(
            f"  {name}: {short(record['seconds'])} for {record['n_permutations']} permutations "
            f"({short(record['cpu'])} of processor time), p = {record['p_value']:.3g}",
            flush=True,
        )


def measure(name: str, settings: Wanted) -> Record:
    """One dataset: every permutation, then with early stopping, then the bootstraps."""
    data = load(name, folder=settings.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)  # of constant columns, and of quick runs
        table = Table.build(data.X, data.y)
        arguments: dict[str, Any] = {"w": settings.w, "n_jobs": settings.threads, "seed": SEED}
        count = 19 if settings.quick else N_PERMUTATIONS
        discover(table, w=settings.w)  # compiles, and is not timed
        permutation_test(table, n_permutations=2, **arguments)
        load_before, cpu = os.getloadavg()[0], [time.process_time()]
        full = permutation_test(table, n_permutations=count, early_stop=False, **arguments)
        cpu.append(time.process_time())
        early = permutation_test(table, n_permutations=count, **arguments)
        cpu.append(time.process_time())
        drawn = stability(table, n_bootstrap=10 if settings.quick else N_BOOTSTRAP, **arguments)
        cpu.append(time.process_time())
    solution = full.solution
    assert solution.rule is not None  # each of the fifteen has one
    # what a test would say that knows nothing of the search
    naive = holdout_report(solution.rule, data.X, data.y).p_value
    return {
        "dataset": name,
        "rows": table.n_rows,
        "features": table.n_features,
        "value": full.value,
        "status": str(solution.status),
        "rule": str(solution.rule),
        "precision": solution.precision,
        "n_permutations": full.n_done,
        "hits": full.hits,
        "undecided": full.n_undecided,
        "p_value": full.p_value,
        "naive_p_value": naive,
        "seconds": full.seconds,
        "cpu": cpu[1] - cpu[0],
        "load": load_before,
        "early_p_value": early.p_value,
        "early_n": early.n_done,
        "early_seconds": early.seconds,
        "early_cpu": cpu[2] - cpu[1],
        "bootstraps": drawn.n_done,
        "bootstrap_seconds": drawn.seconds,
        "bootstrap_cpu": cpu[3] - cpu[2],
        "same_rule": drawn.same_rule,
        "same_form": drawn.same_form,
        "same_features": drawn.same_features,
        "overlap": float(np.median(drawn.overlap)),
        "left_out_precision": drawn.left_out_precision,
        "seed": SEED,
    }


def grids(records: Sequence[Record]) -> list[Grid]:
    """What it says, and what it costs."""
    return [result_grid(records), time_grid(records)]


def time_grid(records: Sequence[Record]) -> Grid:
    """What it costs: by the clock, and in processor time of all threads together."""
    header = (
        "dataset", "rows × features", "999 permutations", "processor", "with early stopping",
        "processor", "permutations then", "200 bootstraps", "processor",
    )  # fmt: skip
    rows = [
        (
            r["dataset"],
            f"{r['rows']} × {r['features']}",
            short(r["seconds"]),
            short(r["cpu"]),
            short(r["early_seconds"]),
            short(r["early_cpu"]),
            str(r["early_n"]),
            short(r["bootstrap_seconds"]),
            short(r["bootstrap_cpu"]),
        )
        for r in records
    ]
    return Grid(header, rows)


def result_grid(records: Sequence[Record]) -> Grid:
    """What it says."""
    header = (
        "dataset", "VI", "p-value", "as good, of 999", "without the search", "precision",
        "on left-out rows", "same features", "same form", "same rule", "overlap",
    )  # fmt: skip
    rows = [
        (
            r["dataset"],
            f"{r['value']:g}",
            f"{r['p_value']:.3f}",
            str(r["hits"]),
            f"{r['naive_p_value']:.1g}",
            f"{r['precision']:.1%}",
            f"{r['left_out_precision']:.1%}",
            f"{r['same_features']:.0%}",
            f"{r['same_form']:.0%}",
            f"{r['same_rule']:.0%}",
            f"{r['overlap']:.0%}",
        )
        for r in records
    ]
    return Grid(header, rows)
