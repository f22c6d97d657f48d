"""`opdt engines`: what can search, and what it proves."""

from __future__ import annotations


def engines() -> None:
    """List the engines: what they prove and whether they are installed."""
    from rich.table import Table as Grid
    from rich.text import Text

    from opdt.cli.console import stdout
    from opdt.engines.registry import ENGINES, engine_names

    installed = engine_names(installed=True)
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("engine", "proves", "installed", "what it does"):
        grid.add_column(title)
    for name, entry in ENGINES.items():
        here = "yes" if name in installed else f"pip install 'opdt[{entry.extra}]'"
        proves = Text("optimum", "green") if entry.proves else Text("nothing")
        grid.add_row(Text(name, "bold"), proves, Text(here), Text(entry.summary))
    stdout().print(grid)
