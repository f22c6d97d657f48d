"""Rules: what they cover, whatever the table came from, and when two are the same."""

from __future__ import annotations

import copy
import datetime as dt
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from naive import Naive, Test
from opdt.errors import InputError
from opdt.problem import CodedRule
from opdt.rules import Condition, Rule
from strategies import coded, describe, small_problems

NAMES = (
    "age",
    "",
    " ",
    "größe (cm)",
    "x>=3",
    "'quoted'",
    "null",
    "7",
    "a\nb",
    "🙂",
    "SELECT",
    "nan",
)
FRAMES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "pyarrow": pa.table,
}


# -- tables and rules at random ------------------------------------------------------------------

CELLS = {
    "whole": st.integers(-3, 3),
    "float": st.sampled_from([-1.5, 0.0, 0.1, 2.0, 1e9]) | st.just(float("nan")),
    "truth": st.booleans(),
    "text": st.sampled_from(["a", "b", "", "3", "NA", "é\n"]),
    "date": st.datetimes(dt.datetime(2024, 2, 28), dt.datetime(2024, 3, 2)),
}
LEVELS = {**CELLS, "float": st.sampled_from([0.1, 2, 3.5]), "date": st.nothing()}


@st.composite
def tables(draw):
    """A mapping of oddly named columns, cells missing here and there, and the columns' sorts."""
    n_rows = draw(st.integers(1, 6))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    sorts = {name: draw(st.sampled_from(sorted(CELLS))) for name in names}
    data = {
        name: draw(st.lists(st.none() | CELLS[sort], min_size=n_rows, max_size=n_rows))
        for name, sort in sorts.items()
    }
    return data, sorts


@st.composite
def conditions(draw, sorts):
    """A condition on one of the columns that suits it."""
    name = draw(st.sampled_from(sorted(sorts)))
    sort = sorts[name]
    ops = ["is missing", "is present"]
    ops += [] if sort == "date" else ["==", "!=", "in"]
    ops += [] if sort == "text" else [">=", "<"]
    op = draw(st.sampled_from(ops))
    if op.startswith("is"):
        return Condition(name, op)
    if op in (">=", "<"):
        if sort == "date":
            return Condition(name, op, np.datetime64(draw(CELLS["date"])))
        return Condition(name, op, draw(st.integers(-2, 2) | st.sampled_from([0.1, -0.5, 1e9])))
    if op == "in":
        return Condition(name, op, draw(st.lists(LEVELS[sort], min_size=1, max_size=3)))
    return Condition(name, op, draw(LEVELS[sort]))


def row_by_row(rule, data):
    """The rule evaluated in plain Python."""

    def cell(name, row):
        value = data[name][row]
        if value is None or value != value:
            return None
        return np.datetime64(value) if isinstance(value, dt.datetime) else value

    n_rows = len(next(iter(data.values())))
    return [
        all(Test(0, str(c.op), c.value).holds(cell(c.feature, row)) for c in rule.conditions)
        for row in range(n_rows)
    ]


@pytest.mark.parametrize("library", FRAMES)
@settings(max_examples=150)
@given(data=st.data())
def test_a_rule_covers_what_python_says_row_by_row(library, data):
    table, sorts = data.draw(tables())
    rule = Rule(data.draw(st.lists(conditions(sorts), max_size=3)), "yes")
    note(repr(rule))
    assert rule.covers(FRAMES[library](table)).tolist() == row_by_row(rule, table)


@settings(max_examples=80)
@given(
    st.lists(
        st.lists(st.sampled_from([-1.0, 0.5, 2.0, np.nan]), min_size=2, max_size=2), min_size=1
    ),
    st.data(),
)
def test_columns_of_an_array_are_numbered(rows, data):
    array = np.array(rows)
    sorts = {"x0": "float", "x1": "float"}
    rule = Rule(data.draw(st.lists(conditions(sorts), max_size=3)), 1)
    table = {name: array[:, i].tolist() for i, name in enumerate(sorts)}
    assert rule.covers(array).tolist() == row_by_row(rule, table)


@settings(max_examples=60)
@given(problem=small_problems(max_rules=300, always=["subsets", "missing_conditions"]))
def test_a_rule_covers_the_table_it_came_from_as_the_problem_says(problem):
    note(describe(problem))
    twin = Naive(problem)
    data = dict(zip(twin.names, twin.columns, strict=True))
    frames = {"dict": data, "pandas": pd.DataFrame(data)}
    seen = {twin.simplify(tests): rows for tests, rows in twin.rules()}
    for tests, rows in list(seen.items())[:40]:
        rule = problem.lift(CodedRule(tuple(coded(twin, test) for test in tests), 0))
        fires = problem.cover(problem.lower(rule).conditions)
        assert np.flatnonzero(fires).tolist() == sorted(rows)
        for frame in frames.values():
            assert np.array_equal(rule.covers(frame), fires)


# -- columns -------------------------------------------------------------------------------------


def test_only_the_columns_of_the_rule_are_needed():
    rule = Rule([Condition("age", ">=", 40)], "ill")
    assert rule.covers({"age": [39, 40]}).tolist() == [False, True]
    with pytest.raises(InputError, match="there is no column 'age' in X; did you mean 'Age'"):
        rule.covers({"Age": [39, 40]})


def test_numbers_written_as_text_are_read_where_a_threshold_asks_for_them():
    rule = Rule([Condition("age", "<", 40)], 1)
    assert rule.covers({"age": ["39", "40", None]}).tolist() == [True, False, False]
    with pytest.raises(InputError, match=r"column 'age' .*'old'"):
        rule.covers({"age": ["old", "young"]})


def test_a_rule_without_conditions_covers_every_row():
    assert Rule([], 1).covers({"x": [1, None]}).tolist() == [True, True]
    assert str(Rule([], 1)) == "IF (any row) THEN 1"


def test_files_are_read(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("age,sex\n39,f\n41,f\n,m\n")
    rule = Rule([Condition("age", ">=", 40), Condition("sex", "==", "f")], 1)
    assert rule.covers(path).tolist() == [False, True, False]
    assert rule.covers(str(path)).tolist() == [False, True, False]


# -- equality ------------------------------------------------------------------------------------

AGE, SEX = Condition("age", ">=", 40), Condition("sex", "==", "f")


def test_the_order_and_repetition_of_conditions_do_not_matter():
    assert Rule([AGE, SEX], 1) == Rule([SEX, AGE, SEX], 1)
    assert hash(Rule([AGE, SEX], 1)) == hash(Rule([SEX, AGE, SEX], 1))
    assert len(Rule([SEX, AGE, SEX], 1)) == 2


@pytest.mark.parametrize(
    "other", [Rule([AGE], 1), Rule([AGE, SEX], 2), Rule([AGE, SEX], True), Rule([AGE, SEX], "1"), 1]
)
def test_other_conditions_or_classes_make_another_rule(other):
    assert Rule([AGE, SEX], 1) != other


def test_numpy_labels_are_plain():
    rule = Rule([AGE], np.int64(1))
    assert type(rule.label) is int
    assert rule == Rule([AGE], 1)


def test_a_rule_reads_well():
    rule = Rule([AGE, SEX], "ill")
    assert str(rule) == "IF age >= 40 AND sex == 'f' THEN ill"
    assert rule.features == ("age", "sex")
    assert rule.conditions == (AGE, SEX)
    assert repr(Rule([], "ill")) == "Rule([], 'ill')"


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_copies_are_equal(copied):
    rule = Rule([AGE, SEX], "ill")
    assert copied(rule) == rule


@pytest.mark.parametrize("part", ["age >= 40", ("age", ">=", 40), ["age"], None])
def test_what_is_no_condition_is_refused(part):
    with pytest.raises(InputError, match="a rule is made of Condition objects, got"):
        Rule([part], 1)
