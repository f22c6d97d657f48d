"""Held-out rows: how they are drawn, and what their scores say."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError

Mask = NDArray[np.bool_]


def folds(
    X: Any, y: NDArray[Any], cv: Any, n_repeats: int, random_state: Any, *, target: Any = None
) -> Iterator[tuple[Mask, Mask]]:
    """The rows to train on and the rows to test on, boolean, shape (n_rows,), fold after fold.

    A number of folds is lowered to the number of rows of the target class (without one, of the
    second largest class), so that every fold has something to learn from and to test on.
    """
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        pairs = _drawn(y, _fold_count(y, int(cv), target), n_repeats, random_state)
    else:
        from sklearn.model_selection import check_cv

        pairs = check_cv(cv, y, classifier=True).split(X, y)
    for pair in pairs:
        train, test = (np.zeros(len(y), dtype=bool) for _ in pair)
        train[pair[0]], test[pair[1]] = True, True
        yield train, test


def _drawn(y: NDArray[Any], n_splits: int, n_repeats: int, random_state: Any) -> Iterator[Any]:
    from sklearn.model_selection import RepeatedStratifiedKFold

    if not isinstance(n_repeats, Integral) or n_repeats < 1:
        raise InputError(f"'n_repeats' must be an int >= 1, got {n_repeats!r}.")
    splitter = RepeatedStratifiedKFold(
        n_splits=n_splits, n_repeats=int(n_repeats), random_state=random_state
    )
    with warnings.catch_warnings():
        # a class of fewer rows than folds is in some folds only, which does no harm
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        yield from splitter.split(np.zeros(len(y)), y)


def _fold_count(y: NDArray[Any], cv: int, target: Any) -> int:
    if cv < 2:
        raise InputError(f"'cv' must be a number of folds >= 2, or a splitter, got {cv!r}.")
    counts = np.sort(np.unique(y, return_counts=True)[1])
    rows = int(counts[-2]) if target is None else int((y == target).sum())
    if min(cv, rows) < 2:
        what = "its classes" if target is None else f"class {target!r}"
        raise InputError(
            f"y has too few rows of {what} to hold some out; give more rows, or use "
            "OPDTClassifier with a 'w' of your own."
        )
    return min(cv, rows)


@dataclass(frozen=True)
class Scores:
    """Counts and scores of candidates on held-out rows, one row per candidate, simplest first.

    Attributes
    ----------
    covered, errors, values : ndarray of shape (n_candidates, n_folds)
        Held-out rows covered, errors among them, and scores, the larger the better.
    tested, trained : ndarray of shape (n_folds,)
        Rows that a fold tests on and trains on (weighted).
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
