"""What may be demanded of a rule, and what is refused with one clear sentence."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from opdt.errors import InputError
from opdt.problem import Constraints

NAMES, CATEGORICAL = ("age", "sex", "bmi"), (1,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"directions": ["age"]}, "'directions' must map features to operators, got ['age']"),
        (
            {"directions": {"age": ">"}},
            "'directions' of feature 'age' must be '>=', '<', '==' or '!=', got '>'",
        ),
        ({"directions": {"age": None}}, "'directions' of feature 'age' must be"),
        ({"directions": {3: ">="}}, "'directions' must be a list of feature names, got [3]"),
        ({"required": "age"}, "'required' must be a list of feature names, got 'age'"),
        ({"forbidden": 3}, "'forbidden' must be a list of feature names, got 3"),
        ({"required": ["age", 3]}, "'required' must be a list of feature names, got ['age', 3]"),
        ({"subsets": "sex"}, "'subsets' must be a list of feature names, got 'sex'"),
        ({"subsets": 1}, "'subsets' must be a list of feature names, got 1"),
        (
            {"required": ["age", "bmi"], "forbidden": ["bmi", "age"]},
            "feature 'age' is both required and forbidden",
        ),
        ({"min_coverage": -1}, "'min_coverage' must be a number of rows (int) or a share of them"),
        ({"min_coverage": "5"}, "'min_coverage' must be a number of rows"),
        ({"min_coverage": True}, "'min_coverage' must be a number of rows"),
        ({"min_coverage": float("nan")}, "'min_coverage' must be a number of rows"),
        ({"min_coverage": float("inf")}, "'min_coverage' must be a number of rows"),
        ({"min_coverage": 5.0}, "got 5.0; give a number of rows as an int"),
        ({"min_precision": 1.01}, "'min_precision' must be a number from 0 to 1, got 1.01"),
        ({"min_precision": -0.1}, "'min_precision' must be a number from 0 to 1"),
        ({"min_precision": None}, "'min_precision' must be a number from 0 to 1"),
        ({"max_errors": -1}, "'max_errors' must be a number of rows >= 0 or None, got -1"),
        (
            {"max_errors": float("inf")},
            "'max_errors' must be a number of rows >= 0 or None, got inf",
        ),
        ({"max_errors": False}, "'max_errors' must be a number of rows >= 0 or None, got False"),
        ({"once": 1}, "'once' must be True or False, got 1"),
        ({"missing_conditions": "yes"}, "'missing_conditions' must be True or False, got 'yes'"),
    ],
)
def test_what_no_rule_could_meet_is_refused(given, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Constraints(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"required": ["agee"]}, "'agee', which the table does not have; did you mean 'age'?"),
        ({"forbidden": ["zzz"]}, "'forbidden' names feature 'zzz', which the table does not have."),
        ({"directions": {"zzz": "<"}}, "'directions' names feature 'zzz'"),
        ({"subsets": ["zzz"]}, "'subsets' names feature 'zzz'"),
        (
            {"directions": {"age": "=="}},
            "'directions' of the numeric feature 'age' must be '>=' or '<', got '=='",
        ),
        (
            {"directions": {"sex": "<"}},
            "'directions' of the categorical feature 'sex' must be '==' or '!=', got '<'",
        ),
        ({"subsets": ["age"]}, "'subsets' names feature 'age', which is not categorical"),
        ({"forbidden": ["age", "sex", "bmi"]}, "'forbidden' leaves no feature for the rule"),
    ],
)
def test_what_the_table_cannot_meet_is_refused(given, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Constraints(**given).check_names(NAMES, CATEGORICAL)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"directions": {"age": "<", "sex": "!="}, "required": {"age"}, "forbidden": ("bmi",)},
        {"subsets": ["sex"], "once": True, "missing_conditions": True},
        {"min_coverage": np.int64(3), "min_precision": np.float32(0.5), "max_errors": 0},
        {"min_coverage": Fraction(1, 3), "min_precision": 1, "max_errors": 2.5},
        {"min_coverage": 1.0, "subsets": True},
    ],
)
def test_everything_else_is_accepted(given):
    Constraints(**given).check_names(NAMES, CATEGORICAL)


def test_what_was_given_is_copied():
    directions, required = {"age": "<"}, ["bmi"]
    constraints = Constraints(directions=directions, required=required)
    directions["age"], required[0] = ">=", "age"
    assert constraints.directions == {"age": "<"}
    assert constraints.required == ("bmi",)


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        ({}, False),
        ({"once": True}, False),
        ({"min_coverage": 1}, True),
        ({"min_precision": 0.1}, True),
        ({"max_errors": 0}, True),
    ],
)
def test_limits_on_rows_are_told_from_demands_on_features(given, bounds):
    assert Constraints(**given).bounds_rows is bounds
