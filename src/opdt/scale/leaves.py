"""The undecided rows of a box, brought back and settled as a region of the in-memory search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import kernels
from opdt.engines.search.boxes import Box
from opdt.engines.search.pricing import UnitPrice
from opdt.engines.search.regions import Region, Regions
from opdt.errors import EngineFailure
from opdt.scale.scanner import Parts

if TYPE_CHECKING:
    from opdt.scale.partition_run import PartitionRun

Whole = NDArray[np.int64]


class Judge:
    """The host of one leaf's region: it begins with the best value known, and keeps its own."""

    def __init__(self, run: PartitionRun) -> None:
        self._run, self.switches = run, run.switches
        self.problem, self.scores, self.limits = run.problem, run.scores, run.limits
        self.control = run.control.copy()
        self.reached: int | None = None

    @property
    def best(self) -> int:
        """The value that a rule must reach to be of interest."""
        return int(self.control[kernels.BEST])

    def expired(self) -> bool:
        """Never: where a limit is reached, the driver stops the search."""
        self._run.driver.check()
        return False

    def offer(self, value: int, label: int, rays: tuple[int, ...], hint: Any = None) -> None:
        """Keep the value."""
        self.control[kernels.BEST] = self.reached = value


@dataclass(frozen=True, eq=False)
class Leaf:
    """A box with all that is needed to settle it.

    On each side the levels that occur are numbered 1, 2, …; `values` are the levels behind these
    numbers.
    """

    box: Box
    region: Region
    values: tuple[Whole, ...]
    judge: Judge

    @classmethod
    def of(
        cls, run: PartitionRun, box: Box, rows: Parts, always: Whole, factors: Whole,
        price: UnitPrice,
    ) -> Leaf:  # fmt: skip
        """The leaf of a box: its undecided rows, and the class weights of those always covered.

        `factors` (n_classes,) are the values of a unit of weight, with the `price` of limits.
        """
        label, k = box.label, len(box.rays)
        levels, classes, weights = rows["levels"], rows["groups"], rows["weights"]
        ranks = np.empty((k, len(classes)), np.int32)
        values: list[Whole] = []
        for d, high in enumerate(box.high):
            own = np.append(np.minimum(levels[:, d], high), high)
            known, rank = np.unique(own, return_inverse=True)
            ranks[d] = rank[:-1] + 1
            values.append(known)
        covered = int(always.sum())
        fixed = [
            int((factors * always).sum()) - price.allowance,
            covered,
            covered - int(always[label]),
        ]
        tops = np.array([len(known) for known in values], np.int64)
        region = Region(
            np.zeros(k, np.int64), tops, ranks, factors[classes] * weights, weights,
            weights * (classes != label), np.array(fixed, np.int64), price,
        )  # fmt: skip
        return cls(box, region, tuple(values), Judge(run))

    @property
    def _local(self) -> Box:
        """The box in numbers of levels."""
        box, tops = self.box, tuple(self.region.tops.tolist())
        return Box(box.bound, box.label, box.rays, tuple(0 for _ in tops), tops)

    def settle(self) -> int | None:
        """The best value of the box if it reaches the best known, else None."""
        Regions(self.judge).settle(self._local, self.region)
        return self.judge.reached

    def spots(self, gain: int, *, quick: bool) -> tuple[int, tuple[int, ...]]:
        """Error weight and loosest positions that reach a gain."""
        found = Regions(self.judge).locate(self._local, self.region, gain, quick=quick)
        if found is None:
            raise EngineFailure(f"no conditions in {self.box} reach the gain {gain} of the search.")
        errors, local = found
        spots = tuple(
            low + 1 if at < 2 else int(values[at - 2]) + 1
            for low, at, values in zip(self.box.low, local, self.values, strict=True)
        )
        return errors, spots
