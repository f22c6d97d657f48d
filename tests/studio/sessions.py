"""Sessions of the Studio for tests: on files of their own, and who hears their news."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from opdt.studio.session import TOPICS, Session
from studio.works import patients


def on_loop(scene: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 120))


def stored(folder: Path, seed: int) -> Path:
    path = folder / f"patients-{seed}.csv"
    patients(seed=seed).frame.to_csv(path, index=False)
    return path


class Listener:
    """Hears all news of a session, and remembers on which thread."""

    def __init__(self, heard_of: Session) -> None:
        self.news: list[tuple[str, Any]] = []
        self.threads: set[int] = set()
        for topic in TOPICS:
            heard_of.subscribe(topic, lambda news, topic=topic: self._hear(topic, news))

    def _hear(self, topic: str, news: Any) -> None:
        self.news.append((topic, news))
        self.threads.add(threading.get_ident())

    def of(self, topic: str) -> list[Any]:
        return [news for heard, news in self.news if heard == topic]


async def begun(path: Path, **said: Any) -> tuple[Session, Listener]:
    one = Session()
    listener = Listener(one)
    assert await one.load_file(path, target="state")
    if said:
        assert one.change(**said)
    await one.settled()
    return one, listener


async def deep_search(folder: Path) -> tuple[Session, Listener]:
    """A session on noise, in which a rule of six conditions is not proven for minutes."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(400, 30)).round(3)).add_prefix("x")
    frame["state"] = random.choice(["ill", "well"], 400)
    frame.to_csv(folder / "deep.csv", index=False)
    one = Session()
    listener = Listener(one)
    assert await one.load_file(folder / "deep.csv")
    assert one.change(target="state", max_depth=6, w=1.5)
    return one, listener


async def progress(listener: Listener) -> int:
    """How often the loop went round until there was a word of progress."""
    for rounds in range(100_000):
        if listener.of("progress"):
            return rounds
        await asyncio.sleep(0.001)
    raise TimeoutError
