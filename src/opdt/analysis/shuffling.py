"""Labels in random order: what is exchangeable, and how it is exchanged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.objectives import Gains, ObjectiveGains
from opdt.problem import Problem, VolumeImpurity
from opdt.table import Kind, Table
from opdt.table.columns import code_values
from opdt.table.frames import from_values


class WeightsFollow(StrEnum):
    """What a row's weight stays with when labels are permuted."""

    FEATURES = "features"  # weights of the row: survey weights, exposure, reliability
    LABELS = "labels"  # weights of the label: class weights, costs of an outcome


@dataclass(frozen=True, eq=False)
class Shuffler:
    """Permutes the labels of a problem, within strata where there are any.

    Permutation number `index` depends on the seed and the index alone, so that searches may run
    in any order and on any number of threads.

    Attributes
    ----------
    problem : Problem
    seed : int
    strata : ndarray of int of shape (n_rows,)
        The stratum of each row; labels change places within it only.
    weights_follow : WeightsFollow
    """

    problem: Problem
    seed: int
    strata: NDArray[np.int64]
    weights_follow: WeightsFollow

    @classmethod
    def of(cls, problem: Problem, seed: int, strata: Any, weights_follow: Any) -> Shuffler:
        """The shuffler for these arguments of `permutation_test`."""
        follow = _resolve_follow(problem.table, weights_follow)
        shuffler = cls(problem, seed, _resolve_strata(problem.table, strata), follow)
        if not shuffler._has_effect():
            alike = len(problem.table.classes) == 1
            if alike and shuffler.n_strata == 1:
                raise InputError(
                    "all rows are worth the same, so that there is nothing to permute."
                )
            raise InputError(
                "'strata' leaves nothing to permute, since no stratum has rows of two "
                f"{'different worths' if alike else 'classes'}; make the strata larger."
            )
        return shuffler

    @property
    def n_strata(self) -> int:
        """Number of strata; 1 without any."""
        return int(self.strata.max()) + 1

    def objective(self, index: int) -> Gains:
        """The gains with labels, or what rows are worth, in the order of this permutation."""
        objective = self.problem.objective
        order, follow = self.order(index), self.weights_follow is WeightsFollow.LABELS
        if isinstance(objective, ObjectiveGains):
            return objective.permuted(order, with_weights=follow)
        assert isinstance(objective, VolumeImpurity)
        weights = objective.weights[order] if follow else objective.weights
        return replace(objective, classes=objective.classes[order], weights=weights)

    def order(self, index: int) -> NDArray[np.int64]:
        """The row from which each row takes its label, shape (n_rows,).

        Uniform over all permutations that keep the strata.
        """
        shuffled = np.random.default_rng([self.seed, index]).permutation(len(self.strata))
        by_stratum = shuffled[np.argsort(self.strata[shuffled], kind="stable")]
        order = np.empty_like(shuffled)
        order[np.argsort(self.strata, kind="stable")] = by_stratum
        return order

    def _has_effect(self) -> bool:
        labels: NDArray[Any] = self.problem.table.labels
        objective = self.problem.objective
        if isinstance(objective, ObjectiveGains) and not objective.chance_by_rows:
            labels = objective.worth
        pairs = np.unique(np.stack([self.strata, labels]), axis=1)
        return int(pairs.shape[1]) > self.n_strata


def _resolve_follow(table: Table, given: Any) -> WeightsFollow:
    if given is not None:
        try:
            return WeightsFollow(given)
        except ValueError:
            raise InputError(
                f"'weights_follow' must be 'features', 'labels' or None, got {given!r}."
            ) from None
    if table.weights is None:
        return WeightsFollow.FEATURES
    pairs = np.unique(np.stack([table.labels, table.weights]), axis=1)
    of_class = pairs.shape[1] == len(np.unique(table.labels))
    return WeightsFollow.LABELS if of_class else WeightsFollow.FEATURES


def _resolve_strata(table: Table, strata: Any) -> NDArray[np.int64]:
    if strata is None:
        return np.zeros(table.n_rows, np.int64)
    if isinstance(strata, str):
        codes = table.columns[table.index(strata)].codes
    else:
        codes, _ = code_values(from_values(strata, "'strata'"), Kind.CATEGORICAL, "'strata'")
    if len(codes) != table.n_rows:
        raise InputError(
            f"'strata' must have one value for each of the {table.n_rows} rows, got {len(codes)}."
        )
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)
