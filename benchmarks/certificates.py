"""Measures certificates: `python benchmarks/certificates.py --publish`.

For each of the fifteen datasets: solving, writing the certificate, and checking it from its file by
the independent checker; then a large table. Every figure goes at once into
results/certificates.jsonl.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from common import (
    RESULTS,
    ROOT,
    Grid,
    Log,
    Record,
    latest,
    machine,
    median,
    read_log,
    short,
    versions,
)
from publish import machine_line, replaced

from opdt import Certificate, Problem, certify, datasets, discover

LOG = RESULTS / "certificates.jsonl"
PAGE = ROOT / "docs" / "performance.md"
REPEATS = 5
SEED = 0


def planted(rows: int, features: int) -> Problem:
    """Uniform columns; the class is frequent where two of them are large."""
    rng = np.random.default_rng(SEED)
    X = rng.random((rows, features), dtype=np.float32)
    y = rng.random(rows) < np.where((X[:, 3] >= 0.6) & (X[:, 7] < 0.5), 0.97, 0.3)
    return Problem.of(X, y.astype(int), label=1, max_depth=2)


def measure(log: Log, name: str, problem: Problem, depth: int, repeats: int) -> None:
    """One table: solve, write, check."""
    solving, writing, checking = [], [], []
    certify(problem, discover(problem))  # compiles
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            started = time.perf_counter()
            solution = discover(problem)
            solved = time.perf_counter()
            made = certify(problem, solution)
            path = made.save(Path(folder) / "rule.cert")
            written = time.perf_counter()
            solving.append(solved - started)
            writing.append(written - solved)
        for _ in range(min(3, repeats)):
            started = time.perf_counter()
            said = Certificate.load(path).verify(problem)
            checking.append(time.perf_counter() - started)
        size = path.stat().st_size
    print(f"{name}, depth {depth}: {said}", flush=True)
    log.add(
        "certificates", name=name, depth=depth, rows=problem.table.n_rows,
        features=problem.table.n_features, status=str(solution.status), value=solution.value,
        solve=median(solving), write=median(writing), check=median(checking), bytes=size,
        boxes=made.n_boxes, repeats=repeats, seed=SEED,
    )  # fmt: skip


def table(records: Sequence[Record]) -> Grid:
    """What is published."""
    titles = ["table", "depth", "solve", "write", "× solve", "check", "file", "boxes"]
    rows = [
        [
            f"{r['name']} ({r['rows']:,} × {r['features']})", str(r["depth"]), short(r["solve"]),
            short(r["write"]), f"{r['write'] / r['solve']:.1f}", short(r["check"]),
            f"{r['bytes'] / 1000:.1f} kB", f"{r['boxes']:,}",
        ]
        for r in records
    ]  # fmt: skip
    return Grid(titles, rows)


def main() -> None:
    """Measure, and publish if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two datasets, a small large table")
    parser.add_argument("--large-rows", type=int, default=1_000_000)
    parser.add_argument("--depths", default="2,3")
    parser.add_argument("--publish", action="store_true")
    asked = parser.parse_args()
    log = Log(LOG, quick=asked.quick, command=" ".join(sys.argv))
    print(machine(), versions())
    for depth in map(int, asked.depths.split(",")):
        for name in datasets.names()[: 2 if asked.quick else None]:
            data = datasets.load(name)
            problem = Problem.of(data.X, data.y, max_depth=depth)
            measure(log, name, problem, depth, 2 if asked.quick else REPEATS)
    rows = 20_000 if asked.quick else asked.large_rows
    if rows:
        measure(log, "planted pattern", planted(rows, 50), 2, 1)
    log.add("certificates", end=True)
    if asked.publish:
        measured = latest(read_log(LOG), "certificates", quick=asked.quick)
        assert measured is not None
        text = table(measured.records).markdown() + "\n\n" + machine_line(measured)
        PAGE.write_text(replaced(PAGE.read_text(), "certificates", text))


if __name__ == "__main__":
    main()
