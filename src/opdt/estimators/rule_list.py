"""Repeated best rules as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from opdt.analysis.covering import Covering, CoveringStep, sequential_covering, weights_of_default
from opdt.arguments import start_clock
from opdt.engines import Engine
from opdt.estimators.inputs import check_predict
from opdt.estimators.several import checked_table, renamed, welcoming
from opdt.problem import Constraints
from opdt.problem.arguments import StructureLike
from opdt.rules import RuleList
from opdt.table import column_names


class OPDTRuleList(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A list of rules, each the best one on the rows that no rule before it covers.

    A row gets the class of the first rule that fires on it, else the default: the most frequent
    class of the rows on which none fires. Each rule is the proven optimum of the VI on the rows
    that are left to it; the list as a whole is greedy. Any number of classes; data frames are
    read by column as `OPDTClassifier` does.

    Parameters
    ----------
    max_depth : int, optional
        The largest number of conditions of a rule; the structure's depth, or 2, if left out.
    w : float
        The price of one error, in rows: VI = rows covered - w × errors among them. This default
        and that of `class_weight` are those that did best in a study (see the documentation, "Which
        defaults hold?"); the paper's are 10 and None.
    max_rules : int, optional
        The largest number of rules; no limit if None.
    alpha : float, optional
        End the list before the first rule whose p-value, by a permutation test on the rows that
        are left, is above this level. What that does and does not guarantee is said in
        `opdt.analysis.covering.sequential_covering`.
    n_permutations : int
        Permutations of each test.
    structure, groups, label, constraints, roles, missing, engine
        As in `OPDTClassifier`, for each rule. A `min_coverage` ends the list when no rule that
        covers so much gains anything; as a share it is one of the rows that are left.
    class_weight : "balanced" or mapping of class to weight, optional
        Factors on the row weights: "balanced" lets all classes weigh the same, so that a rare class
        has rules too. None counts rows as they are.
    time_limit : float, optional
        Seconds for all rules together, from the call of `fit`.
    n_jobs : int, optional
        Threads; all cores if left out.
    random_state : int
        Seed of the permutations.

    Attributes
    ----------
    rule_list_ : RuleList
        The rules and the default; all exports are there (`to_sql`, `to_python`, …).
    steps_ : tuple of CoveringStep
        For each rule: its `solution` (value, bound, status, covered rows and errors, by weight),
        the number of rows it was found on, the covered weight of each class, and the p-value if
        it was tested.
    covering_ : Covering
        Everything there is to say, why the list ends included.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only after a fit on a frame whose column names are all strings.

    Examples
    --------
    >>> model = OPDTRuleList(max_depth=1, class_weight=None).fit(
    ...     [[1], [2], [3], [4], [5], [6]], list("aaabbc"))
    >>> print(model.rule_list_)
    IF x0 < 3.5 THEN a
    ELSE IF x0 < 5.5 THEN b
    ELSE c
    >>> model.predict([[0], [4], [9]]).tolist(), model.fires([[0], [4], [9]]).tolist()
    (['a', 'b', 'c'], [0, 1, -1])
    """

    def __init__(
        self,
        max_depth: int | None = None,
        w: float = 3.0,
        *,
        max_rules: int | None = 5,
        alpha: float | None = None,
        n_permutations: int = 999,
        structure: StructureLike = None,
        groups: Mapping[str, Iterable[str]] | None = None,
        label: Any = None,
        class_weight: Mapping[Any, float] | str | None = "balanced",
        constraints: Constraints | Mapping[str, Any] | None = None,
        roles: Mapping[str, str] | None = None,
        missing: Any = None,
        engine: str | Engine = "search",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.w = w
        self.max_rules = max_rules
        self.alpha = alpha
        self.n_permutations = n_permutations
        self.structure = structure
        self.groups = groups
        self.label = label
        self.class_weight = class_weight
        self.constraints = constraints
        self.roles = roles
        self.missing = missing
        self.engine = engine
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the rules.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional
            Row weights; a row of weight zero counts as if it were not there.
        """
        clock = start_clock(None, self.time_limit, self.n_jobs)
        X, table, label = checked_table(self, X, y, sample_weight)
        found = sequential_covering(
            table,
            max_depth=self.max_depth,
            w=self.w,
            max_rules=self.max_rules,
            alpha=self.alpha,
            n_permutations=self.n_permutations,
            seed=self.random_state,
            structure=self.structure,
            groups=self.groups,
            label=label,
            constraints=self.constraints,
            engine=self.engine,
            budget=clock,
        )
        self.covering_: Covering = found
        self.steps_: tuple[CoveringStep, ...] = found.steps
        self.rule_list_: RuleList = found.rule_list
        self.classes_ = table.classes
        self._names = column_names(X)
        classes = table.classes.tolist()
        # The default is last, which is where the position -1 points to.
        labels = [*(rule.label for rule in found.rule_list.rules), found.rule_list.default]
        self._chosen = np.array([classes.index(label) for label in labels])
        weights = np.ones(table.n_rows) if table.weights is None else table.weights
        everything = np.bincount(table.labels, weights, len(classes)).astype(np.float64)
        rest = weights_of_default(found.rest, everything)
        counts = np.stack([*(step.counts for step in found.steps), rest])
        self._shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
        return self

    def fires(self, X: Any) -> NDArray[np.int64]:
        """Position of the first rule that fires on each row, -1 where none does, shape (n_rows,).

        Parameters
        ----------
        X : data frame or array-like
            A frame needs only the columns of the rules; an array needs all columns of the fit.
        """
        check_is_fitted(self)
        rules = self.rule_list_
        X, by_name = check_predict(self, X, rules.features)
        if not by_name:
            names = column_names(X)
            rules = RuleList(
                [renamed(rule, self._names, names) for rule in rules.rules], rules.default
            )
        return rules.fires(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, shape (n_rows,)."""
        fires = self.fires(X)
        return np.asarray(self.classes_[self._chosen[fires]])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Share of each class among the training rows that the same rule decided, by weight.

        These are training frequencies, and as such on the hopeful side. The most frequent class
        is the predicted one wherever a rule is right about more than half of its rows, as every
        rule is for w >= 2.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        fires = self.fires(X)
        return np.asarray(self._shares[fires])

    def __sklearn_tags__(self) -> Any:
        return welcoming(super().__sklearn_tags__())
