"""Trees: the shape a rule may take, and a whole tree of which one leaf is the rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opdt.engines.tree import SplitTree, TreeNode, opposite
from opdt.errors import InputError
from opdt.objectives.gains import volume_impurity
from opdt.plot.canvas import MAX_CLASSES, SHAPES, Theme, axes_for, blank, theme_of
from opdt.plot.layout import NodeBox, NodeLine, class_counts, draw_tree, figure_size
from opdt.plot.rows import verdict_of
from opdt.plot.text import (
    and_more,
    asks,
    class_text,
    count,
    rows_text,
    shorten,
    shown,
    width_of,
    wrap,
)
from opdt.problem import FeatureGroups, Problem, Structure, VolumeImpurity
from opdt.problem.arguments import resolve_constraints, resolve_structure, resolve_table
from opdt.problem.groups import ALL, CATEGORICAL, NUMERIC
from opdt.problem.lifting import class_code, lift_condition
from opdt.rules import Rule
from opdt.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Lines = Callable[[float, float, Theme], list[NodeLine]]

STAR = "★"
_EDGES = {NUMERIC: ("<", "≥"), CATEGORICAL: ("≠", "=")}
_ANY_EDGES = ("< or ≠", "≥ or =")
# Subtrees beside the rule's path are folded until no more leaves than this are drawn.
MAX_LEAVES = 16


def structure(
    structure: Any,
    groups: FeatureGroups | Mapping[str, Sequence[str]] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the tree of a structure: which group of features each node may use.

    Nodes carry the paper's numbers, breadth first from 1. The left branch is `<` (or `≠`), the
    right one `≥` (or `=`). A star marks the leaves that may hold the rule.

    Parameters
    ----------
    structure : Structure, sequence of group names, path of a structure file, or fitted model
    groups : FeatureGroups or mapping of group name to features, optional
        The features of each group are listed where they are known.
    ax : matplotlib Axes, optional
        Where to draw; a new figure of a fitting size if left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = structure(["lab", "body"], {"lab": ["glucose"], "body": ["age", "bmi"]})
    """
    if hasattr(structure, "solution_"):
        groups = structure.groups if groups is None else groups
        shape, file_groups = resolve_structure(structure.structure, structure.max_depth)
    else:
        shape, file_groups = resolve_structure(structure)
    known = _members(groups, file_groups)
    root = _structure_box(shape, known, 1)
    ax = axes_for(ax, *figure_size(root), sheet=True)
    theme = theme_of(ax)
    sheet = blank(ax)
    star = f"{STAR} leaf that may hold the rule"
    draw_tree(ax, root, theme, sheet, [(star, theme.rule)])
    return ax


def _members(
    groups: FeatureGroups | Mapping[str, Any] | None, more: Mapping[str, Any]
) -> dict[str, tuple[tuple[str, ...], tuple[str, str]]]:
    """The features of each known group, and what its branches ask."""
    out: dict[str, tuple[tuple[str, ...], tuple[str, str]]] = {
        name: ((), edges) for name, edges in _EDGES.items()
    }
    if isinstance(groups, FeatureGroups):
        for name, features in groups.members:
            kinds = {feature in groups.categorical for feature in features}
            edges = _EDGES[CATEGORICAL if kinds == {True} else NUMERIC]
            names = tuple(groups.names[feature] for feature in features)
            out[name] = names, edges if len(kinds) == 1 else _ANY_EDGES
        groups = None
    elif groups is not None and not isinstance(groups, Mapping):
        raise InputError(
            "'groups' must be FeatureGroups or map group names to lists of features, "
            f"got {type(groups).__name__}."
        )
    for name, features in {**more, **(groups or {})}.items():
        out[name] = tuple(map(str, features)), _ANY_EDGES
    return out


def _structure_box(shape: Structure, known: Mapping[str, Any], node: int) -> NodeBox:
    passed = node
    while node <= shape.n_branch and not shape.split[node - 1]:
        node = 2 * node + 1
    way = f"{passed} → {node}" if passed != node else str(node)
    if node > shape.n_branch:
        target = shape.target[node - shape.n_leaves]
        texts = [f"{STAR} leaf {node}" if target else f"leaf {node}"]
        if passed != node:
            texts.append(f"all of node {passed}")

        def leaf_lines(room: float, size: float, _: Theme) -> list[NodeLine]:
            first = NodeLine.of(
                shorten(texts[0], room, size), weight="bold" if target else "normal"
            )
            return [first, *(NodeLine.of(shorten(t, room, size), soft=True) for t in texts[1:])]

        return NodeBox(node, leaf_lines, chosen=target, pale=not target)
    name = shape.group[node - 1]
    features, edges = known.get(name, ((), _ANY_EDGES))

    def lines(room: float, size: float, _: Theme) -> list[NodeLine]:
        title = wrap(shown(name), room, size, 2, "bold")
        out = [
            NodeLine.of(f"node {way}", soft=True),
            *(NodeLine.of(t, weight="bold") for t in title),
        ]
        if features:
            out.append(NodeLine.of(and_more(features, room, size), soft=True))
        elif name == ALL:
            out.append(NodeLine.of(shorten("every feature", room, size), soft=True))
        return out

    left, right = (_structure_box(shape, known, child) for child in (2 * node, 2 * node + 1))
    return NodeBox(node, lines, left, right, edges)


def split_tree(
    tree: Any,
    X: Any,
    y: Any = None,
    *,
    ax: Axes | None = None,
    w: float | None = None,
    first: Any = None,
) -> Axes:
    """Draw a tree with its conditions, rows and VI; the rule's leaf and the way to it stand out.

    A node shows the feature it splits on, its rows and how many are of each class; a leaf shows
    the greatest VI that a rule may have there. Nodes that let every row pass are left out, and
    large subtrees beside the rule's path are folded into one box.

    Parameters
    ----------
    tree : SplitTree, Solution or fitted model
        A `SplitTree`, such as `Solution.details` of BSCCART or `Solution.details.tree` of the
        MIP; or a solution or model of any engine, whose rule then gets a tree of its own.
    X : Problem, Table, or data
        The rows to count. Data (frame, mapping, array, path) need labels in `y`.
    y : array-like of shape (n_rows,), or str, optional
    ax : matplotlib Axes, optional
    w : float, optional
        The price of one error; that of the problem or the model, or 10.
    first : class, optional
        The class with the first shape and colour; that of the rule if left out. Pictures that
        are looked at together have the same shapes where they have the same first class.

    Returns
    -------
    matplotlib Axes
    """
    problem = _problem(tree, X, y, w)
    found = _tree(tree, problem)
    view = _View.of(found, problem, None if first is None else class_code(problem.table, first))
    root = view.box(1)
    ax = axes_for(ax, *figure_size(root), sheet=True)
    theme = theme_of(ax)
    key = [
        (f"{SHAPES[at]} {text}", colour)
        for at, (text, colour) in enumerate(zip(view.class_names, theme.classes, strict=False))
    ]
    if isinstance(problem.objective, VolumeImpurity):
        price = count(float(problem.objective.w))
        key.append((f"VI = rows − {price} × errors", theme.soft))
    verdict = verdict_of(tree)
    key += [(verdict, theme.ink)] if verdict else []
    draw_tree(ax, root, theme, blank(ax), key)
    return ax


def _problem(tree: Any, X: Any, y: Any, w: float | None) -> Problem:
    """The problem whose rows are counted and whose VI is shown."""
    if isinstance(X, Problem):
        return X
    table = resolve_table(X, y, None, None)
    fitted = hasattr(tree, "solution_")
    price = getattr(tree, "w", 10.0) if w is None else w
    if fitted:
        shape, groups = resolve_structure(tree.structure, tree.max_depth)
        return Problem.build(
            table,
            structure=shape,
            groups={**groups, **(tree.groups or {})},
            w=price,
            label=tree.label,
            constraints=resolve_constraints(tree.constraints),
        )
    if isinstance(tree, SplitTree):
        shape = tree.structure
    else:
        rule = getattr(tree, "rule", None)
        shape = Structure.free(max(1, len(rule)) if isinstance(rule, Rule) else 1)
    objective = volume_impurity(table.labels, len(table.classes), price, None, table.weights)
    features = FeatureGroups.of(table.names, table.numeric, table.categorical)
    return Problem(table, shape, features, objective)


def _tree(source: Any, problem: Problem) -> SplitTree:
    """The tree that is meant: the one given, that of a solution, or one made for its rule."""
    solution = getattr(source, "solution_", source)
    if isinstance(solution, Solution):
        details = solution.details
        tree = getattr(details, "tree", details)
        if not isinstance(tree, SplitTree) and solution.rule is not None:
            tree = SplitTree.around(problem, problem.lower(solution.rule))
    else:
        tree = solution
    if isinstance(tree, SplitTree):
        return tree
    if isinstance(solution, Solution):
        raise InputError(
            "this solution has no tree to draw, since it has no rule or a rule that no leaf of "
            "the structure admits; draw a solution with a rule, such as one of 'bsccart'."
        )
    raise InputError(
        f"'tree' must be a SplitTree, a Solution or a fitted model, got {type(source).__name__}."
    )


@dataclass(frozen=True)
class _View:
    """A tree with what its boxes say; classes in the order in which they are shown."""

    tree: SplitTree
    problem: Problem
    nodes: dict[int, TreeNode]
    order: tuple[int, ...]
    depth_beside: int  # levels drawn of a subtree that does not hold the rule

    @classmethod
    def of(cls, tree: SplitTree, problem: Problem, first: int | None = None) -> _View:
        nodes = {record.node: record for record in tree.walk(problem)}
        classes = [str(name) for name in problem.table.classes.tolist()]
        numbers = np.bincount(problem.table.labels, minlength=len(classes))
        leading = tree.label if first is None else first
        others = (code for code in range(len(classes)) if code != leading)
        order = (leading, *sorted(others, key=lambda code: (-numbers[code], classes[code])))
        for depth in range(tree.structure.depth, -1, -1):
            view = cls(tree, problem, nodes, order, depth)
            if sum(not box.children for box in view.box(1).walk()) <= MAX_LEAVES:
                break
        return view

    @property
    def class_names(self) -> list[str]:
        """What the shapes of the classes mean, in their order."""
        names = [class_text(self.problem.table.classes.tolist()[code]) for code in self.order]
        if len(names) <= MAX_CLASSES:
            return names
        kept = names[: MAX_CLASSES - 1]
        return [*kept, f"{len(names) - len(kept)} other classes"]

    def counts(self, node: int) -> list[float]:
        """The rows of a node per class as shown: the last shape stands for all that are left."""
        counts = [self.nodes[node].counts[code] for code in self.order]
        if len(counts) > MAX_CLASSES:
            counts[MAX_CLASSES - 1 :] = [sum(counts[MAX_CLASSES - 1 :])]
        return counts

    def box(self, node: int, beside: int = 0) -> NodeBox:
        """The box of a node and of all below it; `beside` counts the levels off the rule's path."""
        path = self._path()
        while node <= self.tree.structure.n_branch and self._passes(node):
            node = 2 * node + 1
        on_path = node in path
        if node > self.tree.structure.n_branch:
            return self._leaf(node, on_path=on_path)
        if beside > self.depth_beside:
            return self._folded(node)
        next_beside = 0 if on_path else beside + 1
        left, right = (
            self.box(child, 0 if child in path else max(1, next_beside))
            for child in (2 * node, 2 * node + 1)
        )
        return NodeBox(
            node, self._branch_lines(node), left, right, self._edges(node), on_path=on_path
        )

    def _path(self) -> set[int]:
        leaf = self.tree.leaf
        return {leaf >> up for up in range(self.tree.structure.depth + 1)}

    def _passes(self, node: int) -> bool:
        """Whether nothing happens at a node, so that it need not be drawn."""
        if self.tree.conditions[node - 1] is not None:
            return False
        return 2 * node not in self._path()

    def _edges(self, node: int) -> tuple[str, str]:
        coded, table = self.tree.conditions[node - 1], self.problem.table
        if coded is None:
            return "no row", "every row"
        left, right = opposite(coded, table), coded
        return asks(lift_condition(table, left)), asks(lift_condition(table, right))

    def _branch_lines(self, node: int) -> Lines:
        record = self.nodes[node]
        name = "every row passes" if record.condition is None else shown(record.condition.feature)

        def lines(room: float, size: float, theme: Theme) -> list[NodeLine]:
            title = [NodeLine.of(t, weight="bold") for t in wrap(name, room, size, 2, "bold")]
            return [*title, self._count_line(node, room, size, theme)]

        return lines

    def _count_line(self, node: int, room: float, size: float, theme: Theme) -> NodeLine:
        """Rows per class, or their sum where there is no room for more."""
        counts = self.counts(node)
        line = class_counts(counts, theme, count)
        if sum(width_of(text, size) for text, _ in line.parts) <= room:
            return line
        return NodeLine.of(shorten(rows_text(sum(counts)), room, size))

    def _leaf(self, node: int, *, on_path: bool) -> NodeBox:
        record = self.nodes[node]
        target = self.tree.structure.target[node - self.tree.structure.n_leaves]
        empty = not any(record.counts)
        vi = f"VI {count(record.value or 0.0)}"

        def lines(room: float, size: float, theme: Theme) -> list[NodeLine]:
            rows = NodeLine.of("no rows") if empty else self._count_line(node, room, size, theme)
            if not target:
                return [rows, NodeLine.of(shorten("not a target", room, size), soft=True)]
            mark = f"{STAR} {vi}" if record.chosen else vi
            value = NodeLine.of(shorten(mark, room, size, "bold"), weight="bold")
            label = NodeLine.of(shorten(class_text(record.label), room, size), soft=True)
            return [rows, value] if empty else [rows, value, label]

        pale = (empty or not target) and not record.chosen
        return NodeBox(node, lines, chosen=record.chosen, pale=pale, on_path=on_path)

    def _folded(self, node: int) -> NodeBox:
        below = [n for n in self.nodes if self.nodes[n].is_leaf and _is_below(n, node)]
        best = max(self.nodes[n].value or 0.0 for n in below)

        def lines(room: float, size: float, theme: Theme) -> list[NodeLine]:
            leaves = shorten(f"{len(below)} leaves", room, size)
            value = shorten(f"best VI {count(best)}", room, size)
            rows = self._count_line(node, room, size, theme)
            return [rows, NodeLine.of(leaves, soft=True), NodeLine.of(value, soft=True)]

        return NodeBox(node, lines, pale=True)


def _is_below(node: int, ancestor: int) -> bool:
    return node >> (node.bit_length() - ancestor.bit_length()) == ancestor
