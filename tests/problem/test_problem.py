"""The only definition of which rules there are, what they are worth, and which comes first."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from naive import Naive
from opdt.errors import InputError
from opdt.problem import (
    CodedCondition,
    CodedRule,
    Constraints,
    Problem,
    Structure,
    class_code,
    simplify,
)
from opdt.problem.problem import RowLimits
from opdt.rules import Op
from opdt.table import Table
from strategies import coded, describe, small_problems

MOST = 400  # rules of a problem that are looked at


def rules_of(problem):
    """Simplified conditions and covered rows of the rules that the slow twin finds."""
    twin = Naive(problem)
    found = {}
    for tests, rows in twin.rules():
        short = twin.simplify(tests)
        if twin.allowed(short):
            found.setdefault(tuple(coded(twin, test) for test in short), (short, rows))
        if len(found) == MOST:
            break
    return twin, found


# -- which rules there are -----------------------------------------------------------------------


@settings(max_examples=120)
@given(small_problems(max_rules=1500))
def test_no_rule_of_the_structure_meets_an_objection(problem):
    note(describe(problem))
    twin, found = rules_of(problem)
    for conditions, (_, rows) in found.items():
        note(str(conditions))
        for label in problem.objective.labels:
            _, covered, errors = twin.count(rows, label)
            objection = problem.objection(CodedRule(conditions, label))
            if twin.enough(covered, errors):
                assert objection is None
            else:
                assert objection == "its coverage, precision or errors are not as demanded"


@settings(max_examples=120)
@given(small_problems(max_rules=300, structures=["levels", "tree"]), st.data())
def test_any_other_rule_meets_an_objection(problem, data):
    note(describe(problem))
    twin = Naive(problem)
    allowed = {
        tuple(coded(twin, test) for test in short)
        for tests, _ in twin.rules()
        if twin.allowed(short := twin.simplify(tests))
    }
    everything = Problem.build(
        problem.table,
        structure=Structure.free(problem.structure.depth),
        constraints=Constraints(subsets=True, missing_conditions=True),
    )
    (chain,) = everything.chains
    menu = everything.conditions_at(chain[0])
    if not menu:
        return
    for conditions in data.draw(
        st.lists(st.lists(st.sampled_from(menu), max_size=len(chain)), min_size=10, max_size=10)
    ):
        short = simplify(tuple(conditions))
        if everything.cover(short).any() and short not in allowed:
            note(str(short))
            assert problem.objection(CodedRule(short, problem.objective.labels[0])) is not None


@settings(max_examples=100)
@given(small_problems(max_rules=1500))
def test_rows_and_counts_are_those_of_python_row_by_row(problem):
    note(describe(problem))
    twin, found = rules_of(problem)
    for conditions, (_, rows) in found.items():
        assert np.flatnonzero(problem.cover(conditions)).tolist() == sorted(rows)
        for label in problem.objective.labels:
            value, covered, errors = twin.count(rows, label)
            measure = problem.measure(CodedRule(conditions, label))
            scale = problem.objective.weight_scale
            assert measure.gain * problem.objective.unit == value
            assert (measure.covered, measure.errors) == (covered * scale, errors * scale)
            assert problem.within_limits(measure) == twin.enough(covered, errors)


@settings(max_examples=100)
@given(small_problems(max_rules=800))
def test_rules_come_in_the_documented_order(problem):
    note(describe(problem))
    twin, found = rules_of(problem)
    ordered = []
    for conditions, (short, rows) in found.items():
        for label in problem.objective.labels:
            value, _, errors = twin.count(rows, label)
            rule = CodedRule(conditions, label)
            documented = (-value, len(short), errors, *twin.order(short), label)
            ordered.append((documented, problem.key(rule, problem.measure(rule))))
    ordered.sort()
    keys = [key for _, key in ordered]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)  # no two rules are equal


@settings(max_examples=100)
@given(small_problems(max_rules=800))
def test_a_rule_put_into_words_and_back_is_the_same(problem):
    note(describe(problem))
    _, found = rules_of(problem)
    for conditions in found:
        rule = CodedRule(conditions, problem.objective.labels[0])
        assert problem.lower(problem.lift(rule)) == rule


@given(small_problems(), st.integers(-(2**45), 2**45))
def test_gains_come_back_from_what_they_are_worth(problem, gain):
    assert problem.gain(problem.value(gain)) == gain
    above = np.nextafter(problem.value(gain), np.inf)
    assert problem.value(problem.gain(above) - 1) < above <= problem.value(problem.gain(above))


@given(small_problems(gains=True))
def test_another_objective_brings_its_own_limits_and_keeps_the_chains(problem):
    asked = Problem.build(problem.table, constraints=Constraints(min_coverage=0.5))
    weights = asked.objective.weights.sum()
    assert asked.limits.min_covered == max(1, -(-weights // 2))
    turned = asked.with_objective(problem.objective)  # that of gains, which counts rows
    assert turned.limits.min_covered == -(-problem.table.n_rows // 2)
    assert turned.chains is asked.chains


# -- building a problem --------------------------------------------------------------------------


@pytest.fixture
def table():
    return Table.build(
        {"age": [20, 30, 40, 50], "sex": ["f", "m", "m", "f"], "bmi": [1.5, None, 2.5, 1.5]},
        ["ill", "well", "ill", "well"],
        warn=False,
    )


def test_left_out_settings_are_those_of_the_paper(table):
    problem = Problem.build(table)
    assert problem.structure == Structure.free(2)
    assert problem.objective.w == 10
    assert problem.objective.labels == (0, 1)
    assert problem.may_be_empty
    assert problem.is_vi


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"constraints": Constraints(required=["age", "sex", "bmi"])},
            "'required' names 3 features, but a rule of this structure has at most 2 conditions",
        ),
        ({"constraints": Constraints(required=["agee"])}, "'required' names feature 'agee'"),
        ({"label": "sick"}, "class 'sick' does not occur in the labels; they are: 'ill', 'well'"),
        ({"label": 0}, "class 0 does not occur in the labels"),
        ({"w": 0.5}, "'w' must be a finite number >= 1"),
        ({"structure": Structure.levels("lab")}, "there is no group 'lab'"),
        ({"groups": {"lab": ["hb"]}}, "group 'lab' names the feature 'hb'"),
        ({"groups": ["age"]}, "`groups` must map group names to lists of feature names, got list"),
        ({"groups": {"lab": 3}}, "group 'lab' must be a list of feature names, got 3"),
        ({"groups": {"lab": "age"}}, "group 'lab' must be a list of feature names, got 'age'"),
    ],
)
def test_what_the_table_cannot_offer_is_refused(table, settings, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Problem.build(table, **settings)


def test_a_group_without_features_is_refused():
    table = Table.build({"x": [1, 2]}, [0, 1])
    with pytest.raises(InputError, match="group 'cat' is empty"):
        Problem.build(table, structure=Structure.levels("cat", "num"))


def test_a_feature_that_is_required_twice_is_required_once(table):
    asked = Constraints(required=["age", "age", "sex", "age"])
    assert Problem.build(table, constraints=asked).required == {0, 1}


def test_subsets_of_many_levels_hold_the_frequent_ones():
    levels = [f"l{i:02}" for i in range(14)]
    rows = levels * 2 + levels[3:]
    table = Table.build({"x": rows}, [0, 1] * 19 + [0], warn=False)
    problem = Problem.build(table, constraints=Constraints(subsets=True))
    held = set(range(3, 14))
    assert problem.limited == {0: tuple(sorted(held))}
    subsets = list(problem.subsets_of(0))
    assert {len(some) for some in subsets} == set(range(2, 12))
    assert set().union(*subsets) == held
    rare, frequent = (CodedCondition(0, Op.IN, -1, some) for some in ((0, 3), (3, 4)))
    (chain,) = problem.chains
    assert problem.fits(chain, (frequent,))
    assert not problem.fits(chain, (rare,))
    noted = problem.noted(table.plan)
    note = noted["x"].unproven
    assert note.startswith("sets of levels ('in') are made of the 11 most frequent of its 14")
    assert noted.unproven == (f"x: {note}.",)
    assert noted.remarkable[0].to_dict()["unproven"] == note


@pytest.mark.parametrize(
    ("gains", "label", "message"),
    [
        ([1, 2], 0, "'gains' must have one number for each of the 4 rows, got shape (2,)"),
        (
            [[1, 2, 3, 4]],
            0,
            "'gains' must have one number for each of the 4 rows, got shape (1, 4)",
        ),
        ([1, 2, 3, float("nan")], 0, "'gains' must be one finite number per row"),
        ([1, 2, 3, 4], 2, "'label' must be a class code below 2, got 2"),
        ([1, 2, 3, 4], -1, "'label' must be a class code below 2, got -1"),
    ],
)
def test_gains_that_do_not_suit_the_table_are_refused(table, gains, label, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Problem.build(table).with_gains(gains, label)


def test_gains_take_the_place_of_the_vi(table):
    problem = Problem.build(table).with_gains([0.5, -1, 0, 2], label=1)
    assert not problem.is_vi
    assert problem.objective.labels == (1,)
    measure = problem.measure(CodedRule((CodedCondition(0, Op.LT, 2),), 1))
    assert problem.value(measure.gain) == -0.5
    assert (measure.covered, measure.errors) == (2, 1)


# -- conditions ----------------------------------------------------------------------------------


def said(problem, feature, **sides):
    sides = {"right": True, "left": True, **sides}
    return [
        str(problem.lift(CodedRule((c,), 0)).conditions[0])
        for c in problem.conditions_of(feature, **sides)
    ]


def test_conditions_are_those_of_the_kind_and_side(table):
    problem = Problem.build(table)
    assert said(problem, 0, left=False) == ["age >= 25", "age >= 35", "age >= 45"]
    assert said(problem, 0, right=False) == ["age < 25", "age < 35", "age < 45"]
    assert said(problem, 1, left=False) == ["sex == 'f'", "sex == 'm'"]
    assert said(problem, 1, right=False) == ["sex != 'f'", "sex != 'm'"]
    assert said(problem, 2) == ["bmi >= 2", "bmi < 2"]


def test_constraints_leave_fewer_conditions(table):
    asked = Constraints(directions={"age": "<", "sex": "=="}, forbidden=["bmi"])
    problem = Problem.build(table, constraints=asked)
    assert said(problem, 0) == ["age < 25", "age < 35", "age < 45"]
    assert said(problem, 0, left=False) == []
    assert said(problem, 1) == ["sex == 'f'", "sex == 'm'"]
    assert said(problem, 2) == []


def test_missing_values_may_be_asked_for(table):
    asked = Constraints(missing_conditions=True, directions={"bmi": "<"})
    problem = Problem.build(table, constraints=asked)
    assert said(problem, 2, left=False) == ["bmi is missing"]
    assert said(problem, 2, right=False) == ["bmi < 2", "bmi is present"]
    assert said(problem, 0, right=False) == ["age < 25", "age < 35", "age < 45"]


def test_subsets_leave_out_what_one_level_says():
    table = Table.build({"x": list("abcd")}, [0, 1, 0, 1], warn=False)
    problem = Problem.build(table, constraints=Constraints(subsets=["x"]))
    sets = [c for c in said(problem, 0) if " in " in c]
    assert sets == [f"x in {{'{a}', '{b}'}}" for a, b in ("ab", "ac", "ad", "bc", "bd", "cd")]
    assert [c for c in said(problem, 0, left=False) if " in " in c] == sets
    assert [c for c in said(problem, 0, right=False) if " in " in c] == sets


# -- limits on rows ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ({}, (1, 40, 0)),
        ({"min_coverage": 3}, (30, 40, 0)),
        ({"min_coverage": np.int64(3)}, (30, 40, 0)),
        ({"min_coverage": 0.5}, (20, 40, 0)),
        ({"min_coverage": 0.333}, (14, 40, 0)),  # 13.32 units, rounded up
        ({"min_coverage": 1.0}, (40, 40, 0)),
        ({"max_errors": 0}, (1, 0, 0)),
        ({"max_errors": 1.25}, (1, 12, 0)),  # 12.5 units, rounded down
        ({"max_errors": 99}, (1, 40, 0)),
        ({"min_precision": 0.95}, (1, 40, Fraction(19, 20))),
        ({"min_precision": 2 / 3}, (1, 40, Fraction(2, 3))),
        ({"min_precision": 1}, (1, 40, 1)),
    ],
)
def test_limits_are_in_units_of_weight_and_exact(given, limits):
    table = Table.build({"x": [1, 2, 3]}, [0, 1, 0], sample_weight=[1.5, 2.4, 0.1])
    assert Problem.build(table, constraints=Constraints(**given)).limits == RowLimits(*limits)


def test_five_of_six_rows_are_a_share_of_five_sixths():
    table = Table.build({"x": [1, 1, 1, 1, 1, 2]}, [0, 0, 0, 0, 0, 1])
    problem = Problem.build(table, constraints=Constraints(min_coverage=5 / 6, min_precision=5 / 6))
    assert problem.limits == (5, 6, Fraction(5, 6))


def test_a_minimum_coverage_rules_out_covering_nothing(table):
    assert Problem.build(table, constraints=Constraints(min_coverage=0.0)).may_be_empty
    assert not Problem.build(table, constraints=Constraints(min_coverage=1)).may_be_empty


# -- classes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "label", "code"),
    [(["1", "2"], "2", 1), ([1, 2], 2, 1), ([1, 2], np.int64(2), 1), ([False, True], True, 1)],
)
def test_a_class_is_found_by_its_value(labels, label, code):
    assert class_code(Table.build({"x": [1, 2]}, labels), label) == code


@pytest.mark.parametrize(("labels", "label"), [(["1", "2"], 2), ([1, 2], "2"), ([1, 2], 3)])
def test_text_and_numbers_are_different_classes(labels, label):
    with pytest.raises(InputError, match=f"class {label!r} does not occur in the labels"):
        class_code(Table.build({"x": [1, 2]}, labels), label)
