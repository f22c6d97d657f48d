"""One test on one feature: what it holds on, how it reads, and what is refused."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.errors import InputError
from opdt.rules import Condition, Op

NOW = np.datetime64("2024-03-01T10:30")


def holds(condition, cells, dtype=None):
    """Rows on which the condition holds, with None for a missing value."""
    missing = np.array([cell is None for cell in cells], dtype=bool)
    blank = next((cell for cell in cells if cell is not None), 0)
    values = np.array([blank if cell is None else cell for cell in cells], dtype=dtype)
    return condition.holds(values, missing).tolist()


# -- which rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "cells", "rows"),
    [
        (("x", ">=", 2), [1, 2, None, 3], [False, True, False, True]),
        (("x", "<", 2), [1, 2, None, 3], [True, False, False, False]),
        (("x", "==", 2), [1, 2, None, 2.0], [False, True, False, True]),
        (("x", "!=", 2), [1, 2, None, 3], [True, False, False, True]),
        (("x", "in", [1, 3]), [1, 2, None, 3], [True, False, False, True]),
        (("x", "is missing"), [1, 2, None, 3], [False, False, True, False]),
        (("x", "is present"), [1, 2, None, 3], [True, True, False, True]),
        (("x", "==", "2"), [1, 2, None, 3], [False, False, False, False]),
        (("x", "!=", "2"), [1, 2, None, 3], [True, True, False, True]),
    ],
)
def test_a_missing_value_satisfies_nothing_but_being_missing(condition, cells, rows):
    assert holds(Condition(*condition), cells) == rows


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
def test_dates_are_compared_in_any_unit(unit):
    day, later = np.datetime64("2024-03-01"), np.datetime64("2024-03-02")
    cells = np.array([day, later]).astype(f"M8[{unit}]")
    none = np.zeros(2, dtype=bool)
    assert Condition("x", ">=", later).holds(cells, none).tolist() == [False, True]
    assert Condition("x", "==", day).holds(cells, none).tolist() == [True, False]
    assert Condition("x", "!=", day).holds(cells, none).tolist() == [False, True]
    assert Condition("x", "in", [day, NOW]).holds(cells, none).tolist() == [True, False]


numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1)
    | st.lists(st.floats(allow_nan=False), min_size=1),
    st.data(),
)
def test_numbers_are_compared_exactly_whatever_their_types(cells, data):
    near = st.sampled_from(cells).filter(np.isfinite).flatmap(
        lambda c: st.sampled_from([int(c), int(c) + 1, float(c), math.nextafter(c, math.inf)])
    )  # fmt: skip
    threshold = data.draw(numbers | near if any(map(np.isfinite, cells)) else numbers)
    if not np.isfinite(float(threshold)):
        return
    dtype = np.int64 if isinstance(cells[0], int) else np.float64
    plain = threshold.item() if isinstance(threshold, np.generic) else threshold
    at_least = [cell >= plain for cell in cells]  # Python compares integers and floats exactly
    assert holds(Condition("x", ">=", threshold), cells, dtype) == at_least
    assert holds(Condition("x", "<", threshold), cells, dtype) == [not a for a in at_least]


def test_unsigned_integers_are_compared_exactly():
    cells = [2**64 - 1, 2**64 - 2, 5]
    assert holds(Condition("x", ">=", 2**64 - 1), cells, np.uint64) == [True, False, False]
    assert holds(Condition("x", ">=", -1), cells, np.uint64) == [True, True, True]
    assert holds(Condition("x", "<", 5.5), cells, np.uint64) == [False, False, True]


@pytest.mark.parametrize(
    ("condition", "cells", "held"),
    [
        (("x", ">=", 2), ["a", "b"], "text"),
        (("x", "<", NOW), [1.5, 2.5], "numbers"),
        (("x", "<", 3), np.array(["2024-03-01"], "M8[D]"), "dates"),
    ],
)
def test_a_threshold_on_values_of_another_kind_is_refused(condition, cells, held):
    values = np.array(cells, dtype=object if held == "text" else None)
    message = f"cannot be put to column 'x', which holds {held}"
    with pytest.raises(InputError, match=message):
        Condition(*condition).holds(values, np.zeros(len(values), dtype=bool))


def test_a_threshold_on_missing_values_only_holds_nowhere():
    gone = np.ones(2, dtype=bool)
    assert not Condition("x", ">=", NOW).holds(np.full(2, np.nan), gone).any()


# -- equality ------------------------------------------------------------------------------------


def test_conditions_are_equal_by_value_whatever_the_type_of_the_number():
    assert Condition("x", ">=", np.float64(2)) == Condition("x", ">=", 2)
    assert hash(Condition("x", ">=", np.float32(2))) == hash(Condition("x", ">=", 2))
    assert Condition("x", "in", ["a", "b"]) == Condition("x", "in", {"b", "a"})
    assert Condition("x", ">=", NOW) == Condition("x", ">=", NOW.astype("M8[ns]"))
    assert hash(Condition("x", ">=", NOW)) == hash(Condition("x", ">=", NOW.astype("M8[ns]")))
    assert Condition("x", "==", "2") != Condition("x", "==", 2)


@pytest.mark.parametrize(
    ("value", "kind"), [(np.float64(2.5), float), (np.int32(2), int), (np.str_("a"), str)]
)
def test_levels_are_plain_python(value, kind):
    assert type(Condition("x", "==", value).value) is kind
    assert {type(v) for v in Condition("x", "in", [value]).value} == {kind}


# -- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (("age", ">=", 41.5), "age >= 41.5"),
        (("age", "<", 130.0), "age < 130"),
        (("age", "<", -0.001), "age < -0.001"),
        (("sex", "==", "f"), "sex == 'f'"),
        (("sex", "!=", 2), "sex != 2"),
        (("sex", "==", True), "sex == True"),
        (("site", "in", {"b", "a", 2}), "site in {2, 'a', 'b'}"),
        (("day", ">=", np.datetime64("2024-03-01", "ns")), "day >= 2024-03-01"),
        (("day", ">=", NOW), "day >= 2024-03-01T10:30"),
        (("day", "<", np.datetime64("2024-03-01T10:30:05.5")), "day < 2024-03-01T10:30:05.500"),
        (("bmi", "is missing"), "bmi is missing"),
        (("bmi", "is present"), "bmi is present"),
    ],
)
def test_a_condition_reads_well(condition, text):
    assert str(Condition(*condition)) == text


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ((3, ">=", 1), "a condition needs the name of a column, got 3"),
        (("x", ">", 1), "'op' of a condition on 'x' must be one of '>=', '<', "),
        (("x", None, 1), "'op' of a condition on 'x' must be one of"),
        (("x", [], 1), "'op' of a condition on 'x' must be one of"),
        (("x", ">=", "a"), "the threshold of 'x >=' must be a finite number"),
        (("x", ">=", True), "the threshold of 'x >=' must be a finite number"),
        (("x", "<", None), "the threshold of 'x <' must be a finite number"),
        (("x", "<", float("nan")), "the threshold of 'x <' must be a finite number"),
        (("x", "<", float("inf")), "the threshold of 'x <' must be a finite number"),
        (("x", "<", np.datetime64("NaT")), "the threshold of 'x <' must be a finite number"),
        (("x", "<", [1]), "the threshold of 'x <' must be a finite number"),
        (("x", "<", np.array([1, 2])), "the threshold of 'x <' must be a finite number"),
        (("x", "==", None), "a condition 'x ==' needs a level to compare with, got None"),
        (("x", "!=", float("nan")), "a condition 'x !=' needs a level to compare with, got nan"),
        (("x", "==", float("inf")), "a condition 'x ==' needs a level to compare with, got inf"),
        (("x", "==", ["a"]), "a condition 'x ==' needs a level to compare with, got ['a']"),
        (("x", "==", np.array([1, 2])), "a condition 'x ==' needs a level to compare with"),
        (("x", "in", "ab"), "a condition 'x in …' needs a set of levels, got 'ab'"),
        (("x", "in", 3), "a condition 'x in …' needs a set of levels, got 3"),
        (("x", "in", []), "a condition 'x in …' needs at least one level"),
        (("x", "in", [["a"]]), "a condition 'x in' needs a level to compare with, got ['a']"),
        (("x", "in", [None]), "a condition 'x in' needs a level to compare with, got None"),
        (("x", "is missing", 3), "a condition 'x is missing' takes no value, got 3"),
    ],
)
def test_what_is_no_condition_is_refused(condition, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Condition(*condition)


def test_operators_know_what_they_need():
    assert [op for op in Op if op.is_threshold] == [Op.GE, Op.LT]
    assert [op for op in Op if not op.needs_value] == [Op.MISSING, Op.PRESENT]
