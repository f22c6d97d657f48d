from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given

from opdt.errors import InputError
from opdt.problem.chains import (
    Level,
    compile_chains,
    contains,
    drop_contained,
    leaf_chains,
    merge,
)
from opdt.problem.groups import FeatureGroups
from opdt.problem.structure import Structure
from problem.structure_strategies import structures

GROUPS = FeatureGroups.of(
    ["a", "b", "c", "d"],
    numeric=[0, 1],
    categorical=[2, 3],
    groups={"mixed": ["b", "c"], "levels only": ["d"]},
)
FORCED = {"cat", "levels only"}


def level(group, *, right=True, left=True):
    return Level(group, GROUPS[group], right, left, vacuous=right and group not in FORCED)


def sequences(chains):
    """Return every choice of one direction per level, as (group, went right) in order."""
    return {
        tuple(choice)
        for chain in chains
        for choice in product(
            *(
                [(each.group, right) for right in (False, True) if (each.left, each.right)[right]]
                for each in chain
            )
        )
    }


def sequences_of_leaves(structure):
    return {
        tuple(
            (structure.group[node - 1], went_right)
            for node, went_right in structure.ancestors(leaf)
            if structure.split[node - 1]
        )
        for leaf in structure.target_leaves
    }


def rules(chosen):
    """Return the kinds of rule behind sequences: order lost, what may be left out left out."""
    return {
        frozenset(Counter(step for step, kept in zip(steps, keep, strict=True) if kept).items())
        for steps in chosen
        for keep in product(
            *([True, False] if right and group not in FORCED else [True] for group, right in steps)
        )
    }


def test_one_group_per_level_is_one_chain_with_free_directions():
    assert compile_chains(Structure.levels("cat", "num", "all"), GROUPS) == (
        (level("cat"), level("num"), level("all")),
    )
    assert compile_chains(Structure.free(8), GROUPS) == ((level("all"),) * 8,)


def test_a_level_carries_the_features_of_its_group():
    ((only,),) = compile_chains(Structure.levels("mixed"), GROUPS)
    assert only == Level("mixed", (1, 2), right=True, left=True, vacuous=True)


@pytest.mark.parametrize(
    ("group", "went_right", "vacuous"),
    [
        ("num", True, True),
        ("num", False, False),
        ("all", True, True),
        ("all", False, False),
        ("mixed", True, True),
        ("cat", True, False),
        ("cat", False, False),
        ("levels only", True, False),
    ],
)
def test_a_level_is_vacuous_on_the_right_of_a_group_that_is_not_forced(group, went_right, vacuous):
    structure = Structure.tree(split=[1], group=[group], target=[not went_right, went_right])
    assert compile_chains(structure, GROUPS) == (
        (Level(group, GROUPS[group], right=went_right, left=not went_right, vacuous=vacuous),),
    )


def test_nodes_that_do_not_split_are_no_levels():
    structure = Structure.tree(split=[1, 0, 1], group=["cat", None, "num"])
    assert compile_chains(structure, GROUPS) == (
        (level("cat", right=False),),
        (level("cat", left=False), level("num")),
    )


def test_chains_of_different_groups_stay_apart():
    structure = Structure.tree(split=[1, 1, 1], group=["all", "num", "cat"])
    assert compile_chains(structure, GROUPS) == (
        (level("all", right=False), level("num")),
        (level("all", left=False), level("cat")),
    )


def test_a_chain_that_is_another_in_a_different_order_is_dropped():
    # Leaf 5 is (<, >=), leaf 6 is (>=, <): the same conjunctions.
    structure = Structure.tree(split=[1, 1, 1], target=[0, 1, 1, 0])
    assert compile_chains(structure, GROUPS) == (
        (level("all", right=False), level("all", left=False)),
    )


def test_a_shorter_chain_is_dropped_where_the_rest_of_a_longer_one_is_vacuous():
    # On the right of the root anything passes, so leaf 6 allows all that leaf 5 does.
    structure = Structure.tree(split=[1, 0, 1], group=["num", None, "num"], target=[0, 1, 1, 0])
    assert compile_chains(structure, GROUPS) == (
        (level("num", left=False), level("num", right=False)),
    )
    forced = Structure.tree(split=[1, 0, 1], group=["cat", None, "cat"], target=[0, 1, 1, 0])
    assert len(compile_chains(forced, GROUPS)) == 2


def test_containment_needs_the_same_group_and_every_direction():
    free, right = (level("num"),), (level("num", left=False),)
    assert contains(free, right)
    assert not contains(right, free)
    assert contains(free, free)
    assert not contains((level("all"),), right)
    assert drop_contained([right, free, right]) == (free,)


def test_merging_forgets_duplicates_and_survives_nothing():
    chain = (level("num", left=False),)
    assert merge([chain, chain]) == (chain,)
    assert merge([]) == ()


@given(structures())
def test_there_is_one_chain_for_each_target_leaf_in_order(structure):
    chains = leaf_chains(structure, GROUPS)
    assert len(chains) == len(structure.target_leaves)
    assert sequences(chains) == sequences_of_leaves(structure)


@given(structures())
def test_merged_chains_choose_among_the_same_directions_as_the_leaves(structure):
    assert sequences(merge(leaf_chains(structure, GROUPS))) == sequences_of_leaves(structure)


@given(structures(max_depth=3))
def test_compiled_chains_allow_exactly_the_rules_of_the_leaves(structure):
    compiled = compile_chains(structure, GROUPS)
    assert rules(sequences(compiled)) == rules(sequences_of_leaves(structure))


@given(structures(max_depth=3))
def test_no_two_compiled_chains_merge_and_none_contains_another(structure):
    compiled = compile_chains(structure, GROUPS)
    assert merge(compiled) == compiled
    for i, first in enumerate(compiled):
        for j, second in enumerate(compiled):
            own, others = rules(sequences([first])), rules(sequences([second]))
            assert contains(second, first) == (own <= others) or i == j
            assert i == j or not own <= others


@given(structures())
def test_a_level_is_vacuous_exactly_where_it_allows_the_right_of_an_unforced_group(structure):
    for chain in compile_chains(structure, GROUPS):
        for each in chain:
            assert each.right or each.left
            assert each.vacuous == (each.right and each.group not in FORCED)
            assert each.features == GROUPS[each.group]


@pytest.mark.parametrize("group", ["cot", "lab"])
def test_a_group_that_does_not_exist_is_refused(group):
    with pytest.raises(InputError, match=f"there is no group '{group}'"):
        compile_chains(Structure.levels("num", group), GROUPS)


def test_an_empty_group_is_refused_also_off_the_target_paths():
    numeric = FeatureGroups.of(["a"], [0], [])
    structure = Structure.tree(
        split=[1, 1, 0], group=["num", "cat", None], target=[False, False, False, True]
    )
    with pytest.raises(InputError, match=r"group 'cat' is empty: the table has no categorical"):
        compile_chains(structure, numeric)


def test_an_empty_group_at_a_node_that_does_not_split_does_no_harm():
    numeric = FeatureGroups.of(["a"], [0], [])
    structure = Structure.tree(split=[1, 0, 0], group=["num", "cat", "cat"])
    assert compile_chains(structure, numeric) == (
        (Level("num", (0,), right=True, left=True, vacuous=True),),
    )
