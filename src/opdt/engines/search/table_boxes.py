"""Boxes of a table in memory: opened on its rows, cut, and settled."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import box_kernels
from opdt.engines.search.agenda import Agenda
from opdt.engines.search.boxes import Box
from opdt.engines.search.rays import fill_levels
from opdt.engines.search.regions import FREE, Region, Regions
from opdt.engines.search.rows import Open
from opdt.engines.search.worth import Worth
from opdt.rules import Op

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Whole = NDArray[np.int64]
MOST_HELD = 1 << 30  # bytes of regions kept for their parts, at most
NEAR = 4  # if their bounds are above the best value by one part in so many, at most
NODE = np.array([1, 0, 0, 0])  # what to add to the counts of the work done


class TableBoxes:
    """Opens boxes of positions on the rows of a table."""

    def __init__(self, run: Run, worth: Worth) -> None:
        self.run, self._worth, self._rays = run, worth, run.prepared.rays
        self._n_rows = run.problem.table.n_rows
        self._regions = Regions(run)
        self._held = self._most_held = 0  # bytes of regions kept for their parts

    def open(self, agenda: Agenda, entry: Open) -> None:
        """Settle a box if it is small, else put its parts on the agenda."""
        run, regions = self.run, self._regions
        k = len(entry.box.rays)
        offset = run.scores.offset(k)
        stack = [(entry.box, entry.region)]
        left = run.switches.tuning.at_once
        while stack and not run.halted():
            own, around = stack.pop()
            goal = run.best - offset
            if own.bound < goal:
                continue
            run.add_counts(NODE)
            if around is None:
                if not run.claim(Region.n_bytes(k, self._n_rows)):
                    return
                around = self._whole(own)
            inside = regions.open(own, around, goal)
            if inside is None:
                continue
            if regions.is_leaf(inside):
                regions.leaf(own, regions.piece(inside))
                continue
            kept: Region | None = None
            for part in regions.cut(own, inside, goal):
                # What lies near the best value is settled at once, while the rows are at hand.
                if left and NEAR * part.bound <= (NEAR + 1) * goal:
                    stack.append((part, inside))
                    left -= 1
                    continue
                if kept is None and self._keeps(inside):
                    kept = inside
                agenda.add(part.bound + offset, Open(part, kept))

    def _keeps(self, region: Region) -> bool:
        """Whether there is room to keep a region for its parts; else they begin from the table."""
        if not self._most_held:
            self._most_held = int(min(MOST_HELD, self.run.clock.room() / 4)) + 1
        if self._held + region.levels.nbytes + 3 * region.gains.nbytes > self._most_held:
            return False
        size = region.levels.nbytes + 3 * region.gains.nbytes
        self._held += size
        weakref.finalize(region.levels, self._give_back, size)
        return True

    def _give_back(self, size: int) -> None:
        self._held -= size

    def _whole(self, box: Box) -> Region:
        """All rows, seen from a box."""
        gains, wrong = self._worth.priced_gains(box.label)
        levels = np.empty((len(box.rays), len(gains)), np.int32)
        for out, index, low, high in zip(levels, box.rays, box.low, box.high, strict=True):
            ray, n_values = self._rays.rays[index], self._rays.n_values(self._rays.rays[index])
            codes = self._rays.columns[ray.feature].codes
            if ray.op.is_threshold:
                box_kernels.first_levels(codes, ray.op is Op.LT, n_values, low, high, out)
            else:
                fill_levels(out, ray, codes, n_values)
        lows, highs = np.array(box.low, np.int64), np.array(box.high, np.int64)
        weights = self.run.problem.objective.weights
        price = self._worth.prices.get(box.label, FREE)
        fixed = np.array([-price.allowance, 0, 0], np.int64)
        return Region(lows, highs - lows, levels, gains, weights, wrong, fixed, price)

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, quick: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays; if `quick`, any, in the run's hint first."""
        tops = self._rays.tops
        whole = Box(
            goal, label, rays, tuple(0 for _ in rays), tuple(int(tops[ray]) for ray in rays)
        )
        hint = self.run.hint
        if quick and hint is not None and (hint.label, hint.rays) == (label, rays):
            likely = self._regions.locate(hint, self._whole(hint), goal, quick=True)
            if likely is not None:
                return likely[1]
        found = self._regions.locate(whole, self._whole(whole), goal, quick=quick)
        return None if found is None else found[1]
