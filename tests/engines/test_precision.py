"""The most precise rule and the one of the largest coverage, against all rules of small tables."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from analysis.enumerated import arguments
from engines.search.support import EAGER, examples, switches
from naive import Naive, naive, says
from opdt import discover
from opdt.engines import Engine
from opdt.engines.precision import most_precise
from opdt.engines.prices import Pricer
from opdt.engines.search import SearchEngine
from opdt.errors import InputError
from opdt.problem import Constraints, Problem
from opdt.solution import Budget, Status, StopReason
from opdt.table import Table
from strategies import EMPHASES, describe, small_problems

# Gains of rows have no precision; everything else is drawn.
DRAWN = [name for name in EMPHASES if name != "gains"]
X = {"age": [25, 31, 47, 52, 60], "size": [3, 1, 2, 5, 4]}
Y = ["well", "ill", "ill", "well", "ill"]


def asked(problem: Problem, **limits: Any) -> dict[str, Any]:
    """The arguments of `discover` for this problem with other limits."""
    given = arguments(problem)
    return given | {"constraints": Constraints(**vars(problem.constraints) | limits)}


def covering(problem: Problem, least: float) -> dict[str, Any]:
    """With a minimum coverage, where the problem has none."""
    return asked(problem, min_coverage=problem.constraints.min_coverage or least)


def counted(given: dict[str, Any]) -> Problem:
    """The problem in the units that the search for precision counts in."""
    settings = {k: v for k, v in given.items() if k not in ("X", "objective")}
    return Pricer(Problem.build(given["X"], **settings), "search", Budget()).problem


def check_most_precise(data: st.DataObject, engine: str | Engine) -> None:
    """Compare the most precise rule of any problem with that of the slow twin."""
    emphasis = data.draw(st.sampled_from(DRAWN))
    problem = data.draw(small_problems(**EMPHASES[emphasis], max_rules=1500))
    note(describe(problem))
    given = covering(problem, data.draw(st.sampled_from([1, 2, 3, 0.05, 0.3, 0.9])))
    solution = discover(**given, objective="precision", engine=engine)
    twin = counted(given)
    answer = Naive(twin).most_precise()
    note(f"{solution.rule} | {answer}")
    assert solution.objective == "precision"
    assert solution.stopped_by is StopReason.FINISHED
    if answer.value is None:
        assert solution.status is Status.INFEASIBLE
        assert solution.rule is None
        assert solution.value == solution.bound == -math.inf
        return
    assert solution.status is Status.OPTIMAL
    assert solution.value == solution.bound == float(answer.value)
    assert says(solution.rule, answer, twin)
    assert (solution.covered, solution.errors) == (float(answer.covered), float(answer.errors))


@pytest.mark.parametrize("engine", ["search", "exhaustive"])
@given(data=st.data())
@examples(60)
def test_the_most_precise_rule_is_that_of_the_slow_twin(engine, data):
    check_most_precise(data, engine)


@pytest.mark.parametrize("many_steps", [True, False])
def test_the_most_precise_rule_on_cells_is_that_of_the_slow_twin(many_steps):
    tuning = EAGER if many_steps else replace(EAGER, steps=1)

    @given(data=st.data())
    @examples(60)
    def agrees(data: st.DataObject) -> None:
        check_most_precise(data, SearchEngine(switches=data.draw(switches(0, tuning))))

    agrees()


@given(problem=small_problems(max_rules=1500), precision=st.sampled_from([0.5, 2 / 3, 0.8, 1.0]))
@examples(40)
def test_the_largest_coverage_is_that_of_the_slow_twin(problem, precision):
    note(describe(problem))
    given = asked(problem, min_precision=precision)
    solution = discover(**given, objective="coverage")
    settings = {k: v for k, v in given.items() if k != "X"}
    twin = Problem.build(given["X"], w=1, **settings)
    answer = naive(twin)
    assert solution.objective == "coverage"
    assert solution.value == solution.bound
    if answer.value is None:
        assert solution.status is Status.INFEASIBLE
    elif answer.label is None:
        assert solution.status is Status.NO_PATTERN
    else:
        assert solution.value == float(answer.covered - answer.errors)
        assert says(solution.rule, answer, twin)


@given(problem=small_problems(max_rules=1500), nodes=st.integers(0, 12))
@examples(60)
def test_a_limit_leaves_a_true_bound(problem, nodes):
    note(describe(problem))
    given = covering(problem, 2)
    solution = discover(**given, objective="precision", budget=Budget(nodes=nodes, n_jobs=1))
    answer = Naive(counted(given)).most_precise()
    best = -math.inf if answer.value is None else float(answer.value)
    assert solution.value <= best <= solution.bound
    if solution.status is Status.OPTIMAL:
        assert solution.value == best
    assert all(point.value <= best <= point.bound for point in solution.trace)
    if solution.status in (Status.FEASIBLE, Status.UNKNOWN):
        assert solution.stopped_by is StopReason.NODES


def test_rules_of_one_precision_are_ranked_by_their_correct_rows():
    # x = 0: 2 of 3 right; x = 2: 4 of 6; z says nothing: both have two thirds, one more rows
    x = [0] * 3 + [1] * 6 + [2] * 6
    y = [1, 1, 0] + [0] * 6 + [1, 1, 1, 1, 0, 0]
    solution = discover({"x": x}, y, label=1, max_depth=1, objective="precision", min_coverage=3)
    assert str(solution.rule) == "IF x >= 1.5 THEN 1"
    assert solution.value == float(2 / 3)
    assert (solution.covered, solution.errors) == (6, 2)


def test_without_a_minimum_coverage_it_is_five_percent():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=200), rng.integers(0, 2, 200)
    given = {"X": {"x": x}, "y": y, "label": 1, "objective": "precision"}
    least = discover(**given)
    assert least.covered >= 10
    assert least.rule == discover(**given, min_coverage=0.05).rule
    assert least.rule == discover(**given, constraints={"min_coverage": 0.05}).rule


def test_before_the_first_solve_the_bound_is_that_of_the_class():
    demands = Constraints(min_coverage=4)
    problem = Problem.build(Table.build(X, Y), label="well", constraints=demands)
    solution = most_precise(Pricer(problem, "search", Budget(nodes=0)))
    assert solution.status is Status.UNKNOWN
    assert solution.bound == 0.5
    assert discover(X, Y, objective="precision", time_limit=0).bound == 1.0


def test_the_rarest_class_can_be_asked_for_by_that_word():
    assert discover(X, Y, label="rarest", w=1).rule.label == "well"
    heavy = discover(X, Y, label="rarest", w=1, sample_weight=[9, 1, 1, 9, 1])
    assert heavy.rule.label == "ill"
    assert discover({"x": [1, 2, 3]}, ["rarest", "rarest", "a"], label="rarest").rule.label == (
        "rarest"  # a class of that name is meant by its name
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"objective": "accuracy"}, "'objective' must be 'vi', 'precision', 'coverage', 'f1'"),
        ({"objective": None}, "'objective' must be"),
        ({"objective": "precision", "min_coverage": 0}, "'min_coverage' must be above 0"),
        ({"objective": "precision", "min_coverage": 1.5}, "'min_coverage' as a float"),
        ({"objective": "coverage"}, "needs a 'min_precision'"),
        ({"objective": "precision", "engine": "bsccart"}, "'engine' 'bsccart' proves nothing"),
        ({"min_coverage": 2, "constraints": {"min_coverage": 2}}, "'min_coverage' is given twice"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_sentence(arguments, words):
    with pytest.raises(InputError, match=words):
        discover(X, Y, **arguments)


def test_progress_is_that_of_the_precision():
    rng = np.random.default_rng(1)
    data, labels = rng.normal(size=(3000, 4)), rng.integers(0, 2, 3000)
    seen = []
    solution = discover(data, labels, label=1, objective="precision",
                        budget=Budget(progress=seen.append))  # fmt: skip
    assert solution.trace[-1].value == solution.value
    assert all(each.value <= solution.value <= each.bound <= 1 for each in seen)
