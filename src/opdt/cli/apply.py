"""`opdt apply`: mark the rows of a file on which a rule fires."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def apply(
    rule: Annotated[
        Path, typer.Argument(metavar="RULE", help="Rule file that 'opdt fit --json' wrote.")
    ],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV, TSV or Parquet file.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="CSV, TSV or Parquet file to write."),
    ] = None,
    column: Annotated[str, typer.Option(metavar="NAME", help="Name of the new column.")] = "rule",
) -> None:
    """Add a column that says on which rows the rule fires; without --out print CSV."""
    from opdt.cli.console import stderr
    from opdt.cli.files import check_output
    from opdt.cli.mark import check_marked, write_marked
    from opdt.rules import read_rule
    from opdt.table import read_frame

    found = read_rule(rule)
    if out is not None:
        check_output("--out", out, data)
    frame = read_frame(data)
    check_marked(frame, column, out)
    fires = found.covers(frame)
    write_marked(data, frame, column, fires, out)
    stderr().print(
        f"the rule fires on {int(fires.sum()):,} of {len(fires):,} rows: {found}", soft_wrap=True
    )
