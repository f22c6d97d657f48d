"""Rules in their order, with names and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from opdt.analysis.counts import Judged, frame_of, text_table
from opdt.engines.measures import is_measured
from opdt.errors import InputError
from opdt.objectives import Objective, ObjectiveGains, TargetKind, words_of
from opdt.objectives.words import plain
from opdt.problem import CodedRule, Measure, Problem
from opdt.problem.evidence import evidence_of, evidence_of_measure
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
        Its VI, or what it is worth in the objective that was asked for.
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
    objective : str or Objective
        What the values measure.
    """

    rules: tuple[Alternative, ...]
    complete: bool
    stopped_by: StopReason
    seconds: float
    objective: str | Objective = "vi"

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, index: Any) -> Any:
        return self.rules[index]

    def __iter__(self) -> Iterator[Alternative]:
        return iter(self.rules)

    def columns(self) -> dict[str, list[Any]]:
        """The rules by column: what every library makes a data frame of."""
        table = numbers_of(self.rules, self.objective)
        table["overlap"] = [each.overlap for each in self.rules]
        others = [[str(rule) for rule in each.equivalents] for each in self.rules]
        table |= {"verdict": levels(self.rules), "rule": [str(each.rule) for each in self.rules]}
        return table | {"equivalents": others}

    def to_frame(self) -> Any:
        """The rules as a data frame of pandas, or else of polars or Arrow."""
        return frame_of(self.columns())

    def __str__(self) -> str:
        return list_rules(self.rules, self.objective)


def numbers_of(
    rules: Sequence[Alternative], objective: str | Objective = "vi"
) -> dict[str, list[Any]]:
    """The numbers of rules by column; errors and precision where rows have classes."""
    names = ("rank", "value", "precision", "lift", "coverage", "covered", "errors")
    table = {name: [getattr(each, name) for each in rules] for name in names}
    if has_classes(objective):
        return table
    for name in ("precision", "lift", "errors"):
        del table[name]
    return table | {"per_row": [each.value / each.covered for each in rules]}


def has_classes(objective: str | Objective) -> bool:
    """Whether rows have classes, so that errors and precision mean something."""
    return isinstance(objective, str) or objective.target is TargetKind.CLASSES


def check_listed(problem: Problem) -> None:
    """Refuse to list rules in the order of what is no sum over their rows."""
    best_in = problem.best_in
    if best_in == "precision":
        raise InputError(
            "rules are listed in the order of their VI, but the problem asks for the most precise "
            "one; build it with the objective 'vi' or 'coverage'."
        )
    if is_measured(problem):
        raise InputError(
            f"rules are listed in the order of a sum over their rows, which {best_in!r} is not; "
            "build the problem with the objective 'vi' or 'coverage'."
        )
    if isinstance(best_in, Objective) and best_in.needs_coverage:
        raise InputError(
            "rules are listed in the order of a sum over their rows, but "
            f"{best_in!r} asks for the best {best_in.words.name}; give it a threshold."
        )


def list_rules(rules: Sequence[Alternative], objective: str | Objective = "vi") -> str:
    """The rules as a table in text."""
    if not rules:
        return "no rule"
    shown = any(not math.isnan(each.overlap) for each in rules)
    name, *own = titles_of(objective)
    titles = ("rank", name, *(("overlap",) if shown else ()), *own)
    rows = []
    for each in rules:
        overlap = "–" if math.isnan(each.overlap) else f"{each.overlap:.2f}"
        value, *words = texts_of(each, objective)
        rows.append((str(each.rank), value, *((overlap,) if shown else ()), *words))
    return text_table(titles, rows)


def titles_of(objective: str | Objective) -> tuple[str, ...]:
    """What lists show of each rule."""
    if has_classes(objective):
        return words_of(objective).name, *Alternative.TITLES
    return words_of(objective).name, "covered", "per row", "coverage", "verdict", "rule"


def texts_of(rule: Alternative, objective: str | Objective) -> tuple[str, ...]:
    """The texts under `titles_of`."""
    value, words = f"{rule.value:.10g}", rule.words()
    if has_classes(objective):
        return value, *words
    covered, *_, coverage, verdict, said = words
    return value, covered, plain(rule.value / rule.covered), coverage, verdict, said


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
    gains = problem.objective
    by_rows = isinstance(gains, ObjectiveGains) and gains.chance_by_rows
    if by_rows or problem.table.weights is not None:
        return evidence_of(problem, rule)
    return evidence_of_measure(problem, rule.label, measure)
