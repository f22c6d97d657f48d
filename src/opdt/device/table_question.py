"""A table in memory, asked in passes: its codes take the place of keys."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.run import Prepared
from opdt.engines.search.scores import Scores
from opdt.engines.search.seeding import sample_of
from opdt.problem import Problem, VolumeImpurity
from opdt.scale.keys import MISSING
from opdt.scale.layers import PartitionLayer
from opdt.scale.question import Question
from opdt.scale.summary import FEW_VALUES

Whole = NDArray[np.int64]

SAMPLE = 40_000  # rows by which features are cut into bins


class TableQuestion(Question):
    """The question of a table in memory, which is asked in passes like any other.

    Keys are codes: a value's rank among those of its column, without gaps.
    """

    def __init__(self, problem: Problem, prepared: Prepared) -> None:
        objective = problem.objective
        if not isinstance(objective, VolumeImpurity):
            raise TypeError("rows on a device are counted by class")
        self.problem, self.prepared, self.objective = problem, prepared, objective
        self.n_rows = problem.table.n_rows
        self._sample: dict[int, Whole] = {}
        # axes by the number of conditions and of bins
        self.layers: dict[tuple[int, int], PartitionLayer] = {}
        self.totals = _by_class(objective, len(problem.table.classes))
        self.ratio = objective.w
        self.scores = Scores.of_sums(
            int(self.totals.sum()), max(1, *map(self._absolute, objective.labels)),
            problem.structure.depth,
        )  # fmt: skip
        columns = problem.table.columns
        self.absent = np.array([column.has_missing for column in columns], np.int64)
        numeric = {f: columns[f] for f in problem.table.numeric}
        self.ranges = {
            f: np.array([0, c.n_values - 1] if c.n_values else [], np.int64)
            for f, c in numeric.items()
        }
        self.values: dict[int, Whole | None] = {
            f: np.arange(c.n_values) if c.n_values <= FEW_VALUES else None
            for f, c in numeric.items()
        }

    def _absolute(self, label: int) -> int:
        """The sum of the absolute gains of all rows, for rules of a class."""
        right, wrong = self.ratio.denominator, self.ratio.numerator - self.ratio.denominator
        own = int(self.totals[label])
        return right * own + wrong * (int(self.totals.sum()) - own)

    @property
    def ceiling(self) -> int:
        """A gain in units that no rule exceeds: all rows of one class and no others."""
        return self.ratio.denominator * max(int(self.totals[c]) for c in self.objective.labels)

    def sample_problem(self, limit: int) -> Problem:
        """The problem on some of the rows."""
        return sample_of(self.problem, limit)

    def sample_keys(self) -> dict[int, Whole]:
        """The keys of some rows, by which cells are cut."""
        if not self._sample:
            rows = np.arange(self.n_rows)
            if self.n_rows > SAMPLE:
                rows = np.random.default_rng(0).integers(0, self.n_rows, SAMPLE)
            columns = enumerate(self.problem.table.columns)
            self._sample.update({f: keys_of(column.codes[rows]) for f, column in columns})
        return self._sample

    def again(self, problem: Problem) -> TableQuestion:
        """Another question about the same table: what depends on the table alone is known."""
        other = TableQuestion(problem, self.prepared)
        other._sample, other.layers = self._sample, self.layers
        return other


def keys_of(codes: NDArray[Any]) -> Whole:
    """Codes as keys: a missing value has the key of one."""
    keys = codes.astype(np.int64)
    keys[keys < 0] = MISSING
    return keys


def _by_class(objective: VolumeImpurity, n_classes: int) -> Whole:
    """The weight of the rows of each class (n_classes,)."""
    weights = objective.weights
    if (weights == 1).all():
        return np.bincount(objective.classes, minlength=n_classes).astype(np.int64)
    rows = (objective.classes == c for c in range(n_classes))
    return np.array([int(weights[own].sum()) for own in rows], np.int64)
