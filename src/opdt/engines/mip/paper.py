"""The paper's mixed-integer program, one function per constraint.

The names in the equations are the paper's: T_B branch nodes, T_L leaves, T_obj target leaves, P
columns (numeric features scaled to [0, 1] and one 0/1 column per level), N rows, K classes.
Nodes are numbered breadth first from 1, so that leaf t is at position ``t - 2**D`` of an array over
T_L and branch node t at position ``t - 1`` of an array over T_B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.mip import bsc, side
from opdt.engines.mip.model import Builder, Indices, Model
from opdt.engines.mip.scaling import ScaledColumns, count_columns
from opdt.problem import Problem, Structure, VolumeImpurity
from opdt.solution import Clock

BLOCK_ENTRIES = 1 << 20  # of a model, added at once: a fraction of a second


class Variables(NamedTuple):
    """Indices of the paper's variables in the model."""

    a: Indices  # (|P|, |T_B|) column p is the one that node t splits on
    b: Indices  # (|T_B|,) threshold of node t
    d: Indices  # (|T_B|,) node t splits
    z: Indices  # (|N|, |T_L|) row i is in leaf t
    l: Indices  # (|T_L|,) leaf t is active  # noqa: E741 - the paper's name
    n: Indices  # (|T_L|,) N_t, rows in leaf t (weighted)
    nk: Indices  # (|K|, |T_L|) N_kt, rows of class k in leaf t
    c: Indices  # (|K|, |T_L|) leaf t predicts class k
    loss: Indices  # (|T_obj|,) L_t, rows in leaf t of another class than predicted
    q: Indices  # (|T_obj|,) leaf t is the maximal one
    best: Indices  # () I_max


@dataclass(frozen=True, eq=False)
class Formulation:
    """A problem in the paper's terms: columns, weights, and the variables of its model."""

    problem: Problem
    columns: ScaledColumns
    build: Builder
    variables: Variables

    @property
    def structure(self) -> Structure:
        """The tree that the Branching Structure Constraints describe."""
        return self.problem.structure

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Row weights, shape (n_rows,)."""
        objective = self.problem.objective
        return objective.weights / objective.weight_scale

    @cached_property
    def total(self) -> float:
        """The weight of all rows: the paper's |N| and big M."""
        return float(self.weights.sum())

    @property
    def w(self) -> float:
        """The price of an error."""
        return price(self.problem)

    @property
    def labels(self) -> tuple[int, ...]:
        """Classes a target leaf may predict: all, or the target class."""
        return self.problem.objective.labels

    @cached_property
    def targets(self) -> list[tuple[int, int]]:
        """Position in T_obj and position in T_L of each target leaf."""
        first = self.structure.n_leaves
        return [(at, leaf - first) for at, leaf in enumerate(self.structure.target_leaves)]

    def blocks(self) -> Iterator[Indices]:
        """The rows of the table, in blocks that are quickly added to the model."""
        size = max(1, BLOCK_ENTRIES // max(1, self.columns.n_columns))
        rows = np.arange(self.problem.table.n_rows)
        yield from (rows[first : first + size] for first in range(0, len(rows), size))

    def leaves_below(self, node: int) -> range:
        """Positions in T_L of the leaves below a node."""
        down = self.structure.depth + 1 - node.bit_length()
        first = self.structure.n_leaves
        return range((node << down) - first, ((node + 1) << down) - first)

    def steps(self, *, right: bool) -> Iterator[tuple[int, int]]:
        """Each leaf (its position in T_L) with each ancestor in A_R(t) or A_L(t) (node number)."""
        for leaf in self.structure.leaves:
            for node, went_right in self.structure.ancestors(leaf):
                if went_right == right:
                    yield leaf - self.structure.n_leaves, node


def price(problem: Problem) -> float:
    """The price w of a problem whose objective is the VI."""
    assert isinstance(problem.objective, VolumeImpurity)  # the engine refuses others
    return float(problem.objective.w)


def formulate(
    problem: Problem,
    scaling: str = "rank",
    *,
    structured: bool = True,
    clock: Clock | None = None,
) -> tuple[Model, Formulation]:
    """The paper's model of a problem, and where its variables are.

    Parameters
    ----------
    problem : Problem
    scaling : {"rank", "minmax"}
    structured : bool
        Whether Algorithm 1 adds the structure's constraints; without it every node may split
        on every column or not at all.
    clock : Clock, optional
        Its limits end the building with `LimitReached` or `MemoryLimit`.
    """
    build = Builder(clock)
    # The branching constraints have an entry for every row and step to a leaf: on the left for each
    # column, on the right for each feature.
    table, steps = problem.table, problem.structure.n_leaves * problem.structure.depth
    width = count_columns(problem) + table.n_features
    build.expect(entries=table.n_rows * width * steps // 2)
    columns = ScaledColumns.of(problem, scaling)
    made = Formulation(problem, columns, build, add_variables(problem, columns, build))
    for family in FAMILIES:
        family(made)
    side.add_demands(made)
    fixed = bsc.fix(made) if structured else ()
    return build.model("opdt_paper", [(made.variables.best, 1.0)], fixed), made


def add_variables(problem: Problem, columns: ScaledColumns, build: Builder) -> Variables:
    """The variables with their domains, eqs. (var:d_t) to (var:I_max).

    Counts are integers as in the paper, unless row weights are fractions. The topology variables
    a and d get the higher branching priority.
    """
    structure, objective = problem.structure, problem.objective
    branch, leaves = range(1, structure.n_branch + 1), structure.leaves
    total = float(objective.weights.sum() / objective.weight_scale)
    whole = not np.any(objective.weights % objective.weight_scale)
    rows, classes = range(problem.table.n_rows), range(len(problem.table.classes))
    w = price(problem)
    return Variables(
        a=build.variables("a", range(columns.n_columns), branch, priority=1),
        b=build.variables("b", branch, integer=False),
        d=build.variables("d", branch, priority=1),
        z=build.variables("z", rows, leaves),
        l=build.variables("l", leaves),
        n=build.variables("N", leaves, upper=total, integer=whole),
        nk=build.variables("Nk", classes, leaves, upper=total, integer=whole),
        c=build.variables("c", classes, leaves),
        loss=build.variables("L", structure.target_leaves, upper=total, integer=whole),
        q=build.variables("q", structure.target_leaves),
        best=build.variables("I_max", lower=-(w - 1) * total, upper=total, integer=False),
    )


def split_on_off(f: Formulation) -> None:
    """Eq. (con:split_on_off): sum_p a_pt = d_t, for all t in T_B."""
    v, nodes = f.variables, np.arange(f.structure.n_branch)
    f.build.rows("split_on_off", len(nodes), (nodes, v.a, 1), (nodes, v.d, -1), lower=0, upper=0)


def threshold_range(f: Formulation) -> None:
    """Eq. (var:b_t): b_t <= d_t, for all t in T_B (0 <= b_t is a bound)."""
    v, nodes = f.variables, np.arange(f.structure.n_branch)
    f.build.rows("threshold_range", len(nodes), (nodes, v.b, 1), (nodes, v.d, -1), upper=0)


def tree(f: Formulation) -> None:
    """Eq. (con:tree): d_t <= d_p(t), for all t in T_B but the root."""
    v, children = f.variables, np.arange(2, f.structure.n_branch + 1)
    rows = children - 2
    f.build.rows(
        "tree", len(rows), (rows, v.d[children - 1], 1), (rows, v.d[children // 2 - 1], -1), upper=0
    )


def branch_off_left(f: Formulation) -> None:
    """Eq. (con:branch_off_left): l_s <= d_t, for all t in T_B and s in E_L(t).

    E_L(t) are the leaves below the left child of t.
    """
    v = f.variables
    for node in range(1, f.structure.n_branch + 1):
        for leaf in f.leaves_below(2 * node):
            f.build.row("branch_off_left", (v.l[leaf], 1), (v.d[node - 1], -1), upper=0)


def branch_on_rightmost(f: Formulation) -> None:
    """Eq. (con:branch_on_rightmost): l_s >= d_t, for all t in T_B and s in E_R(t).

    E_R(t) are the rightmost leaf below the left child of t and that below the right child.
    """
    v = f.variables
    for node in range(1, f.structure.n_branch + 1):
        for child in (2 * node, 2 * node + 1):
            leaf = f.leaves_below(child)[-1]
            f.build.row("branch_on_rightmost", (v.l[leaf], 1), (v.d[node - 1], -1), lower=0)


def leaf_on_off(f: Formulation) -> None:
    """Eq. (con:leafnode_on_off): z_it <= l_t, for all i in N and t in T_L."""
    v, rows = f.variables, np.arange(len(f.variables.z))
    for leaf in range(f.structure.n_leaves):
        f.build.rows(
            "leaf_on_off", len(rows), (rows, v.z[:, leaf], 1), (rows, v.l[leaf], -1), upper=0
        )


def count_rows(f: Formulation) -> None:
    """Eq. (con:num_samples): N_t = sum_i z_it, for all t in T_L; rows count with their weight."""
    v, leaves = f.variables, np.arange(f.structure.n_leaves)
    f.build.rows(
        "count_rows",
        len(leaves),
        (leaves, v.n, 1),
        (leaves, v.z, -f.weights[:, None]),
        lower=0,
        upper=0,
    )


def one_leaf_per_row(f: Formulation) -> None:
    """Eq. (con:only_one): sum_t z_it = 1, for all i in N."""
    v, rows = f.variables, np.arange(len(f.variables.z))
    f.build.rows("one_leaf_per_row", len(rows), (rows[:, None], v.z, 1), lower=1, upper=1)


def left_branching(f: Formulation) -> None:
    """Eq. (con:left_branch): a_s (x_i + eps) <= b_s + (1 + eps_max)(1 - z_it).

    For all i in N, t in T_L and s in A_L(t).
    """
    v, big = f.variables, 1 + float(f.columns.epsilon.max(initial=0))
    for leaf, node in f.steps(right=False):
        for here in f.blocks():
            rows = np.arange(len(here))
            f.build.rows(
                "left_branching",
                len(rows),
                (rows[:, None], v.a[:, node - 1], f.columns.x[here] + f.columns.epsilon),
                (rows, v.b[node - 1], -1),
                (rows, v.z[here, leaf], big),
                upper=big,
            )


def right_branching(f: Formulation) -> None:
    """Eq. (con:right_branch): a_s x_i >= b_s - (1 - z_it).

    For all i in N, t in T_L and s in A_R(t).
    """
    v = f.variables
    for leaf, node in f.steps(right=True):
        for here in f.blocks():
            rows = np.arange(len(here))
            f.build.rows(
                "right_branching",
                len(rows),
                (rows[:, None], v.a[:, node - 1], f.columns.x[here]),
                (rows, v.b[node - 1], -1),
                (rows, v.z[here, leaf], -1),
                lower=-1,
            )


def single_prediction(f: Formulation) -> None:
    """Eq. (con:single_prediction): sum_k c_kt = l_t, for all t in T_L.

    With a target class, target leaves predict no other: the sum goes over that class alone.
    """
    v, targets = f.variables, {leaf for _, leaf in f.targets}
    for leaf in range(f.structure.n_leaves):
        labels = list(f.labels) if leaf in targets else slice(None)
        f.build.row("single_prediction", (v.c[labels, leaf], 1), (v.l[leaf], -1), lower=0, upper=0)


def count_classes(f: Formulation) -> None:
    """Eq. (con:num_samples_k): N_kt = sum_i Y_ik z_it, for all k in K and t in T_L."""
    v, leaves = f.variables, np.arange(f.structure.n_leaves)
    for label in range(len(v.nk)):
        here = f.problem.table.labels == label
        f.build.rows(
            "count_classes",
            len(leaves),
            (leaves, v.nk[label], 1),
            (leaves, v.z[here], -f.weights[here, None]),
            lower=0,
            upper=0,
        )


def loss_at_least(f: Formulation) -> None:
    """Eq. (con:misclassification_loss_geq): L_t >= N_t - N_kt - M (1 - c_kt), M = |N|.

    For all k in K (the target class alone, if there is one) and t in T_obj.
    """
    v = f.variables
    for at, leaf in f.targets:
        for label in f.labels:
            f.build.row(
                "loss_at_least",
                (v.loss[at], 1),
                (v.n[leaf], -1),
                (v.nk[label, leaf], 1),
                (v.c[label, leaf], -f.total),
                lower=-f.total,
            )


def loss_at_most(f: Formulation) -> None:
    """Eq. (con:misclassification_loss_leq): L_t <= N_t - N_kt + M c_kt, M = |N|.

    For all k in K and t in T_obj: a leaf predicts its most common class. With a target class
    the leaf predicts that one, common or not.
    """
    v = f.variables
    for at, leaf in f.targets:
        for label in f.labels:
            f.build.row(
                "loss_at_most",
                (v.loss[at], 1),
                (v.n[leaf], -1),
                (v.nk[label, leaf], 1),
                (v.c[label, leaf], -f.total),
                upper=0,
            )


def best_at_least(f: Formulation) -> None:
    """Eq. (con:vi_geq): I_max >= N_t - w L_t, for all t in T_obj.

    Where there are demands on the rule beyond the structure, a leaf that does not meet them may
    be worth more than the maximal one that does; the row then holds for the chosen leaf only:
    I_max >= N_t - w L_t - M (1 - q_t), M = w |N|.
    """
    v, big = f.variables, f.w * f.total if side.has_demands(f.problem) else 0.0
    for at, leaf in f.targets:
        f.build.row(
            "best_at_least",
            (v.best, 1),
            (v.n[leaf], -1),
            (v.loss[at], f.w),
            (v.q[at], -big),
            lower=-big,
        )


def best_at_most(f: Formulation) -> None:
    """Eq. (con:vi_leq): I_max <= N_t - w L_t + M (1 - q_t), M = w |N|, for all t in T_obj."""
    v, big = f.variables, f.w * f.total
    for at, leaf in f.targets:
        f.build.row(
            "best_at_most",
            (v.best, 1),
            (v.n[leaf], -1),
            (v.loss[at], f.w),
            (v.q[at], big),
            upper=big,
        )


def one_maximal_leaf(f: Formulation) -> None:
    """Eq. (con:vi_only_one): sum_t q_t = 1 over T_obj."""
    f.build.row("one_maximal_leaf", (f.variables.q, 1), lower=1, upper=1)


FAMILIES: tuple[Callable[[Formulation], None], ...] = (
    split_on_off,
    threshold_range,
    tree,
    branch_off_left,
    branch_on_rightmost,
    leaf_on_off,
    count_rows,
    one_leaf_per_row,
    left_branching,
    right_branching,
    single_prediction,
    count_classes,
    loss_at_least,
    loss_at_most,
    best_at_least,
    best_at_most,
    one_maximal_leaf,
)
