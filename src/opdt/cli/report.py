"""`opdt report`: a page about the best rule of a file."""

from __future__ import annotations

import os
from functools import partial
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
    time_limit: opt.TimeLimit = None,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
) -> int:
    """Find the best rule and write a page about it, for those who must decide on it."""
    from opdt.cli import source as given
    from opdt.cli.aim import Aim
    from opdt.cli.console import VERDICT_STYLE, notes, show_columns, stderr, working
    from opdt.cli.files import check_output
    from opdt.cli.solve import exit_code, solve
    from opdt.errors import InputError
    from opdt.report import report as make_report
    from opdt.table import open_source
    from opdt.verdict import Verdict

    if test is not None and hold_out is not None:
        raise InputError("'--test' and '--hold-out' are two ways to the same end; choose one.")
    check_output("--out", out, data)
    written = given.how_written(delimiter, encoding, decimal, date_order)
    aim = Aim(objective, w, label, paper)
    with notes(shown=not quiet, columns=False):  # the plan says the same
        frame = given.read_data(data, written)
        rows, unseen = given.part_rows(frame, hold_out, seed)
        # What a column is, all rows decide, and not those that chance has left.
        plan = given.build_table(open_source(frame), target, role, missing).plan
        if test is not None:
            unseen = given.read_data(test, written)
        source = open_source(rows)
        table = given.build_table(source, target, plan=plan)
        levels, named = given.shape(structure, groups)
        limits = {
            "min_precision": min_precision,
            "min_coverage": min_coverage,
            "max_errors": max_errors,
        }
        settings = {
            "max_depth": depth,
            **aim.settings(limits),
            "target": aim.target(partial(given.class_of, table), table.classes.tolist()),
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
                settings={**settings, "roles": given.roles_of(source.names, role)},
            )
    page.save(out)
    if not quiet:
        found = "no rule" if solution.rule is None else str(solution.rule)
        stderr().print(f"wrote {out}: {found}", soft_wrap=True)
        verdict = Verdict.from_dict(page.context["verdict"])
        if verdict is not None:
            style = VERDICT_STYLE[verdict.level]
            stderr().print(f"verdict: {verdict}", style=style, soft_wrap=True)
        for said in aim.notes(solution, table, min_coverage):
            stderr().print(f"note: {said}", style="yellow", soft_wrap=True)
        if plan.remarkable:
            show_columns(stderr(), plan)
    return exit_code(solution)
