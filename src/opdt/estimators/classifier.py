"""The best rule as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from opdt.arguments import start_clock
from opdt.discovery import discover
from opdt.engines import Engine
from opdt.errors import InputError, UnsupportedProblem
from opdt.estimators.inputs import check_fit, read_rows, take_rows, weighed
from opdt.estimators.one_rule import OneRule
from opdt.objectives import Objective, TargetKind
from opdt.problem import Constraints
from opdt.problem.arguments import ObjectiveLike, StructureLike, is_partitioned, resolve_objective
from opdt.rules.lazy import lazy_choice, lazy_kind
from opdt.solution import Clock, Solution
from opdt.table import Table, column_names
from opdt.table.frames import from_values
from opdt.table.labels import check_weights, code_labels


class OPDTClassifier(OneRule, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that consists of the one best rule.

    Where the rule fires it predicts the rule's class; elsewhere the other class, or with more
    than two classes the most frequent of the others there. Data frames (pandas, polars, Arrow) are
    read by column: text and categories become categorical features, and missing values stay
    missing. Sparse matrices stay sparse. Files, dask and Spark data frames are taken as
    `opdt.discover` takes them, and answered in kind: a dask frame with a dask Series, a Spark
    frame with a Spark Column.

    Parameters
    ----------
    max_depth : int, optional
        The largest number of conditions; the structure's depth, or 2, if left out.
    w : float
        The price of one error, in rows: VI = rows covered - w × errors among them.
    structure : Structure, sequence of group names, or path, optional
        Which features may be used where: `["cat", "num"]`, a `Structure`, or a structure file.
    groups : mapping of name to features, optional
        Groups that the structure refers to, beside `all`, `num` and `cat`.
    label : class, optional
        The class to find a rule for, or "rarest" for the one of the fewest rows; the best over all
        classes if left out. The word also works where labels are encoded before they come here, as
        in bagging, voting and stacking.
    objective : str or Objective
        "vi"; "precision", the most precise rule of at least `min_coverage`; or "coverage", the rule
        that covers the most rows of its class of all that have at least `min_precision`; a
        measure such as "f1" (see [measures](guides/measures.md)); or an
        object for targets of classes, such as `Money(benefit="amount", cost=4)`.
    min_coverage, max_coverage, min_precision : float, optional
        As in `opdt.discover`.
    class_weight : "balanced" or mapping of class to weight, optional
        Factors on the row weights; "balanced" lets all classes weigh the same.
    constraints : Constraints or mapping of its arguments, optional
    roles, missing
        What columns are taken for, and cells that mean no value; as in `opdt.discover`.
    engine : str or Engine
        See `opdt.engine_names()`.
    device : str, optional
        "cuda" or "auto"; see `opdt.discover`.
    time_limit : float, optional
        Seconds from the call of `fit` after which the best rule so far is taken, with a true bound.
    n_jobs : int, optional
        Threads; all cores if left out.
    memory_limit : int or str, optional
        Bytes, or "2GB", that the search may use; see `opdt.discover`.

    Attributes
    ----------
    rule_ : Rule or None
        The rule; None when there is no pattern.
    value_, bound_ : float
        Its value in the objective (the VI, if that is it), and a limit that no rule exceeds.
    status_ : Status
        What is proven: optimal, feasible, no_pattern, infeasible, unknown.
    solution_ : Solution
        Everything the engine reports; `solution_.plan` says what each column was taken for.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only after a fit on a frame whose column names are all strings.

    Examples
    --------
    >>> model = OPDTClassifier(max_depth=1, w=2).fit([[1], [2], [3], [4]], [0, 0, 1, 1])
    >>> print(model.rule_)
    IF x0 >= 2.5 THEN 1
    >>> model.predict([[0], [9]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        max_depth: int | None = None,
        w: float = 10.0,
        *,
        structure: StructureLike = None,
        groups: Mapping[str, Iterable[str]] | None = None,
        label: Any = None,
        objective: ObjectiveLike = "vi",
        min_coverage: float | None = None,
        max_coverage: float | None = None,
        min_precision: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        constraints: Constraints | Mapping[str, Any] | None = None,
        roles: Mapping[str, str] | None = None,
        missing: Any = None,
        engine: str | Engine = "search",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        device: str | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.w = w
        self.structure = structure
        self.groups = groups
        self.label = label
        self.objective = objective
        self.min_coverage = min_coverage
        self.max_coverage = max_coverage
        self.min_precision = min_precision
        self.class_weight = class_weight
        self.constraints = constraints
        self.roles = roles
        self.missing = missing
        self.engine = engine
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.device = device

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the rule.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_features)
            Or a path, pattern, folder or list of paths of CSV or Parquet files, a dask or a
            Spark DataFrame.
        y : array-like of shape (n_rows,)
            For files, dask and Spark the name of a column.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights; a row of weight zero counts as if it were not there. For files, dask
            and Spark the name of a column.
        """
        clock = start_clock(None, self.time_limit, self.n_jobs, self.memory_limit)
        is_path = isinstance(X, (str, PathLike))
        if is_partitioned(X) or (is_path and self.memory_limit is not None):
            return self._fit_partitions(X, y, sample_weight, clock)
        if is_path:
            X, y, sample_weight = read_rows(X, y, sample_weight)
        best_in, _ = resolve_objective(self.objective)
        if isinstance(best_in, Objective) and best_in.target is not TargetKind.CLASSES:
            raise InputError(
                f"OPDTClassifier predicts classes, and {best_in!r} knows none; use OPDTRegressor "
                "for numbers, or discover."
            )
        X, y = check_fit(self, X, y)
        weights, label = weighed(self, y, check_weights(sample_weight, len(y)))
        if weights is not None and not weights.all():
            keep = weights > 0
            X, y, weights = take_rows(X, keep), y[keep], weights[keep]
        self._search(X, y, weights, clock, label)
        labels, classes = code_labels(from_values(y, "y"), fixed_width=y.dtype.kind == "U")
        self.classes_ = classes
        self._names = column_names(X)
        self._learn_parts(Table((), labels, classes, weights), self.covers(X))
        return self

    def _search(self, X: Any, y: Any, sample_weight: Any, clock: Clock, label: Any) -> Solution:
        """Find the rule, and keep what is known about it."""
        solution = discover(
            X,
            y,
            max_depth=self.max_depth,
            w=self.w,
            structure=self.structure,
            groups=self.groups,
            label=label,
            objective=self.objective,
            min_coverage=self.min_coverage,
            max_coverage=self.max_coverage,
            min_precision=self.min_precision,
            constraints=self.constraints,
            roles=self.roles,
            missing=self.missing,
            sample_weight=sample_weight,
            engine=self.engine,
            device=self.device,
            memory_limit=self.memory_limit,
            budget=clock,
        )
        self._keep(solution)
        return solution

    def _fit_partitions(self, X: Any, y: str, sample_weight: str | None, clock: Clock) -> Self:
        """Find the rule where the rows lie; only classes and their weights come here."""
        from opdt.scale.lazy import covered_weights

        if self.class_weight is not None:
            raise InputError(
                "'class_weight' needs the rows in memory; for files, dask and Spark give row "
                "weights as a column, 'sample_weight'."
            )
        solution = self._search(X, y, sample_weight, clock, self.label)
        seen = solution.details
        seen.check_classes()
        self.classes_ = np.array(seen.classes, object if isinstance(seen.classes[0], str) else None)
        self._names = seen.features
        self.n_features_in_ = len(seen.features)
        self.feature_names_in_ = np.array(seen.features, object)
        inside = np.zeros(len(seen.classes))
        if solution.rule is not None and len(seen.classes) > 2:
            inside = covered_weights(solution.rule, X, y, seen.classes, sample_weight)
        elif solution.rule is not None:  # then all errors are of the one other class
            inside += solution.errors
            inside[seen.classes.index(solution.rule.label)] = solution.covered - solution.errors
        self._choose_parts(np.stack([np.array(seen.weights, float) - inside, inside]))
        return self

    def _learn_parts(self, table: Table, inside: NDArray[np.bool_]) -> None:
        """Choose the classes by the training rows outside and inside."""
        n_classes = len(table.classes)
        weights = np.ones(table.n_rows) if table.weights is None else table.weights
        counts = np.stack(
            [
                np.bincount(table.labels[part], weights[part], n_classes)
                for part in (~inside, inside)
            ]
        )
        self._choose_parts(counts.astype(np.float64))

    def _choose_parts(self, counts: NDArray[np.float64]) -> None:
        """Choose the class of the rows outside (row 0) and inside (row 1), and the scores.

        The score of a class is its share of the part's training rows; the predicted class gets
        one more, which makes it the largest whatever the shares are.
        """
        n_classes = len(self.classes_)
        overall = counts.sum(axis=0)
        if self.rule_ is None:
            chosen = [int(overall.argmax())] * 2
        else:
            label = self.classes_.tolist().index(self.rule_.label)
            rest = counts[0] if counts[0].sum() > 0 else overall
            others = np.where(np.arange(n_classes) == label, -1.0, rest)
            chosen = [int(others.argmax()), label]
        self._chosen = np.array(chosen)
        total = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        everything = overall / overall.sum()
        self._shares = np.where(total > 0, shares, everything)  # of a part without rows
        self._scores = shares
        self._scores[[0, 1], chosen] += 1

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, shape (n_rows,); lazy for what `covers` is lazy for."""
        inside = self.covers(X)
        values = self.classes_[self._chosen]
        if lazy_kind(X):
            return lazy_choice(inside, values, "prediction")  # type: ignore[no-any-return]
        return np.asarray(values[inside.astype(np.intp)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Share of each class among the training rows inside or outside the rule, by weight.

        These are training frequencies, and as such on the hopeful side: hold rows out to know the
        rule's precision. The predicted class is the most frequent one wherever the rule is right
        about more than half of its rows, as every rule is for w >= 2, and its class is no
        majority outside.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        check_is_fitted(self)
        if kind := lazy_kind(X):
            raise UnsupportedProblem(
                f"shares of classes are not given for a {kind} DataFrame; use predict or covers."
            )
        return np.asarray(self._shares[self.covers(X).astype(np.intp)])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores that agree with `predict`.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            With two classes positive for `classes_[1]`; with more, the largest is predicted.
            Lazy for what `covers` is lazy for, with two classes only.
        """
        inside = self.covers(X)
        scores: NDArray[np.float64] = self._scores
        if len(self.classes_) == 2:
            scores = scores[:, 1] - scores[:, 0]
        if kind := lazy_kind(X):
            if scores.ndim == 2:
                raise UnsupportedProblem(
                    f"scores of {len(self.classes_)} classes are not given for a {kind} DataFrame; "
                    "use predict or covers."
                )
            return lazy_choice(inside, scores, "score")  # type: ignore[no-any-return]
        return scores[inside.astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        # One rule names one class and its complement: it cannot tell three classes apart.
        tags.classifier_tags.poor_score = True
        return tags
