"""Solvers' floats and exact units."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.engines.mip import bounds
from opdt.problem import Problem
from opdt.table import Table


def problem_of(w: float, n_rows: int = 6, weights: list[float] | None = None) -> Problem:
    table = Table.build({"x": range(n_rows)}, [0, 1] * (n_rows // 2), sample_weight=weights)
    return Problem.build(table, w=w)


@given(w=st.sampled_from([1, 2, 10, 2.5, 1.1, 4 / 3, 3.141592653589793]), bound=st.floats(-30, 3))
def test_a_bound_falls_to_the_next_vi_that_can_occur(w: float, bound: float) -> None:
    problem = problem_of(w)
    unit, price = problem.objective.unit, problem.objective.w  # type: ignore[attr-defined]
    tolerance = bounds.tolerance(problem)
    possible = {right + (1 - price) * wrong for right, wrong in product(range(7), repeat=2)}
    within = [vi for vi in possible if vi <= bound + tolerance]
    found = bounds.attainable(problem, bound) * unit
    assert found <= bound + tolerance
    assert found >= min(max(within, default=found), 3)  # three rows of a class can be covered


def test_a_bound_of_nothing_is_the_rows_of_the_larger_class() -> None:
    assert bounds.attainable(problem_of(10), float("inf")) == 3
    assert bounds.attainable(problem_of(10), 100.0) == 3


@pytest.mark.parametrize(
    ("w", "weights", "gap"),
    [
        (10, None, 0.999),
        (2.5, None, 0.4995),
        (10, [0.1] * 6, 0.0999),
        (10, [1 / 3] * 6, 0.0),  # thirds are held to a unit that no solver sees
    ],
)
def test_the_gap_is_just_below_a_unit_where_a_solver_sees_units(
    w: float, weights: list[float] | None, gap: float
) -> None:
    assert bounds.absolute_gap(problem_of(w, weights=weights)) == pytest.approx(gap)


def test_a_bound_a_hair_below_the_truth_is_read_as_the_truth() -> None:
    assert bounds.attainable(problem_of(10), 1.9999999) == 2
