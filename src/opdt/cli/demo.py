"""`opdt demo`: the best rule in scikit-learn's breast cancer data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from opdt.table import Table

WORTH_REPEATING = 30.0  # seconds; a longer search is no matter of compiling


def demo(
    depth: Annotated[int, typer.Option(metavar="N", help="Largest number of conditions.")] = 2,
    w: Annotated[
        float, typer.Option("--w", metavar="X", help="Price of one error, in rows.")
    ] = 10.0,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="How to search; see 'opdt engines'.")
    ] = "search",
) -> int:
    """Find the best rule in real data: which tumours are benign, which malignant?"""
    from opdt.cli.console import show_solution, stdout
    from opdt.cli.solve import exit_code, solve

    table = breast_cancer()
    solution = solve(table, max_depth=depth, w=w, engine=engine)
    if solution.seconds < WORTH_REPEATING:
        # The first solve of an installation compiles the search, and the first of a process
        # loads it: the second shows the time that every further one takes.
        solution = solve(table, max_depth=depth, w=w, engine=engine)
    console = stdout()
    console.print(
        f"Breast cancer: {table.n_rows} tumours, {table.n_features} measurements of each.\n"
        f"The best rule of at most {depth} condition{'s' * (depth != 1)}:\n",
        style="dim",
        soft_wrap=True,
    )
    show_solution(console, solution, table, w)
    return exit_code(solution)


def breast_cancer() -> Table:
    """scikit-learn's breast cancer data with its names in words."""
    from sklearn.datasets import load_breast_cancer

    from opdt.table import Table

    data = load_breast_cancer()
    columns = dict(zip(data.feature_names.tolist(), data.data.T, strict=True))
    return Table.build(columns, data.target_names[data.target])
