"""Volume-impurity index, precision and coverage of a rule on any rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opdt.analysis.intervals import share_interval
from opdt.errors import InputError
from opdt.problem.objective import error_price
from opdt.report.formats import format_count, format_share
from opdt.rules import Rule, RuleSet
from opdt.table import open_source, raw_column
from opdt.table.labels import check_weights


def vi_index(
    y: ArrayLike,
    covered: ArrayLike,
    label: Any,
    w: float = 10.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """The volume-impurity index VI = N - w L of the covered rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The class of each row.
    covered : array-like of bool of shape (n_rows,)
        The rows on which the rule fires: there are N of them.
    label : class
        The rule's class; L of the covered rows are of another.
    w : float
        The price of one error, in rows; at least 1.
    sample_weight : array-like of shape (n_rows,), optional
        N and L are then sums of weights.

    Examples
    --------
    >>> vi_index(["ill", "ill", "well"], [True, True, True], "ill", w=1.5)
    1.5
    """
    price = as_float(error_price(w))
    fires, right, weights = _rows(y, covered, label, sample_weight)
    errors = float(weights[fires & ~right].sum())
    return float(weights[fires].sum()) - (price * errors if errors else 0.0)


def as_float(price: Fraction) -> float:
    """A price as a float; infinity beyond all floats."""
    try:
        return float(price)
    except OverflowError:
        return float("inf")


def precision(
    y: ArrayLike, covered: ArrayLike, label: Any, sample_weight: ArrayLike | None = None
) -> float:
    """The share of the covered rows that are of the class `label`; NaN if none is covered.

    Takes the arguments of `vi_index`.
    """
    fires, right, weights = _rows(y, covered, label, sample_weight)
    return _ratio(weights[fires & right].sum(), weights[fires].sum())


def coverage(covered: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """The share of all rows that are covered.

    Takes the arguments of `vi_index`.
    """
    fires = _mask(covered)
    weights = _weights(sample_weight, len(fires))
    return _ratio(weights[fires].sum(), weights.sum())


@dataclass(frozen=True)
class RuleReport:
    """What a rule does on a table; `rule_report` makes it, `print` shows it.

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    covered, correct, errors : int
        Rows on which the rule fires; those of its class among them, and the others.
    precision : float
        correct / covered; NaN when nothing is covered.
    interval : tuple of float
        Clopper–Pearson confidence interval of the precision. It is honest on rows that were
        not used to find the rule, and too optimistic on those that were.
    level : float
        Confidence level of the interval.
    coverage : float
        covered / n_rows.
    base_rate : float
        Share of the rule's class in the whole table.
    lift : float
        precision / base_rate; NaN when one of them does not exist or the latter is 0.
    vi : float
        The volume-impurity index covered - w × errors.
    w : float
    """

    n_rows: int
    covered: int
    correct: int
    errors: int
    precision: float
    interval: tuple[float, float]
    level: float
    coverage: float
    base_rate: float
    lift: float
    vi: float
    w: float

    @property
    def n_class(self) -> int:
        """Rows of the rule's class."""
        return round(self.base_rate * self.n_rows) if self.n_rows else 0

    @property
    def vi_of_all(self) -> float:
        """The VI of all rows together: what a rule without conditions is worth."""
        errors = self.n_rows - self.n_class
        return self.n_rows - (self.w * errors if errors else 0.0)

    def __str__(self) -> str:
        low, high = (format_share(bound) for bound in self.interval)
        return "\n".join(
            f"{name:<10} {text}"
            for name, text in (
                (
                    "VI",
                    f"{format_count(self.vi)}  (w = {format_count(self.w)}; all rows: "
                    f"{format_count(self.vi_of_all)})",
                ),
                (
                    "precision",
                    f"{format_share(self.precision)}  ({self.correct:,} of {self.covered:,}; "
                    f"{self.level:.0%} interval {low} to {high})",
                ),
                (
                    "coverage",
                    f"{format_share(self.coverage)}  ({self.covered:,} of {self.n_rows:,} rows)",
                ),
                ("errors", f"{self.errors:,}"),
                ("base rate", format_share(self.base_rate)),
                ("lift", f"{self.lift:.2f}"),
            )
        )


def rule_report(rule: Rule, X: Any, y: Any, w: float = 10.0, level: float = 0.95) -> RuleReport:
    """What the rule does on a table, for example one that it has not seen.

    Parameters
    ----------
    rule : Rule
    X : data frame, mapping of columns, 2-D array or path
        Only the rule's own columns are needed.
    y : array-like of shape (n_rows,), or str
        Labels, or the name of the column of `X` that holds them.
    w : float
        The price of one error, in rows.
    level : float
        Confidence level of the interval of the precision, between 0 and 1.

    Examples
    --------
    >>> from opdt import Condition, Rule
    >>> rule = Rule([Condition("age", ">=", 40)], "ill")
    >>> print(rule_report(rule, {"age": [25, 31, 47, 52]}, ["well", "ill", "ill", "ill"]))
    VI         2  (w = 10; all rows: -6)
    precision  100.0 %  (2 of 2; 95% interval 15.8 % to 100.0 %)
    coverage   50.0 %  (2 of 4 rows)
    errors     0
    base rate  75.0 %
    lift       1.33
    """
    if not isinstance(rule, Rule | RuleSet):
        raise InputError(
            f"'rule' must be a Rule, got {type(rule).__name__}; take solution.rule, which is None "
            "where there is none."
        )
    source = open_source(X)
    labels = raw_column(source, y)[0] if isinstance(y, str) else y
    fires, right, _ = _rows(labels, rule.covers(source), rule.label, None)
    n_rows, covered, correct = len(fires), int(fires.sum()), int((fires & right).sum())
    share, base_rate = _ratio(correct, covered), _ratio(int(right.sum()), n_rows)
    return RuleReport(
        n_rows=n_rows,
        covered=covered,
        correct=correct,
        errors=covered - correct,
        precision=share,
        interval=share_interval(correct, covered, level),
        level=level,
        coverage=_ratio(covered, n_rows),
        base_rate=base_rate,
        lift=_ratio(share, base_rate),
        vi=vi_index(labels, fires, rule.label, w),
        w=as_float(error_price(w)),
    )


def _rows(
    y: ArrayLike, covered: ArrayLike, label: Any, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
    """Which rows are covered, which are of the class, and their weights."""
    fires = _mask(covered)
    labels = np.asarray(y)
    if labels.shape != fires.shape:
        raise InputError(
            f"'y' must have one label for each of the {len(fires)} rows, got shape {labels.shape}."
        )
    right = np.fromiter((each == label for each in labels.tolist()), bool, len(labels))
    return fires, right, _weights(sample_weight, len(fires))


def _mask(covered: ArrayLike) -> NDArray[np.bool_]:
    fires = np.asarray(covered)
    if fires.ndim != 1 or (fires.dtype != bool and fires.size):
        raise InputError(
            "'covered' must be one True or False for each row, "
            f"got an array of {fires.dtype} of shape {fires.shape}."
        )
    return fires.astype(bool)


def _weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    weights = check_weights(sample_weight, n_rows)
    return np.ones(n_rows) if weights is None else weights


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")
