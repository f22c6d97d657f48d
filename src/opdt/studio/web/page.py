"""The one page: a bar, what the expert says on the left, the rule on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import run, ui

from opdt.errors import OpdtError
from opdt.studio.session import Session
from opdt.studio.web.panels.data import data_panel
from opdt.studio.web.panels.rule import rule_panel
from opdt.studio.web.panels.target import target_panel
from opdt.studio.web.panels.toolbar import toolbar
from opdt.studio.web.sessions import Sessions, listen
from opdt.studio.web.theme import add_head, words
from opdt.studio.web.uploads import Uploads

if TYPE_CHECKING:
    from opdt.studio.web.app import Settings
    from opdt.studio.web.login import Gate

# Each takes the session; the data panel, which also takes uploads, stands before those on the left.
LEFT = (target_panel,)
RIGHT = (rule_panel,)


class Studio:
    """Builds the page for each tab, and holds the sessions of all.

    Parameters
    ----------
    settings : Settings
    uploads : Uploads
    gate : Gate or None
        The login, if there is a password.
    """

    def __init__(self, settings: Settings, uploads: Uploads, gate: Gate | None) -> None:
        self._settings = settings
        self._uploads = uploads
        self._gate = gate
        self.sessions = Sessions(Session, settings.grace)

    def close(self) -> None:
        """End all jobs and forget all data."""
        self.sessions.close()

    async def build(self) -> None:
        """Build the page; what it shows is known only once its tab has said which one it is."""
        client = ui.context.client
        add_head()
        whole = ui.element("div")
        with whole:
            words("div", "opdt Studio is getting ready …", "studio-waiting")
        await client.connected()
        visitor = "" if self._gate is None else self._gate.visitor(client.request.headers)
        if visitor is None or client.tab_id is None:
            return
        session, is_new = self.sessions.attach(client, visitor)
        whole.clear()
        with whole:
            self._show(session)
        if is_new and self._settings.file is not None:
            await self._open_first(session)

    def _show(self, session: Session) -> None:
        toolbar(session, self._uploads, logged_in=self._gate is not None)
        _banner(session)
        with ui.element("main").classes("studio-main"):
            with ui.element("div").classes("studio-column studio-left"):
                data_panel(session, self._uploads)
                for panel in LEFT:
                    panel(session)
            with ui.element("div").classes("studio-column studio-right"):
                for panel in RIGHT:
                    panel(session)

    async def _open_first(self, session: Session) -> None:
        """Open the file that was named at the start."""
        file, label = self._settings.file, self._settings.label
        assert file is not None
        await session.open_file(file, file.name, label=label)


def _banner(session: Session) -> None:
    """One sentence on what went wrong, until something works or someone closes it."""
    banner = ui.element("div").classes("studio-banner").props("role=alert data-testid=banner")
    banner.set_visibility(False)
    with banner:
        ui.icon("error_outline", size="1.5rem")
        sentence = words("span", "", "studio-words").props("data-testid=error")
        button = ui.button(icon="close", on_click=lambda: banner.set_visibility(False))
        button.props("flat dense round data-testid=close-error")
        button.props["aria-label"] = "Close this message"

    def show(text: str) -> None:
        sentence.set_text(text[:1].upper() + text[1:])
        banner.set_visibility(True)

    listen(session, "error", show)
    listen(session, "data", lambda: banner.set_visibility(False))
    listen(session, "outcome", lambda: banner.set_visibility(False))
