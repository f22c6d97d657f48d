"""A clock that runs out at a chosen moment, whatever the machine is busy with."""

from __future__ import annotations

from opdt.solution import Budget, Clock, LimitReached, StopReason


class Ending(Clock):
    """A clock whose time is up when it is asked to check once too often."""

    def __init__(self, looks: int) -> None:
        super().__init__(Budget(time_limit=600))
        self.looks = looks

    def check(self) -> None:
        self.looks -= 1
        if self.looks < 0:
            raise LimitReached(StopReason.TIME)
