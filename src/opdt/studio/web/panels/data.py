"""The table: where it comes from, what its columns hold, and how they are to be read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from nicegui import ui

from opdt.studio.best_in import columns_of
from opdt.studio.profiles import Profile
from opdt.studio.session import Session
from opdt.studio.tables import Loaded, datasets
from opdt.studio.web.panels.column_row import ColumnRow, say_reading
from opdt.studio.web.panels.controls import Dropdown, NumberField
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import panel, short, words
from opdt.studio.web.uploads import TABLE_ENDINGS, Complaint, Uploads, upload_button
from opdt.studio.work import Work

PAGE = 8  # columns that are shown at a time
PREVIEW_ROWS = 8
_VIEWS = {"columns": "Columns", "rows": "First rows"}


def data_panel(session: Session, uploads: Uploads, complain: Complaint) -> None:
    """Build the panel."""
    _DataPanel(session, uploads, complain)


class _DataPanel:
    """What is shown of the table: one page of its columns."""

    def __init__(self, session: Session, uploads: Uploads, complain: Complaint) -> None:
        self._session = session
        self._page = 0
        self._sought = ""
        self._view = self._first_view()
        self._drawn: Any = None
        self._rows: list[ColumnRow] = []
        self._missing: NumberField | None = None
        with panel("Data", "data-panel", step=1):
            self._draw_sources(uploads, complain)
            self._reading = words("p", "Reading the table …", "studio-soft studio-small")
            self._reading.props("role=status").set_visibility("load" in session.busy)
            self._body = ui.element("div")
        self._draw()
        listen(session, "data", self._new_data)
        listen(session, "work", self._draw)
        listen(session, "busy", self._draw_reading)

    def _draw_sources(self, uploads: Uploads, complain: Complaint) -> None:
        async def received(path: Path, name: str) -> None:
            await self._session.load_file(path, name)

        async def chosen(name: str) -> bool:
            if name:
                await self._session.load_dataset(name)
            return False  # the list offers; what is open stands below it

        with ui.element("div").classes("studio-row"):
            upload_button(
                uploads,
                "Open a table …",
                testid="upload",
                endings=TABLE_ENDINGS,
                handler=received,
                complain=complain,
                drop=True,
            )
            choices = {"": "Built-in data …"}
            choices |= {each.name: each.title for each in datasets()}
            Dropdown(choices, "", chosen, label="Built-in data", testid="dataset")
            words("span", "CSV or Parquet; or drop it anywhere", "studio-soft studio-small")

    def _draw_reading(self, jobs: Collection[str]) -> None:
        self._reading.set_visibility("load" in jobs)

    def _first_view(self) -> str:
        """The columns; nothing once the classes are known, as there is more to do further down."""
        return "columns" if self._session.work.target is None else ""

    def _new_data(self, _: object) -> None:
        self._page, self._sought, self._drawn = 0, "", None
        self._view = self._first_view()
        self._draw()

    def _draw(self, _: object = None) -> None:
        loaded, work = self._session.loaded, self._session.work
        read = (work.target, columns_of(work.objective))
        shown = (id(loaded), self._page, self._sought, self._view, read)
        if self._drawn == shown and all(row.show() for row in self._rows):
            self._show_missing()
            return
        self._drawn = shown
        self._rows.clear()
        self._missing = None
        self._body.clear()
        with self._body:
            if self._session.waiting is not None:
                self._draw_waiting(self._session.waiting)
            if loaded is None:
                words(
                    "p",
                    "The data stay on the computer that runs the Studio: in its memory, until "
                    "this tab is closed.",
                    "studio-soft studio-small",
                )
                return
            _draw_summary(loaded)
            self._draw_choice(loaded)
            if self._view:
                self._draw_page(loaded)

    def _draw_page(self, loaded: Loaded) -> None:
        found = [each for each in loaded.profiles if self._sought in each.name.casefold()]
        last = max(0, (len(found) - 1) // PAGE)
        self._page = min(self._page, last)
        part = found[self._page * PAGE : (self._page + 1) * PAGE]
        if not part:
            words("p", "No column has such a name.", "studio-soft")
        elif self._view == "columns":
            self._draw_columns(loaded, part)
        else:
            _draw_rows(loaded, part)
        if last:
            self._draw_pages(len(found), last)
        if self._view == "columns":
            self._draw_missing()

    def _draw_waiting(self, project: Work) -> None:
        """A project never holds the data; the expert has to open the same file again."""
        with ui.element("div").classes("studio-note studio-row").props("data-testid=waiting"):
            name = "its data" if project.source is None else repr(short(project.source.name))
            words("span", f"To go on with this project, open {name}.")
            button = ui.button("Forget the project", on_click=self._session.forget_project)
            button.props("flat dense no-caps data-testid=forget-project")

    def _draw_choice(self, loaded: Loaded) -> None:
        with ui.element("div").classes("studio-row studio-tabs"):
            for view, title in _VIEWS.items():
                self._draw_view(view, title)
            words("span", "").classes("studio-gap")
            if self._view and len(loaded.profiles) > PAGE:
                box = ui.element("input").classes("studio-input studio-search")
                box.props("type=search placeholder='Find a column' data-testid=find-column")
                box.props["aria-label"] = "Find a column"
                box.props["defaultValue"] = self._sought
                box.on(
                    "change",
                    lambda event: self._show(sought=str(event.args).casefold().strip(), page=0),
                    js_handler="(event) => emit(event.target.value)",
                )

    def _draw_view(self, view: str, title: str) -> None:
        """A button that shows a view, and hides it again."""
        is_open = view == self._view
        button = ui.button(
            title,
            icon="expand_less" if is_open else "expand_more",
            color=None,
            on_click=lambda: self._show(view="" if is_open else view),
        )
        button.props("flat dense no-caps").classes("studio-tab")
        button.props["aria-expanded"] = "true" if is_open else "false"
        button.props["data-testid"] = f"data-{view}"

    def _draw_columns(self, loaded: Loaded, part: Sequence[Profile]) -> None:
        with ui.element("div").classes("studio-scroll"), _table("Columns"):
            _heads("column", "read as", "what it holds")
            with ui.element("tbody"):
                for profile in part:
                    work = self._session.work
                    is_target = profile.name in (work.target, *columns_of(work.objective))
                    row = ColumnRow(self._session, loaded, profile.name, is_target=is_target)
                    self._rows.append(row)

    def _draw_missing(self) -> None:
        """A field for words that stand for no value, in all columns."""
        with ui.element("label").classes("studio-row studio-declared"):
            words("span", "Cells that mean that there is no value")
            self._missing = NumberField(
                ", ".join(self._session.work.missing),
                self._declare,
                testid="missing-values",
                key="missing-values",
                label="Cells that mean that there is no value, separated by commas",
                hint="9999, unknown",
            )

    async def _declare(self, text: str) -> None:
        cells = tuple(cell.strip() for cell in text.split(",") if cell.strip())
        await say_reading(self._session, missing=cells)
        self._show_missing()

    def _show_missing(self) -> None:
        if self._missing is not None:
            self._missing.show(", ".join(self._session.work.missing))

    def _draw_pages(self, n_found: int, last: int) -> None:
        first = self._page * PAGE
        with ui.element("div").classes("studio-row studio-pages"):
            for icon, page, label in (
                ("chevron_left", self._page - 1, "Previous columns"),
                ("chevron_right", self._page + 1, "Next columns"),
            ):
                button = ui.button(icon=icon, on_click=lambda _, page=page: self._show(page=page))
                button.props("flat dense round").set_enabled(0 <= page <= last)
                button.props["aria-label"] = label
                button.props["data-testid"] = label.split()[0].lower() + "-columns"
            end = min(first + PAGE, n_found)
            text = f"columns {first + 1:,} to {end:,} of {n_found:,}"
            words("span", text, "studio-soft studio-small").props("data-testid=column-range")

    def _show(
        self, *, page: int | None = None, sought: str | None = None, view: str | None = None
    ) -> None:
        self._page = self._page if page is None else page
        self._sought = self._sought if sought is None else sought
        self._view = self._view if view is None else view
        self._draw()


def _draw_summary(loaded: Loaded) -> None:
    missing = sum(each.missing for each in loaded.profiles)
    cells = loaded.source.n_rows * loaded.source.n_columns
    gone = f"{missing:,} of {cells:,} cells missing" if missing else "nothing missing"
    with ui.element("p").classes("studio-summary").props("data-testid=data-summary"):
        words("b", short(loaded.source.name))
        words("span", f"{loaded.source.n_rows:,} rows")
        words("span", f"{loaded.source.n_columns:,} columns")
        words("span", gone)
    for note in loaded.notes:
        words("p", note, "studio-note")


def _draw_rows(loaded: Loaded, part: Sequence[Profile]) -> None:
    n_rows = min(PREVIEW_ROWS, loaded.source.n_rows)
    cells = loaded.cells(range(n_rows), [each.name for each in part])
    with ui.element("div").classes("studio-scroll"), _table("First rows"):
        _heads("", *(short(each.name) for each in part))
        with ui.element("tbody"):
            for number, row in enumerate(cells, start=1):
                with ui.element("tr"):
                    words("th", str(number), "n").props("scope=row")
                    for each, cell in zip(part, row, strict=True):
                        gone = "studio-missing" if cell is None else ""
                        side = "n" if each.kind == "numeric" else ""
                        with ui.element("td").classes(f"{gone} {side}"):
                            words("span", "missing" if cell is None else short(cell), "studio-cut")


def _table(label: str) -> ui.element:
    table = ui.element("table").classes("studio-table")
    table.props["aria-label"] = label
    return table


def _heads(*titles: str) -> None:
    with ui.element("thead"), ui.element("tr"):
        for title in titles:
            with ui.element("th").props("scope=col"):
                words("span", title, "studio-cut")
