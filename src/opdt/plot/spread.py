"""Which rows are drawn, and exactly where: rows that would hide one another are moved apart.

Nothing here is random: the same rows give the same picture.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opdt.plot.scales import BAND, Floats, Scale

# Rows drawn of a large table, and how many of each kind are drawn in any case.
MAX_POINTS, AT_LEAST = 2000, 60

Dot = tuple[float, float]  # width and height of a row's mark, in steps of x and y


def sample(kinds: NDArray[np.intp], among: NDArray[np.intp]) -> NDArray[np.intp]:
    """At most about `MAX_POINTS` of the positions `among`, ascending.

    Each kind of row (class, and whether it is covered) keeps its share, but rare ones, such as
    errors, are kept whole.
    """
    if len(among) <= MAX_POINTS:
        return among
    rng = np.random.default_rng(0)
    chosen = []
    for kind in np.unique(kinds[among]):
        some = among[kinds[among] == kind]
        wanted = max(min(AT_LEAST, len(some)), round(len(some) * MAX_POINTS / len(among)))
        chosen.append(rng.choice(some, min(wanted, len(some)), replace=False))
    return np.sort(np.concatenate(chosen))


def spread(x: Scale, y: Scale, rows: NDArray[np.intp], codes: NDArray[np.intp], dot: Dot) -> Floats:
    """Places of these rows in steps, shape (2, n_rows); `codes` are their classes.

    In the band of a level, rows of about the same value stand in a line, class by class; on two
    axes of levels the rows of a cell stand in ranks. Neighbours have the same distance in every
    band and cell, so that area is number. Elsewhere rows are moved about their place.
    """
    at = np.stack([x.at[rows], y.at[rows]])
    if x.levels and y.levels:
        return at + _ranks(at, codes[rows])
    room = np.stack([x.room[rows], y.room[rows]])
    moved = at + room * np.random.default_rng(0).uniform(-1, 1, at.shape)
    for axis, scale in enumerate((x, y)):
        if scale.levels:
            across, along = dot[axis], dot[1 - axis]
            moved[axis] = at[axis] + _swarm(at[axis], at[1 - axis], codes[rows], across, along)
    return moved


def _swarm(
    band: Floats, value: Floats, codes: NDArray[np.intp], across: float, along: float
) -> Floats:
    """Offsets from the middle of each row's band; a dot is `across` the band and `along` it."""
    if not len(band):
        return np.zeros(0)
    heap = np.stack([band, np.floor((value - value.min()) / along)])
    _, which, sizes = np.unique(heap, axis=1, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    pitch = min(across, 2 * BAND / int(sizes.max()))
    order = np.lexsort((np.arange(len(band)), codes, which))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rank = np.empty(len(band))
    rank[order] = np.arange(len(band)) - starts[which[order]]
    return np.asarray((rank - (sizes[which] - 1) / 2) * pitch)


def _ranks(at: Floats, codes: NDArray[np.intp]) -> Floats:
    """Offsets from the middle of each cell."""
    offsets = np.zeros_like(at)
    cells, which, sizes = np.unique(at, axis=1, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    if not len(sizes):
        return offsets
    pitch = _pitch(int(sizes.max()))
    for cell in range(cells.shape[1]):
        inside = np.flatnonzero(which == cell)
        inside = inside[np.argsort(codes[inside], kind="stable")]
        width = int(np.ceil(np.sqrt(len(inside))))
        height = int(np.ceil(len(inside) / width))
        place = np.arange(len(inside))
        offsets[0, inside] = (place % width - (width - 1) / 2) * pitch
        offsets[1, inside] = ((height - 1) / 2 - place // width) * pitch
    return offsets


def pitch_of(x: Scale, y: Scale, rows: NDArray[np.intp]) -> float:
    """The distance of neighbours on two axes of levels, in steps."""
    if not len(rows):
        return 1.0
    at = np.stack([x.at[rows], y.at[rows]])
    return _pitch(int(np.unique(at, axis=1, return_counts=True)[1].max()))


def _pitch(most: int) -> float:
    return 2 * BAND / int(np.ceil(np.sqrt(most)))
