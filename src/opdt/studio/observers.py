"""Who wants to hear of what."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from opdt.errors import InputError

_LOG = logging.getLogger("opdt.studio")


class Observers:
    """Callbacks by topic, called in the order in which they came.

    Parameters
    ----------
    topics : tuple of str
    """

    def __init__(self, topics: tuple[str, ...]) -> None:
        self._callbacks: dict[str, dict[int, Callable[[Any], Any]]] = {t: {} for t in topics}
        self._n_subscribed = 0

    def subscribe(self, topic: str, callback: Callable[[Any], Any]) -> Callable[[], None]:
        """Call `callback` with all news of a topic; returns what ends this."""
        if topic not in self._callbacks:
            raise InputError(
                f"there is no topic {topic!r}; there are {', '.join(self._callbacks)}."
            )
        self._n_subscribed += 1
        key = self._n_subscribed

        def forget() -> None:
            self._callbacks[topic].pop(key, None)

        self._callbacks[topic][key] = callback
        return forget

    def publish(self, topic: str, news: Any) -> None:
        """Tell all who want to hear of a topic."""
        for callback in list(self._callbacks[topic].values()):
            try:
                callback(news)
            except Exception:  # one page that is gone must not keep the news from the others
                _LOG.exception("an observer of %r failed", topic)

    def clear(self) -> None:
        """Forget all callbacks."""
        for callbacks in self._callbacks.values():
            callbacks.clear()
