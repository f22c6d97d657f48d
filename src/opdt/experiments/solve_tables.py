"""Tables of solves: datasets against configurations, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from opdt.datasets.registry import SOURCES
from opdt.experiments.cell import Cell
from opdt.experiments.experiment import Results
from opdt.experiments.published import Published
from opdt.experiments.solves import MIP
from opdt.experiments.tables import Entry, PaperComparison, TableColumn

# What a column shows of the records of its cells, and the paper's name of the quantity.
VI, RUNTIME, TO_BEST = "vi", "seconds", "seconds_to_best"
QUANTITIES = {VI: "VI", RUNTIME: "runtime", TO_BEST: "time to solution"}


@dataclass(frozen=True)
class SolveColumn:
    """One column: which solves of a dataset it averages, which field, and the paper's number."""

    column: TableColumn
    cells: Callable[[str], Sequence[Cell]]
    field: str
    paper: Callable[[str], Published | None] = lambda dataset: None


def solve_table(
    title: str,
    datasets: Iterable[str],
    columns: Sequence[SolveColumn],
    results: Results,
    **more: Any,
) -> PaperComparison:
    """The table of these columns; a dataset without any cell is left out."""
    rows = {
        SOURCES[dataset].title: [_entry(dataset, each, results) for each in columns]
        for dataset in datasets
    }
    kept = {name: entries for name, entries in rows.items() if any(entries)}
    return PaperComparison(title, tuple(each.column for each in columns), kept, **more)


def verdict_table(
    title: str,
    datasets: Iterable[str],
    columns: Sequence[tuple[str, Callable[[str], Sequence[Cell]], Callable[[str], Sequence[Cell]]]],
    results: Results,
    **more: Any,
) -> PaperComparison:
    """What the mixed-integer program reached and proved, in words.

    A column is its name, the cells of the program and those of the proven optima.
    """
    rows = {
        SOURCES[dataset].title: [
            Entry(
                dataset,
                method_of(cells(dataset)),
                "outcome",
                _verdict(cells(dataset), optima(dataset), results),
                note=_why_missing([*cells(dataset), *optima(dataset)], results),
            )
            for _, cells, optima in columns
        ]
        for dataset in datasets
    }
    heads = tuple(TableColumn(name, ours_only=True) for name, _, _ in columns)
    return PaperComparison(title, heads, rows, **more)


def method_of(cells: Sequence[Cell]) -> str:
    """Engine, structure and enhancements of some cells, for the long form of a table."""
    if not cells:
        return ""
    cell = cells[0]
    words = [cell["engine"], cell["structure"]]
    if cell["engine"] == MIP:
        words += [cell["formulation"], cell["solver"]]
        words += ["on" if cell[name] else "off" for name in ("warm_start", "priorities")]
        words += [] if cell.get("structured", True) else ["unstructured"]
    return " ".join(words)


def _entry(dataset: str, column: SolveColumn, results: Results) -> Entry | None:
    cells, paper = column.cells(dataset), column.paper(dataset)
    if not cells and paper is None:
        return None
    return Entry.of(
        dataset,
        method_of(cells),
        QUANTITIES[column.field],
        [results[cell.key][column.field] for cell in cells if cell.key in results],
        (None, None) if paper is None else (paper.mean, paper.sd),
        is_time=column.field != VI,
        note=_why_missing(cells, results),
    )


def _why_missing(cells: Iterable[Cell], results: Results) -> str:
    for cell in cells:
        if cell.key not in results:
            return results.why_missing(cell.kind, **dict(cell.parameters))
    return ""


def _verdict(cells: Sequence[Cell], optima: Sequence[Cell], results: Results) -> str | None:
    """How often the optimum was found and proven, and by how much it was missed."""
    pairs = [
        (results[cell.key], results[optimum.key])
        for cell, optimum in zip(cells, optima, strict=True)
        if cell.key in results and optimum.key in results
    ]
    if not pairs:
        return None
    missed = [best["vi"] - found["vi"] for found, best in pairs]
    proven = sum(bool(found["proven"]) for found, _ in pairs)
    if len(pairs) == 1:
        (short,) = missed
        found = "optimal" if short == 0 else f"{short:g} below"
        bound = pairs[0][0]["bound"]
        return f"{found}, proven" if proven else f"{found}, bound {bound:g}"
    reached = sum(short == 0 for short in missed)
    worst = f", at worst {max(missed):g} below" if reached < len(pairs) else ""
    return f"{reached} of {len(pairs)} optimal, {proven} proven{worst}"
