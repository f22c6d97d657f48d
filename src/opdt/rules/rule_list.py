"""Rules in order, of which the first that fires decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.rules.exports import Exports
from opdt.rules.rule import Rule, open_cells, plain_label, same_label

if TYPE_CHECKING:
    from opdt.rules.export.cases import Cases


class RuleList(Exports):
    """IF … THEN … ELSE IF … THEN … ELSE the default: the first rule that fires decides.

    Parameters
    ----------
    rules : iterable of Rule
        In the order in which they are asked.
    default : scalar or None
        The class of a row on which no rule fires; None leaves it without a class.

    Examples
    --------
    >>> from opdt import Condition, Rule
    >>> old, smokes = Condition("age", ">=", 60), Condition("smoker", "==", "yes")
    >>> rules = RuleList([Rule([old, smokes], "high"), Rule([smokes], "medium")], "low")
    >>> print(rules)
    IF age >= 60 AND smoker == 'yes' THEN high
    ELSE IF smoker == 'yes' THEN medium
    ELSE low
    >>> rules.predict({"age": [70, 30, None], "smoker": ["yes", "yes", "no"]}).tolist()
    ['high', 'medium', 'low']
    """

    __slots__ = ("_default", "_rules")

    def __init__(self, rules: Iterable[Rule], default: Any) -> None:
        self._rules = checked_rules(rules, "rule list")
        self._default = plain_label(default)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order in which they are asked."""
        return self._rules

    @property
    def default(self) -> Any:
        """The class of a row on which no rule fires."""
        return self._default

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features used, each once."""
        return tuple(dict.fromkeys(name for rule in self._rules for name in rule.features))

    def fires(self, X: Any) -> NDArray[np.int64]:
        """Position of the first rule that fires on each row, -1 where none does, shape (n_rows,).

        Parameters
        ----------
        X : data frame, mapping of columns, 2-D array or path
            Only the columns of the rules are needed.
        """
        source = open_cells(X, self._rules)
        first = np.full(source.n_rows, -1, dtype=np.int64)
        for position, rule in enumerate(self._rules):
            first[(first < 0) & rule.covers(source)] = position
        return first

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Rows of `X` on which any rule fires, boolean, shape (n_rows,)."""
        return self.fires(X) >= 0

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row of `X`, shape (n_rows,)."""
        # The default is last, which is where the position -1 points to.
        return label_array([*(rule.label for rule in self._rules), self._default])[self.fires(X)]

    def to_sql(
        self, dialect: str = "duckdb", *, label: Any = None, types: Mapping[str, str] | None = None
    ) -> str:
        """SQL that is true on the rows whose class is `label` and false on all others, never NULL.

        Parameters
        ----------
        dialect : str
            As of `Rule.to_sql`.
        label : scalar, optional
            One of the classes; without it the rows are meant on which any rule fires.
        types : mapping of feature to type, optional
            As of `Rule.to_sql`.
        """
        if label is None:
            return super().to_sql(dialect, types=types)
        from opdt.rules.export.sql import sql_predicts

        return sql_predicts(self._cases(), plain_label(label), dialect, types)

    def _cases(self) -> Cases:
        """The rules with their classes, the first that fires decides, and the default."""
        from opdt.rules.export.cases import Cases, Form

        return Cases(Form.LIST, self._rules, self._default)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuleList):
            return NotImplemented
        return self._rules == other._rules and same_label(self._default, other._default)

    def __hash__(self) -> int:
        return hash((self._rules, self._default))

    def __len__(self) -> int:
        return len(self._rules)

    def __str__(self) -> str:
        lines = [str(rule) for rule in self._rules]
        lines = [*lines[:1], *(f"ELSE {line}" for line in lines[1:])]
        return "\n".join([*lines, f"ELSE {self._default}" if lines else str(self._default)])

    def __repr__(self) -> str:
        return f"RuleList([{', '.join(map(repr, self._rules))}], {self._default!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return RuleList, (self._rules, self._default)


def checked_rules(rules: Iterable[Rule], owner: str) -> tuple[Rule, ...]:
    """The rules as a tuple; anything else among them is refused."""
    found = tuple(rules)
    for rule in found:
        if not isinstance(rule, Rule):
            raise InputError(f"a {owner} is made of Rule objects, got {rule!r}.")
    return found


def label_array(labels: list[Any]) -> NDArray[Any]:
    """The classes as an array of their own type, of objects where they have several."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 or kinds == {int, float}:
        array = np.array(labels)
        if array.dtype.kind in "biufU":
            return array
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects
