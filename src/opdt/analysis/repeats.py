"""Many searches on threads, with a result that does not depend on the number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from opdt.problem import Problem
from opdt.solution import Budget, Clock, StopReason

Result = TypeVar("Result")

# Tables with more rows keep all threads busy with one search.
ONE_AT_A_TIME = 20_000


@dataclass(frozen=True, slots=True)
class RepeatProgress:
    """What a progress callback is told: `done` of `total` searches after so many seconds."""

    seconds: float
    done: int
    total: int


Tell = Callable[[RepeatProgress], None] | None


class Repeats(Generic[Result]):
    """Runs `job(index, budget)` for index 0, 1, … and keeps the results in that order.

    Threads finish in any order, so only the results before the first one that is still missing
    count: `results` is the same whatever the number of threads, unless a limit cuts it short.

    Parameters
    ----------
    job : callable
        Takes the index of the search and the budget of that search.
    total : int
        Number of searches planned.
    clock : Clock
        Seconds, threads and the cancel flag of its budget are for all searches together, nodes
        and memory for each.
    enough : callable, optional
        Given the results so far, says whether no more are needed.
    tell : callable, optional
        Told about the progress now and then, in the calling thread.
    """

    def __init__(
        self,
        job: Callable[[int, Budget], Result],
        total: int,
        clock: Clock,
        *,
        enough: Callable[[Sequence[Result]], bool] | None = None,
        tell: Tell = None,
    ) -> None:
        self.results: list[Result] = []
        self.stopped_by = StopReason.FINISHED
        self.is_enough = False
        self._job, self._total, self._clock = job, total, clock
        self._enough, self._tell = enough, tell
        self._waiting: dict[int, Result] = {}
        self._lock, self._halt = threading.Lock(), threading.Event()

    def run(self, problem: Problem) -> None:
        """Run until all are done, enough are, or a limit is reached; Ctrl-C is such a limit."""
        from opdt.engines.search import run_tasks

        n_threads = self._clock.budget.n_threads
        inside = n_threads if problem.table.n_rows > ONE_AT_A_TIME else 1
        workers = [partial(self._work, iter(range(self._total)), inside)] * (n_threads // inside)
        try:
            self._watch()
            run_tasks(workers, len(workers), self._watch, self._halt.set, self._halt.is_set)
            self._watch()
        except KeyboardInterrupt:
            if not self._complete:
                self.stopped_by = StopReason.INTERRUPTED

    @property
    def _complete(self) -> bool:
        return self.is_enough or len(self.results) == self._total

    def _work(self, indices: Iterator[int], threads: int, slot: int) -> None:
        """What each thread does: take the next search, until none is left."""
        limits = self._clock.budget
        while not self._halt.is_set():
            with self._lock:
                index = next(indices, None)
            if index is None:
                return
            left = None if limits.time_limit is None else max(0.0, self._clock.remaining())
            budget = Budget(left, limits.nodes, limits.memory_limit, threads, self._halt)
            result = self._job(index, budget)
            # What a limit of all searches has cut short is no result.
            if not self._halt.is_set() and self._clock.stop() is None:
                self._take(index, result)

    def _take(self, index: int, result: Result) -> None:
        with self._lock:
            self._waiting[index] = result
            while not self.is_enough and len(self.results) in self._waiting:
                self.results.append(self._waiting.pop(len(self.results)))
                self.is_enough = self._enough is not None and self._enough(self.results)
            if self.is_enough:
                self._halt.set()

    def _watch(self) -> None:
        """Look at the clock; tell the progress callback."""
        reason = self._clock.stop()
        if reason is not None and not self._complete:
            self.stopped_by = reason
            self._halt.set()
        if self._tell is not None:
            self._tell(RepeatProgress(self._clock.elapsed(), len(self.results), self._total))
