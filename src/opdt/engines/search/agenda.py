"""What is still to be done, the most promising first, on threads."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

# How often the caller looks at the clock, the cancel flag and the progress callback, in seconds.
HEARTBEAT = 0.02

Work = Callable[[int], None]
Entry = Any  # a piece of work, or what the one who performs it takes for one


class Halted(Exception):
    """The run was halted in the middle of a piece of work, which therefore stays open."""


class Stream:
    """Entries of one bound that are only made when their turn comes."""

    def __init__(self, bound: int, entries: Iterator[Entry], size: int) -> None:
        self.bound, self.size = bound, size
        self._entries, self._lock = entries, threading.Lock()

    def next(self) -> Entry | None:
        """The next entry; None where there is none left."""
        with self._lock:
            return next(self._entries, None)


def _work(slot: int, entries: list[Entry]) -> None:
    for entry in entries:
        entry(slot)


def _alone(entries: list[Entry], entry: Entry) -> bool:
    return not entries


class Agenda:
    """What is to be done, with bounds on what it may find; the largest bound comes first.

    The bound of an entry stands until it is done, so that the largest bound of what is open is a
    bound on everything at any moment. Doing it may put further entries on the agenda.

    Parameters
    ----------
    perform : callable, optional
        Does some entries, given the number of its thread. By default entries are pieces of work,
        which are called with that number.
    joins : callable, optional
        Whether an entry is done together with some that were taken; by default each is done alone.
    """

    def __init__(
        self,
        perform: Callable[[int, list[Entry]], None] = _work,
        joins: Callable[[list[Entry], Entry], bool] = _alone,
    ) -> None:
        self._perform, self._joins = perform, joins
        self._heap: list[tuple[int, int, Entry]] = []
        self._active: dict[int, int] = {}  # bounds of the work under way, by its number
        self._numbers = count()
        self._changed = threading.Condition()
        self._failures: list[BaseException] = []
        self.done = 0

    def add(self, bound: int, entry: Entry) -> None:
        """Put an entry on the agenda."""
        with self._changed:
            heapq.heappush(self._heap, (-bound, next(self._numbers), entry))
            self._changed.notify()

    @property
    def share(self) -> float:
        """The share of all pieces so far that is done."""
        return self.done / max(1, self.done + len(self._heap) + len(self._active))

    def bound(self) -> int | None:
        """The largest bound of what is open; None where nothing is."""
        with self._changed:
            bounds = list(self._active.values())
            if self._heap:
                bounds.append(-self._heap[0][0])
        return max(bounds, default=None)

    def run(
        self,
        n_threads: int,
        heartbeat: Callable[[], None],
        halt: Callable[[], None],
        halted: Callable[[], bool],
        least: Callable[[], int],
        *,
        inline: bool = False,
    ) -> None:
        """Work until nothing is open whose bound is at least `least()`, or until `halted()`.

        The kernels release the GIL, so plain threads work in parallel; the calling thread only
        waits, calls `heartbeat` now and then, and so receives Ctrl-C at once: it then calls
        `halt`, waits for the threads, and passes the interruption on. So is the first exception
        of a piece of work. With `inline` the calling thread does the work itself.
        """
        if inline:
            while not halted() and self._step(0, least, wait=False, halted=halted):
                heartbeat()
            return
        threads = [
            threading.Thread(target=self._work, args=(slot, halt, halted, least), daemon=True)
            for slot in range(max(1, n_threads))
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            try:
                for thread in threads:
                    thread.join(HEARTBEAT / len(threads))
                if not halted():
                    heartbeat()
            except BaseException as error:
                self._failures.insert(0, error)
                halt()
            if halted():
                with self._changed:
                    self._changed.notify_all()
        if self._failures:
            raise self._failures[0]

    def _work(
        self,
        slot: int,
        halt: Callable[[], None],
        halted: Callable[[], bool],
        least: Callable[[], int],
    ) -> None:
        try:
            while not halted() and self._step(slot, least, wait=True, halted=halted):
                pass
        except BaseException as error:  # raised again by the caller of `run`
            self._failures.append(error)
            halt()
            with self._changed:
                self._changed.notify_all()

    def _step(
        self,
        slot: int,
        least: Callable[[], int],
        *,
        wait: bool,
        halted: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Do one piece of work; False where nothing is left."""
        with self._changed:
            while not self._heap:
                if not self._active or not wait:
                    self._changed.notify_all()
                    return False
                self._changed.wait(HEARTBEAT)
                if halted():
                    return False
            taken, entries = self._take(least())
        if not entries:
            return True
        try:
            self._perform(slot, entries)
        except Halted:
            return False
        if halted():
            return False  # what was halted half-way stays open
        with self._changed:
            for number in taken:
                del self._active[number]
            self.done += len(taken)
            if not self._active and not self._heap:
                self._changed.notify_all()
        return True

    def _take(self, least: int) -> tuple[list[int], list[Entry]]:
        """The entries that are done next, which become active, and their numbers."""
        taken: list[int] = []
        entries: list[Entry] = []
        while self._heap:
            bound, number, entry = self._heap[0]
            if -bound < least:
                self._heap.clear()  # nothing that is left has a larger bound
            elif self._joins(entries, entry):
                heapq.heappop(self._heap)
                self._active[number] = -bound
                taken.append(number)
                entries.append(entry)
            else:
                break
        return taken, entries


def run_tasks(
    tasks: Sequence[Work],
    n_threads: int,
    heartbeat: Callable[[], None],
    halt: Callable[[], None],
    halted: Callable[[], bool],
) -> None:
    """Run tasks in their order, as `Agenda.run` does pieces of work."""
    agenda = Agenda()
    for task in tasks:
        agenda.add(0, task)
    agenda.run(min(n_threads, len(tasks)), heartbeat, halt, halted, lambda: 0)
