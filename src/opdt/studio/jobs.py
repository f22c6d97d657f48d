"""Work that takes time, on threads of its own: the newest of a kind wins, all can be stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from opdt.errors import OpdtError

_LOG = logging.getLogger("opdt.studio")
_NICE = 5  # below the thread of the pages, which must answer however much is searched
UNEXPECTED = "something went wrong that should not have; the log of the server says what."


def _nothing(_: Any) -> None:
    """Do nothing with an answer that is awaited."""


class Job:
    """One piece of work.

    Attributes
    ----------
    kind : str
    cancel : threading.Event
        Set when the work should end; what it has found by then still counts.
    superseded : bool
        Whether nobody waits for the answer any more.
    future : asyncio.Future
        The answer; None where it failed or is of no interest any more.
    """

    def __init__(self, kind: str, before: Job | None, loop: asyncio.AbstractEventLoop) -> None:
        self.kind = kind
        self.cancel = threading.Event()
        self.superseded = False
        self.started = False
        self.future: asyncio.Future[Any] = loop.create_future()
        self.ended = threading.Event()
        self.before = before

    def drop(self) -> None:
        """End it and forget its answer."""
        self.superseded = True
        self.cancel.set()

    def chain(self) -> Iterator[Job]:
        """The job and those before it that have not ended."""
        job: Job | None = self
        while job is not None:
            yield job
            job = job.before


class Jobs:
    """The jobs of one session; to be used on its event loop only.

    Parameters
    ----------
    changed : callable
        Called when the kinds of jobs under way have changed.
    failed : callable
        Told one sentence when a job fails.
    """

    def __init__(self, changed: Callable[[], None], failed: Callable[[str], None]) -> None:
        self.loop = asyncio.get_running_loop()
        self._changed, self._failed = changed, failed
        self._current: dict[str, Job] = {}
        self._threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._closed = False

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of the jobs under way."""
        return frozenset(self._current)

    def start(
        self,
        kind: str,
        task: Callable[[Job], Any],
        done: Callable[[Any], None] = _nothing,
        failed: Callable[[str], None] | None = None,
        grace: float = 0.0,
    ) -> asyncio.Future[Any]:
        """Run `task` on a thread of its own, once the job of the same kind before it has ended.

        That one is told to end and its answer is forgotten, unless it ends by itself within
        `grace` seconds: so a slider that moves all the time still shows something. `done` is told
        the answer on the event loop, or `failed` why there is none.
        """
        before = self._current.get(kind)
        if before is not None and before.started and grace:
            self.loop.call_later(grace, before.drop)
        elif before is not None:
            before.drop()
        job = Job(kind, before, self.loop)
        if self._closed:
            job.future.set_result(None)
            return job.future
        self._current[kind] = job
        thread = threading.Thread(
            target=self._run, args=(job, task, done, failed), name=f"studio-{kind}", daemon=True
        )
        self._threads.add(thread)
        thread.start()
        if before is None:
            self._changed()
        return job.future

    def tell(self, job: Job, news: Callable[[], None]) -> None:
        """Call `news` on the event loop, unless nobody waits for the job; from any thread."""

        def heard() -> None:
            if not job.superseded and not job.future.done():
                news()

        self._on_loop(heard)

    def stop(self, kind: str | None = None) -> None:
        """End the job of a kind, or all, with what they have found."""
        for job in list(self._current.values()):
            if kind is None or job.kind == kind:
                for each in job.chain():
                    each.cancel.set()

    def drop(self, kind: str) -> None:
        """End the job of a kind and forget its answer."""
        job = self._current.pop(kind, None)
        if job is not None:
            _drop(job)
            self._changed()

    def close(self) -> None:
        """End all jobs and forget their answers; no other is ever started."""
        self._closed = True
        for job in self._current.values():
            _drop(job)
        self._current.clear()

    async def join(self) -> None:
        """Wait until all threads have ended; those of jobs that nobody waits for, too."""
        for thread in list(self._threads):
            await asyncio.to_thread(thread.join)

    async def wait(self) -> None:
        """Wait until no job is under way."""
        while self._current:
            await asyncio.wait([job.future for job in self._current.values()])

    def _run(self, job: Job, task: Callable[[Job], Any], done: Any, failed: Any) -> None:
        """Run on the thread of the job."""
        if job.before is not None:
            job.before.ended.wait()
            job.before = None
        answer, failure = None, None
        try:
            if not job.superseded:
                job.started = True
                _be_polite()
                answer = task(job)
        except OpdtError as error:
            failure = str(error)
        except Exception:
            if not job.superseded:
                _LOG.exception("a job of the kind %r failed", job.kind)
            failure = UNEXPECTED
        finally:
            job.ended.set()
        self._on_loop(lambda: self._finish(job, answer, failure, done, failed))

    def _finish(self, job: Job, answer: Any, failure: str | None, done: Any, failed: Any) -> None:
        """Hand the answer over, on the event loop."""
        if job.superseded:
            _answer(job, None)
            return
        if self._current.get(job.kind) is job:
            del self._current[job.kind]
        if failure is None:
            done(answer)
        else:
            if failed is not None:
                failed(failure)
            self._failed(failure)
        _answer(job, answer)
        self._changed()

    def _on_loop(self, call: Callable[[], None]) -> None:
        try:
            self.loop.call_soon_threadsafe(call)
        except RuntimeError:
            _LOG.debug("the event loop has ended before a job")


def _drop(job: Job) -> None:
    for each in job.chain():
        each.drop()
        _answer(each, None)


def _answer(job: Job, answer: Any) -> None:
    if not job.future.done():
        job.future.set_result(answer)


def _be_polite() -> None:
    """Let the thread of the pages go first; on Linux each thread has a priority of its own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
