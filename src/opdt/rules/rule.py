"""A conjunction of conditions and the class it points to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.rules.condition import Condition
from opdt.rules.exports import Exports
from opdt.rules.lazy import lazy_covers, lazy_kind
from opdt.table import Source, open_source, raw_column, read_frame

if TYPE_CHECKING:
    from opdt.rules.export.cases import Cases


def open_cells(X: Any, rules: Iterable[Rule]) -> Source:
    """The columns of some data; of a file, those that rules clean as text stay text."""
    if isinstance(X, (str, PathLike)):
        X = read_frame(X, as_text={name for rule in rules for name in rule.as_text})
    return open_source(X)


def plain_label(label: Any) -> Any:
    """A class as Python's own scalar, whatever array it came from."""
    is_date = isinstance(label, np.datetime64)
    return label.item() if isinstance(label, np.generic) and not is_date else label


def same_label(one: Any, other: Any) -> bool:
    """Whether two classes are equal and of the same type: 1 is not True."""
    return type(one) is type(other) and bool(one == other)


class Rule(Exports):
    """IF all conditions hold THEN the class: data, never code.

    Two rules are equal when they have the same set of conditions and the same class, in
    whatever order the conditions were given.

    Parameters
    ----------
    conditions : iterable of Condition
        Empty means that the rule fires on every row.
    label : scalar
        The class the rule points to.

    Examples
    --------
    >>> rule = Rule([Condition("glucose", ">=", 127.5), Condition("bmi", "<", 29.9)], "diabetic")
    >>> print(rule)
    IF glucose >= 127.5 AND bmi < 29.9 THEN diabetic
    >>> rule.covers({"glucose": [150, 150, 90], "bmi": [25.0, None, 25.0]}).tolist()
    [True, False, False]
    """

    __slots__ = ("_conditions", "_label")

    def __init__(self, conditions: Iterable[Condition], label: Any) -> None:
        conditions = tuple(conditions)
        for condition in conditions:
            if not isinstance(condition, Condition):
                raise InputError(f"a rule is made of Condition objects, got {condition!r}.")
        self._conditions = tuple(dict.fromkeys(conditions))
        self._label = plain_label(label)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions, in the order of the table's features."""
        return self._conditions

    @property
    def label(self) -> Any:
        """The class the rule points to."""
        return self._label

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features used, each once."""
        return tuple(dict.fromkeys(c.feature for c in self._conditions))

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns whose cells are cleaned as text, so that a file's cells stay as they are."""
        clean = (c for c in self._conditions if c.cleaning is not None and c.cleaning.reads_text)
        return tuple(dict.fromkeys(c.feature for c in clean))

    @property
    def body(self) -> str:
        """Text of the conditions alone."""
        return " AND ".join(map(str, self._conditions)) or "(any row)"

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Rows of `X` on which every condition holds, boolean, shape (n_rows,).

        Parameters
        ----------
        X : data frame, mapping of columns, 2-D array or path
            Only the rule's own columns are needed. Columns of an array are called x0, x1, …
            A dask DataFrame gives a dask Series, a Spark DataFrame a Spark Column: nothing is
            computed yet.
        """
        if lazy_kind(X):
            return lazy_covers(self, X)  # type: ignore[no-any-return]
        source = open_cells(X, [self])
        fires = np.ones(source.n_rows, dtype=bool)
        for feature in self.features:
            conditions = [c for c in self._conditions if c.feature == feature]
            numeric = any(c.op.is_threshold for c in conditions)
            for cleaning in dict.fromkeys(c.cleaning for c in conditions):
                values, missing = raw_column(
                    source, feature, kind="numeric" if numeric else None, cleaning=cleaning
                )
                for condition in conditions:
                    if condition.cleaning == cleaning:
                        fires &= condition.holds(values, missing)
        return fires

    def to_sql_case(
        self,
        dialect: str = "duckdb",
        *,
        default: Any = None,
        types: Mapping[str, str] | None = None,
    ) -> str:
        """SQL `CASE` that gives the rule's class where it fires, else `default`.

        Parameters
        ----------
        dialect, types
            As of `to_sql`.
        default : scalar, optional
            A class of the same kind as the rule's; without it other rows get NULL.

        Examples
        --------
        >>> Rule([Condition("age", "is missing")], "ask").to_sql_case("mysql", default="go on")
        "CASE WHEN `age` IS NULL THEN 'ask' ELSE 'go on' END"
        """
        from opdt.rules.export.sql import sql_case

        return sql_case(self._cases(default), dialect, types)

    def to_pmml(
        self, *, target: str = "class", default: Any = None, types: Mapping[str, str] | None = None
    ) -> str:
        """PMML 4.4 with one RuleSetModel.

        Parameters
        ----------
        target : str
            Name of the predicted field.
        default : scalar, optional
            The score where the rule does not fire, of the same kind as the rule's class. Without
            it there is none, which some readers of PMML do not accept.
        types : mapping of feature to type, optional
            As of `to_sql`.
        """
        from opdt.rules.export.pmml import pmml

        return pmml(self._cases(default), target, types)

    def _cases(self, default: Any = None) -> Cases:
        """The rule with its class, and a class for all other rows."""
        from opdt.rules.export.cases import Cases, Form

        return Cases(Form.RULE, (self,), plain_label(default))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rule):
            return NotImplemented
        return frozenset(self._conditions) == frozenset(other._conditions) and same_label(
            self._label, other._label
        )

    def __hash__(self) -> int:
        return hash((frozenset(self._conditions), self._label))

    def __len__(self) -> int:
        return len(self._conditions)

    def __str__(self) -> str:
        return f"IF {self.body} THEN {self._label}"

    def __repr__(self) -> str:
        return f"Rule([{', '.join(map(repr, self._conditions))}], {self._label!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Rule, (self._conditions, self._label)
