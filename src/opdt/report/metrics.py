"""Volume-impurity index, precision and coverage of a rule on any rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opdt.analysis.intervals import share_interval
from opdt.counts import RuleCounts
from opdt.errors import InputError
from opdt.objectives.gains import error_price
from opdt.report.formats import format_count, format_share
from opdt.rules import Rule
from opdt.rules.counting import check_labels, count_masks, count_rule, of_class
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
    return float(_counts(y, covered, label, sample_weight).value_at(price))


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
    return _counts(y, covered, label, sample_weight).precision


def coverage(covered: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """The share of all rows that are covered.

    Takes the arguments of `vi_index`.
    """
    fires = _mask(covered)
    return count_masks(fires, fires, check_weights(sample_weight, len(fires))).coverage


@dataclass(frozen=True)
class RuleReport(RuleCounts):
    """What a rule does on a table; `rule_report` makes it, `print` shows it.

    Attributes
    ----------
    n_rows, n_class, covered, errors : int
        As in `RuleCounts`, with `correct`, `precision`, `coverage`, `base_rate` and `lift`.
    interval : tuple of float
        Clopper–Pearson confidence interval of the precision. It is honest on rows that were
        not used to find the rule, and too optimistic on those that were.
    level : float
        Confidence level of the interval.
    w : float
        The price of one error, in rows.
    """

    interval: tuple[float, float]
    level: float
    w: float

    @property
    def value(self) -> float:
        """The volume-impurity index covered - w × errors."""
        return float(self.value_at(self.w))

    @property
    def value_of_all(self) -> float:
        """The VI of all rows together: what a rule without conditions is worth."""
        everything = replace(self, covered=self.n_rows, errors=self.n_rows - self.n_class)
        return float(everything.value_at(self.w))

    def __str__(self) -> str:
        low, high = (format_share(bound) for bound in self.interval)
        return "\n".join(
            f"{name:<10} {text}"
            for name, text in (
                (
                    "VI",
                    f"{format_count(self.value)}  (w = {format_count(self.w)}; all rows: "
                    f"{format_count(self.value_of_all)})",
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
    price, counts = as_float(error_price(w)), count_rule(rule, X, y)
    interval = share_interval(int(counts.correct), int(counts.covered), level)
    return RuleReport(**asdict(counts), interval=interval, level=level, w=price)


def _counts(
    y: ArrayLike, covered: ArrayLike, label: Any, sample_weight: ArrayLike | None
) -> RuleCounts:
    fires, labels = _mask(covered), np.asarray(y)
    check_labels(labels, len(fires))
    return count_masks(fires, of_class(labels, label), check_weights(sample_weight, len(fires)))


def _mask(covered: ArrayLike) -> NDArray[np.bool_]:
    fires = np.asarray(covered)
    if fires.ndim != 1 or (fires.dtype != bool and fires.size):
        raise InputError(
            "'covered' must be one True or False for each row, "
            f"got an array of {fires.dtype} of shape {fires.shape}."
        )
    return fires.astype(bool)
