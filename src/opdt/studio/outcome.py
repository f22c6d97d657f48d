"""The answer to one work: the rule, its numbers on both parts of the rows, and its errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.permutation import PermutationTest
from opdt.problem import Constraints, Problem, Structure
from opdt.report import RuleReport, rule_report
from opdt.report.content import WrongRow, WrongRows, wrong_columns
from opdt.report.formats import format_count, format_seconds
from opdt.report.rows import sentence
from opdt.report.text import proof, rule_lines
from opdt.rules import Op, Rule
from opdt.rules.counting import Stage, of_class, rule_funnel
from opdt.solution import Solution, Status, StopReason
from opdt.studio.regions import RegionPicture, region_of
from opdt.studio.tables import Loaded, RowPart, RowSplit
from opdt.studio.work import Pinned, Work
from opdt.table import Table
from opdt.verdict import Evidence, Verdict, judge

MAX_WRONG = 200  # rows that are listed
OTHER_COLUMNS = 8  # columns beside the rule's own that they are listed with


@dataclass(frozen=True, eq=False)
class RuleOutcome:
    """The rule of a work and what is known about it.

    Attributes
    ----------
    work : Work
        What was asked.
    solution : Solution
        Equal to that of `opdt.discover` on the training rows.
    sentence : str
        The rule in words, or why there is none.
    badge : str
        What is proven, in few words: "proven optimal in 23 ms".
    proof : str
        What is proven, in a sentence.
    train, held_out : RuleReport or None
        None without a rule, or without held-out rows.
    funnel, funnel_held_out : tuple of Stage
    wrong, wrong_held_out : WrongRows or None
    region : RegionPicture or None
        The rows and the rule over its first two features; None where there is nothing to draw.
    """

    work: Work
    solution: Solution
    sentence: str
    badge: str
    proof: str
    train: RuleReport | None = None
    held_out: RuleReport | None = None
    funnel: tuple[Stage, ...] = ()
    funnel_held_out: tuple[Stage, ...] = ()
    wrong: WrongRows | None = None
    wrong_held_out: WrongRows | None = None
    region: RegionPicture | None = None

    @property
    def rule(self) -> Rule | None:
        """The rule, if there is one."""
        return self.solution.rule

    @property
    def is_proven(self) -> bool:
        """Whether nothing better is possible."""
        return self.solution.status.is_proven


def verdict_of(outcome: RuleOutcome | None, test: PermutationTest | None) -> Verdict | None:
    """Whether all that is known speaks for the rule; None without one."""
    if outcome is None or outcome.rule is None:
        return None
    return judge(outcome.solution.evidence, held_out=outcome.held_out, test=test)


@dataclass(frozen=True)
class Comparison:
    """A rule among others: its numbers on the rows it may have been found on, and on others.

    The verdict rests on the training rows alone, as the rule may have been found on the others.
    """

    rule: Rule
    sentence: str
    note: str
    train: RuleReport
    held_out: RuleReport | None
    verdict: Verdict


def outcome_of(loaded: Loaded, work: Work, split: RowSplit, solution: Solution) -> RuleOutcome:
    """Everything that is shown about a solution."""
    rule = solution.rule
    badge, proven = badge_of(solution), sentence(proof(solution))
    if rule is None:
        return RuleOutcome(work, solution, rule_lines(solution)[0], badge, proven)
    train, held_out = split
    seen = measure(loaded, rule, train, work.w)
    unseen = None if held_out is None else measure(loaded, rule, held_out, work.w)
    return RuleOutcome(
        work,
        solution,
        rule.to_english(),
        badge,
        proven,
        train=seen.report,
        held_out=None if unseen is None else unseen.report,
        funnel=seen.funnel,
        funnel_held_out=() if unseen is None else unseen.funnel,
        wrong=seen.wrong,
        wrong_held_out=None if unseen is None else unseen.wrong,
        region=region_of(rule, train),
    )


def compare(work: Work, split: RowSplit, table: Table) -> tuple[Comparison, ...]:
    """The pinned rules side by side, but for those on columns that are not features now."""
    features = set(split.train.source.names)
    rules = [each for each in work.pinned if features.issuperset(each.rule.features)]
    return tuple(_comparison(each, work.w, split, table) for each in rules)


def _comparison(pinned: Pinned, w: float, split: RowSplit, table: Table) -> Comparison:
    rule, held = pinned.rule, split.held_out
    seen = rule_report(rule, split.train.source, split.train.labels, w)
    unseen = None if held is None else rule_report(rule, held.source, held.labels, w)
    verdict = judge(_evidence(rule, seen, table))
    return Comparison(rule, rule.to_english(), pinned.note, seen, unseen, verdict)


def _evidence(rule: Rule, seen: RuleReport, table: Table) -> Evidence:
    """What the rows say about a rule that may be any with as many conditions, however chosen."""
    problem = Problem.build(
        table,
        structure=Structure.free(max(1, len(rule.conditions))),
        constraints=Constraints(
            subsets=tuple(c.feature for c in rule.conditions if c.op is Op.IN),
            missing_conditions=any(not c.op.needs_value for c in rule.conditions),
        ),
    )
    return Evidence(seen, *problem.n_rules)


class Measured(NamedTuple):
    """What a rule does on some rows."""

    report: RuleReport
    funnel: tuple[Stage, ...]
    wrong: WrongRows


def measure(loaded: Loaded, rule: Rule, part: RowPart, w: float) -> Measured:
    """The rule's numbers, its conditions one by one, and its errors on some rows."""
    right = of_class(part.labels, rule.label)
    report = rule_report(rule, part.source, part.labels, w)
    wrong = _wrong(loaded, rule, part, rule.covers(part.source) & ~right)
    return Measured(report, rule_funnel(rule, part.source, right), wrong)


def badge_of(solution: Solution) -> str:
    """What is proven, in few words."""
    took = format_seconds(solution.seconds)
    if solution.status is Status.OPTIMAL:
        return f"proven optimal in {took}"
    if solution.status is Status.NO_PATTERN:
        return f"proven in {took}: no pattern"
    if solution.status is Status.INFEASIBLE:
        return f"proven in {took}: no rule meets the demands"
    stopped = solution.stopped_by in (StopReason.CANCELLED, StopReason.INTERRUPTED)
    why = "stopped" if stopped else str(solution.stopped_by)
    return f"not proven ({why} after {took}), gap {format_count(solution.gap)}"


def _wrong(loaded: Loaded, rule: Rule, part: RowPart, wrong: NDArray[np.bool_]) -> WrongRows:
    at = np.flatnonzero(wrong)
    shown = at[:MAX_WRONG]
    columns = wrong_columns(rule, part.X.columns, OTHER_COLUMNS)
    cells = loaded.cells(part.rows[shown], columns) if len(shown) else ()
    labels = part.labels[shown]
    rows = tuple(
        WrongRow(int(part.rows[row]) + 1, str(label), each)
        for row, label, each in zip(shown.tolist(), labels, cells, strict=True)
    )
    return WrongRows(columns, rows, len(at))
