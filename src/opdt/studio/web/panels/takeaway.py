"""Files to take away: for people, for databases, for Python, and to open again."""

from __future__ import annotations

from typing import Any

from nicegui import background_tasks, ui

from opdt.rules.export import DIALECTS
from opdt.studio.questions import lacks
from opdt.studio.session import Session
from opdt.studio.takeaway import KINDS
from opdt.studio.web.panels.view import View
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import COMPONENTS, panel

DIALECT_TITLES = {
    "bigquery": "BigQuery",
    "databricks": "Databricks",
    "duckdb": "DuckDB",
    "mysql": "MySQL",
    "postgres": "PostgreSQL",
    "redshift": "Redshift",
    "snowflake": "Snowflake",
    "spark": "Spark",
    "sqlite": "SQLite",
    "tsql": "SQL Server",
}
_SHOWN = ("sql", "script")  # files that can be read on the page
_NEED_RULE = ("json", "sql")  # there is a certificate of "no rule", too
_FIRST = "duckdb"


class TakeawayView(View, component=COMPONENTS / "studio_takeaway.js"):
    """One line for each file, and the text of one of them."""


def takeaway_panel(session: Session) -> None:
    """Build the panel; it is there as long as there is an answer."""
    with panel("Take it away", "takeaway-panel") as section:
        _Takeaway(session)

    def show(_: object = None) -> None:
        section.set_visibility(session.outcome is not None)

    show()
    listen(session, "outcome", show)


class _Takeaway:
    """Makes files when they are asked for, and keeps the text that is shown up to date."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._dialect = _FIRST
        self._shown: str | None = None
        self._text = ""
        self._verified = ""  # what the checker said about the certificate of this answer
        self._wanted = 0  # counts what should be shown; what comes late is forgotten
        self._view = TakeawayView(**self._state())
        self._view.on("take", self._take)
        self._view.on("show", self._choose)
        self._view.on("dialect", self._speak)
        for topic in ("outcome", "work"):
            listen(session, topic, self._refresh)
        listen(session, "outcome", self._forget)
        listen(session, "busy", self._show)

    @property
    def _has_rule(self) -> bool:
        outcome = self._session.outcome
        return outcome is not None and outcome.rule is not None

    async def _take(self, event: Any) -> None:
        what = event.args
        if what not in KINDS:
            return
        file = await self._session.take(what, **self._options(what))
        if file is not None:
            self._verified = file.said or self._verified
            self._show()
            ui.download.content(file.content, file.name, file.media_type)

    def _options(self, what: str) -> dict[str, str]:
        return {"dialect": self._dialect} if what == "sql" else {}

    def _speak(self, event: Any) -> None:
        if event.args in DIALECTS:
            self._dialect = event.args
            self._refresh()

    def _choose(self, event: Any) -> None:
        """Show a text, or hide the one that is shown."""
        self._shown = event.args if event.args in _SHOWN and event.args != self._shown else None
        self._text = ""
        self._refresh()

    def _refresh(self, _: object = None) -> None:
        self._wanted += 1
        if self._shown is not None:
            background_tasks.create(self._read(self._wanted), name="text to take away")
        self._show()

    async def _read(self, wanted: int) -> None:
        """Get the text that is shown, on a thread."""
        what, text = self._shown, ""
        is_there = lacks(self._session.work) is None and (what != "sql" or self._has_rule)
        if what is not None and is_there:
            file = await self._session.take(what, **self._options(what))
            if wanted != self._wanted:
                return
            text = "" if file is None else file.content.decode("utf-8", "replace")
        self._text = text
        self._show()

    def _forget(self, _: object = None) -> None:
        """Another answer has another certificate."""
        self._verified = ""
        self._show()

    def _show(self, _: object = None) -> None:
        self._view.show(**self._state())

    def _state(self) -> dict[str, Any]:
        busy = self._session.busy
        return {
            "dialect": self._dialect,
            "dialects": [(name, DIALECT_TITLES.get(name, name)) for name in DIALECTS],
            "shown": self._shown,
            "text": self._text,
            "lacks": [] if self._has_rule else _NEED_RULE,
            "busy": [what for what in KINDS if f"take {what}" in busy],
            "verified": self._verified,
        }
