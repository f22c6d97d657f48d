"""The one place where the rows that a rule covers are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.counts import RuleCounts, ratio
from opdt.errors import InputError
from opdt.rules.condition import Condition
from opdt.rules.rule import Rule
from opdt.rules.rule_set import RuleSet
from opdt.table import Source, open_source, raw_column
from opdt.table.labels import check_weights

Mask = NDArray[np.bool_]


def labels_of(source: Source, y: Any) -> NDArray[Any]:
    """The label of each row, shape (n_rows,): `y`, or the column of the source that it names."""
    labels = np.asarray(raw_column(source, y)[0] if isinstance(y, str) else y)
    check_labels(labels, source.n_rows)
    return labels


def check_labels(labels: NDArray[Any], n_rows: int) -> None:
    """Refuse labels that are not one for each row."""
    if labels.shape != (n_rows,):
        raise InputError(
            f"'y' must have one label for each of the {n_rows} rows, got shape {labels.shape}."
        )


def of_class(labels: NDArray[Any], label: Any) -> Mask:
    """Which rows are of a class, shape (n_rows,)."""
    return np.fromiter((each == label for each in labels.tolist()), bool, len(labels))


def count_masks(fires: Mask, right: Mask, weights: NDArray[np.float64] | None = None) -> RuleCounts:
    """The counts of covered rows and of rows of the rule's class; with weights, their sums."""
    if weights is None:
        n_rows, n_class = len(right), int(np.count_nonzero(right))
        return RuleCounts(
            n_rows, n_class, int(np.count_nonzero(fires)), int(np.count_nonzero(fires & ~right))
        )
    return RuleCounts(
        float(weights.sum()),
        float(weights[right].sum()),
        float(weights[fires].sum()),
        float(weights[fires & ~right].sum()),
    )


def count_rule(rule: Rule | RuleSet, X: Any, y: Any, sample_weight: Any = None) -> RuleCounts:
    """What a rule does on rows: a table or source, and its labels."""
    if not isinstance(rule, Rule | RuleSet):
        raise InputError(
            f"'rule' must be a Rule, got {type(rule).__name__}; take solution.rule, which is None "
            "where there is none."
        )
    source = open_source(X)
    right = of_class(labels_of(source, y), rule.label)
    return count_masks(rule.covers(source), right, check_weights(sample_weight, source.n_rows))


def count_rules_on(
    rules: Iterable[Rule | None], X: Any, y: Any, sample_weight: Any = None
) -> Iterator[RuleCounts]:
    """The counts of each rule; no rule covers nothing, and is of no class."""
    source = open_source(X)
    labels = labels_of(source, y)
    weights = check_weights(sample_weight, source.n_rows)
    nothing = np.zeros(source.n_rows, dtype=bool)
    right: dict[Any, Mask] = {}
    for rule in rules:
        if rule is None:
            yield count_masks(nothing, nothing, weights)
            continue
        if rule.label not in right:
            right[rule.label] = of_class(labels, rule.label)
        yield count_masks(rule.covers(source), right[rule.label], weights)


@dataclass(frozen=True)
class Stage:
    """One step of a funnel: the rows of each class that a condition leaves.

    Attributes
    ----------
    condition : Condition or None
        None for the first stage, which is all rows.
    alone, together : tuple of int
        Rows on which the condition holds, and those on which all earlier ones hold as well; of
        each class, the rule's first.
    """

    condition: Condition | None
    alone: tuple[int, ...]
    together: tuple[int, ...]

    @property
    def covered(self) -> int:
        """Rows that are left."""
        return sum(self.together)

    @property
    def correct(self) -> int:
        """Those of the rule's class among them."""
        return self.together[0]

    @property
    def errors(self) -> int:
        """Those of another class."""
        return self.covered - self.correct

    @property
    def precision(self) -> float:
        """Share of the rows left that are of the rule's class; NaN where none is left."""
        return ratio(self.correct, self.covered)


def conditions_left(rule: Rule, source: Source) -> Iterator[tuple[Condition, Mask]]:
    """Each condition of a rule, with the rows on which it and all earlier ones hold."""
    left = np.ones(source.n_rows, dtype=bool)
    for condition in rule.conditions:
        left = left & Rule([condition], rule.label).covers(source)
        yield condition, left


def funnel_stages(
    conditions: Iterable[Condition],
    holds: Callable[[Condition], Mask],
    classes: NDArray[np.integer[Any]],
    n_classes: int,
) -> tuple[Stage, ...]:
    """All rows, then what each condition leaves.

    Parameters
    ----------
    conditions : iterable of Condition
        In the order in which they are applied.
    holds : function
        The rows on which a condition holds, shape (n_rows,).
    classes : ndarray of shape (n_rows,)
        The place of each row's class; that of the rule is 0.
    n_classes : int
    """

    def counts(rows: Mask) -> tuple[int, ...]:
        return tuple(np.bincount(classes[rows], minlength=n_classes).tolist())

    left = np.ones(len(classes), dtype=bool)
    stages = [Stage(None, counts(left), counts(left))]
    for condition in conditions:
        fires = holds(condition)
        left = left & fires
        stages.append(Stage(condition, counts(fires), counts(left)))
    return tuple(stages)


def rule_funnel(rule: Rule, source: Source, right: Mask) -> tuple[Stage, ...]:
    """The funnel of a rule on rows of which `right` are of its class; the others are one class."""

    def holds(condition: Condition) -> Mask:
        return Rule([condition], rule.label).covers(source)

    return funnel_stages(rule.conditions, holds, (~right).astype(np.intp), 2)
