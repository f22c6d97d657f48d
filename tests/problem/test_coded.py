"""Coded conditions: which rows they hold on, and what may be left unsaid."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt.problem.coded import (
    CodedCondition,
    count_possible,
    holds,
    is_possible,
    is_wider,
    simplify,
    tightness,
)
from opdt.rules import Op

VALUES, LEVELS = 4, 5  # feature 0 is numeric with 4 values, 1 and 2 are categorical with 5 levels


def say(feature, op, code=-1, levels=()):
    return CodedCondition(feature, Op(op), code, levels)


NUMERIC = [say(0, op, code) for op in (">=", "<") for code in range(1, VALUES)]
SUBSETS = [
    tuple(c for c in range(LEVELS) if bits >> c & 1)
    for bits in range(2**LEVELS)
    if bits.bit_count() in (2, 3)
]
CONDITIONS = [
    *NUMERIC,
    *(say(f, op, code) for f in (1, 2) for op in ("==", "!=") for code in range(LEVELS)),
    *(say(1, "in", levels=levels) for levels in SUBSETS),
    *(say(f, op) for f in (0, 1) for op in ("is missing", "is present")),
]
conjunctions = st.lists(st.sampled_from(CONDITIONS), max_size=5).map(tuple)
CELLS = np.array(list(product(range(-1, VALUES), range(-1, LEVELS), range(-1, LEVELS)))).T


def cover(conditions):
    """The cells of all possible tables on which every condition holds."""
    fires = np.ones(CELLS.shape[1], dtype=bool)
    for condition in conditions:
        fires &= holds(condition, CELLS[condition.feature].astype(np.int32))
    return fires


@settings(max_examples=500)
@given(conjunctions)
def test_simplifying_changes_no_row_of_any_table(conditions):
    assert np.array_equal(cover(simplify(conditions)), cover(conditions))


@given(conjunctions, st.randoms(use_true_random=False))
def test_the_order_and_repetition_of_conditions_do_not_matter(conditions, random):
    again = [*conditions, *random.choices(conditions, k=2)] if conditions else []
    random.shuffle(again)
    assert simplify(tuple(again)) == simplify(conditions)


@given(conjunctions)
def test_simplified_conditions_are_few_in_the_order_of_the_table_and_stay(conditions):
    short = simplify(conditions)
    assert len(short) <= len(conditions)
    assert [c.feature for c in short] == sorted(c.feature for c in short)
    assert simplify(short) == short


@given(conjunctions)
def test_nothing_that_the_others_imply_is_left(conditions):
    short = simplify(conditions)
    if not cover(short).any():
        return  # of a contradiction everything follows
    for condition in short:
        if condition.op is Op.NE:
            continue  # kept beside others, where an `in` of the rest would say the same
        rest = tuple(c for c in short if c != condition)
        assert not np.array_equal(cover(rest), cover(short))


@pytest.mark.parametrize(
    ("conditions", "short"),
    [
        (
            [say(0, ">=", 1), say(0, ">=", 3), say(0, "<", 3), say(0, "<", 2)],
            [say(0, ">=", 3), say(0, "<", 2)],
        ),
        ([say(1, "==", 2), say(1, "!=", 3)], [say(1, "==", 2)]),
        (
            [say(1, "in", levels=(1, 2, 4)), say(1, "in", levels=(0, 1, 2))],
            [say(1, "in", levels=(1, 2))],
        ),
        ([say(1, "in", levels=(1, 2)), say(1, "!=", 2)], [say(1, "==", 1)]),
        ([say(1, "!=", 4), say(1, "!=", 0)], [say(1, "!=", 0), say(1, "!=", 4)]),
        ([say(0, "is present"), say(0, "<", 2)], [say(0, "<", 2)]),
        ([say(0, "is present"), say(0, "is present")], [say(0, "is present")]),
        (
            [say(0, "is present"), say(0, "is missing")],
            [say(0, "is missing"), say(0, "is present")],
        ),
        ([say(1, "==", 2), say(0, "<", 1)], [say(0, "<", 1), say(1, "==", 2)]),
    ],
)
def test_what_follows_from_logic_is_left_out(conditions, short):
    assert simplify(tuple(conditions)) == tuple(short)


def test_levels_that_exclude_each_other_cover_nothing():
    short = simplify((say(1, "==", 2), say(1, "==", 3)))
    assert short == (say(1, "in", levels=()),)
    assert not cover(short).any()


@given(st.sampled_from(CONDITIONS), st.sampled_from(CONDITIONS))
def test_a_wider_condition_on_levels_is_one_that_is_implied(other, condition):
    sets = condition.op in (Op.EQ, Op.IN) and other.op in (Op.IN, Op.NE)
    if sets and other.feature == condition.feature:
        implied = not (cover([condition]) & ~cover([other])).any()
        assert is_wider(other, condition) == implied
    elif other.op not in (Op.IN, Op.NE) or condition.op not in (Op.EQ, Op.IN):
        assert not is_wider(other, condition)


@given(st.sampled_from(NUMERIC), st.sampled_from(NUMERIC))
def test_the_looser_of_two_thresholds_comes_first(first, second):
    if first.op is second.op and cover([first]).sum() > cover([second]).sum():
        assert tightness(first, VALUES) < tightness(second, VALUES)


def test_larger_sets_of_levels_come_first_then_lower_levels():
    sets = [
        say(1, "in", levels=levels) for levels in [(1, 2), (0, 4), (0, 1), (2, 3, 4), (0, 1, 2)]
    ]
    ordered = sorted(sets, key=lambda c: tightness(c, LEVELS))
    assert [c.levels for c in ordered] == [(0, 1, 2), (2, 3, 4), (0, 1), (0, 4), (1, 2)]


@pytest.mark.parametrize(
    "condition",
    [
        say(0, ">=", 0),
        say(0, "<", VALUES),
        say(0, "<", 2, (1, 2)),
        say(1, "==", LEVELS),
        say(1, "!=", -1),
        say(1, "in", levels=(2,)),
        say(1, "in", levels=(0, 1, 2, 3)),
        say(1, "in", levels=(2, 1)),
        say(1, "in", levels=(1, 1, 2)),
        say(1, "in", levels=(3, LEVELS)),
        say(1, "in", 2, (1, 2)),
        say(0, "is missing", 1),
    ],
)
def test_a_condition_that_no_column_offers_is_impossible(condition):
    assert not is_possible(condition, VALUES if condition.feature == 0 else LEVELS)


@pytest.mark.parametrize("n_values", range(7))
@pytest.mark.parametrize("op", Op)
def test_conditions_are_counted_as_they_are_listed(op, n_values):
    sets = [s for r in range(n_values + 1) for s in combinations(range(n_values), r)]
    menu = [CodedCondition(0, op, code, s) for code in range(-1, n_values + 1) for s in sets]
    assert count_possible(op, n_values) == sum(is_possible(c, n_values) for c in menu)


def test_every_condition_that_a_column_offers_is_possible():
    for condition in CONDITIONS:
        assert is_possible(condition, VALUES if condition.feature == 0 else LEVELS)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (say(0, ">=", 1), [2, 3]),
        (say(0, "<", 1), [1]),
        (say(0, "==", 1), [2]),
        (say(0, "!=", 1), [1, 3]),
        (say(0, "in", levels=(0, 2)), [1, 3]),
        (say(0, "is missing"), [0]),
        (say(0, "is present"), [1, 2, 3]),
    ],
)
def test_a_missing_value_satisfies_nothing_but_being_missing(condition, rows):
    codes = np.array([-1, 0, 1, 2], dtype=np.int32)
    assert np.flatnonzero(holds(condition, codes)).tolist() == rows
