"""The table: where it comes from, what its columns hold, and how they are to be read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from nicegui import ui

from opdt.report.formats import format_count
from opdt.studio.profiles import Profile
from opdt.studio.session import Session
from opdt.studio.tables import Loaded, datasets
from opdt.studio.web.panels.controls import Dropdown
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import panel, short, words
from opdt.studio.web.uploads import TABLE_ENDINGS, Complaint, Uploads, upload_button
from opdt.studio.work import Work

PAGE = 8  # columns that are shown at a time
PREVIEW_ROWS = 8
_KINDS = {"numeric": "numeric", "categorical": "categorical", "ignored": "ignored"}
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
        self._rows: list[tuple[Profile, ui.element, Dropdown]] = []
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
        return "columns" if self._session.work.label is None else ""

    def _new_data(self, _: object) -> None:
        self._page, self._sought, self._drawn = 0, "", None
        self._view = self._first_view()
        self._draw()

    def _draw(self, _: object = None) -> None:
        loaded, work = self._session.loaded, self._session.work
        shown = (id(loaded), self._page, self._sought, self._view, work.label)
        if self._drawn == shown:
            self._show_roles()
            return
        self._drawn = shown
        self._rows.clear()
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
            self._draw_columns(part)
        else:
            _draw_rows(loaded, part)
        if last:
            self._draw_pages(len(found), last)

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

    def _draw_columns(self, part: Sequence[Profile]) -> None:
        with ui.element("div").classes("studio-scroll"), _table("Columns"):
            _heads("column", "read as", "what it holds")
            with ui.element("tbody"):
                for profile in part:
                    self._draw_column(profile)
        self._show_roles()

    def _draw_column(self, profile: Profile) -> None:
        row = ui.element("tr")
        row.props["data-testid"] = "column"
        with row:
            with ui.element("th").classes("name").props("scope=row"):
                _draw_name(short(profile.name))
                with ui.element("div").classes("studio-small studio-counts"):
                    words("span", _values(profile.distinct), "studio-soft")
                    if profile.missing:
                        words("span", f", {profile.missing:,} missing", "studio-missing")
            with ui.element("td").classes("kind"):
                if profile.name == self._session.work.label:
                    words("span", "the target", "studio-badge")
                else:
                    self._rows.append((profile, row, self._draw_kind(profile)))
            with ui.element("td"):
                _draw_content(profile)

    def _draw_kind(self, profile: Profile) -> Dropdown:
        return Dropdown(
            _KINDS,
            self._session.work.roles.get(profile.name, profile.kind),
            lambda chosen: self._read_as(profile, chosen),
            label=f"Read {short(profile.name)} as",
            testid="kind",
        )

    def _show_roles(self) -> None:
        """The roles of the columns that are shown; nothing is made anew, so the focus stays."""
        roles = self._session.work.roles
        for profile, row, box in self._rows:
            kind = roles.get(profile.name, profile.kind)
            if kind == "ignored":
                row.classes(add="studio-off")
            else:
                row.classes(remove="studio-off")
            box.show(kind)

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

    def _read_as(self, profile: Profile, kind: str) -> bool:
        roles = {n: k for n, k in self._session.work.roles.items() if n != profile.name}
        loaded = self._session.loaded
        # A column that would not be used is only used where it is said.
        if kind != profile.kind or (loaded and not loaded.plan[profile.name].is_used):
            roles[profile.name] = kind
        return self._session.change(roles=roles)


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


def _draw_name(name: str) -> None:
    """A name that may be broken after an underscore."""
    *parts, last = name.split("_", 8)
    with ui.element("div"):
        for part in parts:
            words("span", f"{part}_")
            ui.element("wbr")
        words("span", last)


def _draw_content(profile: Profile) -> None:
    """A small picture of the values, and the least, middle and largest or the most frequent."""
    if profile.kind == "numeric":
        with ui.element("div").classes("studio-holds"):
            _draw_histogram(profile)
            spread = " · ".join(dict.fromkeys((profile.low, profile.median, profile.high)))
            words("span", spread, "studio-soft studio-number").props(
                "title='least · median · largest'"
            )
        return
    total = max(1, sum(profile.histogram))
    with ui.element("div").classes("studio-holds"):
        with ui.element("div").classes("studio-levels"):
            for level, rows in profile.levels[:2]:
                with ui.element("div").classes("studio-level"):
                    ui.element("i").style(f"width: {100 * rows / total:.1f}%")
                    words("span", f"{short(level, 40)}")
        if profile.distinct > 2:
            more = f"and {format_count(profile.distinct - 2)} more"
            words("span", more, "studio-soft studio-small")


def _draw_histogram(profile: Profile) -> None:
    """Bars as one path, in a box of 12 by 4 units per bar's width."""
    counts = profile.histogram or (0,)
    top, width = max(1, *counts), 96 / len(counts)
    path = "".join(
        f"M{k * width:.1f} 24v-{max(1.0 if count else 0.0, 23 * count / top):.1f}"
        f"h{width - 1:.1f}V24z"
        for k, count in enumerate(counts)
    )
    picture = ui.element("svg").classes("studio-histogram")
    picture.props("viewBox='0 0 96 24' preserveAspectRatio=none role=img")
    picture.props["aria-label"] = f"{len(counts)} bars from {profile.low} to {profile.high}"
    with picture:
        ui.element("path").props["d"] = path


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


def _values(distinct: int) -> str:
    return "1 value" if distinct == 1 else f"{distinct:,} values"
