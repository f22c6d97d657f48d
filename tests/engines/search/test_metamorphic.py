"""What must not change the answer, and what can change it in one direction only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search.support import examples
from opdt.datasets import load, names
from opdt.engines.search import SearchEngine, Switches
from opdt.problem import Constraints, Problem, Structure
from opdt.solution import Budget, Solution
from opdt.table import Table
from strategies import random_weights

SEEDS = st.integers(0, 2**32 - 1)
LARGE = st.sampled_from([20_000, 20_000, 0])
NAMES = ["delta", "alpha", "gamma", "beta", "kind"]


class Case:
    """A table with numbers, levels and missing values, and the problem to be solved on it."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 90))
        self.columns: dict[str, list[Any]] = {}
        for name in NAMES:
            cells: list[Any] = rng.choice(list("abcd"), size=n).tolist()
            if name != "kind":
                cells = [float(v) for v in rng.integers(0, int(rng.choice([3, 12, 40])), size=n)]
            gone = rng.random(n) < (0.15 if rng.random() < 0.4 else 0)
            pairs = zip(cells, gone, strict=True)
            self.columns[name] = [None if out else cell for cell, out in pairs]
        fires = np.array([v is not None and v >= 2 for v in self.columns["delta"]])
        fires &= np.array([v != "a" for v in self.columns["kind"]])
        labels = fires ^ (rng.random(n) < 0.25)
        self.labels = [int(label) for label in labels]
        self.labels[:3] = 0, 1, 2
        self.weights = random_weights(rng, n, str(rng.choice(["none", "integers"])))
        self.depth = int(rng.integers(1, 4))
        self.w = float(rng.choice([1.5, 2, 5, 10]))
        limits: list[dict[str, Any]] = [{}, {}, {"min_coverage": 0.1}, {"max_errors": 2}]
        self.asked = Constraints(**limits[int(rng.integers(4))])

    @property
    def n(self) -> int:
        return len(self.labels)

    def problem(self, **other: Any) -> Problem:
        """The problem, with something of it replaced."""
        made = {
            name: other.get(name, getattr(self, name))
            for name in ("columns", "labels", "weights", "depth", "w", "asked")
        }
        table = Table.build(
            made["columns"], made["labels"], sample_weight=made["weights"], warn=False
        )
        return Problem.build(
            table, structure=Structure.free(made["depth"]), w=made["w"], constraints=made["asked"]
        )

    def rows(self, order: Any) -> dict[str, Any]:
        """Columns, labels and weights of some of the rows."""
        weights = None if self.weights is None else [self.weights[i] for i in order]
        return {
            "columns": {k: [cells[i] for i in order] for k, cells in self.columns.items()},
            "labels": [self.labels[i] for i in order],
            "weights": weights,
        }


def solve(problem: Problem, large_rows: int, threads: int = 1) -> Solution:
    return SearchEngine(switches=Switches(large_rows=large_rows)).solve(
        problem, Budget(n_jobs=threads)
    )


def same(one: Solution, two: Solution) -> None:
    assert (one.status, one.value, one.rule) == (two.status, two.value, two.rule)


@given(seed=SEEDS, large_rows=LARGE)
@examples(25)
def test_the_order_of_rows_does_not_matter(seed: int, large_rows: int) -> None:
    case = Case(seed)
    turned = case.problem(**case.rows(case.rng.permutation(case.n)))
    same(solve(case.problem(), large_rows), solve(turned, large_rows))


@given(seed=SEEDS, large_rows=LARGE)
@examples(25)
def test_the_order_of_columns_decides_between_equals_only(seed: int, large_rows: int) -> None:
    case = Case(seed)
    order = [NAMES[i] for i in case.rng.permutation(len(NAMES))]
    one = solve(case.problem(), large_rows)
    two = solve(case.problem(columns={name: case.columns[name] for name in order}), large_rows)
    assert (one.status, one.value, one.errors) == (two.status, two.value, two.errors)
    assert (one.rule is None) == (two.rule is None)
    if one.rule is not None:
        assert len(one.rule.conditions) == len(two.rule.conditions)


@given(seed=SEEDS, large_rows=LARGE)
@examples(25)
def test_rows_twice_are_rows_of_weight_two(seed: int, large_rows: int) -> None:
    case = Case(seed)
    case.asked = Constraints()
    extra = np.flatnonzero(case.rng.random(case.n) < 0.4)
    twice = case.problem(**case.rows([*range(case.n), *extra]))
    weights = np.ones(case.n) if case.weights is None else np.array(case.weights, float)
    weights[extra] *= 2
    same(solve(twice, large_rows), solve(case.problem(weights=weights.tolist()), large_rows))


@given(seed=SEEDS, large_rows=LARGE)
@examples(25)
def test_a_monotone_transform_of_a_column_moves_its_thresholds_only(
    seed: int, large_rows: int
) -> None:
    case = Case(seed)
    columns = dict(case.columns)
    for name, transform in (("delta", np.exp), ("alpha", lambda v: v**3 - 7), ("beta", np.log1p)):
        columns[name] = [None if v is None else float(transform(v)) for v in columns[name]]
    before, after = case.problem(), case.problem(columns=columns)
    one, two = solve(before, large_rows), solve(after, large_rows)
    assert (one.status, one.value) == (two.status, two.value)
    if one.rule is not None:
        assert before.lower(one.rule) == after.lower(two.rule)


@given(seed=SEEDS, large_rows=LARGE)
@examples(12)
def test_another_condition_never_hurts_and_a_dearer_error_never_helps(
    seed: int, large_rows: int
) -> None:
    case = Case(seed)
    by_depth = [solve(case.problem(depth=depth), large_rows).value for depth in (1, 2, 3)]
    assert by_depth == sorted(by_depth)
    by_price = [solve(case.problem(w=w), large_rows).value for w in (1, 1.5, 2, 5, 10, 1000)]
    assert by_price == sorted(by_price, reverse=True)


@given(seed=SEEDS, large_rows=LARGE)
@examples(25)
def test_columns_that_say_nothing_new_change_nothing(seed: int, large_rows: int) -> None:
    case = Case(seed)
    columns = dict(case.columns)
    columns["constant"] = [1.0] * case.n
    columns["again"] = columns["delta"]
    columns["kind again"] = columns["kind"]
    same(solve(case.problem(), large_rows), solve(case.problem(columns=columns), large_rows))


@given(seed=SEEDS, large_rows=LARGE)
@examples(15)
def test_classes_by_another_name_give_the_same_rule(seed: int, large_rows: int) -> None:
    case = Case(seed)
    other = [{0: 7, 1: 3, 2: 5}[label] for label in case.labels]
    one, two = solve(case.problem(), large_rows), solve(case.problem(labels=other), large_rows)
    assert (one.status, one.value, one.errors) == (two.status, two.value, two.errors)
    if one.rule is not None:
        for label, name in ((0, 7), (1, 3), (2, 5)):
            renamed = solve(targeted(case.problem(labels=other), name), large_rows)
            plain = solve(targeted(case.problem(), label), large_rows)
            assert (plain.value, plain.errors) == (renamed.value, renamed.errors)
            assert conditions(plain) == conditions(renamed)


def targeted(problem: Problem, label: int) -> Problem:
    """The problem with rules of one class only."""
    code = problem.table.classes.tolist().index(label)
    return replace(problem, objective=replace(problem.objective, labels=(code,)))


def conditions(solution: Solution) -> frozenset[Any]:
    return frozenset() if solution.rule is None else frozenset(solution.rule.conditions)


# -- real tables ---------------------------------------------------------------------------------

SMALL = ("echocardiogram", "fertility", "hepatitis", "heart_failure", "parkinsons")


def uci(name: str, folder: Path, depth: int) -> Problem:
    data = load(name, folder=folder)
    kinds = dict.fromkeys(data.numeric, "numeric") | dict.fromkeys(data.categorical, "categorical")
    table = Table.build(data.X, data.y, roles=kinds)
    return Problem.build(table, structure=Structure.free(depth), w=10)


@pytest.mark.parametrize(
    ("name", "depth"), [*((name, 2) for name in names()), *((name, 3) for name in SMALL)]
)
def test_threads_and_repetition_change_nothing(name: str, depth: int, uci_folder: Path) -> None:
    problem = uci(name, uci_folder, depth)
    first = solve(problem, 20_000, threads=1)
    for threads in (1, 2, 3, 2):
        same(first, solve(problem, 20_000, threads=threads))


@pytest.mark.parametrize("name", SMALL)
def test_counting_cells_first_changes_nothing(name: str, uci_folder: Path) -> None:
    problem = uci(name, uci_folder, 2)
    first = solve(problem, 20_000)
    for threads in (1, 2):
        same(first, solve(problem, 0, threads=threads))
