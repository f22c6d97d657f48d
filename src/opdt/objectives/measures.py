"""Measures of a rule that are no sums over rows, and why their best rule can be proven.

A rule of a class covers `correct` rows of it and `errors` of the others; the class has
`positives` rows and there are `negatives` others. All measures here have two properties, on which
`opdt.engines.measures` rests. Let c and e be correct rows and errors, P and N the totals, T = P +
N, n = c + e the covered rows, and D = c N - e P, which is positive for a rule that finds its
class more often than chance.

* *Monotone*: more correct rows, or fewer errors, never make it smaller.
* *Quasi-convex*: the points (e, c) at which it is at most some number are a convex set. So its
  largest value over any set of points is taken at a corner of their convex hull, and over any
  polygon at one of its corners.

The measures, and why they are quasi-convex:

* `wracc` = D / T² and `youden` = c / P - e / N = D / (P N): linear.
* `f1`, `f2`, `f0.5`, … = (1 + β²) c / (β² P + n): a ratio of linear functions with a positive
  denominator, so that "at most t" is a half-plane.
* `lift` = (c / n) / (P / T): the same; the precision, up to a factor.
* `chi2` = T D² / (P N n (T - n)), 0 unless D > 0: see below.
* `gini` = 2 D² / (T² n (T - n)), 0 unless D > 0: chi2 × 2 P N / T³.
* `mcc` = D / √(P N n (T - n)), 0 unless D > 0: √(chi2 / T).
* `odds_ratio` = c' (N' - e') / (e' (P' - c')), 1 unless it is larger: at most t >= 1 means that
  c' <= t P' e' / (N' + (t - 1) e'), the points below a concave curve.

*chi2*: D is linear and n (T - n) is positive and concave, so D² / (n (T - n)) is convex (Morishita
and Sese 2000 use it so), and at most t is a convex set around the line D = 0. Where D <= 0 the
measure is 0 here, since a rule speaks for its class. That adds all points below the line, so the
set becomes all points below its own upper edge, a concave curve: it stays convex. From the line
upwards a convex function that is 0 there does not fall, hence monotone.

*Empty cells of the odds ratio*: one row of the average class mix is added to the rows inside the
rule and one to those outside: c' = c + P / T, e' = e + N / T, P' = P + 2 P / T, N' = N + 2 N / T.
So no odds are infinite, and a rule with the classes in their usual proportions, or without any
row, has the odds ratio 1. (Half a row in every cell would give a rule without rows odds other
than 1.)

References
----------
Morishita, S. and Sese, J. (2000). Traversing itemset lattices with statistical metric pruning.
PODS, 226–236.
Bayardo, R. J. and Agrawal, R. (1999). Mining the most interesting rules. KDD, 145–154.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from opdt.errors import InputError
from opdt.objectives.words import Words

_F_BETA = re.compile(r"f(\d{1,6}(?:\.\d{1,3})?)")


class ClassTotals(NamedTuple):
    """The weight of a class, of all other rows, and of one row; in the same units."""

    positives: int
    negatives: int
    row: int = 1

    @property
    def total(self) -> int:
        """The weight of all rows."""
        return self.positives + self.negatives

    def advantage(self, correct: Fraction, errors: Fraction) -> Fraction:
        """D: positive where a rule finds its class more often than chance."""
        return correct * self.negatives - errors * self.positives


class QualityMeasure(ABC):
    """A monotone, quasi-convex measure of (errors, correct rows).

    A *score* is a measure's value as an exact fraction, up to a monotone function.
    """

    name: str
    title: str  # in a sentence: "F1 0.62"
    nothing: Fraction = Fraction(0)  # the score of covering nothing
    most: float = 1.0  # a value that none exceeds, whatever the table

    @abstractmethod
    def score(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        """The exact score of a point; `correct` and `errors` in the units of the totals."""

    @abstractmethod
    def slope(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        """How many correct rows make up for one error, at a point where the score is positive."""

    @property
    def words(self) -> Words:
        """How its values are spoken of."""
        article = "an" if self.title[0] in "FMo" else "a"
        some, nothing = f"{article} {self.title}", self.value(self.nothing)
        return Words(
            self.title, f"a larger {self.title}", some, _digits, _digits,
            nothing=f"has {some} above {nothing:g}",
        )  # fmt: skip

    def value(self, score: Fraction) -> float:
        """The measure itself."""
        return float(score)

    def score_of(self, value: float) -> Fraction:
        """The score of a value."""
        return Fraction(value)

    def rounding(self, change: float, totals: ClassTotals) -> float:
        """How far the value may be off if row weights are off by `change` in all; see `Solution`.

        `change` is in the units of the totals. Infinity where no limit is known.
        """
        return math.inf if change else 0.0


class LineMeasure(QualityMeasure):
    """A measure whose rules of one score lie on a line."""

    @abstractmethod
    def slope_of(self, score: Fraction, totals: ClassTotals) -> Fraction:
        """How many correct rows make up for one error, at all points of a score."""

    def slope(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        """That of the line through the point."""
        return self.slope_of(self.score(correct, errors, totals), totals)


class _Linear(LineMeasure):
    def slope_of(self, score: Fraction, totals: ClassTotals) -> Fraction:
        return Fraction(totals.positives, max(1, totals.negatives))


class WRAcc(_Linear):
    """Weighted relative accuracy: coverage × (precision - share of the class)."""

    name, title = "wracc", "WRAcc"

    def score(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        """D / T²."""
        return Fraction(totals.advantage(correct, errors)) / totals.total**2

    def rounding(self, change: float, totals: ClassTotals) -> float:
        """Three shares of all rows, each off by at most two changes."""
        return min(1.0, 6 * change / (totals.total - change)) if change else 0.0


class Youden(_Linear):
    """Youden's J: recall + specificity - 1."""

    name, title = "youden", "Youden's J"

    def score(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        """D / (P N)."""
        scale = totals.positives * totals.negatives
        return totals.advantage(correct, errors) / Fraction(scale) if scale else Fraction(0)

    def rounding(self, change: float, totals: ClassTotals) -> float:
        """Two shares, each off by at most two changes."""
        least = min(totals.positives, totals.negatives) - change
        if not change:
            return 0.0
        return min(2.0, 4 * change / least) if least > 0 else 2.0


@dataclass(frozen=True)
class FBeta(LineMeasure):
    """F_β: the harmonic mean of precision and recall, recall counting β² times as much."""

    beta: Fraction

    @property
    def name(self) -> str:  # type: ignore[override]
        """ "f1", "f0.5", …"""
        return f"f{float(self.beta):g}"

    @property
    def title(self) -> str:  # type: ignore[override]
        """ "F1", "F0.5", …"""
        return self.name.upper()

    def score(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        """(1 + β²) c / (β² P + n)."""
        square = self.beta**2
        below = square * totals.positives + correct + errors
        return (1 + square) * correct / below if below else Fraction(0)

    def slope_of(self, score: Fraction, totals: ClassTotals) -> Fraction:
        """(1 + β²) c - t (β² P + c + e) is constant along c = t e / (1 + β² - t)."""
        return score / (1 + self.beta**2 - score)

    def rounding(self, change: float, totals: ClassTotals) -> float:
        """Numerator and denominator are off by (1 + β²) changes each."""
        square = float(self.beta**2)
        least = square * (totals.positives - change)
        if not change:
            return 0.0
        return min(1.0, 2 * (1 + square) * change / least) if least > 0 else 1.0


class ChiSquare(QualityMeasure):
    """Pearson's χ² of the rule and its class, for rules that find the class more often."""

    name, title = "chi2", "chi²"
    most = math.inf

    def score(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        """T D² / (P N n (T - n)), 0 unless D > 0."""
        return self._share(correct, errors, totals) * self._factor(totals)

    def _share(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        advantage, covered = totals.advantage(correct, errors), correct + errors
        below = covered * (totals.total - covered)
        return Fraction(advantage) ** 2 / below if advantage > 0 and below > 0 else Fraction(0)

    def _factor(self, totals: ClassTotals) -> Fraction:
        # in rows, whatever the units
        return Fraction(totals.total, max(1, totals.positives * totals.negatives) * totals.row)

    def slope(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        """The tangent of the curve of equal scores: derivatives of D² / (n (T - n))."""
        covered = correct + errors
        below = 2 * covered * (totals.total - covered)
        tilt = totals.advantage(correct, errors) * (totals.total - 2 * covered)
        above, under = totals.positives * below + tilt, totals.negatives * below - tilt
        return Fraction(above) / under if under > 0 and above > 0 else Fraction(totals.total)


class GiniGain(ChiSquare):
    """By how much the rule lowers the Gini impurity of its class against the others."""

    name, title = "gini", "Gini gain"
    most = 1.0

    def _factor(self, totals: ClassTotals) -> Fraction:
        return Fraction(2, totals.total**2)


class Matthews(ChiSquare):
    """Matthews' correlation coefficient of the rule and its class."""

    name, title = "mcc", "MCC"
    most = 1.0

    def _factor(self, totals: ClassTotals) -> Fraction:
        return Fraction(1, max(1, totals.positives * totals.negatives))

    def value(self, score: Fraction) -> float:
        """The score is its square."""
        return math.sqrt(score)

    def score_of(self, value: float) -> Fraction:
        """The square."""
        return Fraction(value) ** 2


class OddsRatio(QualityMeasure):
    """The odds of the class inside the rule over those outside, one average row added to each."""

    name, title = "odds_ratio", "odds ratio"
    most = math.inf
    nothing = Fraction(1)

    def score(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        """c' (N' - e') / (e' (P' - c')), 1 unless it is larger."""
        cells = self._cells(correct, errors, totals)
        if cells is None:
            return Fraction(1)
        right, wrong, missed, spared = cells
        return max(Fraction(1), right * spared / (wrong * missed))

    def slope(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        """The tangent of the curve of equal odds ratios."""
        cells = self._cells(correct, errors, totals)
        if cells is None:
            return Fraction(1)
        right, wrong, missed, spared = cells
        return (wrong + spared) * right * missed / ((right + missed) * wrong * spared)

    def _cells(
        self, correct: Fraction, errors: Fraction, totals: ClassTotals
    ) -> tuple[Fraction, Fraction, Fraction, Fraction] | None:
        p, n, _ = totals
        if not (p and n):
            return None
        one, other = Fraction(p * totals.row, p + n), Fraction(n * totals.row, p + n)
        return correct + one, errors + other, p - correct + one, n - errors + other


class Lift(LineMeasure):
    """How many times as often the class occurs inside the rule as in all rows."""

    name, title = "lift", "lift"
    most = math.inf

    def score(self, correct: Fraction, errors: Fraction, totals: ClassTotals) -> Fraction:
        """(c / n) / (P / T)."""
        below = (correct + errors) * totals.positives
        return Fraction(correct * totals.total) / below if below else Fraction(0)

    def slope_of(self, score: Fraction, totals: ClassTotals) -> Fraction:
        """The line of one precision; of rules without errors, a slope above all others."""
        precision = score * Fraction(totals.positives, totals.total)
        most = Fraction(totals.total)
        return most if precision >= 1 else min(most, precision / (1 - precision))


def _digits(value: float) -> str:
    return f"{value:.4g}"


_NAMED = {
    m.name: m for m in (WRAcc(), Youden(), ChiSquare(), GiniGain(), Matthews(), OddsRatio(), Lift())
}
_MOST_BETA = 1000  # larger ones leave no room for exact sums

MEASURES = ("f1", "f2", "f0.5", *_NAMED)


def measure_named(name: object) -> QualityMeasure | None:
    """The measure of this name; None where it is that of something else.

    Raises
    ------
    InputError
        If the β of an F-measure is 0 or too large.
    """
    if not isinstance(name, str):
        return None
    if name in _NAMED:
        return _NAMED[name]
    found = _F_BETA.fullmatch(name)
    if not found:
        return None
    beta = Fraction(found[1])
    if not Fraction(1, _MOST_BETA) <= beta <= _MOST_BETA:
        raise InputError(
            f"'objective' {name!r} needs a number from {1 / _MOST_BETA:g} to {_MOST_BETA} after "
            "the 'f': how much more recall counts than precision; write 'f1' or 'f2'."
        )
    return FBeta(beta)
