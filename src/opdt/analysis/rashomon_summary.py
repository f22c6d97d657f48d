"""What the rules of a set have in common: features, exchanges, thresholds, rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.counts import text_table
from opdt.analysis.ranking import Alternative
from opdt.problem import CodedCondition, CodedRule, Problem
from opdt.problem.lifting import lift_condition
from opdt.rules import Op
from opdt.rules.condition import format_value


@dataclass(frozen=True)
class FeatureUse:
    """How much a feature is used by the rules of a set.

    Attributes
    ----------
    feature : str
    share : float
        Share of the rules that use it.
    best_with, best_without : float or None
        The largest VI of a rule with it, and of one without; None if the set has no such rule.
    """

    feature: str
    share: float
    best_with: float | None
    best_without: float | None


@dataclass(frozen=True)
class Exchange:
    """Two features of which either can stand beside the same others.

    Attributes
    ----------
    feature, other : str
        In the order of the table.
    beside : tuple of str
        The other features of the rules; their thresholds may move.
    label : scalar
        The class of the rules.
    value, other_value : float
        The largest VI with the one and with the other.
    """

    feature: str
    other: str
    beside: tuple[str, ...]
    label: Any
    value: float
    other_value: float


@dataclass(frozen=True)
class ThresholdRange:
    """The thresholds of a feature in one direction.

    Attributes
    ----------
    feature : str
    op : Op
        `>=` or `<`.
    label : scalar
        The class of the rules.
    loosest, tightest : number or numpy.datetime64
    n_rules : int
        Rules with such a condition.
    """

    feature: str
    op: Op
    label: Any
    loosest: Any
    tightest: Any
    n_rules: int


@dataclass(frozen=True, eq=False)
class RashomonSummary:
    """What the rules of a set have in common.

    A rule that holds a needless condition, one that can be left out with no loss of VI, says
    nothing about the features it names. So features, exchanges and thresholds are those of the
    *lean* rules, which hold none.

    Attributes
    ----------
    n_rules, n_patterns, n_lean : int
        Rules, sets of rows that they cover, and rules without a needless condition.
    features : tuple of FeatureUse
        All features that a lean rule uses, the most used first.
    necessary : tuple of str
        Features in every rule.
    exchanges : tuple of Exchange
    thresholds : tuple of ThresholdRange
    covered_by_all, covered_by_any : ndarray of bool, shape (n_rows,)
        Rows that every rule covers, and rows that some rule covers.
    """

    n_rules: int
    n_patterns: int
    n_lean: int
    features: tuple[FeatureUse, ...]
    necessary: tuple[str, ...]
    exchanges: tuple[Exchange, ...]
    thresholds: tuple[ThresholdRange, ...]
    covered_by_all: NDArray[np.bool_]
    covered_by_any: NDArray[np.bool_]

    @property
    def interchangeable(self) -> tuple[tuple[str, str], ...]:
        """Pairs of features of which either can stand beside the same others, each pair once."""
        return tuple(dict.fromkeys((each.feature, each.other) for each in self.exchanges))

    def __str__(self) -> str:
        lines = [
            f"rows covered by every rule {int(self.covered_by_all.sum()):,}, "
            f"by some rule {int(self.covered_by_any.sum()):,}",
            f"features in every rule: {', '.join(self.necessary) or 'none'}",
        ]
        if self.features:
            rows = [
                (
                    _share(each.share),
                    "–" if each.best_without is None else f"{each.best_without:.10g}",
                    each.feature,
                )
                for each in self.features
            ]
            lines += ["", text_table(("used by", "best VI without", "feature"), rows)]
        if self.exchanges:
            lines += ["", "interchangeable (with the best VI)", *self._slots()]
        if self.thresholds:
            lines += ["", "thresholds, from the loosest to the tightest"]
        for ends in self.thresholds:
            one, two = format_value(ends.loosest), format_value(ends.tightest)
            lines.append(f"  {ends.feature} {ends.op} {one if one == two else f'{one} … {two}'}")
        return "\n".join(lines)

    def _slots(self) -> Iterator[str]:
        """For each place in a rule, the features of which any can take it."""
        places: dict[tuple[tuple[str, ...], Any], dict[str, float]] = {}
        for each in self.exchanges:
            fitting = places.setdefault((each.beside, each.label), {})
            fitting |= {each.feature: each.value, each.other: each.other_value}
        several = len({label for _, label in places}) > 1
        for (beside, label), fitting in places.items():
            where = f"beside {', '.join(beside)}" if beside else "alone"
            words = ", ".join(
                f"{feature} ({value:.10g})"
                for feature, value in sorted(fitting.items(), key=lambda item: -item[1])
            )
            yield f"  {where}{f' for {label}' if several else ''}: {words}"


def _share(share: float) -> str:
    return f"{share:.0%}".replace("%", " %") if share >= 0.005 else "< 1 %"


def summarise(
    problem: Problem,
    rules: Sequence[Alternative],
    coded: Sequence[tuple[CodedRule, int]],
) -> RashomonSummary:
    """The summary of rules, given as they are and coded, with the numbers of their patterns."""
    values = {rule: each.value for (rule, _), each in zip(coded, rules, strict=True)}
    lean = {rule: value for rule, value in values.items() if _is_lean(rule, values)}
    firsts = {number: rule for rule, number in reversed(coded)}
    always = np.ones(problem.table.n_rows, dtype=bool) if firsts else np.zeros(0, dtype=bool)
    ever = np.zeros(problem.table.n_rows, dtype=bool)
    for rule in firsts.values():
        fires = problem.cover(rule.conditions)
        always &= fires
        ever |= fires
    used = [frozenset(c.feature for c in rule.conditions) for rule in lean]
    shared = frozenset.intersection(*used) if used else frozenset()
    names = problem.table.names
    return RashomonSummary(
        n_rules=len(rules),
        n_patterns=len(firsts),
        n_lean=len(lean),
        features=_features(names, lean),
        necessary=tuple(names[feature] for feature in sorted(shared)),
        exchanges=_exchanges(problem, lean),
        thresholds=_thresholds(problem, lean),
        covered_by_all=always if firsts else ever,
        covered_by_any=ever,
    )


def _is_lean(rule: CodedRule, values: dict[CodedRule, float]) -> bool:
    """Whether no condition can be left out without loss.

    A rule with fewer conditions and no smaller value comes earlier in the order, so it is listed
    if it is a rule of the problem at all.
    """
    return not any(
        values.get(CodedRule(some, rule.label), -math.inf) >= values[rule]
        for size in range(len(rule.conditions))
        for some in combinations(rule.conditions, size)
    )


def _features(names: Sequence[str], lean: dict[CodedRule, float]) -> tuple[FeatureUse, ...]:
    counts: Counter[int] = Counter()
    for rule in lean:
        counts.update({c.feature for c in rule.conditions})
    out = []
    for feature, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        best: dict[bool, float] = {}
        for rule, value in lean.items():
            uses = any(c.feature == feature for c in rule.conditions)
            best[uses] = max(value, best.get(uses, value))
        out.append(FeatureUse(names[feature], count / len(lean), best.get(True), best.get(False)))
    return tuple(out)


def _exchanges(problem: Problem, lean: dict[CodedRule, float]) -> tuple[Exchange, ...]:
    """Pairs of feature sets of one class that differ in one feature."""
    best: dict[tuple[int, frozenset[int]], float] = {}
    for rule, value in lean.items():
        key = rule.label, frozenset(c.feature for c in rule.conditions)
        best[key] = max(value, best.get(key, value))
    slots: dict[tuple[int, frozenset[int]], list[int]] = {}
    for label, features in best:
        for feature in features:
            slots.setdefault((label, features - {feature}), []).append(feature)
    names, classes = problem.table.names, problem.table.classes.tolist()
    out = []
    for (label, beside), fitting in slots.items():
        others = tuple(names[feature] for feature in sorted(beside))
        for one, two in combinations(sorted(fitting), 2):
            values = best[label, beside | {one}], best[label, beside | {two}]
            out.append(Exchange(names[one], names[two], others, classes[label], *values))
    return tuple(sorted(out, key=lambda e: (-min(e.value, e.other_value), -e.value)))


def _thresholds(problem: Problem, lean: dict[CodedRule, float]) -> tuple[ThresholdRange, ...]:
    """The loosest and the tightest threshold of each feature, direction and class."""
    found: dict[tuple[int, Op, int], Counter[int]] = {}
    for rule in lean:
        for condition in rule.conditions:
            if condition.op.is_threshold:
                key = condition.feature, condition.op, rule.label
                found.setdefault(key, Counter())[condition.code] += 1
    out = []
    classes = problem.table.classes.tolist()
    for (feature, op, label), codes in sorted(found.items(), key=lambda item: item[0][::2]):
        ends = min(codes), max(codes)
        loosest, tightest = ends if op is Op.GE else ends[::-1]
        out.append(
            ThresholdRange(
                problem.table.names[feature],
                op,
                classes[label],
                _threshold(problem, feature, op, loosest),
                _threshold(problem, feature, op, tightest),
                codes.total(),
            )
        )
    return tuple(out)


def _threshold(problem: Problem, feature: int, op: Op, code: int) -> Any:
    return lift_condition(problem.table, CodedCondition(feature, op, code)).value
