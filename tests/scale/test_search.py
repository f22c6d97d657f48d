"""The search over partitions gives the in-memory engine's rule, value and bound."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt.problem import Problem
from scale.partitions import PARTITIONED, TableScanner, check_problem, check_sort
from strategies import EMPHASES, small_problems

SEEDS = st.integers(0, 2**32 - 1)
EXACT_WEIGHTS = ["none", "integers", "decimals"]


@pytest.mark.parametrize("emphasis", [name for name in EMPHASES if name != "gains"])
def test_any_small_problem_is_solved_as_in_memory(emphasis: str) -> None:
    @settings(max_examples=40)
    @given(small_problems(weights=EXACT_WEIGHTS, **EMPHASES[emphasis]), SEEDS)
    def check(problem: Problem, seed: int) -> None:
        check_problem(problem, seed, TableScanner)

    check()


@pytest.mark.parametrize("sort", PARTITIONED)
def test_problems_of_one_sort_are_solved_as_in_memory(sort: str) -> None:
    @settings(max_examples=25)
    @given(SEEDS)
    def check(seed: int) -> None:
        check_sort(sort, seed, TableScanner)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("sort", PARTITIONED)
def test_very_many_problems_of_one_sort_are_solved_as_in_memory(sort: str) -> None:
    for seed in range(400):
        check_sort(sort, seed, TableScanner)
