"""Held-out rows: how they are drawn, and what their scores say."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.checks import check_int
from opdt.errors import InputError
from opdt.estimators.inputs import take_rows
from opdt.problem import Constraints
from opdt.problem.lifting import class_code
from opdt.table import Table

Mask = NDArray[np.bool_]


class FoldRows(NamedTuple):
    """Features, labels and weights of some rows; those of weight zero are left out."""

    X: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None

    def where(self, keep: NDArray[np.bool_]) -> FoldRows:
        """Some of the rows."""
        if self.weights is not None:
            keep = keep & (self.weights > 0)
        weights = None if self.weights is None else self.weights[keep]
        return FoldRows(take_rows(self.X, keep), self.y[keep], weights)

    @property
    def total(self) -> float:
        """Number of rows (weighted)."""
        return float(len(self.y) if self.weights is None else self.weights.sum())


def drawn_folds(
    table: Table, n_folds: int, n_repeats: int, random_state: Any, *, label: Any = None
) -> Iterator[tuple[Mask, Mask]]:
    """Stratified folds: the rows to train on and to test on, boolean, shape (n_rows,).

    Their number is lowered to the number of rows of the label class (without one, of the second
    largest class), so that every fold has something to learn from and to test on.
    """
    from sklearn.model_selection import RepeatedStratifiedKFold

    splitter = RepeatedStratifiedKFold(
        n_splits=_fold_count(table, n_folds, label),
        n_repeats=check_int("n_repeats", n_repeats),
        random_state=random_state,
    )
    with warnings.catch_warnings():
        # a class of fewer rows than folds is in some folds only, which does no harm
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        pairs = list(splitter.split(np.zeros(table.n_rows), table.labels))
    return _masks(pairs, table.n_rows)


def given_folds(X: Any, y: NDArray[Any], cv: Any) -> Iterator[tuple[Mask, Mask]]:
    """The folds of a splitter of scikit-learn, or of a list of pairs of indices."""
    from sklearn.model_selection import check_cv

    return _masks(check_cv(cv, y, classifier=True).split(X, y), len(y))


def _masks(pairs: Iterable[tuple[Any, Any]], n_rows: int) -> Iterator[tuple[Mask, Mask]]:
    for pair in pairs:
        train, test = (np.zeros(n_rows, dtype=bool) for _ in pair)
        train[pair[0]], test[pair[1]] = True, True
        yield train, test


def _fold_count(table: Table, n_folds: int, label: Any) -> int:
    if n_folds < 2:
        raise InputError(f"'cv' must be a number of folds >= 2, or a splitter, got {n_folds!r}.")
    counts = np.bincount(table.labels)
    rows = int(np.sort(counts)[-2] if label is None else counts[class_code(table, label)])
    if rows < 2:
        what = "its classes" if label is None else f"class {label!r}"
        raise InputError(
            f"y has too few rows of {what} to hold some out; give more rows, or use "
            "OPDTClassifier with a 'w' of your own."
        )
    return min(n_folds, rows)


@dataclass(frozen=True)
class FoldScores:
    """Counts and scores of candidates on held-out rows, one row per candidate, simplest first.

    Attributes
    ----------
    covered, errors, values : ndarray of shape (n_candidates, n_folds)
        Held-out rows covered, errors among them, and scores, the larger the better.
    tested, trained : ndarray of shape (n_folds,)
        FoldRows that a fold tests on and trains on (weighted).
    """

    covered: NDArray[np.float64]
    errors: NDArray[np.float64]
    values: NDArray[np.float64]
    tested: NDArray[np.float64]
    trained: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean score of each candidate; minus infinity where a score does not exist."""
        mean: NDArray[np.float64] = self.values.mean(axis=1)
        return np.where(np.isnan(mean), -math.inf, mean)

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """Standard error of the mean, corrected for the rows that folds share.

        The variance of k dependent scores is taken as (1/k + tested/trained) times their own
        (Nadeau and Bengio, 2003); with independent scores it would be 1/k times.
        """
        n_folds = self.values.shape[1]
        if n_folds < 2:
            return np.zeros(len(self.values))
        share = float((self.tested / self.trained).mean())
        spread: NDArray[np.float64] = self.values.std(axis=1, ddof=1)
        return np.nan_to_num(spread * math.sqrt(1 / n_folds + share))

    def choose(self, *, one_standard_error: bool, nothing: float | None = None) -> int | None:
        """The place of the candidate to take; None for no rule, whose score is `nothing`."""
        mean = self.mean
        best = int(mean.argmax())
        least = mean[best]
        if one_standard_error:
            least = least - self.standard_error[best]
        if nothing is not None and nothing >= least:
            return None
        return int(np.flatnonzero(mean >= least)[0])

    def table(self, params: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Everything as scikit-learn's `cv_results_` has it, and the pooled shares."""
        results: dict[str, Any] = {"params": list(params)}
        for name in params[0]:
            column = np.empty(len(params), dtype=object)
            column[:] = [each[name] for each in params]
            results[f"param_{name}"] = column
        for fold, values in enumerate(self.values.T):
            results[f"split{fold}_test_score"] = values.copy()
        covered, correct = self.covered.sum(axis=1), (self.covered - self.errors).sum(axis=1)
        precision = np.full(len(params), math.nan)
        np.divide(correct, covered, out=precision, where=covered > 0)
        return results | {
            "mean_test_score": self.values.mean(axis=1),
            "std_test_score": self.values.std(axis=1),
            "se_test_score": self.standard_error,
            "rank_test_score": (self.mean[:, None] < self.mean).sum(axis=1) + 1,
            "test_precision": precision,
            "test_coverage": covered / self.tested.sum(),
        }


def scaled(demands: Constraints, share: float) -> Constraints:
    """The constraints for a share of the rows: numbers of rows are fewer there."""
    changes: dict[str, Any] = {}
    if demands.max_errors is not None:
        changes["max_errors"] = demands.max_errors * share
    if isinstance(demands.min_coverage, Integral) and demands.min_coverage:
        changes["min_coverage"] = math.ceil(int(demands.min_coverage) * share)
    return replace(demands, **changes)
