"""`opdt fit`: the best rule of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from opdt.cli import options as opt

if TYPE_CHECKING:
    from opdt.solution import Solution
    from opdt.table import Table


def fit(
    data: opt.Files,
    target: opt.Target,
    depth: opt.Depth = None,
    w: opt.Weight = 10.0,
    label: opt.Label = None,
    structure: opt.StructureOption = None,
    groups: opt.GroupsOption = None,
    direction: opt.Direction = None,
    require: opt.Require = None,
    forbid: opt.Forbid = None,
    min_precision: opt.MinPrecision = None,
    min_coverage: opt.MinCoverage = None,
    max_errors: opt.MaxErrors = None,
    numeric: opt.Numeric = None,
    categorical: opt.Categorical = None,
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

    One file is read into memory: about three times the size of its numbers.

    With several files, --memory-limit or --dask it is read in pieces, to the same rule.
    """
    from opdt.cli import source as given
    from opdt.cli.console import notes, show_solution, show_trace, stdout
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
    levels, named = given.shape(structure, groups)
    settings: dict[str, Any] = {
        "seconds": time_limit,
        "threads": jobs,
        "bar": not quiet,
        "max_depth": depth,
        "w": w,
        "structure": levels,
        "groups": named,
        "engine": engine,
    }
    wishes = _Wishes(target, label, numeric, categorical, direction, require, forbid, limits)
    pieces = in_pieces(data, memory_limit, dask)
    with notes(shown=not quiet):
        if pieces:
            settings["memory_limit"] = memory_limit
            solution, table = _fit_pieces(data, written, wishes, settings, dask)
        else:
            solution, table = _fit_table(data[0], written, wishes, settings)
    if verbose:
        show_trace(solution)
    if quiet and not only_json:
        stdout().print("no rule" if solution.rule is None else solution.rule, soft_wrap=True)
    elif not only_json:
        more = [reading(solution)] if pieces else []
        show_solution(stdout(), solution, table, w, *more)
    if json_out is not None:
        n_rows = solution.details.n_rows if pieces else table.n_rows
        _write(json_out, solution, n_rows, w)
    return exit_code(solution)


class _Wishes(NamedTuple):
    """Options that can only be understood beside the columns of the data."""

    target: str
    label: str | None
    numeric: list[str] | None
    categorical: list[str] | None
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
    kinds = given.kinds_of(source, wishes.numeric, wishes.categorical)
    table = given.build_table(source, wishes.target, kinds)
    left = None if limit is None else max(0.0, clock.remaining())
    solution = solve(
        table,
        target=None if wishes.label is None else given.class_of(table, wishes.label),
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

    kinds = {"numeric": wishes.numeric, "categorical": wishes.categorical}
    with open_pieces(data, wishes.target, dask=dask, written=written, **kinds) as pieces:
        solution = solve(
            pieces.source,
            wishes.target,
            target=None if wishes.label is None else pieces.class_of(wishes.label),
            kinds=pieces.kinds,
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
        "vi": solution.value,
        "bound": solution.bound,
        "status": str(solution.status),
        "precision": solution.precision,
        "covered": solution.covered,
        "errors": solution.errors,
        "rows": n_rows,
        "w": w,
        "engine": solution.engine,
        "opdt": opdt.__version__,
    }
    if str(path) == "-":
        text = json.dumps(rule_to_dict(solution.rule, info), indent=2, ensure_ascii=False)
        typer.echo(text)
    else:
        write_rule(path, solution.rule, info)
