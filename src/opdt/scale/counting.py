"""The counting passes: cells of coarsely cut features bound all rules of so many conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.axes import Axis
from opdt.scale.boxes import Box
from opdt.scale.coarse import Grid, View
from opdt.scale.pairs import PairTables
from opdt.scale.standing import Found, Standing
from opdt.scale.works import Count, Fetch, Pass, Work

Whole = NDArray[np.int64]
Block = dict[int, list[tuple[int, ...]]]  # sets of axes by the place of their grid


class Counting:
    """Counts cells in blocks that fit into memory, and bounds the rules that lie in them."""

    def __init__(self, standing: Standing) -> None:
        self._standing, self._question = standing, standing.question
        self._tables: PairTables | None = None

    def pairs(self, seeds: tuple[Box, ...]) -> None:
        """Count rules of one condition and of two; measure the seeds in the same pass."""
        standing = self._standing
        depth = standing.problem.structure.depth
        widest = self._grid(min(depth, 2))
        grids = [widest] if depth == 1 else [replace(widest, size=1), widest]
        if depth > 2:
            self._tables = PairTables.of(standing, widest)
        chosen = [
            (g, own)
            for g, grid in enumerate(grids)
            for own in grid.sets(None if depth > 2 else self._question)
        ]
        for at, block in enumerate(self._blocks(grids, iter(chosen))):
            self._count(grids, block, seeds if at == 0 else ())

    def triples(self) -> None:
        """Count the rules of three conditions that those of two leave open."""
        grid = self._grid(3)
        chosen = (
            (0, own)
            for own in grid.sets(None)
            if next(self._open(grid, own), None) is not None
        )  # fmt: skip
        for block in self._blocks([grid], chosen):
            self._count([grid], block, ())

    def _grid(self, size: int) -> Grid:
        return Grid.of(self._question, self._standing.sample, size)

    def _blocks(
        self, grids: Sequence[Grid], chosen: Iterator[tuple[int, tuple[int, ...]]]
    ) -> Iterator[Block]:
        """Sets of axes, as many as may be counted in one pass."""
        cell = 8 * self._question.n_classes
        room = self._standing.driver.result_bytes // cell
        block: Block = {}
        used = 0
        for g, own in chosen:
            self._standing.driver.check()
            size = grids[g].n_cells(own)
            if used and used + size > room:
                yield block
                block, used = {}, 0
                room = self._standing.driver.result_bytes // cell
            block.setdefault(g, []).append(own)
            used += size
        if block:
            yield block

    def _count(self, grids: Sequence[Grid], block: Block, seeds: tuple[Box, ...]) -> None:
        """One pass: the cells of a block, and the weights of the seeds."""
        n_classes = self._question.n_classes
        works: list[Work] = [
            Count(grids[g].binnings, tuple(sets), n_classes) for g, sets in block.items()
        ]
        if seeds:
            works.append(Fetch(seeds, n_classes))
        task = Pass(self._question.coder, self._standing.rays, tuple(works))
        parts = self._standing.driver.run(task)
        if seeds:
            self._measured(seeds, task.part(parts, len(works) - 1)["always"])
        for at, (g, sets) in enumerate(block.items()):
            self._bound_all(grids[g], sets, task.part(parts, at)["cells"])
        self._standing.note()

    def _measured(self, boxes: tuple[Box, ...], always: Whole) -> None:
        standing = self._standing
        for box, cover in zip(boxes, always, strict=True):
            if standing.is_fine(cover, box.label) and cover.any():
                value = int((standing.factors[box.label] * cover).sum())
                value += standing.scores.offset(len(box.rays))
                standing.offer(Found(value, box.label, box.rays, box.high), final=False)

    def _open(self, grid: Grid, chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Sets of three rays on some axes that may reach the best value."""
        if self._tables is None:
            yield from grid.ray_sets(self._question, chosen)
            return
        standing = self._standing
        goal = standing.best - standing.scores.offset(3)
        for rays in self._tables.alive([grid.axes[a] for a in chosen], goal):
            if self._question.prepared.fits(rays):
                yield rays

    def _bound_all(self, grid: Grid, sets: list[tuple[int, ...]], counted: Whole) -> None:
        at = 0
        for chosen in sets:
            self._standing.driver.check()
            axes = [grid.axes[a] for a in chosen]
            counts = np.ascontiguousarray(counted[at : at + grid.n_cells(chosen)])
            at += len(counts)
            if grid.size == 2 and self._tables is not None:
                self._tables.add(chosen, counts)
            if grid.size == 3:
                ray_sets = self._open(grid, chosen)
            else:
                hopeful = self._hopeful(axes, counts) if grid.size == 2 else None
                ray_sets = grid.ray_sets(self._question, chosen, hopeful)
            for rays in ray_sets:
                self._bound(View(axes, rays, counts))

    def _hopeful(self, axes: list[Axis], counts: Whole) -> list[tuple[int, ...]]:
        """Pairs of rays that may reach the best value, by their loosest conditions."""
        one, two = axes
        standing = self._standing
        goal = standing.best - standing.scores.offset(2)
        covers = [
            np.array([
                (turn >= 0) if axis.edges[ray] is not None else (turn == 1)
                for ray, turn in axis.turns.items()
            ]).astype(np.int64)
            for axis in axes
        ]  # fmt: skip
        singles = [np.array([axis.edges[ray] is None for ray in axis.turns]) for axis in axes]
        exact = singles[0][:, None] & singles[1]
        alive = np.zeros(exact.shape, bool)
        for factors in standing.factors.values():
            gains = counts * factors
            sums = [
                covers[0] @ part.sum(axis=1).reshape(one.n_bins, two.n_bins) @ covers[1].T
                for part in (np.maximum(gains, 0), gains)
            ]
            alive |= np.where(exact, sums[1], sums[0]) >= goal
        left, right = list(one.turns), list(two.turns)
        return [(left[i], right[j]) for i, j in np.argwhere(alive).tolist()]

    def _bound(self, view: View) -> None:
        """Offer the best rule at bin borders; keep the boxes that may hold a better one."""
        standing = self._standing
        offset = standing.scores.offset(len(view.rays))
        standing.n_views += 1
        for label, factors in standing.factors.items():
            best, alive = view.bound(factors, standing.best - offset)
            if best + offset >= standing.best and (view.is_single or best + offset > standing.best):
                self._offer_corner(view, label, factors)
            if not view.is_single:
                standing.waiting.extend(view.boxes(label, alive, self._question.n_rows))

    def _offer_corner(self, view: View, label: int, factors: Whole) -> None:
        standing = self._standing
        covers, valid = view.corners()
        values = covers @ factors
        if standing.problem.constraints.bounds_rows:
            limits, covered = standing.problem.limits, covers.sum(axis=1)
            right, share = covers[:, label], limits.precision
            valid = valid & (covered >= limits.min_covered)
            valid &= covered - right <= limits.max_errors
            valid &= right * share.denominator >= covered * share.numerator
        if not valid.any():
            return
        corner = int(np.flatnonzero(valid)[np.argmax(values[valid])])
        if not covers[corner].any():
            return
        value = int(values[corner]) + standing.scores.offset(len(view.rays))
        found = Found(value, label, view.rays, view.spots(corner))
        standing.offer(found, final=view.is_single)
