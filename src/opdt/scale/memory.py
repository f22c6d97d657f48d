"""How much memory this process holds, and how much it may still take."""

from __future__ import annotations

import os
import sys

import pyarrow as pa


def left(limit: float) -> int:
    """Bytes between what the whole process holds and its limit; below zero where it holds more.

    The limit is one on the process: its code and the table of a notebook count too.
    """
    pa.default_memory_pool().release_unused()
    return int(limit) - resident()


def resident() -> int:
    """Bytes of memory that this process holds; its peak, or 0, where the system tells no more."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) * (1 if sys.platform == "darwin" else 1024)
