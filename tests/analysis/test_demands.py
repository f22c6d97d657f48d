"""The best rule of each demand, against the exhaustive engine asked for each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from analysis.enumerated import arguments
from engines.search.support import examples
from opdt import Constraints, InputError, coverage_path, discover, precision_path
from opdt.problem import Problem
from opdt.solution import StopReason
from strategies import EMPHASES, describe, small_problems

DRAWN = [name for name in EMPHASES if name not in ("gains", "row limits", "coverage")]
X = {"age": [20, 22, 25, 27, 31, 38, 47, 52, 60]}
Y = ["well", "ill", "ill", "ill", "well", "ill", "well", "ill", "ill"]
LEVELS = st.lists(
    st.sampled_from([0.05, 0.2, 0.3, 0.5, 0.51, 0.75, 0.9, 1.0]), min_size=1, max_size=4
)


def free(problem: Problem) -> dict[str, Any]:
    """The arguments of a problem without limits on rows."""
    none = {"min_coverage": 0, "min_precision": 0, "max_errors": None}
    asked = Constraints(**vars(problem.constraints) | none)
    return arguments(problem) | {"constraints": asked}


def check(given: dict[str, Any], levels: list[float], objective: str) -> None:
    """Compare a path with what `discover` finds for each demand."""
    if objective == "precision":
        path = precision_path(coverages=levels, **given)
        limit = "min_coverage"
    else:
        path = coverage_path(precisions=levels, **given)
        limit = "min_precision"
    note(str(path))
    assert path.complete
    assert path.stopped_by is StopReason.FINISHED
    asked = {point.least for point in path}
    assert asked <= set(levels)
    for level in levels:
        best = discover(**given, **{limit: level}, objective=objective, engine="exhaustive")
        point = path.at(level)
        if best.rule is None:
            assert point is None
            continue
        assert point is not None
        assert point.status == "optimal"
        assert point.value == point.bound
        if level in asked:
            assert point.rule == best.rule
        counts = point.covered, point.errors
        value = point.precision if objective == "precision" else point.correct
        assert value == pytest.approx(best.value, abs=1e-12)
        assert counts == (best.covered, best.errors)


@pytest.mark.parametrize("objective", ["precision", "coverage"])
@given(data=st.data(), levels=LEVELS)
@examples(20)
def test_each_point_is_what_discover_finds_for_its_demand(objective, data, levels):
    emphasis = EMPHASES[data.draw(st.sampled_from(DRAWN))]
    exact = ("none", "integers", "decimals")  # others are rounded to the units of prices
    problem = data.draw(small_problems(**emphasis, weights=exact, max_rules=1500))
    note(describe(problem))
    check(free(problem), levels, objective)


def test_a_rule_settles_all_demands_that_it_meets():
    path = precision_path(X, Y, label="ill", max_depth=1, coverages=[0.1, 0.2, 3, 0.8, 0.85])
    assert [(p.covered, p.errors) for p in path] == [(2, 0), (8, 2)]
    assert [p.least for p in path] == [0.1, 3 / 9]
    assert path.at(0.05) is None
    assert path.at(0.15) is path.points[0]
    assert path.at(0.25) is None
    assert path.at(0.6) is path.points[1]
    assert path.columns()["covered"] == [2, 8]
    other = path.evaluate({"age": [21, 55, 56]}, ["well", "ill", "well"])
    assert [(p.covered, p.errors) for p in other] == [(2, 1), (3, 2)]


def test_limits_among_the_constraints_hold_for_every_point():
    path = precision_path(
        X, Y, label="ill", max_depth=1, coverages=[0.1, 0.2], constraints={"min_coverage": 3}
    )
    assert [p.covered for p in path] == [8]
    assert path.points[0].least == 3 / 9
    strict = coverage_path(
        X, Y, label="ill", max_depth=1, precisions=[0.1], constraints={"min_precision": 0.9}
    )
    assert [(p.least, p.covered) for p in strict] == [(0.9, 2)]


def test_weights_count_as_rows():
    weights = np.array([1, 1, 1, 1, 1, 1, 1, 4, 1])
    path = precision_path(X, Y, label="ill", max_depth=1, coverages=[0.4], sample_weight=weights)
    assert [(p.covered, p.errors, p.n_rows) for p in path] == [(5, 0, 12)]


def test_a_path_without_time_claims_nothing():
    for found in (precision_path(X, Y, time_limit=0), coverage_path(X, Y, time_limit=0)):
        assert not found.complete
        assert found.stopped_by is StopReason.TIME
        assert not any(point.status == "optimal" for point in found)


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        (precision_path, {"coverages": 0.5}, "'coverages' must be a list of numbers, got 0.5"),
        (precision_path, {"coverages": "1"}, "'coverages' must be a list of numbers, got '1'"),
        (precision_path, {"coverages": []}, "'coverages' must have at least one number"),
        (precision_path, {"coverages": [0]}, "'coverages' must be numbers above 0, got 0"),
        (precision_path, {"coverages": [1.5]}, "give a number of rows as an int"),
        (coverage_path, {"precisions": [1.5]}, "above 0 and at most 1, got 1.5"),
        (coverage_path, {"precisions": [None]}, "'precisions' must be numbers above 0, got None"),
        (coverage_path, {"engine": "bsccart"}, "'engine' 'bsccart' proves nothing"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(function, arguments, words):
    with pytest.raises(InputError, match=words):
        function(X, Y, **arguments)
