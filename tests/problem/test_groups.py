from __future__ import annotations

import pickle

import numpy as np
import pytest

from opdt.errors import InputError
from opdt.problem.groups import FeatureGroups

NAMES = ["age", "sex", "bmi", "city"]


def groups_of(groups=None):
    return FeatureGroups.of(NAMES, numeric=[0, 2], categorical=[1, 3], groups=groups)


def test_the_predefined_groups_hold_all_numeric_and_categorical_features():
    groups = groups_of()
    assert groups["all"] == (0, 1, 2, 3)
    assert groups["num"] == (0, 2)
    assert groups["cat"] == (1, 3)
    assert list(groups) == ["all", "num", "cat"]
    assert len(groups) == 3
    assert groups.custom == {}


def test_a_group_holds_ascending_indices_whatever_the_order_given():
    groups = groups_of({"body": ["bmi", "sex", "age"]})
    assert groups["body"] == (0, 1, 2)
    assert groups.custom == {"body": ("age", "sex", "bmi")}


def test_groups_may_overlap():
    groups = groups_of({"a": ["age", "bmi"], "b": ["bmi", "city"]})
    assert groups["a"] == (0, 2)
    assert groups["b"] == (2, 3)
    assert "a" in groups
    assert "c" not in groups


def test_a_group_may_come_as_an_array_of_names():
    assert groups_of({"a": np.array(["bmi", "age"])})["a"] == (0, 2)


@pytest.mark.parametrize(
    ("name", "forced"),
    [
        ("cat", True),
        ("places", True),
        ("num", False),
        ("mixed", False),
        ("all", False),
    ],
)
def test_only_groups_of_categorical_features_alone_are_forced(name, forced):
    groups = groups_of({"places": ["city"], "mixed": ["city", "age"]})
    assert groups.is_forced(name) is forced


def test_all_is_never_forced_and_an_empty_group_neither():
    categorical = FeatureGroups.of(["a", "b"], [], [0, 1], {"both": ["a", "b"]})
    assert not categorical.is_forced("all")
    assert categorical.is_forced("both")
    assert not FeatureGroups.of(["a"], [0], []).is_forced("cat")


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        ({"all": ["age"]}, r"group 'all' is predefined"),
        ({"num": ["age"]}, r"group 'num' is predefined"),
        ({"cat": ["sex"]}, r"group 'cat' is predefined"),
        ({"g": ["agee"]}, r"feature 'agee'.*did you mean 'age'"),
        ({"g": ["zzzzzz"]}, r"the features are 'age', 'sex', 'bmi', 'city'\.$"),
        ({"g": []}, r"group 'g' is empty"),
        ({"g": "age"}, r"group 'g' must be a list of feature names, got 'age'"),
        ({"g": 3}, r"group 'g' must be a list of feature names, got 3"),
        ({"g": {"age": 1}}, r"group 'g' must be a list"),
        ({"g": ["age", "sex", "age"]}, r"group 'g' names the feature 'age' twice"),
        ({"g": [0]}, r"group 'g' must list features by name, got 0 \(int\)"),
        ({"g": [["age"]]}, r"group 'g' must list features by name"),
        ({1: ["age"]}, r"a group name must be a non-empty string, got 1"),
        ({"": ["age"]}, r"a group name must be a non-empty string, got ''"),
        ([("g", ["age"])], r"`groups` must map group names to lists"),
    ],
)
def test_groups_that_mean_nothing_are_refused(groups, match):
    with pytest.raises(InputError, match=match):
        groups_of(groups)


def test_an_unknown_group_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"no group 'bodi'; did you mean 'body'"):
        groups_of({"body": ["bmi"]})["bodi"]
    with pytest.raises(InputError, match=r"no group 'xyz'; the groups are 'all', 'num', 'cat'"):
        groups_of().is_forced("xyz")


def test_an_empty_predefined_group_exists_but_cannot_be_split_on():
    groups = FeatureGroups.of(["age"], [0], [])
    assert groups["cat"] == ()
    with pytest.raises(InputError, match=r"group 'cat' is empty: the table has no categorical col"):
        groups.require("cat")
    with pytest.raises(InputError, match=r"group 'num' is empty: the table has no numeric column"):
        FeatureGroups.of(["sex"], [], [0]).require("num")
    assert groups.require("num") == (0,)


def test_groups_are_values():
    first, second = groups_of({"g": ["age", "bmi"]}), groups_of({"g": ["bmi", "age"]})
    assert first == second
    assert hash(first) == hash(second)
    assert first != groups_of({"g": ["age"]})
    assert pickle.loads(pickle.dumps(first)) == first
