"""Measures the MIP engine: warm start and priorities on and off, two solvers, two formulations.

The search engine solves the same problems in the same run. Every figure goes at once into
results/mip.jsonl with its trace; tables of medians over the seeds into results/mip.csv and mip.md.

    python benchmarks/mip.py --data FOLDER --limit 60 --seeds 3
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from common import RESULTS, Log, machine, versions

from opdt.datasets import load
from opdt.engines import Engine, engine_names, get_engine
from opdt.engines.mip import MIPEngine
from opdt.engines.mip.solver import get_adapter
from opdt.problem import Problem, Structure
from opdt.solution import Budget, Solution
from opdt.table import Table

DATASETS = ("hepatitis", "fertility", "echocardiogram", "chronic_kidney")
PACKAGES = {"scip": "pyscipopt", "highs": "highspy", "gurobi": "gurobipy"}
COLUMNS = (
    "dataset", "rows", "structure", "engine", "warm_start", "priorities", "runs", "value",
    "bound", "proven", "seconds", "to_best", "nodes",
)  # fmt: skip


def options() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the raw files; fetched if left out")
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--solvers", nargs="+", default=["scip", "highs"], choices=PACKAGES)
    parser.add_argument("--formulations", nargs="+", default=["paper", "path"])
    parser.add_argument(
        "--structure", nargs="+", default=["all", "all"], help="group of each level"
    )
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each solve")
    parser.add_argument("--seeds", type=int, default=1, help="solves of each, seeds 0, 1, …")
    parser.add_argument("--w", type=float, default=10.0)
    return parser.parse_args()


def solver_versions(asked: argparse.Namespace) -> list[str]:
    """Names and versions of the solvers that take part."""
    return [get_adapter(s).version() for s in asked.solvers if find_spec(PACKAGES[s]) is not None]


def engines(asked: argparse.Namespace, seed: int) -> Iterator[tuple[dict[str, Any], Engine]]:
    """Every engine to measure with the words that describe it, `search` first."""
    if "search" in engine_names():
        yield {"engine": "search", "warm_start": None, "priorities": None}, get_engine("search")
    for solver, formulation in product(asked.solvers, asked.formulations):
        if find_spec(PACKAGES[solver]) is None:
            print(f"{solver} is not installed and left out", file=sys.stderr)
            continue
        # HiGHS has no priorities, so that the two settings would measure the same thing.
        for start, priorities in product(
            [True, False], [False] if solver == "highs" else [True, False]
        ):
            engine = MIPEngine(
                solver=solver,
                formulation=formulation,
                warm_start=start,
                priorities=priorities,
                seed=seed,
            )
            words = {"engine": f"{solver} {formulation}", "warm_start": start}
            yield {**words, "priorities": priorities}, engine


def measure(problem: Problem, engine: Engine, limit: float) -> dict[str, Any]:
    """One solve: value, bound, seconds, and the moments at which either improved."""
    solution = engine.solve(problem, Budget(time_limit=limit, n_jobs=1))
    return {
        "value": solution.value,
        "bound": solution.bound,
        "status": str(solution.status),
        "seconds": round(solution.seconds, 4),
        "to_best": round(time_to_best(solution), 4),
        "nodes": solution.statistics.nodes,
        "trace": [[round(p.seconds, 4), p.value, p.bound] for p in solution.trace],
    }


def time_to_best(solution: Solution) -> float:
    """When the value was first what it is in the end."""
    times = [point.seconds for point in solution.trace if point.value == solution.value]
    return min(times, default=solution.seconds)


def medians(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per dataset and engine: medians over the seeds, and how many were proven."""
    keys = ("dataset", "rows", "structure", "engine", "warm_start", "priorities")
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in records:
        cells.setdefault(tuple(record[key] for key in keys), []).append(record)
    out = []
    for cell, runs in cells.items():
        line = dict(zip(keys, cell, strict=True))
        for name in ("value", "bound", "seconds", "to_best", "nodes"):
            line[name] = round(statistics.median(run[name] for run in runs), 3)
        line["runs"] = len(runs)
        line["proven"] = sum(run["status"] not in ("feasible", "unknown") for run in runs)
        out.append(line)
    return out


def write(lines: list[dict[str, Any]], head: str) -> None:
    """The medians as CSV and Markdown."""
    with (RESULTS / "mip.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)
    words = {True: "on", False: "off", None: ""}
    rows = [
        [words.get(line[name], "") if name in COLUMNS[4:6] else str(line[name]) for name in COLUMNS]
        for line in lines
    ]
    table = ["| " + " | ".join(row) + " |" for row in (COLUMNS, ["---"] * len(COLUMNS), *rows)]
    (RESULTS / "mip.md").write_text("\n".join([head, "", *table, ""]), encoding="utf-8")


def main() -> None:
    """Measure, print, write."""
    asked = options()
    log = Log(RESULTS / "mip.jsonl", quick=False, command=" ".join(sys.argv[1:]))
    head = (
        f"Machine {machine()}; versions {versions()}; {', '.join(solver_versions(asked))}; "
        f"seeds 0 to {asked.seeds - 1}; one thread; "
        f"{asked.limit:g} s for each solve; w = {asked.w:g}."
    )
    print(head)
    records = []
    for name in asked.datasets:
        data = load(name, folder=asked.data)
        table = Table.build(data.X, data.y, warn=False)
        problem = Problem.build(table, w=asked.w, structure=Structure.levels(*asked.structure))
        about = {"dataset": name, "rows": table.n_rows, "structure": "-".join(asked.structure)}
        for seed in range(asked.seeds):
            for words, engine in engines(asked, seed):
                if words["engine"] == "search":
                    engine.solve(problem)  # compiles; not counted
                record = {**about, **words, "seed": seed, **measure(problem, engine, asked.limit)}
                log.add("mip", **record)
                records.append(record)
                shown = {key: each for key, each in record.items() if key != "trace"}
                print(*shown.values(), sep="  ", flush=True)
    write(medians(records), head)


if __name__ == "__main__":
    main()
