"""One session per browser tab: kept while the page reloads, closed soon after the tab is gone."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nicegui import Client, background_tasks, ui

from opdt.studio.web.memory import give_back

if TYPE_CHECKING:
    from opdt.studio.session import Session

_PAUSE = 1.0  # seconds
# A person, as the login knows them, and one of their tabs.
Owner = tuple[str, str]


@dataclass
class _Held:
    """A session, the pages that show it, and the task that will close it."""

    session: Session
    clients: set[str] = field(default_factory=set)
    closing: asyncio.Task[None] | None = None


class Sessions:
    """The sessions of all tabs.

    A tab names itself by a random number which only its own browser knows, and which a reload
    keeps; a copy of a tab has a number of its own.

    Parameters
    ----------
    make : callable
        Makes a new session.
    grace : float
        Seconds for which a session is kept once no page shows it; its jobs end at once.
    """

    def __init__(self, make: Callable[[], Session], grace: float) -> None:
        self._make = make
        self._grace = grace
        self._held: dict[Owner, _Held] = {}
        self._giving: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._held)

    def attach(self, client: Client, visitor: str) -> tuple[Session, bool]:
        """The session of a connected page's tab, and whether it is new."""
        assert client.tab_id is not None, "the page must be connected"
        owner = (visitor, client.tab_id)
        is_new = owner not in self._held
        if is_new:
            self._held[owner] = _Held(self._make())
        held = self._held[owner]
        if held.closing is not None:
            held.closing.cancel()
            held.closing = None
        held.clients.add(client.id)
        if not is_new:
            held.session.come_back()
        client.on_delete(lambda: self._detach(owner, client.id))
        return held.session, is_new

    def close(self) -> None:
        """Close all sessions."""
        for held in self._held.values():
            held.session.close()
        self._held.clear()

    def _detach(self, owner: Owner, client_id: str) -> None:
        held = self._held.get(owner)
        if held is None:
            return
        held.clients.discard(client_id)
        if not held.clients and held.closing is None:
            held.session.leave()
            held.closing = background_tasks.create(self._close_later(owner), name="close session")

    async def _close_later(self, owner: Owner) -> None:
        await asyncio.sleep(self._grace)
        held = self._held.pop(owner, None)
        if held is not None:
            await held.session.end()
            if self._giving is None:
                self._giving = background_tasks.create(self._give_back(), name="give back")

    async def _give_back(self) -> None:
        """Give back the memory of all sessions that have just been closed."""
        await asyncio.sleep(_PAUSE)  # the page lets go of the session only after it is told
        self._giving = None
        await asyncio.to_thread(give_back)


def listen(session: Session, topic: str, callback: Callable[[Any], Any]) -> None:
    """Call `callback` with the news of a topic of the session, on the present page.

    For panels: elements made by the callback land where the panel is being built, and the
    session forgets the callback once the page is gone. A callback may be async.
    """
    slot, client = ui.context.slot, ui.context.client

    def heard(news: Any) -> None:
        if client.is_deleted:
            return
        with slot:
            result = callback(news)
            if inspect.isawaitable(result):
                background_tasks.create(_awaited(result, slot), name=f"{topic} news")

    forget = session.subscribe(topic, heard)
    client.on_delete(forget)


async def _awaited(result: Any, slot: Any) -> None:
    with slot:
        await result
