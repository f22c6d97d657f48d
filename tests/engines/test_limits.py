"""Limits of the engines that are written in NumPy: they look at the clock inside their steps."""

from __future__ import annotations

import numpy as np
import pytest

from clocks import Ending
from opdt.engines import bsccart, exhaustive, rscrules
from opdt.engines.bsccart import BSCCARTEngine
from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.rscrules import RSCRULESEngine
from opdt.errors import MemoryLimit
from opdt.problem import Problem, Structure
from opdt.solution import Budget, StopReason
from opdt.table import Table

ENGINES = {engine.name: engine for engine in (ExhaustiveEngine, BSCCARTEngine, RSCRULESEngine)}


@pytest.fixture
def problem() -> Problem:
    rng = np.random.default_rng(3)
    columns = {"x": rng.integers(0, 9, 60), "y": rng.random(60).round(1), "c": list("uvw") * 20}
    return Problem.build(
        Table.build(columns, rng.integers(0, 2, 60)), structure=Structure.free(2), w=3
    )


@pytest.mark.parametrize("name", ENGINES)
def test_the_time_ends_every_step(name: str, problem: Problem) -> None:
    """Wherever the time is up, there is an answer, and its bound is true."""
    engine, optimum = ENGINES[name](), ExhaustiveEngine().solve(problem).value
    whole = Ending(10**9)
    engine.solve(problem, whole)
    looks = 10**9 - whole.looks
    assert looks > 5
    for ending in {0, 1, 2, looks // 3, looks // 2, looks - 1}:
        solution = engine.solve(problem, Ending(ending))
        assert solution.stopped_by is StopReason.TIME
        assert solution.value <= optimum <= solution.bound


@pytest.mark.parametrize("name", ENGINES)
def test_what_does_not_fit_is_refused(name: str, problem: Problem) -> None:
    with pytest.raises(MemoryLimit, match=r"needs about \S+ kB of memory and 500 bytes are free; "):
        ENGINES[name]().solve(problem, Budget(memory_limit=500))


def test_parts_of_a_batch_give_the_same_answer(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {name: engine().solve(problem) for name, engine in ENGINES.items()}
    for module in (exhaustive, rscrules):
        monkeypatch.setattr(module, "BLOCK_CELLS", 100)
    for name, engine in ENGINES.items():
        again = engine().solve(problem)
        assert (again.rule, again.value) == (known[name].rule, known[name].value)


def test_columns_are_looked_at_one_by_one(problem: Problem) -> None:
    """The clock is asked for every column of every node, not once for a node."""
    clock = Ending(10**9)
    _, stopped, nodes = bsccart.grow(problem, clock)
    assert stopped is StopReason.FINISHED
    assert 10**9 - clock.looks >= nodes * len(problem.table.columns)
