"""IDS (Lakkaraju, Bach and Leskovec 2016): a small set of short, accurate, disjoint rules.

Rules are mined as frequent combinations of bins, and a subset of them is chosen that maximises a
weighted sum of seven terms. The terms are those of the original, over the pairs of different
rules; the search is the deterministic local search of Feige, Mirrokni and Vondrák, which the
original's guarantee rests on as well, without its factor that skips small improvements.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opdt.baselines.base import Baseline
from opdt.checks import check_int_or_none, check_share
from opdt.engines.bins import DEFAULT_BINS, BinnedTable, check_bins
from opdt.errors import InputError
from opdt.rules import Rule
from opdt.table import Table

Floats = NDArray[np.float64]
N_TERMS = 7


@dataclass(frozen=True)
class IDS(Baseline):
    """Interpretable decision sets by deterministic local search.

    Starting from no rule, the rule whose addition raises the objective most is added as long as
    one does; then a rule is removed if that raises it, and adding resumes. The same data give
    the same rules.

    Parameters
    ----------
    lambdas : tuple of seven floats, none negative
        The weight of each term of `Terms`.
    min_support : float
        The share of rows that a combination of bins must cover to be considered.
    max_conditions : int
        The largest number of bins in a rule.
    max_candidates : int or None
        How many rules are chosen from: the most precise, of equals those that cover most, then
        the shorter. The original chooses from all (None), and then prefers rules that cover
        much to precise ones. The paper's rules are all without error, which is why there is a
        limit by default; agreement with the paper is therefore no evidence for it.
    bins : int
        Bins of equal width per numeric feature. A missing value lies in no bin.
    """

    name: ClassVar[str] = "ids"

    lambdas: tuple[float, ...] = (1.0,) * N_TERMS
    min_support: float = 0.01
    max_conditions: int = 2
    max_candidates: int | None = 50
    bins: int = DEFAULT_BINS

    def __post_init__(self) -> None:
        check_bins(self.bins)
        check_share("min_support", self.min_support)
        check_int_or_none("max_conditions", self.max_conditions)
        check_int_or_none("max_candidates", self.max_candidates)
        if len(self.lambdas) != N_TERMS or any(not 0 <= each < np.inf for each in self.lambdas):
            raise InputError(
                f"'lambdas' must be {N_TERMS} numbers >= 0, one for each term, "
                f"got {self.lambdas!r}."
            )

    def _fit(self, table: Table) -> list[Rule]:
        candidates = Candidates.mine(table, self.bins, self.min_support, self.max_conditions)
        if self.max_candidates is not None:
            candidates = candidates.most_precise(self.max_candidates)
        chosen, _ = local_search(candidates, np.asarray(self.lambdas, dtype=np.float64))
        return [candidates.rule(*each) for each in chosen]


class Terms(NamedTuple):
    """The seven terms of the objective, each larger the better and never negative.

    With S the candidate rules, N the rows and L the length of the longest candidate.
    """

    few_rules: float  # |S| - number of rules
    short_rules: float  # L |S| - number of conditions
    apart_within: float  # N |S|^2 - rows shared by pairs of rules of the same class
    apart_between: float  # N |S|^2 - rows shared by pairs of rules of different classes
    classes: float  # number of classes that have a rule
    right: float  # N |S| - rows of another class covered, summed over the rules
    explained: float  # number of rows covered by a rule of their own class


class Candidates(NamedTuple):
    """Candidate rules: combinations of bins, each with one or more of the classes.

    A rule is written as (combination, class code).
    """

    table: Table
    binned: BinnedTable
    places: tuple[tuple[int, ...], ...]
    covers: NDArray[np.float32]  # (n_combinations, n_rows), 0 or 1; single for quick products
    lengths: NDArray[np.intp]  # (n_combinations,)
    allowed: NDArray[np.bool_]  # (n_combinations, n_classes): which rules there are

    @classmethod
    def mine(cls, table: Table, bins: int, min_support: float, max_conditions: int) -> Self:
        """The frequent combinations of bins of different features, the shorter first."""
        binned = BinnedTable.of(table, bins)
        least = min_support * table.n_rows
        each = np.array(
            [binned.cells[:, b.feature] == at for at, b in enumerate(binned.bins)], dtype=bool
        ).reshape(len(binned.bins), table.n_rows)
        frequent = np.flatnonzero(each.sum(axis=1) >= least)
        level: list[tuple[tuple[int, ...], NDArray[np.bool_]]] = [
            ((int(at),), each[at]) for at in frequent
        ]
        found = list(level)
        for _ in range(1, max_conditions):
            level = [
                ((*places, int(at)), inside)
                for places, cover in level
                for at in frequent
                if binned.bins[at].feature > binned.bins[places[-1]].feature
                and (inside := cover & each[at]).sum() >= least
            ]
            found += level
        covers = np.array([cover for _, cover in found], dtype=np.float32)
        return cls(
            table,
            binned,
            tuple(places for places, _ in found),
            covers.reshape(len(found), table.n_rows),
            np.array([len(places) for places, _ in found], dtype=np.intp),
            np.ones((len(found), len(table.classes)), dtype=bool),
        )

    def most_precise(self, most: int) -> Self:
        """So many of the rules: by precision, then by rows covered, then the shorter ones."""
        classes = np.arange(len(self.table.classes))
        right = self.covers @ (self.table.labels[:, None] == classes).astype(np.float32)
        covered = self.covers.sum(axis=1)
        precision = right / covered[:, None]
        at, label = (each.ravel() for each in np.indices(precision.shape))
        order = np.lexsort((label, at, self.lengths[at], -covered[at], -precision.ravel()))[:most]
        allowed = np.zeros_like(self.allowed)
        allowed[at[order], label[order]] = True
        return self._replace(allowed=allowed)

    @property
    def n_rules(self) -> int:
        """Number of candidate rules."""
        return int(self.allowed.sum())

    def rule(self, at: int, label: int) -> Rule:
        """A candidate with names and thresholds."""
        conditions = (c for place in self.places[at] for c in self.binned.bins[place].conditions)
        return Rule(conditions, self.table.classes[label])


def terms(candidates: Candidates, chosen: list[tuple[int, int]]) -> Terms:
    """The terms of a set of rules, from their definition."""
    labels, n_rows = candidates.table.labels, candidates.table.n_rows
    n_rules = candidates.n_rules
    longest = int(candidates.lengths.max(initial=0))
    covers = [candidates.covers[at] for at, _ in chosen]
    shared = {True: 0.0, False: 0.0}
    for i, j in combinations(range(len(chosen)), 2):
        shared[chosen[i][1] == chosen[j][1]] += float((covers[i] * covers[j]).sum())
    wrong = sum(
        float(c[labels != label].sum()) for c, (_, label) in zip(covers, chosen, strict=True)
    )
    explained = np.zeros(n_rows, dtype=bool)
    for covered, (_, label) in zip(covers, chosen, strict=True):
        explained |= (covered > 0) & (labels == label)
    return Terms(
        few_rules=n_rules - len(chosen),
        short_rules=float(longest * n_rules - sum(candidates.lengths[at] for at, _ in chosen)),
        apart_within=n_rows * n_rules**2 - shared[True],
        apart_between=n_rows * n_rules**2 - shared[False],
        classes=len({label for _, label in chosen}),
        right=n_rows * n_rules - wrong,
        explained=float(explained.sum()),
    )


def local_search(
    candidates: Candidates, lambdas: Floats
) -> tuple[list[tuple[int, int]], list[float]]:
    """The rules of a local maximum in the order chosen, and by how much each step raised it."""
    search = _LocalSearch(candidates, lambdas)
    steps: list[float] = []
    while (step := search.add() or search.remove()) > 0:
        steps.append(step)
    return search.chosen, steps


class _LocalSearch:
    """What adding each candidate and removing each chosen rule is worth, and doing the best.

    Differences of the objective are sums over rows, so a product of covers with weights of rows
    gives those of all candidates at once; the large constants of the terms never enter.
    """

    # Differences are whole numbers if the weights are; anything smaller is rounding.
    _DUST = 1e-6

    def __init__(self, candidates: Candidates, lambdas: Floats) -> None:
        self._candidates, self._lambdas = candidates, lambdas
        table = candidates.table
        n_classes = len(table.classes)
        self._of_class = np.array([table.labels == k for k in range(n_classes)], dtype=np.float32)
        self._counts = np.zeros((n_classes, table.n_rows), dtype=np.float32)  # rules on each row
        self._free = candidates.allowed.copy()
        self.chosen: list[tuple[int, int]] = []

    def add(self) -> float:
        """Add the best candidate if that raises the objective; by how much, or 0."""
        if not self._free.any():
            return 0.0
        worth = np.stack([self._worth(k) for k in range(len(self._of_class))], axis=1)
        worth[~self._free] = -np.inf
        at, label = (int(i) for i in np.unravel_index(np.argmax(worth), worth.shape))
        gain = float(worth[at, label])
        if gain <= self._DUST:
            return 0.0
        self._put(at, label, 1)
        self.chosen.append((at, label))
        return gain

    def remove(self) -> float:
        """Remove the first rule whose removal raises the objective; by how much, or 0."""
        for at, label in self.chosen:
            self._put(at, label, -1)
            gain = -float(self._worth(label, at)[0])
            if gain > self._DUST:
                self.chosen.remove((at, label))
                return gain
            self._put(at, label, 1)
        return 0.0

    def _put(self, at: int, label: int, times: int) -> None:
        self._counts[label] += times * self._candidates.covers[at]
        self._free[at, label] = times < 0

    def _worth(self, label: int, at: int | None = None) -> Floats:
        """The rise of the objective by a rule of this class, for every combination or for one."""
        few, short, within, between, classes, right, explained = self._lambdas
        own, counts = self._of_class[label], self._counts
        rows = (
            explained * own * (counts[label] == 0)
            - right * (1 - own)
            - within * counts[label]
            - between * (counts.sum(axis=0) - counts[label])
        )
        which = slice(None) if at is None else slice(at, at + 1)
        by_rows = self._candidates.covers[which] @ rows.astype(np.float32)
        new_class = classes * (not counts[label].any())
        fixed = new_class - few - short * self._candidates.lengths[which]
        return np.asarray(by_rows + fixed, dtype=np.float64)
