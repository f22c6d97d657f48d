"""Measures the search for whom to treat: `python benchmarks/effects.py --publish`.

The data are those of the first example of policytree's introduction, with more rows and columns,
and the same without any effect, where nothing tells one rule from another. Scores and search are
timed apart. Every figure goes at once into results/effects.jsonl.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, ROOT, Grid, Log, Record, latest, machine, read_log, versions
from publish import machine_line, replaced

from opdt import Budget, Problem, Uplift
from opdt.engines import get_engine

LOG = RESULTS / "effects.jsonl"
GUIDE = ROOT / "docs" / "guides" / "treatment-effects.md"
SEED = 0
# Rows and columns; the last is what users of policytree ask for and cannot have.
SIZES = ((1_000, 30), (10_000, 30), (100_000, 30), (100_000, 60), (100_000, 200))
QUICK = ((1_000, 10),)
# What policytree's introduction says of a depth-2 tree on so many rows and columns, splits at all
# values: with 20 actions, on a machine that it does not name.
PUBLISHED = {(1_000, 30): "1.5 min", (10_000, 30): "3 h", (100_000, 30): "50 h (every 10th split)",
             (100_000, 60): "25 h (two decimals)"}  # fmt: skip


def trial(n: int, p: int, *, effect: bool) -> tuple[dict[str, Any], np.ndarray]:
    """Columns of a trial, and the true effect of each row.

    Who is treated depends on x2, which drives the outcome; the effect falls with x0 + x1.
    """
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n, p))
    tau = (1 / (1 + np.exp((X[:, 0] + X[:, 1]) / 2)) - 0.5) * effect
    treated = rng.random(n) < 1 / (1 + np.exp(X[:, 2]))
    outcome = X[:, 2] + treated * tau + rng.normal(size=n)
    data: dict[str, Any] = {f"x{j}": X[:, j] for j in range(p)}
    return data | {"treated": treated, "outcome": outcome}, tau


def measure(log: Log, n: int, p: int, *, effect: bool, limit: float, threads: int) -> None:
    """One table: scores, search, and what treating by the rule is truly worth."""
    data, tau = trial(n, p, effect=effect)
    started = time.perf_counter()
    problem = Problem.of(data, objective=Uplift(treatment="treated", outcome="outcome"))
    scored = time.perf_counter() - started
    started = time.perf_counter()
    solution = get_engine("search").solve(problem, Budget(time_limit=limit, n_jobs=threads))
    searched = time.perf_counter() - started
    covered = np.zeros(n, bool) if solution.rule is None else solution.rule.covers(data)
    best = float(np.maximum(tau, 0).sum())
    record: Record = {
        "rows": n, "columns": p, "effect": effect, "seed": SEED, "scores": scored,
        "search": searched, "proven": solution.status.is_proven, "rule": str(solution.rule),
        "value": solution.value, "bound": solution.bound,
        "share": float(tau[covered].sum()) / best if best else None,
    }  # fmt: skip
    log.add("effects", **record)
    print("  " + ", ".join(f"{key} {value}" for key, value in record.items()), flush=True)


def grid(records: Sequence[Record]) -> Grid:
    """One line for each table."""
    header = ("rows × columns", "scores", "search", "proven", "of the best policy", "policytree")
    rows = []
    for r in records:
        share = "no effect" if r["share"] is None else f"{r['share']:.0%}"
        published = PUBLISHED.get((r["rows"], r["columns"]), "–") if r["effect"] else "–"
        size = f"{r['rows']:,} × {r['columns']}"
        proven = "yes" if r["proven"] else f"no: {r['value']:.4g} of at most {r['bound']:.4g}"
        rows.append(
            (size, f"{r['scores']:.1f} s", f"{r['search']:.1f} s", proven, share, published)
        )
    return Grid(header, rows)


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small table")
    parser.add_argument("--publish", action="store_true", help="put the table into the guide")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each search")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    shown = machine()
    print(", ".join(f"{key} {value}" for key, value in (shown | versions()).items()))
    if shown["load"] > 0.5:
        print("note: the machine is not idle, and the figures will show it", file=sys.stderr)
    log = Log(LOG, quick=options.quick, command=" ".join(sys.argv[1:]))
    sizes = QUICK if options.quick else SIZES
    measure_all(log, sizes, options)
    log.add("effects", end=True)
    measured = latest(read_log(LOG), "effects", quick=options.quick)
    assert measured is not None
    text = f"{grid(measured.records).markdown()}\n\n{machine_line(measured)}"
    print(text)
    if options.publish:
        page = Path(GUIDE)
        page.write_text(replaced(page.read_text(), "effects", text))


def measure_all(log: Log, sizes: Sequence[tuple[int, int]], options: argparse.Namespace) -> None:
    """All tables with an effect, and the largest without any; the first call compiles."""
    asked = {"limit": options.limit, "threads": options.threads}
    problem = Problem.of(*trial(400, 5, effect=True)[:1],
                         objective=Uplift(treatment="treated", outcome="outcome"))  # fmt: skip
    get_engine("search").solve(problem)
    for n, p in sizes:
        measure(log, n, p, effect=True, **asked)
    measure(log, *sizes[-1], effect=False, **asked)


if __name__ == "__main__":
    main()
