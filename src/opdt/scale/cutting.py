"""Boxes whose rows are elsewhere, cut finer by the counts of smaller cells inside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import box_kernels
from opdt.engines.search.boxes import Box
from opdt.engines.search.regions import Cutting
from opdt.scale.keys import MISSING
from opdt.scale.passes import SiftBoxes, levels_of
from opdt.scale.scanner import Parts

if TYPE_CHECKING:
    from opdt.scale.partition_run import PartitionRun

Whole = NDArray[np.int64]

FEWEST_CUTS = 8  # places of a side where the sample tells nothing
ENOUGH = 4_096  # rows of the sample that tell where to cut a side


def edges_of(run: PartitionRun, box: Box, sample: dict[int, Whole], room: int) -> tuple[Whole, ...]:
    """Levels between which the sides of a box are cut, by the sample's rows inside.

    `room` is the number of cells that the box may have.
    """
    rays = [run.rays[ray] for ray in box.rays]
    bins = bins_of(run, box, room)
    levels = [levels_of(ray, sample[ray.feature]) for ray in rays]
    inside = np.ones(len(levels[0]), bool)
    for own, low in zip(levels, box.low, strict=True):
        inside &= own > low
    rows = np.flatnonzero(inside)
    rows = rows[:: max(1, len(rows) // ENOUGH)]
    return tuple(
        cut_side(own[rows], low, high, bins)
        for own, low, high in zip(levels, box.low, box.high, strict=True)
    )


def bins_of(run: PartitionRun, box: Box, room: int) -> int:
    """How many places a side of a box may have, so that it has at most so many cells."""
    free = sum(run.rays[ray].op.is_threshold for ray in box.rays)
    return int(
        np.clip(room ** (1 / max(1, free)), 2, run.switches.tuning.inner_bins[len(box.rays) - 1])
    )


def even_edges(low: int, high: int, bins: int) -> Whole:
    """Levels that cut a side evenly: `low` first; the highest has a place of its own."""
    if high - low <= max(2, bins):
        return np.arange(low, high + 1, dtype=np.int64)
    cuts = low + (high - 1 - low) * np.arange(bins) // (bins - 1)
    return np.append(cuts, high).astype(np.int64)


def parts_of_all(
    run: PartitionRun, sift: SiftBoxes, sums: Parts, allowances: dict[int, int]
) -> Iterator[Box]:
    """The parts of the sifted boxes that may reach the best."""
    at = 0
    for b, box in enumerate(sift.boxes):
        run.driver.check()
        sizes = sift.sizes(b)
        end = at + int(sizes.prod())
        mass, loss, rows = (sums[n][at:end].copy() for n in ("mass", "loss", "rows"))
        at = end
        yield from _parts_of(run, box, sift.edges[b], sizes, mass, loss, rows, allowances)


def _parts_of(
    run: PartitionRun, box: Box, edges: tuple[Whole, ...], sizes: Whole, mass: Whole, loss: Whole,
    rows: Whole, allowances: dict[int, int],
) -> Iterator[Box]:  # fmt: skip
    """The parts of a box that may reach the best; `allowances` are those of priced limits."""
    k = len(box.rays)
    offset = run.scores.offset(k)
    allowance = allowances.get(box.label, 0)
    most = run.switches.tuning.most_alive
    strides = np.append(np.cumprod(sizes[::-1])[::-1][1:], 1)
    out, corner = np.empty((most, 1 + 2 * k), np.int64), np.zeros(k, np.int64)
    goal = run.best - offset + allowance
    number, best, _ = box_kernels.bound_cut(
        mass, loss, sizes, strides, goal, *Cutting.of(k, most), out, corner
    )
    box_kernels.sum_tighter(rows, sizes, strides)
    if not run.problem.constraints.bounds_rows and best + offset > run.best:
        spots = tuple(int(e[p]) + 1 for e, p in zip(edges, corner, strict=True))
        hint = box._replace(low=tuple(at - 1 for at in spots), high=spots)
        run.offer(int(best) + offset, box.label, box.rays, hint)
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
