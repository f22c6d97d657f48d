"""Clicks on a tree and features put into groups, as values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt import Structure
from opdt.errors import InputError
from opdt.studio.web.panels.grouping import new_name, put
from opdt.studio.web.panels.suggestions import suggested_groups
from opdt.studio.web.panels.tree_edits import (
    MAX_DEPTH,
    places,
    with_group,
    with_split,
    with_target,
    without_split,
)


def leaves(structure: Structure) -> dict[int, bool]:
    return {each.node: each.is_target for each in places(structure) if not each.splits}


@settings(max_examples=100)
@given(data=st.data(), depth=st.integers(1, 3))
def test_whatever_is_clicked_on_a_tree_it_stays_valid(data, depth):
    structure = Structure.free(depth)
    for _ in range(8):
        place = data.draw(st.sampled_from(places(structure)))
        if place.splits and data.draw(st.booleans()):
            structure = with_group(structure, place.node, data.draw(st.sampled_from(["num", "a"])))
        elif place.splits and place.node != 1:
            was = any(
                flag
                for node, flag in leaves(structure).items()
                if f"{node:b}".startswith(f"{place.node:b}")
            )
            structure = without_split(structure, place.node)
            assert leaves(structure)[place.node] is was
        elif not place.splits and place.level < MAX_DEPTH and data.draw(st.booleans()):
            structure = with_split(structure, place.node)
            found = leaves(structure)
            assert found[2 * place.node] is found[2 * place.node + 1] is place.is_target
        elif not place.splits and sum(structure.target) > place.is_target:
            structure = with_target(structure, place.node, not place.is_target)
            assert leaves(structure)[place.node] is not place.is_target
        drawn = places(structure)
        # The deepest branch lies on the last level but one, and leaves stand side by side.
        assert structure.depth == max(each.level for each in drawn)
        assert [p.x for p in drawn if not p.splits] == [
            k + 0.5 for k in range(len(leaves(structure)))
        ]


def test_a_split_that_is_taken_back_leaves_the_tree_as_it_was():
    tree = Structure.tree(split=[1, 0, 1], group=["cat", None, "num"], target=[0, 1, 0, 1])
    for leaf in (2, 6, 7):
        assert without_split(with_split(tree, leaf), leaf) == tree


def test_a_node_that_does_not_split_is_drawn_as_its_only_leaf():
    tree = Structure.tree(split=[1, 0, 1], group=["cat", None, "num"], target=[0, 1, 0, 1])
    assert [(each.node, each.x, each.splits, each.is_target) for each in places(tree)] == [
        (1, 1.25, True, False),
        (2, 0.5, False, True),
        (3, 2.0, True, False),
        (6, 1.5, False, False),
        (7, 2.5, False, True),
    ]


def test_the_root_must_split_and_a_rule_must_end_somewhere():
    with pytest.raises(InputError, match="must split"):
        without_split(Structure.free(1), 1)
    only = with_target(Structure.free(1), 2, False)
    with pytest.raises(InputError, match="at least one target leaf"):
        with_target(only, 3, False)


def test_a_feature_leaves_the_group_from_which_it_was_taken():
    groups = {"a": ("x", "y"), "b": ("y",)}
    assert put(groups, [("x", 0)], 1) == {"a": ("y",), "b": ("y", "x")}
    assert put(groups, [("y", 0)], 1) == {"a": ("x",), "b": ("y",)}
    assert put(groups, [("x", None), ("z", None)], 1) == {"a": ("x", "y"), "b": ("y", "x", "z")}
    assert put(groups, [("y", 0), ("y", 1)], None) == {"a": ("x",), "b": ()}
    assert put(groups, [("x", 0)], 0) == groups


def test_a_new_group_has_a_name_of_its_own():
    assert new_name({}) == "group 1"
    assert new_name({"group 1": (), "group 3": ()}) == "group 2"


def test_features_that_go_together_are_suggested_as_groups():
    random = np.random.default_rng(0)
    one, other, ward = random.normal(size=300), random.normal(size=300), random.integers(0, 3, 300)
    frame = pd.DataFrame(
        {
            "one": one,
            "other": other,
            "minus one": -one + 0.1 * random.normal(size=300),
            "ward": ward.astype(str),
            "block": (ward + 5).astype(str),
        }
    )
    roles = dict.fromkeys(frame, "numeric") | {"ward": "categorical", "block": "categorical"}
    found, threshold = suggested_groups(frame, roles)
    assert sorted(found) == [("one", "minus one"), ("ward", "block")]
    assert threshold == 0.7
    assert suggested_groups(frame[["one", "other"]], {}) == ([], None)
