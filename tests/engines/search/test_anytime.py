"""A search that is cut short: the best rule so far, and a bound that is true."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search.support import EAGER, LARGE_ROWS, ORACLE, examples
from opdt.engines.search import SearchEngine, Switches
from opdt.problem import Constraints, Problem, Structure
from opdt.solution import Budget, Progress, Solution, Status, StopReason
from opdt.table import Table
from strategies import describe, small_problems

PATHS = {"few rows": LARGE_ROWS, "many rows": 0}
PROVEN = {Status.OPTIMAL, Status.NO_PATTERN, Status.INFEASIBLE}


@pytest.fixture(params=PATHS)
def engine(request: pytest.FixtureRequest) -> SearchEngine:
    return SearchEngine(switches=Switches(large_rows=PATHS[request.param]))


@cache
def noise(n_rows: int = 200, n_features: int = 7, depth: int = 4, w: float = 2) -> Problem:
    """Labels that have nothing to do with the features: the slowest to prove anything about."""
    rng = np.random.default_rng(1)
    cells = rng.integers(0, n_rows, size=(n_rows, n_features))
    table = Table.build(cells, rng.integers(0, 2, size=n_rows), warn=False)
    return Problem.build(table, structure=Structure.free(depth), w=w)


@cache
def optimum(problem: Problem) -> float:
    """The optimum of a problem too large for the oracle, proven by the search itself."""
    solution = SearchEngine().solve(problem)
    assert solution.status is Status.OPTIMAL
    return solution.value


def check(problem: Problem, solution: Solution, best: float) -> None:
    """Assert that nothing is claimed that is not so, at any time."""
    assert solution.value <= best <= solution.bound
    assert (solution.status in PROVEN) == (solution.value == solution.bound)
    if solution.rule is not None:
        coded = problem.lower(solution.rule)
        assert problem.objection(coded) is None
        assert problem.value(problem.measure(coded).gain) == solution.value
    trace = solution.trace
    assert [p.value for p in trace] == sorted(p.value for p in trace)
    assert [p.seconds for p in trace] == sorted(p.seconds for p in trace)
    assert [p.bound for p in trace] == sorted((p.bound for p in trace), reverse=True)
    for point in trace:
        assert point.value <= best <= point.bound
        if point.rule is not None:
            assert problem.value(problem.measure(problem.lower(point.rule)).gain) <= point.value
    last = trace[-1]
    assert (last.value, last.bound) == (solution.value, solution.bound)


@pytest.mark.parametrize("seconds", [0, 1e-5, 1e-3, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_time_limit(engine: SearchEngine, seconds: float, threads: int) -> None:
    problem = noise()
    solution = engine.solve(problem, Budget(time_limit=seconds, n_jobs=threads))
    check(problem, solution, optimum(problem))
    assert solution.stopped_by in (StopReason.TIME, StopReason.FINISHED)
    if seconds == 0:
        assert solution.stopped_by is StopReason.TIME


@pytest.mark.parametrize("nodes", [0, 1, 10, 100])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_node_limit(engine: SearchEngine, nodes: int, threads: int) -> None:
    problem = noise()
    solution = engine.solve(problem, Budget(nodes=nodes, n_jobs=threads, time_limit=300))
    check(problem, solution, optimum(problem))
    assert solution.stopped_by is StopReason.NODES


@pytest.mark.parametrize("memory", [0, 1000, 50_000, 200_000])
def test_a_memory_limit(engine: SearchEngine, memory: int) -> None:
    problem = noise(depth=3)
    solution = engine.solve(problem, Budget(memory_limit=memory, n_jobs=2))
    check(problem, solution, optimum(problem))
    assert solution.stopped_by in (StopReason.MEMORY, StopReason.FINISHED)
    if memory == 0:
        assert solution.stopped_by is StopReason.MEMORY


def test_memory_for_one_thread_is_enough(engine: SearchEngine) -> None:
    problem = noise(depth=3)
    solution = engine.solve(problem, Budget(memory_limit=20_000_000, n_jobs=3))
    assert solution.stopped_by is StopReason.FINISHED
    assert solution.value == optimum(problem)


def test_cancelled_before_it_began(engine: SearchEngine) -> None:
    cancel = threading.Event()
    cancel.set()
    solution = engine.solve(noise(), Budget(cancel=cancel))
    check(noise(), solution, optimum(noise()))
    assert solution.stopped_by is StopReason.CANCELLED


def test_cancelled_from_another_thread(engine: SearchEngine) -> None:
    problem, cancel = noise(400, 14, 5), threading.Event()
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    solution = engine.solve(problem, Budget(cancel=cancel, n_jobs=2, time_limit=120))
    timer.join()
    assert solution.stopped_by is StopReason.CANCELLED
    assert solution.status is Status.FEASIBLE
    check(problem, solution, solution.value)  # the optimum is not known, but it is at least this


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_interrupted_by_the_progress_callback(engine: SearchEngine, calls: int) -> None:
    seen: list[Progress] = []

    def watch(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == calls:
            raise KeyboardInterrupt

    problem = noise()
    solution = engine.solve(problem, Budget(progress=watch, n_jobs=2))
    check(problem, solution, optimum(problem))
    assert solution.stopped_by is StopReason.INTERRUPTED


def test_progress_only_ever_improves_and_is_true(engine: SearchEngine) -> None:
    seen: list[Progress] = []
    problem = noise(depth=3)
    solution = engine.solve(problem, Budget(progress=seen.append, n_jobs=2))
    assert solution.value == optimum(problem)
    assert seen
    for progress in seen:
        assert progress.value <= solution.value <= progress.bound
        assert 0 <= progress.done <= 1
        assert progress.gap == progress.bound - progress.value
    assert [p.value for p in seen] == sorted(p.value for p in seen)
    assert [p.seconds for p in seen] == sorted(p.seconds for p in seen)


def test_an_error_in_the_callback_is_passed_on(engine: SearchEngine) -> None:
    def fail(_: Progress) -> None:
        raise RuntimeError("not today")

    with pytest.raises(RuntimeError, match="not today"):
        engine.solve(noise(), Budget(progress=fail, n_jobs=2))


SCRIPT = """
import json, sys
import numpy as np
from opdt.engines.search import SearchEngine, Switches
from opdt.problem import Problem, Structure
from opdt.solution import Budget
from opdt.table import Table

rng = np.random.default_rng(1)
table = Table.build(rng.integers(0, 400, size=(400, 14)), rng.integers(0, 2, size=400), warn=False)
problem = Problem.build(table, structure=Structure.free(5), w=2)
told = []

def tell(progress):
    if not told and progress.seconds > 0.3:
        told.append(print("working", flush=True))

engine = SearchEngine(switches=Switches(large_rows=int(sys.argv[1])))
found = engine.solve(problem, Budget(progress=tell, n_jobs=2, time_limit=120))
gain = None if found.rule is None else problem.measure(problem.lower(found.rule)).gain
print(json.dumps([found.value, found.bound, found.stopped_by, found.status, problem.value(gain)]))
"""


@pytest.mark.skipif(os.name != "posix", reason="a signal is sent to a process")
@pytest.mark.parametrize("large_rows", PATHS.values())
def test_ctrl_c(large_rows: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(large_rows)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    value, bound, stopped_by, status, gain = json.loads(said)
    assert process.returncode == 0
    assert (stopped_by, status) == ("interrupted", "feasible")
    assert 0 < value == gain < bound


@given(
    problem=small_problems(),
    nodes=st.integers(0, 12),
    large_rows=st.sampled_from(sorted(PATHS.values())),
    threads=st.sampled_from([1, 2]),
)
@examples(150)
def test_small_problems_cut_short_anywhere(
    problem: Problem, nodes: int, large_rows: int, threads: int
) -> None:
    engine = SearchEngine(switches=Switches(large_rows=large_rows, tuning=EAGER))
    solution = engine.solve(problem, Budget(nodes=nodes, n_jobs=threads))
    best = ORACLE.solve(problem)
    try:
        check(problem, solution, best.value)
    except AssertionError as error:
        raise AssertionError(f"{describe(problem)}\n{solution}\n{best}") from error
    if solution.stopped_by is StopReason.FINISHED:
        assert (solution.status, solution.rule) == (best.status, best.rule)


@pytest.mark.parametrize("limit", [{"time_limit": 0}, {"nodes": 1}, {"memory_limit": 0}])
def test_nothing_found_in_time_is_not_infeasible(engine: SearchEngine, limit: Any) -> None:
    table = noise().table
    asked = Constraints(min_coverage=2, required=["x1", "x2"])
    problem = Problem.build(table, structure=Structure.free(3), w=2, constraints=asked)
    solution = engine.solve(problem, Budget(**limit))
    assert solution.status in (Status.UNKNOWN, Status.FEASIBLE)
    assert solution.bound > solution.value
