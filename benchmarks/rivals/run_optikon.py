"""optikon: branch and bound for the largest weighted support of a conjunction."""

from __future__ import annotations

import time

started = time.perf_counter()

from importlib.metadata import version  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import optikon  # noqa: E402
from serve import gains, serve  # noqa: E402


def solve(X: np.ndarray, y: np.ndarray, request: dict[str, Any]) -> dict[str, Any]:
    """Every threshold of the data is offered; making the propositions is not timed."""
    propositions = optikon.full_propositionalization(X)
    weights = gains(y, request)
    began = time.perf_counter()
    _, value, _ = optikon.max_weighted_support_bb(X, weights, propositions, request["depth"])
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "value": float(value), "finished": True}


if __name__ == "__main__":
    serve(solve, version("optikon"), started)
