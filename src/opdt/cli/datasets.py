"""`opdt datasets`: the paper's datasets, where they are, and how to get them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opdt.cli.group import examples

datasets = typer.Typer(
    help="List the paper's fifteen datasets, or fetch them.",
    epilog=examples("opdt datasets", "opdt datasets fetch german", "opdt datasets fetch all"),
    invoke_without_command=True,
)


@datasets.callback()
def list_datasets(
    context: typer.Context,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder with raw files, to look there first.")
    ] = None,
) -> None:
    """List the paper's fifteen datasets: where each is, rows, features, licence."""
    if context.invoked_subcommand is not None:
        return
    from rich.table import Table as Grid
    from rich.text import Text

    from opdt.cli.console import stdout
    from opdt.datasets import available
    from opdt.experiments.published import published_datasets

    counts = {each.dataset: each for each in published_datasets()}
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("name", "state", "rows", "num", "cat", "licence"):
        number = title in ("rows", "num", "cat")
        grid.add_column(title, justify="right" if number else "left", no_wrap=title != "licence")
    for each in available(folder=data):
        of_paper = counts[each.name]
        grid.add_row(
            Text(each.name, "bold"),
            Text(each.state, "yellow" if each.path is None else "green"),
            *map(str, (of_paper.rows, of_paper.numeric, of_paper.categorical)),
            Text(each.licence),
        )
    stdout().print(grid)


@datasets.command(epilog=examples("opdt datasets fetch german", "opdt datasets fetch all"))
def fetch(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Datasets, or 'all' of them.")
    ],
) -> int:
    """Download raw files from the UCI archive into the cache, each with its checksum tested."""
    from opdt.cli.console import stdout
    from opdt.cli.group import BAD_INPUT, complain
    from opdt.datasets import fetch as fetch_one
    from opdt.datasets import names as all_names
    from opdt.datasets.registry import find
    from opdt.errors import InputError

    chosen = all_names() if "all" in names else list(dict.fromkeys(names))
    for name in chosen:
        find(name)
    code = 0
    for name in chosen:
        try:
            stdout().print(f"{name}: {fetch_one(name)}", soft_wrap=True)
        except InputError as error:
            # One that has to be supplied by hand must not keep the others away.
            code = complain(str(error), BAD_INPUT)
    return code
