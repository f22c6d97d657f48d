"""Very many rules with the rows they cover, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opdt.analysis.column_generation.columns import Covers
from opdt.analysis.column_generation.loss import Floats, Loss
from opdt.problem import CodedRule

if TYPE_CHECKING:
    from opdt.engines.search import RuleListing

# Rules × rows of a batch.
BATCH = 4_000_000


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rules: the wanted rows they cover, and what they cost.

    `covers` has shape (n_rules, n_wanted), `costs` (n_rules,).
    """

    found: RuleListing
    start: int
    covers: Covers
    costs: Floats

    def rule(self, place: int) -> CodedRule:
        """The rule at a place of the batch."""
        return self.found.rule(self.start + place)


@dataclass(frozen=True, eq=False)
class Listing:
    """Rules that net enough.

    `beyond` is a limit on what any other rule nets that saves something by itself.
    """

    loss: Loss
    found: tuple[RuleListing, ...]
    beyond: int

    def batches(self) -> Iterator[Batch]:
        """All rules, those of the first search first."""
        for found in self.found:
            yield from self._batches(found)

    def _batches(self, found: RuleListing) -> Iterator[Batch]:
        loss, other = self.loss, ~self.loss.wanted
        size = max(1, BATCH // len(other))
        for start in range(0, len(found), size):
            covers = found.covers(start, start + size)
            sizes = found.sizes[start : start + size]
            costs = covers[:, other] @ loss.weights[other] + loss.price * sizes
            yield Batch(found, start, covers[:, loss.wanted], costs)
