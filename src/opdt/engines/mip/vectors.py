"""Trees as points of the paper's model, and points as trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opdt.engines.mip.model import Floats, Model
from opdt.engines.mip.paper import Formulation
from opdt.engines.mip.side import has_demands
from opdt.engines.tree import SplitTree
from opdt.problem import CodedCondition
from opdt.rules import Op


def to_vector(f: Formulation, model: Model, tree: SplitTree) -> Floats:
    """The point of the model that a tree is, shape (n_variables,).

    The maximal leaf is the best one whose rule meets the demands. The point need not be feasible:
    `Model.check` tells.
    """
    v, structure = f.variables, f.structure
    x = np.zeros(model.n_variables)
    for node in range(1, structure.n_branch + 1):
        if structure.split[node - 1]:
            x[v.d[node - 1]] = 1
            column, threshold = _split(f, model, node, tree.conditions[node - 1])
            x[v.a[column, node - 1]], x[v.b[node - 1]] = 1, threshold
    leaves = _route(f, x)
    x[v.z[np.arange(len(leaves)), leaves]] = 1
    x[v.l] = [structure.holds_rows(leaf) for leaf in structure.leaves]
    counts = np.zeros(v.nk.shape)
    np.add.at(counts, (f.problem.table.labels, leaves), f.weights)
    x[v.nk], x[v.n] = counts, counts.sum(axis=0)
    targets = {leaf for _, leaf in f.targets}
    for leaf in np.flatnonzero(x[v.l]).tolist():
        labels = list(f.labels) if leaf in targets else list(range(len(counts)))
        x[v.c[labels[int(np.argmax(counts[labels, leaf]))], leaf]] = 1
    for at, leaf in f.targets:
        x[v.loss[at]] = x[v.n[leaf]] - counts[:, leaf] @ x[v.c[:, leaf]]
    worth = {at: float(x[v.n[leaf]] - f.w * x[v.loss[at]]) for at, leaf in f.targets}
    chosen = _maximal_leaf(f, x, tree, worth)
    x[v.q[chosen]], x[v.best] = 1, worth[chosen]
    _set_tests(f, model, x)
    return x


def _route(f: Formulation, x: Floats) -> NDArray[np.int64]:
    """The position in T_L of each row's leaf, by the splits of a point."""
    v, at = f.variables, np.ones(len(f.columns.x), dtype=np.int64)
    for _ in range(f.structure.depth):
        value = (f.columns.x * x[v.a[:, at - 1]].T).sum(axis=1)
        at = 2 * at + (value >= x[v.b[at - 1]])
    return at - f.structure.n_leaves


def _maximal_leaf(f: Formulation, x: Floats, tree: SplitTree, worth: dict[int, float]) -> int:
    """The position in T_obj of the best leaf, among those whose rule meets the demands if any."""
    best = sorted(worth, key=lambda at: -worth[at])
    if not has_demands(f.problem):
        return best[0]
    for at in best:
        leaf = f.structure.target_leaves[at]
        label = int(np.argmax(x[f.variables.c[:, leaf - f.structure.n_leaves]]))
        rule = tree.rule_at(f.problem.table, leaf, label)
        if rule is not None and f.problem.objection(rule) is None:
            return at
    return f.structure.target_leaves.index(tree.leaf)


def _split(
    f: Formulation, model: Model, node: int, condition: CodedCondition | None
) -> tuple[int, float]:
    """The column and threshold of a splitting node; a column at 0 where it tests nothing."""
    if condition is None:
        usable = np.flatnonzero(model.upper[f.variables.a[:, node - 1]] > 0)
        return int(usable[0]), float(model.lower[f.variables.b[node - 1]])
    if condition.op is Op.EQ:
        return f.columns.find(condition.feature, condition.code), 0.5
    column = f.columns.find(condition.feature, -1)
    return column, float(f.columns.grid[column][condition.code])


def _set_tests(f: Formulation, model: Model, x: Floats) -> None:
    """Set u_fs, which says that the right branch of node s tests a required feature."""
    if not f.problem.required:
        return
    place = {name: at for at, name in enumerate(model.names)}
    for feature in f.problem.required:
        own = f.columns.of_feature(feature)
        for node in range(1, f.structure.n_branch + 1):
            used = x[f.variables.a[own, node - 1]].sum() > 0
            x[place[f"u_{feature}_{node}"]] = used and x[f.variables.b[node - 1]] > 0


def to_tree(f: Formulation, x: Floats) -> SplitTree:
    """The tree of a point, its chosen leaf the one with q_t = 1.

    A threshold is read with half an epsilon of tolerance: rows on the right have x >= b, rows
    on the left x <= b - eps, so that no row the solver routed changes its side.
    """
    v, structure = f.variables, f.structure
    conditions: list[CodedCondition | None] = []
    for node in range(1, structure.n_branch + 1):
        if x[v.d[node - 1]] < 0.5:
            conditions.append(None)
            continue
        column = int(np.argmax(x[v.a[:, node - 1]]))
        below = f.columns.grid[column] < x[v.b[node - 1]] - f.columns.epsilon[column] / 2
        code, level = int(below.sum()), int(f.columns.level[column])
        feature = int(f.columns.feature[column])
        if code == 0:  # every row goes right, none can go left
            conditions.append(None)
        elif level < 0:
            conditions.append(CodedCondition(feature, Op.GE, code))
        else:
            conditions.append(CodedCondition(feature, Op.EQ, level))
    at = int(np.argmax(x[v.q]))
    leaf = structure.target_leaves[at]
    predicted = x[v.c[list(f.labels), leaf - structure.n_leaves]]
    return SplitTree(structure, tuple(conditions), leaf, f.labels[int(np.argmax(predicted))])
