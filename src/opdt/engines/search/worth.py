"""What the rows of a table in memory are worth to the search on cells."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.pricing import UnitPrice
from opdt.engines.search.records import Task, group_classes, priced_tasks, task_of
from opdt.engines.search.scan_kernels import Groups
from opdt.engines.search.seeding import sample_prices
from opdt.problem import VolumeImpurity

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Whole = NDArray[np.int64]
FEW_LABELS = 8  # classes whose gains are kept


class Worth:
    """Gains of the rows by label, and the tasks by which cells are counted."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._gains: dict[int, tuple[Whole, Whole]] = {}
        self._priced: dict[int, Whole] = {}

    @cached_property
    def tasks(self) -> list[Task]:
        """The passes over the rows that all labels need: one for all, or one for each."""
        problem, scores = self.run.problem, self.run.scores
        objective = problem.objective
        if not isinstance(objective, VolumeImpurity):
            return [self._task_of_gains(label) for label in objective.labels]
        group_of, groups = group_classes(objective.labels, objective.w, len(problem.table.classes))
        own = group_of[objective.classes]
        order = np.argsort(own, kind="stable")
        starts = np.searchsorted(own[order], np.arange(len(groups.starts)))
        weights = objective.weights[order]
        if (weights == 1).all():
            weights = groups.weights  # each is one
        groups = groups._replace(starts=starts.astype(np.int64), weights=weights)
        return priced_tasks(task_of(groups, order, scores), self.prices)

    @cached_property
    def prices(self) -> dict[int, UnitPrice]:
        """The prices of limits on rows, by label."""
        return sample_prices(self.run)

    def _task_of_gains(self, label: int) -> Task:
        """Any gains per row, in values: those with a positive one, then the others."""
        gains = self.gains(label)[0]
        order = np.argsort(gains <= 0, kind="stable")
        n_right = int((gains > 0).sum())
        one = np.ones(1, np.int64)
        groups = Groups(
            np.array([0, n_right, len(gains)], np.int64), np.abs(gains[order]),
            np.array([label], np.int64), 0 * one, one, one, one,
        )  # fmt: skip
        return Task(groups, one, one, order, 1, 0)

    def gains(self, label: int) -> tuple[Whole, Whole]:
        """Value and error weight of each row under a rule of this class."""
        known = self._gains.get(label)
        if known is None:
            objective = self.run.problem.objective
            known = (
                self.run.scores.gains(self.run.problem, label),
                objective.weights * objective.wrong(label),
            )
            if len(self._gains) >= FEW_LABELS:  # of many classes only a few are at work at a time
                self._gains = {}
            self._gains[label] = known
        return known

    def priced_gains(self, label: int) -> tuple[Whole, Whole]:
        """As `gains`, with the prices of limits added to the values."""
        gains, wrong = self.gains(label)
        price = self.prices.get(label)
        if price is None:
            return gains, wrong
        if label not in self._priced:
            weights = self.run.problem.objective.weights
            self._priced[label] = gains + price.added(weights, wrong)
        return self._priced[label], wrong
