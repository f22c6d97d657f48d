from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.enumerated import all_counts, arguments
from engines.search.support import examples
from opdt.analysis.choosing import best_lines, most_correct, price_grid
from opdt.analysis.path import weight_path
from opdt.engines.prices import Pricer
from opdt.problem import Problem
from opdt.solution import Budget
from strategies import small_problems


@given(problem=small_problems(max_rules=1500))
@examples(30)
def test_the_rule_with_the_most_correct_rows_is_that_of_all_rules(problem: Problem) -> None:
    solution = most_correct(Pricer(problem, "search", Budget(n_jobs=1)))
    counts = all_counts(problem)
    best = max((covered - errors for covered, errors in counts), default=-math.inf)
    assert solution.value == solution.bound == float(best)


@given(problem=small_problems(max_rules=1500), seed=st.integers(0, 99))
@examples(30)
def test_rules_at_many_prices_are_those_of_the_path(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    prices = [1 + Fraction(int(a), 4) for a in rng.integers(0, 60, 12)]
    path = weight_path(**arguments(problem))
    pricer = Pricer(problem, "search", Budget(n_jobs=1))
    lines = best_lines(pricer, prices)
    assert pricer.work.solves <= len(set(prices))
    for w in prices:
        found, line = path.at(w), lines[w]
        assert (found.rule is None) == (line is None or line.rule is None)
        if line is not None:
            assert found.value == float(line.value(w) / pricer.scale)
            inside = w not in path.breakpoints and w > 1
            assert not inside or found.rule == line.rule
    assert best_lines(pricer, []) == {}


@given(problem=small_problems(max_rules=1500))
@examples(30)
def test_every_segment_of_a_path_has_its_price_in_the_grid(problem: Problem) -> None:
    path = weight_path(**arguments(problem))
    grid = price_grid(path)
    segments = [segment for segment in path.segments if segment.rule is not None]
    assert len(grid) == len(segments)
    for segment, w in zip(segments, grid, strict=True):
        assert segment.w_from <= w <= segment.w_to
        assert path.value(w) == pytest.approx(segment.value(w))
