"""The front door: paths, a Dask or a Spark data frame in, a solution out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opdt.arguments import start_clock
from opdt.counts import RuleCounts
from opdt.engines.precision import most_precise
from opdt.engines.search import Switches
from opdt.errors import InputError, UnsupportedProblem
from opdt.objectives import Money, Objective
from opdt.problem import Constraints, Problem, Structure
from opdt.problem.arguments import Groups, StructureLike, resolve_demands, resolve_structure
from opdt.problem.evidence import count_rules
from opdt.problem.groups import check_groups
from opdt.rules.lazy import check_lazy, lazy_kind
from opdt.scale.answer import answer
from opdt.scale.driver import Driver, Stopped
from opdt.scale.local import LocalScanner
from opdt.scale.partition_run import PartitionRun
from opdt.scale.prices import PartitionedPricer
from opdt.scale.question import Question, SearchRequest
from opdt.scale.roles import settle, survey_pieces
from opdt.scale.scanner import Parts, Scanner
from opdt.scale.schema import Schema, agree
from opdt.scale.summary import Summary
from opdt.scale.worths import IN, WorthScanner, row_worth, settled_worth
from opdt.solution import Budget, Clock, Solution, Status, StopReason
from opdt.table import Column, Plan, Table
from opdt.table.remarks import remark
from opdt.table.roles import check_missing, check_roles, unread_columns
from opdt.verdict import Evidence

# Rows of the sample, and the part of the memory that one copy of it may take.
SAMPLE, LEAST_SAMPLE, SAMPLE_SHARE = 100_000, 10_000, 32


@dataclass(frozen=True)
class Passes:
    """What a search over partitions read, in `Solution.details`.

    Attributes
    ----------
    passes : int
        How often the rows were read for the search; before, columns of text and of whole numbers
        are read once to see what they are.
    n_rows, bytes_read : int
        Rows of the table, and bytes of its columns that were read in all passes together (0 where
        the rows lie with Dask or Spark).
    features : tuple of str
        The columns that rules could use.
    classes, weights : tuple
        The classes, and the weight of the rows of each (their number without weights); empty
        where a limit ended the first pass.
    """

    passes: int
    n_rows: int
    bytes_read: int
    features: tuple[str, ...]
    classes: tuple[Any, ...]
    weights: tuple[float, ...]

    def check_classes(self) -> None:
        """Refuse to go on where a limit ended the first pass."""
        if not self.classes:
            raise InputError(
                "the first pass over the rows was not finished, so that not even the classes are "
                "known; raise the limit."
            )


def discover_partitioned(
    source: Any,
    y: str,
    *,
    max_depth: int | None = None,
    w: float = 10.0,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    objective: str | Objective = "vi",
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: str | None = None,
    roles: Mapping[str, str] | None = None,
    missing: Any = None,
    features: Sequence[str] | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    max_passes: int | None = None,
    budget: Budget | Clock | None = None,
    client: Any = None,
    switches: Switches | None = None,
) -> Solution:
    """The best rule of a table that need not fit into memory, with what is proven about it.

    `opdt.discover` calls this for patterns, folders, lists of paths, dask and Spark data frames;
    `features`, `max_passes`, `client` and `switches` can be given here only.

    Parameters
    ----------
    source : path, pattern, folder, list of paths, dask or Spark DataFrame, or Scanner
        Parquet or CSV files are read in pieces; data frames stay where they are.
    y : str
        The name of the column that holds the labels.
    sample_weight : str, optional
        The name of the column that holds row weights, of at most six decimals.
    features : sequence of str, optional
        The columns that rules may use; all but `y` and `sample_weight` if left out.
    memory_limit : int or str, optional
        Bytes, or "2GB", that this process may hold, the rows being read included; without a
        limit, counts and rows brought back take up to 1 GiB.
    max_passes : int, optional
        Passes over the rows after which the best rule so far is returned with a true bound.
    client : distributed.Client, optional
        For a dask DataFrame; the current client if left out.
    switches : opdt.engines.search.Switches, optional
        Accelerators to turn off; none changes the answer.

    All other arguments are those of `opdt.discover`.

    Returns
    -------
    Solution
        The same rule, value and bound as in memory; `details` is a `Passes`.
    """
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    limits = clock.budget
    if not isinstance(objective, str):
        return _by_worth(
            source, y, objective, label, constraints, sample_weight, client, clock,
            max_depth=max_depth, structure=structure, groups=groups, roles=roles, missing=missing,
            features=features, max_passes=max_passes, switches=switches,
        )  # fmt: skip
    shape, file_groups = resolve_structure(structure, max_depth)
    demands = resolve_demands(objective, constraints)
    price = w if objective == "vi" else 1  # at the price 1 the VI is the number of correct rows
    _check_column("y", "labels", y)
    if sample_weight is not None:
        _check_column("sample_weight", "weights", sample_weight)
    scanner = open_scanner(
        source, n_jobs=limits.n_threads, memory_limit=limits.memory_limit, client=client
    )
    named = {**file_groups, **check_groups(groups)}
    request = SearchRequest(shape, named, price, label, demands, scanner.classes)
    driver = Driver(scanner, clock, max_passes)
    try:
        scanner.prepare(driver.watch)
    except Stopped as stop:
        return _unfinished(driver, None, request, stop.reason, objective)
    except KeyboardInterrupt:
        return _unfinished(driver, None, request, StopReason.INTERRUPTED, objective)
    unread = unread_columns(roles)
    schema = agree(scanner.sources(), y, weight=sample_weight, features=features, unread=unread)
    names = [layout.name for layout in schema.features]
    asked = check_roles(roles, names), check_missing(missing, names)
    request.constraints.check_known(names)
    try:
        plan = survey_pieces(schema, *asked, driver)
        schema = agree(scanner.sources(), y, weight=sample_weight, plan=plan, features=features)
        idle, demands = _check_request(schema, request, plan)
        schema, request = replace(schema, idle=idle), replace(request, constraints=demands)
        summary = driver.run(_first_pass(schema, driver))
        plan = settle(plan, schema, summary, scanner)
        remark(plan)
    except Stopped as stop:
        return _unfinished(driver, schema, request, stop.reason, objective)
    except KeyboardInterrupt:
        return _unfinished(driver, schema, request, StopReason.INTERRUPTED, objective)
    question, chosen = Question(schema, summary, request), switches or Switches()
    plan = question.problem.noted(plan)
    if objective == "precision":
        return replace(_most_precise(question, summary, driver, chosen), plan=plan)
    search = PartitionRun(question, driver, chosen)
    search.search()
    return replace(_told(answer(search), question, driver), objective=objective, plan=plan)


def _by_worth(
    source: Any,
    y: str,
    objective: Objective,
    label: Any,
    constraints: Constraints | Mapping[str, Any] | None,
    sample_weight: str | None,
    client: Any,
    clock: Clock,
    **asked: Any,
) -> Solution:
    """The best rule of an objective that says what each row is worth; see `opdt.scale.worths`."""
    _check_column("y", "target", y)
    worth = row_worth(objective, y, label)
    demands = resolve_demands(objective, constraints)
    if demands.bounds_rows or sample_weight is not None:
        what = "'sample_weight'" if sample_weight is not None else "limits on covered rows"
        raise UnsupportedProblem(
            f"{what} beside {objective!r} need the whole table in memory, because in pieces rows "
            "weigh what they are worth; leave them out for partitions."
        )
    limits = clock.budget
    rows = WorthScanner(
        open_scanner(
            source, n_jobs=limits.n_threads, memory_limit=limits.memory_limit, client=client
        ),
        worth,
    )
    driver = Driver(rows, clock, None)
    try:
        rows.prepare(driver.watch)
        rows.sources()  # refuses columns that are not there
        seen = rows.tally(None, driver.watch)
        if isinstance(objective, Money) and not seen.rows[:, 1].any():
            raise InputError(f"'label' is {label!r}, but no row of column {y!r} is of that class.")
        own = label if objective.rule_label is None else objective.rule_label
        n_rows = int(seen.rows.sum())
        read = Passes(1, n_rows, rows.bytes_read, (), (own,), (float(n_rows),))
        found = Solution(None, 0.0, 0.0, Status.NO_PATTERN, engine="search", details=read)
        if seen.gaining:
            found = discover_partitioned(
                rows, rows.pair[0], w=2, label=IN, constraints=demands, budget=clock,
                sample_weight=rows.pair[1], **asked,
            )  # fmt: skip
            known = replace(found.details, classes=read.classes, weights=read.weights)
            found = replace(found, details=known)
        return settled_worth(found, rows, objective, own, driver.watch)
    except Stopped as stop:
        reason = stop.reason
    except KeyboardInterrupt:
        reason = StopReason.INTERRUPTED
    nothing = SearchRequest(Structure.free(1), {}, 2, IN, demands)
    return replace(_unfinished(driver, None, nothing, reason, "vi"), objective=objective)


def _most_precise(
    question: Question, summary: Parts, driver: Driver, switches: Switches
) -> Solution:
    """The most precise rule, by solves at a few prices that share the first pass."""
    pricer = PartitionedPricer(question, summary, driver, switches)
    callback = driver.clock.budget.progress
    if callback is not None:
        driver.tell = lambda progress: callback(pricer.tell(progress))
    return _told(most_precise(pricer), question, driver)


def _told(solution: Solution, question: Question, driver: Driver) -> Solution:
    """A solution with what was read, and with what the rows say."""
    seen = _passes(question, driver)
    return replace(solution, details=seen, evidence=_evidence(question, solution, seen))


def _evidence(question: Question, solution: Solution, seen: Passes) -> Evidence | None:
    """What the rows say; None where weights were added up instead of rows, or nothing was."""
    if solution.rule is None or not solution.covered or question.schema.weight is not None:
        return None
    n_class = seen.weights[seen.classes.index(solution.rule.label)]
    numbers = (seen.n_rows, n_class, solution.covered, solution.errors)
    # The distinct values of a number are not known; there are no more than rows.
    n_rules = count_rules(question.problem, n_thresholds=seen.n_rows)
    return Evidence(
        RuleCounts(*map(round, numbers)), n_rules, count_rules(question.problem, n_thresholds=1)
    )


def _check_column(argument: str, what: str, name: Any) -> None:
    if not isinstance(name, str):
        raise InputError(
            f"'{argument}' must name the column that holds the {what} where the rows lie in files "
            f"or partitions, got {'None' if name is None else type(name).__name__}."
        )


def _check_request(
    schema: Schema, request: SearchRequest, plan: Plan
) -> tuple[frozenset[int], Constraints]:
    """Refuse before the first pass what can be refused without rows.

    Returns the features of no use, and the constraints on those that are features.

    The request are put to a table of two rows with the columns of the schema.
    """
    codes, values = np.zeros(2, np.int32), np.zeros(1)
    columns = tuple(Column(f.name, f.kind, codes, values) for f in schema.features)
    table = Table(columns, np.arange(2, dtype=np.int32), np.arange(2), plan=plan)
    problem = Problem.build(
        table, structure=request.structure, groups=request.groups, w=request.w,
        constraints=request.constraints,
    )  # fmt: skip
    used = {f for chain in problem.chains for level in chain for f in level.features}
    idle = frozenset(f for f in range(len(columns)) if f not in used or not problem.ops_of(f))
    return idle, problem.constraints


def _passes(question: Question, driver: Driver) -> Passes:
    table = question.problem.table
    weights = question.totals / question.coder.weight_scale
    return Passes(
        driver.passes, question.n_rows, driver.scanner.bytes_read, table.names,
        tuple(table.classes.tolist()), tuple(weights.tolist()),
    )  # fmt: skip


def _unfinished(
    driver: Driver,
    schema: Schema | None,
    request: SearchRequest,
    reason: StopReason,
    objective: str,
) -> Solution:
    """No row need be read to know that no rule is worth more than all rows.

    Without a schema not even the types of the columns are known.
    """
    rows = None if schema is None else driver.scanner.known_rows()
    weighted = schema is None or schema.weight is not None
    bound = float("inf") if rows is None or weighted else float(rows)
    if objective == "precision":
        bound = 1.0
    names = () if schema is None else tuple(layout.name for layout in schema.features)
    seen = Passes(driver.passes, rows or 0, driver.scanner.bytes_read, names, (), ())
    return Solution.unfinished(
        may_be_empty=request.constraints.min_coverage == 0,
        bound=bound,
        stopped_by=reason,
        seconds=driver.clock.elapsed(),
        engine="search",
        details=seen,
        objective=objective,
    )


def _first_pass(schema: Schema, driver: Driver) -> Summary:
    """The summary, with a sample that takes a small part of the memory there is."""
    room = driver.room // (SAMPLE_SHARE * 8 * len(schema.columns))
    n_sample = min(SAMPLE, max(LEAST_SAMPLE, room))
    n_parts = max(1, len(driver.scanner.sources()))
    return Summary(schema, n_sample, max(2000, 4 * n_sample // n_parts))


def open_scanner(
    source: Any, *, n_jobs: int = 1, memory_limit: float | None = None, client: Any = None
) -> Scanner:
    """The scanner of any supported source."""
    if isinstance(source, LocalScanner):
        return source.within(n_jobs, memory_limit)
    if isinstance(source, Scanner):
        return source
    kind = lazy_kind(source)
    if kind is None:
        return LocalScanner(source, n_jobs, memory_limit)
    check_lazy(source)
    if kind == "dask":
        from opdt.scale.dask import DaskScanner

        return DaskScanner(source, client)
    from opdt.scale.spark import SparkScanner

    return SparkScanner(source)
