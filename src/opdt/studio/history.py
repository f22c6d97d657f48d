"""What the expert has said before, for undo and redo."""

from __future__ import annotations

from dataclasses import dataclass

from opdt.studio.work import Work

LIMIT = 200


@dataclass(frozen=True)
class History:
    """Works in their order: those before, the one that counts, and those undone.

    Attributes
    ----------
    past, future : tuple of Work
        The nearest last, and the nearest first.
    present : Work
    merge : str or None
        Name of the movement, such as that of a slider, which made the present one.
    """

    present: Work
    past: tuple[Work, ...] = ()
    future: tuple[Work, ...] = ()
    merge: str | None = None

    def push(self, work: Work, merge: str | None = None) -> History:
        """The history with one more step; works that are equal are none.

        Steps that have the same `merge` and follow each other are one, so that undo takes back
        a whole movement.
        """
        if work == self.present:
            return self
        if merge is not None and merge == self.merge:
            return History(work, self.past, (), merge)
        return History(work, (*self.past, self.present)[-LIMIT:], (), merge)

    def undo(self) -> History:
        """One step back, if there is one."""
        if not self.past:
            return self
        return History(self.past[-1], self.past[:-1], (self.present, *self.future))

    def redo(self) -> History:
        """One step forward, if there is one."""
        if not self.future:
            return self
        return History(self.future[0], (*self.past, self.present), self.future[1:])

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to take back."""
        return bool(self.past)

    @property
    def can_redo(self) -> bool:
        """Whether there is a step to repeat."""
        return bool(self.future)
