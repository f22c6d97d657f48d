"""How a rival talks to the benchmark: one request per line in, one answer per line out.

A rival first imports its package and compiles what it must on a tiny table; then it says that it
is ready, and only from then on is its time taken. A request names the depth, the class, the price
of an error and the limit.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Answer = dict[str, Any]
Solve = Callable[[np.ndarray, np.ndarray, dict[str, Any]], Answer]


def gains(y: np.ndarray, request: dict[str, Any]) -> np.ndarray:
    """What covering each row is worth: 1 in the class, 1 - w outside."""
    return np.where(y == request["label"], 1.0, 1.0 - request["w"])


def serve(solve: Solve, version: str, started: float) -> None:
    """Warm up, say so, and answer requests until the input ends.

    An answer holds `value` (None where the aim is another), `finished`, and `seconds` unless the
    call as a whole is to be timed.
    """
    data = np.load(sys.argv[1])
    X, y = np.ascontiguousarray(data["X"]), data["y"].astype(np.int64)
    few = np.r_[0:12, -12:0]
    solve(X[few][:, :2].copy(), np.arange(24) % 2, {"depth": 2, "label": 1, "w": 10.0, "limit": 60})
    say({"ready": time.perf_counter() - started, "version": version})
    for line in sys.stdin:
        request = json.loads(line)
        began = time.perf_counter()
        answer = solve(X, y, request)
        say({"seconds": time.perf_counter() - began, **answer})


def say(record: Answer) -> None:
    """One line to the benchmark."""
    print(json.dumps(record), flush=True)
