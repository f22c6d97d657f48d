"""`opdt report`: a page about the best rule of a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from opdt.cli import options as opt


def report(
    data: opt.Data,
    target: opt.Target,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="HTML page to write.")
    ] = Path("report.html"),
    test: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Rows the search must not see, in a file of their own."),
    ] = None,
    hold_out: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Keep this share of the rows unseen, such as 0.3."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Which rows '--hold-out' takes.")] = 0,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")] = None,
    permutations: Annotated[
        int, typer.Option(metavar="N", help="Test against chance with so many permutations.")
    ] = 0,
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
    time_limit: opt.TimeLimit = None,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
) -> int:
    """Find the best rule and write a page about it, for those who must decide on it."""
    from opdt.cli import source as given
    from opdt.cli.console import notes, stderr, working
    from opdt.cli.files import check_output
    from opdt.cli.solve import exit_code, solve
    from opdt.errors import InputError
    from opdt.report import report as make_report
    from opdt.table import open_source

    if test is not None and hold_out is not None:
        raise InputError("'--test' and '--hold-out' are two ways to the same end; choose one.")
    check_output("--out", out, data)
    written = given.how_written(delimiter, encoding, decimal, date_order)
    with notes(shown=not quiet):
        rows, unseen = given.part_rows(given.read_data(data, written), hold_out, seed)
        if test is not None:
            unseen = given.read_data(test, written)
        source = open_source(rows)
        kinds = given.kinds_of(source, numeric, categorical)
        table = given.build_table(source, target, kinds)
        levels, named = given.shape(structure, groups)
        limits = {
            "min_precision": min_precision,
            "min_coverage": min_coverage,
            "max_errors": max_errors,
        }
        settings = {
            "max_depth": depth,
            "w": w,
            "target": None if label is None else given.class_of(table, label),
            "structure": levels,
            "groups": named,
            "constraints": given.demands(table.names, direction, require, forbid, **limits),
        }
        solution = solve(table, seconds=time_limit, threads=jobs, bar=not quiet, **settings)
        tested = () if unseen is None else (open_source(unseen), target)
        name = os.path.basename(data)
        with working("other prices, tests and pictures …", shown=not quiet):
            page = make_report(
                solution,
                source,
                target,
                *tested,
                title=title or f"The best rule for {target} in {name}",
                permutations=permutations,
                settings={**settings, "kinds": kinds},
            )
    page.save(out)
    if not quiet:
        found = "no rule" if solution.rule is None else str(solution.rule)
        stderr().print(f"wrote {out}: {found}", soft_wrap=True)
    return exit_code(solution)
