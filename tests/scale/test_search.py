"""The search over partitions gives the in-memory engine's rule, value and bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt.engines import get_engine
from opdt.problem import Problem
from scale.partitions import TableScanner, arrow_of, cut, shown, solve
from strategies import EMPHASES, small_problems

SEEDS = st.integers(0, 2**32 - 1)
EXACT_WEIGHTS = ["none", "integers", "decimals"]


def agrees(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = cut(arrow_of(problem), rng, int(rng.integers(1, 6)))
    expected = get_engine("search").solve(problem)
    assert shown(solve(problem, TableScanner(parts))) == shown(expected)


@pytest.mark.parametrize("emphasis", [name for name in EMPHASES if name != "gains"])
def test_any_small_problem_is_solved_as_in_memory(emphasis: str) -> None:
    @settings(max_examples=40)
    @given(small_problems(weights=EXACT_WEIGHTS, **EMPHASES[emphasis]), SEEDS)
    def check(problem: Problem, seed: int) -> None:
        agrees(problem, seed)

    check()
