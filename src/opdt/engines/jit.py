"""The one decorator of compiled kernels."""

from __future__ import annotations

import logging
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, overload

from numba import njit
from numba.core.registry import CPUDispatcher


@overload
def kernel(function: Callable[..., Any]) -> Callable[..., Any]: ...


@overload
def kernel(
    *, inner: bool = False, allocates: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def kernel(
    function: Callable[..., Any] | None = None, *, inner: bool = False, allocates: bool = False
) -> Any:
    """Compile lazily, keep on disk, and release the GIL.

    No `fastmath`: gains are integers, and where a bound is computed nothing may be reordered.
    `NUMBA_DISABLE_JIT=1` runs the same code as plain Python.

    Compiling is what a first call waits for, so nothing is compiled that is not needed. An `inner`
    kernel is called by kernels alone and has no door to Python. Only one that `allocates` arrays
    counts references to them; the others borrow what they are given.
    """
    if function is None:
        return partial(kernel, inner=inner, allocates=allocates)
    options: Any = {"_nrt": allocates, "no_cpython_wrapper": inner, "no_cfunc_wrapper": True}
    compiled: Any = njit(cache=True, nogil=True, **options)(function)
    if inner and isinstance(compiled, CPUDispatcher):
        compiled.__class__ = _Inner
    _forgive(compiled)
    return compiled


class _Inner(CPUDispatcher):
    """A kernel that Python cannot enter: called from there, it runs as plain Python."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def _forgive(compiled: Any) -> None:
    """Take what an older release has left on disk for nothing, where it cannot be read.

    Numba's index names the classes of the arguments, and fails where one has another name now.
    """
    try:
        file = compiled._cache._cache_file
        load = file._load_index
    except AttributeError:  # plain Python, or a Numba that keeps its cache elsewhere
        return

    def load_if_known() -> Any:
        try:
            return load()
        except (AttributeError, ImportError, pickle.UnpicklingError):
            return {}

    file._load_index = load_if_known


_announced: list[bool] = []  # whether this process has said that it compiles


def announce_compilation(entry: Any) -> None:
    """Say once, on the log (which reaches stderr by default), that compiling takes a moment.

    `entry` is a kernel about to be called: it is compiled already in this process, or lies on
    disk from an earlier one, or this first call after installation compiles it.
    """
    load_numba()
    if _announced:
        return
    try:
        known = bool(entry.overloads) or bool(entry._cache._cache_file._load_index())
    except (AttributeError, OSError):  # plain Python, or a Numba that keeps its cache elsewhere
        return
    if not known:
        _announced.append(True)
        logging.getLogger("opdt").warning(
            "opdt compiles its search kernels; this takes half a minute, once per installation."
        )


@cache
def load_numba() -> None:
    """Fill Numba's tables of what it can compile, once in a process.

    The first kernel would do it. If Ctrl-C came just then, the tables would stay half filled and
    every kernel of the process would fail from then on, so here it has to wait. So has a second
    thread: Numba fills its tables under the lock of its compiler, which is not taken for us.
    """
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    with _uninterrupted(), global_compiler_lock:
        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the end; other threads never see it."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    came: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *how: came.append(how))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came and callable(before):
        before(*came[0])
