"""Tables of many rows: counting cells first gives the value and the rule of counting rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opdt.datasets import planted_rule
from opdt.engines.search import SearchEngine, Switches
from opdt.engines.search.tuning import Tuning
from opdt.problem import Constraints, Problem, Structure
from opdt.solution import Budget, Solution, Status
from opdt.table import Table

TUNING = Tuning()


def both(problem: Problem, tuning: Tuning = TUNING, threads: int = 2) -> Solution:
    """The solution, which is the same whether rows or cells are counted."""
    budget = Budget(n_jobs=threads)
    rows = SearchEngine(switches=Switches(large_rows=10**9)).solve(problem, budget)
    cells = SearchEngine(switches=Switches(large_rows=0, tuning=tuning)).solve(problem, budget)
    assert (cells.status, cells.value, cells.rule) == (rows.status, rows.value, rows.rule)
    assert cells.bound == cells.value
    assert all(point.value <= rows.value <= point.bound for point in cells.trace)
    return cells


def planted(n_rows: int, seed: int = 0, **asked: Any) -> Table:
    given: dict[str, Any] = {"n_numeric": 4, "n_categorical": 2, "noise": 0.05, "missing": 0.05}
    data = planted_rule(n_rows, seed=seed, **(given | asked))
    return Table.build(data.X, data.y)


@pytest.mark.parametrize("leaf", [200, 30_000])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_rows", [2000, 5000, 12_000])
def test_planted_rules(n_rows: int, seed: int, leaf: int) -> None:
    tuning = Tuning(leaf_rows=(leaf,) * 8)
    solution = both(Problem.build(planted(n_rows, seed), w=5), tuning)
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("w", [2, 100])
@pytest.mark.parametrize("seed", [3, 4])
def test_numbers_only(seed: int, w: float) -> None:
    table = planted(8000, seed, n_numeric=6, n_categorical=0, missing=0, noise=0.1)
    both(Problem.build(table, w=w))


def test_no_pattern_but_noise() -> None:
    table = planted(4000, 5, noise=0.5)
    both(Problem.build(table, w=2))


def test_more_than_the_rows_of_a_small_table() -> None:
    table = planted(25_000, 6)
    solution = SearchEngine().solve(Problem.build(table), Budget(n_jobs=2))
    rows = SearchEngine(switches=Switches(large_rows=10**9)).solve(Problem.build(table))
    assert (solution.value, solution.rule) == (rows.value, rows.rule)


@pytest.mark.parametrize("leaf", [300, 30_000])
def test_three_conditions(leaf: int) -> None:
    tuning = Tuning(leaf_rows=(leaf,) * 8)
    table = planted(3000, 7, n_numeric=3, n_categorical=1, depth=3, noise=0.02)
    solution = both(Problem.build(table, structure=Structure.free(3), w=5), tuning)
    assert solution.status is Status.OPTIMAL


LIMITS: dict[str, dict[str, Any]] = {
    "coverage": {"min_coverage": 0.3},
    "precision": {"min_precision": 0.97},
    "errors": {"max_errors": 3},
    "all of them": {"min_coverage": 50, "min_precision": 0.9, "max_errors": 20},
    "features": {"required": ["x2"], "forbidden": ["x0"], "once": True},
    "directions": {"directions": {"x0": "<", "x1": ">="}},
    "missing": {"missing_conditions": True},
    "subsets": {"subsets": True},
}


def as_arrays(n_rows: int, seed: int) -> tuple[dict[str, Any], Any]:
    """Three numbers and one category with missing values, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"x{i}": rng.normal(size=n_rows).round(3) for i in range(3)}
    columns["x1"][rng.random(n_rows) < 0.1] = np.nan
    columns["kind"] = rng.choice(list("abcde"), size=n_rows)
    fires = (columns["x0"] < 0.4) & np.isin(columns["kind"], ["a", "c"])
    return columns, fires ^ (rng.random(n_rows) < 0.08)


@pytest.mark.parametrize("limit", LIMITS)
def test_constraints(limit: str) -> None:
    tuning = Tuning(leaf_rows=(300,) * 8)
    table = Table.build(*as_arrays(3000, 8), warn=False)
    both(Problem.build(table, w=5, constraints=Constraints(**LIMITS[limit])), tuning)


@pytest.mark.parametrize("sort", ["integers", "decimals", "any"])
def test_weights(sort: str) -> None:
    rng = np.random.default_rng(9)
    columns, labels = as_arrays(3000, 10)
    weights = {
        "integers": rng.integers(0, 4, size=3000),
        "decimals": rng.choice([0.25, 1.5, 2.75], size=3000),
        "any": rng.random(3000),
    }[sort]
    table = Table.build(columns, labels, sample_weight=weights, warn=False)
    both(Problem.build(table, w=2.5))


def test_gains_of_the_rows() -> None:
    rng = np.random.default_rng(11)
    table = Table.build(*as_arrays(3000, 12), warn=False)
    gains = rng.normal(size=3000) + np.where(table.labels == 1, 0.5, -1)
    both(Problem.build(table).with_gains(gains, 1))


@pytest.mark.parametrize("n_classes", [3, 6])
def test_classes(n_classes: int) -> None:
    columns, _ = as_arrays(2500, 13)
    rng = np.random.default_rng(14)
    labels = np.digitize(columns["x0"] + 0.3 * rng.normal(size=2500), [-1, -0.3, 0.2, 0.7, 1.2])
    table = Table.build(columns, np.minimum(labels, n_classes - 1), warn=False)
    both(Problem.build(table, w=3))


def of_many_levels(n_levels: int, *, missing: bool) -> Table:
    """One level of very many is worth a rule, with a threshold."""
    rng = np.random.default_rng(15)
    n = 3000
    levels, x = rng.integers(0, n_levels, size=n), rng.random(n).round(2)
    levels[:900] = n_levels - 2
    labels = ((levels == n_levels - 2) & (x < 0.7)) ^ (rng.random(n) < 0.03)
    gone = rng.random(n) < (0.1 if missing else 0)
    kinds = [None if out else f"L{v:03}" for v, out in zip(levels.tolist(), gone, strict=True)]
    return Table.build({"x": x, "kind": kinds}, labels, warn=False)


@pytest.mark.parametrize("missing", [False, True])
def test_a_category_of_more_levels_than_a_byte_counts(missing: bool) -> None:
    table = of_many_levels(300, missing=missing)
    assert table.columns[1].n_values > max(Tuning().levels[1], 255)
    asked = Constraints(missing_conditions=missing)
    for structure in (Structure.free(1), Structure.levels("num", "cat")):
        problem = Problem.build(table, structure=structure, w=2, label=True, constraints=asked)
        solution = both(problem)
        assert "kind == 'L298'" in str(solution.rule)


@pytest.mark.parametrize("missing", [False, True])
def test_two_conditions_on_a_category_in_several_axes(missing: bool) -> None:
    tuning = Tuning(levels=(3,) * 8)
    table = of_many_levels(9, missing=missing)
    for limit in ({}, {"max_errors": 20}, {"once": True}):
        asked = Constraints(missing_conditions=missing, **limit)
        both(Problem.build(table, w=5, constraints=asked), tuning)


def test_more_positions_than_a_level_holds_are_counted_in_cells() -> None:
    n = 70_000  # distinct values of x: more than 16 bits
    rng = np.random.default_rng(16)
    x, y = np.arange(n, dtype=float), rng.integers(0, 50, size=n).astype(float)
    y[[12_344, 12_345]] = 19  # rows that only the exact thresholds keep apart
    labels = (x >= 12_345) & (y < 20)
    table = Table.build({"x": x, "y": y}, labels, warn=False)
    engine = SearchEngine(switches=Switches(large_rows=10**9))
    solution = engine.solve(Problem.build(table, label=True), Budget(n_jobs=2))
    assert solution.value == labels.sum()
    assert str(solution.rule) == "IF x >= 12344.5 AND y < 19.5 THEN True"
