"""All rules of a small problem by their counts, from the slow twin, and how to ask about them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from naive import Naive
from opdt.engines.prices import Pricer
from opdt.problem import Problem
from opdt.solution import Budget

Counts = tuple[Fraction, Fraction]  # covered rows, errors


def arguments(problem: Problem) -> dict[str, Any]:
    """The arguments that make this problem, but for its price."""
    labels = problem.objective.labels
    single = len(labels) == 1 and len(problem.table.classes) > 1
    return {
        "X": problem.table,
        "structure": problem.structure,
        "groups": dict(problem.groups.custom),
        "label": problem.table.classes.tolist()[labels[0]] if single else None,
        "constraints": problem.constraints,
    }


def all_counts(problem: Problem) -> set[Counts]:
    """Covered rows and errors of every allowed rule; of the empty one, where that is allowed."""
    # the units that paths count in: they differ from those of a single price for weights
    # that no decimal writes
    twin = Naive(Pricer(problem, "exhaustive", Budget()).problem)
    found: set[Counts] = {(Fraction(0), Fraction(0))} if problem.may_be_empty else set()
    for tests, rows in twin.rules():
        for label in twin.labels:
            _, covered, errors = twin.count(rows, label)
            if (covered, errors) in found or not twin.enough(covered, errors):
                continue
            if twin.allowed(twin.simplify(tests)):
                found.add((covered, errors))
    return found


def has_decimals(problem: Problem) -> bool:
    """Whether the row weights are short decimals, which every price counts exactly."""
    weights = problem.table.weights
    return weights is None or np.array_equal(np.round(weights, 6), weights)
