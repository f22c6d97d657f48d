from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.errors import InputError
from opdt.problem.structure import Structure
from problem.structure_strategies import structures


def test_a_free_structure_uses_all_features_everywhere():
    structure = Structure.free(3)
    assert structure.depth == 3
    assert structure.split == (True,) * 7
    assert structure.group == ("all",) * 7
    assert structure.target == (True,) * 8
    assert (structure.n_branch, structure.n_leaves) == (7, 8)


def test_levels_give_every_node_of_a_level_the_same_group():
    structure = Structure.levels("cat", "num", "lab")
    assert structure.group == ("cat", "num", "num", "lab", "lab", "lab", "lab")
    assert structure.is_levels
    assert structure.level_groups == ("cat", "num", "lab")


def test_a_tree_takes_the_arrays_of_the_paper():
    structure = Structure.tree(
        split=[1, 0, 1], group=["cat", None, "num"], target=[False, True, True, False]
    )
    assert structure.depth == 2
    assert structure.split == (True, False, True)
    assert structure.group == ("cat", "all", "num")
    assert structure.target == (False, True, True, False)
    assert structure.target_leaves == (5, 6)
    assert not structure.is_levels
    assert structure.level_groups is None


def test_a_tree_takes_numpy_arrays():
    structure = Structure.tree(
        split=np.array([1, 1, 1]), group=np.array(["cat", "num", "num"]), target=np.ones(4, bool)
    )
    assert structure == Structure.levels("cat", "num")
    assert type(structure.group[0]) is str


def test_without_targets_every_leaf_that_can_hold_rows_is_one():
    # Node 2 does not split: of its leaves 8 to 11 only the rightmost can hold rows.
    structure = Structure.tree(split=[1, 0, 1, 0, 0, 1, 0])
    assert structure.target_leaves == (11, 12, 13, 15)
    assert [leaf for leaf in structure.leaves if structure.holds_rows(leaf)] == [11, 12, 13, 15]
    assert structure.group == ("all",) * 7


def test_a_group_at_a_node_that_does_not_split_says_nothing():
    assert Structure.tree(split=[1, 0, 1], group=["cat", "num", "num"]) == Structure.tree(
        split=[1, 0, 1], group=["cat", None, "num"]
    )


def test_ancestors_run_from_the_root_with_their_directions():
    structure = Structure.free(3)
    assert structure.ancestors(8) == [(1, False), (2, False), (4, False)]
    assert structure.ancestors(13) == [(1, True), (3, False), (6, True)]
    assert structure.ancestors(15) == [(1, True), (3, True), (7, True)]


@given(structures())
def test_following_the_directions_of_its_ancestors_leads_to_the_leaf(structure):
    for leaf in structure.leaves:
        node = 1
        for ancestor, went_right in structure.ancestors(leaf):
            assert ancestor == node
            node = 2 * node + went_right
        assert node == leaf


@pytest.mark.parametrize("leaf", [0, 1, 3, 8])
def test_ancestors_of_what_is_no_leaf_are_refused(leaf):
    with pytest.raises(InputError, match=rf"node {leaf} is no leaf; the leaves are 4 to 7"):
        Structure.free(2).ancestors(leaf)


def test_structures_are_values():
    first, second = Structure.levels("all", "all"), Structure.free(2)
    assert first == second
    assert hash(first) == hash(second)
    assert first != Structure.free(1)
    assert Structure(1, [1], ["all"], [1, 1]) == Structure.free(1)
    assert pickle.loads(pickle.dumps(first)) == first


@given(structures())
def test_the_representation_is_an_expression_for_the_structure(structure):
    name, arguments = repr(structure).removeprefix("Structure.").rstrip(")").split("(", 1)
    if name == "free":
        assert Structure.free(int(arguments)) == structure
    elif name == "levels":
        assert Structure.levels(*json.loads(f"[{arguments}]".replace("'", '"'))) == structure
    else:
        text = "{" + arguments.replace("'", '"').replace("None", "null") + "}"
        for key in ("split", "group", "target"):
            text = text.replace(f"{key}=", f'"{key}":')
        assert Structure.tree(**json.loads(text)) == structure


def test_the_representation_is_short():
    assert repr(Structure.free(2)) == "Structure.free(2)"
    assert repr(Structure.levels("cat", "num")) == "Structure.levels('cat', 'num')"
    assert repr(Structure.tree(split=[1, 0, 1], group=["cat", None, "num"])) == (
        "Structure.tree(split=[1, 0, 1], group=['cat', None, 'num'], target=[0, 1, 1, 1])"
    )


@pytest.mark.parametrize(
    ("depth", "match"),
    [
        (0, r"got 0; a rule needs at least one condition"),
        (-1, r"got -1"),
        (9, r"from 1 to 8, got 9; a deeper rule is neither readable nor provably"),
        (2.0, r"must be an int from 1 to 8, got 2\.0"),
        (True, r"must be an int from 1 to 8, got True"),
        ("2", r"must be an int from 1 to 8, got '2'"),
    ],
)
def test_depths_out_of_range_are_refused_with_the_reason(depth, match):
    with pytest.raises(InputError, match=match):
        Structure.free(depth)
    with pytest.raises(InputError, match=match):
        Structure.of(None, depth)


def test_depth_may_be_a_numpy_integer():
    assert Structure.free(np.int64(3)) == Structure.free(3)


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"split": []}, r"`split` needs 2\*\*depth - 1 entries .* got 0"),
        ({"split": [1, 1]}, r"`split` needs 2\*\*depth - 1 entries .* got 2"),
        ({"split": [1] * 511}, r"depth must be from 1 to 8, got 9"),
        ({"split": "101"}, r"`split` must be a list of 0 and 1, got '101'"),
        ({"split": 1}, r"`split` must be a list of 0 and 1, got 1"),
        ({"split": [1, 2, 1]}, r"`split` must hold 0 or 1, got 2 at position 1"),
        ({"split": [1, 0.0, 1]}, r"`split` must hold 0 or 1, got 0\.0 at position 1"),
        ({"split": [0, 0, 0]}, r"`split` keeps node 1, the root, from splitting"),
        ({"split": [1, 0, 1, 1, 0, 0, 0]}, r"node 4 split under node 2, which does not"),
        (
            {"split": [1, 1, 1], "group": ["all"] * 7},
            r"`group` needs 3 entries at depth 2, one for each branch node, got 7, .* depth 3",
        ),
        ({"split": [1, 1, 1], "group": ["all"] * 4}, r"`group` needs 3 entries .* got 4\.$"),
        ({"split": [1], "group": "all"}, r"`group` must be a list of group names, got 'all'"),
        ({"split": [1], "group": [None]}, r"node 1 needs a group name, got None"),
        ({"split": [1], "group": [""]}, r"node 1 needs a group name, got ''"),
        ({"split": [1], "group": [3]}, r"node 1 needs a group name, got 3"),
        ({"split": [1, 0, 1], "group": ["all", 3, "all"]}, r"node 2 needs a group name, got 3"),
        (
            {"split": [1, 1, 1], "target": [1, 1]},
            r"`target` needs 4 entries at depth 2, one for each leaf, got 2, which fits depth 1",
        ),
        ({"split": [1, 1, 1], "target": [1, 1, 1]}, r"`target` needs 4 entries .* got 3\.$"),
        ({"split": [1, 1, 1], "target": [0, 0, 0, 0]}, r"`target` marks no leaf"),
        ({"split": [1, 1, 1], "target": [0, 0, 0, None]}, r"`target` must hold 0 or 1, got None"),
        (
            {"split": [1, 0, 1], "target": [1, 1, 0, 0]},
            r"marks leaf 4 \(position 0\), which can hold no row: it lies left of node 2",
        ),
        (
            # Node 2 sends its rows right to node 5, which sends them right to leaf 11.
            {"split": [1, 0, 1, 0, 0, 1, 1], "target": [0, 0, 1, 0, 0, 0, 0, 0]},
            r"marks leaf 10 \(position 2\), which can hold no row: it lies left of node 5",
        ),
    ],
)
def test_arrays_that_describe_no_tree_are_refused(arrays, match):
    with pytest.raises(InputError, match=match):
        Structure.tree(**arrays)


@pytest.mark.parametrize("names", [(), ("all",) * 9])
def test_levels_needs_one_to_eight_names(names):
    with pytest.raises(InputError, match=rf"needs 1 to 8 group names, got {len(names)}"):
        Structure.levels(*names)


def test_the_constructor_checks_as_the_others_do():
    with pytest.raises(InputError, match=r"`split` needs 3 entries at depth 2.*fits depth 1"):
        Structure(2, (True,), ("all",), (True,) * 4)


def test_of_takes_every_way_to_say_a_structure():
    assert Structure.of(None) == (Structure.free(2), {})
    assert Structure.of(None, 3) == (Structure.free(3), {})
    assert Structure.of(["cat", "num"]) == (Structure.levels("cat", "num"), {})
    assert Structure.of(("cat",), 1) == (Structure.levels("cat"), {})
    assert Structure.of(Structure.free(1), 1) == (Structure.free(1), {})


@pytest.mark.parametrize("as_path", [str, Path])
def test_of_reads_a_file_with_its_groups(tmp_path, as_path):
    file = tmp_path / "expert.toml"
    file.write_text('opdt_structure = 1\nlevels = ["lab"]\n[groups]\nlab = ["a", "b"]\n')
    assert Structure.of(as_path(file), 1) == (Structure.levels("lab"), {"lab": ("a", "b")})


@pytest.mark.parametrize(
    ("spec", "depth", "match"),
    [
        ("cat", None, r"`structure` 'cat' is read as a path.*for a single level.*\['cat'\]"),
        (Path("tree.yaml"), None, r"'tree.yaml' must end in .toml or .json"),
        (["cat", "num"], 3, r"depth 3 contradicts the structure, which has depth 2"),
        (Structure.free(1), 2, r"depth 2 contradicts the structure, which has depth 1"),
        (7, None, r"`structure` must be a Structure, a list of group names.*got int"),
        ({"cat", "num"}, None, r"got set"),
        ({"levels": ["cat"]}, None, r"got dict"),
        ([], None, r"needs 1 to 8 group names, got 0"),
        (["cat", None], None, r"node 2 needs a group name, got None"),
    ],
)
def test_of_refuses_what_is_no_structure(spec, depth, match):
    with pytest.raises(InputError, match=match):
        Structure.of(spec, depth)


def test_the_drawing_shows_nodes_groups_directions_and_targets():
    assert str(Structure.levels("cat")) == "1 cat\n├─ <  leaf 2 ★\n└─ >= leaf 3 ★"
    structure = Structure.tree(
        split=[1, 0, 1, 0, 0, 0, 1],
        group=["cat", None, "num", None, None, None, "lab"],
        target=[0, 0, 0, 0, 0, 1, 1, 1],
    )
    assert str(structure).splitlines() == [
        "1 cat",
        "├─ <  2 → 5 → leaf 11",
        "└─ >= 3 num",
        "      ├─ <  6 → leaf 13 ★",
        "      └─ >= 7 lab",
        "            ├─ <  leaf 14 ★",
        "            └─ >= leaf 15 ★",
    ]


@given(structures())
def test_the_drawing_has_a_line_for_every_split_and_every_leaf_that_can_hold_rows(structure):
    lines = str(structure).splitlines()
    holding = [leaf for leaf in structure.leaves if structure.holds_rows(leaf)]
    assert len(lines) == sum(structure.split) + len(holding)
    assert sum("★" in line for line in lines) == sum(structure.target)


@given(st.text(min_size=1))
def test_no_group_name_breaks_the_drawing(name):
    assert len(str(Structure.levels(name)).splitlines()) == 3
