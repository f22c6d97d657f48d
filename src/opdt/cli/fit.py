"""`opdt fit`: the best rule of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opdt.solution import Solution
    from opdt.table import Table


def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV, TSV or Parquet file.")],
    target: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column that holds the class of each row.")
    ],
    depth: Annotated[
        int | None,
        typer.Option(metavar="N", help="Most conditions (the structure's depth, or 2)."),
    ] = None,
    w: Annotated[
        float, typer.Option("--w", metavar="X", help="Price of one error, in rows.")
    ] = 10.0,
    label: Annotated[
        str | None,
        typer.Option("--class", metavar="CLASS", help="Class to find a rule for (the best)."),
    ] = None,
    structure: Annotated[
        str | None,
        typer.Option(metavar="GROUPS", help="Groups of the levels, 'cat,num', or a file."),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML or JSON file with named groups of features."),
    ] = None,
    numeric: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns to read as numbers: 'a,b'."),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns to read as categories: 'a,b'."),
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="How to search; see 'opdt engines'.")
    ] = "search",
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="When to stop with the best rule so far."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Threads (all cores).")] = None,
    json_out: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write the rule; '-' prints nothing else."),
    ] = None,
) -> int:
    """Find the best rule of a table and say what is proven about it."""
    from opdt.cli.console import notes, show_solution, stdout
    from opdt.cli.files import check_output
    from opdt.cli.solve import exit_code, solve
    from opdt.problem.structure_file import read_groups
    from opdt.table import Table, open_source

    if json_out is not None and str(json_out) != "-":
        check_output("--json", json_out, data)
    source = open_source(data)
    kinds = {
        **dict.fromkeys(_columns(numeric, source.names), "numeric"),
        **dict.fromkeys(_columns(categorical, source.names), "categorical"),
    }
    with notes():
        table = Table.build(source, target, kinds=kinds)
    solution = solve(
        table,
        seconds=time_limit,
        threads=jobs,
        max_depth=depth,
        w=w,
        target=None if label is None else class_of(table, label),
        structure=_structure(structure),
        groups=None if groups is None else read_groups(groups),
        engine=engine,
    )
    if json_out is None or str(json_out) != "-":
        show_solution(stdout(), solution, table, w)
    if json_out is not None:
        _write(json_out, solution, table, w)
    return exit_code(solution)


def class_of(table: Table, text: str) -> Any:
    """The class that is written like `text`, whatever type the classes have."""
    from opdt.errors import InputError

    classes = table.classes.tolist()
    for read in (str, _loose):
        found = [known for known in classes if read(known) == read(text)]
        if len(found) == 1:
            return found[0]
    shown = ", ".join(map(str, classes[:10])) + (", …" if len(classes) > 10 else "")
    raise InputError(f"'--class' {text!r} is none of the classes, which are {shown}.")


def _loose(value: object) -> str:
    return str(value).casefold().removesuffix(".0")


def _columns(given: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """Column names of an option that may be repeated and may hold several, apart by commas."""
    found = []
    for text in given or ():
        found += [text] if text in names else [part.strip() for part in text.split(",")]
    return found


def _structure(text: str | None) -> list[str] | str | None:
    if text is None or text.endswith((".toml", ".json")):
        return text
    return [part.strip() for part in text.split(",")]


def _write(path: Path, solution: Solution, table: Table, w: float) -> None:
    """Write the rule with what is known about it, to a file or (for '-') to the terminal."""
    import json

    import opdt
    from opdt.cli.console import stderr
    from opdt.rules import rule_to_dict, write_rule

    if solution.rule is None:
        stderr().print("there is no rule, so none is written.", soft_wrap=True)
        return
    info = {
        "vi": solution.value,
        "bound": solution.bound,
        "status": str(solution.status),
        "precision": solution.precision,
        "covered": solution.covered,
        "errors": solution.errors,
        "rows": table.n_rows,
        "w": w,
        "engine": solution.engine,
        "opdt": opdt.__version__,
    }
    if str(path) == "-":
        text = json.dumps(rule_to_dict(solution.rule, info), indent=2, ensure_ascii=False)
        typer.echo(text)
    else:
        write_rule(path, solution.rule, info)
