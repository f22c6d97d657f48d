"""SplitTree: routing, leaves, drawing, and completing a rule to a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.tree import SplitTree, opposite
from opdt.errors import InputError
from opdt.problem import CodedCondition, CodedRule, Problem, Structure
from opdt.rules import Op
from opdt.table import Kind, Table
from strategies import OPTIONS, describe, small_problems

# Two subsets may spell a `==` that no level has; such rules are not completed to trees.
NO_SUBSETS = tuple(option for option in OPTIONS if option != "subsets")


def clinic() -> Table:
    return Table.build(
        {
            "age": [20, 30, 40, 50, 60, 70],
            "smoker": ["no", "yes", "no", "yes", "no", "yes"],
        },
        ["well", "well", "well", "ill", "ill", "ill"],
    )


@st.composite
def trees(draw: st.DrawFn) -> tuple[Problem, SplitTree]:
    """Any tree of a small problem: at each splitting node any condition, or none if allowed."""
    problem = draw(small_problems(options=NO_SUBSETS))
    structure, table = problem.structure, problem.table
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="tree"))
    conditions: list[CodedCondition | None] = []
    for splits, group in zip(structure.split, structure.group, strict=True):
        menu: list[CodedCondition | None] = [None] if not splits else []
        if splits:
            menu = [
                CodedCondition(f, Op.GE if table.columns[f].kind is Kind.NUMERIC else Op.EQ, code)
                for f in problem.groups[group]
                for code in range(table.columns[f].kind is Kind.NUMERIC, table.columns[f].n_values)
            ]
            if not problem.groups.is_forced(group) or not menu:
                menu.append(None)
        conditions.append(menu[int(rng.integers(len(menu)))])
    leaf = int(rng.choice(structure.target_leaves))
    label = int(rng.choice(problem.objective.labels))
    return problem, SplitTree(structure, tuple(conditions), leaf, label)


# -- where rows go ----------------------------------------------------------------------------


def test_a_row_goes_right_where_the_condition_holds_and_left_where_it_does_not() -> None:
    tree = SplitTree(
        Structure.free(2),
        (CodedCondition(0, Op.GE, 3), CodedCondition(1, Op.EQ, 1), None),
        leaf=4,
        label=1,
    )
    # 20, 30, 40 go left; of these 30 smokes; the old all pass node 3.
    assert tree.route(clinic()).tolist() == [4, 5, 4, 7, 7, 7]
    assert tree.node_rows(clinic())[2].tolist() == [0, 1, 2]


def test_a_missing_value_stops_a_row_but_not_at_a_node_without_condition() -> None:
    table = Table.build({"a": [1, None, 3], "b": [1, 2, None]}, [0, 1, 1])
    structure = Structure.free(2)
    on_a = SplitTree(structure, (CodedCondition(0, Op.GE, 1), None, None), 7, 1)
    assert on_a.route(table).tolist() == [5, 0, 7]
    nothing = SplitTree(structure, (None, None, None), 7, 1)
    assert nothing.route(table).tolist() == [7, 7, 7]


@given(trees())
def test_rows_of_the_children_are_the_rows_of_the_node_that_are_not_missing(
    drawn: tuple[Problem, SplitTree],
) -> None:
    problem, tree = drawn
    rows = tree.node_rows(problem.table)
    for node, condition in enumerate(tree.conditions, start=1):
        below = np.sort(np.concatenate([rows[2 * node], rows[2 * node + 1]]))
        if condition is None:
            expected = rows[node]
        else:
            codes = problem.table.columns[condition.feature].codes[rows[node]]
            expected = rows[node][codes >= 0]
        assert below.tolist() == expected.tolist()


@given(trees())
def test_counts_of_the_leaves_add_up_to_all_rows_that_are_not_stopped(
    drawn: tuple[Problem, SplitTree],
) -> None:
    problem, tree = drawn
    table = problem.table
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    routed = tree.route(table) > 0
    if not any(column.has_missing for column in table.columns):
        assert routed.all()
    counts = tree.counts(table)
    total = sum(counts[leaf] for leaf in tree.structure.leaves)
    expected = [weights[routed & (table.labels == k)].sum() for k in range(len(table.classes))]
    assert np.allclose(total, expected)


@given(trees())
def test_the_rule_of_a_leaf_covers_exactly_the_rows_routed_there(
    drawn: tuple[Problem, SplitTree],
) -> None:
    problem, tree = drawn
    leaves = tree.route(problem.table)
    for leaf in tree.structure.leaves:
        rule = tree.rule_at(problem.table, leaf, 0)
        covers = np.zeros(problem.table.n_rows, bool) if rule is None else problem.cover(rule[0])
        assert covers.tolist() == (leaves == leaf).tolist(), describe(problem)


# -- what leaves are worth --------------------------------------------------------------------


@given(trees())
def test_the_best_leaf_is_a_target_and_no_target_gains_more(
    drawn: tuple[Problem, SplitTree],
) -> None:
    problem, tree = drawn
    leaf, label = tree.best_leaf(problem)
    gains = {
        (each, k): tree.leaf_gain(problem, each, k)
        for each in problem.structure.target_leaves
        for k in problem.objective.labels
    }
    assert gains[leaf, label] == max(gains.values())
    assert (leaf, label) == min(key for key, gain in gains.items() if gain == max(gains.values()))


def test_a_leaf_gains_its_rows_less_the_price_of_its_errors() -> None:
    problem = Problem.build(clinic(), structure=Structure.free(1), w=10)
    tree = SplitTree(problem.structure, (CodedCondition(0, Op.GE, 2),), 3, 0)
    # From 40 on: three ill and one well, 4 - 10 * 1 for "ill" (code 0), 4 - 10 * 3 for "well".
    assert problem.value(tree.leaf_gain(problem, 3, 0)) == -6
    assert problem.value(tree.leaf_gain(problem, 3, 1)) == -26
    assert tree.best_leaf(problem) == (2, 1)


def test_a_leaf_left_of_a_node_without_condition_has_no_rule() -> None:
    problem = Problem.build(clinic(), structure=Structure.free(1))
    assert SplitTree(problem.structure, (None,), 2, 0).rule(problem) is None
    assert SplitTree(problem.structure, (None,), 3, 0).rule(problem) == CodedRule((), 0)


def test_the_rule_is_simplified() -> None:
    problem = Problem.build(clinic())
    tree = SplitTree(
        problem.structure, (CodedCondition(0, Op.GE, 1), None, CodedCondition(0, Op.GE, 3)), 7, 0
    )
    assert tree.rule(problem) == CodedRule((CodedCondition(0, Op.GE, 3),), 0)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (CodedCondition(0, Op.GE, 2), CodedCondition(0, Op.LT, 2)),
        (CodedCondition(1, Op.EQ, 0), CodedCondition(1, Op.NE, 0)),
        (CodedCondition(1, Op.MISSING), CodedCondition(1, Op.PRESENT)),
        (CodedCondition(1, Op.IN, -1, (0, 2)), CodedCondition(1, Op.IN, -1, (1, 3))),
    ],
)
def test_the_left_branch_negates(condition: CodedCondition, expected: CodedCondition) -> None:
    table = Table.build({"x": [1, 2, 3, 4], "c": ["a", "b", "c", "d"]}, [0, 1, 0, 1], warn=False)
    assert opposite(condition, table) == expected
    assert opposite(expected, table) == condition


# -- completing a rule ------------------------------------------------------------------------


@settings(max_examples=150)
@given(problem=small_problems(options=NO_SUBSETS))
def test_every_optimal_rule_has_a_tree_around_it(problem: Problem) -> None:
    solution = ExhaustiveEngine().solve(problem)
    assume(solution.rule is not None)
    assert solution.rule is not None
    rule = problem.lower(solution.rule)
    tree = SplitTree.around(problem, rule)
    assert tree is not None, describe(problem)
    assert tree.leaf in problem.structure.target_leaves
    assert tree.rule(problem) == rule, describe(problem)
    for node, condition in enumerate(tree.conditions, start=1):
        group = problem.structure.group[node - 1]
        if condition is not None:
            assert condition.feature in problem.groups[group]
        elif problem.structure.split[node - 1] and problem.groups.is_forced(group):
            features = problem.groups[group]
            assert not any(problem.table.columns[f].n_values for f in features)


def test_nodes_off_the_path_let_rows_pass_unless_their_group_is_forced() -> None:
    structure = Structure.tree(split=[1, 1, 1], group=["num", "cat", "num"])
    problem = Problem.build(clinic(), structure=structure)
    rule = CodedRule((CodedCondition(0, Op.GE, 3),), 0)
    tree = SplitTree.around(problem, rule)
    assert tree is not None
    # Leaf 6 is the first that admits it: right of the root, left of node 3 which must then test
    # something that the rule implies, and nothing below 50 does. So leaf 7.
    assert tree.leaf == 7
    assert tree.conditions == (CodedCondition(0, Op.GE, 3), CodedCondition(1, Op.EQ, 0), None)


def test_a_rule_outside_the_structure_has_no_tree() -> None:
    problem = Problem.build(clinic(), structure=Structure.levels("num"))
    assert SplitTree.around(problem, CodedRule((CodedCondition(1, Op.EQ, 0),), 0)) is None
    two = (CodedCondition(0, Op.GE, 1), CodedCondition(0, Op.LT, 4))
    assert SplitTree.around(problem, CodedRule(two, 0)) is None


# -- for readers ------------------------------------------------------------------------------


def test_the_drawing_shows_conditions_groups_rows_per_class_and_vi() -> None:
    problem = Problem.build(clinic(), structure=Structure.levels("num", "cat"))
    tree = SplitTree(
        problem.structure,
        (CodedCondition(0, Op.GE, 2), CodedCondition(1, Op.EQ, 0), CodedCondition(1, Op.EQ, 1)),
        leaf=7,
        label=0,
    )
    assert tree.draw(problem).splitlines() == [
        "                               ill  well  VI",
        "1 [num]                          3     3",
        "├─ age < 35: 2 [cat]             0     2",
        "│  ├─ smoker != 'no': leaf 4     0     1   1",
        "│  └─ smoker == 'no': leaf 5     0     1   1",
        "└─ age >= 35: 3 [cat]            3     1",
        "   ├─ smoker != 'yes': leaf 6    1     1  -8",
        "   └─ smoker == 'yes': leaf 7    2     0   2  ★ ill",
    ]


def test_the_drawing_passes_through_nodes_where_nothing_happens() -> None:
    structure = Structure.tree(split=[1, 0, 1], group=["num", None, "num"])
    problem = Problem.build(clinic(), structure=structure)
    tree = SplitTree(structure, (CodedCondition(0, Op.GE, 3), None, None), 7, 0)
    assert tree.draw(problem).splitlines() == [
        "                          ill  well  VI",
        "1 [num]                     3     3",
        "├─ age < 45: 2 → leaf 5     0     3   3",
        "└─ age >= 45: 3 → leaf 7    3     0   3  ★ ill",
    ]


def test_the_drawing_never_hides_the_chosen_leaf() -> None:
    problem = Problem.build(clinic(), structure=Structure.free(1))
    drawn = SplitTree(problem.structure, (None,), 2, 0).draw(problem).splitlines()
    assert drawn[2:] == [
        "├─ no row: leaf 2       0     0    0  ★ ill",
        "└─ every row: leaf 3    3     3  -24",
    ]


def test_walking_visits_every_node_once_and_marks_the_chosen_leaf() -> None:
    problem = Problem.build(clinic(), structure=Structure.levels("num", "cat"))
    tree = SplitTree(
        problem.structure,
        (CodedCondition(0, Op.GE, 2), CodedCondition(1, Op.EQ, 0), CodedCondition(1, Op.EQ, 1)),
        leaf=7,
        label=0,
    )
    nodes = list(tree.walk(problem))
    assert [record.node for record in nodes] == [1, 2, 3, 4, 5, 6, 7]
    assert [record.depth for record in nodes] == [0, 1, 1, 2, 2, 2, 2]
    assert [record.group for record in nodes] == ["num", "cat", "cat", None, None, None, None]
    assert str(nodes[0].condition) == "age >= 35"
    assert nodes[2].counts == (3.0, 1.0)
    assert [record.value for record in nodes[3:]] == [1, 1, -8, 2]
    assert [record.node for record in nodes if record.chosen] == [7]
    assert nodes[6].label == "ill"
    assert not nodes[0].is_leaf
    assert nodes[6].is_leaf


def test_counts_are_weighted() -> None:
    table = Table.build({"x": [1, 2, 3]}, [0, 1, 1], sample_weight=[0.1, 0.2, 0.1])
    problem = Problem.build(table, structure=Structure.free(1))
    tree = SplitTree(problem.structure, (CodedCondition(0, Op.GE, 1),), 3, 1)
    assert "0.3  0.3  ★ 1" in tree.draw(problem)


# -- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "leaf", "message"),
    [
        ((None,), 4, "3 branch nodes, got 1"),
        ((None, None, None), 3, "3 is no leaf"),
        ((None, CodedCondition(0, Op.GE, 1), None), 4, "node 2, which does not split"),
    ],
)
def test_a_tree_that_contradicts_its_structure_is_refused(
    conditions: Any, leaf: int, message: str
) -> None:
    structure = Structure.tree(split=[1, 0, 1])
    with pytest.raises(InputError, match=message):
        SplitTree(structure, conditions, leaf, 0)
