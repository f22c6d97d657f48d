"""The refining passes: boxes that may hold the optimum are cut finer, and settled when small."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import cells
from opdt.engines.search.boxes import groups_of
from opdt.scale.boxes import Box
from opdt.scale.keys import MISSING
from opdt.scale.leaves import make_leaf
from opdt.scale.scanner import Parts
from opdt.scale.standing import Found, Standing
from opdt.scale.works import Fetch, Pass, Sift, Work, levels_of

Whole = NDArray[np.int64]

LEAF_ROWS = 60_000  # undecided rows that are brought back and settled exactly
INNER_BINS = {1: 512, 2: 160, 3: 28}  # places of a dimension when a box is cut
CELL_BYTES = 24  # mass, loss and rows of a cell
ROW_BYTES = 64  # of a row brought back
LEAST_CELLS = 1000  # of a box that is cut


class Refining:
    """Cuts the boxes that wait until none may hold a better rule."""

    def __init__(self, standing: Standing) -> None:
        self._standing, self._question = standing, standing.question

    def one_pass(self) -> None:
        """One pass: cut the largest boxes finer, bring back the rows of the small ones."""
        fetched, sifted, kept = self._choose()
        room = self._standing.driver.result_bytes // (2 * CELL_BYTES * max(1, len(sifted)))
        edges = tuple(self._edges(box, room) for box in sifted)
        works: list[Work] = []
        if fetched:
            works.append(Fetch(tuple(fetched), self._question.n_classes))
        sift = Sift(tuple(sifted), edges, self._standing.factors)
        if sifted:
            works.append(sift)
        task = Pass(self._question.coder, self._standing.rays, tuple(works))
        parts = self._standing.driver.run(task)
        self._standing.n_boxes += len(fetched) + len(sifted)
        following: list[Box] = []
        if sifted:
            following = self._cut(task.part(parts, len(works) - 1), sift)
        if fetched:
            self._settle(fetched, task.part(parts, 0))
        self._standing.waiting = kept + following

    def _choose(self) -> tuple[list[Box], list[Box], list[Box]]:
        """Boxes whose rows come back, boxes to be cut, and boxes that wait for another pass."""
        room = self._standing.driver.result_bytes // 2  # half for rows, half for cells
        rows_left = max(LEAF_ROWS, room // ROW_BYTES)
        most = max(1, room // (CELL_BYTES * LEAST_CELLS))
        fetched: list[Box] = []
        sifted: list[Box] = []
        kept: list[Box] = []
        for box in self._standing.waiting:
            if box.rows <= LEAF_ROWS and box.rows <= rows_left:
                rows_left -= box.rows
                fetched.append(box)
            elif box.rows > LEAF_ROWS and len(sifted) < most:
                sifted.append(box)
            else:
                kept.append(box)
        return fetched, sifted, kept

    def _edges(self, box: Box, room: int) -> tuple[Whole, ...]:
        """Levels between which the dimensions of a box are cut, by the sample's rows inside.

        `room` is the number of cells that the box may have.
        """
        k = len(box.rays)
        free = sum(self._standing.rays[ray].op.is_threshold for ray in box.rays)
        bins = int(np.clip(room ** (1 / max(1, free)), 8, INNER_BINS[k]))
        levels = [
            levels_of(self._standing.rays[r], self._standing.sample[self._standing.rays[r].feature])
            for r in box.rays
        ]
        inside = np.ones(len(levels[0]), bool)
        for own, low in zip(levels, box.low, strict=True):
            inside &= own > low
        return tuple(
            _cuts(own[inside], low, high, bins)
            for own, low, high in zip(levels, box.low, box.high, strict=True)
        )

    def _cut(self, parts: Parts, sift: Sift) -> list[Box]:
        """The parts of the sifted boxes that may reach the best."""
        out: list[Box] = []
        at = 0
        for b, box in enumerate(sift.boxes):
            sizes = sift.sizes(b)
            strides = np.append(np.cumprod(sizes[::-1])[::-1][1:], 1)
            end = at + int(sizes.prod())
            mass, loss, rows = (parts[n][at:end].copy() for n in ("mass", "loss", "rows"))
            at = end
            for values in (mass, loss, rows):
                cells.accumulate(values, sizes, strides)
            out.extend(self._parts_of(box, sift.edges[b], sizes, strides, mass, loss, rows))
        return out

    def _parts_of(
        self, box: Box, edges: tuple[Whole, ...], sizes: Whole, strides: Whole, mass: Whole,
        loss: Whole, rows: Whole,
    ) -> Iterator[Box]:  # fmt: skip
        k, offset = len(box.rays), self._standing.scores.offset(len(box.rays))
        upper = np.empty(sizes[0], np.int64)
        low, high = np.empty((2, int(sizes[0]), k), np.int64)
        goal = self._standing.best - offset
        best = int(cells.bound_inside(mass, loss, sizes, strides, goal, upper, low, high))
        if (
            not self._standing.problem.constraints.bounds_rows
            and best + offset > self._standing.best
        ):
            corner = int(np.argmax(mass - loss))
            places = np.unravel_index(corner, tuple(sizes))
            spots = tuple(int(e[p]) + 1 for e, p in zip(edges, places, strict=True))
            self._standing.offer(Found(best + offset, box.label, box.rays, spots), final=False)
        for bound, first, last in _halved(groups_of(upper, low, high), sizes, strides, rows):
            tight = [min(b + 1, int(s) - 1) for b, s in zip(last, sizes, strict=True)]
            inside, always = (int(np.dot(place, strides)) for place in (first, tight))
            yield Box(
                bound, box.label, box.rays,
                tuple(int(e[a]) for e, a in zip(edges, first, strict=True)),
                tuple(int(e[b + 1]) for e, b in zip(edges, last, strict=True)),
                int(rows[inside] - rows[always]),
            )  # fmt: skip

    def _settle(self, boxes: list[Box], parts: Parts) -> None:
        """Settle boxes exactly on the rows brought back, the most promising first."""
        order = np.argsort(parts["box"], kind="stable")
        ends = np.searchsorted(parts["box"][order], np.arange(len(boxes) + 1))
        control = np.array([self._standing.best, 0], np.int64)
        for b, box in enumerate(boxes):
            self._standing.driver.watch(b, len(boxes))
            offset = self._standing.scores.offset(len(box.rays))
            if box.bound + offset < self._standing.best:
                continue
            rows = order[ends[b] : ends[b + 1]]
            leaf = make_leaf(
                self._question, box, parts["levels"][rows], parts["groups"][rows],
                parts["weights"][rows], parts["always"][b],
            )  # fmt: skip
            best = leaf.piece.best(self._standing.best - offset, control)
            if best is None or best + offset < self._standing.best:
                continue
            self._standing.offer_leaf(best + offset, leaf)


Places = tuple[int, list[int], list[int]]  # bound, first and last place of each dimension


def _halved(
    groups: Iterator[Places], sizes: Whole, strides: Whole, rows: Whole
) -> Iterator[Places]:
    """Groups of places; one that is most of its box is cut in two, so that boxes do shrink.

    It is cut across the dimension that leaves most rows undecided, where half of them lie on
    either side; `rows` holds the rows of all cells at least as tight.
    """
    for bound, first, last in groups:
        spans = [b - a + 1 for a, b in zip(first, last, strict=True)]
        if any(2 * s <= n for s, n in zip(spans, sizes, strict=True) if n > 1):
            yield bound, first, last
            continue
        at = int(np.dot(first, strides))
        # rows that are left when the position moves through the places of one dimension
        left = [
            rows[at + np.arange(span) * stride] for span, stride in zip(spans, strides, strict=True)
        ]
        d = int(np.argmax([own[0] - own[-1] for own in left]))
        if left[d][0] == left[d][-1]:
            yield bound, first, last
            continue
        half = (int(left[d][0]) + int(left[d][-1])) / 2
        middle = first[d] + max(1, int(np.argmin(np.abs(left[d] - half))))
        yield bound, first, [middle - 1 if i == d else b for i, b in enumerate(last)]
        yield bound, [middle if i == d else a for i, a in enumerate(first)], last


def _cuts(levels: Whole, low: int, high: int, bins: int) -> Whole:
    """Levels between which a dimension is cut: `low` first; the highest has a place of its own."""
    if high - low <= bins:
        return np.arange(low, high + 1, dtype=np.int64)
    inner = np.unique(levels[(levels > low) & (levels < high - 1) & (levels != MISSING)])
    if len(inner) > bins - 2:
        inner = inner[np.linspace(0, len(inner) - 1, bins - 2).astype(int)]
    if len(inner) < 6:  # the sample tells nothing: cut evenly
        steps = [low + (high - low) * i // 8 for i in range(1, 8)]
        inner = np.union1d(inner, np.array(steps, np.int64))
    return np.unique(np.concatenate([[low], inner, [high - 1, high]])).astype(np.int64)
