"""`opdt verify`: let the independent checker go through a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opdt.cli import options as opt
from opdt.cli.option_groups import TextOptions, spread


@spread
def verify(
    certificate: Annotated[
        Path,
        typer.Argument(
            metavar="CERTIFICATE", help="Certificate that 'opdt fit --certificate' wrote."
        ),
    ],
    data: opt.Data,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that holds the class of each row, if it has another name by now.",
        ),
    ] = None,
    *,
    text: TextOptions,
) -> int:
    """Check a certificate: count everything that it claims again, on the data.

    The checker shares no code with the search. It is one file, opdt/verify.py, of 400 lines.
    """
    from opdt.certificates import Certificate, read_source
    from opdt.cli.console import stderr, stdout
    from opdt.cli.source import open_data
    from opdt.verify import Rejected

    loaded = Certificate.load(certificate)
    cells = read_source(loaded, open_data(data, text.marks), target)
    try:
        said = loaded.check(cells)
    except Rejected as error:
        stderr().print(f"not verified: {error}", style="red", soft_wrap=True)
        return 2
    stdout().print(said, soft_wrap=True, style="green", highlight=False)
    return 0
