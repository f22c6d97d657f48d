"""Budgets, limits per segment and parity, against all rules of small tables, row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from engines.search.support import examples
from naive import says
from opdt import (
    Parity,
    PerSegment,
    Table,
    discover,
    pareto_frontier,
    permutation_test,
    stability,
    top_rules,
    weight_path,
)
from opdt.engines import engine_names, get_engine
from opdt.errors import InputError, UnsupportedProblem
from opdt.problem import Constraints, Problem
from opdt.solution import Budget, Status
from row_limited import DRAWN, Limited, limited, limits
from strategies import EMPHASES, describe, small_problems


def check(problem: Problem, regions: list[Any], engine: str) -> None:
    note(describe(problem) + f"\nregions: {regions}")
    solution = get_engine(engine).solve(problem, Budget(n_jobs=1))
    answer = Limited(problem, regions).best_within()
    note(f"{solution!r} | {answer}")
    if answer.value is None:
        assert solution.status is Status.INFEASIBLE
    elif answer.label is None:
        assert solution.status is Status.NO_PATTERN
    else:
        assert solution.status is Status.OPTIMAL
        assert solution.value == solution.bound == float(answer.value)
        assert says(solution.rule, answer, problem)


@pytest.mark.parametrize("engine", ["search", "exhaustive"])
@given(data=st.data())
@examples(100)
def test_the_best_rule_within_limits_is_that_of_the_slow_twin(engine, data):
    emphasis = data.draw(st.sampled_from(DRAWN))
    problem = data.draw(small_problems(**EMPHASES[emphasis], max_rules=400))
    check(*limited(problem, data.draw(limits()), data.draw(st.integers(0, 9999))), engine)


@pytest.mark.slow
@given(data=st.data())
@examples(3000)
def test_the_best_rule_within_limits_is_that_of_the_slow_twin_on_many_tables(data):
    emphasis = data.draw(st.sampled_from(DRAWN))
    problem = data.draw(small_problems(**EMPHASES[emphasis], max_rules=1500, max_rows=24))
    check(*limited(problem, data.draw(limits()), data.draw(st.integers(0, 9999))), "search")


@given(data=st.data())
@examples(60)
def test_a_limit_on_nodes_leaves_a_true_bound(data):
    problem = data.draw(small_problems(max_rules=400))
    problem, regions = limited(problem, data.draw(limits()), data.draw(st.integers(0, 9999)))
    budget = Budget(nodes=data.draw(st.integers(0, 6)), n_jobs=1)
    solution = get_engine("search").solve(problem, budget)
    answer = Limited(problem, regions).best_within()
    best = -math.inf if answer.value is None else float(answer.value)
    assert solution.value <= best <= solution.bound


TABLE = {
    "age": [20, 25, 31, 38, 47, 52, 60, 66],
    "region": ["n", "s", "n", "s", "n", "s", "n", "s"],
}
ILL = ["well", "well", "ill", "well", "ill", "ill", "ill", "ill"]


def test_a_budget_of_alerts():
    found = discover(TABLE, ILL, label="ill", constraints={"max_coverage": 2})
    assert found.covered == 2
    assert found.status is Status.OPTIMAL
    share = discover(TABLE, ILL, label="ill", constraints={"max_coverage": 0.25})
    assert share.rule == found.rule


def test_limits_speak_of_columns_that_are_no_features():
    demands = {"segments": [{"column": "region", "max_coverage": 1}]}
    found = discover(
        TABLE, ILL, label="ill", constraints=demands, roles={"region": "ignored"}, max_depth=1
    )
    fires = found.rule.covers(TABLE)
    assert found.rule.features == ("age",)
    assert (
        max(sum(f for f, r in zip(fires, TABLE["region"], strict=True) if r == own) for own in "ns")
        == 1
    )


def test_a_segment_may_have_a_limit_of_its_own():
    asked = PerSegment("region", max_coverage={"n": 0})
    found = discover(TABLE, ILL, label="ill", constraints=Constraints(segments=[asked]))
    fires = found.rule.covers(TABLE)
    assert not any(f for f, r in zip(fires, TABLE["region"], strict=True) if r == "n")


def test_measures_precision_and_the_frontier_take_limits_too():
    demands = Constraints(max_coverage=3, parities=[Parity("region", max_difference=0.25)])
    for objective in ("f1", "chi2", "precision", "lift"):
        given = {"min_coverage": 0.2} if objective in ("precision", "lift") else {}
        found = discover(TABLE, ILL, label="ill", objective=objective, constraints=demands, **given)
        assert found.status is Status.OPTIMAL
        assert found.covered <= 3
        slow = discover(
            TABLE, ILL, label="ill", objective=objective, constraints=demands, engine="exhaustive",
            **given,
        )  # fmt: skip
        assert (slow.rule, slow.value) == (found.rule, found.value)
    frontier = pareto_frontier(TABLE, ILL, label="ill", constraints=demands)
    assert frontier.complete
    assert all(point.covered <= 3 for point in frontier)


def refused(message: str, error: type[Exception] = InputError, **demands: Any) -> None:
    with pytest.raises(error, match=message):
        discover(TABLE, ILL, label=demands.pop("label", "ill"), constraints=Constraints(**demands))


def test_bad_limits_get_a_sentence():
    refused("'max_coverage' as a float is a share from 0 to 1, got 1.5", max_coverage=1.5)
    refused("'max_coverage' must be a number of rows .*got -1", max_coverage=-1)
    with pytest.raises(InputError, match=r"'max_difference' must be a difference .*got 1.2"):
        Parity("region", max_difference=1.2)
    with pytest.raises(InputError, match=r"'min_ratio' must be a ratio .*got 0"):
        Parity("region", min_ratio=0)
    with pytest.raises(InputError, match=r"Parity\('region'\) limits nothing"):
        Parity("region")
    with pytest.raises(InputError, match=r"PerSegment\('region'\) limits nothing"):
        PerSegment("region")
    with pytest.raises(InputError, match=r"'of' must be 'coverage' or 'recall', got 'errors'"):
        Parity("region", of="errors", max_difference=0.1)
    with pytest.raises(InputError, match=r"'min_precision' of 'n' must be a share"):
        PerSegment("region", min_precision={"n": 2})
    refused("'reigon'.*region", segments=[PerSegment("reigon", max_errors=1)])
    refused(
        "names segment 'e', which has no rows; the column has 'n', 's'",
        segments=[PerSegment("region", max_coverage={"e": 3})],
    )
    refused("'segments': PerSegment has no 'size'", segments=[{"column": "region", "size": 1}])
    refused("'parities': Parity needs a 'column'", parities=[{"max_difference": 0.1}])
    refused("'segments' must be a list of PerSegment, got 'region'", segments="region")


def test_a_group_without_rows_of_the_class_has_no_recall():
    data = {"x": [1, 2, 3, 4], "g": ["a", "a", "b", "b"]}
    demands = Constraints(parities=[Parity("g", of="recall", max_difference=0.1)])
    with pytest.raises(InputError, match=r"group 'b' has no rows of class 'ill'"):
        discover(data, ["ill", "well", "well", "well"], label="ill", constraints=demands)
    one = {"x": [1, 2, 3, 4], "g": ["a"] * 4}
    with pytest.raises(InputError, match=r"a column of 2 to 20 values, got 1"):
        discover(
            one, ["ill", "well"] * 2, roles={"g": "ignored"},
            constraints={"parities": [Parity("g", min_ratio=0.8)]},
        )  # fmt: skip


def test_what_cannot_take_limits_says_so(tmp_path):
    demands = Constraints(max_coverage=2)
    for name in engine_names():
        if name not in ("search", "exhaustive"):
            with pytest.raises(UnsupportedProblem, match=r"does not take 'max_coverage'"):
                get_engine(name).solve(Problem.of(TABLE, ILL, constraints=demands))
    (tmp_path / "a.csv").write_text("age,state\n1,ill\n2,well\n")
    with pytest.raises(UnsupportedProblem, match=r"need the whole table in memory"):
        discover(str(tmp_path / "*.csv"), "state", constraints=demands)
    table = Table.build(TABLE, ILL, roles={"region": "ignored"}, warn=False)
    with pytest.raises(InputError, match=r"Table.build\(..., keep=\['region'\]\)"):
        discover(table, constraints={"segments": [PerSegment("region", max_errors=1)]})


def test_tests_and_bootstraps_keep_the_limits():
    rng = np.random.default_rng(0)
    X = {"a": rng.integers(0, 9, 80), "b": rng.integers(0, 9, 80), "g": rng.choice(["x", "y"], 80)}
    y = np.where((X["a"] > 5) ^ (rng.random(80) < 0.1), "ill", "well")
    demands = Constraints(max_coverage=12, parities=[Parity("g", max_difference=0.1)])
    asked: dict[str, Any] = {
        "label": "ill", "w": 2, "constraints": demands, "roles": {"g": "ignored"}, "n_jobs": 1,
    }  # fmt: skip
    best = discover(X, y, **asked)
    assert best.covered <= 12
    test = permutation_test(X, y, **asked, n_permutations=19)
    assert test.value == best.value
    assert test.p_value == 0.05
    found = stability(X, y, **asked, n_bootstrap=5)
    assert found.solution.rule == best.rule
    path = weight_path(X, y, **{k: v for k, v in asked.items() if k != "w"})
    assert all(piece.covered <= 12 for piece in path)


def test_a_budget_may_be_given_directly():
    same = discover(TABLE, ILL, label="ill", constraints=Constraints(max_coverage=3))
    found = discover(TABLE, ILL, label="ill", max_coverage=3)
    assert (found.rule, found.value) == (same.rule, same.value)
    assert Problem.of(TABLE, ILL, max_coverage=3).constraints.max_coverage == 3
    assert all(rule.covered <= 3 for rule in top_rules(TABLE, ILL, label="ill", max_coverage=3))
    with pytest.raises(InputError, match=r"'max_coverage' is given twice"):
        discover(TABLE, ILL, max_coverage=3, constraints={"max_coverage": 2})


def test_limits_in_words():
    assert str(PerSegment("region", min_precision=0.8, max_errors=3)) == (
        "in every region: precision >= 0.8, errors <= 3"
    )
    assert str(Parity("sex", of="recall", min_ratio=0.8)) == "recall by sex: ratio >= 0.8"
