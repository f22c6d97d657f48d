from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib import pyplot

from opdt import InputError, OPDTClassifier, Rule, Structure, Table
from opdt.engines.bsccart import BSCCARTEngine
from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.tree import SplitTree
from opdt.plot import split_tree, structure
from opdt.plot.canvas import SHAPES
from opdt.plot.text import count
from opdt.plot.trees import MAX_LEAVES
from opdt.problem import Problem, write_structure
from opdt.solution import Solution, Status
from plot.support import HOSTILE, check_image, clinic, collisions, patches, sheet, texts
from strategies import small_problems

TREE = Structure.tree(split=[1, 0, 1], group=["cat", None, "num"], target=[0, 0, 1, 1])
GROUPS = {"lab": ["glucose", "insulin"], "body": ["age", "bmi", "height", "weight", "skin"]}


def clinic_problem(shape: Structure, w: float = 3) -> Problem:
    return Problem.build(Table.build(*clinic()), structure=shape, w=w)


def nodes(ax: object) -> set[int]:
    """Numbers of the nodes drawn."""
    return {
        int(patch.get_gid().removeprefix("node-"))
        for patch in ax.patches  # type: ignore[attr-defined]
        if (patch.get_gid() or "").startswith("node-")
    }


# -- structures -----------------------------------------------------------------------------


def test_a_structure_looks_as_stored(tmp_path: Path) -> None:
    ax = structure(["lab", "body"], GROUPS, ax=sheet(6, 3.6))
    check_image(ax, "structure-levels", tmp_path)


def test_a_structure_that_is_no_full_tree_looks_as_stored(tmp_path: Path) -> None:
    check_image(structure(TREE, ax=sheet(4.6, 3.6, dark=True)), "structure-tree", tmp_path)


def test_a_structure_shows_its_groups_and_target_leaves() -> None:
    words = texts(structure(["lab", "body"], GROUPS, ax=sheet(6, 3.6)))
    assert words.count("body") == 2
    assert words.count("glucose, insulin") == 1
    assert sum(word.startswith("age, bmi") for word in words) == 2
    assert {f"★ leaf {leaf}" for leaf in (4, 5, 6, 7)} <= set(words)


def test_nodes_that_do_not_split_are_passed() -> None:
    ax = structure(TREE, ax=sheet(4.6, 3.6))
    assert nodes(ax) == {1, 3, 5, 6, 7}
    words = texts(ax)
    assert "leaf 5" in words
    assert "all of node 2" in words
    assert {"★ leaf 6", "★ leaf 7"} <= set(words)


def test_branches_ask_what_their_group_can_answer() -> None:
    table = Table.build(*clinic())
    groups = Problem.build(table, groups={"both": ["age", "ward"]}).groups
    words = texts(structure(["cat", "num"], groups, ax=sheet(6, 3.6)))
    assert {"≠", "=", "<", "≥"} <= set(words)
    assert {"< or ≠", "≥ or ="} <= set(texts(structure(["both"], groups, ax=sheet(6, 3.6))))


def test_a_model_and_a_file_have_a_structure(tmp_path: Path) -> None:
    X, y = clinic()
    frame = np.column_stack([X["age"], X["dose"]])
    model = OPDTClassifier(structure=["first", "num"], groups={"first": ["x0"]}).fit(frame, y)
    write_structure(tmp_path / "shape.toml", Structure.levels("lab", "body"), GROUPS)
    drawn = texts(structure(model, ax=sheet(6, 3.6)))
    assert {"first", "x0", "num"} <= set(drawn)
    assert "glucose, insulin" in texts(structure(tmp_path / "shape.toml", ax=sheet(6, 3.6)))


def test_groups_must_be_groups() -> None:
    with pytest.raises(InputError, match="'groups' must be FeatureGroups or map group names"):
        structure(["all"], ["age"])  # type: ignore[arg-type]


# -- trees with conditions ------------------------------------------------------------------


def test_a_split_tree_looks_as_stored(tmp_path: Path) -> None:
    problem = clinic_problem(Structure.levels("cat", "num"))
    tree = BSCCARTEngine().solve(problem)
    check_image(split_tree(tree, problem, ax=sheet(6.4, 3.8)), "split-tree", tmp_path)


def test_a_split_tree_on_a_dark_ground_looks_as_stored(tmp_path: Path) -> None:
    problem = clinic_problem(Structure.levels("all", "all", "all"))
    tree = BSCCARTEngine().solve(problem)
    check_image(split_tree(tree, problem, ax=sheet(9, 5, dark=True)), "split-tree-dark", tmp_path)


@settings(max_examples=15)
@given(problem=small_problems(options=("subsets", "missing_conditions"), max_depth=3))
def test_nodes_show_the_rows_that_reach_them(problem: Problem) -> None:
    tree: SplitTree = BSCCARTEngine().solve(problem).details
    ax = split_tree(tree, problem, ax=sheet(12, 6))
    words, counted = texts(ax), tree.counts(problem.table)
    leaves = [n for n in nodes(ax) if n > problem.structure.n_branch]
    for leaf in leaves:
        target = problem.structure.target[leaf - problem.structure.n_leaves]
        rows = counted[leaf]
        if not rows.any():
            assert "no rows" in words
            continue
        for number in rows:
            assert count(number) in words
        if target:
            best = max(
                problem.value(tree.leaf_gain(problem, leaf, label))
                for label in problem.objective.labels
            )
            if leaf != tree.leaf:
                assert f"VI {count(best)}" in words
    chosen = problem.value(tree.leaf_gain(problem, tree.leaf, tree.label))
    assert f"★ VI {count(chosen)}" in words
    assert tree.leaf in leaves


def test_the_chosen_leaf_is_the_rule_of_the_solution() -> None:
    problem = clinic_problem(Structure.levels("cat", "num"))
    for engine in (BSCCARTEngine(), ExhaustiveEngine()):
        solution = engine.solve(problem)
        ax = split_tree(solution, problem, ax=sheet(6.4, 3.8))
        assert f"★ VI {count(solution.value)}" in texts(ax)
        right, wrong = solution.covered - solution.errors, solution.errors
        assert {count(right), count(wrong)} <= set(texts(ax))
        assert "VI = rows − 3 × errors" in texts(ax)


def test_the_first_class_may_be_given_so_that_two_pictures_have_the_same_shapes() -> None:
    problem = clinic_problem(Structure.levels("cat", "num"))
    tree: SplitTree = BSCCARTEngine().solve(problem).details
    for label in problem.table.classes.tolist():
        words = texts(split_tree(tree, problem, ax=sheet(6.4, 3.8), first=label))
        assert f"{SHAPES[0]} {label}" in words


def test_a_tree_on_a_table_takes_the_price_that_is_given() -> None:
    problem = clinic_problem(Structure.levels("cat", "num"), w=5)
    tree: SplitTree = BSCCARTEngine().solve(problem).details
    with_problem = texts(split_tree(tree, problem, ax=sheet(6.4, 3.8)))
    assert texts(split_tree(tree, problem.table, w=5, ax=sheet(6.4, 3.8))) == with_problem
    assert texts(split_tree(tree, *clinic(), w=5, ax=sheet(6.4, 3.8))) == with_problem
    assert "VI = rows − 10 × errors" in texts(split_tree(tree, *clinic(), ax=sheet(6.4, 3.8)))


@pytest.mark.parametrize("engine", ["bsccart", "search"])
def test_a_fitted_model_is_drawn_with_its_own_settings(engine: str) -> None:
    X, y = clinic()
    matrix = np.column_stack([X["age"], X["dose"]])
    model = OPDTClassifier(w=4, label="ill", max_depth=2, engine=engine).fit(matrix, y)
    words = texts(split_tree(model, matrix, y, ax=sheet(6.4, 3.8)))
    assert f"★ VI {count(model.value_)}" in words
    assert "VI = rows − 4 × errors" in words


def test_the_tree_of_the_mixed_integer_program_is_found_in_its_details() -> None:
    problem = clinic_problem(Structure.levels("cat", "num"))
    solution = BSCCARTEngine().solve(problem)
    wrapped = replace(solution, details=SimpleNamespace(tree=solution.details))
    expected = texts(split_tree(solution, problem, ax=sheet(6.4, 3.8)))
    assert texts(split_tree(wrapped, problem, ax=sheet(6.4, 3.8))) == expected


def test_a_bare_solution_gets_a_tree_of_its_rule() -> None:
    problem = clinic_problem(Structure.free(2))
    solution = ExhaustiveEngine().solve(problem)
    ax = split_tree(solution, problem.table, w=3, ax=sheet(6.4, 3.8))
    assert f"★ VI {count(solution.value)}" in texts(ax)


def test_large_subtrees_beside_the_rule_are_folded() -> None:
    problem = clinic_problem(Structure.free(6))
    solution = BSCCARTEngine().solve(problem)
    ax = split_tree(solution, problem)
    words = texts(ax)
    assert 2 * MAX_LEAVES > len(nodes(ax)) > 12  # a tree of so many leaves has one node less
    assert any(word.endswith(" leaves") for word in words)
    assert any(word.startswith("best VI ") for word in words)
    assert f"★ VI {count(solution.value)}" in words


def test_all_rows_are_in_the_leaves_and_folded_boxes() -> None:
    X, y = clinic()
    table = Table.build({"dose": X["dose"], "smoker": X["smoker"]}, y)  # nothing is missing
    problem = Problem.build(table, structure=Structure.free(5), w=2)
    tree: SplitTree = BSCCARTEngine().solve(problem).details
    ax = split_tree(tree, problem)
    drawn = nodes(ax)
    parents = {n >> up for n in drawn for up in range(1, n.bit_length())}
    ends = [n for n in drawn if n not in parents]
    rows = tree.node_rows(table)
    assert sorted(np.concatenate([rows[n] for n in ends]).tolist()) == list(range(240))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_no_text_lies_on_another(depth: int) -> None:
    X, y = clinic()
    renamed = {new: X[old] for new, old in zip(HOSTILE, X, strict=False)}
    labels = np.where(y == "ill", "$ill_", "_well, and much more than that, as it happens")
    problem = Problem.build(Table.build(renamed, labels), structure=Structure.free(depth), w=2)
    tree = BSCCARTEngine().solve(problem)
    assert collisions(split_tree(tree, problem)) == []
    assert collisions(structure(Structure.free(depth), problem.groups)) == []
    assert collisions(split_tree(tree, problem, ax=sheet(3.5 + depth, 1.5 + depth))) == []


def test_hostile_names_are_shown_as_they_are() -> None:
    X, y = clinic()
    table = Table.build({"_$x^{2}$%": X["age"]}, np.where(y == "ill", "$ill_", "_well"))
    problem = Problem.build(table, structure=Structure.free(1), w=2)
    words = texts(split_tree(BSCCARTEngine().solve(problem), problem, ax=sheet(5, 3)))
    assert "_$x^{2}$%" in words
    assert "● $ill_" in words or "● _well" in words


def test_what_is_no_tree_is_refused() -> None:
    problem = clinic_problem(Structure.free(2))
    with pytest.raises(InputError, match="'tree' must be a SplitTree, a Solution or a fitted"):
        split_tree(Rule([], "ill"), problem)
    with pytest.raises(InputError, match="this solution has no tree to draw"):
        split_tree(Solution(None, 0.0, 0.0, Status.NO_PATTERN), problem)


def test_pyplot_is_left_alone_when_axes_are_given() -> None:
    problem = clinic_problem(Structure.free(2))
    split_tree(BSCCARTEngine().solve(problem), problem, ax=sheet(6, 4))
    structure(["num"], ax=sheet(6, 4))
    assert pyplot.get_fignums() == []


def test_boxes_lie_apart() -> None:
    problem = clinic_problem(Structure.free(3))
    ax = split_tree(BSCCARTEngine().solve(problem), problem, ax=sheet(8, 5))
    boxes = [p.get_window_extent() for n in nodes(ax) for p in patches(ax, f"node-{n}")]
    assert all(not a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
