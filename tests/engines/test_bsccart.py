"""BSCCART: the structure is obeyed, the split is CART's, the best target leaf is the rule."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from opdt.engines.bsccart import BSCCARTEngine
from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.tree import SplitTree
from opdt.problem import CodedCondition, Constraints, Problem, Structure
from opdt.rules import Op
from opdt.solution import Budget, Solution, Status, StopReason
from opdt.table import Table
from problem.structure_strategies import structures
from strategies import describe, small_problems


def solve(problem: Problem, budget: Budget | None = None) -> tuple[Solution, SplitTree]:
    solution = BSCCARTEngine().solve(problem, budget)
    assert isinstance(solution.details, SplitTree)
    return solution, solution.details


def check_structure(problem: Problem, tree: SplitTree) -> None:
    """Every node applies a condition of its group, in the direction of a right branch."""
    structure = problem.structure
    assert tree.structure == structure
    for node, condition in enumerate(tree.conditions, start=1):
        group = structure.group[node - 1]
        if condition is not None:
            assert structure.split[node - 1]
            assert condition.feature in problem.groups[group]
            assert condition.op in (Op.GE, Op.EQ, Op.MISSING)
        elif structure.split[node - 1] and problem.groups.is_forced(group):
            features = problem.groups[group]
            assert not any(problem.table.columns[f].n_values for f in features)
    assert tree.leaf in structure.target_leaves
    assert tree.label in problem.objective.labels


# -- on any problem ---------------------------------------------------------------------------


@settings(max_examples=200)
@given(problem=small_problems())
def test_the_value_is_at_most_the_optimum_and_the_bound_at_least(problem: Problem) -> None:
    solution, tree = solve(problem)
    best = ExhaustiveEngine().solve(problem)
    assert solution.value <= best.value <= solution.bound, describe(problem)
    check_structure(problem, tree)
    if solution.rule is not None:
        rule = tree.rule(problem)
        assert rule is not None
        assert problem.lift(rule) == solution.rule


@given(problem=small_problems(gains=True, options=()))
def test_rows_may_have_gains_of_their_own(problem: Problem) -> None:
    solution, tree = solve(problem)
    assert solution.value <= ExhaustiveEngine().solve(problem).value <= solution.bound
    check_structure(problem, tree)


@settings(max_examples=60)
@given(structure=structures(max_depth=4), seed=st.integers(0, 2**32 - 1))
def test_any_structure_is_obeyed_and_all_rows_reach_a_leaf(structure: Structure, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = {
        "a": rng.integers(0, 6, 40),
        "b": rng.normal(size=40),
        "c": rng.choice(["x", "y", "z"], 40),
        "d": rng.choice(["no", "yes"], 40),
    }
    table = Table.build(data, rng.choice(["p", "q", "r"], 40))
    groups = {"mixed": ["b", "c"], "levels only": ["d"]}
    problem = Problem.build(table, structure=structure, groups=groups, w=2)
    solution, tree = solve(problem)
    check_structure(problem, tree)
    counts = tree.counts(table)
    assert sum(counts[leaf].sum() for leaf in structure.leaves) == 40
    leaf, label = tree.best_leaf(problem)
    assert solution.value == max(0, problem.value(tree.leaf_gain(problem, leaf, label)))


# -- the split is CART's ----------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(depth=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_without_constraints_the_leaves_part_the_rows_as_cart_does(depth: int, seed: int) -> None:
    # Weights break ties, which scikit-learn would break at random; multiples of 2**-20 add exactly.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=60) > 1).astype(int)
    y[:2] = 0, 1
    weights = rng.integers(2**20, 2**21, 60) / 2**20
    table = Table.build(X, y, sample_weight=weights)
    _, tree = solve(Problem.build(table, structure=Structure.free(depth)))
    cart = DecisionTreeClassifier(max_depth=depth, criterion="gini", random_state=0)
    cart.fit(X, y, sample_weight=weights)
    pairs = set(zip(tree.route(table).tolist(), cart.apply(X).tolist(), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_root_is_split_as_purely_as_by_cart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(30, 3))
    y = np.append([0, 1, 2], rng.integers(0, 3, 27))
    table = Table.build(X, y, warn=False)
    _, tree = solve(Problem.build(table, structure=Structure.free(1)))
    cart = DecisionTreeClassifier(max_depth=1, criterion="gini", random_state=0).fit(X, y)
    assert np.isclose(gini(y, tree.route(table)), gini(y, cart.apply(X)))


def gini(y: np.ndarray, leaves: np.ndarray) -> float:
    total = 0.0
    for leaf in np.unique(leaves):
        inside = y[leaves == leaf]
        shares = np.bincount(inside) / len(inside)
        total += len(inside) * (1 - (shares**2).sum())
    return total


def test_a_threshold_lies_halfway_between_the_values_of_the_node() -> None:
    # Node 3 (b >= 0.5) holds a = 0 and 10; the cut at 5 also parts 4 from 6, which went left.
    table = Table.build({"a": [0, 10, 4, 6], "b": [1, 1, 0, 0]}, ["p", "q", "r", "r"])
    structure = Structure.tree(split=[1, 0, 1], group=["b", None, "a"])
    problem = Problem.build(table, structure=structure, groups={"a": ["a"], "b": ["b"]})
    _, tree = solve(problem)
    assert tree.conditions[2] == CodedCondition(0, Op.GE, 2)  # values 0, 4 | 6, 10


def test_one_level_is_split_from_the_rest() -> None:
    table = Table.build({"c": ["u", "v", "w", "v"]}, ["p", "q", "p", "q"])
    solution, tree = solve(Problem.build(table, structure=Structure.levels("cat")))
    assert tree.conditions == (CodedCondition(0, Op.EQ, 1),)
    assert solution.value == 2


def test_rows_with_missing_values_count_as_impure() -> None:
    # Both leave pure leaves, but "few" loses four rows.
    table = Table.build(
        {"few": [1, None, None, None, None, 2], "all": [1, 1, 1, 2, 2, 2]}, list("pppqqq")
    )
    _, tree = solve(Problem.build(table, structure=Structure.free(1)))
    assert tree.conditions[0] == CodedCondition(1, Op.GE, 1)


def test_a_missing_value_is_split_on_where_that_is_allowed() -> None:
    table = Table.build({"x": [1, 2, None, None]}, list("ppqq"))
    problem = Problem.build(
        table, structure=Structure.free(1), constraints=Constraints(missing_conditions=True)
    )
    solution, tree = solve(problem)
    assert tree.conditions == (CodedCondition(0, Op.MISSING),)
    assert solution.value == 2


# -- nodes with nothing to part ---------------------------------------------------------------


def test_a_pure_node_lets_every_row_pass_right() -> None:
    table = Table.build({"x": [1, 2, 3, 4]}, list("ppqq"))
    _, tree = solve(Problem.build(table, structure=Structure.free(2)))
    assert tree.conditions == (CodedCondition(0, Op.GE, 2), None, None)


def test_a_pure_node_of_a_forced_group_keeps_most_rows_together() -> None:
    table = Table.build({"x": [1, 2, 3, 4, 5], "c": list("vvuuw")}, list("qqppp"))
    problem = Problem.build(table, structure=Structure.levels("num", "cat"))
    solution, tree = solve(problem)
    # Of the rows 3, 4, 5 (u, u, w) the level v parts none, and v is all that 1 and 2 have.
    assert tree.conditions[1:] == (CodedCondition(1, Op.EQ, 0), CodedCondition(1, Op.EQ, 1))
    assert solution.value == 3


def test_a_node_that_does_not_split_sends_every_row_right() -> None:
    structure = Structure.tree(split=[1, 0, 1], group=["all", None, "all"])
    table = Table.build({"x": [1, 2, 3, 4, 5, 6]}, list("pqpqpq"))
    _, tree = solve(Problem.build(table, structure=structure, w=1))
    assert tree.conditions[1] is None
    assert tree.counts(table)[4].sum() == 0


# -- which leaf is the rule -------------------------------------------------------------------


def test_only_target_leaves_hold_the_rule() -> None:
    table = Table.build({"x": [1, 2, 3, 4, 5]}, list("ppqqq"))
    structure = Structure.tree(split=[1], target=[1, 0])
    solution, _ = solve(Problem.build(table, structure=structure))
    assert str(solution.rule) == "IF x < 2.5 THEN p"


def test_a_leaf_that_breaks_a_constraint_yields_to_the_best_that_does_not() -> None:
    table = Table.build({"x": [1, 2, 3, 4, 5]}, list("ppqqq"))
    structure = Structure.free(1)
    demands = Constraints(directions={"x": "<"})
    solution, _ = solve(Problem.build(table, structure=structure, constraints=demands))
    assert str(solution.rule) == "IF x < 2.5 THEN p"
    solution, _ = solve(Problem.build(table, structure=structure, label="p"))
    assert str(solution.rule) == "IF x < 2.5 THEN p"


def test_a_forbidden_feature_is_never_split_on() -> None:
    table = Table.build({"x": [1, 2, 3, 4], "y": [1, 1, 2, 1]}, list("ppqq"))
    demands = Constraints(forbidden=["x"])
    _, tree = solve(Problem.build(table, structure=Structure.free(2), constraints=demands))
    assert {c.feature for c in tree.conditions if c is not None} == {1}


def test_a_feature_is_split_on_once_where_that_is_demanded() -> None:
    table = Table.build({"x": [1, 2, 3, 4], "y": [1, 2, 1, 2]}, list("pqpq"))
    demands = Constraints(once=True)
    problem = Problem.build(table, structure=Structure.free(2), w=1, constraints=demands)
    _, tree = solve(problem)
    root, *below = tree.conditions
    assert root is not None
    assert root.feature not in {c.feature for c in below if c is not None}


def test_the_tree_is_returned_even_if_no_leaf_gains() -> None:
    table = Table.build({"c": ["u", "u", "v", "v"]}, list("pqpq"))
    problem = Problem.build(table, structure=Structure.levels("cat"))
    solution, tree = solve(problem)
    assert solution.rule is None
    assert solution.value == 0
    assert solution.status is Status.FEASIBLE
    # One row right and one wrong in each leaf: 2 - 10.
    assert problem.value(tree.leaf_gain(problem, tree.leaf, tree.label)) == -8


def test_a_perfect_leaf_is_proven_by_the_bound() -> None:
    table = Table.build({"x": [1, 2, 3, 4, 5]}, list("ppqqq"))
    problem = Problem.build(table)
    assert problem.value(problem.ceiling) == 3
    solution, _ = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert [point.value for point in solution.trace] == [3]


# -- limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(time_limit=0), StopReason.TIME),
        (Budget(nodes=0), StopReason.NODES),
    ],
)
def test_a_limit_leaves_a_valid_tree(budget: Budget, reason: StopReason) -> None:
    table = Table.build({"x": [1, 2, 3, 4], "c": list("uvuv")}, list("ppqq"))
    problem = Problem.build(table, structure=Structure.levels("num", "cat"))
    solution, tree = solve(problem, budget)
    assert solution.stopped_by is reason
    check_structure(problem, tree)


def test_the_cancel_flag_stops_the_engine() -> None:
    cancel = threading.Event()
    cancel.set()
    solution, _ = solve(Problem.build(Table.build({"x": [1, 2]}, [0, 1])), Budget(cancel=cancel))
    assert solution.stopped_by is StopReason.CANCELLED


def test_engines_of_equal_settings_are_equal() -> None:
    assert BSCCARTEngine() == BSCCARTEngine()
