"""A tree with a condition at every branch node: what BSCCART grows and the paper's model returns.

An engine that works on chains finds one conjunction; the paper's model and BSCCART choose a whole
tree, of which one leaf holds the rule. `SplitTree` is that tree, on rank codes, together with the
structure it obeys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.problem import (
    Chain,
    CodedCondition,
    CodedRule,
    Level,
    Problem,
    Structure,
    simplify,
)
from opdt.problem.chains import leaf_chains
from opdt.problem.coded import holds
from opdt.problem.drawing import TARGET_MARK
from opdt.problem.lifting import lift_condition
from opdt.rules import Condition, Op
from opdt.rules.condition import format_value
from opdt.table import Table

_OPPOSITE = {
    Op.GE: Op.LT,
    Op.LT: Op.GE,
    Op.EQ: Op.NE,
    Op.NE: Op.EQ,
    Op.MISSING: Op.PRESENT,
    Op.PRESENT: Op.MISSING,
}
# Sums of decimal row weights are shown without the dust of binary arithmetic.
_SHOWN_DECIMALS = 6


class TreeNode(NamedTuple):
    """One node of a tree, as a reader wants it.

    `condition` is that of the right branch, None at leaves and where every row goes right;
    `counts` are the node's rows per class (weighted); `value` and `label` are, at leaves, the
    greatest VI over the classes a rule may have and that class.
    """

    node: int
    depth: int
    group: str | None
    condition: Condition | None
    counts: tuple[float, ...]
    value: float | None = None
    label: Any = None
    chosen: bool = False

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a leaf."""
        return self.value is not None


@dataclass(frozen=True)
class SplitTree:
    """A structure with a condition at each of its branch nodes, and the leaf that is the rule.

    A row goes right where the node's condition holds and left where its opposite does. A row
    whose value is missing satisfies neither, so it is covered by no leaf below that node. A node
    without a condition (it does not split, or splits at the smallest value) sends every row
    right, those with missing values included.

    Attributes
    ----------
    structure : Structure
    conditions : tuple of CodedCondition or None, length 2**depth - 1
        The condition of the right branch of node ``t`` at position ``t - 1``: ``>=`` for a
        numeric feature, ``==`` (``in``) for a categorical one, or "is missing".
    leaf : int
        Node number of the leaf that holds the rule.
    label : int
        Class code of the rule.
    """

    structure: Structure
    conditions: tuple[CodedCondition | None, ...]
    leaf: int
    label: int

    def __post_init__(self) -> None:
        if len(self.conditions) != self.structure.n_branch:
            raise InputError(
                f"'conditions' must have one entry for each of the {self.structure.n_branch} "
                f"branch nodes, got {len(self.conditions)}."
            )
        self.structure.ancestors(self.leaf)
        for node, condition in enumerate(self.conditions, start=1):
            if condition is not None and not self.structure.split[node - 1]:
                raise InputError(
                    f"'conditions' has one for node {node}, which does not split; give None."
                )

    @classmethod
    def around(cls, problem: Problem, rule: CodedRule) -> SplitTree | None:
        """A complete tree that has this rule at a target leaf; None where no leaf admits it.

        Of several leaves the first is taken. Nodes off the rule's path let every row pass right,
        but for those of a forced group, which apply the first condition they can. A rule with a
        ``==`` that only two subsets can say, since no level admits it, has no tree here.
        """
        structure = problem.structure
        chains = leaf_chains(structure, problem.groups)
        for leaf, chain in zip(structure.target_leaves, chains, strict=True):
            placed = _place(problem, chain, simplify(rule.conditions))
            if placed is None:
                continue
            conditions = [first_condition(problem, node) for node in _branch_nodes(structure)]
            path = [step for step in structure.ancestors(leaf) if structure.split[step[0] - 1]]
            for (node, went_right), condition in zip(path, placed, strict=True):
                if condition is not None and not went_right:
                    condition = opposite(condition, problem.table)
                conditions[node - 1] = condition
            return cls(structure, tuple(conditions), leaf, rule.label)
        return None

    # -- where rows go ----------------------------------------------------------------------

    def node_rows(self, table: Table) -> dict[int, NDArray[np.intp]]:
        """The ascending positions of the rows in every node, by node number."""
        rows: dict[int, NDArray[np.intp]] = {1: np.arange(table.n_rows)}
        for node, condition in enumerate(self.conditions, start=1):
            here = rows[node]
            if condition is None:
                rows[2 * node], rows[2 * node + 1] = here[:0], here
                continue
            codes = table.columns[condition.feature].codes[here]
            rows[2 * node] = here[holds(opposite(condition, table), codes)]
            rows[2 * node + 1] = here[holds(condition, codes)]
        return rows

    def route(self, table: Table) -> NDArray[np.intp]:
        """The node number of each row's leaf, shape (n_rows,); 0 where a missing value stops it."""
        leaves = np.zeros(table.n_rows, dtype=np.intp)
        rows = self.node_rows(table)
        for leaf in self.structure.leaves:
            leaves[rows[leaf]] = leaf
        return leaves

    def counts(self, table: Table) -> dict[int, NDArray[np.float64]]:
        """Rows per class in every node, each of shape (n_classes,), counted with their weights."""
        weights = np.ones(table.n_rows) if table.weights is None else table.weights
        classes = range(len(table.classes))
        return {
            node: np.array([weights[rows[table.labels[rows] == code]].sum() for code in classes])
            for node, rows in self.node_rows(table).items()
        }

    # -- what leaves are worth --------------------------------------------------------------

    def leaf_gain(self, problem: Problem, leaf: int, label: int) -> int:
        """The gain, in units of the objective, of a rule of this class at this leaf."""
        self.structure.ancestors(leaf)
        return int(problem.objective.gains(label)[self.node_rows(problem.table)[leaf]].sum())

    def best_leaf(self, problem: Problem) -> tuple[int, int]:
        """The target leaf and class of greatest gain; of equals the first leaf, then class.

        Empty leaves take part with gain 0, as they do in the paper's model; the demands on the
        rule do not enter.
        """
        rows = self.node_rows(problem.table)
        gains = {label: problem.objective.gains(label) for label in problem.objective.labels}
        return max(
            ((leaf, label) for leaf in self.structure.target_leaves for label in gains),
            key=lambda choice: int(gains[choice[1]][rows[choice[0]]].sum()),
        )

    def path(self, table: Table, leaf: int) -> tuple[CodedCondition, ...] | None:
        """The conditions on the way to a leaf, from the root; None where no row can go.

        That is a leaf on the left of a node that sends every row right.
        """
        conditions = []
        for node, went_right in self.structure.ancestors(leaf):
            condition = self.conditions[node - 1]
            if condition is not None:
                conditions.append(condition if went_right else opposite(condition, table))
            elif not went_right:
                return None
        return tuple(conditions)

    def rule_at(self, table: Table, leaf: int, label: int) -> CodedRule | None:
        """The simplified rule of a leaf; None where no row can reach it."""
        path = self.path(table, leaf)
        return None if path is None else CodedRule(simplify(path), label)

    def rule(self, problem: Problem) -> CodedRule | None:
        """The simplified rule of the chosen leaf; None where no row can reach that leaf."""
        return self.rule_at(problem.table, self.leaf, self.label)

    # -- for readers ------------------------------------------------------------------------

    def walk(self, problem: Problem) -> Iterator[TreeNode]:
        """Every node, breadth first from the root, with what a reader wants to know of it."""
        table, structure = problem.table, problem.structure
        rows, counts = self.node_rows(table), self.counts(table)
        gains = {label: problem.objective.gains(label) for label in problem.objective.labels}
        for node in range(1, 2 * structure.n_leaves):
            depth, shown = node.bit_length() - 1, tuple(counts[node].tolist())
            if node <= structure.n_branch:
                coded = self.conditions[node - 1]
                condition = None if coded is None else lift_condition(table, coded)
                group = structure.group[node - 1] if structure.split[node - 1] else None
                yield TreeNode(node, depth, group, condition, shown)
                continue
            best = {label: int(each[rows[node]].sum()) for label, each in gains.items()}
            label = self.label if node == self.leaf else max(best, key=lambda code: best[code])
            yield TreeNode(
                node,
                depth,
                None,
                None,
                shown,
                problem.value(best[label]),
                table.classes.tolist()[label],
                node == self.leaf,
            )

    def draw(self, problem: Problem) -> str:
        """The tree as text: conditions, groups, rows per class, VI of each leaf.

        The chosen leaf carries a star and its class. ``2 → leaf 5`` says that every row of node 2
        ends in leaf 5, because nodes on the way do not split or split on nothing.
        """
        nodes = {record.node: record for record in self.walk(problem)}
        lines = list(self._lines(problem, nodes, 1))
        classes = [str(name) for name in problem.table.classes.tolist()]
        cells = [["", *classes, "VI", ""]]
        for text, record in lines:
            vi = "" if record.value is None else _shown(record.value)
            mark = f"{TARGET_MARK} {record.label}" if record.chosen else ""
            cells.append([text, *map(_shown, record.counts), vi, mark])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        rows = (
            "  ".join(
                [row[0].ljust(widths[0]), *map(str.rjust, row[1:-1], widths[1:-1]), row[-1]]
            ).rstrip()
            for row in cells
        )
        return "\n".join(rows)

    def _lines(
        self, problem: Problem, nodes: dict[int, TreeNode], node: int
    ) -> Iterator[tuple[str, TreeNode]]:
        """The lines of the subtree at a node, without indentation, and the node each is of."""
        way = ""
        while node <= self.structure.n_branch and self._passes(node):
            way += f"{node} → "
            node = 2 * node + 1
        record = nodes[node]
        if record.is_leaf:
            yield f"{way}leaf {node}", record
            return
        yield f"{way}{node} [{record.group}]", record
        left, right = self._sides(problem, node)
        for side, child, first, rest in (
            (left, 2 * node, "├─ ", "│  "),
            (right, 2 * node + 1, "└─ ", "   "),
        ):
            for at, (text, each) in enumerate(self._lines(problem, nodes, child)):
                yield (f"{first}{side}: {text}" if at == 0 else rest + text), each

    def _passes(self, node: int) -> bool:
        """Whether to draw a node as an arrow: nothing happens there, and the rule is not left."""
        if self.conditions[node - 1] is not None:
            return False
        return (node, False) not in self.structure.ancestors(self.leaf)

    def _sides(self, problem: Problem, node: int) -> tuple[str, str]:
        condition = self.conditions[node - 1]
        if condition is None:
            return "no row", "every row"
        table = problem.table
        left, right = opposite(condition, table), condition
        return str(lift_condition(table, left)), str(lift_condition(table, right))


def opposite(condition: CodedCondition, table: Table) -> CodedCondition:
    """The condition of the other branch: what present values satisfy that fail this one."""
    if condition.op is Op.IN:
        others = range(table.columns[condition.feature].n_values)
        levels = tuple(code for code in others if code not in condition.levels)
        return CodedCondition(condition.feature, Op.IN, -1, levels)
    return condition._replace(op=_OPPOSITE[condition.op])


def first_condition(problem: Problem, node: int) -> CodedCondition | None:
    """The first real condition of a node with a forced group, None for any other node.

    Features that the rule must not use come last: off the rule's path even they are allowed.
    """
    structure, groups = problem.structure, problem.groups
    name = structure.group[node - 1]
    if not structure.split[node - 1] or not groups.is_forced(name):
        return None
    usable = [f for f in groups[name] if problem.table.columns[f].n_values]
    chosen = min(usable, key=lambda f: f in problem.forbidden, default=None)
    return None if chosen is None else CodedCondition(chosen, Op.EQ, 0)


def _branch_nodes(structure: Structure) -> range:
    return range(1, structure.n_branch + 1)


def _place(
    problem: Problem, chain: Chain, conditions: tuple[CodedCondition, ...]
) -> list[CodedCondition | None] | None:
    """What each level applies so that the conjunction is the given one; None if none can.

    A level that gets no condition of its own is left out, or applies one that changes nothing.
    """
    placed: list[CodedCondition | None] = [None] * len(chain)
    taken: set[int] = set()

    def place(index: int) -> bool:
        if index == len(conditions):
            return fill()
        for at, level in enumerate(chain):
            if at not in taken and problem.admits(level, conditions[index]):
                taken.add(at)
                placed[at] = conditions[index]
                if place(index + 1):
                    return True
                taken.remove(at)
        return False

    def fill() -> bool:
        for at, level in enumerate(chain):
            if at not in taken:
                placed[at] = None if level.vacuous else _idle(problem, level, conditions)
                if placed[at] is None and not level.vacuous:
                    return False
        return True

    return placed if place(0) else None


def _idle(
    problem: Problem, level: Level, conditions: tuple[CodedCondition, ...]
) -> CodedCondition | None:
    """A condition of the level that the conjunction implies, or None."""
    used = {condition.feature for condition in conditions}
    for feature in level.features:
        if feature in used:
            for other in problem.conditions_of(feature, right=level.right, left=level.left):
                if simplify((*conditions, other)) == conditions:
                    return other
    return None


def _shown(number: float) -> str:
    return format_value(round(number, _SHOWN_DECIMALS))
