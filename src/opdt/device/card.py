"""The CUDA device of this machine: whether there is one, and what went wrong with it."""

from __future__ import annotations

EXTRAS = (
    "pip install 'opdt[cuda12]' (or 'opdt[cuda13]' for a driver of CUDA 13), on a machine with an "
    "NVIDIA GPU and its driver"
)


def why_no_card() -> str | None:
    """Why no CUDA device can be used, as a sentence with the cure; None where one can."""
    try:
        import cupy
    except ImportError:
        return f"device 'cuda' needs CuPy; run: {EXTRAS}"
    try:
        number = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # whatever the driver has to say
        return f"device 'cuda' needs a working NVIDIA driver, but CuPy says: {error}"
    return None if number else "device 'cuda' needs an NVIDIA GPU, and CuPy finds none."


def card_name() -> str:
    """The name of the current CUDA device, such as "NVIDIA H200"."""
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"]
    return str(name.decode() if isinstance(name, bytes) else name)


def release_memory() -> None:
    """Give back what this process holds on the device and does not use."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()


def is_card_failure(error: BaseException) -> bool:
    """Whether an error comes from the device, its driver, or the compiler of its kernels."""
    return type(error).__module__.partition(".")[0] in ("cupy", "cupy_backends")


def free_bytes() -> int:
    """Memory of the current device that nobody uses, this process's own spare included."""
    import cupy

    spare = cupy.get_default_memory_pool().free_bytes()
    return int(cupy.cuda.Device().mem_info[0] + spare)
