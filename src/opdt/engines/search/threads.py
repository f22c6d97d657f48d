"""Tasks on threads, with the caller free to watch the clock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

# How often the caller looks at the clock, the cancel flag and the progress callback, in seconds.
HEARTBEAT = 0.02

Task = Callable[[int], None]


def run_tasks(
    tasks: Sequence[Task],
    n_threads: int,
    heartbeat: Callable[[], None],
    halt: Callable[[], None],
    halted: Callable[[], bool],
) -> None:
    """Run the tasks, each with the number of its thread, until all are done or `halted()`.

    The kernels release the GIL, so plain threads work in parallel; the calling thread only
    waits, calls `heartbeat` now and then, and so receives Ctrl-C at once: it then calls `halt`,
    waits for the threads, and passes the interruption on. So is the first exception of a task.
    """
    todo = iter(range(len(tasks)))
    lock, finished = threading.Lock(), threading.Event()
    failures: list[BaseException] = []
    active = [min(n_threads, len(tasks))]

    def work(slot: int) -> None:
        try:
            while not halted():
                with lock:
                    index = next(todo, None)
                if index is None:
                    break
                tasks[index](slot)
        except BaseException as error:  # raised again by the caller below
            failures.append(error)
            halt()
        finally:
            with lock:
                active[0] -= 1
                if active[0] == 0:
                    finished.set()

    if not tasks:
        return
    for slot in range(active[0]):
        threading.Thread(target=work, args=(slot,), daemon=True).start()
    done = False
    while not done:
        try:
            done = finished.wait(HEARTBEAT)
            if not done:
                heartbeat()
        except BaseException as error:
            failures.insert(0, error)
            halt()
    if failures:
        raise failures[0]
