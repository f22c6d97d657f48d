"""`opdt report`: a page about the best rule of a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opdt.cli import options as opt
from opdt.cli.aim import Aim
from opdt.cli.option_groups import (
    ColumnOptions,
    Parts,
    RuleOptions,
    RunOptions,
    TextOptions,
    UnseenOptions,
    spread,
)

if TYPE_CHECKING:
    from opdt.report import Report
    from opdt.solution import Solution


@spread
def report(
    data: opt.Data,
    target: opt.AnyTarget = None,
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="HTML page to write.")
    ] = Path("report.html"),
    more: UnseenOptions,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")] = None,
    permutations: Annotated[
        int, typer.Option(metavar="N", help="Test against chance with so many permutations.")
    ] = 0,
    certificate: opt.CertificateOut = None,
    depth: opt.Depth = None,
    aim: Aim,
    rule: RuleOptions,
    columns: ColumnOptions,
    text: TextOptions,
    run: RunOptions,
) -> int:
    """Find the best rule and write a page about it, for those who must decide on it."""
    from opdt.certificates import certify
    from opdt.certificates.claims import check_certifiable
    from opdt.cli.console import notes, show_columns, stderr, working
    from opdt.cli.files import check_output
    from opdt.cli.solve import exit_code, solve
    from opdt.cli.source import roles_of
    from opdt.problem import Problem
    from opdt.report import report as make_report
    from opdt.table import open_source

    check_output("--out", out, data)
    if certificate is not None:
        check_output("--certificate", certificate, data)
    target = aim.target_of(target, "report")
    what = "The best rule" if target is None else f"The best rule for {target}"
    with notes(shown=not run.quiet, columns=False):  # the plan says the same
        rows = Parts.read(data, target, text, columns, more, aim.own, rule.kept)
        settings = {
            "max_depth": depth,
            **aim.settings(rule.limits),
            "label": aim.of_table(rows.table),
            **rule.shape(),
            "constraints": rule.demands(rows.table.names),
        }
        if aim.own is None:
            problem = Problem.of(rows.table, **settings)
        else:
            problem = aim.problem(rows.source, target, rows.table, rule, depth)
        if certificate is not None:
            check_certifiable(problem)
        solution = solve(problem, **run.limits)
        if certificate is not None:
            certify(problem, solution, target=str(target)).save(certificate)
        tested = () if rows.unseen is None else (open_source(rows.unseen), target)
        with working("other prices, tests and pictures …", shown=not run.quiet):
            page = make_report(
                solution,
                rows.source,
                target,
                *tested,
                title=title or f"{what} in {os.path.basename(data)}",
                permutations=permutations,
                settings={**settings, "roles": roles_of(rows.source.names, columns.role)},
                certificate=certificate,
            )
    page.save(out)
    if not run.quiet:
        _say(out, page, solution, aim.notes(solution, rows.table, rule.min_coverage))
        if rows.plan.remarkable:
            show_columns(stderr(), rows.plan)
    return exit_code(solution)


def _say(out: Path, page: Report, solution: Solution, notes: list[str]) -> None:
    """Say what was written, and how far to trust it."""
    from opdt.cli.console import VERDICT_STYLE, stderr
    from opdt.verdict import Verdict

    found = "no rule" if solution.rule is None else str(solution.rule)
    stderr().print(f"wrote {out}: {found}", soft_wrap=True)
    verdict = Verdict.from_dict(page.context["verdict"])
    if verdict is not None:
        style = VERDICT_STYLE[verdict.level]
        stderr().print(f"verdict: {verdict}", style=style, soft_wrap=True)
    for said in notes:
        stderr().print(f"note: {said}", style="yellow", soft_wrap=True)
