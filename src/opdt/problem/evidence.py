"""How many rules a problem has, and what its rows say about one of them."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from opdt.counts import RuleCounts
from opdt.objectives import ObjectiveGains
from opdt.objectives.evidence import GainEvidence
from opdt.problem.chains import Level
from opdt.problem.coded import CodedRule
from opdt.problem.problem import Measure, Problem
from opdt.rules import Op
from opdt.rules.counting import count_masks
from opdt.verdict import Evidence


def evidence_of(problem: Problem, rule: CodedRule) -> Evidence:
    """What the rows of the table say; those of weight 0 are not there."""
    return evidence_of_rows(problem, problem.cover(rule.conditions), rule.label)


def evidence_of_rows(problem: Problem, fires: NDArray[np.bool_], label: int) -> Evidence:
    """The same of covered rows, shape (n_rows,), and a class."""
    gains = problem.objective
    if isinstance(gains, ObjectiveGains):
        return _of_gains(problem, gains, fires & (gains.weights > 0))
    wrong = gains.wrong(label)
    if problem.table.weights is not None:
        there = problem.table.weights > 0
        fires, wrong = fires[there], wrong[there]
    return Evidence(count_masks(fires, ~wrong), *problem.n_rules)


def _of_gains(problem: Problem, gains: ObjectiveGains, fires: NDArray[np.bool_]) -> GainEvidence:
    """The same of rows that are worth numbers."""
    there = gains.weights > 0
    counts = count_masks(fires[there], ~gains.wrong(gains.labels[0])[there])
    mean = float(gains.values[fires].mean()) if fires.any() else 0.0
    log_one, expected = gains.chance(fires, mean)
    return GainEvidence(
        counts,
        *problem.n_rules,
        log_one=log_one,
        mean=mean,
        overall=expected,
        told=gains.told(mean, expected, int(counts.covered)),
        shuffled=gains.shuffled,
    )


def evidence_of_measure(problem: Problem, label: int, measure: Measure) -> Evidence:
    """The same from a rule's counts, of a table whose rows have no weights."""
    gains = problem.objective
    wrong, scale = gains.wrong(label), gains.weight_scale
    covered, errors = measure.covered // scale, measure.errors // scale
    counts = RuleCounts(len(wrong), int((~wrong).sum()), covered, errors)
    if isinstance(gains, ObjectiveGains):
        mean = problem.value(measure.gain) / covered if covered else 0.0
        spread = gains.spread
        return GainEvidence(
            counts,
            *problem.n_rules,
            log_one=spread.log_chance(covered, mean),
            mean=mean,
            overall=spread.mean,
            told=gains.told(mean, spread.mean, covered),
            shuffled=gains.shuffled,
        )
    return Evidence(counts, *problem.n_rules)


def count_rules(problem: Problem, n_thresholds: int | None = None) -> int:
    """An upper limit on the number of rules, over all classes.

    Rules that differ in a threshold are different ones, whether or not they cover the same rows.
    `n_thresholds` of a feature and direction takes the place of those in the table.
    """
    conditions = {
        level: _conditions(problem, level, n_thresholds)
        for chain in problem.chains
        for level in chain
    }
    # At each level one condition, or none; levels that are alike have no order.
    return len(problem.objective.labels) * sum(
        math.prod(
            math.comb(conditions[level] + times, times) for level, times in Counter(chain).items()
        )
        for chain in problem.chains
    )


def _conditions(problem: Problem, level: Level, n_thresholds: int | None) -> int:
    n_conditions = 0
    for feature in level.features:
        n_values = problem.table.columns[feature].n_values
        for op in problem.ops_of(feature, right=level.right, left=level.left):
            if op.is_threshold:
                n_conditions += max(0, n_values - 1) if n_thresholds is None else n_thresholds
            elif op is Op.IN:
                n_conditions += 2 ** len(problem.subset_levels(feature))
            elif op.needs_value:
                n_conditions += n_values
            else:
                n_conditions += 1
    return n_conditions
