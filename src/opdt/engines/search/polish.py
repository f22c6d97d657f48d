"""From the sets of rays that reach the best value to the first rule in the documented order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from opdt.engines.search.kernels import first_positions
from opdt.errors import EngineFailure
from opdt.problem import CodedRule

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Winner = tuple[int, tuple[int, ...]]  # class, rays


def first_rule(run: Run, winners: Iterable[Winner], value: int) -> CodedRule:
    """The first rule, in the documented order, of all those that reach the value.

    The value fixes gain, number of conditions and errors (where scores carry them), so the order
    of features decides next: only the sets with the first features are worked out.
    """
    candidates = list(winners)
    if run.scores.with_errors:
        features = run.prepared.rays.features
        used = [tuple(sorted(features[list(rays)].tolist())) for _, rays in candidates]
        first = min(used)
        candidates = [c for c, names in zip(candidates, used, strict=True) if names == first]
    rules = [loosest(run, label, rays, value) for label, rays in candidates]
    return min(rules, key=lambda rule: run.problem.key(rule, run.problem.measure(rule)))


def loosest(run: Run, label: int, rays: tuple[int, ...], value: int) -> CodedRule:
    """The rule of a set of rays that reaches a value with the loosest conditions, in order.

    Raises
    ------
    EngineFailure
        If no positions of the rays reach it: the search would have been wrong.
    """
    problem, prepared = run.problem, run.prepared.rays
    order = sorted(rays)  # the rays are built in the order of features and operators
    if not order:
        return CodedRule((), label)
    n, count = problem.table.n_rows, len(order)
    tops = prepared.tops[order]
    wrong = problem.objective.weights * problem.objective.wrong(label)
    goal = value - run.scores.offset(count)
    top = int(tops.max()) + 2
    found = np.zeros(count, np.int64)
    reached = first_positions(
        prepared.levels[order], tops, run.scores.gains(problem, label), problem.objective.weights,
        wrong, goal, run.limits, problem.constraints.bounds_rows, not run.scores.with_errors,
        np.empty((count, n), np.int32), np.empty(count, np.int64), np.zeros(count, np.int64), found,
        *(np.empty(top, np.int64) for _ in range(3)),
    )  # fmt: skip
    if reached < 0:
        raise EngineFailure(f"no conditions on rays {order} reach the value {value} of the search.")
    columns = problem.table.columns
    conditions = tuple(
        prepared.rays[ray].condition(int(at), columns[prepared.rays[ray].feature].n_values)
        for ray, at in zip(order, found, strict=True)
    )
    return CodedRule(conditions, label)
