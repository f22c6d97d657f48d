"""Run in a process of its own: make a large table, or solve it and tell time and peak memory."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sections.problems import pattern

from opdt.engines.search import SearchEngine, Switches
from opdt.problem import Problem, Structure
from opdt.solution import Budget, Solution
from opdt.table import Table

# The rows that the kernels are compiled or loaded on, before the clock starts.
WARM_ROWS = 2_000


def peak() -> int:
    """The largest resident size of this process so far, in bytes.

    `ru_maxrss` also counts the parent before the start of this program, so the kernel's own
    figure is taken where there is one.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return size if sys.platform == "darwin" else size * 1024
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def make(folder: Path, kind: str, n_rows: int, n_features: int) -> dict[str, object]:
    """Write a table to disk."""
    data = pattern(kind, n_rows, n_features, seed=0)
    np.save(folder / "X.npy", data.X)
    np.save(folder / "y.npy", data.y)
    return {"rule": str(data.rule)}


def measure(folder: Path, depth: int, w: float, threads: int, limit: float) -> dict[str, object]:
    """Read a table, code it, solve it."""
    budget = Budget(time_limit=limit, n_jobs=threads)
    program = peak()
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    for large_rows in (WARM_ROWS - 1, WARM_ROWS):  # both ways of searching
        few = Table.build(X[:WARM_ROWS], y[:WARM_ROWS])
        solve(few, depth, w, budget, Switches(large_rows=large_rows))
    before = peak()
    started = time.perf_counter()
    table = Table.build(X, y)
    coded, coded_peak = time.perf_counter() - started, peak()
    started = time.perf_counter()
    solution = solve(table, depth, w, budget, Switches())
    seconds = time.perf_counter() - started
    return {
        "input": X.nbytes + y.nbytes,
        "program": program,
        "before": before,
        "coding": coded,
        "coding_peak": coded_peak,
        "seconds": seconds,
        "peak": peak(),
        "value": solution.value,
        "bound": solution.bound,
        "gap": solution.gap,
        "status": str(solution.status),
        "found": str(solution.rule),
        "nodes": solution.statistics.nodes,
        "evaluations": solution.statistics.evaluations,
    }


def solve(table: Table, depth: int, w: float, budget: Budget, switches: Switches) -> Solution:
    """From the coded table to the audited solution."""
    problem = Problem.build(table, structure=Structure.free(depth), w=w)
    return SearchEngine(switches=switches).solve(problem, budget)


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    task = {"make": make, "measure": measure}[order.pop("task")]
    print(json.dumps(task(Path(order.pop("folder")), **order)))
