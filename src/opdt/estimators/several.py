"""What classifiers of several rules have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opdt.estimators.inputs import check_fit, take_rows, weighed
from opdt.problem.arguments import resolve_table
from opdt.rules import Rule
from opdt.table import Table
from opdt.table.labels import check_weights


def checked_table(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Table, Any]:
    """The rows of positive weight, their table, and the class that the estimator's label means."""
    X, y = check_fit(estimator, X, y)
    weights, label = weighed(estimator, y, check_weights(sample_weight, len(y)))
    if weights is not None and not weights.all():
        keep = weights > 0
        X, y, weights = take_rows(X, keep), y[keep], weights[keep]
    table = resolve_table(X, y, weights, estimator.roles, missing=estimator.missing)
    return X, table, label


def renamed(rule: Rule, known: tuple[str, ...], names: tuple[str, ...]) -> Rule:
    """The rule with the names that an input without the names of the fit has, by position."""
    place = dict(zip(known, names, strict=True))
    return Rule([replace(c, feature=place[c.feature]) for c in rule.conditions], rule.label)


def welcoming(tags: Any) -> Any:
    """The tags of an estimator that takes missing values, text, categories, sparse matrices."""
    tags.input_tags.allow_nan = True
    tags.input_tags.sparse = True
    tags.input_tags.categorical = True
    tags.input_tags.string = True
    return tags
