"""What the tests of the MIP engine share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from opdt.engines.mip.model import Model
from opdt.engines.mip.solver import Listener, SolverAnswer, SolverSettings, get_adapter, supervise
from opdt.problem import Problem, Structure
from opdt.solution import Budget
from opdt.table import Table


@pytest.fixture
def solve() -> Callable[..., SolverAnswer]:
    """Solves a model as it is, by HiGHS unless said otherwise."""

    def run(model: Model, solver: str = "highs") -> SolverAnswer:
        pytest.importorskip({"highs": "highspy", "scip": "pyscipopt"}[solver])
        listener = Listener(Budget(time_limit=60).start())
        loaded = get_adapter(solver).load(model, SolverSettings(), listener)
        return supervise(loaded, listener, lambda: None)[0]

    return run


@pytest.fixture
def optimum(solve: Callable[..., SolverAnswer]) -> Callable[[Model], float]:
    """The largest objective of a model, -inf where it has no point."""

    def value(model: Model) -> float:
        answer = solve(model)
        return -np.inf if answer.x is None else round(model.value(answer.x), 6)

    return value


@pytest.fixture
def alternating() -> Problem:
    """One numeric feature whose four values alternate in class: the best rule covers one row."""
    table = Table.build({"x": [0, 1, 2, 3]}, list("abab"))
    return Problem.build(table, structure=Structure.free(1))


@pytest.fixture
def noisy() -> Problem:
    """Too hard for a proof within the test's patience: 60 rows, classes without a pattern."""
    rng = np.random.default_rng(5)
    table = Table.build(rng.random((60, 12)).round(2), rng.integers(0, 2, 60))
    return Problem.build(table, w=3)
