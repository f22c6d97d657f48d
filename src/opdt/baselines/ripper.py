"""RIPPER and IREP, by the package wittgenstein, on the library's own bins."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import wittgenstein

from opdt.baselines.base import Baseline, seeded
from opdt.checks import check_int_or_none
from opdt.engines.bins import DEFAULT_BINS, FREQUENCY, BinnedTable, check_bins
from opdt.rules import Condition, Op, Rule
from opdt.table import Table


@dataclass(frozen=True)
class _Wittgenstein(Baseline):
    """Each class in turn is the positive one; the rules of all classes are the result.

    Features go to the package as numbers of bins, which are integers, so that its answer does
    not depend on how Python hashes text. A missing value is a bin of its own, whose condition is
    `is missing`.
    """

    needs: ClassVar[tuple[str, ...]] = ("wittgenstein",)

    seed: int = 0
    bins: int = DEFAULT_BINS
    max_conditions: int | None = None
    binning: str = FREQUENCY

    def __post_init__(self) -> None:
        check_bins(self.bins, self.binning)
        check_int_or_none("max_conditions", self.max_conditions)

    @abstractmethod
    def _model(self) -> Any:
        """An unfitted classifier of the package."""

    def _fit(self, table: Table) -> list[Rule]:
        binned = BinnedTable.of(table, self.bins, binning=self.binning)
        used = [j for j, cells in enumerate(binned.cells.T) if len(np.unique(cells)) > 1]
        if not used:
            return []
        frame = pd.DataFrame(binned.cells[:, used], columns=used)
        found = []
        for code, label in enumerate(table.classes):
            model = self._model()
            # The package seeds Python's generator and leaves it so; it writes of empty rule sets,
            # which are an answer like any other, past the filters for warnings.
            with seeded(self.seed), warnings.catch_warnings(record=True):
                model.fit(frame, y=(table.labels == code).astype(int), pos_class=1)
            for rule in model.ruleset_.rules:
                if self.max_conditions is None or len(rule.conds) <= self.max_conditions:
                    pairs = sorted((int(c.feature), int(c.val)) for c in rule.conds)
                    found.append(Rule(_conditions(table, binned, pairs), label))
        return found


@dataclass(frozen=True)
class RIPPER(_Wittgenstein):
    """Repeated incremental pruning to produce error reduction (Cohen 1995).

    A rule is grown on two thirds of the rows, pruned on the others, and replaced or revised in
    two rounds of optimisation. Those rounds know no limit of length in the package, so rules
    that come out longer than `max_conditions` are dropped.

    Parameters
    ----------
    seed : int
        For the split into rows to grow on and rows to prune on.
    bins : int
        Bins per numeric feature.
    max_conditions : int or None
        The largest number of bins in a rule.
    binning : {"frequency", "width"}
        Whether the bins of a numeric feature hold equally many rows, as those that the package
        makes by itself, or are of equal width.
    """

    name: ClassVar[str] = "ripper"

    max_conditions: int | None = 2

    def _model(self) -> Any:
        return wittgenstein.RIPPER(
            random_state=self.seed, n_discretize_bins=None, max_rule_conds=self.max_conditions
        )


@dataclass(frozen=True)
class IREP(_Wittgenstein):
    """Incremental reduced error pruning (Fürnkranz and Widmer 1994).

    Parameters
    ----------
    seed : int
        For the split into rows to grow on and rows to prune on.
    bins : int
        Bins per numeric feature.
    max_conditions : int or None
        The largest number of bins in a rule; the paper sets no limit.
    binning : {"frequency", "width"}
        Whether the bins of a numeric feature hold equally many rows, as those that the package
        makes by itself, or are of equal width.
    """

    name: ClassVar[str] = "irep"

    def _model(self) -> Any:
        return wittgenstein.IREP(
            random_state=self.seed, n_discretize_bins=None, max_rule_conds=self.max_conditions
        )


def _conditions(table: Table, binned: BinnedTable, pairs: list[tuple[int, int]]) -> list[Condition]:
    """The conditions of features and their bins; beyond the last bin lie missing values."""
    out: list[Condition] = []
    for feature, place in pairs:
        if place == len(binned.bins):
            column = table.columns[feature]
            out.append(Condition(column.name, Op.MISSING, cleaning=column.cleaning))
        else:
            out += binned.bins[place].conditions
    return out
