"""`opdt fit`: the best rule of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from opdt.cli import options as opt

if TYPE_CHECKING:
    from opdt.cli.aim import Aim
    from opdt.solution import Solution
    from opdt.table import Table


def fit(
    data: opt.Files,
    target: opt.Target,
    depth: opt.Depth = None,
    objective: opt.Objective = None,
    w: opt.Price = None,
    label: opt.Wanted = None,
    paper: opt.Paper = False,
    structure: opt.StructureOption = None,
    groups: opt.GroupsOption = None,
    direction: opt.Direction = None,
    require: opt.Require = None,
    forbid: opt.Forbid = None,
    min_precision: opt.MinPrecision = None,
    min_coverage: opt.MinCoverage = None,
    max_errors: opt.MaxErrors = None,
    role: opt.Roles = None,
    missing: opt.Missing = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    date_order: opt.DateOrder = None,
    engine: opt.EngineName = "search",
    time_limit: opt.TimeLimit = None,
    jobs: opt.Jobs = None,
    memory_limit: opt.MemoryLimit = None,
    dask: opt.DaskAddress = None,
    json_out: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write the rule; '-' prints nothing else."),
    ] = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """Find the best rule of a table and say what is proven about it.

    Unless something else is asked for, that is the most precise rule that
    covers at least 5 % of the rows, for the rarer of two classes.

    One file is read into memory: about three times the size of its numbers.

    With several files, --memory-limit or --dask it is read in pieces, to the same rule.
    """
    from opdt.cli import source as given
    from opdt.cli.aim import Aim
    from opdt.cli.console import notes, show_plan, show_solution, show_trace, stderr, stdout
    from opdt.cli.files import check_output
    from opdt.cli.pieces import in_pieces, reading
    from opdt.cli.solve import exit_code

    only_json = json_out is not None and str(json_out) == given.STDIN
    if json_out is not None and not only_json:
        for path in data:
            check_output("--json", json_out, path)
    written = given.how_written(delimiter, encoding, decimal, date_order)
    limits = {
        "min_precision": min_precision,
        "min_coverage": min_coverage,
        "max_errors": max_errors,
    }
    aim = Aim(objective, w, label, paper)
    levels, named = given.shape(structure, groups)
    settings: dict[str, Any] = {
        "seconds": time_limit,
        "threads": jobs,
        "bar": not quiet,
        "max_depth": depth,
        **aim.settings(limits),
        "structure": levels,
        "groups": named,
        "engine": engine,
    }
    wishes = _Wishes(target, aim, role, missing, direction, require, forbid, limits)
    pieces = in_pieces(data, memory_limit, dask)
    with notes(shown=not quiet, columns=False):  # the plan says the same
        if pieces:
            settings["memory_limit"] = memory_limit
            solution, table = _fit_pieces(data, written, wishes, settings, dask)
        else:
            solution, table = _fit_table(data[0], written, wishes, settings)
    if verbose:
        show_trace(solution)
    for said in [] if quiet else aim.notes(solution, table, min_coverage):
        stderr().print(f"note: {said}", style="yellow", soft_wrap=True)
    if quiet and not only_json:
        stdout().print("no rule" if solution.rule is None else solution.rule, soft_wrap=True)
    elif not only_json:
        more = [reading(solution)] if pieces else []
        more += [] if solution.plan is None else [("columns", solution.plan.summary())]
        show_solution(stdout(), solution, table, aim.price, *more)
        if solution.plan is not None:
            show_plan(stdout(), solution.plan, whole=verbose)
    if json_out is not None:
        n_rows = solution.details.n_rows if pieces else table.n_rows
        _write(json_out, solution, n_rows, aim.price)
    return exit_code(solution)


class _Wishes(NamedTuple):
    """Options that can only be understood beside the columns of the data."""

    target: str
    aim: Aim
    role: list[str] | None
    missing: list[str] | None
    direction: list[str] | None
    require: list[str] | None
    forbid: list[str] | None
    limits: dict[str, float | None]

    def demands(self, names: Sequence[str]) -> dict[str, Any]:
        """The constraints."""
        from opdt.cli import source as given

        return given.demands(names, self.direction, self.require, self.forbid, **self.limits)


def _fit_table(
    data: str, written: Mapping[str, str | None], wishes: _Wishes, settings: Mapping[str, Any]
) -> tuple[Solution, Table]:
    """The solution of a file in memory, and its table."""
    from opdt.cli import source as given
    from opdt.cli.solve import solve
    from opdt.solution import Budget

    limit = settings["seconds"]
    clock = Budget(seconds=limit).start()
    source = given.open_data(data, written)
    table = given.build_table(source, wishes.target, wishes.role, wishes.missing)
    left = None if limit is None else max(0.0, clock.remaining())
    solution = solve(
        table,
        target=wishes.aim.target(partial(given.class_of, table), table.classes.tolist()),
        constraints=wishes.demands(table.names),
        **{**settings, "seconds": left},
    )
    return solution, table


def _fit_pieces(
    data: Sequence[str],
    written: Mapping[str, str | None],
    wishes: _Wishes,
    settings: Mapping[str, Any],
    dask: str | None,
) -> tuple[Solution, Table]:
    """The solution of files in pieces, and a table of their classes."""
    from opdt.cli.pieces import class_table, open_pieces
    from opdt.cli.solve import solve

    wanted = wishes.target, wishes.role, wishes.missing
    with open_pieces(data, *wanted, dask=dask, written=written) as pieces:
        solution = solve(
            pieces.source,
            wishes.target,
            target=wishes.aim.target(pieces.class_of, None),
            roles=pieces.roles,
            missing=pieces.missing,
            constraints=wishes.demands(pieces.names),
            **settings,
        )
    return solution, class_table(solution)


def _write(path: Path, solution: Solution, n_rows: int, w: float) -> None:
    """Write the rule with what is known about it, to a file or (for '-') to the terminal."""
    import json

    import opdt
    from opdt.cli.console import stderr
    from opdt.rules import rule_to_dict, write_rule

    if solution.rule is None:
        stderr().print("there is no rule, so none is written.", soft_wrap=True)
        return
    info = {
        "objective": solution.objective,
        "value": solution.value,
        "bound": solution.bound,
        "vi": solution.covered - w * solution.errors,
        "status": str(solution.status),
        "precision": solution.precision,
        "covered": solution.covered,
        "errors": solution.errors,
        "rows": n_rows,
        "w": w,
        "verdict": None if solution.verdict is None else solution.verdict.to_dict(),
        "engine": solution.engine,
        "opdt": opdt.__version__,
    }
    if solution.plan is not None:
        info["columns"] = solution.plan.to_list()
    if str(path) == "-":
        text = json.dumps(rule_to_dict(solution.rule, info), indent=2, ensure_ascii=False)
        typer.echo(text)
    else:
        write_rule(path, solution.rule, info)
