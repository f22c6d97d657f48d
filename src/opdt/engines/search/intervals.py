"""Intervals of one feature: the best of each is found in one pass over the rows.

The rows of an interval are those of a run of values, so that the best interval is the run of the
largest sum of gains: one pass over the rows adds the gains up by value, one over the values finds
the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.engines.jit import kernel
from opdt.engines.search.boxes import Box
from opdt.engines.search.grid import Axis
from opdt.engines.search.kernels import NEG

if TYPE_CHECKING:
    from opdt.engines.search.run import Run


def are_settled(run: Run, axes: list[Axis]) -> NDArray[np.bool_]:
    """Which axes have their intervals settled by `settle`: those with no other kind of ray.

    Under limits on rows intervals are left to the counting of cells; so are those of sparse
    columns, of which only the rows that differ from the most frequent value are stored.
    """
    asked, switches = run.problem.constraints, run.switches
    if asked.once or asked.bounds_rows or not run.problem.may_be_empty or not switches.spans:
        return np.zeros(len(axes), bool)
    columns = run.prepared.rays.columns
    return np.array([
        axis.up >= 0 and axis.down >= 0 and not axis.singles
        and not columns[axis.feature].is_sparse and run.prepared.fits(_rays(axis))
        for axis in axes
    ], bool)  # fmt: skip


def settle(run: Run, axis: Axis, label: int, gains: NDArray[np.int64]) -> None:
    """Offer the best interval of an axis; `gains` (n_rows,) are the values of the rows."""
    column = run.prepared.rays.columns[axis.feature]
    gain, first, last = best_run(column.codes, gains, np.zeros(column.n_values, np.int64))
    value, rays = gain + run.scores.offset(2), _rays(axis)
    if value < run.best:
        return
    # levels on `<` count from the largest code
    at = {axis.up: first, axis.down: column.n_values - 1 - last}
    spots = tuple(at[ray] for ray in rays)
    run.offer(value, label, rays, Box(value, label, rays, tuple(p - 1 for p in spots), spots))


def _rays(axis: Axis) -> tuple[int, ...]:
    return tuple(sorted((axis.up, axis.down)))


@kernel
def best_run(codes: Any, gains: Any, sums: Any) -> Any:
    """The largest sum of gains of a run of codes without the first and the last code.

    With one of these, one end would leave nothing out. `codes` (n_rows,) are -1 where they are
    missing, `sums` (n_codes,) are zeros to add up in. Returns the sum, and the first and last code;
    a sum of NEG where there is no such run.
    """
    for i in range(codes.size):
        if codes[i] >= 0:
            sums[codes[i]] += gains[i]
    best, first, last = NEG, np.int64(0), np.int64(0)
    here, start = np.int64(0), np.int64(1)
    for code in range(1, sums.size - 1):
        if here < 0:
            here, start = np.int64(0), np.int64(code)
        here += sums[code]
        if here > best:
            best, first, last = here, start, np.int64(code)
    return best, first, last
