"""The best rule set of a table, with what is proven about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from opdt.analysis.column_generation.loss import Loss, check_price
from opdt.analysis.column_generation.run import ClassRun, Counts, Incumbent, generate
from opdt.analysis.counts import with_verdicts
from opdt.arguments import start_clock
from opdt.checks import check_int
from opdt.errors import InputError
from opdt.problem import CodedRule, Constraints, Problem
from opdt.problem.arguments import Groups, StructureLike, build_problem, resolve_table
from opdt.problem.evidence import evidence_of, evidence_of_rows
from opdt.rules import RuleSet
from opdt.solution import Budget, Clock, Status, StopReason
from opdt.verdict import Evidence, Verdict, judge


@dataclass(frozen=True)
class RuleSetSolution:
    """A rule set and what is proven about it: `bound <= optimum <= value`, always.

    Attributes
    ----------
    rule_set : RuleSet
        The rule that saves most by itself comes first. Of sets of the same loss any may be found.
    value, bound : float
        The loss of the set in rows, and a limit that no set of the problem falls below.
    status : Status
        `optimal` if the two are equal, else `feasible`.
    missed, wrong : float
        Weight of the rows of the class that no rule covers; weight of other rows that rules
        cover, once for each rule.
    n_conditions : int
        Of all rules together.
    stopped_by : StopReason
        `finished`, or the limit that was met; `node limit` stands for the limits on listed rules
        and nodes, which are part of the method.
    relaxation : float
        The optimum of the linear program over all rules, if it was reached, as far as the
        solver's tolerances go.
    seconds : float
    iterations, columns, nodes : int
        Questions to the exact search, rules taken into account, nodes of the choice among them.
    evidence : Evidence or None
        What the rows say about the set as a whole; see `verdict`.
    of_rules : tuple of Evidence
        What they say about each of its rules.
    """

    rule_set: RuleSet
    value: float
    bound: float
    status: Status
    missed: float
    wrong: float
    n_conditions: int
    stopped_by: StopReason
    relaxation: float
    seconds: float
    iterations: int
    columns: int
    nodes: int
    evidence: Evidence | None = field(default=None, repr=False)
    of_rules: tuple[Evidence, ...] = field(default=(), repr=False)

    @property
    def verdict(self) -> Verdict | None:
        """Whether the rows speak for the set, of all sets of so many rules; None if it is empty."""
        return judge(self.evidence) if self.rule_set.rules else None

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Whether the rows speak for each rule by itself."""
        return tuple(map(judge, self.of_rules))

    def __str__(self) -> str:
        """The set, with the verdict on each rule and on the whole."""
        said = [f"verdict: {self.verdict}", self.verdict.cure] if self.verdict else []
        return "\n".join([with_verdicts(self.rule_set, self.verdicts), *said])

    @property
    def gap(self) -> float:
        """How much smaller the loss of an undiscovered set could be; 0 when proven optimal."""
        return self.value - self.bound


def best_rule_set(
    X: Any,
    y: Any = None,
    *,
    max_rules: int = 5,
    condition_price: float = 1.0,
    max_depth: int | None = None,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    roles: Mapping[str, str] | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    budget: Budget | Clock | None = None,
) -> RuleSetSolution:
    """The set of at most so many rules with the smallest loss, or a set and a bound.

    A row belongs to the class if any of the rules fires. The loss of a set, in rows, is the
    number of rows of the class that no rule covers, plus the number of other rows that rules
    cover (counted once for each rule), plus the price of its conditions.

    Parameters
    ----------
    X, y
        As in `discover`; labels of two classes, or a `label` among several.
    max_rules : int
        The largest number of rules.
    condition_price : float
        What one condition must save, in rows.
    max_depth, structure, groups, constraints, sample_weight, roles, time_limit, n_jobs, budget
        As in `discover`. Structure and constraints hold for each rule; the limits for all work
        together.
    label : class, optional
        The class that the rules describe; the one with the smaller loss if left out.

    Returns
    -------
    RuleSetSolution

    Notes
    -----
    Column generation (Dash, Günlük and Wei 2018): the linear program over all rules is solved by
    asking the exact search for the rule of the greatest saving at its current multipliers, with
    every threshold that the data offer. When no rule saves anything more, the program gives a
    bound. What remains of the gap is closed by listing all rules that a better set could hold,
    and choosing among them by branch and bound. Bounds are sums of whole numbers and owe
    nothing to the tolerances of the linear program.

    Examples
    --------
    >>> found = best_rule_set(
    ...     {"age": [25, 31, 47, 52, 38, 70], "smoker": ["no", "no", "yes", "no", "yes", "no"]},
    ...     ["well", "well", "ill", "well", "ill", "ill"], label="ill", condition_price=0.5)
    >>> print(found.rule_set)
    IF smoker == 'yes'
    OR age >= 60
    THEN ill
    ELSE well
    >>> found.value, found.bound, str(found.status)
    (1.0, 1.0, 'optimal')
    """
    clock = start_clock(budget, time_limit, n_jobs)
    most = check_int("max_rules", max_rules)
    check_price(condition_price)
    table = resolve_table(X, y, sample_weight, roles)
    classes = table.classes.tolist()
    if len(classes) > 2 and label is None:
        raise InputError(
            f"a rule set tells one class from the rest, but the labels have {len(classes)}; give "
            "the 'label' that the rules describe, or use a rule list."
        )
    problems = [
        build_problem(
            table,
            None,
            w=2,
            max_depth=max_depth,
            structure=structure,
            groups=groups,
            label=each,
            constraints=constraints,
        )
        for each in (classes if label is None else [label])
    ]
    losses = [Loss.of(problem, condition_price) for problem in problems]
    empty = min(losses, key=lambda loss: loss.missed.sum())
    incumbent = Incumbent(int(empty.missed.sum()), empty.label)
    counts = Counts()
    runs = [
        ClassRun(problem, loss, most, clock, incumbent, counts)
        for problem, loss in zip(problems, losses, strict=True)
    ]
    stopped_by = generate(runs)
    return _solution(runs, incumbent, counts, stopped_by, clock.elapsed())


def _solution(
    runs: list[ClassRun],
    incumbent: Incumbent,
    counts: Counts,
    stopped_by: StopReason,
    seconds: float,
) -> RuleSetSolution:
    """The incumbent with its counts, from the data."""
    chosen = next(run for run in runs if run.loss.label == incumbent.label)
    problem, loss = chosen.problem, chosen.loss
    rules = sorted(incumbent.rules, key=lambda rule: problem.key(rule, problem.measure(rule)))
    covers = [problem.cover(rule.conditions) for rule in rules]
    fires = sum(covers, start=~loss.wanted & False)
    missed = loss.weights[loss.wanted & ~fires].sum()
    wrong = sum(loss.weights[cover & ~loss.wanted].sum() for cover in covers)
    n_conditions = sum(len(rule.conditions) for rule in rules)
    assert missed + wrong + loss.price * n_conditions == incumbent.loss
    bound = min(incumbent.loss, *(run.bound for run in runs))
    table = problem.table
    others = [c for c in table.classes.tolist() if c != table.classes.tolist()[loss.label]]
    return RuleSetSolution(
        rule_set=RuleSet(
            [problem.lift(rule) for rule in rules],
            table.classes[loss.label],
            others[0] if len(others) == 1 else None,
        ),
        value=loss.in_rows(incumbent.loss),
        bound=loss.in_rows(bound),
        status=Status.OPTIMAL if bound == incumbent.loss else Status.FEASIBLE,
        missed=loss.in_rows(missed),
        wrong=loss.in_rows(wrong),
        n_conditions=n_conditions,
        stopped_by=stopped_by if bound < incumbent.loss else StopReason.FINISHED,
        relaxation=min(run.relaxation for run in runs) * float(Fraction(loss.unit)),
        seconds=seconds,
        iterations=counts.iterations,
        columns=counts.columns + sum(len(run.columns) for run in runs),
        nodes=counts.nodes,
        **_evidence(problem, rules, n_classes=len(runs)),
    )


def _evidence(problem: Problem, rules: list[CodedRule], n_classes: int) -> dict[str, Any]:
    """What the rows say: each rule is one of all rules, and the set one of all sets."""
    numbers = [n_classes * number for number in problem.n_rules]
    each = tuple(evidence_of(problem, rule).among(*numbers) for rule in rules)
    if not rules:
        return {}
    fires = np.any([problem.cover(rule.conditions) for rule in rules], axis=0)
    whole = evidence_of_rows(problem, fires, rules[0].label)
    return {"evidence": whole.among(*(n ** len(rules) for n in numbers)), "of_rules": each}
