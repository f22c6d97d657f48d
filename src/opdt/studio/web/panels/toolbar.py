"""The bar at the top: what is open, undo and redo, projects, light and dark, the way out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import run, ui

from opdt.studio.session import Session
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import words
from opdt.studio.web.uploads import Complaint, Uploads, upload_button

PROJECT_ENDINGS = (".opdt", ".json")
# Remembered by the browser for all tabs: the system's choice, or one of two.
_NEXT = {"auto": "dark", "dark": "light", "light": "auto"}
_ICONS = {"auto": "brightness_auto", "dark": "dark_mode", "light": "light_mode"}


def toolbar(session: Session, uploads: Uploads, complain: Complaint, *, logged_in: bool) -> None:
    """Build the bar; `logged_in` shows the way out."""
    with ui.element("h1"):
        words("b", "opdt")
        words("span", " Studio")
    what = words("span", "", "studio-what").props("data-testid=what")
    words("span", "", "studio-gap")
    undo = _icon("undo", "Undo (Ctrl+Z)", "undo", session.undo)
    redo = _icon("redo", "Redo (Ctrl+Shift+Z)", "redo", session.redo)
    save = _project_buttons(session, uploads, complain)
    _dark_button()
    if logged_in:
        leave = "() => studio.leave()"
        _icon("logout", "Log out", "logout").on("click", js_handler=leave)

    def draw(_: object = None) -> None:
        undo.set_enabled(session.history.can_undo)
        redo.set_enabled(session.history.can_redo)
        save.set_enabled(session.loaded is not None)
        source = session.work.source
        what.set_text("" if source is None else source.name)

    draw()
    listen(session, "work", draw)
    listen(session, "data", draw)
    _keys(session)


def _icon(icon: str, label: str, testid: str, click: Callable[[], Any] | None = None) -> ui.button:
    button = ui.button(icon=icon, on_click=click).props("flat dense round")
    button.props["aria-label"] = label
    button.props["title"] = label
    button.props["data-testid"] = testid
    return button


def _project_buttons(session: Session, uploads: Uploads, complain: Complaint) -> ui.button:
    """Open and save; returns the latter."""

    async def opened(path: Path, name: str) -> None:
        content = await run.io_bound(path.read_bytes)
        await session.open_project(content or b"")

    async def save() -> None:
        if file := await session.take("project"):
            ui.download.content(file.content, file.name, file.media_type)

    upload_button(
        uploads,
        "Open project",
        testid="open-project",
        endings=PROJECT_ENDINGS,
        handler=opened,
        complain=complain,
        icon="folder_open",
    ).props("dense")
    button = ui.button("Save project", icon="save", on_click=save)
    button.props("flat dense no-caps data-testid=save-project").classes("studio-button")
    return button


def _dark_button() -> None:
    mode = ui.dark_mode(None)
    button = _icon(_ICONS["auto"], "Light or dark: as the system", "dark")

    def turn(event: object) -> None:
        choice = str(getattr(event, "args", "auto"))
        choice = choice if choice in _NEXT else "auto"
        mode.value = {"auto": None, "dark": True, "light": False}[choice]
        words_now = {"auto": "as the system", "dark": "dark", "light": "light"}[choice]
        button.props["icon"] = _ICONS[choice]
        button.props["aria-label"] = button.props["title"] = f"Light or dark: {words_now}"

    button.on("click", turn, js_handler="() => emit(studio.nextMode())")
    # The choice of an earlier visit, told once the page is there.
    button.on("vnodeMounted", turn, js_handler="() => emit(studio.mode())")


def _keys(session: Session) -> None:
    def pressed(event: object) -> None:
        what = getattr(event, "args", "")
        if what == "undo":
            session.undo()
        elif what == "redo":
            session.redo()

    ui.on("studio-key", pressed)
