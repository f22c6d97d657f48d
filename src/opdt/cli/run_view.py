"""Experiments on the terminal: the list, the progress of a run, tables, and what was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from opdt.cli.console import stderr
from opdt.experiments.experiment import (
    QUICK_SEEDS,
    QUICK_SPLITS,
    Experiment,
    ExperimentSettings,
    Results,
)
from opdt.experiments.output import FOLDER
from opdt.experiments.registry import EXPERIMENTS, get_experiment
from opdt.experiments.render import (
    TOP,
    ResultPage,
    footnotes,
    heading,
    legend,
    show_mark,
    show_value,
)
from opdt.experiments.runner import RunProgress, all_cells
from opdt.experiments.tables import Entry, PaperComparison, TableColumn
from opdt.report.formats import format_seconds

_SAY_EVERY_SECONDS = 30.0
_UNLIMITED = 10_000


def list_experiments(console: Console) -> None:
    """Name, place in the paper and expected time of each experiment."""
    full, quick = ExperimentSettings(), ExperimentSettings(QUICK_SPLITS, QUICK_SEEDS, quick=True)
    every = [get_experiment(name) for name in EXPERIMENTS]
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("name", "paper", "time", "quick", "what it shows"):
        grid.add_column(title, no_wrap=title != "what it shows")
    for each in every:
        times = (_expected([each], settings) for settings in (full, quick))
        grid.add_row(Text(each.name, "bold"), each.reference, *times, Text(each.title))
    grid.add_row(
        Text("all", "bold"), "", _expected(every, full), _expected(every, quick), "all of these"
    )
    console.print(grid)
    console.print(
        "\nTimes are rough, for one process. Experiments that share measurements take them once.",
        style="dim",
        soft_wrap=True,
    )


def _expected(experiments: Sequence[Experiment], settings: ExperimentSettings) -> str:
    seconds = sum(cell.cost for cell in all_cells(experiments, settings))
    if seconds < 60:
        return "< 1 min"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.0f} h"


class RunView:
    """The progress of a run: a bar on a terminal, else a line from time to time.

    Pass it as `progress` of `opdt.experiments.runner.run`, and use it as a context.
    """

    def __init__(self) -> None:
        self._console = stderr()
        self._bar: Any = None
        self._said = 0.0
        self._failures: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __call__(self, progress: RunProgress) -> None:
        """Show how far the run is."""
        if progress.failure and progress.failure not in self._failures:
            self._failures.add(progress.failure)
            self._console.print(
                f"failed: {progress.cell}: {progress.failure}", style="yellow", soft_wrap=True
            )
        left = f"about {format_seconds(progress.remaining)} left"
        if self._console.is_terminal:
            self._draw(progress, left)
        elif progress.seconds - self._said >= _SAY_EVERY_SECONDS:
            self._said = progress.seconds
            self._console.print(
                f"{progress.done:,} of {progress.total:,} measured, {left}", soft_wrap=True
            )

    def _draw(self, progress: RunProgress, left: str) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                BarColumn(24),
                MofNCompleteColumn(),
                TextColumn("{task.fields[words]}", markup=False),
                console=self._console,
                transient=True,
            )
            self._bar.add_task("", total=progress.total, words="")
            self._bar.start()
        words = left if progress.cell is None else f"{left}   {progress.cell}"
        self._bar.update(self._bar.task_ids[0], completed=progress.done, words=words)


def show_page(console: Console, page: ResultPage, *, notes: bool = True) -> None:
    """Print the tables of an experiment: ours, and below it what the paper has."""
    console.print(Text(page.heading, "bold"), soft_wrap=True)
    for table in page.tables:
        console.print()
        console.print(Text(table.title), soft_wrap=True)
        for columns in _portions(console, table):
            console.print(_grid(table, columns))
        for note, number in footnotes(table).items():
            console.print(Text(f"{number} {note}", "dim"))
    console.print()
    words = [line for line in legend(page.tables) if not line.startswith(("Each", "After", "Bold"))]
    below = ["Below ours stands the paper's."] if any(map(_has_paper, page.tables)) else []
    for text in (" ".join([*below, *words]), page.experiment.notes if notes else ""):
        if text:
            console.print(Text(text, "dim"))
    console.print()


def _portions(console: Console, table: PaperComparison) -> Iterator[list[int]]:
    """Columns in portions that fit the width of the terminal, at least one in each."""
    fitting: list[int] = []
    for at in range(len(table.columns)):
        grid = _grid(table, [*fitting, at])
        unlimited = console.options.update(max_width=_UNLIMITED)
        if fitting and Measurement.get(console, unlimited, grid).maximum > console.width:
            yield fitting
            fitting = []
        fitting.append(at)
    if fitting:
        yield fitting


def _grid(table: PaperComparison, columns: Sequence[int]) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    grid.add_column(table.corner, no_wrap=True)
    for at in columns:
        grid.add_column(Text(heading(table.columns[at])), justify="right", no_wrap=True)
    notes, with_paper = footnotes(table), _has_paper(table, columns)
    for name, row in table.rows.items():
        ranks = table.ranks(name)
        places = []
        for at in columns:
            entry, column = row[at], table.columns[at]
            places.append(
                Text() if entry is None else _place(entry, column, ranks.get(at), notes, with_paper)
            )
        grid.add_row(Text(name), *places)
    return grid


def _has_paper(table: PaperComparison, columns: Sequence[int] | None = None) -> bool:
    wanted = range(len(table.columns)) if columns is None else columns
    entries = [row[at] for row in table.rows.values() for at in wanted]
    return any(entry is not None and entry.paper is not None for entry in entries)


def _place(
    entry: Entry, column: TableColumn, rank: int | None, notes: dict[str, int], with_paper: bool
) -> Text:
    style = "" if rank is None or rank > TOP else "bold underline" if rank == 1 else "bold"
    text = Text(show_value(entry.ours, column, is_time=entry.is_time), style)
    text.append(f" {notes[entry.note]}" if entry.note else "", "yellow")
    mark = show_mark(entry)
    text.append(f" {mark}" if mark else "", "green" if entry.within else "yellow")
    if with_paper:
        known = entry.paper is not None
        paper = show_value(entry.paper, column, is_time=entry.is_time) if known else ""
        text.append(f"\n{paper}" + "  " * bool(mark), "dim")
    return text


def show_files(console: Console, pages: Sequence[ResultPage], results: Results, out: Path) -> None:
    """Say what was written where, and what is missing."""
    missing = len(results.cells) - len(results)
    if missing:
        console.print(
            f"{missing:,} of {len(results.cells):,} measurements failed and show as a dash; the "
            "same command tries them again.",
            style="yellow",
            soft_wrap=True,
        )
    for page in pages:
        endings = "{csv,md,html}"
        console.print(f"{out / FOLDER / page.experiment.name}.{endings}", soft_wrap=True)
