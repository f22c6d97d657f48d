"""Importing, and the first call in a fresh process, with and without compiled kernels on disk."""

from __future__ import annotations

import tempfile
from statistics import median

from common import HERE, Log, Settings, python_child, short

CHILD = HERE / "children" / "start.py"


def run(log: Log, settings: Settings) -> None:
    """Import five times; first call once with an empty cache and three times with a full one."""
    repeats = 2 if settings.quick else 5
    imports = [python_child(CHILD)["import"] for _ in range(repeats)]
    log.add("import", what="import", seconds=imports)
    print(f"  import opdt: {short(median(imports))}")
    with tempfile.TemporaryDirectory() as cache:
        empty = python_child(CHILD, "call", NUMBA_CACHE_DIR=cache)
        log.add("import", what="empty cache", **empty)
        print(f"  first calls, nothing compiled yet: {short(empty['first'])}")
        for _ in range(1 if settings.quick else 3):
            full = python_child(CHILD, "call", NUMBA_CACHE_DIR=cache)
            log.add("import", what="full cache", **full)
        print(f"  first calls, compiled before: {short(full['first'])}", flush=True)
