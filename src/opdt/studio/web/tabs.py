"""What a browser gets that opens the Studio: its own session, shown on the page.

The page and the session import most of opdt, and that takes longer than starting a server;
so they are imported on a thread once the server has said where it is.
"""

from __future__ import annotations

import threading
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import background_tasks, run, ui

from opdt.studio.web.sessions import Sessions
from opdt.studio.web.theme import add_head, words
from opdt.studio.web.uploads import Uploads

if TYPE_CHECKING:
    from opdt.studio.session import Session
    from opdt.studio.web.app import ServerSettings
    from opdt.studio.web.login import Gate
    from opdt.studio.web.page import Page

_BROKEN = "The page cannot be shown; the terminal in which the Studio was started says why."


class Tabs:
    """Builds the page for each tab, and holds the sessions of all.

    Parameters
    ----------
    settings : ServerSettings
    uploads : Uploads
    gate : Gate or None
        The login, if there is a password.
    """

    def __init__(self, settings: ServerSettings, uploads: Uploads, gate: Gate | None) -> None:
        self._settings = settings
        self._uploads = uploads
        self._gate = gate
        self._sessions = Sessions(_new_session, settings.grace)
        self._imported = threading.Event()

    def warm_up(self) -> None:
        """Import and compile in the background what the first page and table need."""

        def work() -> None:
            try:
                import_module("opdt.studio.web.page")
                from opdt.studio.solver import warm_up
            finally:
                self._imported.set()  # if it failed, the page will say why
            warm_up()

        threading.Thread(target=work, name="warm-up", daemon=True).start()

    def close(self) -> None:
        """End all jobs and forget all data."""
        self._sessions.close()

    async def build(self) -> None:
        """Build the page; what it shows is known only once its tab has said which one it is."""
        client = ui.context.client
        add_head()
        whole = ui.element("div")
        with whole:
            words("div", "opdt Studio is getting ready …", "studio-waiting").props("role=status")
        await client.connected()
        await run.io_bound(self._imported.wait)
        visitor = "" if self._gate is None else self._gate.visitor(client.request.headers)
        if visitor is None or client.tab_id is None:
            return
        whole.clear()
        try:
            from opdt.studio.web.page import Page

            session, is_new = self._sessions.attach(client, visitor)
            with whole:
                page = Page(session, self._uploads, logged_in=self._gate is not None)
        except Exception:
            whole.clear()
            with whole:
                words("div", _BROKEN, "studio-waiting").props("role=alert")
            raise  # into the log
        if is_new and self._settings.file is not None:
            opening = self._open_first(session, page, self._settings.file)
            background_tasks.create(opening, name="open the first file")

    async def _open_first(self, session: Session, page: Page, file: Path) -> None:
        """Open the file that was named at the start, even if its target is not to be found."""
        target = self._settings.target
        if await session.load_file(file, file.name, target) or target is None:
            return
        problem = page.banner.sentence
        if await session.load_file(file, file.name):
            page.banner.show(problem)


def _new_session() -> Session:
    from opdt.studio.session import Session

    return Session()
