"""The search over partitions gives the in-memory engine's rule, value and bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt.engines import get_engine
from opdt.problem import Problem, VolumeImpurity
from scale.partitions import TableScanner, arrow_of, cut, shown, solve
from sorts import SORTS
from strategies import EMPHASES, small_problems

SEEDS = st.integers(0, 2**32 - 1)
PARTITIONED = [sort for sort in SORTS if sort != "with_gains"]  # gains of rows are for memory
EXACT_WEIGHTS = ["none", "integers", "decimals"]


def agrees(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = cut(arrow_of(problem), rng, int(rng.integers(1, 6)))
    expected = get_engine("search").solve(problem)
    assert shown(solve(problem, TableScanner(parts))) == shown(expected)


def suits(problem: Problem) -> bool:
    """Whether partitions take the problem: no gains of rows, and weights of few digits."""
    weights = problem.table.weights
    exact = weights is None or bool((np.round(weights, 6) == weights).all())
    return exact and isinstance(problem.objective, VolumeImpurity)


@pytest.mark.parametrize("emphasis", [name for name in EMPHASES if name != "gains"])
def test_any_small_problem_is_solved_as_in_memory(emphasis: str) -> None:
    @settings(max_examples=40)
    @given(small_problems(weights=EXACT_WEIGHTS, **EMPHASES[emphasis]), SEEDS)
    def check(problem: Problem, seed: int) -> None:
        agrees(problem, seed)

    check()


@pytest.mark.parametrize("sort", PARTITIONED)
def test_problems_of_one_sort_are_solved_as_in_memory(sort: str) -> None:
    @settings(max_examples=25)
    @given(SEEDS)
    def check(seed: int) -> None:
        problem = SORTS[sort](np.random.default_rng(seed))
        if suits(problem):
            agrees(problem, seed)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("sort", PARTITIONED)
def test_very_many_problems_of_one_sort_are_solved_as_in_memory(sort: str) -> None:
    for seed in range(400):
        problem = SORTS[sort](np.random.default_rng(seed))
        if suits(problem):
            agrees(problem, seed)
