from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.enumerated import arguments
from opdt import Budget, InputError, Rule, Status, Table, discover
from opdt.analysis.covering import Ending, sequential_covering
from opdt.analysis.permutation import permutation_test
from opdt.solution import StopReason
from strategies import describe, small_problems

AGES = {"age": [25, 31, 36, 47, 52, 70]}
STAGES = ["young", "young", "young", "mid", "mid", "old"]


def cells(table: Table) -> dict[str, list]:
    """The values of a table, None where one is missing."""
    return {
        c.name: [None if code < 0 else c.values.tolist()[code] for code in c.codes]
        for c in table.columns
    }


# Weights such as 1/3 are rounded to units that depend on their sum, so the rest has its own.
WEIGHTS = ("none", "integers", "decimals")
PROBLEMS = small_problems(max_depth=2, max_rules=900, max_rows=20, weights=WEIGHTS)


@settings(max_examples=80)
@given(PROBLEMS, st.sampled_from([None, 1, 3]))
def test_each_rule_is_what_discover_finds_on_the_rows_that_are_left(problem, most):
    table, asked = problem.table, arguments(problem)
    w = problem.objective.w
    found = sequential_covering(**asked, w=w, max_rules=most, engine="exhaustive")
    del asked["X"]
    data, labels = cells(table), table.classes[table.labels]
    kinds = {c.name: str(c.kind) for c in table.columns if c.n_values}
    left = np.ones(table.n_rows, dtype=bool)
    rules: list[Rule] = []
    while most is None or len(rules) < most:
        weights = None if table.weights is None else table.weights[left]
        alive = left.sum() if weights is None else np.count_nonzero(weights)
        counted = labels[left] if weights is None else labels[left][weights > 0]
        if not alive or len(set(counted.tolist())) < 2:
            assert found.ended_by is (Ending.ONE_CLASS if alive else Ending.NO_ROWS)
            break
        if asked["label"] is not None and asked["label"] not in labels[left].tolist():
            assert found.ended_by is Ending.NO_PATTERN
            break
        rows = np.flatnonzero(left).tolist()
        rest = {name: [values[row] for row in rows] for name, values in data.items()}
        # A column with nothing left in it would be read as numeric, whatever it was.
        assume(all(any(cell is not None for cell in rest[name]) for name in kinds))
        part = Table.build(rest, labels[left], sample_weight=weights, roles=table.plan, warn=False)
        expected = discover(part, **asked, w=w, engine="exhaustive")
        if expected.rule is None or expected.value <= 0:
            assert found.ended_by is Ending.NO_PATTERN, describe(problem)
            break
        step = found.steps[len(rules)]
        assert step.rule == expected.rule, describe(problem)
        assert step.solution.value == expected.value
        assert (step.solution.bound, step.solution.status) == (expected.bound, Status.OPTIMAL)
        assert step.solution.covered == expected.covered == pytest.approx(step.counts.sum())
        assert step.n_rows == left.sum()
        rules.append(expected.rule)
        covers = expected.rule.covers(rest)
        left[np.flatnonzero(left)[covers]] = False
    else:
        assert found.ended_by is Ending.MAX_RULES
    assert found.rule_list.rules == tuple(rules)
    assert (found.rule_list.fires(data) < 0).tolist() == left.tolist()


def test_the_default_is_the_most_frequent_class_of_the_rest():
    found = sequential_covering(AGES, STAGES, max_depth=1, max_rules=1)
    assert str(found.rule_list) == "IF age < 40 THEN young\nELSE mid"
    assert found.rest.tolist() == [2, 1, 0]
    assert found.ended_by is Ending.MAX_RULES


def test_without_a_row_left_the_default_is_the_most_frequent_class_of_all():
    found = sequential_covering({"x": [1, 2, 3]}, [0, 1, 1], max_depth=1, w=1.5, max_rules=None)
    # At this price all rows as one rule are worth 3 - 1.5, and x >= 1.5 is worth 2.
    assert (found.rule_list.default, found.ended_by) == (0, Ending.ONE_CLASS)
    found = sequential_covering(
        {"x": [1, 1, 1, 2]}, [0, 1, 1, 1], max_depth=1, w=1.5, max_rules=None, label=1
    )
    assert str(found.rule_list) == "IF (any row) THEN 1\nELSE 1"
    assert (found.ended_by, found.rest.tolist()) == (Ending.NO_ROWS, [0, 0])


def test_a_minimum_coverage_ends_the_list():
    found = sequential_covering(
        AGES, STAGES, max_depth=1, max_rules=None, constraints={"min_coverage": 3}
    )
    assert str(found.rule_list) == "IF age < 40 THEN young\nELSE mid"
    assert found.ended_by is Ending.NO_PATTERN


def test_a_list_may_be_empty():
    found = sequential_covering({"x": [1, 1, 1, 2]}, ["a", "b", "b", "b"], max_depth=1, label="a")
    assert (len(found.rule_list), found.rule_list.default) == (0, "b")
    assert (found.steps, found.ended_by) == ((), Ending.NO_PATTERN)


def test_a_rule_that_is_not_significant_ends_the_list():
    rng = np.random.default_rng(0)
    x, noise = np.arange(60.0), rng.integers(0, 10, 60)
    y = np.where(x < 30, "low", np.where(rng.random(60) < 0.5, "low", "high"))
    data = {"x": x.tolist(), "noise": noise.tolist()}
    found = sequential_covering(data, y, w=3, alpha=0.05, n_permutations=99, seed=4)
    assert found.ended_by is Ending.NOT_SIGNIFICANT
    assert len(found.steps) == 1
    # The p-values are those of the test on the rows that were left.
    first = permutation_test(data, y, w=3, n_permutations=99, seed=4)
    assert (found.steps[0].p_value, found.steps[0].rule) == (first.p_value, first.solution.rule)
    left = ~found.steps[0].rule.covers(data)
    rest = {"x": x[left].tolist(), "noise": noise[left].tolist()}
    second = permutation_test(rest, y[left], w=3, n_permutations=99, seed=4)
    assert found.rejected is not None
    assert (found.rejected.p_value, found.rejected.rule) == (second.p_value, second.solution.rule)
    assert second.p_value > 0.05


def test_row_weights_take_part_in_the_tests():
    weights = [1.0, 2.0, 1.0, 0.5, 1.0, 1.0]
    table = Table.build(AGES, STAGES, sample_weight=weights)
    found = sequential_covering(table, max_depth=1, alpha=0.9, n_permutations=19)
    test = permutation_test(table, max_depth=1, alpha=0.9, n_permutations=19)
    assert found.steps[0].p_value == test.p_value


def test_without_time_the_list_ends_and_says_so():
    found = sequential_covering(AGES, STAGES, time_limit=0)
    assert (len(found.rule_list), found.ended_by) == (0, Ending.LIMIT)
    assert found.rule_list.default == "young"


def test_a_rule_that_was_cut_short_is_the_last():
    event = threading.Event()

    def stop(progress):
        event.set()

    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(400, 12)), rng.integers(0, 2, 400)
    budget = Budget(cancel=event, progress=stop, n_jobs=1)
    found = sequential_covering(X, y, max_depth=3, w=2, budget=budget)
    assert len(found.steps) <= 1
    assert found.ended_by is Ending.LIMIT
    if found.steps:
        assert found.steps[0].solution.stopped_by is StopReason.CANCELLED
        assert found.steps[0].solution.value <= found.steps[0].solution.bound


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_rules": 0}, r"'max_rules' must be an int >= 1, got 0\."),
        ({"alpha": 2}, r"'alpha' must be a number between 0 and 1, got 2\."),
    ],
)
def test_bad_settings_are_refused_with_one_sentence(wrong, message):
    with pytest.raises(InputError, match=message):
        sequential_covering(AGES, STAGES, **wrong)
