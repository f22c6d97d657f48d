"""Where a number is high, or low, as a scikit-learn regressor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array

from opdt.arguments import start_clock
from opdt.discovery import discover
from opdt.engines import Engine
from opdt.estimators.inputs import check_fit, read_rows, take_rows
from opdt.estimators.one_rule import OneRule
from opdt.objectives import Mean
from opdt.problem import Constraints
from opdt.problem.arguments import StructureLike
from opdt.rules.lazy import lazy_choice, lazy_kind
from opdt.table import column_names
from opdt.table.labels import check_weights


class OPDTRegressor(OneRule, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor that consists of the one rule under which the target is highest, or lowest.

    It predicts two numbers: the mean of the training rows that the rule covers, and the mean of
    all others. That is honest about what one rule can say, and no rival of a regression: the rule
    is what it is for.

    Parameters
    ----------
    max_depth : int, optional
        The largest number of conditions; the structure's depth, or 2, if left out.
    threshold : float, optional
        Find the largest sum of (y - threshold) over the rows covered. If left out, find the
        highest mean of all rules that cover at least `min_coverage`.
    direction : "high" or "low"
        See `opdt.Mean`.
    min_coverage : float, optional
        As in `opdt.discover`; 5 % of the rows without a threshold, if left out.
    max_coverage : float, optional
        As in `opdt.discover`.
    structure, groups, constraints, roles, missing, engine, time_limit, n_jobs, memory_limit
        As in `OPDTClassifier`.

    Attributes
    ----------
    rule_ : Rule or None
        The rule; None when there is no pattern.
    inside_, outside_ : float
        The mean of the training rows that the rule covers, and of all others, by weight.
    value_, bound_, status_, solution_, n_features_in_, feature_names_in_
        As in `OPDTClassifier`.

    Examples
    --------
    >>> model = OPDTRegressor(max_depth=1, min_coverage=2).fit([[1], [2], [3], [4]], [1, 2, 8, 9])
    >>> print(model.rule_)
    IF x0 >= 2.5 THEN high
    >>> model.predict([[0], [9]]).tolist()
    [1.5, 8.5]
    """

    def __init__(
        self,
        max_depth: int | None = None,
        *,
        threshold: float | None = None,
        direction: str = "high",
        min_coverage: float | None = None,
        max_coverage: float | None = None,
        structure: StructureLike = None,
        groups: Mapping[str, Iterable[str]] | None = None,
        constraints: Constraints | Mapping[str, Any] | None = None,
        roles: Mapping[str, str] | None = None,
        missing: Any = None,
        engine: str | Engine = "search",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.threshold = threshold
        self.direction = direction
        self.min_coverage = min_coverage
        self.max_coverage = max_coverage
        self.structure = structure
        self.groups = groups
        self.constraints = constraints
        self.roles = roles
        self.missing = missing
        self.engine = engine
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the rule.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_features), or path
        y : array-like of shape (n_rows,)
            Numbers; for a path the name of a column.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights; a row of weight zero counts as if it were not there.
        """
        clock = start_clock(None, self.time_limit, self.n_jobs, self.memory_limit)
        if isinstance(X, (str, PathLike)):
            X, y, sample_weight = read_rows(X, y, sample_weight)
        X, y = check_fit(self, X, y)
        y = check_array(y, ensure_2d=False, dtype="numeric", input_name="y", estimator=self)
        weights = check_weights(sample_weight, len(y))
        if weights is not None and not weights.all():
            keep = weights > 0
            X, y, weights = take_rows(X, keep), y[keep], weights[keep]
        solution = discover(
            X,
            y,
            max_depth=self.max_depth,
            structure=self.structure,
            groups=self.groups,
            objective=Mean(threshold=self.threshold, direction=self.direction),
            min_coverage=self.min_coverage,
            max_coverage=self.max_coverage,
            constraints=self.constraints,
            roles=self.roles,
            missing=self.missing,
            sample_weight=weights,
            engine=self.engine,
            budget=clock,
        )
        self._keep(solution)
        self._names = column_names(X)
        numbers = np.asarray(y, np.float64)
        each = np.ones(len(numbers)) if weights is None else weights
        fires = self.covers(X)
        overall = float(np.average(numbers, weights=each))
        parts = [
            float(np.average(numbers[part], weights=each[part])) if part.any() else overall
            for part in (~fires, fires)
        ]
        self.outside_, self.inside_ = parts
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The mean of the part that each row lies in, shape (n_rows,); lazy where `covers` is."""
        fires = self.covers(X)
        means = np.array([self.outside_, self.inside_])
        if lazy_kind(X):
            return lazy_choice(fires, means, "prediction")  # type: ignore[no-any-return]
        return means[fires.astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.regressor_tags.poor_score = True  # two numbers are no regression
        return tags
