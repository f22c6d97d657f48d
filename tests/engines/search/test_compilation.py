"""Compiled once, for one signature; and the same answers without compilation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from opdt.engines import jit
from opdt.engines.search import scan_kernels

PREAMBLE = """
import json
import numpy as np
from opdt.engines.search import SearchEngine, Searcher, Switches
from opdt.engines.search import bit_kernels, box_kernels, kernels, scan_kernels, strip_kernels
from opdt.engines.search.tuning import Tuning
from opdt.problem import Constraints, Problem, Structure
from opdt.solution import Budget
from opdt.table import Table

def table(seed, n, weighted):
    rng = np.random.default_rng(seed)
    columns = {
        "a": rng.random(n).round(2),
        "b": rng.integers(0, 5, size=n).astype(float),
        "kind": rng.choice(list("xyz"), size=n),
        "gap": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 4, size=n)),
    }
    weights = rng.choice([0.5, 1, 2], size=n) if weighted else None
    return Table.build(columns, rng.integers(0, 3, size=n), sample_weight=weights, warn=False)

def problems(n, depths):
    for seed, depth in enumerate(depths):
        for asked in (
            Constraints(),
            Constraints(min_coverage=4, missing_conditions=True),
            Constraints(required=["kind"], max_errors=3, subsets=True),
        ):
            structure = Structure.free(depth)
            kind = table(seed, n, weighted=depth % 2 == 0)
            yield Problem.build(kind, structure=structure, w=2.5, constraints=asked)
"""
SIGNATURES = """
small = dict(leaf_rows=(3,) * 8, few_rows=2, few_positions=1)
for steps, large_rows, sizes in (
    (100_000, 10**9, {}), (1, 10**9, {}), (100_000, 0, {}), (1, 0, small)
):
    tuning = Tuning(steps=steps, **sizes)
    for problem in problems(40, (1, 2, 3, 4)):
        switches = Switches(large_rows=large_rows, tuning=tuning)
        SearchEngine(switches=switches).solve(problem, Budget(n_jobs=2, time_limit=3))
        searcher = Searcher(problem, switches)
        searcher.solve(np.linspace(-1, 1, 40))
        searcher.reaches(2)
print(json.dumps({
    name: [str(s) for s in function.signatures]
    for module in (kernels, scan_kernels, box_kernels, strip_kernels)
    for name, function in vars(module).items()
    if hasattr(function, "signatures") and function.__module__ == module.__name__
}))
"""
ANSWERS = """
found = []
for problem in problems(9, (1, 2, 3)):
    for large_rows in (0, 10**9):
        tuning = Tuning(
            steps=1 if large_rows else 100_000, leaf_rows=(3,) * 8, few_rows=2, few_positions=1
        )
        switches = Switches(large_rows=large_rows, tuning=tuning)
        solution = SearchEngine(switches=switches).solve(problem)
        found.append([solution.status, solution.value, solution.bound, str(solution.rule)])
print(json.dumps([hasattr(kernels.evaluate, "py_func"), found]))
"""


# Four threads ask for the first rule of the process together, and are switched very often.
THREADS = """
import json, sys, threading
import opdt
import opdt.engines.jit

sys.setswitchinterval(1e-6)
together = threading.Barrier(4)
found = []

def solve():
    together.wait()
    try:
        solution = opdt.discover({"x": [1, 2, 3, 4], "z": [2, 1, 4, 3]}, [0, 0, 1, 1])
        found.append([solution.status.value, solution.value])
    except Exception as error:
        found.append(repr(error))

threads = [threading.Thread(target=solve) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(found))
"""


def run(script: str, **environment: str) -> Any:
    """What a fresh process prints, which may be told nothing but where the library is."""
    out = subprocess.run(
        [sys.executable, "-c", PREAMBLE + script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled here"
)
def test_every_kernel_is_compiled_for_one_signature() -> None:
    signatures = run(SIGNATURES)
    # Cells hold large numbers, or small ones where there are many cells; places likewise.
    for name, found in signatures.items():
        if name in vars(scan_kernels):
            same = {each.replace("int32", "int64").replace("uint16", "uint32") for each in found}
            signatures[name] = sorted({each.replace("uint64", "uint32") for each in same})
    # A kernel that only others call has none of its own once it is read from the cache.
    several = {name: found for name, found in signatures.items() if len(found) > 1}
    assert not several
    entries = ("evaluate", "outer", "settle_triples", "singles", "compress_all")
    for name in (*entries, "scan_sets", "cut_box"):
        assert len(signatures[name]) == 1


def test_plain_python_gives_the_same_answers() -> None:
    compiled, answers = run(ANSWERS, NUMBA_DISABLE_JIT="0")
    plain, same = run(ANSWERS, NUMBA_DISABLE_JIT="1")
    assert (compiled, plain) == (True, False)
    assert same == answers


def test_compiling_is_announced_once_and_only_when_it_happens(tmp_path: Path) -> None:
    code = (
        "import opdt\n"
        "for _ in range(2): opdt.discover({'x': [1, 2, 3, 4], 'z': [2, 1, 4, 3]}, [0, 0, 1, 1])"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    said = []
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        said.append(done.stderr.count("compiles its search kernels"))
    plain = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
    assert said == ([0, 0] if plain else [1, 0])


def test_ctrl_c_waits_until_numba_is_loaded() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark has one of its own
    seen = []

    def interrupted() -> None:
        with jit._uninterrupted():
            signal.raise_signal(signal.SIGINT)
            seen.append("to the end")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert seen == ["to the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    jit.load_numba.cache_clear()
    jit.load_numba()  # again and again, nothing is lost
    signal.signal(signal.SIGINT, before)


def test_threads_that_start_at_once_load_numba_once() -> None:
    assert run(THREADS) == [["optimal", 2]] * 4


def test_what_an_older_release_has_left_on_disk_is_compiled_anew(tmp_path):
    """Numba's index of compiled code names the classes of the arguments."""
    (tmp_path / "renamed.py").write_text(
        "from typing import NamedTuple\n"
        "from opdt.engines.jit import kernel\n"
        "class OLD(NamedTuple):\n    n: int\n"
        "@kernel\ndef twice(x):\n    return 2 * x.n\n"
    )
    command = "import renamed; print(renamed.twice(renamed.{}(21)))"
    source = str(Path(jit.__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), source])}
    for name in ("OLD", "NEW"):
        text = (tmp_path / "renamed.py").read_text()
        (tmp_path / "renamed.py").write_text(text.replace("OLD", name))
        done = subprocess.run(
            [sys.executable, "-c", command.format(name)],
            env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stdout == "42\n", done.stderr
        assert list(tmp_path.rglob("*.nbi"))
