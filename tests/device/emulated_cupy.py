"""CuPy without a card: arrays of NumPy, and `kernels.cu` compiled for this machine.

A block has one thread and blocks run one after the other, so that all of `CudaPasses` and of the
kernels can be run where there is no GPU; only what several threads do to each other is left to the
card. Memory that nobody has written to is filled with rubbish, and the memory of the card can end.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

PRELUDE = """
#include <algorithm>
#include <cstring>
struct Dim { unsigned x, y, z; };
static thread_local Dim blockIdx, gridDim, threadIdx = {0, 0, 0}, blockDim = {1, 1, 1};
alignas(16) static thread_local unsigned char block_memory[256 << 10];
#define __global__
#define __device__ static
#define __shared__
using std::max;
using std::min;
static void __syncthreads() {}
template <class T, class U> T atomicAdd(T* at, U more) { T old = *at; *at += (T)more; return old; }
template <class T, class U> T atomicMax(T* at, U other) { T old = *at; *at = max(old, (T)other); return old; }
template <class T, class U> T atomicMin(T* at, U other) { T old = *at; *at = min(old, (T)other); return old; }
static int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
extern "C" void place(unsigned x, unsigned y, unsigned z, unsigned nx, unsigned ny, unsigned nz) {
  blockIdx = {x, y, z};
  gridDim = {nx, ny, nz};
  std::memset(block_memory, 0xAB, sizeof block_memory);
}
"""  # noqa: E501 - C++
SHARED = "extern __shared__ unsigned char memory[];"
RUBBISH = 0xAB


def compiler() -> str | None:
    """A C++ compiler of this machine."""
    return shutil.which("g++") or shutil.which("clang++")


@cache
def compiled(source: str, options: tuple[str, ...]) -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp(prefix="opdt-kernels-"))
    (folder / "kernels.cpp").write_text(
        PRELUDE + source.replace(SHARED, "unsigned char* memory = block_memory;"), encoding="utf-8"
    )
    made = folder / "kernels.so"
    program = compiler()
    assert program is not None
    subprocess.run(
        [program, "-O1", "-w", "-shared", "-fPIC", *options, "-o", made, folder / "kernels.cpp"],
        check=True,
    )
    return ctypes.CDLL(str(made))


@dataclass
class EmulatedCard:
    """How much there is on the card, and how much of it may still be taken."""

    free: int = 1 << 32
    allocations_left: int | None = None

    def take(self) -> None:
        if self.allocations_left is None:
            return
        if self.allocations_left <= 0:
            raise EmulatedOutOfMemory("out of memory on the emulated card")
        self.allocations_left -= 1


class EmulatedOutOfMemory(MemoryError):
    pass


class EmulatedKernel:
    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self._library, self._function = library, getattr(library, name)
        self.max_dynamic_shared_size_bytes = 48 << 10

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...],
        shared_mem: int = 0,
    ) -> None:  # fmt: skip
        assert shared_mem <= max(48 << 10, self.max_dynamic_shared_size_bytes)
        nx, ny, nz = (*grid, 1, 1)[:3]
        assert 0 < nx <= 2**31 - 1
        assert 0 < ny < 65536
        assert 0 < nz < 65536
        given = [as_argument(one) for one in args]
        for z in range(nz):
            for y in range(ny):
                for x in range(nx):
                    self._library.place(x, y, z, nx, ny, nz)
                    self._function(*given)


def as_argument(given: Any) -> Any:
    if isinstance(given, np.ndarray):
        assert given.flags.c_contiguous
        return ctypes.c_void_p(given.ctypes.data)
    if isinstance(given, np.int32):
        return ctypes.c_int(int(given))
    assert isinstance(given, np.int64) or given == 0, type(given)
    return ctypes.c_longlong(int(given))


class EmulatedModule:
    def __init__(self, code: str, options: tuple[str, ...]) -> None:
        self._library = compiled(code, options)

    def get_function(self, name: str) -> EmulatedKernel:
        return EmulatedKernel(self._library, name)


@contextmanager
def emulated(**limits: int) -> Iterator[EmulatedCard]:
    """Put the emulation in the place of CuPy."""
    card = EmulatedCard(**limits)
    known = sys.modules.get("cupy")
    sys.modules["cupy"] = as_module(card)
    from opdt.device import cuda_passes

    cuda_passes._module.cache_clear()
    try:
        yield card
    finally:
        cuda_passes._module.cache_clear()
        del sys.modules["cupy"]
        if known is not None:
            sys.modules["cupy"] = known


def as_module(card: EmulatedCard) -> ModuleType:
    made: Any = ModuleType("cupy")

    def empty(shape: Any, dtype: Any = float) -> Any:
        card.take()
        out = np.empty(shape, dtype)
        out.reshape(-1).view(np.uint8)[:] = RUBBISH
        return out

    def zeros(shape: Any, dtype: Any = float) -> Any:
        card.take()
        return np.zeros(shape, dtype)

    def asarray(given: Any, dtype: Any = None) -> Any:
        card.take()
        return np.array(given, dtype)

    class Device:
        id = 0
        attributes: ClassVar = {"MaxSharedMemoryPerBlockOptin": 227 << 10}
        mem_info = (card.free, card.free)

        @staticmethod
        def synchronize() -> None:
            pass

    class Stream:
        @staticmethod
        def synchronize() -> None:
            pass

    class Runtime:
        @staticmethod
        def getDeviceCount() -> int:
            return 1

        @staticmethod
        def getDeviceProperties(device: int) -> dict[str, bytes]:
            return {"name": b"emulated"}

    class Pool:
        @staticmethod
        def free_all_blocks() -> None:
            pass

        @staticmethod
        def free_bytes() -> int:
            return 0

    class Cuda:
        pass

    cuda: Any = Cuda()
    cuda.Device, cuda.runtime = Device, Runtime
    cuda.get_current_stream = Stream
    made.cuda = cuda
    made.get_default_memory_pool = Pool
    made.RawModule = EmulatedModule
    made.empty, made.zeros, made.asarray = empty, zeros, asarray
    made.asnumpy = lambda given: np.array(given)
    for name in ("concatenate", "flatnonzero"):
        setattr(made, name, getattr(np, name))
    return made
