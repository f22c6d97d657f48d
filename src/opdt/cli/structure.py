"""`opdt structure check`: what a structure file allows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opdt.cli.group import examples
from opdt.cli.option_groups import TextOptions, spread

structure = typer.Typer(help="Look at files that say which features may be used where.")


@structure.command(
    epilog=examples(
        "opdt structure check clinic.toml",
        "opdt structure check clinic.toml --data patients.csv --target outcome",
    )
)
@spread
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Structure file, TOML or JSON.")],
    *,
    data: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Table whose columns the groups must name."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the table with the classes.")
    ] = None,
    text: TextOptions,
) -> None:
    """Draw a structure file, and check it against a table."""
    from opdt.cli.console import notes, stdout
    from opdt.cli.source import build_table, open_data
    from opdt.errors import InputError
    from opdt.problem import Problem, read_structure

    if (data is None) != (target is None):
        raise InputError("'--data' and '--target' belong together; give both or neither.")
    content = read_structure(file)
    groups = content.groups or {}
    console = stdout()
    console.print(str(content.structure), soft_wrap=True)
    for name, features in groups.items():
        console.print(f"{name}: {', '.join(features)}", soft_wrap=True)
    if data is None or target is None:
        return
    with notes():
        table = build_table(open_data(data, text.marks), target)
        problem = Problem.build(table, structure=content.structure, groups=groups)
    n = len(problem.chains)
    console.print(
        f"fits {str(data)!r}: {table.n_features} features, "
        f"{n} way{'s' * (n != 1)} to a target leaf.",
        soft_wrap=True,
    )
