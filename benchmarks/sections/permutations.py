"""Permutation tests and bootstraps of the fifteen datasets at depth 2.

A section like the others; or alone, from the folder of the benchmarks:

    python -m sections.permutations
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from common import RESULTS, Grid, Log, Record, latest, machine, read_log, short, versions

from opdt import Table, discover
from opdt.analysis.permutation import permutation_test
from opdt.analysis.stability import stability
from opdt.datasets import load, names
from opdt.errors import OpdtWarning

SECTION = "permutations"
N_PERMUTATIONS, N_BOOTSTRAP, SEED = 999, 200, 0
GOAL = 20.0  # seconds for all permutations of one dataset


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
        load_before, cpu = os.getloadavg()[0], time.process_time()
        full = permutation_test(table, n_permutations=count, early_stop=False, **arguments)
        cpu = time.process_time() - cpu
        early = permutation_test(table, n_permutations=count, **arguments)
        drawn = stability(table, n_bootstrap=10 if settings.quick else N_BOOTSTRAP, **arguments)
    solution = full.solution
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
        "seconds": full.seconds,
        "cpu": cpu,
        "load": load_before,
        "early_p_value": early.p_value,
        "early_n": early.n_done,
        "early_seconds": early.seconds,
        "bootstraps": drawn.n_done,
        "bootstrap_seconds": drawn.seconds,
        "same_rule": drawn.same_rule,
        "same_form": drawn.same_form,
        "same_features": drawn.same_features,
        "overlap": float(np.median(drawn.overlap)),
        "left_out_precision": drawn.left_out_precision,
        "seed": SEED,
    }


def time_grid(records: Sequence[Record]) -> Grid:
    """What it costs."""
    header = (
        "dataset", "rows × features", "999 permutations", "processor time", "with early stopping",
        "permutations then", "200 bootstraps",
    )  # fmt: skip
    rows = [
        (
            r["dataset"],
            f"{r['rows']} × {r['features']}",
            short(r["seconds"]),
            short(r["cpu"]),
            short(r["early_seconds"]),
            str(r["early_n"]),
            short(r["bootstrap_seconds"]),
        )
        for r in records
    ]
    return Grid(header, rows)


def result_grid(records: Sequence[Record]) -> Grid:
    """What it says."""
    header = (
        "dataset", "VI", "p-value", "as good, of 999", "precision", "of rows left out",
        "same rule", "same form", "same features", "overlap",
    )  # fmt: skip
    rows = [
        (
            r["dataset"],
            f"{r['value']:g}",
            f"{r['p_value']:.3f}",
            str(r["hits"]),
            f"{r['precision']:.1%}",
            f"{r['left_out_precision']:.1%}",
            f"{r['same_rule']:.0%}",
            f"{r['same_form']:.0%}",
            f"{r['same_features']:.0%}",
            f"{r['overlap']:.0%}",
        )
        for r in records
    ]
    return Grid(header, rows)


def write_results(path: Path, *, quick: bool = False) -> None:
    """Write the tables of the last run that came to its end, beside its log."""
    measured = latest(read_log(path), SECTION, quick=quick)
    if measured is None:
        return
    shown = {**measured.run["machine"], **measured.run["versions"]}
    about = ", ".join(f"{key} {value}" for key, value in shown.items())
    slow = [r["dataset"] for r in measured.records if r["seconds"] > GOAL]
    words = f"{', '.join(slow)} took longer than" if slow else "all datasets within"
    text = "\n\n".join(
        [
            f"Measured {measured.run['run']}: {about}; seed {SEED}; {words} {GOAL:.0f} s.",
            time_grid(measured.records).markdown(),
            result_grid(measured.records).markdown(),
        ]
    )
    (RESULTS / f"{SECTION}.md").write_text(text + "\n")
    result_grid(measured.records).write_csv(RESULTS / f"{SECTION}.csv")


def main() -> None:
    """Run this section alone."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="a smoke run; no tables are written")
    add("--data", type=Path, help="folder of the raw datasets (default: OPDT_DATA)")
    add("--threads", type=int, default=2)
    add("--w", type=float, default=10.0, help="price of an error")
    add("--datasets", nargs="+", default=tuple(names()), choices=names())
    settings = parser.parse_args()
    path = RESULTS / f"{SECTION}.jsonl"
    log = Log(path, quick=settings.quick, command=" ".join(sys.argv[1:]))
    print(", ".join(f"{key} {value}" for key, value in (machine() | versions()).items()))
    run(log, settings)
    log.add(SECTION, end=True)
    if not settings.quick:
        write_results(path)


if __name__ == "__main__":
    main()
