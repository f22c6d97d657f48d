"""The one function in which the steps meet: table → problem → engine → solution."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

from opdt.arguments import start_clock
from opdt.engines import Engine, get_engine
from opdt.engines.best import solve_problem
from opdt.errors import OpdtWarning, UnsupportedProblem
from opdt.objectives import Objective
from opdt.objectives.measures import measure_named
from opdt.problem import Constraints, Problem
from opdt.problem.arguments import (
    Groups,
    ObjectiveLike,
    StructureLike,
    build_problem,
    is_partitioned,
    resolve_demands,
    resolve_objective,
)
from opdt.solution import Budget, Clock, LimitReached, Solution
from opdt.table import Table, open_source
from opdt.table.labels import check_weights


def discover(
    X: Any,
    y: Any = None,
    *,
    max_depth: int | None = None,
    w: float = 10.0,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    objective: ObjectiveLike = "vi",
    min_coverage: float | None = None,
    max_coverage: float | None = None,
    min_precision: float | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    roles: Mapping[str, str] | None = None,
    missing: Any = None,
    engine: str | Engine = "search",
    device: str | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    budget: Budget | Clock | None = None,
    certificate: str | PathLike[str] | None = None,
) -> Solution:
    """The best rule of a table, with what is proven about it.

    Parameters
    ----------
    X : data frame, 2-D array, mapping of columns, path of a CSV or Parquet file, Table or Problem
        One row per case. pandas, polars and Arrow tables are read as they are; text and
        category columns become categorical features, everything else numeric.

        A table larger than memory is a pattern such as ``"claims/*.parquet"``, a folder, a list
        of paths, a dask DataFrame or a Spark DataFrame: it is searched where it lies, in a few
        passes over its partitions, to the same proven rule (engine "search").
        One file is read into memory, unless `memory_limit` is given.

        A `Problem` says all that is said below about data and rules.
    y : array-like of shape (n_rows,), or str
        Labels, or the name of the column of `X` that holds them. Left out when X is a Table. For
        partitions always a name.
    max_depth : int, optional
        The largest number of conditions; the structure's depth, or 2, if left out.
    w : float
        The price of one error, in rows: VI = rows covered - w × errors among them. It counts for
        the objective "vi" only.
    structure : Structure, sequence of group names, or path, optional
        Which features may be used where: `["cat", "num"]`, a `Structure`, or a structure file.
    groups : mapping of name to features, optional
        Groups that the structure refers to, beside `all`, `num` and `cat`.
    label : class, optional
        The class to find a rule for, or "rarest" for the one of the fewest rows; the best over all
        classes if left out.
    objective : str or Objective
        What the rule is to be best in: "vi"; "precision", the share of the covered rows that are
        of the rule's class, among rules of at least `min_coverage`; or "coverage", the number of
        rows of its class that it covers, among rules of at least `min_precision`; or a measure:
        "f1", "f2", … , "wracc", "youden", "chi2", "gini", "mcc", "odds_ratio", or "lift" among
        rules of at least `min_coverage` (see [measures](guides/measures.md)). Or an object
        that says what a covered row is worth, such as `VI(w=5)`.
    min_coverage, max_coverage, min_precision : float, optional
        The same as in `constraints`. The most precise rule covers at least 5 % of the rows where
        nothing else is said.
    constraints : Constraints or mapping of its arguments, optional
    sample_weight : array-like of shape (n_rows,), optional
        For partitions the name of a column.
    roles : mapping of column to role, optional
        What to take a column for, where its content suggests otherwise: "numeric",
        "categorical", "date", "date:hour", "yes/no", "id", "ignored", …; see
        [which columns are used, and why](guides/columns.md).
    missing : list of values, or mapping of column to such lists, optional
        Cells that mean that there is no value, such as 9999.
    engine : str or Engine
        See `opdt.engine_names()`.
    device : str, optional
        "cuda" counts rows on an NVIDIA GPU, to the same rule and proof; "auto" does so where there
        is one and the table is large enough to pay. See [when a GPU pays](guides/gpu.md).
    time_limit : float, optional
        Seconds from the call, reading and coding the data included, after which the best rule so
        far is returned, with a true bound.
    n_jobs : int, optional
        Threads; all cores if left out.
    memory_limit : int or str, optional
        Bytes, or "2GB": what the search may use beyond a table in memory, and for partitions
        what the whole process may hold. A single file is then read in pieces as well.
    budget : Budget, optional
        Further limits and a progress callback; `time_limit` and `n_jobs` then belong in it.
    certificate : path, optional
        Write the proof to this file, where [`opdt verify`](certificates.md) checks it. It takes its
        own time after the search. A search that was stopped gets a certificate of its bound.

    Returns
    -------
    Solution

    Examples
    --------
    >>> solution = discover({"age": [25, 31, 47, 52], "smoker": ["no", "no", "yes", "no"]},
    ...                     ["well", "well", "ill", "ill"], label="ill")
    >>> print(solution.rule, "| VI", solution.value, "|", solution.status)
    IF age >= 40 THEN ill | VI 2.0 | optimal
    >>> solution = discover({"age": [25, 31, 47, 52, 60]}, ["well", "ill", "ill", "well", "ill"],
    ...                     label="ill", objective="precision", min_coverage=0.5)
    >>> print(solution.rule, "|", solution.value)
    IF age >= 28 THEN ill | 0.75
    """
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    chosen = _engine_on(engine, device)
    if is_partitioned(X) or (memory_limit is not None and isinstance(X, (str, PathLike))):
        if chosen.name != "search":
            raise UnsupportedProblem(
                f"engine {chosen.name!r} needs the whole table in memory; for partitions there is "
                "the engine 'search'."
            )
        if device == "cuda":
            raise UnsupportedProblem(
                "device 'cuda' needs the whole table in memory; leave 'device' out for partitions."
            )
        from opdt.scale.front import discover_partitioned

        if certificate is not None:
            raise UnsupportedProblem(
                "'certificate' needs the whole table in memory: the checker counts all rows again."
            )
        best_in, w = resolve_objective(objective, w)
        if isinstance(best_in, str) and measure_named(best_in) is not None:
            raise UnsupportedProblem(
                f"objective {best_in!r} needs the whole table in memory; for partitions there are "
                "'vi', 'precision', 'coverage', Money, and Mean with a threshold."
            )
        demands = resolve_demands(objective, constraints, min_coverage, min_precision, max_coverage)
        if demands.sums_rows:
            raise UnsupportedProblem(
                "'max_coverage', 'segments' and 'parities' need the whole table in memory; leave "
                "them out for partitions."
            )
        return discover_partitioned(
            X, y, max_depth=max_depth, w=w, structure=structure, groups=groups, label=label,
            objective=best_in, sample_weight=sample_weight, roles=roles, missing=missing,
            constraints=demands, budget=clock,
        )  # fmt: skip
    try:
        if not isinstance(X, (Table, Problem)):
            X = open_source(X)  # a file is read in one go
            clock.check()
        problem = build_problem(
            X, y, max_depth=max_depth, w=w, structure=structure, groups=groups, label=label,
            objective=objective, min_coverage=min_coverage, max_coverage=max_coverage,
            min_precision=min_precision,
            constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
            clock=clock,
        )  # fmt: skip
    except LimitReached as stop:
        if certificate is not None:
            warnings.warn(
                f"no certificate is written: the {stop.reason} ended the run before the rows "
                "were read.",
                OpdtWarning,
                stacklevel=2,
            )
        demands = resolve_demands(objective, constraints, min_coverage, min_precision, max_coverage)
        best_in, _ = resolve_objective(objective)
        return Solution.unfinished(
            may_be_empty=demands.min_coverage == 0,
            bound=_most(best_in, X.n_rows, sample_weight),
            stopped_by=stop.reason,
            seconds=clock.elapsed(),
            engine=chosen.name,
            objective=best_in,
        )
    if certificate is not None:
        from opdt.certificates import certify
        from opdt.certificates.claims import TARGET, check_certifiable

        check_certifiable(problem)  # before the search, which may take long
    plan = problem.noted(problem.table.plan)
    solution = replace(solve_problem(problem, chosen, clock), plan=plan)
    if certificate is not None:
        certify(problem, solution, target=y if isinstance(y, str) else TARGET).save(certificate)
    return solution


def _engine_on(engine: str | Engine, device: str | None) -> Engine:
    """The engine of this name, on a device where one is asked for."""
    chosen = get_engine(engine)
    if device is None:
        return chosen
    from opdt.device import on_device

    return on_device(chosen, device)


def _most(objective: str | Objective, n_rows: int, sample_weight: Any) -> float:
    """What no rule is worth more than, before anything is coded: all rows, or their weights."""
    if not isinstance(objective, str):
        return math.inf
    if (measure := measure_named(objective)) is not None:
        return measure.most
    if objective == "precision":
        return 1.0
    weights = check_weights(sample_weight, n_rows)
    return float(n_rows) if weights is None else math.fsum(weights)
