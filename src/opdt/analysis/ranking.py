"""Rules in their order, with names and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opdt.analysis.counts import Counted, frame_of, text_table
from opdt.problem import CodedRule, Measure, Problem
from opdt.rules import Rule
from opdt.solution import StopReason


@dataclass(frozen=True)
class Alternative(Counted):
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
    """

    rank: int
    rule: Rule
    value: float
    covered: float
    errors: float
    n_rows: float
    equivalents: tuple[Rule, ...] = ()
    more_equivalents: bool = False
    overlap: float = math.nan


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
        names = ("rank", "value", "precision", "coverage", "covered", "errors", "overlap")
        table = {name: [getattr(each, name) for each in self.rules] for name in names}
        others = [[str(rule) for rule in each.equivalents] for each in self.rules]
        return table | {"rule": [str(each.rule) for each in self.rules], "equivalents": others}

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
    titles = ("rank", "VI", *(("overlap",) if shown else ()), *Counted.TITLES)
    rows = []
    for each in rules:
        overlap = "–" if math.isnan(each.overlap) else f"{each.overlap:.2f}"
        rows.append(
            (str(each.rank), f"{each.value:.10g}", *((overlap,) if shown else ()), *each.words())
        )
    return text_table(titles, rows)


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
            problem.vi(measure.gain),
            measure.covered / scale,
            measure.errors / scale,
            total,
        )
        for place, (rule, measure) in enumerate(ranked, 1)
    )
