"""Many questions about one table: solves with other gains, decisions, rules to start from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search.support import EAGER, ORACLE, examples
from opdt.engines.search import SearchEngine, Searcher, Switches
from opdt.problem import Constraints, Problem
from opdt.rules import Condition, Op, Rule
from opdt.solution import Budget, Status, StopReason
from opdt.table import Table
from strategies import describe, random_gains, small_problems

SEEDS = st.integers(0, 2**32 - 1)
PATHS = st.sampled_from([0, 20_000])


@given(problem=small_problems(), seed=SEEDS, large_rows=PATHS)
@examples(60)
def test_solves_with_other_gains_are_those_of_the_engine(
    problem: Problem, seed: int, large_rows: int
) -> None:
    rng = np.random.default_rng(seed)
    searcher = Searcher(problem, Switches(large_rows=large_rows, tuning=EAGER))
    for _ in range(3):
        gains = random_gains(rng, problem.table.n_rows)
        other = problem.with_gains(gains)
        best = ORACLE.solve(other)
        found = searcher.solve(gains)
        assert (found.status, found.value, found.rule) == (best.status, best.value, best.rule)
        again = searcher.solve(other.objective)
        assert (again.value, again.rule) == (best.value, best.rule)
    best, found = ORACLE.solve(problem), searcher.solve()
    assert (found.status, found.value, found.rule) == (best.status, best.value, best.rule)


@given(problem=small_problems(), large_rows=PATHS)
@examples(90)
def test_a_value_is_reached_exactly_up_to_the_optimum(problem: Problem, large_rows: int) -> None:
    best = ORACLE.solve(problem)
    unit = float(problem.objective.unit)
    searcher = Searcher(problem, Switches(large_rows=large_rows, tuning=EAGER))
    if best.status is Status.INFEASIBLE:
        assert not searcher.reaches(-1e6)
        return
    cases = [(best.value, True), (best.value - unit, True), (best.value - 1, True)]
    above = max(best.value + unit, np.nextafter(best.value, np.inf))
    cases += [(above, False), (best.value + 1, False)]
    for value, reached in cases:
        assert searcher.reaches(value) == reached, f"{value}\n{describe(problem)}"


@given(problem=small_problems(), seed=SEEDS, large_rows=PATHS)
@examples(60)
def test_a_rule_to_start_from_changes_nothing_but_the_way(
    problem: Problem, seed: int, large_rows: int
) -> None:
    """Any rule of the table, good or bad, allowed or not."""
    rng = np.random.default_rng(seed)
    best = ORACLE.solve(problem)
    starts = [] if best.rule is None else [best.rule]
    column = problem.table.columns[int(rng.integers(problem.table.n_features))]
    if column.n_values > 1:
        level = column.values[int(rng.integers(1, column.n_values))]
        op = Op.GE if column.kind == "numeric" else Op.EQ
        label = problem.table.classes.tolist()[0]
        starts.append(Rule([Condition(column.name, op, level)], label=label))
    for start in starts:
        chosen = Switches(large_rows=large_rows, tuning=EAGER)
        found = SearchEngine(start=start, switches=chosen).solve(problem, Budget(n_jobs=1))
        again = Searcher(problem, chosen).solve(start=start)
        assert (found.status, found.value, found.rule) == (best.status, best.value, best.rule)
        assert (again.value, again.rule) == (best.value, best.rule)
        assert all(point.value <= best.value <= point.bound for point in found.trace)


@pytest.mark.parametrize("large_rows", [0, 20_000])
def test_a_start_is_what_is_left_when_there_is_no_time(noise: Problem, large_rows: int) -> None:
    start = SearchEngine().solve(noise, Budget(nodes=1)).rule
    engine = SearchEngine(start=start, switches=Switches(large_rows=large_rows, tuning=EAGER))
    solution = engine.solve(noise, Budget(time_limit=0))
    assert solution.rule == start
    assert solution.stopped_by is StopReason.TIME
    assert solution.trace[0].value == solution.value < solution.bound


def test_a_decision_on_a_table_of_many_values(noise: Problem) -> None:
    best = SearchEngine().solve(noise)
    searcher = Searcher(noise)
    assert searcher.reaches(best.value)
    assert searcher.reaches(best.value / 2)
    assert not searcher.reaches(best.value + 1)


def test_an_undecided_question_has_no_answer(noise: Problem) -> None:
    assert Searcher(noise).reaches(60, budget=Budget(nodes=1)) is None
    assert Searcher(noise).reaches(60, budget=Budget(time_limit=0)) is None


@given(problem=small_problems(), seed=SEEDS)
@examples(20)
def test_every_engine_answers_the_questions_of_the_search(problem: Problem, seed: int) -> None:
    gains = random_gains(np.random.default_rng(seed), problem.table.n_rows)
    one, two = ORACLE.many(problem), SearchEngine().many(problem)
    assert isinstance(two, Searcher)
    assert not isinstance(one, Searcher)
    best = one.solve(gains)
    found = two.solve(gains)
    assert (found.status, found.value, found.rule) == (best.status, best.value, best.rule)
    unit = float(problem.with_gains(gains).objective.unit)
    for value in (0.0, best.value, max(best.value + unit, np.nextafter(best.value, np.inf))):
        if np.isfinite(value):
            assert one.reaches(value, gains) == two.reaches(value, gains)


def test_nothing_is_reached_without_a_rule() -> None:
    table = Table.build({"x": [1.0, 2, 3, 4]}, [0, 1, 0, 1], warn=False)
    asked = Constraints(min_coverage=4, max_errors=0)
    searcher = Searcher(Problem.build(table, constraints=asked))
    assert not searcher.reaches(-1000)
    assert searcher.solve().status is Status.INFEASIBLE
    assert Searcher(Problem.build(table)).reaches(0)


@pytest.mark.parametrize("value", [1e6, 1e30, 1e300])
def test_a_value_beyond_all_rows_is_not_reached(value: float, noise: Problem) -> None:
    assert not Searcher(noise).reaches(value)
    gains = np.zeros(noise.table.n_rows)
    assert not Searcher(noise).reaches(value, gains)


@given(
    problem=small_problems(options=["once", "min_precision"]), errors=st.sampled_from([0, 1, 2.5])
)
@examples(40)
def test_another_limit_on_errors_is_a_constraint(problem: Problem, errors: float) -> None:
    searcher = Searcher(problem)
    demands = replace(problem.constraints, max_errors=errors)
    best = ORACLE.solve(replace(problem, constraints=demands))
    found = searcher.limited(max_errors=errors).solve()
    assert (found.status, found.value, found.rule) == (best.status, best.value, best.rule)
    free = ORACLE.solve(problem)
    assert searcher.solve().rule == searcher.limited(max_errors=None).solve().rule == free.rule
