"""RSCRULES: rules of bins within a structure, from general to specific."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from opdt.engines.bins import BinnedTable
from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.rscrules import RSCRULESEngine
from opdt.errors import InputError
from opdt.problem import Constraints, Problem, Structure
from opdt.rules import Condition, Op
from opdt.solution import Budget, Status, StopReason
from opdt.table import Table
from strategies import describe, small_problems


@settings(max_examples=200)
@given(problem=small_problems())
def test_the_value_is_at_most_the_optimum_and_the_bound_at_least(problem: Problem) -> None:
    solution = RSCRULESEngine(bins=3).solve(problem)
    best = ExhaustiveEngine().solve(problem)
    assert solution.value <= best.value <= solution.bound, describe(problem)
    values = [point.value for point in solution.trace]
    assert values == sorted(values)
    if solution.rule is not None:
        assert values[-1] == solution.value


@given(problem=small_problems(options=()))
def test_every_condition_is_a_side_of_a_bin(problem: Problem) -> None:
    solution = RSCRULESEngine(bins=4).solve(problem)
    if solution.rule is None:
        return
    bins = BinnedTable.of(problem.table, 4).bins
    rule = set(problem.lower(solution.rule).conditions)
    inside = [each for each in bins if set(each.coded) <= rule]
    assert rule == {condition for each in inside for condition in each.coded}
    features = [each.feature for each in inside]
    assert len(features) == len(set(features))


@given(problem=small_problems(gains=True, options=()))
def test_rows_may_have_gains_of_their_own(problem: Problem) -> None:
    solution = RSCRULESEngine(bins=3).solve(problem)
    assert solution.value <= ExhaustiveEngine().solve(problem).value <= solution.bound


def test_a_bin_between_others_takes_two_conditions() -> None:
    table = Table.build({"x": list(range(9))}, list("aaabbbaab"))
    middle = RSCRULESEngine(bins=3).solve(Problem.build(table, label="b"))
    assert middle.rule is not None
    assert middle.value == 3
    assert {c.op for c in middle.rule.conditions} == {Op.GE, Op.LT}
    short = Problem.build(table, label="b", structure=Structure.free(1))
    # The last bin holds one b in three rows: 3 - 10 * 2.
    assert RSCRULESEngine(bins=3).solve(short).rule is None


def test_a_level_takes_only_features_of_its_group() -> None:
    table = Table.build(
        {"x": [0, 0, 1, 1, 1], "c": ["u", "u", "v", "v", "w"]},
        list("ppqqq"),
        roles={"c": "categorical"},
    )
    solution = RSCRULESEngine().solve(Problem.build(table, structure=Structure.levels("cat")))
    assert solution.rule is not None
    # x >= 0.5 would cover three rows; two of a level is what `cat` admits, the first of equals.
    assert solution.rule.conditions == (Condition("c", "==", "u"),)
    assert solution.value == 2


def test_rows_that_a_short_rule_explains_are_not_looked_at_again() -> None:
    # a >= 0.5 covers 12 q and one p: 13 - 10. With b < 0.5 it would be 12, but by then all of its
    # rows are explained, and longer rules are only tried for the four rows that are left.
    table = Table.build(
        {"a": [1] * 13 + [0] * 4, "b": [0] * 12 + [1] + [0, 0, 1, 1]},
        list("q" * 12 + "p" + "ppqq"),
    )
    solution = RSCRULESEngine().solve(Problem.build(table))
    assert str(solution.rule) == "IF a >= 0.5 THEN q"
    assert solution.value == 3


def test_a_longer_rule_is_found_where_no_short_one_gains() -> None:
    table = Table.build({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, list("pqqp"))
    solution = RSCRULESEngine().solve(Problem.build(table))
    assert str(solution.rule) == "IF a < 0.5 AND b < 0.5 THEN p"
    assert solution.value == 1


def test_missing_values_lie_in_no_bin() -> None:
    table = Table.build({"c": ["u", "u", None, None]}, list("ppqq"))
    solution = RSCRULESEngine().solve(Problem.build(table))
    assert solution.covered == 2
    assert solution.bound == 2


def test_constraints_are_kept_even_if_every_rule_loses() -> None:
    table = Table.build({"c": ["u", "u", "v"]}, list("pqp"))
    problem = Problem.build(table, constraints=Constraints(min_coverage=2))
    solution = RSCRULESEngine().solve(problem)
    assert str(solution.rule) == "IF c == 'u' THEN p"
    assert solution.value == 2 - 10


@pytest.mark.parametrize(
    ("budget", "reason"),
    [(Budget(time_limit=0), StopReason.TIME), (Budget(nodes=0), StopReason.NODES)],
)
def test_a_limit_stops_the_engine(budget: Budget, reason: StopReason) -> None:
    problem = Problem.build(Table.build({"x": [1, 2]}, [0, 1]))
    solution = RSCRULESEngine().solve(problem, budget)
    assert solution.stopped_by is reason
    assert solution.rule is None
    assert solution.status is Status.FEASIBLE


def test_bins_are_checked_when_the_engine_is_made() -> None:
    assert RSCRULESEngine(bins=5) == RSCRULESEngine(bins=5)
    with pytest.raises(InputError, match="'bins' must be an int >= 2, got 1"):
        RSCRULESEngine(bins=1)
