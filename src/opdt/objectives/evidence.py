"""What rows say about a rule whose worth is a sum of gains, and how far chance could go.

Had what the rows are worth been dealt to them at random, a rule fixed beforehand would cover N of
the n worths, drawn without replacement. Hoeffding (1963) showed that the moment generating function
of their sum is at most that of N draws with replacement, so that Chernoff's bound holds:

    log P(mean of N >= m)  <=  N × min over t >= 0 of (log mean exp(t x) - t m),

the inner mean over all n worths x, which are known. Any t gives a true bound; nothing is assumed
about how the worths are distributed. The rows that are not covered bound the same event.

Where rows have classes and each its own amounts, worths must not be dealt out: amounts may be known
to the rules, and large ones make large sums of either sign. There the classes are dealt, and the
amounts stay. A row that is worth -c, and a more if it is of the class, adds to the sum what chance
gives it; the indicators of a class dealt to rows are negatively associated (Joag-Dev and Proschan
1983), so that for a >= 0 the moment generating function is at most the product over the rows:

    log P(sum of a over rows of the class >= s)
        <=  min over t >= 0 of (sum of log(1 - p + p exp(t a)) - t s),   p the share of the class.

References
----------
Joag-Dev, K. and Proschan, F. (1983). Negative association of random variables, with applications.
Annals of Statistics 11, 286–295.

Hoeffding, W. (1963). Probability inequalities for sums of bounded random variables. Journal of the
American Statistical Association 58, 13–30. (Theorem 4.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opdt.verdict import Evidence

Floats = NDArray[np.float64]

BINS = 1000  # of distinct worths; more are put together, which loosens the bound a little
STEPS = 64  # values of t that are tried, and again around the best of them


@dataclass(frozen=True)
class GainEvidence(Evidence):
    """What the rows that a rule was found on say, where rows are worth numbers.

    Attributes
    ----------
    log_one : float
        The logarithm of what the probability is at most that chance does as well.
    mean, overall : float
        What a covered row is worth on average, and what it would be by chance.
    told : str
        That in the objective's own words.
    shuffled : str
        What chance is, in words.
    """

    log_one: float = 0.0
    mean: float = 0.0
    overall: float = 0.0
    told: str = ""
    shuffled: str = "what rows are worth is shuffled"

    @property
    def said(self) -> str:
        """What the rows say, in the objective's words."""
        return self.told

    @property
    def advantage(self) -> float:
        """How much more a covered row is worth than by chance."""
        return self.mean - self.overall

    @property
    def more(self) -> str:
        """What to ask for where the rows are not enough."""
        return "Gather more rows, allow fewer conditions, or ask for larger rules (min_coverage)."

    @property
    def other_question(self) -> str:
        """What to change where a rule is no better than all rows."""
        return "Rows that it covers are worth no more than others: act on all rows, or ask anew."

    @property
    def measure(self) -> str:
        """What held-out rows would tell."""
        return "Hold rows out to know what it is worth on new rows."

    @property
    def dealt(self) -> str:
        """What a permutation test shuffles, in words."""
        return self.shuffled

    def log_chance(self) -> float:
        """See the head of this module."""
        return self.log_one


class Spread:
    """All worths of a table, in at most `BINS` places.

    Parameters
    ----------
    values : ndarray of float64 of shape (n_rows,)
    """

    def __init__(self, values: Floats) -> None:
        self.n_rows, self.mean = len(values), float(values.mean()) if len(values) else 0.0
        self._scale = float(np.abs(values - self.mean).max(initial=0.0)) or 1.0
        centred = (values - self.mean) / self._scale
        self._places, self._shares = _few(*np.unique(centred, return_counts=True))

    def log_chance(self, covered: int, mean: float) -> float:
        """The logarithm of a bound on the chance of a mean as large over so many rows."""
        if not 0 < covered < self.n_rows or mean <= self.mean:
            return 0.0
        far = (mean - self.mean) / self._scale
        rest = self.n_rows - covered
        inside = covered * self._least(far)
        outside = rest * _least(-self._places, self._shares, far * covered / rest)
        return min(0.0, inside, outside)

    def _least(self, far: float) -> float:
        return _least(self._places, self._shares, far)


def _least(places: Floats, shares: Floats, far: float) -> float:
    """The least of log mean exp(t x) - t far over some t >= 0: an upper bound for every t."""

    def logs(steps: Floats) -> Floats:
        exponents = steps[:, None] * (places - far)[None, :]
        top = exponents.max(axis=1)
        out: Floats = top + np.log(np.exp(exponents - top[:, None]) @ shares)
        return out

    return _smallest(logs)


def log_chance_of_classes(extra: Floats, share: float, total: float) -> float:
    """The logarithm of a bound on the chance that rows of a class are worth so much more together.

    Parameters
    ----------
    extra : ndarray of float64
        What each covered row is worth more if it is of the class; not negative.
    share : float
        That of the class in all rows.
    total : float
        The sum of `extra` over the covered rows of the class.
    """
    scale = float(extra.max(initial=0.0))
    if not scale or total <= share * float(extra.sum()):
        return 0.0
    n_rows, far = len(extra), total / scale
    places, shares = _few(*np.unique(extra / scale, return_counts=True))

    def logs(steps: Floats) -> Floats:
        # log(1 - share + share × exp(t a)), without an overflow; convex in a, as `_few` asks for.
        each = np.logaddexp(np.log1p(-share), np.log(share) + steps[:, None] * places[None, :])
        out: Floats = n_rows * (each @ shares) - steps * far
        return out

    return min(0.0, _smallest(logs))


def _smallest(logs: Callable[[Floats], Floats]) -> float:
    """The least value over some t > 0, first on a coarse grid and then around its best."""
    steps = np.geomspace(1e-4, 1e4, STEPS)
    for _ in range(2):
        values = logs(steps)
        at = int(values.argmin())
        low, high = steps[max(0, at - 1)], steps[min(STEPS - 1, at + 1)]
        steps = np.geomspace(low, high, STEPS)
    # What sums of floats may be off is far below this.
    return float(values[at]) + 1e-9


def _few(places: Floats, counts: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """At most so many places and their shares, with no smaller mean of any convex function.

    The values of a bin go to its two ends such that their mean stays.
    """
    n_rows = counts.sum()
    if len(places) <= BINS:
        return places, counts / n_rows
    edges = np.unique(np.linspace(0, len(places) - 1, BINS).round().astype(np.intp))
    at = np.minimum(np.searchsorted(edges, np.arange(len(places)), side="right"), len(edges) - 1)
    low, high = places[edges[at - 1]], places[edges[at]]
    to_high = (places - low) / (high - low)
    shares = np.bincount(at, counts * to_high, len(edges))
    shares += np.bincount(at - 1, counts * (1 - to_high), len(edges))
    return places[edges], shares / n_rows
