"""Answers that a bound once cut off, and the kind of problem they came from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search.reference import best_gain, mass_of
from engines.search.rows import Rows
from engines.search.support import examples
from entangled import entangled
from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.search import SearchEngine, Switches, kernels
from opdt.engines.search.field import Field
from opdt.engines.search.kernels import Limits
from opdt.engines.search.pricing import FINE, LARGEST, Price, UnitPrice
from opdt.engines.search.tuning import Tuning
from opdt.problem import Constraints, Problem, Structure
from opdt.rules import Condition, Op, Rule
from opdt.solution import Budget
from opdt.table import Table
from strategies import describe

ORACLE = ExhaustiveEngine()

# The best rule is every feature >= 1: its rows end at x0 = 1, and what lies above costs more than
# it brings but is kept out by the other conditions.
BEYOND_THE_NODE = (
    [
        *([1, 1, 2], [1, 1, 1], [1, 2, 1], [0, 1, 1], [0, 1, 1], [1, 0, 2], [1, 2, 0]),
        *([0, 3, 0], [0, 3, 0], [3, 0, 0], [3, 0, 0], [2, 0, 3], [2, 0, 3]),
    ],
    [1, 1, 1, -1, -1, -1, -1, 3, -1, 3, -3, 3, -4],
)
# The best rule is every feature >= 1: where x0 >= 2, x1 >= 1 drops nothing.
IDLE_ON_THE_NODE = (
    [
        *([2, 1, 1, 1], [0, 0, 0, 2], [1, 2, 2, 1], [1, 0, 1, 1], [1, 1, 0, 1], [2, 1, 1, 0]),
        *([0, 2, 2, 2], [0, 3, 3, 3], [0, 3, 3, 3], [3, 0, 0, 0], [3, 1, 0, 0]),
    ],
    [1, 1, 1, -1, -1, -1, -1, 2, -2, 2, -1],
)


def upward(rows: list[list[int]], gains: list[int]) -> Problem:
    """A problem with these gains in which only `>=` is allowed."""
    table = Table.build(np.array(rows, float), [int(g > 0) for g in gains], warn=False)
    return Problem.build(
        table,
        structure=Structure.free(len(rows[0])),
        constraints=Constraints(directions=dict.fromkeys(table.names, ">=")),
    ).with_gains(gains, 1)


@pytest.mark.parametrize(("data", "optimum"), [(BEYOND_THE_NODE, 3), (IDLE_ON_THE_NODE, 2)])
def test_a_rule_beyond_a_settled_position_is_found(data: Any, optimum: int) -> None:
    problem = upward(*data)
    solution = SearchEngine().solve(problem)
    assert solution.value == optimum
    assert solution.rule == Rule(
        [Condition(name, Op.GE, 0.5) for name in problem.table.names], label=1
    )


@pytest.mark.parametrize("seeding", [False, True])
def test_ties_settled_step_by_step_end_at_the_same_rule(seeding: bool) -> None:
    chosen = Switches(seeding=seeding, tuning=Tuning(steps=1))
    solution = SearchEngine(switches=chosen).solve(upward(*BEYOND_THE_NODE))
    assert str(solution.rule) == "IF x0 >= 0.5 AND x1 >= 0.5 AND x2 >= 0.5 THEN 1"


@given(
    depth=st.sampled_from([3, 3, 3, 4]),
    seed=st.integers(0, 2**32 - 1),
    vi=st.booleans(),
    one_way=st.booleans(),
    seeding=st.booleans(),
)
def test_gain_entangled_with_loss_hides_no_rule(
    depth: int, seed: int, vi: bool, one_way: bool, seeding: bool
) -> None:
    rng = np.random.default_rng(seed)
    problem = entangled(rng, depth, vi=vi, one_way=one_way or depth == 4)
    expected = ORACLE.solve(problem)
    found = SearchEngine(switches=Switches(seeding=seeding)).solve(problem, Budget(n_jobs=1))
    assert (found.value, found.rule) == (expected.value, expected.rule), describe(problem)


def test_rows_of_gain_zero_help_precision() -> None:
    # x >= 1 covers four rows, one of them an error; x >= 2 only two, one of them an error.
    table = Table.build(np.array([[0.0], [1], [1], [2], [2]]), [0, 1, 0, 1, 0], warn=False)
    problem = Problem.build(
        table, structure=Structure.free(1), constraints=Constraints(min_precision=0.75)
    ).with_gains([-1, 0, 0, 3, -1])
    solution = SearchEngine().solve(problem)
    assert (str(solution.rule), solution.value) == ("IF x0 >= 0.5 THEN 0", 2)


def test_the_bound_beside_a_starting_rule_is_true() -> None:
    table = Table.build(np.arange(40.0)[:, None], [1] * 20 + [0] * 20, warn=False)
    start = Rule([Condition("x0", Op.GE, 30.0)], label=0)
    solution = SearchEngine(start=start).solve(Problem.build(table))
    assert solution.value == 20
    assert solution.trace[0].value == 10
    assert all(point.value <= 20 <= point.bound for point in solution.trace)


SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, n_rays=st.integers(1, 4), goal=st.integers(-5, 15))
def test_no_rule_gains_more_than_its_rays_can_drop(seed: int, n_rays: int, goal: int) -> None:
    """The exclusion bound, which `rest` is for, on rays cut down to the mass that is needed."""
    data = Rows(seed, n_rays)
    order = np.argsort(-data.gains, kind="stable")
    gains, levels = data.gains[order], data.levels[:, order].copy()
    tops = [
        max([j for j in range(1, top + 1) if mass_of(gains[own >= j]) >= goal], default=0)
        for own, top in zip(levels, data.tops.tolist(), strict=True)
    ]
    n_words = data.n // 64 + 1
    worth, every = np.zeros(n_words, np.int64), np.zeros(n_words, np.uint64)
    n_mass, mass, words = kernels.count_losses(gains, worth, every)
    left, dropped = every.copy(), np.empty(n_words, np.uint64)
    for own, top in zip(levels, tops, strict=True):
        kernels.mark_dropped(own, n_mass, data.n, top, dropped)
        kernels.drop(left, dropped, words, left)
    bound = mass - kernels.rest(left, np.zeros(n_words, np.uint64), worth, words)
    best = best_gain(data.covers(*range(n_rays), start=0))
    assert best <= bound or best < goal


@given(seed=SEEDS, prices=st.tuples(*[st.integers(0, 9 * FINE)] * 3))
@examples(200)
def test_what_limits_cost_is_never_less_than_the_allowance(
    seed: int, prices: tuple[int, int, int]
) -> None:
    data = Rows(seed)
    field = Field(0, np.arange(2), *data.node[:5])
    limits = data.limits
    price = Price.of(field, limits, prices)
    assert price is not None
    for cover in data.covers(0, 1, start=0):
        if cover.within(limits):
            fires = (data.levels >= np.array(cover.positions)[:, None]).all(axis=0)
            assert price.added[fires].sum() >= price.allowance


@given(seed=SEEDS, prices=st.tuples(*[st.integers(0, 90 * FINE)] * 3), most=st.integers(0, 40))
@examples(200)
def test_what_limits_cost_by_the_unit_is_never_less_than_the_allowance(
    seed: int, prices: tuple[int, int, int], most: int
) -> None:
    data = Rows(seed)
    field = Field(0, np.arange(2), *data.node[:5])
    weights, wrong, limits = field.weights, field.wrong, data.limits
    price = UnitPrice.of(limits, prices, most, int(weights.sum()))
    for cover in data.covers(0, 1, start=0):
        if price is not None and cover.within(limits):
            fires = (data.levels >= np.array(cover.positions)[:, None]).all(axis=0)
            assert price.added(weights, wrong)[fires].sum() >= price.allowance


@pytest.mark.parametrize("at", range(3))
def test_prices_whose_sums_would_not_fit_are_refused(at: int) -> None:
    limits = Limits(1, 1, 1, 2)
    one, two, three = ((LARGEST >> 9) * FINE if at == own else 0 for own in range(3))
    assert UnitPrice.of(limits, (one, two, three), LARGEST, 10) is not None
    assert UnitPrice.of(limits, (one, two, three), LARGEST, 1_000) is None


@pytest.mark.parametrize(
    "asked", [{"min_coverage": 0.3}, {"max_errors": 4}, {"min_precision": 0.9}]
)
def test_priced_limits_are_proven(asked: dict[str, Any]) -> None:
    """Bounds that knew nothing of the limits left such problems open for minutes."""
    rng = np.random.default_rng(0)
    x = rng.random((700, 3))
    y = rng.random(700) < 0.3 + 0.4 * ((x[:, 0] > 0.4) & (x[:, 1] < 0.7))
    table = Table.build(x, y.astype(int), warn=False)
    problem = Problem.build(
        table, structure=Structure.free(3), w=3, constraints=Constraints(**asked)
    )
    solution = SearchEngine().solve(problem, Budget(time_limit=300, nodes=100_000))
    assert solution.status == "optimal"
