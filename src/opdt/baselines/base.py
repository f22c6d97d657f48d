"""What every comparison method has in common: data in, rules out, the best of them by VI."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.objectives.gains import volume_impurity
from opdt.problem.arguments import resolve_table
from opdt.problem.lifting import class_code
from opdt.rules import Op, Rule
from opdt.table import Table


class Baseline(ABC):
    """A method that learns rules from a table; `fit` gives the same rules for the same seed.

    A method is a frozen dataclass of its settings; `opdt.baselines.BASELINES` lists them all.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()  # packages beyond the library's own
    weighted: ClassVar[bool] = False  # whether row weights take part

    def fit(self, X: Any, y: Any = None, *, roles: Mapping[str, str] | None = None) -> list[Rule]:
        """The rules the method learns, in its own order; there may be none.

        Parameters
        ----------
        X : data frame, 2-D array, mapping of columns, path, or Table
        y : array-like of shape (n_rows,), or str
            Labels, or the name of the column that holds them. Left out when X is a Table.
        roles : mapping of column to role, optional
        """
        table = resolve_table(X, y, None, roles)
        if table.weights is not None and not self.weighted:
            raise InputError(
                f"baseline {self.name!r} knows no row weights; build the table without "
                "'sample_weight'."
            )
        return self._fit(table)

    @abstractmethod
    def _fit(self, table: Table) -> list[Rule]:
        """The rules the method learns from a table."""


def best_rule(rules: Iterable[Rule], X: Any, y: Any = None, w: float = 10.0) -> Rule | None:
    """The rule of greatest VI on these rows, of equals the first; None where none covers a row.

    The VI of the best rule may be negative: a method is judged by the rules it has learned.

    Parameters
    ----------
    rules : iterable of Rule
    X : data frame, 2-D array, mapping of columns, path, or Table
    y : array-like of shape (n_rows,), or str
        Labels, or the name of the column that holds them. Left out when X is a Table.
    w : float
        The price of one error, in rows.

    Examples
    --------
    >>> from opdt.rules import Condition
    >>> found = [Rule([Condition("age", ">=", edge)], "ill") for edge in (30, 40, 45)]
    >>> print(best_rule(found, {"age": [25, 31, 47, 52]}, ["well", "well", "ill", "ill"]))
    IF age >= 40 THEN ill
    """
    table = X if isinstance(X, Table) else Table.build(X, y, warn=False)
    objective = volume_impurity(table.labels, len(table.classes), w, None, table.weights)
    best: tuple[int, Rule] | None = None
    for rule in rules:
        covered = cover(rule, table)
        gain = int(objective.gains(class_code(table, rule.label))[covered].sum())
        if covered.any() and (best is None or gain > best[0]):
            best = gain, rule
    return None if best is None else best[1]


def cover(rule: Rule, table: Table) -> NDArray[np.bool_]:
    """Rows of a table on which the rule fires, shape (n_rows,): `Rule.covers` without the data."""
    fires = np.ones(table.n_rows, dtype=bool)
    for condition in rule.conditions:
        column = table.columns[table.index(condition.feature)]
        passes = condition.holds(column.values, np.zeros(column.n_values, dtype=bool))
        # One place more, at the end, for the code -1 of missing values.
        fires &= np.append(passes, condition.op is Op.MISSING)[column.codes]
    return fires


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators of NumPy and Python, and put back their states afterwards.

    For packages that draw from them and cannot be given a generator.
    """
    of_numpy, of_python = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        yield
    finally:
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)
