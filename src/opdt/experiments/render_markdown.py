"""An experiment as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterator

from opdt.experiments.render import (
    DASH,
    TOP,
    ResultPage,
    footnotes,
    heading,
    legend,
    show_difference,
    show_mark,
    show_ours,
    show_paper,
)
from opdt.experiments.tables import Entry, PaperComparison, TableColumn

# What Markdown or HTML would take for its own.
_ESCAPED = str.maketrans(
    {c: f"\\{c}" for c in "\\`*_[]|"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


def markdown(page: ResultPage) -> str:
    """The page as text, figures as links to files beside it."""
    lines = [f"# {escape(page.heading)}", ""]
    for table in page.tables:
        lines += [f"## {escape(table.title)}", ""]
        if table.caption:
            lines += [escape(table.caption), ""]
        lines += [*_grid(table), ""]
        lines += [f"{number}. {escape(note)}" for note, number in footnotes(table).items()]
        lines += [""] * bool(footnotes(table))
    for figure in page.figures:
        lines += [f"![{escape(figure.stem)}]({figure.name})", ""]
    for text in (" ".join(legend(page.tables)), page.experiment.notes, " ".join(page.about)):
        if text:
            lines += [escape(text), ""]
    return "\n".join(lines)


def escape(text: str) -> str:
    """Text that shows as it stands."""
    return text.translate(_ESCAPED).replace("\n", " ")


def _grid(table: PaperComparison) -> Iterator[str]:
    yield _line([table.corner, *(heading(column) for column in table.columns)])
    yield _line(["---", *("---:" for _ in table.columns)], raw=True)
    notes = footnotes(table)
    for name, row in table.rows.items():
        ranks = table.ranks(name)
        places = [
            "" if entry is None else _place(entry, column, ranks.get(at), notes)
            for at, (column, entry) in enumerate(zip(table.columns, row, strict=True))
        ]
        yield _line([escape(name), *places], raw=True)


def _line(places: list[str], *, raw: bool = False) -> str:
    return f"| {' | '.join(places if raw else map(escape, places))} |"


def _place(entry: Entry, column: TableColumn, rank: int | None, notes: dict[str, int]) -> str:
    ours = escape(show_ours(entry, column))
    if rank is not None and rank <= TOP and ours != DASH:
        ours = f"<u>**{ours}**</u>" if rank == 1 else f"**{ours}**"
    if entry.note:
        ours += f" <sup>{notes[entry.note]}</sup>"
    parts = [ours]
    if paper := show_paper(entry, column):
        parts.append(f"paper {escape(paper)}")
    if difference := show_difference(entry, column):
        parts.append(f"{difference} {show_mark(entry)}".strip())
    return "<br>".join(parts)
