"""Random tables cut into partitions, and what any scanner of them must answer.

`check_case(seed, scanner_of)` is the one test of a scanner: `scanner_of` turns a list of Arrow
tables, the partitions, into whatever `discover_partitioned` takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from opdt.engines import get_engine
from opdt.engines.search import Switches
from opdt.problem import Problem, VolumeImpurity
from opdt.scale import PartitionSource, Parts, Scanner, ScanTask, Watch, discover_partitioned
from opdt.solution import Solution
from opdt.table import Table
from sorts import SORTS
from strategies import (
    OPTIONS,
    group_names,
    random_constraints,
    random_groups,
    random_structure,
    random_weights,
)


class TableScanner(Scanner):
    """Partitions that are Arrow tables; merged in an order of their own."""

    def __init__(self, tables: list[pa.Table]) -> None:
        self.tables = tables
        self.passes = 0

    def sources(self) -> list[PartitionSource]:
        return [PartitionSource(f"part {i}", table.schema) for i, table in enumerate(self.tables)]

    def scan(self, task: ScanTask, watch: Watch) -> Parts:
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
        "label": classes[labels[0]] if len(labels) == 1 else None,
        "constraints": problem.constraints,
        "sample_weight": None if problem.table.weights is None else "weight",
        "roles": {c.name: str(c.kind) for c in problem.table.columns},
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


# -- problems of all sorts -------------------------------------------------------------------

PARTITIONED = [sort for sort in SORTS if sort != "with_gains"]  # gains of rows are for memory


def check_problem(
    problem: Problem, seed: int, source_of: Callable[[list[pa.Table]], Any], **more: Any
) -> None:
    """Assert that partitions give the rule of the in-memory engine, whatever is turned off."""
    rng = np.random.default_rng(seed)
    parts = cut(arrow_of(problem), rng, int(rng.integers(1, 6)))
    off = [name for name in ("seeding", "prices", "pairs", "strips") if rng.random() < 0.25]
    switches = Switches(**dict.fromkeys(off, False))
    found = solve(problem, source_of(parts), switches=switches, **more)
    assert shown(found) == shown(get_engine("search").solve(problem))


def check_sort(
    sort: str, seed: int, source_of: Callable[[list[pa.Table]], Any], **more: Any
) -> None:
    """As `check_problem`, for a problem of one sort that partitions take: weights of few digits."""
    problem = SORTS[sort](np.random.default_rng(seed))
    weights = problem.table.weights
    exact = weights is None or bool((np.round(weights, 6) == weights).all())
    if exact and isinstance(problem.objective, VolumeImpurity):
        check_problem(problem, seed, source_of, **more)


# -- random cases ----------------------------------------------------------------------------

FEATURES = ("real", "single", "whole", "flag", "day", "text", "code")
NAMES = ("delta", "alpha", "gamma", "beta", "eta")


class Case(NamedTuple):
    """A problem in memory, and the same rows in partitions."""

    problem: Problem
    parts: list[pa.Table]


def check_case(
    seed: int,
    scanner_of: Callable[[list[pa.Table]], Any],
    *,
    max_rows: int = 20_000,
    uniform: bool = False,
    **settings: Any,
) -> None:
    """Assert that the scanner leads to the rule, value and bound of the in-memory engine.

    `uniform` asks for partitions of one schema, which some frames insist on; `settings` go to
    `discover_partitioned`.
    """
    case = random_case(seed, max_rows=max_rows, uniform=uniform)
    there = solve(case.problem, scanner_of(case.parts), **settings)
    assert shown(there) == shown(get_engine("search").solve(case.problem))


def random_case(seed: int, *, max_rows: int = 20_000, uniform: bool = False) -> Case:
    """Rows of any kinds with a planted rule, any structure and constraints, in partitions.

    Every fifth case is as large as it may be; deep rules are asked of fewer rows, to end soon.
    """
    rng = np.random.default_rng([8, seed])
    depth = int(rng.choice([1, 2, 2, 3]))
    most = max_rows if depth < 3 else min(max_rows, 1500)
    n_rows = most if seed % 5 == 0 else int(np.exp(rng.uniform(np.log(2), np.log(most))))
    columns = {
        name: random_feature(rng, str(rng.choice(FEATURES)), n_rows)
        for name in NAMES[: int(rng.integers(1, 6 - depth // 3))]
    }
    kinds = {name: kind for name, (kind, _) in columns.items()}
    table = pa.table({name: cells for name, (_, cells) in columns.items()})
    labels = random_target(rng, table)
    weighted = str(rng.choice(["none", "none", "integers", "decimals"]))
    weights = random_weights(rng, n_rows, weighted)
    built = Table.build(table, labels, sample_weight=weights, roles=kinds, warn=False)
    groups = random_groups(rng, built) if rng.random() < 0.4 else None
    shape = str(rng.choice(["free", "free", "levels", "tree"]))
    structure = random_structure(rng, shape, depth, group_names(built, groups))
    chosen = {name for name in OPTIONS if rng.random() < 0.12}
    if any(built.columns[f].n_values > 5 for f in built.categorical):
        chosen.discard("subsets")  # so many sets of levels take long in memory too
    constraints = random_constraints(rng, built, chosen, structure.depth)
    target = rng.choice(built.classes.tolist()) if rng.random() < 0.4 else None
    w = float(rng.choice([1.1, 2, 2.5, 5, 10]))
    problem = Problem.build(
        built, structure=structure, groups=groups, w=w, label=target, constraints=constraints
    )
    table = table.append_column("y", labels)
    if weights is not None:
        table = table.append_column("weight", pa.array(weights, pa.float64()))
    parts = cut(table, rng, int(rng.integers(1, 9)))
    return Case(problem, parts if uniform else disguised(rng, parts))


def random_feature(rng: np.random.Generator, sort: str, n_rows: int) -> tuple[str, pa.Array]:
    """A column of a sort, with missing values or without; its kind and its cells."""
    few = int(rng.integers(2, 30))
    made: dict[str, Callable[[], Any]] = {
        "real": lambda: rng.normal(size=n_rows),
        "single": lambda: rng.exponential(50, n_rows).astype(np.float32).astype(np.float64),
        "whole": lambda: rng.integers(-few, few, n_rows),
        "flag": lambda: rng.random(n_rows) < 0.4,
        "day": lambda: np.datetime64("2024-02-27") + rng.integers(0, 40 * few, n_rows),
        "text": lambda: rng.choice(["low", "high", "Mid", "", "Ä", *map(str, range(few))], n_rows),
        "code": lambda: rng.choice([10, 2, -1, 7], n_rows),
    }
    share = float(rng.choice([0, 0, 0.1, 0.5]))
    gone = rng.random(n_rows) < share if share else None
    kind = "categorical" if sort in ("text", "code") else "numeric"
    return kind, pa.array(made[sort](), mask=gone)


def random_target(rng: np.random.Generator, table: pa.Table) -> pa.Array:
    """Labels of two or three classes: a planted conjunction, and noise."""
    n_rows = len(table)
    fires = np.ones(n_rows, bool)
    for name in table.column_names[:2]:
        cells = np.argsort(np.argsort(table.column(name).to_pandas().astype(str), kind="stable"))
        fires &= cells >= rng.uniform(0.2, 0.8) * n_rows
    noise = rng.random(n_rows)
    classes = [["no", "yes", "maybe"], [0, 1, 2], [False, True]][int(rng.integers(3))]
    codes = np.where(noise < 0.12, rng.integers(0, len(classes), n_rows), fires.astype(int))
    codes[:2] = [0, 1]  # at least two classes
    return pa.array([classes[code] for code in codes])


def disguised(rng: np.random.Generator, parts: list[pa.Table]) -> list[pa.Table]:
    """The partitions with types of their own where these hold the same values."""
    out = []
    for part in parts:
        columns = {}
        for name in part.column_names:
            column = part.column(name)
            columns[name] = column if name == "weight" else _disguised(rng, name, column)
        out.append(pa.table(columns))
    return out


def _disguised(rng: np.random.Generator, name: str, column: pa.ChunkedArray) -> Any:
    dtype = column.type
    if name != "y" and column.null_count == len(column) and rng.random() < 0.5:
        return pa.nulls(len(column))
    if rng.random() < 0.5:
        return column
    if pa.types.is_string(dtype):
        return column.dictionary_encode() if rng.random() < 0.5 else column.cast(pa.large_string())
    if pa.types.is_integer(dtype):
        return (
            column.cast(str(rng.choice(["int8", "int16", "int32"])), safe=False)
            if (_small(column))
            else column
        )
    if pa.types.is_floating(dtype):
        narrow = column.cast(pa.float32(), safe=False)
        return narrow if narrow.cast(pa.float64()).equals(column) else column
    return column


def _small(column: pa.ChunkedArray) -> bool:
    """Whether whole numbers fit into a byte."""
    cells = column.drop_null().to_numpy()
    return not len(cells) or (cells.min() >= -128 and cells.max() <= 127)
