"""The search against the oracle: status, value and rule, whatever is asked and however it works."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search.support import EAGER, LARGE_ROWS, agree, examples, switches
from opdt.engines.search import Switches
from opdt.problem import Constraints, Problem, Structure
from opdt.table import Table
from sorts import GAINS, SORTS, grid, two_classes
from strategies import (
    EMPHASES,
    OPTIONS,
    random_constraints,
    random_table,
    small_problems,
)

SEEDS = st.integers(0, 2**32 - 1)
THREADS = st.sampled_from([1, 2])
STEPS = st.sampled_from([100_000, 1])  # rows between two looks at the clock, when ties are settled
PATHS = {"few rows": LARGE_ROWS, "many rows": 0}


@pytest.fixture(scope="module", params=PATHS)
def path(request: pytest.FixtureRequest) -> int:
    """The number of rows from which cells are counted."""
    return PATHS[request.param]


def check(problem: Problem, data: st.DataObject, path: int) -> None:
    """Assert agreement with switches, threads and steps of settling ties that are drawn."""
    tuning = replace(EAGER, steps=data.draw(STEPS, label="steps"))
    chosen = data.draw(switches(path, tuning), label="switches")
    agree(problem, chosen, data.draw(THREADS, label="threads"))


@pytest.mark.parametrize("emphasis", EMPHASES)
def test_small_problems(emphasis: str, path: int) -> None:
    @given(problem=small_problems(**EMPHASES[emphasis]), data=st.data())
    @examples(110)
    def agrees(problem: Problem, data: st.DataObject) -> None:
        check(problem, data, path)

    agrees()


@pytest.mark.slow
@pytest.mark.parametrize("emphasis", EMPHASES)
def test_very_many_small_problems(emphasis: str, path: int) -> None:
    @given(problem=small_problems(**EMPHASES[emphasis]), data=st.data())
    @examples(2000)
    def agrees(problem: Problem, data: st.DataObject) -> None:
        check(problem, data, path)

    agrees()


# -- problems of one sort ------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_fewer_errors_win_where_weights_are_too_fine_for_values_to_tell(depth: int) -> None:
    """At this price an error costs nothing but its own row, so that many rules tie."""
    for seed in range(100):
        rng = np.random.default_rng([depth, seed])
        table = random_table(rng, int(rng.integers(8, 16)), "thirds", n_conditions=8)
        asked = random_constraints(rng, table, ["required", "min_coverage"], depth)
        problem = Problem.build(
            table,
            structure=Structure.levels(*["all"] * depth),
            w=1,
            label=table.classes.tolist()[0],
            constraints=asked,
        )
        agree(problem, Switches(tuning=replace(EAGER, steps=1)))


@pytest.mark.parametrize("sort", SORTS)
def test_problems_of_one_sort(sort: str, path: int) -> None:
    @given(seed=SEEDS, data=st.data())
    @examples(50)
    def agrees(seed: int, data: st.DataObject) -> None:
        check(SORTS[sort](np.random.default_rng(seed)), data, path)

    agrees()


@pytest.mark.slow
@pytest.mark.parametrize("sort", SORTS)
def test_very_many_problems_of_one_sort(sort: str, path: int) -> None:
    @given(seed=SEEDS, data=st.data())
    @examples(1500)
    def agrees(seed: int, data: st.DataObject) -> None:
        check(SORTS[sort](np.random.default_rng(seed)), data, path)

    agrees()


@pytest.mark.parametrize("sort", GAINS)
def test_gains_of_one_sort(sort: str, path: int) -> None:
    rng = np.random.default_rng(5)
    table = Table.build(grid(rng, 12, 3, 4), two_classes(rng, 12), warn=False)
    for asked in (Constraints(), Constraints(min_coverage=4), Constraints(required=["x1"])):
        problem = Problem.build(table, constraints=asked).with_gains(GAINS[sort](rng, 12))
        agree(problem, Switches(large_rows=path))


# -- more rows -----------------------------------------------------------------------------------


def medium(rng: np.random.Generator) -> Problem:
    """30 to 120 rows with numbers, levels and missing values, and a rule to be found."""
    n, depth = int(rng.integers(30, 121)), int(rng.integers(1, 4))
    n_values = {1: 60, 2: 12, 3: 4}[depth]
    columns: dict[str, Any] = {}
    for name in ("delta", "alpha", "gamma", "beta")[: 4 if depth < 3 else 3]:
        cells = rng.integers(0, n_values, size=n).astype(float)
        columns[name] = np.where(rng.random(n) < 0.1, np.nan, cells).tolist()
    columns["kind"] = rng.choice(list("abc"), size=n).tolist()
    fires = np.all([np.array(columns[name]) >= 0.3 * n_values for name in ("delta", "gamma")], 0)
    labels = fires ^ (rng.random(n) < 0.2)
    labels[:2] = False, True
    weights = rng.choice([0.5, 1, 2], size=n) if rng.random() < 0.5 else None
    table = Table.build(columns, labels, sample_weight=weights, warn=False)
    options = [name for name in OPTIONS if rng.random() < 0.12]
    asked = random_constraints(rng, table, options, depth)
    w = float(rng.choice([2, 5, 10, 2.5]))
    return Problem.build(table, structure=Structure.free(depth), w=w, constraints=asked)


@pytest.mark.parametrize("seed", range(12))
def test_tables_of_many_values(seed: int, path: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(3):
        flags = [bool(flag) for flag in rng.integers(0, 2, size=5)]
        chosen = Switches(*flags, large_rows=path) if seed % 2 else Switches(large_rows=path)
        agree(medium(rng), chosen, threads=1 + seed % 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_very_many_tables_of_many_values(seed: int, path: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        flags = [bool(flag) for flag in rng.integers(0, 2, size=5)]
        agree(medium(rng), Switches(*flags, large_rows=path), threads=1 + seed % 2)
