"""Candidate rules, as columns of an integer program."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.column_generation.loss import Floats, Loss
from opdt.problem import CodedRule, Problem

Covers = NDArray[np.bool_]

# Candidates that are compared with those kept, in one product of matrices.
BLOCK = 512


class RuleColumns:
    """Rules for one class: which wanted rows each covers, and what it costs.

    Of rules that cover the same wanted rows only the cheapest is kept.
    """

    def __init__(self, problem: Problem, loss: Loss) -> None:
        self._problem, self._loss = problem, loss
        self._places: dict[bytes, int] = {}
        self._rules: list[CodedRule] = []
        self._covers: list[Covers] = []
        self._costs: list[float] = []

    def add(self, rule: CodedRule, cover: Covers, cost: float) -> bool:
        """Take a rule with the wanted rows it covers; whether it is new, or cheaper than known."""
        place = self._places.setdefault(np.packbits(cover).tobytes(), len(self._rules))
        if place == len(self._rules):
            self._rules.append(rule)
            self._covers.append(cover)
            self._costs.append(cost)
            return True
        if cost < self._costs[place]:
            self._rules[place], self._costs[place] = rule, cost
            return True
        return False

    def update(self, rules: Iterable[CodedRule]) -> int:
        """Take rules; how many of them are new."""
        new = 0
        for rule in rules:
            cover = self._problem.cover(rule.conditions)
            cost = self._loss.cost(cover, len(rule.conditions))
            new += self.add(rule, cover[self._loss.wanted], cost)
        return new

    def __len__(self) -> int:
        return len(self._rules)

    def rule(self, place: int) -> CodedRule:
        """The rule at a place."""
        return self._rules[place]

    @property
    def covers(self) -> Covers:
        """Which wanted rows each rule covers, shape (n_columns, n_wanted)."""
        shape = (len(self), int(self._loss.wanted.sum()))
        return np.array(self._covers, dtype=bool).reshape(shape)

    @property
    def costs(self) -> Floats:
        """What each rule costs, in units, shape (n_columns,)."""
        return np.array(self._costs, dtype=np.float64)


def greedy(covers: Covers, costs: Floats, missed: Floats, most: int) -> tuple[list[int], float]:
    """Rules chosen one by one, each for the largest saving, and the loss of the set.

    Parameters
    ----------
    covers : ndarray of bool of shape (n_columns, n_wanted)
    costs : ndarray of shape (n_columns,)
    missed : ndarray of shape (n_wanted,)
        What missing each row costs.
    most : int
        How many rules may be chosen.
    """
    chosen: list[int] = []
    left = missed.copy()
    loss = float(left.sum())
    while len(chosen) < most and len(costs):
        savings = covers @ left - costs
        best = int(savings.argmax())
        if savings[best] <= 0:
            break
        chosen.append(best)
        loss -= float(savings[best])
        left[covers[best]] = 0
    return chosen, loss


def undominated(covers: Covers, costs: Floats) -> NDArray[np.int64]:
    """Places of the columns without those for which a better one is there.

    A column is dominated by one that covers all its wanted rows and costs no more: in any set the
    one can be replaced by the other. Of equals the first stays.
    """
    sizes = covers.sum(axis=1)
    order = np.lexsort((-sizes, costs))  # whatever dominates comes before
    kept = np.empty(0, dtype=np.int64)
    # Counts of rows are small whole numbers, which single precision holds.
    kept_covers = np.empty((0, covers.shape[1]), dtype=np.float32)
    for start in range(0, len(order), BLOCK):
        block = order[start : start + BLOCK]
        rows = covers[block].astype(np.float32)
        within = (rows @ kept_covers.T >= sizes[block, None]).any(axis=1)
        block, rows = block[~within], rows[~within]
        earlier = np.tril(rows @ rows.T >= sizes[block, None], -1).any(axis=1)
        kept = np.concatenate([kept, block[~earlier]])
        kept_covers = np.concatenate([kept_covers, rows[~earlier]])
    return np.sort(kept)
