"""Problems whose answers are known from elsewhere."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from engines.search.support import ORACLE
from opdt.engines.search import SearchEngine, Switches
from opdt.engines.search.tuning import Tuning
from opdt.problem import Problem, Structure
from opdt.solution import Budget, Status
from opdt.table import Table


@pytest.mark.parametrize("large_rows", [0, 20_000])
@pytest.mark.parametrize("canonical", [False, True])
def test_five_rows_on_which_skipping_what_a_closed_set_implies_goes_wrong(
    canonical: bool, large_rows: int
) -> None:
    x = np.array([[1, 1], [2, 3], [2, 2], [3, 1], [3, 0]], float)
    gains = [-1, -1, 1, -1, -1]
    table = Table.build(x, [int(gain > 0) for gain in gains], warn=False)
    problem = Problem.build(table, structure=Structure.free(2)).with_gains(gains, 1)
    chosen = Switches(canonical=canonical, large_rows=large_rows)
    solution = SearchEngine(switches=chosen).solve(problem)
    assert (solution.value, solution.bound, solution.status) == (1, 1, Status.OPTIMAL)
    assert solution.rule == ORACLE.solve(problem).rule
    # only the third row is worth anything, and two conditions on x1 single it out
    assert str(solution.rule) == "IF x1 >= 1.5 AND x1 < 2.5 THEN 1"


@cache
def sklearn_table(name: str) -> Table:
    datasets = pytest.importorskip("sklearn.datasets")
    data = getattr(datasets, f"load_{name}")()
    return Table.build(data.data, data.target)


# Found by plain enumeration with NumPy, by people who had no part in this engine.
@pytest.mark.parametrize(
    ("name", "label", "optimum"),
    [("breast_cancer", 1, 285), ("breast_cancer", 0, 166), ("wine", 1, 58)],
)
@pytest.mark.parametrize("large_rows", [0, 20_000])
def test_two_conditions_on_native_thresholds(
    name: str, label: int, optimum: int, large_rows: int
) -> None:
    problem = Problem.build(sklearn_table(name), w=10, label=label)
    solution = SearchEngine(switches=Switches(large_rows=large_rows)).solve(problem)
    assert (solution.value, solution.bound, solution.status) == (optimum, optimum, Status.OPTIMAL)
    assert solution.covered - 10 * solution.errors == optimum
    fires = solution.rule.covers(sklearn_frame(name))
    wrong = fires & (sklearn_table(name).labels != label)
    assert fires.sum() - 10 * wrong.sum() == optimum


def sklearn_frame(name: str) -> object:
    pandas = pytest.importorskip("pandas")
    datasets = pytest.importorskip("sklearn.datasets")
    data = getattr(datasets, f"load_{name}")().data
    return pandas.DataFrame(data, columns=list(sklearn_table(name).names))


@pytest.mark.parametrize("steps", [100_000, 1])
def test_three_conditions_whose_seeds_hold_more_than_was_asked(steps: int) -> None:
    problem = Problem.build(sklearn_table("breast_cancer"), structure=Structure.free(3), w=10)
    engine = SearchEngine(switches=Switches(tuning=Tuning(steps=steps)))
    solution = engine.solve(problem, Budget(n_jobs=2))
    assert (solution.value, solution.bound, solution.status) == (300, 300, Status.OPTIMAL)
    assert all(point.value <= 300 <= point.bound for point in solution.trace)
