"""What the pages of an experiment have in common: numbers as text, marks, footnotes, a legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opdt.experiments.experiment import Experiment, ExperimentSettings
from opdt.experiments.tables import Entry, PaperComparison, TableColumn, Value

DASH = "—"
ONLY_OURS = "†"
WITHIN, ABOVE, BELOW = "✓", "↑", "↓"
_TIME_DIGITS = 4  # a tenth of a millisecond
TOP = 4  # so many of a row are marked, as in the paper


@dataclass(frozen=True)
class ResultPage:
    """An experiment with its tables and figures, ready to be written.

    `about` says with which settings and on what it was measured, a sentence each.
    """

    experiment: Experiment
    tables: Sequence[PaperComparison]
    figures: Sequence[Path]
    about: Sequence[str]

    @property
    def heading(self) -> str:
        """The title, and what the paper calls it."""
        return f"{self.experiment.title} ({self.experiment.reference})"


def show_value(value: Value, column: TableColumn, *, is_time: bool = False) -> str:
    """A value as text: seconds with three digits that count, others with the column's decimals."""
    if value is None:
        return DASH
    if isinstance(value, str):
        return value
    text = f"{value:.{_time_digits(value) if is_time else column.digits}f}"
    # No -0.0, and a minus that is as long as a plus.
    return (text.lstrip("-") if not text.strip("-0.") else text).replace("-", "−")


def _time_digits(seconds: float) -> int:
    if not seconds:
        return 0
    return min(_TIME_DIGITS, max(0, 2 - math.floor(math.log10(abs(seconds)))))


def show_ours(entry: Entry, column: TableColumn) -> str:
    """Our value with its standard deviation."""
    return _with_sd(entry.ours, entry.ours_sd, entry, column)


def show_paper(entry: Entry, column: TableColumn) -> str:
    """The paper's value with its standard deviation; empty where it has none."""
    if entry.paper is None:
        return ""
    return _with_sd(entry.paper, entry.paper_sd, entry, column)


def show_difference(entry: Entry, column: TableColumn) -> str:
    """Ours minus the paper's, signed; empty where there is nothing to compare."""
    if entry.difference is None:
        return ""
    text = show_value(entry.difference, column, is_time=entry.is_time)
    return f"+{text}" if text.strip("0.") and not text.startswith("−") else text


def show_mark(entry: Entry) -> str:
    """Whether ours lies within a standard deviation of the paper's, above or below."""
    if entry.within is None or entry.difference is None:
        return ""
    return WITHIN if entry.within else ABOVE if entry.difference > 0 else BELOW


def _with_sd(value: Value, sd: float | None, entry: Entry, column: TableColumn) -> str:
    text = show_value(value, column, is_time=entry.is_time)
    if sd is None:
        return text
    return f"{text} ± {show_value(sd, column, is_time=entry.is_time)}"


def heading(column: TableColumn) -> str:
    """A column's name, marked where the paper has no such column."""
    return f"{column.name} {ONLY_OURS}" if column.ours_only else column.name


def footnotes(table: PaperComparison) -> dict[str, int]:
    """The notes of a table's entries with their numbers, in the order of appearance."""
    notes = dict.fromkeys(entry.note for entry in table.entries() if entry.note)
    return {note: number for number, note in enumerate(notes, 1)}


def legend(tables: Sequence[PaperComparison]) -> list[str]:
    """What the marks of some tables mean, as far as they occur."""
    entries = [entry for table in tables for entry in table.entries()]
    lines = []
    if any(entry.difference is not None for entry in entries):
        lines.append("Each place shows ours, the paper's, and ours minus the paper's.")
    if any(entry.ours_sd is not None for entry in entries):
        lines.append("After ± stands the standard deviation.")
    if any(entry.within is not None for entry in entries):
        lines.append(
            f"{WITHIN}: ours lies within one standard deviation of the paper's; "
            f"{ABOVE}, {BELOW}: above, below."
        )
    if any(table.highlight for table in tables):
        lines.append(
            f"Bold: among the {TOP} best of the paper's methods in the row; underlined: the best."
        )
    if any(column.ours_only for table in tables for column in table.columns):
        lines.append(f"{ONLY_OURS}: the paper has no such column.")
    return lines


def about_settings(settings: ExperimentSettings) -> list[str]:
    """The settings of a run in words."""
    lines = []
    if settings.quick:
        lines.append(
            "This is a quick run, with few splits, seeds and datasets and with short time limits: "
            "it shows that everything works, and its numbers are rough."
        )
    words = f"Asked for: {settings.splits} split{'s' * (settings.splits != 1)}"
    if settings.seeds is not None:
        words += f", at most {settings.seeds} seed{'s' * (settings.seeds != 1)} per split"
    for method, most in settings.seeds_of:
        words += f", at most {most} of {method}"
    if settings.mip_splits is not None:
        words += f", {settings.mip_splits} for mixed-integer programs"
    for value in (settings.formulation, settings.solver):
        words += f", {value}" if value is not None else ""
    if settings.time_limit is not None:
        words += f", {settings.time_limit:g} s for a mixed-integer program"
    for name in ("datasets", "methods", "structures"):
        if (chosen := getattr(settings, name)) is not None:
            words += f", only the {name} {', '.join(chosen)}"
    return [*lines, f"{words}."]
