"""What this process may use of the machine it runs on: memory, and cores.

A container may have less than its machine, and a process less than its container: the smallest of
the limits holds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from opdt.errors import MemoryLimit

_ROOT = Path("/")
_NO_LIMIT = 1 << 60  # the first version of control groups writes "none" as a number above this


def available(root: Path = _ROOT) -> int | None:
    """Bytes that this process may still take; None where the system tells nothing.

    The smallest of what the machine has free, what the container has left and what the limits of
    the process (`ulimit -v` and `-d`) leave; never below 0. Takes well below a millisecond.
    """
    free = [*_machine_free(root), *_container_free(root), *_process_free(root)]
    return max(0, min(free)) if free else None


def mappable(root: Path = _ROOT) -> int | None:
    """Bytes of address space that this process may still map; None where that is not limited.

    Libraries map more than they use, several times as much where they have threads.
    """
    return min(_process_free(root), default=None)


def left(limit: float) -> int:
    """Bytes between what the whole process holds and its limit; below zero where it holds more.

    The limit is one on the process: its code and the table of a notebook count too.
    """
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    return int(limit) - resident()


def resident() -> int:
    """Bytes of memory that this process holds; its peak, or 0, where the system tells no more."""
    pages = _words(_ROOT / "proc/self/statm")
    if pages:
        return int(pages[1]) * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) * (1 if sys.platform == "darwin" else 1024)


def cores(root: Path = _ROOT) -> int:
    """Cores this process may use: those it is bound to, or fewer where its container has fewer.

    A container's share of time is rounded up to whole cores.
    """
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    else:
        found = os.cpu_count() or 1
    shares = [found]
    for folder in _groups(root, "cpu"):
        quota, period = [*_words(folder / "cpu.max"), "", ""][:2]  # "max 100000" without a limit
        quota = quota or " ".join(_words(folder / "cpu.cfs_quota_us"))  # -1 without a limit
        period = period or " ".join(_words(folder / "cpu.cfs_period_us"))
        if quota.isdecimal() and period.isdecimal() and int(period):
            shares.append(-(-int(quota) // int(period)))
    return max(1, min(shares))


def refuse_beyond(needed: float, free: float, what: str, cure: str) -> None:
    """Raise `MemoryLimit` where more is needed than is free; both in bytes.

    The sentence reads "`what` needs about 3.1 GB of memory and 1.2 GB are free; `cure`."
    """
    if needed > free:
        raise MemoryLimit(
            f"{what} needs about {format_size(needed)} of memory and {format_size(max(0, free))} "
            f"are free; {cure}."
        )


def format_size(n_bytes: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> format_size(3_140_000_000), format_size(999)
    ('3.14 GB', '999 bytes')
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"


def _machine_free(root: Path) -> Iterator[int]:
    fields = _fields(root / "proc/meminfo")
    if "MemAvailable:" in fields:
        yield fields["MemAvailable:"] * 1024
    elif sys.platform == "darwin":  # which compresses and swaps before it ends a process
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") - resident()


def _container_free(root: Path) -> Iterator[int]:
    """What each control group that this process is in has left; its file cache can be dropped."""
    for folder in _groups(root, "memory"):
        cache = _fields(folder / "memory.stat")
        for limit, used in (
            ("memory.max", "memory.current"),
            ("memory.high", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            most, now = _words(folder / limit), _words(folder / used)
            if most and now and most[0].isdecimal() and int(most[0]) < _NO_LIMIT:
                idle = cache.get("total_inactive_file", cache.get("inactive_file", 0))
                yield int(most[0]) - int(now[0]) + idle


def _process_free(root: Path) -> Iterator[int]:
    """What the process may still map, where it is limited."""
    pages = _words(root / "proc/self/statm")
    if sys.platform == "win32" or not pages:
        return
    import resource

    page = os.sysconf("SC_PAGE_SIZE")
    for limit, place in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            yield most - int(pages[place]) * page


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """The folders of the control groups that limit this process, innermost first.

    Inside a container the path may be the one outside of it, which is not there; what is there
    further up counts.
    """
    base = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup"):
        _, names, path = [*line.split(":", 2), "", "", ""][:3]
        if names and controller not in names.split(","):
            continue
        # of the second version there is one tree, of the first one for each controller
        trees = [base / names, base / controller] if names else [base, base / "unified"]
        tree = next((tree for tree in trees if tree.is_dir()), base)
        inner = tree / path.lstrip("/")
        while True:
            if inner.is_dir():
                yield inner
            if inner in (tree, inner.parent):
                break
            inner = inner.parent


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _words(path: Path) -> list[str]:
    """The words of a file's first line; none where there is no such file."""
    lines = _lines(path)
    return lines[0].split() if lines else []


def _fields(path: Path) -> dict[str, int]:
    """The whole numbers of a file whose lines are "name number"."""
    pairs = (line.split() for line in _lines(path))
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) > 1 and pair[1].isdecimal()}
