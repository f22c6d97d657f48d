"""The audit that no answer gets around, and the trace."""

from __future__ import annotations

import numpy as np
import pytest

from opdt.engines.base import Engine, Outcome, Recorder, audit, value_of
from opdt.errors import EngineFailure, UnsupportedProblem
from opdt.problem import CodedCondition, CodedRule, Constraints, Measure, Problem, Structure
from opdt.rules import Condition, Op, Rule
from opdt.solution import Budget, Status, StopReason
from opdt.table import Table


def problem_of(**settings):
    """Five rows, of which x >= 3 covers two of class 1 and one of class 0."""
    table = Table.build({"x": [1, 2, 3, 4, 5]}, [0, 0, 1, 0, 1])
    settings = {"w": 1.5, "structure": Structure.free(1), **settings}
    return Problem.build(table, **settings)


UPPER = CodedRule((CodedCondition(0, Op.GE, 2),), 1)  # x >= 3: VI = 3 - 1.5 = 1.5, 3 units
LOWER = CodedRule((CodedCondition(0, Op.LT, 1),), 1)  # x < 2: VI = 1 - 1.5 = -0.5, -1 unit
WIDE = CodedRule((CodedCondition(0, Op.LT, 1), CodedCondition(0, Op.GE, 1)), 1)


class Scripted(Engine):
    """Gives a prepared answer."""

    name = "scripted"

    def __init__(self, outcome, why=None):
        self.outcome, self.why = outcome, why

    def refuses(self, problem):
        return self.why

    def _solve(self, problem, clock):
        return self.outcome


def solve(outcome, **settings):
    return Scripted(outcome).solve(problem_of(**settings))


def test_value_and_counts_are_computed_from_the_data():
    solution = solve(Outcome(UPPER))
    assert solution.rule == Rule([Condition("x", ">=", 2.5)], 1)
    assert (solution.value, solution.bound, solution.gap) == (1.5, 1.5, 0)
    assert (solution.covered, solution.errors) == (3, 1)
    assert solution.precision == pytest.approx(2 / 3)
    assert (solution.status, solution.engine) == (Status.OPTIMAL, "scripted")
    assert solution.seconds >= 0


def test_counts_are_in_rows_whatever_the_units_of_the_weights():
    table = Table.build({"x": [1, 2, 3]}, [0, 1, 0], sample_weight=[1, 0.25, 0.1])
    problem = Problem.build(table, structure=Structure.free(1), w=2)
    solution = audit("e", problem, Outcome(CodedRule((CodedCondition(0, Op.GE, 1),), 1)), 0.0)
    assert (solution.covered, solution.errors) == (0.35, 0.1)
    assert solution.value == 0.15  # 0.35 - 2 × 0.1


@pytest.mark.parametrize(
    ("bound", "status"), [(None, Status.OPTIMAL), (3, Status.OPTIMAL), (4, Status.FEASIBLE)]
)
def test_a_rule_is_optimal_when_no_bound_is_above_it(bound, status):
    solution = solve(Outcome(UPPER, bound=bound))
    assert solution.status is status
    assert solution.bound == (1.5 if bound is None else bound / 2)


@pytest.mark.parametrize(
    ("bound", "status"), [(None, Status.NO_PATTERN), (0, Status.NO_PATTERN), (1, Status.FEASIBLE)]
)
def test_without_a_rule_covering_nothing_is_the_answer(bound, status):
    solution = solve(Outcome(None, bound=bound))
    assert (solution.rule, solution.value, solution.status) == (None, 0.0, status)
    assert np.isnan(solution.precision)


@pytest.mark.parametrize(("bound", "status"), [(None, Status.INFEASIBLE), (1, Status.UNKNOWN)])
def test_without_a_rule_a_minimum_coverage_is_not_met(bound, status):
    solution = solve(Outcome(None, bound=bound), constraints=Constraints(min_coverage=1))
    assert (solution.rule, solution.value, solution.status) == (None, -np.inf, status)


def test_a_rule_that_gains_nothing_is_no_pattern():
    solution = solve(Outcome(LOWER))
    assert (solution.rule, solution.value, solution.status) == (None, 0.0, Status.NO_PATTERN)
    assert (solution.covered, solution.errors) == (0, 0)


def test_a_rule_that_gains_nothing_is_the_answer_where_something_must_be_covered():
    solution = solve(Outcome(LOWER), constraints=Constraints(min_coverage=1))
    assert (solution.value, solution.status) == (-0.5, Status.OPTIMAL)


@pytest.mark.parametrize(
    ("rule", "settings", "why"),
    [
        (WIDE, {}, "it does not fit the structure"),
        (CodedRule((CodedCondition(0, Op.GE, 0),), 1), {}, "it does not fit the structure"),
        (UPPER, {"label": 0}, "its class is not the one asked for"),
        (UPPER, {"constraints": Constraints(max_errors=0)}, "coverage, precision or errors"),
        (UPPER, {"constraints": Constraints(directions={"x": "<"})}, "does not fit the structure"),
        (
            CodedRule((), 1),
            {"constraints": Constraints(required=["x"])},
            "it does not use every required feature",
        ),
        (
            CodedRule((CodedCondition(0, Op.GE, 1), CodedCondition(0, Op.LT, 4)), 1),
            {"structure": Structure.free(2), "constraints": Constraints(once=True)},
            "it uses a feature more than once",
        ),
    ],
)
def test_a_rule_that_is_not_one_of_the_problem_is_a_failure(rule, settings, why):
    with pytest.raises(EngineFailure, match=f"engine 'scripted' returned IF .*{why}"):
        solve(Outcome(rule), **settings)


def test_a_bound_below_the_rule_is_a_failure():
    with pytest.raises(EngineFailure, match=r"claims a bound of 1\.0, but a rule has 1\.5"):
        solve(Outcome(UPPER, bound=2))


def test_an_engine_that_cannot_gives_its_reason():
    with pytest.raises(
        UnsupportedProblem, match="engine 'scripted' cannot solve this problem: too hard"
    ):
        Scripted(None, why="too hard").solve(problem_of())


def test_what_the_engine_says_beside_the_rule_is_passed_on():
    outcome = Outcome(None, bound=5, stopped_by=StopReason.MEMORY, details={"a": 1})
    solution = solve(outcome)
    assert (solution.stopped_by, solution.details) == (StopReason.MEMORY, {"a": 1})


def test_the_value_of_no_rule_is_that_of_covering_nothing():
    assert value_of(problem_of(), None) == 0
    assert value_of(problem_of(constraints=Constraints(min_coverage=1)), None) == -np.inf
    assert value_of(problem_of(), Measure(3, 3, 1)) == 1.5


def test_the_trace_keeps_improvements_only():
    recorder = Recorder(problem_of(), Budget().start())
    for value, bound in [(0, 9), (1, 9), (1, 9), (0.5, 7), (2, 8), (2, 2)]:
        recorder.improved(UPPER, value, bound)
    points = [(point.value, point.bound) for point in recorder.points]
    assert points == [(0, 9), (1, 9), (1, 7), (2, 7), (2, 2)]
    assert recorder.points[0].rule == Rule([Condition("x", ">=", 2.5)], 1)


def test_progress_is_told_where_somebody_listens():
    seen = []
    Recorder(problem_of(), Budget(progress=seen.append).start()).report(1, 4, 0.5)
    Recorder(problem_of(), Budget().start()).report(1, 4, 0.5)
    assert [(p.value, p.bound, p.gap, p.done) for p in seen] == [(1, 4, 3, 0.5)]
