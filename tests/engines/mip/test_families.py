"""Every constraint of the paper's model is needed: without it the answer changes, or a point that
the paper excludes becomes feasible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.mip import paper, vectors
from opdt.engines.mip.model import Floats, Model
from opdt.engines.tree import SplitTree
from opdt.problem import CodedCondition, Problem, Structure
from opdt.rules import Op
from opdt.table import Table

Optimum = Callable[[Model], float]
EXACT = 1e-9


def start(
    problem: Problem, *conditions: CodedCondition | None
) -> tuple[Model, paper.Variables, Floats]:
    """The model without Algorithm 1, its variables, and the feasible point of a tree."""
    model, made = paper.formulate(problem, structured=False)
    tree = SplitTree(problem.structure, conditions, problem.structure.target_leaves[-1], 0)
    x = vectors.to_vector(made, model, tree)
    assert model.check(x) < EXACT
    return model, made.variables, x


def assert_only(model: Model, x: Floats, family: str) -> None:
    """The point violates this family and nothing else."""
    broken = {name for name, most in model.violations(x).items() if most > EXACT}
    assert broken == {family}
    assert model.without(family).check(x) < EXACT


# One feature, four alternating rows: the answer is 1; each of these lets the solver cheat.
@pytest.mark.parametrize(
    "family",
    [
        "branch_off_left",
        "leaf_on_off",
        "count_rows",
        "one_leaf_per_row",
        "left_branching",
        "right_branching",
        "single_prediction",
        "count_classes",
        "loss_at_least",
        "best_at_most",
        "one_maximal_leaf",
    ],
)
def test_without_the_constraint_the_optimum_is_too_good(
    family: str, alternating: Problem, optimum: Optimum
) -> None:
    model, _ = paper.formulate(alternating, structured=False)
    assert ExhaustiveEngine().solve(alternating).value == 1
    assert optimum(model) == 1
    assert optimum(model.without(family)) >= 2


def test_without_split_on_off_a_node_adds_features_up(optimum: Optimum) -> None:
    # Class b is where the two coordinates sum to 4 or more: three rows for one feature, four for
    # the sum.
    left = [(0, 0), (1, 0), (0, 1)]
    right = [(0, 4), (4, 0), (2, 2), (3, 3)]
    table = Table.build(np.array(left + right), list("aaabbbb"))
    model, _ = paper.formulate(Problem.build(table, structure=Structure.free(1)))
    assert optimum(model) == 3
    assert optimum(model.without("split_on_off")) == 4


def test_without_tree_a_node_splits_under_one_that_does_not(alternating: Problem) -> None:
    problem = replace(alternating, structure=Structure.free(2))
    model, v, x = start(problem, None, None, None)
    for node in (0, 1):  # the root and its left child stop splitting
        x[v.d[node]] = x[v.b[node]] = 0
        x[v.a[:, node]] = 0
    x[v.l[:2]] = 0
    x[v.c[:, :2]] = 0
    assert x[v.d[2]] == 1
    assert_only(model, x, "tree")


def test_without_threshold_range_a_node_that_does_not_split_has_a_threshold(
    alternating: Problem,
) -> None:
    problem = replace(alternating, structure=Structure.free(2))
    model, v, x = start(problem, None, None, None)
    x[v.d[1]] = 0
    x[v.a[:, 1]] = 0
    x[v.l[0]] = 0
    x[v.c[:, 0]] = 0
    assert model.check(x) < EXACT
    x[v.b[1]] = 0.7
    assert_only(model, x, "threshold_range")


def test_without_branch_on_rightmost_a_leaf_of_a_split_is_inactive(alternating: Problem) -> None:
    model, v, x = start(alternating, None)
    x[v.l[0]] = 0
    x[v.c[:, 0]] = 0
    assert_only(model, x, "branch_on_rightmost")


def test_without_loss_at_most_a_leaf_predicts_a_class_that_is_not_its_commonest() -> None:
    table = Table.build({"x": [0, 0, 0, 1]}, list("aabb"))
    problem = Problem.build(table, structure=Structure.free(1))
    model, v, x = start(problem, CodedCondition(0, Op.GE, 1))
    # The left leaf holds a, a, b: predicting b costs two errors, and the right leaf stays best.
    x[v.c[:, 0]] = [0, 1]
    x[v.loss[0]] = 2
    assert_only(model, x, "loss_at_most")


def test_without_best_at_least_the_best_is_not_the_maximum(alternating: Problem) -> None:
    model, v, x = start(alternating, CodedCondition(0, Op.GE, 3))
    assert x[v.best] == 1
    x[v.best] = 0
    assert_only(model, x, "best_at_least")


def test_every_family_of_the_paper_is_tested_here_or_changes_the_answer() -> None:
    tested = {
        "split_on_off",
        "tree",
        "threshold_range",
        "branch_on_rightmost",
        "loss_at_most",
        "best_at_least",
    }
    marked = test_without_the_constraint_the_optimum_is_too_good.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert {family.__name__ for family in paper.FAMILIES} == tested | set(marked)


def relaxed(model: Model, variables: Floats, low: float, high: float) -> Model:
    lower, upper = model.lower.copy(), model.upper.copy()
    lower[variables], upper[variables] = low, high
    return replace(model, lower=lower, upper=upper)


class TestAlgorithm1:
    """Each line of the Branching Structure Constraints changes the answer."""

    def test_nodes_that_must_not_split_do_not(self, optimum: Optimum) -> None:
        table = Table.build({"x": [0, 1, 2, 3]}, list("abba"))
        structure = Structure.tree(split=[1, 0, 0])
        model, made = paper.formulate(Problem.build(table, structure=structure))
        assert optimum(model) == 1
        assert optimum(relaxed(model, made.variables.d, 0, 1)) == 2

    def test_nodes_use_columns_of_their_group_only(self, optimum: Optimum) -> None:
        table = Table.build({"x": [0, 1, 2, 3], "good": [0, 1, 0, 1]}, list("abab"))
        problem = Problem.build(table, structure=Structure.levels("own"), groups={"own": ["x"]})
        model, made = paper.formulate(problem)
        assert optimum(model) == 1
        assert optimum(relaxed(model, made.variables.a, 0, 1)) == 2

    def test_a_categorical_node_tests_a_level(self, optimum: Optimum) -> None:
        table = Table.build({"c": ["u", "u", "u", "u", "v"]}, list("aaaba"))
        problem = Problem.build(table, structure=Structure.levels("cat"), w=1)
        model, made = paper.formulate(problem)
        assert optimum(model) == 4 - 1  # c == 'u': four rows, one error
        assert optimum(relaxed(model, made.variables.b, 0, 1)) == 5 - 1  # nothing tested

    def test_only_target_leaves_are_scored(self, optimum: Optimum) -> None:
        table = Table.build({"x": [0, 0, 0, 1]}, list("aaab"))
        both = Structure.tree(split=[1])
        right = Structure.tree(split=[1], target=[0, 1])
        assert optimum(paper.formulate(Problem.build(table, structure=both))[0]) == 3
        assert optimum(paper.formulate(Problem.build(table, structure=right))[0]) == 1
