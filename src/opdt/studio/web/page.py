"""The one page: a bar, what the expert says on the left, the rule on the right."""

from __future__ import annotations

from nicegui import ui

from opdt.studio.session import Session
from opdt.studio.web.panels.alternatives import alternatives_panel
from opdt.studio.web.panels.data import data_panel
from opdt.studio.web.panels.evidence import evidence_panel
from opdt.studio.web.panels.knowledge import knowledge_panel
from opdt.studio.web.panels.pins import pins_panel
from opdt.studio.web.panels.rule import rule_panel
from opdt.studio.web.panels.takeaway import takeaway_panel
from opdt.studio.web.panels.target import target_panel
from opdt.studio.web.panels.toolbar import toolbar
from opdt.studio.web.panels.trade_off import trade_off_panel
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import words
from opdt.studio.web.uploads import Uploads
from opdt.studio.work import Work

# Each takes the session; the data panel, which also takes uploads, stands before those on the left.
LEFT = (target_panel, knowledge_panel, trade_off_panel)
RIGHT = (rule_panel, evidence_panel, alternatives_panel, pins_panel, takeaway_panel)


class Page:
    """The page of one session.

    Parameters
    ----------
    session : Session
    uploads : Uploads
    logged_in : bool
        Whether there is a way out to show.
    """

    def __init__(self, session: Session, uploads: Uploads, *, logged_in: bool) -> None:
        bar = ui.element("header").classes("studio-bar")
        self.banner = Banner(session)
        with bar:
            toolbar(session, uploads, self.banner.show, logged_in=logged_in)
        with ui.element("main").classes("studio-main"):
            with ui.element("div").classes("studio-column studio-left"):
                data_panel(session, uploads, self.banner.show)
                for panel in LEFT:
                    panel(session)
            with ui.element("div").classes("studio-column studio-right"):
                for panel in RIGHT:
                    panel(session)


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
