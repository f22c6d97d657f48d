"""What a rule is worth on rows it has not seen, with exact intervals."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from opdt.checks import check_choice, check_int, check_kind, check_share
from opdt.counts import RuleCounts
from opdt.errors import InputError
from opdt.rules import Rule
from opdt.rules.counting import count_rule

Method = Literal["exact", "wilson"]


def share_interval(
    part: int, whole: int, level: float = 0.95, method: Method = "exact"
) -> tuple[float, float]:
    """The confidence interval of a share: `part` of `whole` rows.

    Parameters
    ----------
    part, whole : int
        Rows that have a property, and all rows; independent draws from what is asked about.
    level : float
        Confidence level, between 0 and 1.
    method : "exact" or "wilson"
        Clopper and Pearson's interval, which holds the true share with at least the stated
        probability, or Wilson's, which is shorter and holds it with about that probability.

    Returns
    -------
    low, high : float
        From 0 to 1 where there are no rows: nothing is known.

    Examples
    --------
    >>> low, high = share_interval(10, 10)
    >>> round(low, 3), high
    (0.692, 1.0)
    """
    return _interval(part, whole, level, method, "two-sided")


def lower_bound(part: int, whole: int, level: float = 0.95, method: Method = "exact") -> float:
    """A share that the true one exceeds with this confidence: one end of a one-sided interval.

    Takes the arguments of `share_interval`.

    Examples
    --------
    >>> round(lower_bound(59, 59), 3)
    0.95
    """
    return _interval(part, whole, level, method, "greater")[0]


@dataclass(frozen=True)
class HoldoutReport(RuleCounts):
    """What a rule does on rows that had no part in finding it; `holdout_report` makes it.

    Attributes
    ----------
    n_rows, n_class, covered, errors : int
        As in `RuleCounts`, with `correct`, `precision`, `coverage`, `base_rate` and `lift`.
    precision_interval, coverage_interval : tuple of float
        Clopper–Pearson intervals.
    precision_bound : float
        One-sided: the precision is at least this, with the confidence of `level`.
    level : float
    p_value : float
        Fisher's exact test, one-sided: the probability of at least so many correct rows if the
        rule's class were spread over the held-out rows by chance. The rule was fixed before, so
        no search has to be accounted for.
    """

    precision_interval: tuple[float, float]
    coverage_interval: tuple[float, float]
    precision_bound: float
    level: float
    p_value: float

    def __str__(self) -> str:
        low, high = self.precision_interval
        least, most = self.coverage_interval
        return "\n".join(
            [
                f"held-out rows  {self.n_rows:,}",
                f"precision      {self.precision:.1%}  ({self.correct:,} of {self.covered:,}; "
                f"{self.level:.0%} interval {low:.1%} to {high:.1%})",
                f"at least       {self.precision_bound:.1%}  (one-sided, {self.level:.0%})",
                f"coverage       {self.coverage:.1%}  ({self.covered:,} of {self.n_rows:,}; "
                f"{self.level:.0%} interval {least:.1%} to {most:.1%})",
                f"base rate      {self.base_rate:.1%}",
                f"by chance      p = {self.p_value:.2g}",
            ]
        )


def holdout_report(rule: Rule, X: Any, y: Any, level: float = 0.95) -> HoldoutReport:
    """The rule's precision and coverage on held-out rows, with exact intervals.

    The intervals hold if the rows are independent draws from where the rule is to be used, and
    had no part in finding the rule or in choosing `w`, structure, depth or the rule itself.

    Parameters
    ----------
    rule : Rule
    X : data frame, mapping of columns, 2-D array or path
        Held-out rows; only the rule's own columns are needed.
    y : array-like of shape (n_rows,), or str
        Labels, or the name of the column of `X` that holds them.
    level : float
        Confidence level, between 0 and 1.

    Examples
    --------
    >>> from opdt import Condition, Rule
    >>> rule = Rule([Condition("age", ">=", 40)], "ill")
    >>> report = holdout_report(rule, {"age": [25, 31, 47, 52]}, ["well", "ill", "ill", "ill"])
    >>> report.precision, report.p_value
    (1.0, 0.5)
    """
    from scipy.stats import hypergeom

    check_kind("rule", rule, Rule, "a Rule", "take solution.rule")
    check_share("level", level)
    counts = count_rule(rule, X, y)
    n_rows, n_class, covered = int(counts.n_rows), int(counts.n_class), int(counts.covered)
    correct = int(counts.correct)
    return HoldoutReport(
        **asdict(counts),
        precision_interval=share_interval(correct, covered, level),
        coverage_interval=share_interval(covered, n_rows, level),
        precision_bound=lower_bound(correct, covered, level),
        level=float(level),
        p_value=float(min(1.0, hypergeom.sf(correct - 1, n_rows, n_class, covered))),
    )


def _interval(
    part: Any, whole: Any, level: Any, method: Any, alternative: str
) -> tuple[float, float]:
    from scipy.stats import binomtest

    for name, value in (("part", part), ("whole", whole)):
        check_int(name, value, 0)
    if part > whole:
        raise InputError(f"'part' must be at most 'whole', got {part} of {whole}.")
    check_choice("method", method, get_args(Method))
    checked = check_share("level", level)
    if whole == 0:
        return 0.0, 1.0
    # SciPy calls the one-sided interval that is bounded below that of "greater".
    test = binomtest(int(part), int(whole), alternative=alternative)
    interval = test.proportion_ci(confidence_level=checked, method=method)
    return float(interval.low), float(interval.high)
