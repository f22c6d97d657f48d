"""The one decorator of compiled kernels."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile lazily, keep on disk, and release the GIL.

    No `fastmath`: gains are integers, and where a bound is computed nothing may be reordered.
    `NUMBA_DISABLE_JIT=1` runs the same code as plain Python.
    """
    compiled: Callable[..., Any] = njit(cache=True, nogil=True)(function)
    return compiled


_announced: list[bool] = []  # whether this process has said that it compiles


def announce_compilation(entry: Any) -> None:
    """Say once, on the log (which reaches stderr by default), that compiling takes a moment.

    `entry` is a kernel about to be called: it is compiled already in this process, or lies on
    disk from an earlier one, or this first call after installation compiles it.
    """
    if _announced:
        return
    try:
        known = bool(entry.signatures) or bool(entry._cache._cache_file._load_index())
    except (AttributeError, OSError):  # plain Python, or a Numba that keeps its cache elsewhere
        return
    if not known:
        _announced.append(True)
        logging.getLogger("opdt").warning(
            "opdt compiles its search kernels; this takes about 10 seconds, once per installation."
        )
