"""`opdt columns`: what each column of a file is taken for, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from opdt.cli import options as opt
from opdt.cli.option_groups import ColumnOptions, TextOptions, spread


@spread
def columns(
    data: opt.Data,
    target: opt.Target,
    *,
    roles: ColumnOptions,
    text: TextOptions,
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
        source = given.open_data(data, text.marks)
        plan = roles.table(source, target).plan
    if json_out:
        typer.echo(json.dumps(plan.to_list(), indent=2, ensure_ascii=False))
    else:
        stdout().print(plan.summary(), soft_wrap=True)
        show_plan(stdout(), plan, whole=True)
