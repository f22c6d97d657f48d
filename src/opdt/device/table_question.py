"""A table in memory, asked in passes: its codes take the place of keys."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.run import Prepared
from opdt.engines.search.scores import Scores
from opdt.engines.search.seeding import sample_of
from opdt.problem import Problem, VolumeImpurity
from opdt.scale.keys import MISSING
from opdt.scale.question import Question
from opdt.scale.summary import FEW_VALUES

Whole = NDArray[np.int64]

SAMPLE = 100_000  # rows by which features are cut into bins


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
        weights = np.bincount(objective.classes, objective.weights, len(problem.table.classes))
        self.totals = weights.astype(np.int64)
        self.ratio = objective.w
        self.scores = Scores.of(problem)
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

    def sample_problem(self, limit: int) -> Problem:
        """The problem on some of the rows."""
        return sample_of(self.problem, limit)

    def sample_keys(self) -> dict[int, Whole]:
        """The keys of some rows, by which cells are cut."""
        return {
            f: keys_of(column.codes[self._sampled])
            for f, column in enumerate(self.problem.table.columns)
        }

    @cached_property
    def _sampled(self) -> NDArray[Any]:
        if self.n_rows <= SAMPLE:
            return np.arange(self.n_rows)
        return np.random.default_rng(0).integers(0, self.n_rows, SAMPLE)


def keys_of(codes: NDArray[Any]) -> Whole:
    """Codes as keys: a missing value has the key of one."""
    keys = codes.astype(np.int64)
    keys[keys < 0] = MISSING
    return keys
