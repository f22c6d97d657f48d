"""Run in a fresh process: how long importing takes, and the first call."""

from __future__ import annotations

import json
import sys
import time

started = time.perf_counter()
import opdt  # noqa: E402

imported = time.perf_counter() - started
record = {"import": imported}

if "call" in sys.argv[1:]:
    import numpy as np

    # A table of fixed content with both kinds of columns, so that every kernel is needed.
    random = np.random.default_rng(0)
    columns = {f"x{j}": random.random(400) for j in range(5)}
    columns["colour"] = random.choice(["red", "green", "blue"], 400)
    labels = (columns["x0"] > 0.4) & (columns["x1"] > 0.3) ^ (random.random(400) < 0.02)
    for name in ("first", "second"):
        started = time.perf_counter()
        for depth in (2, 3):
            opdt.discover(columns, labels, max_depth=depth, n_jobs=2)
        record[name] = time.perf_counter() - started

print(json.dumps(record))
