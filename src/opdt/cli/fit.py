"""`opdt fit`: the best rule of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opdt.cli import options as opt

if TYPE_CHECKING:
    from opdt.solution import Solution
    from opdt.table import Table


def fit(
    data: opt.Data,
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
    engine: opt.EngineName = "search",
    time_limit: opt.TimeLimit = None,
    jobs: opt.Jobs = None,
    json_out: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write the rule; '-' prints nothing else."),
    ] = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """Find the best rule of a table and say what is proven about it.

    A table may have up to two thousand million rows, as far as memory goes: about three times
    the size of its numbers.
    """
    from opdt.cli import source as given
    from opdt.cli.console import notes, show_solution, show_trace, stdout
    from opdt.cli.files import check_output
    from opdt.cli.solve import exit_code, solve

    only_json = json_out is not None and str(json_out) == given.STDIN
    if json_out is not None and not only_json:
        check_output("--json", json_out, data)
    with notes(shown=not quiet):
        source = given.open_data(data, given.how_written(delimiter, encoding, decimal))
        table = given.build_table(source, target, given.kinds_of(source, numeric, categorical))
        levels, named = given.shape(structure, groups)
        limits = {
            "min_precision": min_precision,
            "min_coverage": min_coverage,
            "max_errors": max_errors,
        }
        solution = solve(
            table,
            seconds=time_limit,
            threads=jobs,
            bar=not quiet,
            max_depth=depth,
            w=w,
            target=None if label is None else given.class_of(table, label),
            structure=levels,
            groups=named,
            constraints=given.demands(table.names, direction, require, forbid, **limits),
            engine=engine,
        )
    if verbose:
        show_trace(solution)
    if quiet and not only_json:
        stdout().print("no rule" if solution.rule is None else solution.rule, soft_wrap=True)
    elif not only_json:
        show_solution(stdout(), solution, table, w)
    if json_out is not None:
        _write(json_out, solution, table, w)
    return exit_code(solution)


def _write(path: Path, solution: Solution, table: Table, w: float) -> None:
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
        "rows": table.n_rows,
        "w": w,
        "engine": solution.engine,
        "opdt": opdt.__version__,
    }
    if str(path) == "-":
        text = json.dumps(rule_to_dict(solution.rule, info), indent=2, ensure_ascii=False)
        typer.echo(text)
    else:
        write_rule(path, solution.rule, info)
