"""The best set of rules as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from opdt.analysis.column_generation import RuleSetSolution, best_rule_set
from opdt.arguments import start_clock
from opdt.errors import InputError
from opdt.estimators.inputs import check_predict
from opdt.estimators.several import checked_table, renamed, welcoming
from opdt.problem import Constraints
from opdt.problem.arguments import StructureLike
from opdt.rules import RuleSet
from opdt.solution import Status
from opdt.table import column_names


class OPDTRuleSet(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A few short rules for one of two classes: a row belongs to it if any of them fires.

    Of all sets of at most `max_rules` rules, the one with the smallest loss on the training rows:
    rows of the class that no rule covers, plus other rows that rules cover (once for each rule),
    plus `condition_price` for every condition. Thresholds are not binned beforehand: every value
    of the data is a candidate. `value_` and `bound_` say how good the set is, and how good one
    could be at most.

    Parameters
    ----------
    max_rules : int
        The largest number of rules.
    max_depth : int, optional
        The largest number of conditions of a rule; the structure's depth, or 2, if left out.
    condition_price : float
        How many training rows (in the measure of `sample_weight`) a condition must save.
    structure, groups, constraints, roles, missing
        As in `OPDTClassifier`, for each rule.
    label : class, optional
        The class that the rules describe, or "rarest"; the one with the smaller loss if left out.
    class_weight : "balanced" or mapping of class to weight, optional
        Factors on the row weights; "balanced" lets all classes weigh the same.
    time_limit : float, optional
        Seconds from the call of `fit` after which the best set so far is taken, with a true bound.
    n_jobs : int, optional
        Threads of each search. One if left out, all cores above 20,000 rows.

    Attributes
    ----------
    rule_set_ : RuleSet
        The rules; all exports are there (`to_sql`, `to_python`, …).
    value_, bound_ : float
        The loss of the set on the training rows, and a limit that no set falls below.
    status_ : Status
        `optimal` if the two are equal, else `feasible`.
    solution_ : RuleSetSolution
        Everything that is known about the set.
    classes_ : ndarray of shape (2,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only after a fit on a frame whose column names are all strings.

    Notes
    -----
    Two classes only. For more, `sklearn.multiclass.OneVsRestClassifier(OPDTRuleSet())` learns a
    set for each, and `OPDTRuleList` one list for all.

    Examples
    --------
    >>> X, y = [[1], [2], [3], [4], [5], [6], [7]], [1, 1, 1, 0, 0, 1, 1]
    >>> model = OPDTRuleSet(condition_price=0.5, label=1).fit(X, y)
    >>> print(model.rule_set_)
    IF x0 < 3.5
    OR x0 >= 5.5
    THEN 1
    ELSE 0
    >>> model.value_, model.bound_, model.predict([[0], [4.5], [9]]).tolist()
    (1.0, 1.0, [1, 0, 1])
    """

    def __init__(
        self,
        max_rules: int = 5,
        max_depth: int | None = None,
        *,
        condition_price: float = 1.0,
        structure: StructureLike = None,
        groups: Mapping[str, Iterable[str]] | None = None,
        label: Any = None,
        class_weight: Mapping[Any, float] | str | None = None,
        constraints: Constraints | Mapping[str, Any] | None = None,
        roles: Mapping[str, str] | None = None,
        missing: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_rules = max_rules
        self.max_depth = max_depth
        self.condition_price = condition_price
        self.structure = structure
        self.groups = groups
        self.label = label
        self.class_weight = class_weight
        self.constraints = constraints
        self.roles = roles
        self.missing = missing
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the rules.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels of two classes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights; a row of weight zero counts as if it were not there.
        """
        clock = start_clock(None, self.time_limit, self.n_jobs)
        X, table, label = checked_table(self, X, y, sample_weight)
        if len(table.classes) > 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"y has {len(table.classes)} classes; use OneVsRestClassifier(OPDTRuleSet()) or "
                "OPDTRuleList."
            )
        found = best_rule_set(
            table,
            max_rules=self.max_rules,
            condition_price=self.condition_price,
            max_depth=self.max_depth,
            structure=self.structure,
            groups=self.groups,
            label=label,
            constraints=self.constraints,
            budget=clock,
        )
        self.solution_: RuleSetSolution = found
        self.rule_set_: RuleSet = found.rule_set
        self.value_: float = found.value
        self.bound_: float = found.bound
        self.status_: Status = found.status
        self.classes_ = table.classes
        self._names = column_names(X)
        label = table.classes.tolist().index(found.rule_set.label)
        self._chosen = np.array([1 - label, label])
        weights = np.ones(table.n_rows) if table.weights is None else table.weights
        inside = self.covers(X)
        counts = np.stack(
            [np.bincount(table.labels[part], weights[part], 2) for part in (~inside, inside)]
        )
        everything = counts.sum(axis=0)
        counts = np.where(counts.any(axis=1, keepdims=True), counts, everything)
        self._shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
        return self

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Rows on which any rule fires, boolean, shape (n_rows,).

        Parameters
        ----------
        X : data frame or array-like
            A frame needs only the columns of the rules; an array needs all columns of the fit.
        """
        check_is_fitted(self)
        rules = self.rule_set_
        X, by_name = check_predict(self, X, rules.features)
        if not by_name:
            names = column_names(X)
            rules = RuleSet(
                [renamed(rule, self._names, names) for rule in rules.rules],
                rules.label,
                rules.default,
            )
        return rules.covers(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, shape (n_rows,)."""
        inside = self.covers(X)
        return np.asarray(self.classes_[self._chosen[inside.astype(np.intp)]])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Share of each class among the training rows on which a rule fires, or on which none does.

        These are training frequencies, and as such on the hopeful side. Where none fires, the
        class of the rules may still be the more frequent one; `predict` follows the rules.

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        inside = self.covers(X)
        return np.asarray(self._shares[inside.astype(np.intp)])

    def __sklearn_tags__(self) -> Any:
        tags = welcoming(super().__sklearn_tags__())
        tags.classifier_tags.multi_class = False
        return tags
