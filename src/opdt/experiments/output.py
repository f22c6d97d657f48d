"""Tables and figures of a run as files: CSV, Markdown and HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from opdt.experiments.experiment import Experiment, Results
from opdt.experiments.provenance import read_runs
from opdt.experiments.render import ResultPage, about_settings
from opdt.experiments.render_html import html
from opdt.experiments.render_markdown import markdown
from opdt.experiments.tables import PaperComparison

FOLDER = "tables"
_COLUMNS = (
    "table",
    "row",
    "dataset",
    "method",
    "quantity",
    "ours",
    "ours_sd",
    "n",
    "paper",
    "paper_sd",
    "difference",
    "within_paper_sd",
    "standard_error",
    "within_two_errors",
    "is_time",
    "note",
)


def write_pages(experiments: Sequence[Experiment], results: Results, out: Path) -> list[ResultPage]:
    """Write `tables/NAME.csv`, `.md` and `.html` of each experiment, and its figures.

    Returns
    -------
    list of ResultPage
        What was written, in the order of the experiments.
    """
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for experiment in experiments:
        own = results.only(experiment.cells(results.settings))
        page = ResultPage(
            experiment,
            experiment.tables(own),
            () if experiment.figures is None else experiment.figures(own, folder),
            [*about_settings(results.settings), *_about_runs(out)],
        )
        for ending, text in (
            ("csv", long_form(page.tables)),
            ("md", markdown(page)),
            ("html", html(page)),
        ):
            _write(folder / f"{experiment.name}.{ending}", text)
        pages.append(page)
    return pages


def long_form(tables: Sequence[PaperComparison]) -> str:
    """CSV with one line per entry; numbers with all their digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for table in tables:
        for name, row in table.rows.items():
            for entry in row:
                if entry is None:
                    continue
                values = (getattr(entry, each) for each in _COLUMNS[2:10])
                errors = (entry.standard_error, entry.within_errors)
                last = (entry.difference, entry.within, *errors, entry.is_time, entry.note)
                writer.writerow([table.title, name, *map(_plain, (*values, *last))])
    return text.getvalue()


def _plain(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, float) else value


def _about_runs(out: Path) -> list[str]:
    """On what the last run was measured."""
    runs = read_runs(out).get("runs", [])
    if not runs:
        return []
    machine, versions = runs[-1]["machine"], runs[-1]["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    return [
        f"Measured on {machine['processor']}, {machine['cores']} cores, {machine['system']}, "
        f"with Python {machine['python']}, {packages}."
    ]


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
