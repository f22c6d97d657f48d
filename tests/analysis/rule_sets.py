"""The best rule set of a small problem, by an integer program over all rules of the slow twin."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from analysis.enumerated import arguments
from naive import Naive
from opdt.analysis.column_generation.loss import Loss
from opdt.problem import Problem
from opdt.problem.arguments import build_problem

Rows = frozenset[int]


class Universe(NamedTuple):
    """All rules for one class of a small problem, by the rows they cover."""

    problem: Problem
    loss: Loss
    lengths: dict[Rows, int]  # the fewest conditions that cover these rows

    def cost(self, rows: Rows) -> Fraction:
        """What a rule is charged whichever others are chosen."""
        other = sum((self.weight(row) for row in rows if not self.loss.wanted[row]), Fraction(0))
        return other + self.lengths[rows] * self.loss.price * self.loss.unit

    def weight(self, row: int) -> Fraction:
        return int(self.loss.weights[row]) * self.loss.unit

    def loss_of(self, chosen: list[Rows]) -> Fraction:
        """The loss of a set of rules, by its definition."""
        covered = frozenset().union(*chosen)
        missed = [row for row in np.flatnonzero(self.loss.wanted).tolist() if row not in covered]
        start = sum(map(self.weight, missed), Fraction(0))
        return start + sum(map(self.cost, chosen), Fraction(0))

    def optimum(self, most: int) -> Fraction:
        """The smallest loss of a set of at most so many rules: an integer program by HiGHS."""
        covers, wanted = list(self.lengths), np.flatnonzero(self.loss.wanted)
        if not covers:
            return self.loss_of([])
        matrix = np.array([[row in rows for rows in covers] for row in wanted], dtype=float)
        missed = [float(self.weight(row)) for row in wanted]
        costs = [float(self.cost(rows)) for rows in covers]
        n, m = len(covers), len(wanted)
        answer = milp(
            np.concatenate([costs, missed]),
            integrality=np.concatenate([np.ones(n), np.zeros(m)]),
            bounds=Bounds(0, 1),
            constraints=[
                LinearConstraint(np.hstack([matrix, np.eye(m)]), 1, np.inf),
                LinearConstraint(np.concatenate([np.ones(n), np.zeros(m)])[None], 0, most),
            ],
            options={"mip_rel_gap": 0},
        )
        return self.loss_of([covers[at] for at in np.flatnonzero(answer.x[:n] > 0.5)])


def asked(problem: Problem, label: int) -> dict[str, Any]:
    """The arguments that ask for rule sets of this problem's rules for one class."""
    return arguments(problem) | {"label": problem.table.classes.tolist()[label]}


def universe(problem: Problem, label: int, condition_price: float) -> Universe:
    """All rules of a small problem that point to a class."""
    chosen = asked(problem, label)
    one = build_problem(chosen.pop("X"), None, w=2, **chosen)
    twin, lengths = Naive(one), {}
    for tests, rows in twin.rules():
        _, covered, errors = twin.count(rows, label)
        short = twin.simplify(tests)
        if twin.enough(covered, errors) and twin.allowed(short):
            lengths[rows] = min(len(short), lengths.get(rows, len(short)))
    return Universe(one, Loss.of(one, condition_price), lengths)
