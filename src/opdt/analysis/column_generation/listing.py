"""Very many rules with the rows they cover, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.column_generation.columns import Covers
from opdt.analysis.column_generation.loss import Floats, Loss
from opdt.problem import CodedRule

if TYPE_CHECKING:
    from opdt.engines.search.collect import Collected

# Rules × rows of a batch.
BATCH = 4_000_000


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rules: the wanted rows they cover, and what they cost.

    `covers` has shape (n_rules, n_wanted), `costs` (n_rules,).
    """

    found: Collected
    start: int
    covers: Covers
    costs: Floats

    def rule(self, place: int) -> CodedRule:
        """The rule at a place of the batch."""
        blocks, rays, at = self.found.blocks, self.found.order.rays, self.start + place
        pairs = zip(blocks.rays[at].tolist(), blocks.low[at].tolist(), strict=True)
        conditions = tuple(rays.condition(ray, low) for ray, low in pairs if ray >= 0)
        return CodedRule(conditions, int(blocks.labels[at]))


@dataclass(frozen=True, eq=False)
class Listing:
    """Rules that net enough.

    `beyond` is a limit on what any other rule nets that saves something by itself.
    """

    loss: Loss
    found: tuple[Collected, ...]
    beyond: int

    def batches(self) -> Iterator[Batch]:
        """All rules, those of the first search first."""
        for found in self.found:
            yield from self._batches(found)

    def _batches(self, found: Collected) -> Iterator[Batch]:
        blocks, loss = found.blocks, self.loss
        levels, places = _levels(found)
        other, n_rows = ~loss.wanted, len(loss.wanted)
        size = max(1, BATCH // n_rows)
        for start in range(0, len(blocks), size):
            part = slice(start, start + size)
            covers = np.ones((len(blocks.sizes[part]), n_rows), dtype=bool)
            for place, low in zip(places[part].T, blocks.low[part].T, strict=True):
                covers &= levels[place] >= low[:, None]
            costs = covers[:, other] @ loss.weights[other] + loss.price * blocks.sizes[part]
            yield Batch(found, start, covers[:, loss.wanted], costs)


def _levels(found: Collected) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The rows' levels on all rays that are used, and where each rule's rays are among them.

    A missing ray counts as one on which every row has the level 0.
    """
    from opdt.engines.search.rays import fill_levels

    rays = found.order.rays
    used, places = np.unique(found.blocks.rays, return_inverse=True)  # -1, no ray, comes first
    levels = np.zeros((len(used), len(rays.columns[0].codes)), dtype=np.int32)
    for index, out in zip(used.tolist(), levels, strict=True):
        if index >= 0:
            ray = rays.rays[index]
            fill_levels(out, ray, rays.columns[ray.feature].codes, rays.n_values(ray))
    return levels, places.reshape(found.blocks.rays.shape)
