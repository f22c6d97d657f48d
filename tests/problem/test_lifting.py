"""From codes to names and readable thresholds, and back."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.errors import InputError
from opdt.problem.coded import CodedCondition
from opdt.problem.lifting import lift_condition, lower_condition
from opdt.rules import Condition, Op
from opdt.table import Kind, Table


@pytest.fixture
def table():
    return Table.build(
        {
            "dose": [1.0, 2.0, 4.0, 4.0],
            "gap": [1.0, None, 2.0, 3.0],
            "day": np.array(["2024-02-27", "2024-03-02", "2024-03-02", "2024-03-05"], "M8[D]"),
            "site": ["b", "a", "c", None],
            "flag": [True, False, True, True],
            "empty": [None] * 4,
        },
        [0, 1, 0, 1],
        roles={"flag": "categorical"},
        warn=False,
    )


@pytest.mark.parametrize(
    ("coded", "text"),
    [
        ((0, ">=", 1), "dose >= 1.5"),
        ((0, "<", 2), "dose < 3"),
        ((2, ">=", 1), "day >= 2024-03-01"),
        ((3, "==", 0), "site == 'a'"),
        ((3, "!=", 2), "site != 'c'"),
        ((4, "==", 1), "flag == True"),
        ((1, "is missing"), "gap is missing"),
        ((1, "is present"), "gap is present"),
    ],
)
def test_a_coded_condition_reads_well_and_comes_back(table, coded, text):
    feature, op, *code = coded
    condition = CodedCondition(feature, Op(op), *code)
    lifted = lift_condition(table, condition)
    assert str(lifted) == text
    assert lower_condition(table, lifted) == condition


def test_a_set_of_levels_reads_well_and_comes_back(table):
    condition = CodedCondition(3, Op.IN, -1, (0, 2))
    lifted = lift_condition(table, condition)
    assert str(lifted) == "site in {'a', 'c'}"
    assert lower_condition(table, lifted) == condition


@pytest.mark.parametrize("value", [1.0001, 1.5, 2, np.float32(1.75)])
def test_any_threshold_of_a_gap_means_the_same(table, value):
    condition = Condition("dose", ">=", value)
    assert lower_condition(table, condition) == CodedCondition(0, Op.GE, 1)


def test_a_set_of_one_level_is_that_level(table):
    coded = lower_condition(table, Condition("site", "in", ["b"]))
    assert coded == CodedCondition(3, Op.EQ, 1)


@pytest.mark.parametrize(
    "condition",
    [Condition("dose", ">=", 1), Condition("dose", ">=", -5), Condition("dose", "<", 5)],
)
def test_a_threshold_that_every_row_passes_says_nothing(table, condition):
    assert lower_condition(table, condition) is None


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (("doze", ">=", 1), "there is no column 'doze' in X; did you mean 'dose'"),
        (
            ("dose", ">=", 4.5),
            "the threshold of 'dose >= 4.5' lies outside the values of column 'dose' (1.0 to 4.0)",
        ),
        (("dose", "<", 1), "the threshold of 'dose < 1' lies outside the values"),
        (("gap", ">=", 0), "the threshold of 'gap >= 0' lies outside the values"),
        (("empty", ">=", 0), "lies outside the values of column 'empty' (all missing)"),
        (("site", "==", "d"), "level 'd' does not occur in column 'site'"),
        (("site", "in", ["a", "d"]), "level 'd' does not occur in column 'site'"),
        (
            ("site", ">=", 3),
            "a condition 'site >= 3' cannot be put to the categorical column 'site'",
        ),
        (("dose", "==", 1.0), "a condition 'dose == 1' cannot be put to the numeric column 'dose'"),
        (("day", ">=", 3), "'day >= 3' cannot be put to column 'day', which holds dates"),
        (
            ("dose", ">=", np.datetime64("2024-01-01")),
            "cannot be put to column 'dose', which holds numbers",
        ),
    ],
)
def test_what_the_table_does_not_have_is_refused(table, condition, message):
    with pytest.raises(InputError, match=re.escape(message)):
        lower_condition(table, Condition(*condition))


whole = st.integers(-(2**63), 2**63 - 1)


@given(
    st.sets(whole, min_size=2, max_size=6)
    | st.sets(st.integers(0, 2**64 - 1), min_size=2, max_size=6)
    | st.sets(st.floats(-1e300, 1e300), min_size=2, max_size=6)
    | st.sets(whole.map(lambda t: np.datetime64(t // 2**10, "us")), min_size=2, max_size=6)
)
def test_thresholds_of_all_numbers_and_dates_come_back(values):
    table = Table.build({"x": list(values)}, [i % 2 for i in range(len(values))], warn=False)
    column = table.columns[0]
    assert column.kind is Kind.NUMERIC
    for code in range(1, column.n_values):
        condition = CodedCondition(0, Op.GE, code)
        assert lower_condition(table, lift_condition(table, condition)) == condition
