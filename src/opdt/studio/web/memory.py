"""Memory that goes back to the system once a session is closed.

Python frees what a session held as soon as nothing refers to it, but its allocators keep what is
free for later. The small objects' own (pymalloc) cannot be asked for it; the others can.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

# Numbers that <malloc.h> of glibc gives to its settings.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
_LARGE = 1 << 17  # bytes


def hold_little() -> None:
    """Let large arrays go back as soon as they are freed, and threads share one heap.

    glibc would learn to keep larger and larger arrays, and have a heap for every thread, each
    with holes of its own; Python's lock lets hardly any two threads allocate at once.
    """
    library = _glibc()
    if library is not None:
        library.mallopt(_MMAP_THRESHOLD, _LARGE)
        library.mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Give freed memory back to the system."""
    gc.collect()
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


def _glibc() -> Any:
    """The C library, if it is the one of GNU."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") else None
