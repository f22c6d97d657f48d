"""Whose event comes early: the rule with most events beyond what all rows' pace makes expect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.checks import check_choice, check_number
from opdt.errors import InputError
from opdt.objectives.estimate import Estimate, mean_interval
from opdt.objectives.gains import ObjectiveGains
from opdt.objectives.objective import Objective, TargetKind
from opdt.objectives.rows import BoundRows, Numbers, called
from opdt.objectives.survival_curves import (
    LogRankTest,
    log_rank_scores,
    log_rank_test,
    martingale_residuals,
    survival_curve,
)
from opdt.objectives.words import Account, Words, plain
from opdt.table.raw import BadRows, Raw

SCORES = {"log-rank": log_rank_scores, "martingale": martingale_residuals}
DIRECTIONS = ("high", "low")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Survival(Objective):
    """Whose event comes early (or late): times until an event, some of them cut short.

    A row is worth its event, 1 or 0, less the events that it would have had by its time at the
    pace of all rows. The value of a rule is the number of events beyond expectation among its
    rows, which is what the log-rank test compares with its spread. The rule is for "high risk" or
    "low risk".

    Parameters
    ----------
    time : str or array-like of shape (n_rows,)
        The column of times, or its values: not negative, until the event or until a row was no
        longer watched.
    event : str or array-like of shape (n_rows,)
        1 or True where the event came at that time, 0 or False where the row was no longer watched;
        or any values together with `came`.
    came : value, optional
        The value of `event` that says that it came, where that is not 1 or True: "died".
    score : "log-rank" or "martingale"
        How events of the same time count: all at once, as in the log-rank test (Peto and Peto
        1972), or one after the other (Efron), as in the martingale residuals of a Cox model
        without features (Therneau, Grambsch and Fleming 1990). Without such events both are the
        same.
    direction : "high" or "low"
        Whether to look for more events than expected, or for fewer.
    ratio : float
        How many times the pace of all rows is the least that counts (for "low": the most). A
        larger one makes for smaller groups of higher risk.

    Examples
    --------
    >>> from opdt import discover
    >>> days, died = [5, 6, 8, 9, 40, 50, 60, 70], [1, 1, 1, 0, 0, 0, 0, 1]
    >>> found = discover({"age": [71, 70, 80, 75, 40, 50, 45, 30]}, max_depth=1,
    ...                  objective=Survival(time=days, event=died))
    >>> print(found.rule)
    IF age >= 60 THEN high risk
    """

    kind: ClassVar[str] = "survival"
    target: ClassVar[TargetKind] = TargetKind.NOTHING
    reads: ClassVar[tuple[str, ...]] = ("time", "event")
    counts_errors: ClassVar[bool] = False
    headline: ClassVar[tuple[str, ...]] = ("events inside", "expected inside", "hazard ratio")

    time: Any
    event: Any
    came: Any = None
    score: str = "log-rank"
    direction: str = "high"
    ratio: float = 1.0

    def __post_init__(self) -> None:
        check_choice("score", self.score, tuple(SCORES))
        check_choice("direction", self.direction, DIRECTIONS)
        wanted = "a finite number above 0"
        check_number("ratio", self.ratio, wanted, lambda x: 0 < x < math.inf)

    @property
    def rule_label(self) -> str:
        """What is said of the rows covered."""
        return f"{self.direction} risk"

    def then(self, target: str | None = None) -> str:
        """The risk is high, or low."""
        return f"the risk is {self.direction}"

    @property
    def words(self) -> Words:
        """Events, counted from what is expected."""
        named = f"events {self.beyond}"
        return Words(named, f"more {named}", f"a number of {named}", plain, plain)

    @property
    def beyond(self) -> str:
        """Where events count from."""
        side = "beyond" if self.direction == "high" else "short of"
        return f"{side} expectation" if self.ratio == 1 else f"{side} {self.ratio:g} × expectation"

    def bind(self, rows: BoundRows) -> SurvivalGains:
        """Events less expected events, or the reverse, of each row."""
        if rows.table.weights is not None:
            raise InputError(
                "'sample_weight' cannot be given beside Survival, whose scores count every row "
                "once; drop it."
            )
        time, event = self.times(rows)
        scores = SCORES[self.score](time, event, float(self.ratio))
        sign = 1.0 if self.direction == "high" else -1.0
        return SurvivalGains.of(
            sign * scores, None, name="time", objective=self, time=time, event=event
        )

    def times(self, rows: BoundRows) -> tuple[Numbers, NDArray[np.bool_]]:
        """Times and events of the rows, checked; shape (n_rows,) each."""
        time = rows.numbers("time", self.time)
        if (time < 0).any():
            raise BadRows(
                f"{called('time', self.time)} is negative", time < 0,
                "; times count from when a row was first watched.",
            )  # fmt: skip
        event = self._events(rows.cells("event", self.event))
        if not event.any():
            raise InputError(
                f"{called('event', self.event)} is 0 in every row; without an event there is "
                "nothing to compare."
            )
        return time, event

    def _events(self, raw: Raw) -> NDArray[np.bool_]:
        what = called("event", self.event)
        if raw.missing is not None:
            raise BadRows(f"{what} is missing", raw.missing, "; drop the rows.")
        cells = raw.values.tolist()
        if self.came is not None:
            return self._meant(cells, what)
        good = np.array([cell in (0, 1) for cell in cells], dtype=bool)
        if not good.all():
            first = cells[int((~good).argmax())]
            raise BadRows(
                f"{what} must be 0 or 1 but is {first!r} or the like", ~good,
                "; give 1 where the event came, or say by 'came' which value means that.",
            )  # fmt: skip
        return np.array(cells, dtype=bool)

    def _meant(self, cells: list[Any], what: str) -> NDArray[np.bool_]:
        """Rows of the value that says that the event came."""
        values = dict.fromkeys(cells)
        meant = [each for each in values if each == self.came or str(each) == self.came]
        if len(meant) != 1:
            shown = ", ".join(map(repr, list(values)[:5])) + (", …" if len(values) > 5 else "")
            raise InputError(
                f"'came' must be a value of {what}, which has {shown}, got {self.came!r}."
            )
        return np.array([cell == meant[0] for cell in cells], dtype=bool)

    def estimate(
        self, gains: ObjectiveGains, fires: NDArray[np.bool_], level: float = 0.95
    ) -> Estimate:
        """The log-rank test on held-out rows; means are events beyond expectation per row."""
        assert isinstance(gains, SurvivalGains)
        test = log_rank_test(gains.time, gains.event, fires, level)
        inside, outside = gains.values[fires], gains.values[~fires]
        sentence = f"covers none of the {len(fires):,} held-out rows"
        if len(inside):
            told = told_test(test, level)
            sentence = f"{told}, on {len(inside):,} of {len(fires):,} held-out rows"
        return LogRankEstimate(
            len(fires), len(inside), _mean(inside), _mean(outside), mean_interval(inside, level),
            level, self._one_sided(test), sentence, numbers_of(test),
        )  # fmt: skip

    def _one_sided(self, test: LogRankTest) -> float:
        if math.isnan(test.p_value):
            return 1.0
        more = test.observed[0] > test.expected[0]
        right = more if self.direction == "high" else not more
        return test.p_value / 2 if right else 1 - test.p_value / 2


@dataclass(frozen=True)
class LogRankEstimate(Estimate):
    """What held-out rows say; the sentence has the p-value of the usual, two-sided test."""

    @property
    def said(self) -> str:
        """What they say, in words."""
        return self.sentence


@dataclass(frozen=True, eq=False, kw_only=True)
class SurvivalGains(ObjectiveGains):
    """Events beyond (or short of) expectation, with the times they are made of."""

    per_row: ClassVar[tuple[str, ...]] = ("worth", "time", "event")

    objective: Survival
    time: Numbers
    event: NDArray[np.bool_]

    def told(self, mean: float, overall: float, covered: int) -> str:
        """Events of a covered row and of any row, in words."""
        rows = "row" if covered == 1 else "rows"
        everywhere = plain(0.0 if abs(overall) < 1e-9 else overall)  # sums of floats
        return (
            f"{plain(mean)} events a row {self.objective.beyond} in {covered:,} {rows}, "
            f"{everywhere} overall"
        )

    def account(self, fires: NDArray[np.bool_], label: int) -> Account:
        """Events seen and expected, and when half of the rows have had theirs."""
        test = log_rank_test(self.time, self.event, fires)
        medians = [
            survival_curve(self.time[rows], self.event[rows]).median if rows.any() else math.nan
            for rows in (fires, ~fires)
        ]
        sentence = (
            f"covers {int(fires.sum()):,} of {len(fires):,} rows with {test.observed[0]:,.0f} "
            f"events, where {plain(test.expected[0])} were to be expected at the pace of all rows; "
            f"{_halves(medians)}"
        )
        named = {"median inside": medians[0], "median outside": medians[1]}
        return Account(sentence, numbers_of(test) | named)


def told_test(test: LogRankTest, level: float) -> str:
    """What the log-rank test says, in words."""
    if math.isnan(test.p_value):
        return "no event tells the covered rows from the others"
    p_value = "p < 0.0001" if test.p_value < 1e-4 else f"p = {test.p_value:.2g}"
    if math.isnan(test.ratio):
        return f"log-rank test {p_value}"
    return (
        f"events come {test.ratio:.3g} times as fast inside as outside ({level:.0%} interval "
        f"{test.low:.3g} to {test.high:.3g}; log-rank test {p_value})"
    )


def numbers_of(test: LogRankTest) -> dict[str, float]:
    """The numbers of a log-rank test, by name."""
    return {
        "events inside": test.observed[0],
        "events outside": test.observed[1],
        "expected inside": test.expected[0],
        "expected outside": test.expected[1],
        "hazard ratio": test.ratio,
        "hazard ratio from": test.low,
        "hazard ratio to": test.high,
        "log-rank p": test.p_value,
    }


def _mean(values: Numbers) -> float:
    return float(values.mean()) if len(values) else math.nan


def _halves(medians: list[float]) -> str:
    """When half of the rows have had their event, inside and outside."""
    said = []
    for where, median in zip(("inside", "outside"), medians, strict=True):
        if not math.isnan(median):
            never = math.isinf(median)
            said.append(f"{where} {'fewer than half have it' if never else f'by {median:,g}'}")
    if all(math.isinf(median) for median in medians if not math.isnan(median)):
        return "fewer than half have the event"
    return "half have the event " + ", ".join(said)
