"""The one page: a bar, what the expert says on the left, the rule on the right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from opdt.studio.session import Session
from opdt.studio.web.panels.data import data_panel
from opdt.studio.web.panels.rule import rule_panel
from opdt.studio.web.panels.target import target_panel
from opdt.studio.web.panels.toolbar import toolbar
from opdt.studio.web.sessions import Sessions, listen
from opdt.studio.web.theme import add_head, words
from opdt.studio.web.uploads import Uploads
from opdt.studio.work import Work

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
            banner = self._show(session)
        if is_new and self._settings.file is not None:
            await self._open_first(session, banner, self._settings.file)

    def _show(self, session: Session) -> Banner:
        bar = ui.element("header").classes("studio-bar")
        banner = Banner(session)
        with bar:
            toolbar(session, self._uploads, banner.show, logged_in=self._gate is not None)
        with ui.element("main").classes("studio-main"):
            with ui.element("div").classes("studio-column studio-left"):
                data_panel(session, self._uploads, banner.show)
                for panel in LEFT:
                    panel(session)
            with ui.element("div").classes("studio-column studio-right"):
                for panel in RIGHT:
                    panel(session)
        return banner

    async def _open_first(self, session: Session, banner: Banner, file: Path) -> None:
        """Open the file that was named at the start, even if its target is not to be found."""
        label = self._settings.label
        if await session.load_file(file, file.name, label) or label is None:
            return
        problem = banner.sentence
        if await session.load_file(file, file.name):
            banner.show(problem)


class Banner:
    """One sentence on what went wrong, until something else is said or someone closes it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._work = session.work
        self._box = ui.element("div").classes("studio-banner").props("role=alert")
        self._box.props("data-testid=banner").set_visibility(False)
        with self._box:
            ui.icon("error_outline", size="1.5rem")
            self._words = words("span", "", "studio-words").props("data-testid=error")
            button = ui.button(icon="close", on_click=self.hide)
            button.props("flat dense round data-testid=close-error")
            button.props["aria-label"] = "Close this message"
        listen(session, "error", self.show)
        listen(session, "work", self._hide_old)
        listen(session, "data", self.hide)

    @property
    def sentence(self) -> str:
        """What is shown, or was last."""
        return str(self._words.text)

    def show(self, sentence: str) -> None:
        """Show a sentence."""
        self._work = self._session.work
        self._words.set_text(sentence[:1].upper() + sentence[1:])
        self._box.set_visibility(True)

    def hide(self, _: object = None) -> None:
        """Show nothing."""
        self._box.set_visibility(False)

    def _hide_old(self, work: Work) -> None:
        """What cannot be said is followed by what still counts, and that changes nothing."""
        if work != self._work:
            self.hide()
