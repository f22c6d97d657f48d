"""`opdt export`: a rule in the language of those who will use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from opdt.cli.option_groups import TextOptions, spread
from opdt.rules.export import DIALECTS, FORMATS


@spread
def export(
    rule: Annotated[
        Path, typer.Argument(metavar="RULE", help="Rule file that 'opdt fit --json' wrote.")
    ],
    to: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help=f"{', '.join(FORMATS)}.",
            autocompletion=lambda: list(FORMATS),
        ),
    ],
    *,
    dialect: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Dialect of SQL: postgres, mysql, tsql, sqlite, duckdb, bigquery, …",
            autocompletion=lambda: list(DIALECTS),
        ),
    ] = "duckdb",
    default: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS", help="Class of all other rows, for 'sql-case' and 'pmml' of one rule."
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Data to take the types of the columns from."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="File to write.")
    ] = None,
    text: TextOptions,
) -> None:
    """Write a rule as SQL, Python, pandas, polars, PMML, or for people; without --out print it."""
    from opdt.cli.console import recorded_then, recorded_verdict, stderr
    from opdt.cli.files import check_output
    from opdt.cli.source import open_data
    from opdt.rules import read_rule
    from opdt.rules.export import column_types
    from opdt.rules.export import export as export_rule

    found = read_rule(rule)
    if out is not None:
        check_output("--out", out, str(rule))
    types = None
    if data is not None:
        types = column_types(open_data(data, text.marks))
    options = {} if default is None else {"default": _class(found, to, default)}
    if to == "english":
        options["then"] = recorded_then(rule)
    content = export_rule(found, to, dialect=dialect, types=types, **options).rstrip("\n")
    if out is None:
        typer.echo(content)
    else:
        _write(out, content + "\n")
    verdict = recorded_verdict(rule)
    if verdict is not None:  # beside the text, which others read
        stderr().print(verdict, soft_wrap=True)


def _class(rule: Any, to: str, text: str) -> Any:
    """The class that `--default` names, of the type that the rule's class has."""
    from opdt.errors import InputError
    from opdt.rules import Rule

    if not isinstance(rule, Rule) or to not in ("sql-case", "pmml"):
        raise InputError(
            "'--default' goes with '--to sql-case' and '--to pmml' of a single rule only."
        )
    known: dict[type, Any] = {bool: {"true": True, "false": False}.__getitem__, int: int}
    read = known.get(type(rule.label), type(rule.label))
    try:
        return read(text.lower() if read is not str else text)
    except (KeyError, ValueError):
        raise InputError(
            f"'--default' must be of the kind of the rule's class {rule.label!r}, got {text!r}."
        ) from None


def _write(out: Path, text: str) -> None:
    """Write the text, whole or not at all."""
    from opdt.errors import InputError

    draft = out.with_name(out.name + ".part")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(out)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"cannot write {str(out)!r}: {error.strerror}.") from None
