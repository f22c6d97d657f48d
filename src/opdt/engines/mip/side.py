"""Demands on the rule beyond the paper's structure, as rows on the maximal leaf.

Each row is switched on by q_t, so that it binds on the path of the chosen leaf and leaves the rest
of the tree alone. A node on the right of which nothing is tested (b_s = 0) applies no condition, so
it may "use" any column there.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from opdt.problem import Problem
from opdt.rules import Op
from opdt.table import Kind

if TYPE_CHECKING:
    from opdt.engines.mip.paper import Formulation

# Precisions are put between two shares that occur as long as there are so few shares.
MAX_EXACT_TOTAL = 100_000


def has_demands(problem: Problem) -> bool:
    """Whether anything beyond structure, w and class restricts the rule."""
    constraints = problem.constraints
    return bool(
        constraints.bounds_rows
        or constraints.directions
        or constraints.required
        or constraints.forbidden
        or constraints.once
    )


def add_demands(f: Formulation) -> None:
    """Add the rows of every demand of the problem's constraints."""
    coverage(f)
    errors(f)
    precision(f)
    allowed_sides(f)
    required_features(f)
    features_once(f)


def coverage(f: Formulation) -> None:
    """Minimum coverage: N_t >= n_min q_t, for all t in T_obj."""
    if f.problem.may_be_empty:
        return
    least = f.problem.limits.min_covered / f.problem.objective.weight_scale
    v = f.variables
    for at, leaf in f.targets:
        f.build.row("coverage", (v.n[leaf], 1), (v.q[at], -least), lower=0)


def errors(f: Formulation) -> None:
    """Maximum errors: L_t <= e_max + M (1 - q_t), M = |N| - e_max, for all t in T_obj."""
    if f.problem.constraints.max_errors is None:
        return
    most = f.problem.limits.max_errors / f.problem.objective.weight_scale
    v = f.variables
    for at, _ in f.targets:
        f.build.row("errors", (v.loss[at], 1), (v.q[at], f.total - most), upper=f.total)


def precision(f: Formulation) -> None:
    """Minimum precision: (1 - p) N_t - L_t >= -M (1 - q_t), M = |N|, for all t in T_obj."""
    if f.problem.constraints.min_precision == 0:
        return
    share = safe_precision(f.problem)
    v = f.variables
    for at, leaf in f.targets:
        f.build.row(
            "precision",
            (v.n[leaf], 1 - share),
            (v.loss[at], -1),
            (v.q[at], -f.total),
            lower=-f.total,
        )


def safe_precision(problem: Problem) -> float:
    """A number that separates the precisions that suffice from those that do not.

    Solvers allow small violations; half-way between the smallest precision that suffices and the
    largest that does not, no violation they allow changes the answer.
    """
    share, total = problem.limits.precision, int(problem.objective.weights.sum())
    if share == 0 or total > MAX_EXACT_TOTAL:
        return float(share)
    counts = range(1, total + 1)
    needed = [-(-share.numerator * rows // share.denominator) for rows in counts]
    enough = min(map(Fraction, needed, counts))
    short = max(Fraction(right - 1, rows) for right, rows in zip(needed, counts, strict=True))
    return float((enough + max(short, Fraction(0))) / 2)


def allowed_sides(f: Formulation) -> None:
    """Directions and forbidden features: the chosen leaf is on an allowed side of each split.

    For all t in T_obj and columns p that may not be used there: a_ps + q_t <= 1 for s in A_L(t),
    and for s in A_R(t) where the group is forced; otherwise b_s <= 2 - a_ps - q_t, that is,
    nothing is tested.
    """
    v = f.variables
    for at, node, went_right in _path_steps(f):
        barred = [p for p in range(f.columns.n_columns) if not _may(f, p, right=went_right)]
        if not barred:
            continue
        rows = np.arange(len(barred))
        vacuous = went_right and not f.problem.groups.is_forced(f.structure.group[node - 1])
        f.build.rows(
            "allowed_sides",
            len(barred),
            (rows, v.a[barred, node - 1], 1),
            (rows, v.q[at], 1),
            (rows, v.b[node - 1], float(vacuous)),
            upper=1 + vacuous,
        )


def required_features(f: Formulation) -> None:
    """Required features: the path of the chosen leaf tests each of them.

    u_fs = 1 says that the right branch of node s tests feature f: u_fs <= sum_p a_ps over its
    columns p, and b_s >= sum_p eps_p a_ps - (1 - u_fs), so that the smallest value fails. Then
    sum_p a_ps over A_L(t) + sum u_fs over A_R(t) >= q_t, for all t in T_obj.
    """
    for feature in sorted(f.problem.required):
        v, column = f.variables, f.problem.table.columns[feature]
        # A numeric feature of a single value cannot be tested, whatever the threshold.
        constant = column.kind is Kind.NUMERIC and column.n_values < 2
        own = f.columns.of_feature(feature)[: 0 if constant else None]
        branch = range(1, f.structure.n_branch + 1)
        tests = f.build.variables(f"u_{feature}", branch)
        for node in branch:
            a, u = v.a[own, node - 1], tests[node - 1]
            f.build.row("required_features", (u, 1), (a, -1), upper=0)
            f.build.row(
                "required_features",
                (v.b[node - 1], 1),
                (a, -f.columns.epsilon[own]),
                (u, -1),
                lower=-1,
            )
        for at, leaf in enumerate(f.structure.target_leaves):
            steps = f.structure.ancestors(leaf)
            left = [node - 1 for node, right in steps if not right]
            right = [node - 1 for node, right in steps if right]
            f.build.row(
                "required_features",
                (v.a[own][:, left].ravel(), 1),
                (tests[right], 1),
                (v.q[at], -1),
                lower=0,
            )


def features_once(f: Formulation) -> None:
    """Each feature at most once: no interval and no two `!=` on the path of the chosen leaf.

    Numeric p, s in A_L(t), r in A_R(t): b_r <= 3 - a_ps - a_pr - q_t. Categorical, nodes s, r in
    A_L(t), level column p: a_ps + sum of a_r over the feature's other levels + q_t <= 2. A
    repeated condition, and `!=` beside `==`, merge into one and are allowed.
    """
    if not f.problem.constraints.once:
        return
    v = f.variables
    for at, leaf in enumerate(f.structure.target_leaves):
        steps = [step for step in f.structure.ancestors(leaf) if f.structure.split[step[0] - 1]]
        lefts = [node - 1 for node, right in steps if not right]
        rights = [node - 1 for node, right in steps if right]
        for p in np.flatnonzero(f.columns.level < 0):
            for s in lefts:
                for r in rights:
                    f.build.row(
                        "features_once",
                        (v.a[p, [s, r]], 1),
                        (v.b[r], 1),
                        (v.q[at], 1),
                        upper=3,
                    )
        for p in np.flatnonzero(f.columns.level >= 0):
            others = f.columns.of_feature(int(f.columns.feature[p]))
            others = others[others != p]
            for s, r in combinations(lefts, 2):
                f.build.row(
                    "features_once", (v.a[p, s], 1), (v.a[others, r], 1), (v.q[at], 1), upper=2
                )


def _path_steps(f: Formulation) -> Iterator[tuple[int, int, bool]]:
    """Position in T_obj, splitting ancestor, and side, of each step to each target leaf."""
    for at, leaf in enumerate(f.structure.target_leaves):
        for node, went_right in f.structure.ancestors(leaf):
            if f.structure.split[node - 1]:
                yield at, node, went_right


def _may(f: Formulation, column: int, *, right: bool) -> bool:
    """Whether the rule may have a condition on a column, on this side of a split."""
    ops = f.problem.ops_of(int(f.columns.feature[column]))
    return bool(ops & ({Op.GE, Op.EQ} if right else {Op.LT, Op.NE}))
