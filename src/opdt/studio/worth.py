"""What rules are worth on one part of the rows, in the words of what they are to be best in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.intervals import bind_to_rows
from opdt.analysis.ranking import has_classes
from opdt.objectives import Estimate, Objective, ObjectiveGains, Words
from opdt.objectives.mean import MeanGains
from opdt.objectives.measures import ClassTotals, measure_named
from opdt.objectives.survival import SurvivalGains
from opdt.objectives.words import with_unit
from opdt.problem import Problem
from opdt.report import RuleReport, rule_report
from opdt.rules import Rule
from opdt.rules.counting import conditions_left
from opdt.studio.best_in import BestIn, told
from opdt.studio.tables import RowPart
from opdt.table import Plan

NOTHING = 1e-9  # sums of many fractions that are 0 but for rounding


@dataclass(frozen=True)
class RuleWorth:
    """What a rule is worth on some rows.

    Attributes
    ----------
    words : Words
        How the value is spoken of.
    value : float
        In the measure of the objective.
    covered, n_rows : int
    counts : RuleReport or None
        Where rows have classes.
    sentence : str
        What the rule does in the objective's own words, without a full stop; empty where its
        counts say it all.
    numbers : mapping of name to float
        Those that lists show, in `unit`.
    estimate : Estimate or None
        What rows say that had no part in finding the rule, if these are such rows.
    """

    words: Words
    value: float
    covered: int
    n_rows: int
    counts: RuleReport | None
    sentence: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    unit: str = ""
    estimate: Estimate | None = None

    @property
    def coverage(self) -> float:
        """Share of the rows that are covered."""
        return self.covered / self.n_rows if self.n_rows else float("nan")

    @property
    def shown(self) -> str:
        """The value with its unit; nothing is worth nothing."""
        return self.words.show(self.value) if self.covered else "–"

    @property
    def judges(self) -> RuleReport | Estimate | None:
        """What a verdict takes of rows that had no part in finding the rule."""
        return self.counts if self.estimate is None else self.estimate


@dataclass(frozen=True, eq=False)
class Valuer:
    """Says what rules are worth on one part of the rows.

    Attributes
    ----------
    best_in : str or Objective
    part : RowPart
    w : float
        The price of one error, for the VI.
    gains : ObjectiveGains or None
        The objective bound to these rows; None where a name says it.
    new : bool
        Whether these rows have no part in finding rules.
    target : str or None
        What the numbers are called.
    """

    best_in: BestIn
    part: RowPart
    w: float
    gains: ObjectiveGains | None = None
    new: bool = False
    target: str | None = None

    @property
    def words(self) -> Words:
        """How values are spoken of."""
        return told(self.best_in, self.target)

    def of(self, rule: Rule) -> RuleWorth:
        """What a rule is worth on these rows."""
        fires = rule.covers(self.part.source)
        counts = None
        if has_classes(self.best_in):
            counts = rule_report(rule, self.part.source, self.part.labels, self.w)
        n_covered, n_rows = int(fires.sum()), len(fires)
        if self.gains is None or not isinstance(self.best_in, Objective):
            assert counts is not None
            value = value_of_counts(str(self.best_in), counts)
            return RuleWorth(self.words, value, n_covered, n_rows, counts)
        account = self.gains.account(fires, self.gains.labels[0])
        estimate = self.best_in.estimate(self.gains, fires) if self.new else None
        assert account is not None
        return RuleWorth(
            self.words,
            self.value(fires),
            n_covered,
            n_rows,
            counts,
            str(account) if estimate is None else str(estimate),
            {name: account.numbers[name] for name in self.best_in.headline or account.numbers},
            account.unit,
            estimate,
        )

    def value(self, fires: NDArray[np.bool_]) -> float:
        """What some rows are worth, where an objective says it."""
        assert self.gains is not None
        if isinstance(self.gains, MeanGains) and self.gains.mean.needs_coverage:
            return self.gains.shown(self.gains.mean_of(fires))
        found = float(int(self.gains.gains(self.gains.labels[0])[fires].sum()) * self.gains.unit)
        return found if abs(found) > NOTHING else 0.0

    def stages(self, rule: Rule) -> tuple[tuple[Any, int, str], ...]:
        """What is left after each condition: the condition, rows, and their worth as text."""
        everything = np.ones(len(self.part.rows), dtype=bool)
        left = [(None, everything), *conditions_left(rule, self.part.source)]
        return tuple(
            (condition, int(rows.sum()), self.words.show(self.value(rows)) if rows.any() else "–")
            for condition, rows in left
        )

    def sides(self) -> tuple[NDArray[np.bool_], str, str] | None:
        """Which rows are such as a rule looks for, and both kinds in words; None with classes."""
        gains = self.gains
        if gains is None or has_classes(self.best_in):
            return None
        if isinstance(gains, SurvivalGains):
            return gains.event, "the event came", "no event"
        if isinstance(gains, MeanGains):
            edge, sign = with_unit(gains.mean.unit)(gains.shown(gains.middle)), gains.mean.sign
            more, less = f"above {edge}", f"{edge} or less"
            if sign < 0:
                more, less = f"below {edge}", f"{edge} or more"
            return gains.worth > 0, more, less
        return gains.values > 0, "gains by its score", "does not gain"


def value_of_counts(name: str, counts: RuleReport) -> float:
    """What a rule is worth in an objective that a name says."""
    if name == "vi":
        return counts.value
    if name == "precision":
        return counts.precision
    if name == "coverage":
        return float(counts.correct)
    measure = measure_named(name)
    assert measure is not None, name
    totals = ClassTotals(int(counts.n_class), int(counts.n_rows - counts.n_class))
    score = measure.score(Fraction(int(counts.correct)), Fraction(int(counts.errors)), totals)
    return measure.value(score)


def gains_on(best_in: BestIn, part: RowPart, label: Any, plan: Plan) -> ObjectiveGains | None:
    """An objective bound to rows that had no part in finding a rule; None for a name.

    Raises
    ------
    InputError
        If these rows cannot tell, as where none has had the event.
    """
    if isinstance(best_in, str):
        return None
    if best_in.needs_features:
        gains = Problem.of(part.source, part.y, objective=best_in, roles=plan).objective
        assert isinstance(gains, ObjectiveGains)
        return gains
    word = label if best_in.rule_label is None else best_in.rule_label
    return bind_to_rows(best_in, Rule([], word), part.source, part.y)
