"""The best choice among listed rules: branch and bound, in whole numbers.

A node has chosen some rules and may still choose `left` others from its list. Its bound is the
Lagrangian one: with multipliers m_i for the wanted rows not yet covered,

    loss >= cost so far + sum m_i - (sum of the `left` largest positive nets of the list),

and a rule whose own net is so small that no set with it reaches the goal leaves the list. The
multipliers come from a linear program, the bound from sums of whole numbers. When two rules may
still be chosen, all pairs are tried at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.column_generation.columns import Covers, greedy
from opdt.analysis.column_generation.loss import Floats
from opdt.analysis.column_generation.master import relax

# Pairs of rules that are compared in one product of matrices.
BLOCK = 1024

Places = NDArray[np.int64]


class BranchNode(NamedTuple):
    """A part of the search space; the heap compares bounds, then depth, then age."""

    bound: float
    left: int
    number: int
    chosen: tuple[int, ...]
    cost: float  # of the rules chosen
    listed: Places  # rules that may still be chosen
    missed: Floats  # what missing each row costs, 0 where it is covered already
    multipliers: Floats


@dataclass(frozen=True)
class Choice:
    """The best choice found.

    Attributes
    ----------
    places : tuple of int, or None
        Places of the rules chosen; None if no set reaches the goal.
    loss : float
        Of the rules chosen; without any, the least loss above the goal.
    bound : float
        No set of listed rules has a smaller loss.
    is_proven : bool
        Whether all sets are settled: none is better than the one found, or reaches the goal.
    nodes : int
    """

    places: tuple[int, ...] | None
    loss: float
    bound: float
    is_proven: bool
    nodes: int


class Branching:
    """Looks for a set of at most `most` rules whose loss is at most the goal.

    Parameters
    ----------
    covers : ndarray of bool of shape (n_columns, n_wanted)
    costs : ndarray of shape (n_columns,)
    missed : ndarray of shape (n_wanted,)
    most : int
    goal : int
        The largest loss of interest.
    step : int
        Losses are multiples of so many units.
    """

    def __init__(
        self, covers: Covers, costs: Floats, missed: Floats, most: int, *, goal: int, step: int
    ) -> None:
        self._fires, self._covers = covers, covers.astype(np.float64)  # the same, for sums
        self._costs, self._missed, self._most = costs, missed, most
        self._goal, self._step = float(goal), step
        self._best: tuple[int, ...] | None = None
        self._heap: list[BranchNode] = []
        self._numbers = count()

    def search(self, multipliers: Floats, *, max_nodes: int, halted: Callable[[], bool]) -> Choice:
        """Settle all sets, beginning with good multipliers."""
        everything = np.arange(len(self._costs))
        self._push(0.0, (), 0.0, everything, self._missed, multipliers, self._most)
        nodes = 0
        while self._heap and self._heap[0].bound <= self._goal:
            if nodes >= max_nodes or halted():
                return self._choice(self._heap[0].bound, nodes, is_proven=False)
            nodes += 1
            self._settle(heapq.heappop(self._heap))
        return self._choice(self._goal + self._step, nodes, is_proven=True)

    def _choice(self, bound: float, nodes: int, *, is_proven: bool) -> Choice:
        best = self._goal + self._step
        return Choice(self._best, best, min(bound, best), is_proven, nodes)

    def _push(
        self,
        bound: float,
        chosen: tuple[int, ...],
        cost: float,
        listed: Places,
        missed: Floats,
        multipliers: Floats,
        left: int,
    ) -> None:
        bound = float(np.ceil(bound / self._step) * self._step)
        number = next(self._numbers)
        node = BranchNode(bound, left, number, chosen, cost, listed, missed, multipliers)
        heapq.heappush(self._heap, node)

    def _offer(self, chosen: tuple[int, ...], loss: float) -> None:
        """Take a set that reaches the goal; from now on only better ones are of interest."""
        if loss <= self._goal:
            self._best, self._goal = chosen, loss - self._step

    # -- one node ----------------------------------------------------------------------------

    def _settle(self, node: BranchNode) -> None:
        """Find the best set of a node at once, or show that there is none, or branch."""
        loss = node.cost + float(node.missed.sum())
        self._offer(node.chosen, loss)
        if node.left == 0:
            return
        listed, _ = self._useful(node, node.listed, node.missed)
        if not len(listed):
            return
        if node.left == 1:
            savings = self._covers[listed] @ node.missed - self._costs[listed]
            best = int(savings.argmax())
            self._offer((*node.chosen, int(listed[best])), loss - float(savings[best]))
        elif node.left == 2:
            self._pairs(node, listed, loss)
        else:
            self._branch(node, listed)

    def _useful(
        self, node: BranchNode, listed: Places, multipliers: Floats
    ) -> tuple[Places, float]:
        """The rules that some set below the node that reaches the goal may hold, and the bound.

        With what missing a row costs as its multiplier, nets are true savings, and a rule that
        saves nothing is not needed.
        """
        multipliers = np.minimum(multipliers, node.missed)
        nets = self._covers[listed] @ multipliers - self._costs[listed]
        top = np.maximum(np.sort(nets)[::-1][: node.left], 0)
        start = node.cost + float(multipliers.sum())
        bound = start - float(top.sum())
        if bound > self._goal:
            return listed[:0], bound
        keep = start - nets - float(top[: node.left - 1].sum()) <= self._goal
        if np.array_equal(multipliers, node.missed):
            keep &= nets > 0
        return listed[keep], bound

    def _pairs(self, node: BranchNode, listed: Places, loss: float) -> None:
        """Try all sets of at most two rules."""
        covers, costs = self._covers[listed], self._costs[listed]
        weighted = covers * node.missed
        savings = weighted.sum(axis=1) - costs
        for start in range(0, len(listed), BLOCK):
            block = slice(start, start + BLOCK)
            both = savings[block, None] + savings - weighted[block] @ covers.T
            # A rule with itself: the rule alone.
            places = np.arange(start, min(start + BLOCK, len(listed)))
            both[places - start, places] = savings[places]
            first, second = np.unravel_index(int(both.argmax()), both.shape)
            pair = sorted({int(listed[start + first]), int(listed[second])})
            self._offer((*node.chosen, *pair), loss - float(both[first, second]))

    def _branch(self, node: BranchNode, listed: Places) -> None:
        """Bound the node by a linear program; choose a rule, or do without it."""
        listed, bound = self._useful(node, listed, node.multipliers)
        if not len(listed):
            return
        multipliers, chosen = node.multipliers, np.zeros(len(listed))
        rows = node.missed > 0
        found = relax(
            self._fires[np.ix_(listed, rows)],
            self._costs[listed],
            node.missed[rows],
            node.left,
            node.multipliers[rows],
        )
        if found is not None:
            multipliers = np.zeros(len(rows))
            multipliers[rows] = found.multipliers
            self._round(node, listed, found.chosen)
            before, chosen = listed, found.chosen
            listed, sharper = self._useful(node, listed, multipliers)
            chosen = chosen[np.isin(before, listed)]
            bound = max(bound, sharper)
        if not len(listed):
            return
        self._divide(node, listed, chosen, multipliers, max(bound, node.bound))

    def _divide(
        self, node: BranchNode, listed: Places, chosen: Floats, multipliers: Floats, bound: float
    ) -> None:
        """Two nodes: with the rule that is most nearly half chosen, and without it."""
        undecided = np.minimum(chosen, 1 - chosen)
        if undecided.max() <= 0:
            undecided = self._covers[listed] @ node.missed - self._costs[listed]
        at = int(undecided.argmax())
        rule, others = int(listed[at]), np.delete(listed, at)
        missed = np.where(self._fires[rule], 0.0, node.missed)
        cost = node.cost + float(self._costs[rule])
        with_rule = (*node.chosen, rule)
        self._push(bound, with_rule, cost, others, missed, multipliers, node.left - 1)
        self._push(bound, node.chosen, node.cost, others, node.missed, multipliers, node.left)

    def _round(self, node: BranchNode, listed: Places, chosen: Floats) -> None:
        """Offer the greedy choice among the rules that the linear program chooses in part."""
        some = listed[chosen > 0]
        places, loss = greedy(self._fires[some], self._costs[some], node.missed, node.left)
        self._offer((*node.chosen, *(int(some[at]) for at in places)), node.cost + loss)
