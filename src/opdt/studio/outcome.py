"""The answer to one work: the rule, its numbers on both parts of the rows, and its errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.permutation import PermutationTest
from opdt.analysis.ranking import has_classes
from opdt.objectives import Words
from opdt.problem import Constraints, Problem, Structure
from opdt.problem.evidence import evidence_of_rows
from opdt.report import RuleReport
from opdt.report.content import WrongRow, WrongRows, wrong_columns
from opdt.report.formats import format_count, format_seconds
from opdt.report.rows import sentence
from opdt.report.text import proof, rule_lines, rule_sentence
from opdt.rules import Op, Rule
from opdt.rules.counting import Stage, of_class, rule_funnel
from opdt.solution import Solution, Status, StopReason
from opdt.studio.best_in import needs_label, told
from opdt.studio.limits import LimitCheck, WorkLimit, check_limits
from opdt.studio.regions import RegionPicture, region_of
from opdt.studio.tables import Loaded, RowPart
from opdt.studio.work import Pinned, Work
from opdt.studio.worth import RuleWorth, Valuer
from opdt.table import Plan
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
    seen, unseen : Measured or None
        What the rule does on the training rows, and on the held-out rows; None without a rule, or
        without such rows.
    mute : str
        Why the held-out rows say nothing, where they do not.
    region : RegionPicture or None
        The rows and the rule over its first two features; None where there is nothing to draw.
    narrow : tuple of WorkLimit
        Without a rule: the limits without any one of which there is one.
    """

    work: Work
    solution: Solution
    sentence: str
    badge: str
    proof: str
    seen: Measured | None = None
    unseen: Measured | None = None
    mute: str = ""
    region: RegionPicture | None = None
    narrow: tuple[WorkLimit, ...] = ()

    @property
    def rule(self) -> Rule | None:
        """The rule, if there is one."""
        return self.solution.rule

    @property
    def is_proven(self) -> bool:
        """Whether nothing better is possible."""
        return self.solution.status.is_proven

    @property
    def words(self) -> Words:
        """How values are spoken of."""
        return told(self.work.objective, self.work.target)

    @property
    def train(self) -> RuleReport | None:
        """Counts on the training rows, where they have classes."""
        return None if self.seen is None else self.seen.worth.counts

    @property
    def held_out(self) -> RuleReport | None:
        """Counts on the held-out rows, where they have classes."""
        return None if self.unseen is None else self.unseen.worth.counts

    @property
    def funnel(self) -> tuple[Stage, ...]:
        """Condition by condition, where rows have classes."""
        return () if self.seen is None else self.seen.funnel

    @property
    def funnel_held_out(self) -> tuple[Stage, ...]:
        """The same on the held-out rows."""
        return () if self.unseen is None else self.unseen.funnel

    @property
    def wrong(self) -> WrongRows | None:
        """Covered training rows of another class."""
        return None if self.seen is None else self.seen.wrong

    @property
    def wrong_held_out(self) -> WrongRows | None:
        """Covered held-out rows of another class."""
        return None if self.unseen is None else self.unseen.wrong


def verdict_of(outcome: RuleOutcome | None, test: PermutationTest | None) -> Verdict | None:
    """Whether all that is known speaks for the rule; None without one."""
    if outcome is None or outcome.rule is None:
        return None
    new = None if outcome.unseen is None else outcome.unseen.worth.judges
    return judge(outcome.solution.evidence, held_out=new, test=test)


@dataclass(frozen=True)
class Comparison:
    """A rule among others: its numbers on the rows it may have been found on, and on others.

    The verdict rests on the training rows alone, as the rule may have been found on the others.
    """

    rule: Rule
    sentence: str
    note: str
    seen: RuleWorth
    unseen: RuleWorth | None
    verdict: Verdict


class PartValuers(NamedTuple):
    """Who says what rules are worth: on the training rows, and on held-out ones if there are any.

    `mute` says why held-out rows say nothing, where there are some and they do not.
    """

    train: Valuer
    held_out: Valuer | None
    mute: str = ""


def outcome_of(
    loaded: Loaded, work: Work, parts: PartValuers, solution: Solution, plan: Plan
) -> RuleOutcome:
    """Everything that is shown about a solution."""
    rule = solution.rule
    badge, proven = badge_of(solution), sentence(proof(solution))
    if rule is None:
        return RuleOutcome(work, solution, rule_lines(solution)[0], badge, proven)
    return RuleOutcome(
        work,
        solution,
        rule_sentence(rule, work.objective, work.target),
        badge,
        proven,
        seen=measure(loaded, work, rule, parts.train, plan),
        unseen=None
        if parts.held_out is None
        else measure(loaded, work, rule, parts.held_out, plan),
        mute=parts.mute,
        region=region_of(rule, parts.train),
    )


def compare(work: Work, parts: PartValuers, problem: Problem) -> tuple[Comparison, ...]:
    """The pinned rules side by side, but for those on other columns or for another target."""
    features, label = set(problem.table.names), work.label if needs_label(work.objective) else None
    labels = problem.table.classes.tolist() if label is None else [label]
    rules = [
        each
        for each in work.pinned
        if features.issuperset(each.rule.features) and each.rule.label in labels
    ]
    return tuple(_comparison(each, work, parts, problem) for each in rules)


def _comparison(pinned: Pinned, work: Work, parts: PartValuers, problem: Problem) -> Comparison:
    rule, held = pinned.rule, parts.held_out
    seen, unseen = parts.train.of(rule), None if held is None else held.of(rule)
    verdict = judge(_evidence(rule, seen, problem, parts.train))
    words = rule_sentence(rule, work.objective, work.target)
    return Comparison(rule, words, pinned.note, seen, unseen, verdict)


def _evidence(rule: Rule, seen: RuleWorth, problem: Problem, valuer: Valuer) -> Evidence:
    """What the rows say about a rule that may be any with as many conditions, however chosen."""
    wide = Problem.build(
        problem.table,
        structure=Structure.free(max(1, len(rule.conditions))),
        constraints=Constraints(
            subsets=tuple(c.feature for c in rule.conditions if c.op is Op.IN),
            missing_conditions=any(not c.op.needs_value for c in rule.conditions),
        ),
        gains=valuer.gains,
    )
    if valuer.gains is not None:
        return evidence_of_rows(wide, rule.covers(valuer.part.source), valuer.gains.labels[0])
    assert seen.counts is not None
    return Evidence(seen.counts, *wide.n_rules)


class Measured(NamedTuple):
    """What a rule does on some rows.

    Attributes
    ----------
    worth : RuleWorth
    funnel : tuple of Stage
        Its conditions one by one, where rows have classes.
    stages : tuple of (condition or None, rows, worth)
        The same where they have none; the first is of all rows.
    wrong : WrongRows or None
        Its errors; None where rows have no classes.
    limits : tuple of LimitCheck
    """

    worth: RuleWorth
    funnel: tuple[Stage, ...]
    stages: tuple[tuple[Any, int, str], ...]
    wrong: WrongRows | None
    limits: tuple[LimitCheck, ...]


def measure(loaded: Loaded, work: Work, rule: Rule, valuer: Valuer, plan: Plan) -> Measured:
    """The rule's numbers, its conditions one by one, and its errors on some rows."""
    part = valuer.part
    limits = check_limits(work, rule, part, plan, new=valuer.new)
    if not has_classes(work.objective):
        return Measured(valuer.of(rule), (), valuer.stages(rule), None, limits)
    right = of_class(part.labels, rule.label)
    wrong = _wrong(loaded, rule, part, rule.covers(part.source) & ~right)
    return Measured(valuer.of(rule), rule_funnel(rule, part.source, right), (), wrong, limits)


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
    gap = format_count(solution.gap)
    if solution.objective != "vi":
        gap = told(solution.objective).show_gap(solution.gap)
    return f"not proven ({why} after {took}), gap {gap}"


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
