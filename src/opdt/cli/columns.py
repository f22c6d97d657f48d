"""`opdt columns`: what each column of a file is taken for, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from opdt.cli import options as opt


def columns(
    data: opt.Data,
    target: opt.Target,
    role: opt.Roles = None,
    missing: opt.Missing = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    date_order: opt.DateOrder = None,
    json_out: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Say which columns are used, why, and what was changed; nothing is searched."""
    import json
    import warnings

    from opdt.cli import source as given
    from opdt.cli.console import show_plan, stdout
    from opdt.errors import OpdtWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)  # the plan says it all
        source = given.open_data(data, given.how_written(delimiter, encoding, decimal, date_order))
        plan = given.build_table(source, target, role, missing).plan
    if json_out:
        typer.echo(json.dumps(plan.to_list(), indent=2, ensure_ascii=False))
    else:
        stdout().print(plan.summary(), soft_wrap=True)
        show_plan(stdout(), plan, whole=True)
