"""Columns in [0, 1] and the gaps between their values."""

from __future__ import annotations

import numpy as np
import pytest

from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.mip import MIPEngine
from opdt.engines.mip.scaling import ScaledColumns, indistinct
from opdt.errors import UnsupportedProblem
from opdt.problem import Constraints, Problem
from opdt.table import Table


def problem_of(columns: dict[str, list[object]], **options: object) -> Problem:
    n_rows = len(next(iter(columns.values())))
    return Problem.build(Table.build(columns, [0, 1] * (n_rows // 2), warn=False), **options)


def test_numbers_are_scaled_by_rank_or_by_range_and_levels_get_a_column_each() -> None:
    problem = problem_of({"x": [1.0, 2.0, 5.0, 1.0], "c": ["u", "v", "w", "v"]})
    ranks = ScaledColumns.of(problem, "rank")
    assert ranks.feature.tolist() == [0, 1, 1, 1]
    assert ranks.level.tolist() == [-1, 0, 1, 2]
    assert ranks.x.T.tolist() == [[0, 0.5, 1, 0], [1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    assert ranks.epsilon.tolist() == [0.5, 0.5, 0.5, 0.5]
    ranges = ScaledColumns.of(problem, "minmax")
    assert ranges.x[:, 0].tolist() == [0, 0.25, 1, 0]
    assert ranges.epsilon.tolist() == [0.25, 0.5, 0.5, 0.5]


def test_a_feature_of_one_value_sends_every_row_right() -> None:
    columns = ScaledColumns.of(problem_of({"x": [7, 7], "y": [1, 2]}), "minmax")
    assert columns.x[:, 0].tolist() == [1, 1]
    assert columns.x[0, 0] + columns.epsilon[0] > 1  # more than any threshold: never left


def test_dates_and_large_integers_are_scaled_exactly() -> None:
    big = 2**60
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-05", "2024-01-02"], dtype="datetime64[D]")
    problem = problem_of({"big": [big, big + 1, big + 4, big], "day": days})  # type: ignore[dict-item]
    assert ScaledColumns.of(problem, "minmax").x.T.tolist() == [[0, 0.25, 1, 0], [0, 0.25, 1, 0.25]]


def test_values_too_close_for_a_solver_are_refused_by_name() -> None:
    problem = problem_of({"y": [1, 2, 3, 4], "close": [0.0, 1e-7, 0.5, 1.0]})
    engine = MIPEngine(scaling="minmax")
    with pytest.raises(UnsupportedProblem, match=r"column 'close' are 1e-07 apart.*scaling='rank'"):
        engine.solve(problem)
    assert indistinct(problem, "rank") is None
    forbidden = problem_of(
        {"y": [1, 2, 3, 4], "close": [0.0, 1e-7, 0.5, 1.0]},
        constraints=Constraints(forbidden=["close"]),
    )
    assert indistinct(forbidden, "minmax") is None


@pytest.mark.parametrize("solver", ["scip", "highs"])
def test_ranks_are_exact_where_values_nearly_touch(solver: str) -> None:
    pytest.importorskip({"scip": "pyscipopt", "highs": "highspy"}[solver])
    # Pairs 1e-9 apart alternate in class: between min-max scaled rows no solver sees the gap.
    values = [0.0, 1e-9, 0.3, 0.3 + 1e-9, 0.6, 0.6 + 1e-9, 1.0, 1.0 - 1e-9]
    table = Table.build({"x": values}, list("abbaabab"))
    problem = Problem.build(table)
    best = ExhaustiveEngine().solve(problem).value
    assert best == 2  # x from 1e-9 to 0.3, both of class b
    solution = MIPEngine(solver=solver).solve(problem)
    assert (solution.value, solution.bound) == (best, best)
