"""A limit on the time of the processor, which does not depend on what else the machine does."""

from __future__ import annotations

import threading
from bisect import bisect_left
from time import perf_counter, process_time
from types import TracebackType
from typing import Self

_TICK = 0.05  # seconds of the clock between two looks


class ProcessorLimit:
    """Sets `cancel` once the process has used so many seconds of the processor.

    It also keeps which time of the clock was which time of the processor, so that the moments
    of an engine's trace can be told in the latter. On an idle machine and one thread the two are
    nearly the same.

    Parameters
    ----------
    limit : float
        Seconds of the processor from the start of the context, all threads together.

    Examples
    --------
    >>> with ProcessorLimit(60) as processor:
    ...     solution = engine.solve(problem, Budget(cancel=processor.cancel))  # doctest: +SKIP
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.cancel = threading.Event()
        self._done = threading.Event()
        self._clock: list[float] = [0.0]
        self._processor: list[float] = [0.0]

    def __enter__(self) -> Self:
        self._started = perf_counter(), process_time()
        self._thread = threading.Thread(target=self._watch, name="opdt-processor", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()
        self._look()

    @property
    def seconds(self) -> float:
        """Seconds of the processor up to the last look."""
        return self._processor[-1]

    def at(self, clock: float) -> float:
        """The seconds of the processor at a moment of the clock, in seconds from the start."""
        later = bisect_left(self._clock, clock)
        if later == 0:
            return 0.0
        if later == len(self._clock):
            return self.seconds
        (before, after), (low, high) = (
            each[later - 1 : later + 1] for each in (self._clock, self._processor)
        )
        share = (clock - before) / (after - before)
        return low + share * (high - low)

    def _watch(self) -> None:
        while not self._done.wait(_TICK):
            self._look()
            if self.seconds >= self.limit:
                self.cancel.set()

    def _look(self) -> None:
        clock, processor = self._started
        self._clock.append(perf_counter() - clock)
        self._processor.append(process_time() - processor)
