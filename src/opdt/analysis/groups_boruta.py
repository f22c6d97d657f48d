"""Boruta: which features beat the best of randomly permuted copies of all features.

Kursa and Rudnicki, Feature Selection with the Boruta Package, Journal of Statistical Software 36
(11), 2010. A forest is grown on the features and their shadows, copies with their rows permuted; a
feature scores a hit when its importance exceeds that of every shadow. Many rounds decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.groups_importance import fit
from opdt.table import Column, Table

CONFIRMED, TENTATIVE, REJECTED = "confirmed", "tentative", "rejected"
LEAST_SHADOWS = 5  # as in the original: fewer make too low a hurdle
# Random forests in the usual setting: bootstrap-sized samples, and few features at each node.
_FOREST = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.632}

Hits = NDArray[np.int64]


@dataclass(frozen=True)
class Boruta:
    """What Boruta decided about every feature.

    Attributes
    ----------
    names : tuple of str, length n_features
    decisions : tuple of str, length n_features
        ``confirmed``, ``tentative`` or ``rejected``.
    hits : tuple of int, length n_features
        Rounds in which the feature beat every shadow.
    rounds : tuple of int, length n_features
        Rounds in which the feature took part: up to the one in which it was decided on.
    """

    names: tuple[str, ...]
    decisions: tuple[str, ...]
    hits: tuple[int, ...]
    rounds: tuple[int, ...]

    def of(self, decision: str) -> tuple[str, ...]:
        """The features with this decision, in the order of the table."""
        return tuple(
            name for name, own in zip(self.names, self.decisions, strict=True) if own == decision
        )


def table_boruta(table: Table, *, rounds: int, trees: int, alpha: float, seed: int) -> Boruta:
    """Run Boruta on a table.

    A rejected feature leaves the forest; a confirmed one stays and, decided on, collects no more
    hits. It ends when every feature is decided on, or after `rounds` rounds.
    """
    n = table.n_features
    hits, played = np.zeros(n, np.int64), np.zeros(n, np.int64)
    decisions = [TENTATIVE] * n
    for step in range(rounds):
        generator = np.random.default_rng([seed, step])
        kept = [j for j in range(n) if decisions[j] != REJECTED]
        beats = _hits(table, kept, trees, generator)
        for j, hit in zip(kept, beats, strict=True):
            if decisions[j] == TENTATIVE:
                hits[j] += hit
                played[j] += 1
                decisions[j] = decide(int(hits[j]), int(played[j]), alpha / (n * rounds))
        if TENTATIVE not in decisions or all(each == REJECTED for each in decisions):
            break
    return Boruta(table.names, tuple(decisions), tuple(map(int, hits)), tuple(map(int, played)))


def decide(hits: int, rounds: int, level: float) -> str:
    """Return what `hits` out of `rounds` say at a level of significance.

    A feature no better than the best shadow hits with probability at most 1/2. It is confirmed
    when so many hits, and rejected when so few, have at most half the level's probability
    under 1/2: a two-sided binomial test.

    Examples
    --------
    >>> decide(7, 7, 0.05), decide(4, 7, 0.05), decide(0, 7, 0.05)
    ('confirmed', 'tentative', 'rejected')
    """
    from scipy.stats import binom

    if binom.sf(hits - 1, rounds, 0.5) <= level / 2:
        return CONFIRMED
    if binom.cdf(hits, rounds, 0.5) <= level / 2:
        return REJECTED
    return TENTATIVE


def shadows(columns: Sequence[Column], generator: np.random.Generator) -> list[Column]:
    """Return permuted copies of the columns, repeated until there are at least five.

    A shadow has the values and the missing values of its feature, in an order that has nothing
    to do with the classes.
    """
    copies = -(-LEAST_SHADOWS // len(columns))
    return [
        Column(column.name, column.kind, generator.permutation(column.codes), column.values)
        for _ in range(copies)
        for column in columns
    ]


def _hits(
    table: Table, kept: Sequence[int], trees: int, generator: np.random.Generator
) -> list[bool]:
    """Whether each kept feature is more important to a forest than every shadow."""
    real = [table.columns[j] for j in kept]
    columns = real + shadows(real, generator)
    forest, _ = fit(
        columns,
        table,
        rounds=trees,
        seed=int(generator.integers(2**31)),
        feature_fraction_bynode=min(1.0, np.sqrt(len(columns)) / len(columns)),
        **_FOREST,
    )
    gains = np.asarray(forest.feature_importance("gain"))
    return list(map(bool, gains[: len(real)] > gains[len(real) :].max()))
