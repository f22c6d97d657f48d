"""Rules in their order, with names and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from opdt.analysis.counts import Judged, frame_of, text_table
from opdt.problem import CodedRule, Measure, Problem
from opdt.problem.evidence import evidence_of, evidence_of_counts
from opdt.rules import Rule
from opdt.solution import StopReason
from opdt.verdict import Evidence


@dataclass(frozen=True)
class Alternative(Judged):
    """One rule of several, with its place among them.

    Attributes
    ----------
    rank : int
        Place in the order, from 1.
    rule : Rule
    value : float
        Its VI.
    covered, errors, n_rows : float
        Rows that the rule covers, those of another class among them, and all rows (weighted).
    equivalents : tuple of Rule
        Other rules of the problem that cover the same rows, best first.
    more_equivalents : bool
        Whether there are, or may be, more of them than are listed.
    overlap : float
        The largest overlap with a rule before it; NaN where none was asked for.
    evidence : Evidence or None
        What the rows say about the rule; see `verdict`, which allows for all rules that there
        are to choose from, so that it holds for each rule of a list of the best.
    """

    TITLES: ClassVar[tuple[str, ...]] = (*Judged.TITLES[:3], "lift", *Judged.TITLES[3:])

    rank: int
    rule: Rule
    value: float
    covered: float
    errors: float
    n_rows: float
    equivalents: tuple[Rule, ...] = ()
    more_equivalents: bool = False
    overlap: float = math.nan
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    def words(self) -> tuple[str, ...]:
        """The texts under `TITLES`."""
        *numbers, coverage, verdict, rule = super().words()
        lift = "–" if math.isnan(self.lift) else f"{self.lift:.2f}"
        return *numbers, lift, coverage, verdict, rule


@dataclass(frozen=True, eq=False)
class Alternatives(Sequence[Alternative]):
    """Rules in their order; a sequence of `Alternative`.

    Attributes
    ----------
    rules : tuple of Alternative
    complete : bool
        Whether these are proven to be the rules asked for (fewer than asked for: there are no
        more). If not, a limit of the budget was met: each rule has the value it says, but a
        better one may be missing.
    stopped_by : StopReason
    seconds : float
        Time that it took.
    """

    rules: tuple[Alternative, ...]
    complete: bool
    stopped_by: StopReason
    seconds: float

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, index: Any) -> Any:
        return self.rules[index]

    def __iter__(self) -> Iterator[Alternative]:
        return iter(self.rules)

    def columns(self) -> dict[str, list[Any]]:
        """The rules by column: what every library makes a data frame of."""
        names = ("rank", "value", "precision", "lift", "coverage", "covered", "errors", "overlap")
        table = {name: [getattr(each, name) for each in self.rules] for name in names}
        others = [[str(rule) for rule in each.equivalents] for each in self.rules]
        table |= {"verdict": levels(self.rules), "rule": [str(each.rule) for each in self.rules]}
        return table | {"equivalents": others}

    def to_frame(self) -> Any:
        """The rules as a data frame of pandas, or else of polars or Arrow."""
        return frame_of(self.columns())

    def __str__(self) -> str:
        return list_rules(self.rules)


def list_rules(rules: Sequence[Alternative]) -> str:
    """The rules as a table in text."""
    if not rules:
        return "no rule"
    shown = any(not math.isnan(each.overlap) for each in rules)
    titles = ("rank", "VI", *(("overlap",) if shown else ()), *Alternative.TITLES)
    rows = []
    for each in rules:
        overlap = "–" if math.isnan(each.overlap) else f"{each.overlap:.2f}"
        rows.append(
            (str(each.rank), f"{each.value:.10g}", *((overlap,) if shown else ()), *each.words())
        )
    return text_table(titles, rows)


def levels(rules: Sequence[Alternative]) -> list[str]:
    """How far the rows speak for each rule."""
    return ["" if each.verdict is None else str(each.verdict.level) for each in rules]


def rank_rules(
    problem: Problem, ranked: Sequence[tuple[CodedRule, Measure]]
) -> tuple[Alternative, ...]:
    """Coded rules in their order, with names and numbers."""
    scale = problem.objective.weight_scale
    total = int(problem.objective.weights.sum()) / scale
    return tuple(
        Alternative(
            place,
            problem.lift(rule),
            problem.value(measure.gain),
            measure.covered / scale,
            measure.errors / scale,
            total,
            evidence=_evidence(problem, rule, measure),
        )
        for place, (rule, measure) in enumerate(ranked, 1)
    )


def _evidence(problem: Problem, rule: CodedRule, measure: Measure) -> Evidence:
    """Of ten thousand rules nobody wants to count the rows again, unless weights hide them."""
    if problem.table.weights is not None:
        return evidence_of(problem, rule)
    scale = problem.objective.weight_scale
    covered, errors = measure.covered // scale, measure.errors // scale
    return evidence_of_counts(problem, rule.label, covered, errors)
