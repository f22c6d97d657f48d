"""Many short pieces of work on the cores there are, with someone watching the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from opdt.machine import cores

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

# Seconds between two looks at the clock while others work.
_PAUSE = 0.05


def run(
    jobs: Sequence[Callable[[], T]],
    *,
    large: bool,
    watch: Callable[[], object] | None = None,
    threads: int | None = None,
) -> list[T]:
    """Return what the jobs return, in their order.

    Parameters
    ----------
    jobs : sequence of callables without arguments
    large : bool
        Whether the work is worth threads of its own; otherwise it is done here, job after job.
    watch : callable, optional
        Called between jobs, and for large work every 0.05 s as well. What it raises ends the
        work: jobs that run go on to their end unheard, the others are not begun.
    threads : int, optional
        At most this many at a time; as many as there are cores if left out.
    """
    if not large:
        done = []
        for job in jobs:
            done.append(job())
            if watch is not None:
                watch()
        return done
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(max(1, min(threads or cores(), len(jobs))))
    try:
        done = [_await(future, watch) for future in [pool.submit(job) for job in jobs]]
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return done


def _await(future: Future[T], watch: Callable[[], object] | None) -> T:
    """Return a job's result, calling `watch` now and then."""
    if watch is None:
        return future.result()
    watch()
    while True:
        try:
            return future.result(_PAUSE)
        except TimeoutError:
            if future.done():  # then it is the job's own
                return future.result()
            watch()
