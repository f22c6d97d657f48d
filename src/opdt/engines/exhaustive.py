"""The oracle: every rule, one after the other, in plain NumPy.

There is nothing clever here on purpose. Each level of each chain applies each condition it
admits, or none where it may be vacuous; the rule is simplified, measured, and compared by the
documented order. All other exact engines are held to its answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.engines.base import Engine, Outcome, Recorder, value_of
from opdt.problem import Chain, CodedCondition, CodedRule, Measure, Problem, simplify
from opdt.problem.coded import count_possible, holds
from opdt.solution import Clock, LimitReached, Statistics, StopReason

REPORT_EVERY = 64  # nodes, a few milliseconds of work
BLOCK_CELLS = 1 << 22  # rows times conditions of the last level that are counted at once
STEP_BYTES = 200  # of a condition

Step = CodedCondition | None  # None: the level is vacuous
Found = tuple[tuple[Any, ...], CodedRule, Measure]  # the place in the order comes first
Counts = NDArray[np.int64]
Batch = tuple[tuple[Step, ...], list[Step], list[tuple[int, Counts, Counts, Counts]]]


@dataclass(frozen=True)
class ExhaustiveEngine(Engine):
    """Tries every rule of the problem.

    Parameters
    ----------
    max_rules : int
        Larger problems are refused, since the work is proportional to the number of rules.
    """

    name: ClassVar[str] = "exhaustive"
    proves_optimality: ClassVar[bool] = True

    max_rules: int = 20_000_000

    def refuses(self, problem: Problem) -> str | None:
        """Refuse what would take too long."""
        n_rules = count_rules(problem)
        if n_rules > self.max_rules:
            return (
                f"it has {n_rules:,} rules to try, at most {self.max_rules:,} are; "
                "use engine 'search'"
            )
        return None

    def _solve(self, problem: Problem, clock: Clock) -> Outcome:
        best: Found | None = None
        recorder, stopped = Recorder(problem, clock), StopReason.FINISHED
        ceiling = problem.ceiling
        bound, n_batches = problem.value(ceiling), count_batches(problem)
        nodes = evaluations = 0
        try:
            for prefix, last, tables in _batches(problem, clock):
                if nodes % REPORT_EVERY == 0:
                    done = min(1.0, nodes / n_batches)  # batches may come in parts
                    recorder.report(value_of(problem, best and best[2]), bound, done)
                if reason := clock.stop(nodes):
                    stopped = reason
                    break
                nodes += 1
                evaluations += len(last) * len(tables)
                for label, gains, covered, errors in tables:
                    found = _best_of(problem, prefix, last, label, gains, covered, errors, best)
                    if found is not None:
                        best = found
                        recorder.improved(found[1], problem.value(found[2].gain), bound)
        except LimitReached as stop:
            stopped = stop.reason
        except KeyboardInterrupt:
            stopped = StopReason.INTERRUPTED
        rule, measure = (best[1], best[2]) if best is not None else (None, None)
        if stopped is StopReason.FINISHED:
            recorder.improved(rule, value_of(problem, measure), value_of(problem, measure))
        return Outcome(
            rule=rule,
            bound=None if stopped is StopReason.FINISHED else ceiling,
            stopped_by=stopped,
            trace=tuple(recorder.points),
            statistics=Statistics(nodes=nodes, evaluations=evaluations),
        )


def count_rules(problem: Problem) -> int:
    """How many combinations of conditions the chains allow."""
    return sum(math.prod(_counts(problem, chain)) for chain in problem.chains)


def count_batches(problem: Problem) -> int:
    """How many combinations there are for all levels but the last of each chain."""
    return sum(math.prod(_counts(problem, chain)[:-1]) for chain in problem.chains)


def _counts(problem: Problem, chain: Chain) -> list[int]:
    """How much each level may choose from, without listing it: a large table has millions."""
    return [
        level.vacuous
        + sum(
            count_possible(op, problem.table.columns[feature].n_values)
            for feature in level.features
            for op in problem.ops_of(feature, right=level.right, left=level.left)
        )
        for level in chain
    ]


def _choices(problem: Problem, chain: Chain, clock: Clock) -> list[list[Step]]:
    """What each level may do; a chain without levels has one rule, that without conditions."""
    choices: list[list[Step]] = []
    for level in chain:
        steps: list[Step] = [None] if level.vacuous else []
        for feature in level.features:
            clock.check()
            steps += problem.conditions_of(feature, right=level.right, left=level.left)
        choices.append(steps)
    return choices or [[None]]


def _batches(problem: Problem, clock: Clock) -> Iterator[Batch]:
    """Each choice for all levels but the last, with all choices of the last counted at once.

    Yields the prefix, the choices of the last level (a part of them, where there are many), and
    per class their gains, covered weight and error weight, each of shape (n_choices,).
    """
    for chain in problem.chains:
        n_steps = sum(_counts(problem, chain))
        clock.require(
            n_steps * (problem.table.n_rows + STEP_BYTES),
            f"trying {n_steps:,} conditions on {problem.table.n_rows:,} rows",
            "use the engine 'search'",
        )
        yield from _batches_of(problem, _choices(problem, chain, clock), clock)


def _batches_of(problem: Problem, choices: list[list[Step]], clock: Clock) -> Iterator[Batch]:
    masks = [_masks(problem, steps, clock) for steps in choices]
    objective = problem.objective
    values = [
        (label, objective.gains(label), objective.weights * objective.wrong(label))
        for label in objective.labels
    ]

    def extend(depth: int, prefix: tuple[Step, ...], fires: NDArray[np.bool_]) -> Iterator[Batch]:
        if depth == len(choices) - 1:
            rows = np.flatnonzero(fires)
            size = max(1, BLOCK_CELLS // max(1, len(rows)))
            for first in range(0, len(choices[depth]), size):
                part = slice(first, first + size)
                last = masks[depth][part, rows].astype(np.int64)
                covered = last @ objective.weights[rows]
                tables = [
                    (label, last @ gains[rows], covered, last @ wrong[rows])
                    for label, gains, wrong in values
                ]
                yield prefix, choices[depth][part], tables
            return
        for step, mask in zip(choices[depth], masks[depth], strict=True):
            yield from extend(depth + 1, (*prefix, step), fires & mask)

    yield from extend(0, (), np.ones(problem.table.n_rows, dtype=bool))


def _masks(problem: Problem, steps: list[Step], clock: Clock) -> NDArray[np.bool_]:
    """Rows that pass each step, shape (n_steps, n_rows)."""
    out = np.ones((len(steps), problem.table.n_rows), dtype=bool)
    for row, step in enumerate(steps):
        if row % REPORT_EVERY == 0:
            clock.check()
        if step is not None:
            out[row] = holds(step, problem.table.columns[step.feature].codes)
    return out


def _best_of(
    problem: Problem,
    prefix: tuple[Step, ...],
    last: list[Step],
    label: int,
    gains: Counts,
    covered: Counts,
    errors: Counts,
    best: Found | None,
) -> Found | None:
    """The best rule of a batch if it beats `best` in the documented order, else None."""
    floor = best[2].gain if best is not None else (1 if problem.may_be_empty else None)
    candidates = np.flatnonzero(gains >= floor) if floor is not None else range(len(last))
    found = None
    for index in candidates:
        measure = Measure(int(gains[index]), int(covered[index]), int(errors[index]))
        if not problem.within_limits(measure):
            continue
        steps = tuple(step for step in (*prefix, last[index]) if step is not None)
        rule = CodedRule(simplify(steps), label)
        used = [condition.feature for condition in rule.conditions]
        if not problem.required <= set(used):
            continue
        if problem.constraints.once and len(set(used)) < len(used):
            continue
        key = problem.key(rule, measure)
        if best is None or key < best[0]:
            best = found = (key, rule, measure)
    return found
