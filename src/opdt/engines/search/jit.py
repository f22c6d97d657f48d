"""The one decorator of compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile lazily, keep on disk, and release the GIL.

    No `fastmath`: gains are integers, and where a bound is computed nothing may be reordered.
    `NUMBA_DISABLE_JIT=1` runs the same code as plain Python.
    """
    compiled: F = njit(cache=True, nogil=True)(function)
    return compiled
