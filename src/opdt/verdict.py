"""Whether the rows speak for a rule: a verdict beside the proof, from evidence that is at hand.

"Proven optimal" is about the search: no rule of the kind asked for is better on these rows. It
does not say that the rule is more than chance, and the best of millions of rules looks good on
any rows. The verdict says that, in one of three levels.

What a level rests on (`LEVEL` is 0.05 everywhere):

Training rows
    Fisher's exact test says how likely so many rows of the rule's class among the covered ones
    are, had the classes been dealt to the rows at random and the rule been fixed beforehand. It
    was not: it is one of M rules. The probability that any of the M does so well is at most M
    times as large (Bonferroni), however the rule was chosen among them, at which price of an
    error and under which limits. *Supported* if even that is at most 0.05.
    M counts thresholds that hardly differ as different rules, so that this is cautious. As the
    other extreme, let every feature have one threshold only. If not even that makes it 0.05, the
    rule is *not supported*; between the two it is *weak*.

Permutation test
    Its p-value takes the place of the bound, which is never sharper than the test.

Held-out rows
    Fisher's exact test of the rule, which was fixed before: is its class more frequent under it?
    Where so few held-out rows are covered that no outcome could have been significant, they say
    nothing, and training rows alone then make a rule weak at most.

Several rules
    The limit holds for all M rules at once, so that it judges the second-best rule, or one that
    a person picks, as it judges the best. A rule of a list was found on rows that the rules
    before it have left, and these were chosen by the classes, too: in place of M stand the M^k
    ways to choose the first k rules. A set of k rules is judged in the same way, as a whole.

Every test that was made and that could say something has to speak for the rule. So, where
features and classes have nothing to do with each other, a rule is called supported with a
probability of at most 5 %, whichever of the evidence there is.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Protocol

from opdt.counts import RuleCounts

LEVEL = 0.05  # of every test
KEPT = 0.5  # the part of its advantage over the base rate that a rule must keep on held-out rows
LEAST_ROWS = 30  # what a cure asks for at least


class VerdictLevel(StrEnum):
    """How far the rows speak for a rule."""

    SUPPORTED = "supported"
    WEAK = "weak"
    NOT_SUPPORTED = "not supported"


@dataclass(frozen=True)
class Verdict:
    """Whether the evidence speaks for a rule.

    Attributes
    ----------
    level : VerdictLevel
    reason : str
        What the level rests on, in words.
    cure : str
        What to do next.
    """

    level: VerdictLevel
    reason: str
    cure: str

    def __str__(self) -> str:
        return f"{self.level}: {self.reason}"

    @classmethod
    def from_dict(cls, data: object) -> Verdict | None:
        """What `to_dict` wrote, in one line each; None for anything else."""
        if not isinstance(data, dict) or data.get("level") not in list(VerdictLevel):
            return None
        reason, cure = (" ".join(str(data.get(name, "")).split()) for name in ("reason", "cure"))
        return cls(VerdictLevel(data["level"]), reason, cure)

    def to_dict(self) -> dict[str, str]:
        """Level, reason and cure, for JSON."""
        return {name: str(value) for name, value in asdict(self).items()}


class ChanceTest(Protocol):
    """A permutation test of the search: its p-value, and permutations with a rule as good."""

    @property
    def p_value(self) -> float:
        """Valid for the best of all rules."""

    @property
    def hits(self) -> int:
        """Permutations with a rule as good."""


@dataclass(frozen=True)
class Evidence:
    """What the rows that a rule was found on say, and what it was chosen from.

    Attributes
    ----------
    counts : RuleCounts
        On the training rows.
    n_rules : int
        At least as many as the search could choose from, over all classes.
    n_forms : int
        The same with one threshold for each feature and direction: rules that differ in more.
    """

    counts: RuleCounts
    n_rules: int
    n_forms: int

    @property
    def base_rate(self) -> float:
        """The share of the rule's class in all rows."""
        return self.counts.base_rate

    @property
    def p_value(self) -> float:
        """The probability, at most, that chance gives any of the rules so many correct rows."""
        return self._at_most(self.n_rules)

    @property
    def least_precision(self) -> float:
        """The precision, at least, with 95 % confidence for all rules together."""
        return least_share(self.counts.correct, self.counts.covered, self.n_rules)

    @property
    def level(self) -> VerdictLevel:
        """What these rows alone say."""
        if self.p_value <= LEVEL:
            return VerdictLevel.SUPPORTED
        return (
            VerdictLevel.WEAK
            if self._at_most(self.n_forms) <= LEVEL
            else VerdictLevel.NOT_SUPPORTED
        )

    @property
    def lift(self) -> float:
        """How many times more frequent the class is under the rule than in all rows."""
        return self.counts.lift

    @property
    def said(self) -> str:
        """What the rows say, in words."""
        counts = self.counts
        return (
            f"right in {counts.correct:,} of {counts.covered:,} rows, "
            f"{_share(self.base_rate)} overall"
        )

    @property
    def advantage(self) -> float:
        """How much better the covered rows are than all: here the difference of two shares."""
        return _advantage(self.counts)

    @property
    def more(self) -> str:
        """What to ask for where the rows are not enough."""
        needed = self.needed
        if needed is None:
            return "These rows are too few for so wide a search: gather more, or allow less."
        if needed <= self.counts.covered:
            return "Gather more rows, or allow fewer conditions."
        return f"Ask for at least {needed:,} rows (min_coverage={needed}), or gather more."

    @property
    def other_question(self) -> str:
        """What to change where a rule is no better than all rows."""
        return "Raise the price of an error (w), or ask for a precision (min_precision)."

    @property
    def measure(self) -> str:
        """What held-out rows would tell."""
        return "Hold rows out to know its precision on new rows."

    @property
    def dealt(self) -> str:
        """What a permutation test shuffles, in words."""
        return "classes are shuffled"

    def log_chance(self) -> float:
        """The logarithm of what the probability is at most that chance does as well, for a rule
        that was fixed before the rows were seen.
        """
        return _log_fisher(self.counts)

    def among(self, n_lists: int, n_forms: int) -> Evidence:
        """The same rows where more was chosen than one rule: so many lists or sets of rules."""
        return replace(self, n_rules=n_lists, n_forms=n_forms)

    def _at_most(self, n_rules: int) -> float:
        return math.exp(min(0.0, math.log(n_rules) + self.log_chance()))

    @property
    def needed(self) -> int | None:
        """Rows without an error that would be enough, in tens; None where there are not so many."""
        if self.base_rate in (0, 1):
            return None
        rows = (math.log(self.n_rules) - math.log(LEVEL)) / -math.log(self.base_rate)
        tens = max(LEAST_ROWS, 10 * math.ceil((math.floor(rows) + 1) / 10))
        return tens if tens <= self.counts.n_class else None


class NewRows(Protocol):
    """What rows say that had no part in finding a rule."""

    @property
    def speaks(self) -> bool | None:
        """Whether they speak for the rule; None where so few covered ones could not."""

    @property
    def advantage(self) -> float:
        """As `Evidence.advantage`, on these rows."""

    @property
    def said(self) -> str:
        """What they say, in words."""

    @property
    def mute(self) -> str:
        """Why they say nothing, in words."""


@dataclass(frozen=True)
class NewCounts:
    """Held-out rows of classes."""

    counts: RuleCounts

    @property
    def speaks(self) -> bool | None:
        """By Fisher's exact test."""
        if fisher_p_value(self.counts) <= LEVEL:
            return True
        best = replace(self.counts, errors=max(0, self.counts.covered - self.counts.n_class))
        return False if fisher_p_value(best) <= LEVEL else None

    @property
    def advantage(self) -> float:
        """How much more frequent the class is under the rule."""
        return _advantage(self.counts)

    @property
    def said(self) -> str:
        """Correct rows, covered rows and the share overall."""
        counts, overall = self.counts, _share(self.counts.base_rate)
        return (
            f"right in {counts.correct:,} of {counts.covered:,} held-out rows, {overall} overall "
            f"({_p(fisher_p_value(counts))})"
        )

    @property
    def mute(self) -> str:
        """Too few are covered."""
        rows = f"{self.counts.covered:,} of the {self.counts.n_rows:,} held-out rows"
        return f"it covers {rows}, too few to say anything"


def judge(
    training: Evidence | None,
    *,
    held_out: RuleCounts | NewRows | None = None,
    test: ChanceTest | None = None,
) -> Verdict:
    """The verdict on a rule.

    Parameters
    ----------
    training : Evidence or None
        None where the rows that the rule was found on are not known.
    held_out : RuleCounts or NewRows, optional
        Such as a `HoldoutReport` or an `Estimate`: rows that had no part in finding the rule.
    test : ChanceTest, optional
        Such as a `PermutationTest` of the search that found the rule.

    Examples
    --------
    >>> few = Evidence(RuleCounts(n_rows=500, n_class=130, covered=4, errors=0), 10**6, 190)
    >>> print(judge(few).level)
    not supported
    """
    chance = None if test is None else _chance(test)
    new: NewRows | None = NewCounts(held_out) if isinstance(held_out, RuleCounts) else held_out
    fresh = None if new is None else new.speaks
    if fresh is not None and new is not None and chance is not False:
        if fresh:
            return _confirmed(training, new, test if chance else None)
        return _not_confirmed(training, new, test if chance else None)
    if test is not None and chance is not None:
        return _tested(training, new, test, chance=chance, fresh=fresh)
    if training is None:
        return Verdict(VerdictLevel.WEAK, "nothing is known of the rows it was found on", _TEST)
    return _untested(training, new)


# What to say beside the verdicts on several rules.
SAME_ROWS = (
    "The rules were chosen on the same rows. Each verdict allows for all rules there are to choose "
    "from, but not for what new rows would say."
)

_HOW = "opdt test, or permutation_test"
_TEST = f"Test it against chance ({_HOW}), or hold rows out."
_ELSEWHERE = "Try it on rows from elsewhere or from later."


def _confirmed(training: Evidence | None, new: NewRows, test: ChanceTest | None) -> Verdict:
    """Held-out rows speak for the rule, and no other test against it."""
    if training is not None and new.advantage < KEPT * training.advantage:
        reason = f"{new.said}: less than half of its advantage on the rows it was found on"
        return Verdict(VerdictLevel.WEAK, reason, f"Go by the held-out rows. {_ask(training)}")
    reason = new.said if test is None else f"{new.said}; {_rare(test, training)}"
    return Verdict(VerdictLevel.SUPPORTED, reason, _ELSEWHERE)


def _not_confirmed(training: Evidence | None, new: NewRows, test: ChanceTest | None) -> Verdict:
    """Held-out rows could have spoken for the rule, and did not."""
    strong = test is not None or (training is not None and training.level is VerdictLevel.SUPPORTED)
    if new.advantage <= 0 or not strong:
        return Verdict(VerdictLevel.NOT_SUPPORTED, new.said, f"Do not rely on it. {_ask(training)}")
    reason = new.said if test is None else f"{new.said}, although {_rare(test, training)}"
    return Verdict(VerdictLevel.WEAK, reason, f"Hold more rows out. {_ask(training)}")


def _tested(
    training: Evidence | None,
    new: NewRows | None,
    test: ChanceTest,
    *,
    chance: bool,
    fresh: bool | None,
) -> Verdict:
    """The permutation test decides; held-out rows say nothing, or the opposite."""
    if chance:
        measure = "Hold rows out to know what it does on new rows."
        if training is not None:
            measure = training.measure
        cure = measure if new is None else f"Hold more rows out: {new.mute}."
        return Verdict(VerdictLevel.SUPPORTED, _rare(test, training), cure)
    reason = f"a rule as good is no rarity where {_dealt(training)} ({_p(test.p_value)})"
    if new is not None and fresh:
        return Verdict(VerdictLevel.WEAK, f"{new.said}, but {reason}", _ELSEWHERE)
    if new is not None and fresh is False:
        reason += f", and {new.said}"
    return Verdict(VerdictLevel.NOT_SUPPORTED, reason, f"Do not rely on it. {_ask(training)}")


def _untested(training: Evidence, new: NewRows | None) -> Verdict:
    """The training rows decide, with regard to all that was searched."""
    said, search = training.said, f"the best of {_many(training.n_rules)} rules"
    if training.advantage <= 0:
        reason = f"{said}, so that it says nothing"
        return Verdict(VerdictLevel.NOT_SUPPORTED, reason, training.other_question)
    if training.level is VerdictLevel.NOT_SUPPORTED:
        amount = "too few" if training.counts.covered < LEAST_ROWS else "not enough"
        reason = f"{said}, {amount} to tell {search} from chance"
        return Verdict(VerdictLevel.NOT_SUPPORTED, reason, f"{_ask(training)} Or test it: {_HOW}.")
    if training.level is VerdictLevel.WEAK:
        return Verdict(VerdictLevel.WEAK, f"{said}, which chance may give {search}", _TEST)
    reason = f"{said}, more than chance gives {search} ({_p(training.p_value)})"
    if new is not None:
        return Verdict(VerdictLevel.WEAK, f"{reason}, but {new.mute}", "Hold more rows out.")
    return Verdict(VerdictLevel.SUPPORTED, reason, training.measure)


def _ask(training: Evidence | None) -> str:
    if training is None:
        return "Ask for rules that cover more rows (min_coverage)."
    return training.more


def _chance(test: ChanceTest) -> bool | None:
    """Whether a permutation test speaks for the rule; None where it was ended too early."""
    if test.p_value <= LEVEL:
        return True
    return False if test.hits else None


def _advantage(counts: RuleCounts) -> float:
    """How much more frequent the class is under the rule than overall."""
    if not counts.covered:
        return 0.0
    return counts.precision - counts.base_rate


# -- statistics ----------------------------------------------------------------------------------


def least_share(part: float, whole: float, n_rules: int = 1, level: float = LEVEL) -> float:
    """The largest b that is refuted by `part` of `whole` rows as the best of so many rules.

    That is, n_rules × exp(-whole × KL(part / whole, b)) <= level; 0 where nothing is refuted.

    Examples
    --------
    >>> round(least_share(59, 59), 3), round(least_share(59, 59, n_rules=10**6), 3)
    (0.95, 0.752)
    """
    if not part:
        return 0.0
    share, needed = part / whole, (math.log(n_rules) - math.log(level)) / whole
    if part == whole:
        return math.exp(-needed)
    low, high = 0.0, share
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _divergence(share, middle) >= needed else (low, middle)
    return low


def _divergence(share: float, base: float) -> float:
    """The Kullback-Leibler divergence of two shares between 0 and 1."""
    if base <= 0:
        return math.inf
    return share * math.log(share / base) + (1 - share) * math.log((1 - share) / (1 - base))


def fisher_p_value(counts: RuleCounts) -> float:
    """Fisher's exact test, one-sided: so many correct rows or more if classes were dealt out.

    Examples
    --------
    >>> round(fisher_p_value(RuleCounts(n_rows=10, n_class=5, covered=4, errors=0)), 4)
    0.0238
    """
    return math.exp(_log_fisher(counts))


def _log_fisher(counts: RuleCounts) -> float:
    n_rows, n_class = round(counts.n_rows), round(counts.n_class)
    covered, correct = round(counts.covered), round(counts.correct)
    others = n_rows - n_class
    if correct <= max(0, covered - others):  # there can be no fewer
        return 0.0
    if correct * n_rows <= covered * n_class:  # not more than expected: the other side is shorter
        rest = math.exp(_log_tail(n_rows, others, covered, covered - correct + 1))
        return math.log1p(-min(rest, 1 - 1e-16))
    return min(0.0, _log_tail(n_rows, n_class, covered, correct))


def _log_tail(n_rows: int, n_class: int, covered: int, correct: int) -> float:
    """The hypergeometric probability of `correct` or more, which are more than expected."""
    last = min(covered, n_class)
    if correct > last:
        return -math.inf
    first = (
        _log_choose(n_class, correct)
        + _log_choose(n_rows - n_class, covered - correct)
        - _log_choose(n_rows, covered)
    )
    total = term = 1.0
    for k in range(correct, last):
        term *= (n_class - k) * (covered - k) / ((k + 1) * (n_rows - n_class - covered + k + 1))
        total += term
        if term < 1e-17 * total:
            break
    return first + math.log(total)


def _log_choose(whole: int, part: int) -> float:
    return math.lgamma(whole + 1) - math.lgamma(part + 1) - math.lgamma(whole - part + 1)


# -- words ---------------------------------------------------------------------------------------


def format_p_value(p_value: float) -> str:
    """Two digits, or three decimals."""
    return f"{p_value:.3f}" if p_value >= 0.0095 else f"{p_value:.2g}"


def _p(p_value: float) -> str:
    return "p < 1e-12" if p_value < 1e-12 else f"p = {format_p_value(p_value)}"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _many(n_rules: int) -> str:
    if n_rules < 1_000_000:
        return f"{n_rules:,}"
    return f"some 10^{len(str(n_rules)) - 1}"


def _rare(test: ChanceTest, training: Evidence | None) -> str:
    return f"a rule as good is rare where {_dealt(training)} ({_p(test.p_value)})"


def _dealt(training: Evidence | None) -> str:
    return "classes are shuffled" if training is None else training.dealt
