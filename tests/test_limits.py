"""Promises about memory, kept by real processes that may map only so much.

Each child ends by itself: with an answer, or with one sentence. Never by a signal, and never with
a bare MemoryError.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the limit on mapped memory is that of Linux"
)

LIMIT = """
def allow(megabytes):
    "From here on the process may map so much more."
    import resource
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + megabytes * 2**20,) * 2)
"""


def answer(code: str, timeout: float = 300) -> str:
    """What a child prints that runs this code; its errors of opdt are printed as one line."""
    body = textwrap.indent(textwrap.dedent(code), "    ")
    script = (
        f"import opdt\n{LIMIT}\ntry:\n{body}\nexcept opdt.OpdtError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=timeout
    )
    assert child.returncode == 0, child.stderr[-2000:]
    lines = child.stdout.strip().splitlines()
    assert len(lines) == 1, child.stdout
    return lines[0]


@pytest.mark.parametrize("megabytes", [150, 300, 400, 2000])
def test_coding_fits_or_is_refused(megabytes):
    told = answer(f"""
        import numpy as np
        from opdt.arguments import resolve_table
        X = np.random.default_rng(0).random((400_000, 50))
        allow({megabytes})
        print(resolve_table(X, X[:, 0] > 0.9, None, None).n_rows)
    """)
    if megabytes == 2000:
        assert told == "400000"
    elif told != "400000":
        assert told.startswith("MemoryLimit coding 400,000 rows of 50 columns needs ")
        assert told.endswith("or let files be read in pieces by 'memory_limit'.")
