"""Which rows are drawn, and exactly where: rows that would hide one another are moved apart.

Nothing here is random: the same rows give the same picture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opdt.plot.scales import BAND, Floats, Scale

# Rows drawn of a large table, and how many of each kind are drawn in any case.
MAX_POINTS, AT_LEAST = 2000, 60


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


@dataclass(frozen=True)
class Paper:
    """How large things are: points in a step of x and of y, and the width of a row's mark."""

    x: float
    y: float
    mark: float


def spread(
    x: Scale, y: Scale, rows: NDArray[np.intp], codes: NDArray[np.intp], paper: Paper
) -> Floats:
    """Places of these rows in steps, shape (2, n_rows); `codes` are the classes of all rows.

    In the band of a level, rows of about the same value stand in a line, class by class; on two
    axes of levels the rows of a cell stand in ranks. Neighbours have the same distance in every
    band and cell, so that area is number. Elsewhere rows are moved about their place.
    """
    at = np.stack([x.at[rows], y.at[rows]])
    if x.levels and y.levels:
        return at + _ranks(at, codes[rows], paper)
    room = np.stack([x.room[rows], y.room[rows]])
    moved = at + room * np.random.default_rng(0).uniform(-1, 1, at.shape)
    dot = paper.mark / paper.x, paper.mark / paper.y
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
    which, sizes, rank = _heaps(heap, codes)
    pitch = min(across, 2 * BAND / int(sizes.max()))
    return np.asarray((rank - (sizes[which] - 1) / 2) * pitch)


def _ranks(at: Floats, codes: NDArray[np.intp], paper: Paper) -> Floats:
    """Offsets from the middle of each cell."""
    if not at.shape[1]:
        return np.zeros_like(at)
    which, sizes, rank = _heaps(at, codes)
    pitch = _pitch(int(sizes.max()), paper)
    most = 2 * BAND * np.array([paper.x, paper.y]) // (pitch * (1 - 1e-9))
    width = np.ceil(np.sqrt(sizes))
    width = np.minimum(np.maximum(width, np.ceil(sizes / most[1])), most[0])[which]
    height = np.ceil(sizes[which] / width)
    return np.stack(
        [
            (rank % width - (width - 1) / 2) * pitch / paper.x,
            ((height - 1) / 2 - rank // width) * pitch / paper.y,
        ]
    )


def _heaps(
    heap: Floats, codes: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Each row's heap, the sizes of the heaps, and each row's rank in its heap, by class."""
    _, which, sizes = np.unique(heap, axis=1, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    order = np.lexsort((codes, which))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rank = np.empty(len(which))
    rank[order] = np.arange(len(which)) - starts[which[order]]
    return which, sizes, rank


def pitch_of(x: Scale, y: Scale, rows: NDArray[np.intp], paper: Paper) -> float:
    """The distance of neighbours on two axes of levels, in points."""
    at = np.stack([x.at[rows], y.at[rows]])
    most = np.unique(at, axis=1, return_counts=True)[1].max() if len(rows) else 1
    return _pitch(int(most), paper)


def _pitch(most: int, paper: Paper) -> float:
    """The largest distance at which so many rows have room in a cell."""
    across = np.arange(1, most + 1)
    return float(
        np.minimum(2 * BAND * paper.x / across, 2 * BAND * paper.y / np.ceil(most / across)).max()
    )
