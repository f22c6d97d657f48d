"""Tables cut into partitions, and a scanner of tables in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from opdt.problem import Problem
from opdt.scale import Parts, Scanner, Source, Task, Watch, discover_partitioned
from opdt.solution import Solution
from opdt.table import Kind


class TableScanner(Scanner):
    """Partitions that are Arrow tables; merged in an order of their own."""

    def __init__(self, tables: list[pa.Table]) -> None:
        self.tables = tables
        self.passes = 0

    def sources(self) -> list[Source]:
        return [Source(f"part {i}", table.schema) for i, table in enumerate(self.tables)]

    def scan(self, task: Task, watch: Watch) -> Parts:
        self.passes += 1
        columns = list(dict.fromkeys(task.columns))
        total = task.run(iter(()), -1)
        for place, table in enumerate(self.tables):
            part = task.run([table.select(columns)] if len(table) else [], place)
            total = task.merge(total, part) if place % 2 else task.merge(part, total)
            watch(place + 1, len(self.tables))
        return total


def arrow_of(problem: Problem) -> pa.Table:
    """The rows of a problem's table, as they might lie in a file."""
    table = problem.table
    columns: dict[str, Any] = {}
    for column in table.columns:
        cells = np.append(column.values.astype(object), [None])[column.codes].tolist()
        if column.values.dtype.kind == "M":
            cells = np.append(column.values, [np.datetime64("NaT")])[column.codes]
        columns[column.name] = pa.array(cells)
    columns["y"] = pa.array(table.classes[table.labels])
    if table.weights is not None:
        columns["weight"] = pa.array(table.weights)
    return pa.table(columns)


def cut(table: pa.Table, rng: np.random.Generator, n_parts: int) -> list[pa.Table]:
    """The rows dealt out to partitions, some of which are empty."""
    owner = rng.integers(0, n_parts, size=len(table))
    if n_parts > 2:
        owner[owner == 1] = 0
    return [table.filter(pa.array(owner == i)) for i in range(n_parts)]


def settings_of(problem: Problem) -> dict[str, Any]:
    """The problem as arguments of `discover_partitioned`."""
    names = problem.table.names
    groups = {
        name: [names[f] for f in members]
        for name, members in problem.groups.members
        if name not in ("all", "num", "cat")
    }
    labels = problem.objective.labels
    classes = problem.table.classes.tolist()
    return {
        "y": "y",
        "structure": problem.structure,
        "groups": groups,
        "w": problem.objective.w,
        "target": classes[labels[0]] if len(labels) == 1 else None,
        "constraints": problem.constraints,
        "sample_weight": None if problem.table.weights is None else "weight",
        "kinds": {
            c.name: "categorical" for c in problem.table.columns if c.kind is Kind.CATEGORICAL
        },
    }


def solve(problem: Problem, source: Any, **more: Any) -> Solution:
    """The solution over partitions."""
    return discover_partitioned(source, **{**settings_of(problem), **more})


def shown(solution: Solution) -> tuple[Any, ...]:
    """What must be the same wherever the rows are."""
    return (
        solution.rule, solution.value, solution.bound, str(solution.status), solution.covered,
        solution.errors,
    )  # fmt: skip
