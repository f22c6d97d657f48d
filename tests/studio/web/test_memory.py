"""Memory of closed sessions goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Small enough pieces to stay on the heap, more than Python's own allocator takes.
SCRIPT = """
from pathlib import Path
from opdt.studio.web.memory import give_back, hold_little

def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))

hold_little()
before = resident()
held = [bytes(5_000) for _ in range(20_000)]
last = bytes(5_000)
full = resident()
del held
give_back()
print(full - before > 90_000, resident() - before < 5_000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the resident memory is read from /proc")
def test_what_is_freed_goes_back_although_something_lies_above_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True"]
