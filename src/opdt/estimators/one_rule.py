"""What estimators of one rule share: the rule, and the rows on which it fires."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from opdt.estimators.inputs import check_predict
from opdt.problem.arguments import is_partitioned
from opdt.rules import Rule, RuleSet
from opdt.rules.lazy import lazy_covers, lazy_kind
from opdt.solution import Budget, Solution, Status
from opdt.table import column_names, read_frame


class OneRule:
    """Keeps the solution of a fit, and applies its rule to rows."""

    n_jobs: int | None
    _names: tuple[str, ...]

    def _keep(self, solution: Solution) -> None:
        """Take what is known about the rule."""
        self.solution_: Solution = solution
        self.rule_: Rule | None = solution.rule
        self.value_: float = solution.value
        self.bound_: float = solution.bound
        self.status_: Status = solution.status

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Rows on which the rule fires, boolean, shape (n_rows,); none without a rule.

        Parameters
        ----------
        X : data frame or array-like
            A frame needs only the rule's own columns; an array needs all columns of the fit. A
            pattern, folder or list of paths is read a piece at a time; a dask DataFrame gives a
            dask Series and a Spark DataFrame a Spark Column.
        """
        check_is_fitted(self)
        if is_partitioned(X):
            return self._covers_partitions(X)  # type: ignore[no-any-return]
        if isinstance(X, (str, PathLike)):
            X = read_frame(X)
        rule = Rule((), None) if self.rule_ is None else self.rule_
        X, by_name = check_predict(self, X, rule.features)
        if not by_name:
            rule = self._by_position(rule, column_names(X))
        fires = rule.covers(X)
        return fires if self.rule_ is not None else np.zeros_like(fires)

    def _covers_partitions(self, X: Any) -> Any:
        rule = RuleSet([], None, None) if self.rule_ is None else self.rule_
        if lazy_kind(X):
            return lazy_covers(rule, X)
        from opdt.scale.lazy import covered_rows

        return covered_rows(rule, X, threads=Budget(n_jobs=self.n_jobs).n_threads)

    def _by_position(self, rule: Rule, names: tuple[str, ...]) -> Rule:
        """The rule with the names that an input without the names of the fit has."""
        place = dict(zip(self._names, names, strict=True))
        return Rule([replace(c, feature=place[c.feature]) for c in rule.conditions], rule.label)
