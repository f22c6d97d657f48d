"""Limits of a whole process: awkward shapes end in time, within memory, or are refused."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

resource = pytest.importorskip("resource", reason="limits of a process are set by POSIX systems")

SCRIPT = """
import json, resource, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
import opdt
from opdt.errors import MemoryLimit

shape, megabytes, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
opdt.discover({"x": range(7, 47)}, [0, 1] * 20, max_depth=2)  # load what every search needs
if megabytes:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20,) * 2)
rng, n_ids = np.random.default_rng(0), 20_000

def text(n, levels):
    return [f"L{v}" for v in rng.integers(0, levels, size=n)]

shapes = {
    "wide": lambda: (rng.normal(size=(100, 4000)), 100),
    "identifiers": lambda: ({"id": [f"P{i}" for i in range(n_ids)], "x": rng.random(n_ids)}, n_ids),
    "levels": lambda: ({"a": text(26_000, 9_000), "b": text(26_000, 400)}, 26_000),
    "tall": lambda: (rng.normal(size=(150_000, 12)), 150_000),
    "deep": lambda: (rng.normal(size=(3_000, 40)), 3_000),
    "ones": lambda: ((rng.random((20_000, 600)) < 0.05).astype(np.uint8), 20_000),
}
X, n = shapes[shape]()
y = rng.random(n) < 0.4
depth = {"tall": 3, "deep": 5}.get(shape, 2)
try:
    found = opdt.discover(X, y, max_depth=depth, time_limit=seconds, n_jobs=2)
    print(json.dumps([found.value, found.bound, str(found.stopped_by), found.seconds]))
except MemoryLimit as refusal:
    print(json.dumps(str(refusal)))
"""
SHAPES = ("wide", "identifiers", "levels", "tall", "deep", "ones")


def child(shape: str, megabytes: int, seconds: float) -> list[object] | str:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, shape, str(megabytes), str(seconds)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    said: list[object] | str = json.loads(ran.stdout.splitlines()[-1])
    return said


@pytest.mark.parametrize("shape", SHAPES)
def test_a_short_limit_ends_any_shape(shape: str) -> None:
    said = child(shape, 0, 0.5)
    assert isinstance(said, list)
    value, bound, _, _ = said
    assert value <= bound


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
@pytest.mark.parametrize("shape", SHAPES)
def test_little_memory_is_enough_or_refused_in_one_sentence(shape: str) -> None:
    said = child(shape, 300, 3)
    if isinstance(said, str):
        assert said.endswith(".")
        assert "\n" not in said
    else:
        assert said[0] <= said[1]
