"""The front door: a path, a Dask or a Spark data frame in, a solution out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opdt.discover import (
    Groups,
    StructureLike,
    resolve_budget,
    resolve_constraints,
    resolve_structure,
)
from opdt.errors import InputError
from opdt.problem import Constraints
from opdt.problem.groups import check_groups
from opdt.scale.answer import answer
from opdt.scale.local import LocalScanner
from opdt.scale.question import Question, Wishes
from opdt.scale.scanner import Scanner, Watch
from opdt.scale.schema import agree
from opdt.scale.search import Driver, PartitionedSearch, Stopped
from opdt.scale.summary import Summary
from opdt.solution import Budget, Solution

SAMPLE = 100_000


@dataclass(frozen=True)
class Passes:
    """What a search over partitions read, in `Solution.details`."""

    passes: int
    n_rows: int
    bytes_read: int


def discover_partitioned(
    source: Any,
    y: str,
    *,
    max_depth: int | None = None,
    w: float = 10.0,
    structure: StructureLike = None,
    groups: Groups | None = None,
    target: Any = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: str | None = None,
    kinds: Mapping[str, str] | None = None,
    features: Sequence[str] | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | None = None,
    max_passes: int | None = None,
    budget: Budget | None = None,
    client: Any = None,
) -> Solution:
    """The best rule of a table that need not fit into memory, with what is proven about it.

    Parameters
    ----------
    source : path, pattern, directory, list of paths, dask or Spark DataFrame, or Scanner
        Parquet or CSV files are read in pieces; data frames stay where they are.
    y : str
        The name of the column that holds the labels.
    sample_weight : str, optional
        The name of the column that holds row weights, of at most six decimals.
    features : sequence of str, optional
        The columns that rules may use; all but `y` and `sample_weight` if left out.
    memory_limit : int, optional
        Bytes for counts and for rows brought back, beyond the batches being read; 1 GiB if left
        out.
    max_passes : int, optional
        Passes over the rows after which the best rule so far is returned with a true bound.
    client : distributed.Client, optional
        For a dask DataFrame; the current client if left out.

    All other arguments are those of `opdt.discover`.

    Returns
    -------
    Solution
        The same rule, value and bound as in memory; `details` tells passes, rows and bytes.
    """
    limits = resolve_budget(budget, time_limit, n_jobs)
    if memory_limit is not None:
        limits = replace(limits, memory=memory_limit)
    shape, file_groups = resolve_structure(structure, max_depth)
    wishes = Wishes(
        shape, {**file_groups, **check_groups(groups)}, w, target, resolve_constraints(constraints)
    )
    if not isinstance(y, str):
        raise InputError(f"'y' must name the column that holds the labels, got {y!r}.")
    scanner = open_scanner(source, threads=limits.n_threads, client=client)
    schema = agree(scanner.sources(), y, weight=sample_weight, kinds=kinds, features=features)
    clock = limits.start()
    driver = Driver(scanner, clock, max_passes)
    summary = scanner.scan(Summary(schema, SAMPLE, _share(scanner)), _patient(driver))
    driver.passes += 1
    search = PartitionedSearch(Question(schema, summary, wishes), driver)
    search.run()
    solution = answer(search)
    seen = Passes(driver.passes, search.question.n_rows, scanner.bytes_read)
    return replace(solution, details=seen)


def _patient(driver: Driver) -> Watch:
    """The first pass must be finished to say anything at all: a limit ends it with a sentence."""

    def watch(done: int, parts: int) -> None:
        try:
            driver.watch(done, parts)
        except Stopped as stop:
            raise InputError(
                f"the first pass over the rows was not finished ({stop.reason}); raise the limit."
            ) from None

    return watch


def _share(scanner: Scanner) -> int:
    return max(2000, 4 * SAMPLE // max(1, len(scanner.sources())))


def open_scanner(source: Any, *, threads: int = 1, client: Any = None) -> Scanner:
    """The scanner of any supported source."""
    if isinstance(source, Scanner):
        return source
    module = type(source).__module__.partition(".")[0]
    if module in ("dask", "dask_expr"):
        from opdt.scale.dask import DaskScanner

        return DaskScanner(source, client)
    if module == "pyspark":
        from opdt.scale.spark import SparkScanner

        return SparkScanner(source)
    return LocalScanner(source, threads)
