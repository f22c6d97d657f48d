from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.enumerated import Counts, all_counts, arguments, has_decimals
from engines.search.support import examples
from opdt.analysis.frontier import pareto_frontier
from opdt.analysis.path import weight_path
from opdt.datasets import load
from opdt.discovery import discover
from opdt.errors import InputError
from opdt.problem import Constraints, Problem
from opdt.solution import Budget, StopReason
from opdt.table import Table
from strategies import EMPHASES, describe, small_problems

AGES = {"age": [20, 22, 25, 27, 31, 38, 47, 52, 60]}
STATES = ["well", "ill", "ill", "ill", "well", "ill", "well", "ill", "ill"]


def frontier_of(counts: set[Counts]) -> list[Counts]:
    """The pairs (covered, errors) that no other beats, fewest errors first, by definition."""
    return sorted(
        (
            (covered, errors)
            for covered, errors in counts
            if not any(
                (n - e >= covered - errors and e < errors)
                or (n - e > covered - errors and e <= errors)
                for n, e in counts
            )
        ),
        key=lambda pair: pair[1],
    )


def most_correct(counts: set[Counts], errors: float) -> Fraction:
    """The most correct rows with at most so many errors, by definition."""
    return max((n - e for n, e in counts if e <= errors), default=Fraction(0))


@pytest.mark.parametrize("emphasis", [name for name in EMPHASES if name != "gains"])
def test_the_frontier_is_that_of_all_rules(emphasis: str) -> None:
    @given(problem=small_problems(**EMPHASES[emphasis], max_rules=1500))
    @examples(20)
    def holds(problem: Problem) -> None:
        frontier = pareto_frontier(**arguments(problem))
        expected = [(float(n), float(e)) for n, e in frontier_of(all_counts(problem)) if n > 0]
        assert [(p.covered, p.errors) for p in frontier] == expected, describe(problem)
        assert frontier.complete
        for point in frontier:
            assert point.rule is not None

    holds()


@given(problem=small_problems(max_rules=1500), nodes=st.integers(0, 60))
@examples(40)
def test_a_frontier_cut_short_bounds_the_rest(problem: Problem, nodes: int) -> None:
    frontier = pareto_frontier(**arguments(problem), budget=Budget(nodes=nodes, n_jobs=1))
    counts = all_counts(problem)
    for errors in (0, 0.5, 1, 2, 3.25, 8, 100):
        best = float(most_correct(counts, errors))
        point = frontier.at(errors)
        found = 0.0 if point is None else point.correct
        assert found <= best + 1e-9
        assert best <= frontier.bound(errors) + 1e-9, f"{errors}\n{describe(problem)}"
        if frontier.complete:
            assert found == pytest.approx(best)
            assert frontier.bound(errors) == found


@given(problem=small_problems(max_rules=1500, options=["once", "subsets", "missing_conditions"]))
@examples(30)
def test_a_limit_on_errors_cuts_the_frontier(problem: Problem) -> None:
    whole = pareto_frontier(**arguments(problem))
    part = pareto_frontier(**arguments(problem), max_errors=2)
    assert part.complete
    assert part.points == tuple(point for point in whole if point.errors <= 2)
    for errors in (0, 1, 2, 3, 5):
        best = whole.bound(errors)
        assert best <= part.bound(errors)
        assert part.bound(errors) == best or errors > 2


@given(problem=small_problems(max_rules=1500))
@examples(30)
def test_points_on_the_path_are_those_that_a_price_reaches(problem: Problem) -> None:
    frontier, path = (make(**arguments(problem)) for make in (pareto_frontier, weight_path))
    corners = {(s.covered, s.errors) for s in path if s.rule is not None}
    points = {(p.covered, p.errors): p for p in frontier}
    assert corners <= set(points)
    for counts, point in points.items():
        # at some breakpoint it ties with the corners, or it is a corner
        tied = any(
            point.covered - float(w) * point.errors == pytest.approx(path.value(w))
            for w in path.breakpoints
        )
        assert point.supported == (counts in corners or tied)


@given(problem=small_problems(max_rules=1500), share=st.sampled_from([0.5, 2 / 3, 0.75, 0.9, 1.0]))
@examples(40)
def test_the_most_correct_rows_at_a_precision_are_on_the_frontier(
    problem: Problem, share: float
) -> None:
    """As one solve with that demand finds them; at w = 1 the VI counts correct rows."""
    assume(has_decimals(problem))  # others are rounded, and a precision may be missed by that
    given = arguments(problem)
    point = pareto_frontier(**given).with_precision(share)
    demands = {**vars(problem.constraints)}
    demands["min_precision"] = max(demands["min_precision"], share)
    given["constraints"] = Constraints(**demands)
    single = discover(**given, w=1, engine="exhaustive")
    assert (point is None) == (single.rule is None)
    if point is not None:
        assert point.correct == pytest.approx(single.value)
        assert point.precision >= share - 1e-9


def test_a_frontier_by_hand() -> None:
    """From the old to the young: two ill, a well, one ill, a well, three ill."""
    frontier = pareto_frontier(AGES, STATES, label="ill", max_depth=1)
    assert [(p.correct, p.errors) for p in frontier] == [(2, 0), (3, 1), (6, 2)]
    # a mixture of the first and the last has 4 correct rows for one error
    assert [p.supported for p in frontier] == [True, False, True]
    assert [str(p.rule) for p in frontier] == [
        "IF age >= 50 THEN ill",
        "IF age >= 34 THEN ill",
        "IF age >= 21 THEN ill",
    ]
    assert frontier.at(1).correct == frontier.bound(1) == 3
    assert frontier.at(1.9).correct == 3
    assert frontier.at(50).correct == 6
    assert frontier.with_precision(0.75).correct == 6
    assert frontier.with_precision(0.76).correct == 2
    assert str(frontier).splitlines()[2] == (
        "         no        4       1     75.0 %    44.4 %  not supported  IF age >= 34 THEN ill"
    )


def test_a_limit_on_points_keeps_the_corners_and_bounds_the_rest() -> None:
    frontier = pareto_frontier(AGES, STATES, label="ill", max_depth=1, limit=2)
    assert [(p.correct, p.errors) for p in frontier] == [(2, 0), (6, 2)]
    assert not frontier.complete
    assert frontier.at(1).correct == 2
    assert frontier.bound(1) == 4  # the mixture
    assert frontier.bound(0) == 2
    assert frontier.bound(2) == frontier.bound(3) == 6


def test_constraints_that_no_rule_meets_leave_nothing() -> None:
    frontier = pareto_frontier(AGES, STATES, constraints={"min_coverage": 9, "max_errors": 0})
    assert frontier.points == ()
    assert frontier.complete
    assert frontier.at(3) is None
    assert frontier.bound(3) == 0
    assert str(frontier) == "no rule meets the constraints"


def test_without_time_nothing_is_claimed() -> None:
    frontier = pareto_frontier(AGES, STATES, label="ill", time_limit=0)
    assert not frontier.complete
    assert frontier.stopped_by is StopReason.TIME
    assert frontier.bound(0) >= 3


def test_points_are_counted_on_other_rows() -> None:
    frontier = pareto_frontier(AGES, STATES, label="ill", max_depth=1)
    counted = frontier.evaluate({"age": [23, 40, 80]}, ["well", "ill", "ill"])
    assert [(p.covered, p.errors) for p in counted] == [(1, 0), (2, 0), (3, 1)]
    assert [p.supported for p in counted] == [True, False, True]
    frame = frontier.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["correct"].tolist() == [2, 3, 6]


@pytest.mark.parametrize("name", ["hepatitis", "heart_disease"])
def test_on_real_data_every_point_is_the_best_of_its_errors(name: str, uci_folder) -> None:
    data = load(name, folder=uci_folder)
    table = Table.build(data.X, data.y, warn=False)
    target = data.class_order[1]
    frontier = pareto_frontier(table, label=target, n_jobs=1)
    assert frontier.complete
    assert any(not point.supported for point in frontier)
    for one, two in pairwise(frontier):
        assert one.errors < two.errors
        assert one.correct < two.correct
    most = frontier.points[-1].errors
    for errors in range(0, int(most) + 3, max(1, int(most) // 12)):
        single = discover(table, w=1, label=target, constraints={"max_errors": errors}, n_jobs=1)
        point = frontier.at(errors)
        assert single.value == (0 if point is None else point.correct)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_errors": -1}, "'max_errors' must be a number of rows >= 0"),
        ({"max_errors": "few"}, "'max_errors' must be"),
        ({"limit": 0}, "'limit' must be an int >= 1"),
        ({"engine": "rscrules"}, "proves nothing"),
    ],
)
def test_bad_arguments_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pareto_frontier(AGES, STATES, **settings)


def test_bad_questions_are_refused() -> None:
    frontier = pareto_frontier(AGES, STATES)
    for errors in (-1, math.nan, math.inf, "few", True):
        with pytest.raises(InputError, match="'errors' must be a number of rows >= 0"):
            frontier.at(errors)
    for precision in (-0.1, 1.1, "high", math.nan):
        with pytest.raises(InputError, match="'precision' must be a number from 0 to 1"):
            frontier.with_precision(precision)
