"""How far a job is, told by its thread now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from opdt.analysis.repeats import RepeatProgress
from opdt.solution import Progress

TELL_EVERY = 0.1  # seconds before the first word of progress, and between two


@dataclass(frozen=True)
class Advance:
    """How far a job is.

    Attributes
    ----------
    kind : {"solve", "real"}
    share : float
        From 0 to 1.
    seconds : float
    value, bound : float or None
        Of a search: the best VI so far, and one that no rule exceeds.
    done, total : int or None
        Of a test: permutations done and planned.
    """

    kind: str
    share: float
    seconds: float
    value: float | None = None
    bound: float | None = None
    done: int | None = None
    total: int | None = None


class Teller:
    """Turns the progress of a search or a test into what a page shows, not too often.

    Parameters
    ----------
    kind : str
    tell : callable
        Told each `Advance`, in the thread of the job.
    """

    def __init__(self, kind: str, tell: Callable[[Advance], None]) -> None:
        self._kind, self._tell = kind, tell
        self._told = time.monotonic()

    def search(self, news: Progress) -> None:
        """Pass on the progress of one search."""
        if self._is_time():
            self._tell(Advance(self._kind, news.done, news.seconds, news.value, news.bound))

    def repeats(self, news: RepeatProgress) -> None:
        """Pass on the progress of many searches."""
        if self._is_time():
            share = news.done / news.total if news.total else 1.0
            counts = {"done": news.done, "total": news.total}
            self._tell(Advance(self._kind, share, news.seconds, **counts))

    def _is_time(self) -> bool:
        now = time.monotonic()
        due = now - self._told >= TELL_EVERY
        self._told = now if due else self._told
        return due
