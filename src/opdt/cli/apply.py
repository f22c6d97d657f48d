"""`opdt apply`: mark the rows of a file on which a rule fires."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opdt.cli import options as opt
from opdt.cli.option_groups import TextOptions, spread

if TYPE_CHECKING:
    from opdt.rules import Rule, RuleSet


@spread
def apply(
    rule: Annotated[
        Path, typer.Argument(metavar="RULE", help="Rule file that 'opdt fit --json' wrote.")
    ],
    data: opt.Files,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="CSV, TSV or Parquet file to write; for several files a new folder.",
        ),
    ] = None,
    column: Annotated[str, typer.Option(metavar="NAME", help="Name of the new column.")] = "rule",
    text: TextOptions,
    quiet: opt.Quiet = False,
) -> None:
    """Add a column that says on which rows the rule fires; without --out print CSV.

    Several files are marked one by one into a new folder, Parquet files in pieces.
    """
    from opdt.cli.console import notes, working
    from opdt.cli.files import check_output
    from opdt.cli.mark import check_marked, write_marked
    from opdt.cli.mark_files import mark_files
    from opdt.cli.pieces import in_pieces
    from opdt.cli.source import on_disk
    from opdt.errors import InputError
    from opdt.rules import RuleList, read_rule
    from opdt.table import read_frame

    found = read_rule(rule)
    if isinstance(found, RuleList):
        raise InputError(
            f"{str(rule)!r} holds a rule list, which gives every row a class and marks none; "
            "use 'opdt export' to write it as SQL or Python."
        )
    written = text.marks
    if in_pieces(data):
        with notes(shown=not quiet), working("marking files", shown=not quiet):
            covered, n_rows = mark_files(found, data, column, out, written)
        if not quiet:
            _say(covered, n_rows, found, rule)
        return
    if out is not None:
        check_output("--out", out, data[0])
    with on_disk(data[0]) as path, notes(shown=not quiet):
        texts = {name for each in rules_of(found) for name in each.as_text}
        frame = read_frame(path, **written, as_text=texts)
        check_marked(frame, column, out)
        fires = found.covers(frame)
        write_marked(path, frame, column, fires, out, written)
    if not quiet:
        _say(int(fires.sum()), len(fires), found, rule)


def rules_of(rule: Rule | RuleSet) -> tuple[Rule, ...]:
    """The rule, or the rules of a set."""
    return rule._cases().rules


def _say(covered: int, n_rows: int, rule: object, file: Path) -> None:
    from opdt.cli.console import recorded_verdict, stderr

    stderr().print(f"the rule fires on {covered:,} of {n_rows:,} rows: {rule}", soft_wrap=True)
    verdict = recorded_verdict(file)
    if verdict is not None:
        stderr().print(verdict, soft_wrap=True)
