"""What pictures of a rule need: its rows, their classes, and which of them it covers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.plot.canvas import MAX_CLASSES
from opdt.plot.text import class_text
from opdt.rules import Condition, Rule
from opdt.rules.counting import Stage, funnel_stages
from opdt.solution import Solution
from opdt.table import Source, open_source, raw_column

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class RuleRows:
    """A rule and the rows of a table.

    Attributes
    ----------
    rule : Rule
        With the names of the fit, which are those shown.
    codes : ndarray of shape (n_rows,)
        The place of each row's class in `classes`; the rule's class is 0.
    classes : tuple of str
        Classes as text, the rule's first, then the most frequent; those that are too many to be
        told apart are one, the last.
    verdict : str
        What `verdict_of` says of the model.
    """

    rule: Rule
    codes: NDArray[np.intp]
    classes: tuple[str, ...]
    verdict: str
    _source: Source
    _columns: dict[str, str]
    _read: dict[str, tuple[NDArray[Any], Mask]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Any, X: Any, y: Any) -> RuleRows:
        """The rule of a fitted model or solution, or the rule itself, and these rows."""
        rule, source = rule_of(model), open_source(X)
        columns = _columns_of(model, source)
        codes, classes = _coded(_labels(source, y), rule.label)
        return cls(rule, codes, classes, verdict_of(model), source, columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def values(self, feature: str) -> tuple[NDArray[Any], Mask]:
        """The values of a feature and which are missing; numbers if a condition wants numbers."""
        if feature not in self._read:
            conditions = [c for c in self.rule.conditions if c.feature == feature]
            column = self._columns.get(feature, feature)
            kind = "numeric" if any(c.op.is_threshold for c in conditions) else None
            cleaning = next((c.cleaning for c in conditions), None)
            self._read[feature] = raw_column(self._source, column, kind=kind, cleaning=cleaning)
        return self._read[feature]

    def holds(self, conditions: Iterable[Condition]) -> Mask:
        """Rows on which all of these conditions hold."""
        fires = np.ones(self.n_rows, dtype=bool)
        for condition in conditions:
            fires &= condition.holds(*self.values(condition.feature))
        return fires

    def stages(self) -> tuple[Stage, ...]:
        """All rows, then what each condition of the rule leaves."""
        return funnel_stages(
            self.rule.conditions, lambda c: self.holds([c]), self.codes, len(self.classes)
        )

    def counts(self, mask: Mask) -> list[int]:
        """How many of these rows are of each class."""
        counted: list[int] = np.bincount(self.codes[mask], minlength=len(self.classes)).tolist()
        return counted


def rule_of(model: Any) -> Rule:
    """The rule that is meant by a rule, a solution or a fitted model."""
    solution = getattr(model, "solution_", model)
    rule = getattr(model, "rule_", None)
    if isinstance(solution, Solution):
        rule = solution.rule
    elif isinstance(model, Rule):
        rule = model
    if isinstance(rule, Rule):
        return rule
    if isinstance(solution, Solution):
        raise InputError(
            f"there is no rule to draw: the solution's status is '{solution.status}'; "
            "lower 'w' or relax the constraints."
        )
    raise InputError(
        "a picture of a rule needs a Rule, a Solution or a fitted model, "
        f"got {type(model).__name__}."
    )


def verdict_of(model: Any) -> str:
    """`verdict: weak`, of the rows that the rule of a solution or model was found on.

    Nothing of a bare rule, of which nobody knows how it was found.
    """
    solution = getattr(model, "solution_", model)
    verdict = solution.verdict if isinstance(solution, Solution) else None
    return "" if verdict is None else f"verdict: {verdict.level}"


def _columns_of(model: Any, source: Source) -> dict[str, str]:
    """Names of the fit and the columns of the source that they stand for.

    They are the same but where a model is given an array of as many columns as it was fitted on.
    """
    fitted = getattr(model, "feature_names_in_", None)
    names = source.names
    n_fitted = getattr(model, "n_features_in_", len(names))
    if fitted is None:
        fitted = [f"x{j}" for j in range(n_fitted)] if hasattr(model, "n_features_in_") else names
    if len(names) == len(fitted) and not set(rule_of(model).features) <= set(names):
        return dict(zip(map(str, fitted), names, strict=True))
    return {name: name for name in names}


def _labels(source: Source, y: Any) -> NDArray[Any]:
    values, missing = raw_column(source, y) if isinstance(y, str) else raw_column({"y": y}, "y")
    if len(values) != source.n_rows:
        raise InputError(
            f"'y' must have one label for each of the {source.n_rows} rows, got {len(values)}."
        )
    if missing.any():
        raise InputError(
            f"'y' has missing labels in {int(missing.sum())} rows (first at row "
            f"{int(missing.argmax())}); drop them."
        )
    return values


def _coded(labels: NDArray[Any], label: Any) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    cells = labels.tolist()
    numbers = dict.fromkeys(cells, 0)
    for cell in cells:
        numbers[cell] += 1
    others = sorted((c for c in numbers if c != label), key=lambda c: (-numbers[c], str(c)))
    names = [class_text(each) for each in (label, *others)]
    if len(names) > MAX_CLASSES:
        kept = MAX_CLASSES - 1
        names[kept:] = [f"{len(names) - kept} other classes"]
    place = {c: min(at, MAX_CLASSES - 1) for at, c in enumerate(others, start=1)} | {label: 0}
    return np.fromiter((place[c] for c in cells), np.intp, len(cells)), tuple(names)
