"""One tab, one session."""

from __future__ import annotations

import asyncio

from nicegui import core

from opdt.studio.web.sessions import Sessions


class Recorded:
    """A session that writes down what becomes of it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __getattr__(self, name: str):
        return lambda: self.done.append(name)

    async def end(self) -> None:
        self.done.append("end")


class Visit:
    """A page of a tab."""

    def __init__(self, tab_id: str) -> None:
        self.id = str(id(self))
        self.tab_id = tab_id
        self.on_delete = self.__dict__.setdefault("gone", []).append

    def leave(self) -> None:
        for each in self.gone:
            each()


def test_a_tab_keeps_its_session_over_a_reload_and_loses_it_when_it_is_closed():
    async def story() -> None:
        core.loop = asyncio.get_running_loop()
        sessions = Sessions(Recorded, grace=0.05)
        first = Visit("one tab")
        mine, is_new = sessions.attach(first, "ann")
        assert is_new
        other, _ = sessions.attach(Visit("another tab"), "ann")
        stranger, _ = sessions.attach(Visit("one tab"), "bob")
        assert len({id(each) for each in (mine, other, stranger)}) == 3
        first.leave()
        assert mine.done == ["leave"]
        again = Visit("one tab")
        assert sessions.attach(again, "ann") == (mine, False)
        await asyncio.sleep(0.2)
        assert mine.done == ["leave", "come_back"]
        again.leave()
        await asyncio.sleep(0.2)
        assert mine.done == ["leave", "come_back", "leave", "end"]
        assert len(sessions) == 2
        sessions.close()
        assert other.done == stranger.done == ["close"]

    asyncio.run(story())
