"""Which sets of axes have an open cell: what the checker counts, in compiled code.

The checker stays plain NumPy. Whoever makes a certificate has to look at the same cells to know
which of them to cut again, and this is the quick way to find the few sets of axes that have any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.jit import kernel

SUFFIX, PICK, EXCEPT = 0, 1, 2  # how sums per level become sums per position


class AxesToScan(NamedTuple):
    """The axes of one class, as arrays of shape (n_axes,) and (n_axes, n_rows)."""

    codes: NDArray[np.uint16]
    widths: NDArray[np.int64]
    folds: NDArray[np.int64]
    features: NDArray[np.int64]
    types: NDArray[np.int64]  # which nodes of the structure admit them
    required: NDArray[np.int64]  # the required feature that they bring, as a bit


class SetsAllowed(NamedTuple):
    """Which sets of axes are rules of the problem."""

    fits: NDArray[np.bool_]  # by size and types: (depth + 1, n_types ** depth)
    n_types: int
    required: int  # the bits of all required features
    once: bool


@kernel(allocates=True)
def open_sets(
    axes: AxesToScan,
    allowed: SetsAllowed,
    gains: NDArray[np.int64],
    most: int,
    most_cells: int,
    depth: int,
    first: int,
    step: int,
    found: NDArray[np.int64],
) -> int:
    """The sets that begin with axes first, first + step, … and have a cell above `most`.

    They are written to `found` (room, depth), which holds -1 where a set has fewer axes. Returns
    how many there are, also beyond the room; -1 if a set has more than `most_cells` cells.
    """
    n_axes, n_rows = axes.codes.shape
    rows = np.empty((depth + 1, n_rows), np.int64)
    cells = np.empty((depth + 1, n_rows), np.int64)
    n_kept = np.empty(depth + 1, np.int64)
    n_cells = np.ones(depth + 1, np.int64)
    chosen = np.full(depth + 1, -1, np.int64)
    table = np.empty(1 << 16, np.int64)
    for row in range(n_rows):
        rows[0, row] = row
        cells[0, row] = 0
    n_kept[0] = n_rows
    n_found = 0
    size = 1
    chosen[1] = first - step
    while size > 0:
        chosen[size] += step if size == 1 else 1
        if chosen[size] >= n_axes:
            size -= 1
            continue
        axis = chosen[size]
        if _clashes(axes, allowed.once, chosen, size):
            continue
        kept, mass = 0, 0
        width = axes.widths[axis]
        for at in range(n_kept[size - 1]):
            row = rows[size - 1, at]
            code = axes.codes[axis, row]
            if code > 0:
                rows[size, kept] = row
                cells[size, kept] = cells[size - 1, at] * width + code - 1
                kept += 1
                mass += max(gains[row], 0)
        if mass <= most:
            continue
        n_kept[size] = kept
        n_cells[size] = n_cells[size - 1] * width
        if _is_allowed(axes, allowed, chosen, size):
            if n_cells[size] > most_cells:
                return -1
            if n_cells[size] > len(table):
                table = np.empty(2 * n_cells[size], np.int64)
            if _has_open(axes, chosen, size, table, n_cells, rows, cells, kept, gains, most):
                if n_found < len(found):
                    for at in range(size):
                        found[n_found, at] = chosen[at + 1]
                n_found += 1
        if size < depth:
            size += 1
            chosen[size] = axis - 1
    return n_found


@kernel(inner=True)
def _clashes(axes: AxesToScan, once: bool, chosen: NDArray[np.int64], size: int) -> bool:
    """Whether the last axis comes to one condition with another, or `once` forbids it."""
    last = chosen[size]
    for at in range(1, size):
        other = chosen[at]
        if axes.features[other] == axes.features[last]:
            fold = axes.folds[last]
            if other == last:
                if fold != EXCEPT or once:
                    return True
            elif once and fold == SUFFIX and axes.folds[other] == SUFFIX:
                return True
    return False


@kernel(inner=True)
def _is_allowed(
    axes: AxesToScan, allowed: SetsAllowed, chosen: NDArray[np.int64], size: int
) -> bool:
    key, brought = 0, 0
    for at in range(1, size + 1):
        key = key * allowed.n_types + axes.types[chosen[at]]
        brought |= axes.required[chosen[at]]
    return allowed.fits[size, key] and brought == allowed.required


@kernel(inner=True)
def _has_open(
    axes: AxesToScan,
    chosen: NDArray[np.int64],
    size: int,
    table: NDArray[np.int64],
    n_cells: NDArray[np.int64],
    rows: NDArray[np.int64],
    cells: NDArray[np.int64],
    kept: int,
    gains: NDArray[np.int64],
    most: int,
) -> bool:
    """Whether a cell of the set may gain more than `most`."""
    total = n_cells[size]
    for cell in range(total):
        table[cell] = 0
    for at in range(kept):
        table[cells[size, at]] += gains[rows[size, at]]
    inner = 1
    for at in range(size, 0, -1):
        width, fold = axes.widths[chosen[at]], axes.folds[chosen[at]]
        if fold != PICK:
            _fold(table, total, width, inner, fold)
        inner *= width
    largest = table[0]
    for cell in range(1, total):
        largest = max(largest, table[cell])
    return bool(largest > most)


@kernel(inner=True)
def _fold(table: NDArray[np.int64], total: int, width: int, inner: int, fold: int) -> None:
    """Turn sums per level into sums per position along one dimension, whose step is `inner`."""
    for outer in range(0, total, width * inner):
        if fold == SUFFIX:
            for cell in range(outer + (width - 1) * inner - 1, outer - 1, -1):
                table[cell] += table[cell + inner]
        else:
            for low in range(outer, outer + inner):
                whole = 0
                for cell in range(low, low + width * inner, inner):
                    whole += table[cell]
                for cell in range(low, low + width * inner, inner):
                    table[cell] = whole - table[cell]
