"""An experiment as one HTML page that needs nothing beside it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from html import escape
from pathlib import Path

from opdt.experiments.render import (
    DASH,
    TOP,
    WITHIN,
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

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2126; --paper: #fff; --soft: #6a727c; --line: #d9dde2;
  --band: #f5f7f9; --near: #1a7f4b; --far: #b3541e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --paper: #16191d; --soft: #98a1ab;
  --line: #343a41; --band: #1d2126; --near: #5cc98f; --far: #e59a66; } }
body { margin: 2rem auto; padding: 0 1.2rem; max-width: 110rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
p, ol { max-width: 50rem; } .soft, small { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .87rem; }
th, td { padding: .35rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; white-space: nowrap; }
thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--paper); }
tbody tr:hover > * { background: var(--band); }
td small { display: block; font-size: .78rem; } td.words { white-space: normal; text-align: left; }
.near { color: var(--near); } .far { color: var(--far); }
b.best { text-decoration: underline; text-underline-offset: .2em; }
sup { line-height: 0; }
img { max-width: 100%; background: #fff; border-radius: 4px; }
"""


def html(page: ResultPage) -> str:
    """The page as text; figures and style are inside it."""
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(page.heading)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            f"<h1>{escape(page.heading)}</h1>",
            *(f"<p>{escape(line)}</p>" for line in [" ".join(legend(page.tables))] if line),
            *(_image(figure) for figure in page.figures),
            *(line for table in page.tables for line in _table(table)),
            *(f'<p class="soft">{escape(text)}</p>' for text in _remarks(page)),
            "</body>\n</html>\n",
        ]
    )


def _remarks(page: ResultPage) -> list[str]:
    return [text for text in (page.experiment.notes, " ".join(page.about)) if text]


def _image(figure: Path) -> str:
    content = b64encode(figure.read_bytes()).decode()
    return f'<p><img alt="{escape(figure.stem)}" src="data:image/png;base64,{content}"></p>'


def _table(table: PaperComparison) -> Iterator[str]:
    yield f"<h2>{escape(table.title)}</h2>"
    if table.caption:
        yield f"<p>{escape(table.caption)}</p>"
    yield '<div class="scroll"><table>\n<thead><tr>'
    for name in (table.corner, *map(heading, table.columns)):
        yield f'<th scope="col">{escape(name)}</th>'
    yield "</tr></thead>\n<tbody>"
    notes = footnotes(table)
    for name, row in table.rows.items():
        ranks = table.ranks(name)
        places = [
            "<td></td>" if entry is None else _place(entry, column, ranks.get(at), notes)
            for at, (column, entry) in enumerate(zip(table.columns, row, strict=True))
        ]
        yield f'<tr><th scope="row">{escape(name)}</th>{"".join(places)}</tr>'
    yield "</tbody></table></div>"
    if notes:
        yield "<ol>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ol>"


def _place(entry: Entry, column: TableColumn, rank: int | None, notes: dict[str, int]) -> str:
    ours = escape(show_ours(entry, column))
    if rank is not None and rank <= TOP and ours != DASH:
        ours = f'<b class="best">{ours}</b>' if rank == 1 else f"<b>{ours}</b>"
    if entry.note:
        ours += f"<sup>{notes[entry.note]}</sup>"
    if paper := show_paper(entry, column):
        ours += f"<small>paper {escape(paper)}</small>"
    if difference := show_difference(entry, column):
        mark = show_mark(entry)
        tint = "near" if mark == WITHIN else "far" if mark else "none"
        ours += f'<small class="{tint}">{escape(f"{difference} {mark}".strip())}</small>'
    return f'<td class="words">{ours}</td>' if isinstance(entry.ours, str) else f"<td>{ours}</td>"
