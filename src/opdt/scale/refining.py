"""The refining passes: boxes that may hold the optimum are cut finer, and settled when small."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import box_kernels
from opdt.engines.search.regions import INNER_BINS, MOST_ALIVE, Cutting
from opdt.scale.boxes import Box
from opdt.scale.keys import MISSING
from opdt.scale.leaves import Leaf
from opdt.scale.scanner import Parts
from opdt.scale.standing import Found, Standing
from opdt.scale.works import Fetch, Pass, Sift, Work, levels_of

Whole = NDArray[np.int64]

FETCHED_ROWS = 60_000  # undecided rows of a box that are brought back
CELL_BYTES = 24  # mass, loss and rows of a cell
ROW_BYTES = 64  # of a row brought back
LEAST_CELLS = 1000  # of a box that is cut
FEWEST_CUTS = 8  # places of a side where the sample tells nothing


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
        sift = Sift(tuple(sifted), edges, self._standing.priced)
        if sifted:
            works.append(sift)
        task = Pass(self._question.coder, self._standing.rays, tuple(works))
        parts = self._standing.driver.run(task)
        self._standing.n_boxes += len(fetched) + len(sifted)
        following: list[Box] = []
        if sifted:
            following = list(self._cut(task.part(parts, len(works) - 1), sift))
        if fetched:
            self._settle(fetched, task.part(parts, 0))
        self._standing.waiting = kept + following

    def _choose(self) -> tuple[list[Box], list[Box], list[Box]]:
        """Boxes whose rows come back, boxes to be cut, and boxes that wait for another pass."""
        room = self._standing.driver.result_bytes // 2  # half for rows, half for cells
        most_rows = min(FETCHED_ROWS, max(1, room // ROW_BYTES))
        rows_left = room // ROW_BYTES
        most = max(1, room // (CELL_BYTES * LEAST_CELLS))
        fetched: list[Box] = []
        sifted: list[Box] = []
        kept: list[Box] = []
        for box in self._standing.waiting:
            if box.rows <= most_rows and box.rows <= rows_left:
                rows_left -= box.rows
                fetched.append(box)
            elif box.rows > most_rows and len(sifted) < most:
                sifted.append(box)
            else:
                kept.append(box)
        return fetched, sifted, kept

    def _edges(self, box: Box, room: int) -> tuple[Whole, ...]:
        """Levels between which the sides of a box are cut, by the sample's rows inside.

        `room` is the number of cells that the box may have.
        """
        k, standing = len(box.rays), self._standing
        free = sum(standing.rays[ray].op.is_threshold for ray in box.rays)
        bins = int(np.clip(room ** (1 / max(1, free)), 2, INNER_BINS[k]))
        levels = [
            levels_of(standing.rays[r], standing.sample[standing.rays[r].feature]) for r in box.rays
        ]
        inside = np.ones(len(levels[0]), bool)
        for own, low in zip(levels, box.low, strict=True):
            inside &= own > low
        return tuple(
            cut_side(own[inside], low, high, bins)
            for own, low, high in zip(levels, box.low, box.high, strict=True)
        )

    def _cut(self, parts: Parts, sift: Sift) -> Iterator[Box]:
        """The parts of the sifted boxes that may reach the best."""
        at = 0
        for b, box in enumerate(sift.boxes):
            self._standing.driver.check()
            sizes = sift.sizes(b)
            end = at + int(sizes.prod())
            mass, loss, rows = (parts[n][at:end].copy() for n in ("mass", "loss", "rows"))
            at = end
            yield from self._parts_of(box, sift.edges[b], sizes, mass, loss, rows)

    def _parts_of(
        self, box: Box, edges: tuple[Whole, ...], sizes: Whole, mass: Whole, loss: Whole,
        rows: Whole,
    ) -> Iterator[Box]:  # fmt: skip
        """The parts of a box that may reach the best."""
        standing, k = self._standing, len(box.rays)
        offset = standing.scores.offset(k)
        allowance = standing.price(box.label).allowance
        strides = np.append(np.cumprod(sizes[::-1])[::-1][1:], 1)
        out, corner = np.empty((MOST_ALIVE, 1 + 2 * k), np.int64), np.zeros(k, np.int64)
        number, best, _ = box_kernels.bound_cut(
            mass,
            loss,
            sizes,
            strides,
            standing.best - offset + allowance,
            *Cutting.of(k),
            out,
            corner,
        )
        box_kernels.sum_tighter(rows, sizes, strides)
        if not standing.problem.constraints.bounds_rows and best + offset > standing.best:
            spots = tuple(int(e[p]) + 1 for e, p in zip(edges, corner, strict=True))
            standing.take(Found(int(best) + offset, box.label, box.rays, spots))
        for bound, *ends in out[:number].tolist():
            for first, last in parted(ends[:k], ends[k:], sizes, strides, rows):
                tight = [min(b + 1, int(s) - 1) for b, s in zip(last, sizes, strict=True)]
                inside, always = (int(np.dot(place, strides)) for place in (first, tight))
                yield Box(
                    min(bound - allowance, box.bound), box.label, box.rays,
                    tuple(int(e[a]) for e, a in zip(edges, first, strict=True)),
                    tuple(int(e[b + 1]) for e, b in zip(edges, last, strict=True)),
                    int(rows[inside] - rows[always]),
                )  # fmt: skip

    def _settle(self, boxes: list[Box], parts: Parts) -> None:
        """Settle boxes exactly on the rows brought back, the most promising first."""
        standing = self._standing
        order = np.argsort(parts["box"], kind="stable")
        ends = np.searchsorted(parts["box"][order], np.arange(len(boxes) + 1))
        for b, box in enumerate(boxes):
            standing.driver.watch(b, len(boxes))
            if box.bound + standing.scores.offset(len(box.rays)) < standing.best:
                continue
            rows = order[ends[b] : ends[b + 1]]
            leaf = Leaf.of(
                standing, box, parts["levels"][rows], parts["groups"][rows],
                parts["weights"][rows], parts["always"][b],
            )  # fmt: skip
            value = leaf.settle()
            if value is not None:
                standing.take_leaf(value, leaf)


Places = tuple[list[int], list[int]]  # first and last place of each side


def parted(
    first: list[int], last: list[int], sizes: Whole, strides: Whole, rows: Whole
) -> list[Places]:
    """A box of places; one that is most of all places is cut in two, so that boxes do shrink.

    `rows` (n_cells,) are those of all cells at least as tight. The box is cut across the side that
    decides on most rows, with about half of them on either side. Where all rows lie in the last
    places of the sides, one of these is split off: the positions before it decide on no row there,
    and it is at most half of the side (see `cut_side`).
    """
    sides = list(zip(first, last, sizes.tolist(), strict=True))
    if any(2 * (b - a + 1) <= n for a, b, n in sides if n > 1):
        return [(first, last)]
    at = int(np.dot(first, strides))
    # rows left as the position moves through the places of a side, and behind the last one
    left, behind = [], []
    for (a, b, n), stride in zip(sides, strides.tolist(), strict=True):
        own = rows[at + np.arange(b - a + 1) * stride]
        left.append(own)
        behind.append(own[-1] if b + 1 == n else rows[at + (b - a + 1) * stride])
    d = int(np.argmax([own[0] - own[-1] for own in left]))
    half = (int(left[d][0]) + int(left[d][-1])) / 2
    middle = first[d] + max(1, int(np.argmin(np.abs(left[d] - half))))
    if left[d][0] == left[d][-1]:
        d = int(np.argmax([own[-1] - end for own, end in zip(left, behind, strict=True)]))
        middle = last[d]
    if first[d] == last[d]:
        return [(first, last)]
    return [
        (first, [middle - 1 if i == d else b for i, b in enumerate(last)]),
        ([middle if i == d else a for i, a in enumerate(first)], last),
    ]


def cut_side(levels: Whole, low: int, high: int, bins: int) -> Whole:
    """Levels between which a side is cut: `low` first; the highest has a place of its own.

    One lies in the middle, so that a single place is at most half of the side. `levels` are those
    of the sample's rows in the box.
    """
    if high - low <= max(2, bins):
        return np.arange(low, high + 1, dtype=np.int64)
    inner = np.unique(levels[(levels > low) & (levels < high - 1) & (levels != MISSING)])
    if len(inner) > bins - 2:
        inner = inner[np.linspace(0, len(inner) - 1, max(0, bins - 2)).astype(int)]
    if len(inner) < min(6, bins - 2):  # the sample tells nothing: cut evenly
        cuts = min(FEWEST_CUTS, max(2, bins))
        steps = [low + (high - low) * i // cuts for i in range(1, cuts)]
        inner = np.union1d(inner, np.array(steps, np.int64))
    middle = low + (high - low) // 2
    return np.unique(np.concatenate([[low], inner, [middle, high - 1, high]])).astype(np.int64)
