"""BSCCART: CART whose split at every node is taken from the node's group of features.

The paper's heuristic for structure-constrained trees and the source of the MIP's warm start. A
tree is grown from the root down by Gini impurity as in CART; the target leaf of greatest VI
becomes the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.engines.base import Engine, Outcome, Recorder
from opdt.engines.tree import SplitTree, first_condition, opposite
from opdt.problem import CodedCondition, CodedRule, Problem
from opdt.problem.coded import holds
from opdt.rules import Op
from opdt.solution import Clock, LimitReached, Statistics, StopReason
from opdt.table import Column, Kind

Rows = NDArray[np.intp]
Counts = NDArray[np.float64]
COUNT_BYTES = 64  # of each class and value: the counts, and what is worked out from them


@dataclass(frozen=True)
class BSCCARTEngine(Engine):
    """Grows one tree greedily and returns its best target leaf: fast, and proves nothing.

    At every node the split of least Gini impurity among the features of the node's group is
    applied, however small the decrease: a threshold halfway between adjacent values of the
    node's rows, or one level against the rest. A node with rows of a single class, or without a
    split that parts its rows, lets every row pass right; the node of a forced group applies a
    condition even then, the one that keeps most rows together. Rows that a split loses, because
    their value is missing, count as wholly impure.

    Forbidden features are never split on. The other demands on the rule decide which leaves may
    become the rule, not how the tree grows, so the engine may find none where one exists.

    `Solution.details` is the whole `SplitTree`, also where no leaf gains anything; its leaf is
    then the best target leaf whatever it is worth.

    Examples
    --------
    >>> from opdt.problem import Problem, Structure
    >>> from opdt.table import Table
    >>> table = Table.build({"x": [1, 2, 3, 4, 5, 6]}, list("aabbba"))
    >>> problem = Problem.build(table, structure=Structure.free(2))
    >>> solution = BSCCARTEngine().solve(problem)
    >>> print(solution.rule, "| VI", solution.value)
    IF x >= 2.5 AND x < 5.5 THEN b | VI 3.0
    """

    name: ClassVar[str] = "bsccart"
    proves_optimality: ClassVar[bool] = False

    def _solve(self, problem: Problem, clock: Clock) -> Outcome:
        most = max((column.n_values for column in problem.table.columns), default=0)
        clock.require(
            len(problem.table.classes) * most * COUNT_BYTES,
            "counting the classes of a column's values",
            "round its values, merge classes, or use the engine 'search'",
        )
        conditions, stopped, nodes = grow(problem, clock)
        tree = SplitTree(problem.structure, conditions, problem.structure.leaves[0], 0)
        found = _best_rule(problem, tree)
        leaf, label = tree.best_leaf(problem) if found is None else found[:2]
        rule = None if found is None else found[2]
        bound, recorder = problem.ceiling, Recorder(problem, clock)
        if rule is not None:
            gain = tree.leaf_gain(problem, leaf, label)
            recorder.improved(rule, problem.value(gain), problem.value(bound))
        return Outcome(
            rule,
            bound=bound,
            stopped_by=stopped,
            trace=tuple(recorder.points),
            statistics=Statistics(nodes=nodes, evaluations=problem.structure.n_leaves),
            details=SplitTree(problem.structure, conditions, leaf, label),
        )


def _best_rule(problem: Problem, tree: SplitTree) -> tuple[int, int, CodedRule] | None:
    """The target leaf, class and rule of greatest gain among those the problem allows."""
    rows = tree.node_rows(problem.table)
    gains = {label: problem.objective.gains(label) for label in problem.objective.labels}
    ranked = sorted(
        (-int(each[rows[leaf]].sum()), leaf, label)
        for leaf in problem.structure.target_leaves
        for label, each in gains.items()
    )
    for loss, leaf, label in ranked:
        if loss >= 0 and problem.may_be_empty:
            return None
        rule = tree.rule_at(problem.table, leaf, label)
        if rule is not None and problem.objection(rule) is None:
            return leaf, label, rule
    return None


def grow(
    problem: Problem, clock: Clock
) -> tuple[tuple[CodedCondition | None, ...], StopReason, int]:
    """The conditions of all branch nodes, why growing stopped, and how many nodes were tried.

    When a limit is reached, the remaining nodes split on nothing (or on anything, if forced).
    """
    structure, table = problem.structure, problem.table
    sample = _Sample.of(problem)
    conditions: list[CodedCondition | None] = []
    rows: dict[int, Rows] = {1: np.arange(table.n_rows)}
    stopped, tried = StopReason.FINISHED, 0
    for node in range(1, structure.n_branch + 1):
        here, condition = rows.pop(node), None
        if structure.split[node - 1]:
            if stopped is StopReason.FINISHED:
                stopped = clock.stop(tried) or stopped
            if stopped is StopReason.FINISHED:
                tried += 1
                try:
                    condition = _split(problem, sample, node, here, conditions, clock)
                except LimitReached as stop:
                    stopped = stop.reason
                except KeyboardInterrupt:
                    stopped = StopReason.INTERRUPTED
            condition = condition or first_condition(problem, node)
        conditions.append(condition)
        if condition is None:
            rows[2 * node], rows[2 * node + 1] = here[:0], here
        else:
            codes = table.columns[condition.feature].codes[here]
            rows[2 * node] = here[holds(opposite(condition, table), codes)]
            rows[2 * node + 1] = here[holds(condition, codes)]
    return tuple(conditions), stopped, tried


@dataclass(frozen=True, eq=False)
class _Sample:
    """What impurity is computed from: the class of each row and how much it counts."""

    classes: NDArray[np.intp]  # (n_rows,)
    weights: Counts  # (n_rows,)
    n_classes: int

    @classmethod
    def of(cls, problem: Problem) -> _Sample:
        """The labels with their row weights; with free row gains, what gains against what loses."""
        objective = problem.objective
        if problem.is_vi:
            weights = objective.weights.astype(np.float64)
            return cls(problem.table.labels.astype(np.intp), weights, len(problem.table.classes))
        gains = objective.gains(objective.labels[0])
        return cls((gains > 0).astype(np.intp), np.abs(gains).astype(np.float64), 2)

    def count(self, column: Column, rows: Rows) -> tuple[Counts, Counts]:
        """Weight per class and value, shape (n_classes, n_values), and per class where missing."""
        n_cells = column.n_values + 1
        cells = self.classes[rows] * n_cells + column.codes[rows] + 1
        counts = np.bincount(cells, self.weights[rows], self.n_classes * n_cells)
        # Without rows NumPy counts in integers.
        table = counts.astype(np.float64, copy=False).reshape(self.n_classes, n_cells)
        return table[:, 1:], table[:, 0]


def _split(
    problem: Problem,
    sample: _Sample,
    node: int,
    rows: Rows,
    above: Sequence[CodedCondition | None],
    clock: Clock,
) -> CodedCondition | None:
    """The split of a node: least impurity, or what a forced node does without any."""
    name = problem.structure.group[node - 1]
    features = _allowed(problem, node, above)
    totals = np.bincount(sample.classes[rows], sample.weights[rows], sample.n_classes)
    best: tuple[float, CodedCondition] | None = None
    if np.count_nonzero(totals) > 1:
        for feature in features:
            clock.check()
            floor = -np.inf if best is None else best[0]
            best = _best_split(problem, sample, feature, rows, floor) or best
    if best is not None:
        return best[1]
    return _together(problem, sample, features, rows) if problem.groups.is_forced(name) else None


def _allowed(
    problem: Problem, node: int, above: Sequence[CodedCondition | None]
) -> tuple[int, ...]:
    """The features of a node's group that a rule below may use."""
    barred = set(problem.forbidden)
    if problem.constraints.once:
        ancestors = (above[(node >> up) - 1] for up in range(1, node.bit_length()))
        barred |= {condition.feature for condition in ancestors if condition is not None}
    features = problem.groups[problem.structure.group[node - 1]]
    return tuple(feature for feature in features if feature not in barred)


def _best_split(
    problem: Problem, sample: _Sample, feature: int, rows: Rows, floor: float
) -> tuple[float, CodedCondition] | None:
    """The split of a feature with the purest parts and their purity; None if not above `floor`.

    Rows whose value is missing go neither way and are lost: they count as wholly impure.
    """
    column = problem.table.columns[feature]
    counts, missing = sample.count(column, rows)
    total = counts.sum(axis=1, keepdims=True)
    numeric = column.kind is Kind.NUMERIC
    left = np.cumsum(counts, axis=1)[:, :-1] if numeric else total - counts
    right = total - left
    best: tuple[float, CodedCondition] | None = None
    parts = left.any(axis=0) & right.any(axis=0)
    if parts.any():
        purity = np.where(parts, _purity(left) + _purity(right), -np.inf)
        at = int(np.argmax(purity))
        if purity[at] > floor:
            split = (Op.GE, _halfway(column, counts, at)) if numeric else (Op.EQ, at)
            best = floor, _ = float(purity[at]), CodedCondition(feature, *split)
    if problem.constraints.missing_conditions and missing.any() and total.any():
        apart = float(_purity(total[:, 0]) + _purity(missing))
        if apart > floor:
            best = apart, CodedCondition(feature, Op.MISSING)
    return best


def _purity(counts: Counts) -> Counts:
    """Weight minus weighted Gini impurity, sum_k n_k**2 / n, over the first axis; 0 if empty."""
    size = counts.sum(axis=0)
    return np.asarray((counts * counts).sum(axis=0) / np.where(size > 0, size, 1.0))


def _halfway(column: Column, counts: Counts, at: int) -> int:
    """The code of the threshold halfway between the node's values around a cut after code `at`.

    Values that other nodes hold may lie in between; like CART, the threshold parts them too.
    """
    present = np.flatnonzero(counts.any(axis=0))
    place = int(np.searchsorted(present, at, side="right"))
    low, high = int(present[place - 1]), int(present[place])
    values = column.values
    if values.dtype.kind == "M":
        values = values.astype(np.int64)
    middle = float(values[low]) / 2 + float(values[high]) / 2
    code = int(np.searchsorted(values, middle, side="right"))
    return min(max(code, low + 1), high)


def _together(
    problem: Problem, sample: _Sample, features: Sequence[int], rows: Rows
) -> CodedCondition | None:
    """The condition on a level that sends most rows the same way."""
    best: tuple[float, CodedCondition] | None = None
    for feature in features:
        sizes = sample.count(problem.table.columns[feature], rows)[0].sum(axis=0)
        if sizes.size:
            larger = np.maximum(sizes, sizes.sum() - sizes)
            at = int(np.argmax(larger))
            if best is None or larger[at] > best[0]:
                best = float(larger[at]), CodedCondition(feature, Op.EQ, at)
    return None if best is None else best[1]
