"""fastogb: search over the tree of core queries, with the gains of the rows as objective."""

from __future__ import annotations

import time

started = time.perf_counter()

from importlib.metadata import version  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from fastogb import Context, CoreQueryTreeSearch  # noqa: E402
from numba import njit, prange  # noqa: E402
from serve import gains, serve  # noqa: E402


def _sums(parent, attributes, indices, gain):
    """Covers, values and bounds of the refinements, as the package does for its own objectives."""
    children = np.empty((len(indices), len(parent)), dtype=np.uint64)
    values = np.empty(len(indices))
    bounds = np.empty(len(indices))
    one = np.uint64(1)
    for out in prange(len(indices)):
        value = bound = 0.0
        for word in range(len(parent)):
            children[out, word] = parent[word] & attributes[indices[out], word]
        for row in range(len(gain)):
            if children[out, row // 64] & (one << np.uint64(row % 64)):
                value += gain[row]
                bound += max(gain[row], 0.0)
        values[out] = value
        bounds[out] = bound
    return children, values, bounds


sums, parallel_sums = njit(_sums), njit(parallel=True)(_sums)


class Gain:
    """The sum of the gains of the covered rows; its bound is that of the positive ones."""

    def __init__(self, gain: np.ndarray) -> None:
        self.gain = gain

    def __call__(self, extent: np.ndarray) -> float:
        return float(self.gain[extent].sum())

    def bound(self, extent: np.ndarray) -> float:
        return float(np.maximum(self.gain[extent], 0).sum())

    def exact_batch(self, parent, attributes, indices, depth, parallel=False):
        """Many refinements in one compiled loop, on all threads where the package sees fit."""
        return (parallel_sums if parallel else sums)(parent, attributes, indices, self.gain)


def solve(X: np.ndarray, y: np.ndarray, request: dict[str, Any]) -> dict[str, Any]:
    """Every threshold of the data is offered; encoding is not timed."""
    context = Context.from_data(X, max_col_attr=None)
    objective = Gain(gains(y, request))
    parent = np.full(context.packed_extents.shape[1], ~np.uint64(0))
    for kernel in (sums, parallel_sums):
        kernel(parent, context.packed_extents, np.zeros(1, np.int64), objective.gain)
    search = CoreQueryTreeSearch(
        context, objective, objective.bound, max_depth=request["depth"], n_jobs=2
    )
    began = time.perf_counter()
    best, finished = 0.0, True
    for node in search.traversal():
        best = max(best, node.val)
        if time.perf_counter() - began > request["limit"]:
            finished = False
            break
    return {"seconds": time.perf_counter() - began, "value": best, "finished": finished}


if __name__ == "__main__":
    serve(solve, version("fastogb"), started)
