"""Rules for one class, of which any may fire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.rules.exports import Exports
from opdt.rules.lazy import lazy_choice, lazy_covers, lazy_kind
from opdt.rules.rule import Rule, open_cells, plain_label, same_label
from opdt.rules.rule_list import checked_rules, label_array

if TYPE_CHECKING:
    from opdt.rules.export.cases import Cases


class RuleSet(Exports):
    """IF any of the rules fires THEN the class, ELSE the default: a disjunction of conjunctions.

    Two rule sets are equal when they have the same rules, in whatever order they were given.

    Parameters
    ----------
    rules : iterable of Rule
        All of them point to `label`.
    label : scalar
        The class where any rule fires.
    default : scalar or None
        The class where none fires; None leaves it without a class.

    Examples
    --------
    >>> from opdt import Condition, Rule
    >>> old, smokes = Condition("age", ">=", 60), Condition("smoker", "==", "yes")
    >>> rules = RuleSet([Rule([old], "ill"), Rule([smokes], "ill")], "ill", "well")
    >>> print(rules)
    IF age >= 60
    OR smoker == 'yes'
    THEN ill
    ELSE well
    >>> rules.covers({"age": [70, 30, 30], "smoker": ["no", "yes", None]}).tolist()
    [True, True, False]
    """

    __slots__ = ("_default", "_label", "_rules")

    def __init__(self, rules: Iterable[Rule], label: Any, default: Any) -> None:
        self._rules = tuple(dict.fromkeys(checked_rules(rules, "rule set")))
        self._label = plain_label(label)
        self._default = plain_label(default)
        for rule in self._rules:
            if not same_label(rule.label, self._label):
                raise InputError(
                    f"all rules of a rule set point to its class {self._label!r}, "
                    f"got one that points to {rule.label!r}."
                )

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order in which they were given."""
        return self._rules

    @property
    def label(self) -> Any:
        """The class where any rule fires."""
        return self._label

    @property
    def default(self) -> Any:
        """The class where no rule fires."""
        return self._default

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features used, each once."""
        return tuple(dict.fromkeys(name for rule in self._rules for name in rule.features))

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Rows of `X` on which any rule fires, boolean, shape (n_rows,).

        Parameters
        ----------
        X : data frame, mapping of columns, 2-D array or path
            Only the columns of the rules are needed. A dask DataFrame gives a dask Series, a
            Spark DataFrame a Spark Column.
        """
        if lazy_kind(X):
            return lazy_covers(self, X)  # type: ignore[no-any-return]
        source = open_cells(X, self._rules)
        fires = np.zeros(source.n_rows, dtype=bool)
        for rule in self._rules:
            fires |= rule.covers(source)
        return fires

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row of `X`, shape (n_rows,); lazy for what `covers` is lazy for."""
        labels, fires = label_array([self._default, self._label]), self.covers(X)
        if lazy_kind(X):
            return lazy_choice(fires, labels, "label")  # type: ignore[no-any-return]
        return labels[fires.astype(np.int64)]

    def _cases(self) -> Cases:
        """The rules with their classes, the first that fires decides, and the default."""
        from opdt.rules.export.cases import Cases, Form

        return Cases(Form.SET, self._rules, self._default)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuleSet):
            return NotImplemented
        return (
            frozenset(self._rules) == frozenset(other._rules)
            and same_label(self._label, other._label)
            and same_label(self._default, other._default)
        )

    def __hash__(self) -> int:
        return hash((frozenset(self._rules), self._label, self._default))

    def __len__(self) -> int:
        return len(self._rules)

    def __str__(self) -> str:
        lines = [rule.body for rule in self._rules] or ["(no row)"]
        starts = ["IF", *["OR"] * (len(lines) - 1)]
        text = [f"{start} {line}" for start, line in zip(starts, lines, strict=True)]
        return "\n".join([*text, f"THEN {self._label}", f"ELSE {self._default}"])

    def __repr__(self) -> str:
        rules = ", ".join(map(repr, self._rules))
        return f"RuleSet([{rules}], {self._label!r}, {self._default!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return RuleSet, (self._rules, self._label, self._default)
