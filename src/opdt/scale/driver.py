"""Runs the passes of a search within its limits."""

from __future__ import annotations

from dataclasses import dataclass

from opdt.machine import left
from opdt.scale.scanner import Parts, Scanner, ScanTask
from opdt.solution import Clock, Progress, StopReason

DEFAULT_ROOM = 1 << 30  # bytes, where no limit is set
LEAST_ROOM = 1 << 24  # with less nothing could be counted
MAX_RESULT = 1 << 28  # bytes of one result, so that it can travel


@dataclass(frozen=True, slots=True)
class PassProgress(Progress):
    """Progress of a search over partitions: also the pass, and the partitions it has done."""

    passes: int = 0
    parts_done: int = 0
    parts: int = 0


class Stopped(Exception):
    """A limit was reached in the middle of a pass."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


class Driver:
    """Runs passes: counts them, watches the limits, tells the progress callback."""

    def __init__(self, scanner: Scanner, clock: Clock, max_passes: int | None) -> None:
        self.scanner, self.clock, self.max_passes = scanner, clock, max_passes
        self.passes = 0
        self.value, self.bound = float("-inf"), float("inf")
        self.tell = clock.budget.progress  # who is told how far it is

    def run(self, task: ScanTask) -> Parts:
        """One pass."""
        if self.max_passes is not None and self.passes >= self.max_passes:
            raise Stopped(StopReason.PASSES)
        self.passes += 1
        return self.scanner.scan(task, self.watch)

    def check(self) -> None:
        """Stop where a limit is reached."""
        reason = self.clock.stop()
        if reason is not None:
            raise Stopped(reason)

    def watch(self, done: int, parts: int) -> None:
        """Stop where a limit is reached; tell how far the pass is."""
        self.check()
        if self.tell is not None:
            share = done / max(1, parts)
            self.tell(
                PassProgress(
                    self.clock.elapsed(), self.value, self.bound, share, self.passes, done, parts
                )
            )

    @property
    def room(self) -> int:
        """Bytes that the search may still take under the memory limit of the process.

        A quarter of what is left is for the batches being read.
        """
        limit, room = self.clock.budget.memory_limit, self.clock.room()
        if limit is None:
            return int(min(DEFAULT_ROOM, room))
        return int(max(LEAST_ROOM, min(room, left(limit)) * 3 // 4))

    @property
    def result_bytes(self) -> int:
        """Bytes of one result: each thread has one under way, beside the total and spare."""
        return min(MAX_RESULT, self.room // (self.clock.budget.n_threads + 2))
