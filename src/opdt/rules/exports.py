"""The exports of a rule, rule list or rule set as methods; `opdt.rules.export` does the work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opdt.rules.export.cases import Cases

Types = Mapping[str, str]


class Exports(ABC):
    """Views of a rule in other languages.

    Each selects exactly the rows that `covers` selects: a missing value satisfies no condition
    but `is missing`, NaN is a missing value, and thresholds keep every digit. Modules are
    imported when a method is called; SQL needs the extra `sql`, polars the extra `polars`.
    """

    __slots__ = ()

    @abstractmethod
    def _cases(self) -> Cases:
        """The rules with their classes, the first that fires decides, and the default."""

    def to_sql(self, dialect: str = "duckdb", *, types: Types | None = None) -> str:
        """SQL that is true on the covered rows and false on all others, never NULL.

        Parameters
        ----------
        dialect : str
            `bigquery`, `databricks`, `duckdb`, `mysql`, `postgres`, `redshift`, `snowflake`,
            `spark`, `sqlite` or `tsql` (SQL Server).
        types : mapping of feature to type, optional
            `boolean`, `integer`, `float`, `text` or `date`, where the conditions do not tell:
            boolean columns that a threshold parts, and columns tested only for being missing.
            `column_types` reads them from a table.

        Examples
        --------
        >>> from opdt import Condition, Rule
        >>> Rule([Condition("age", "<", 41.5)], "well").to_sql("sqlite")
        '"age" < 41.5 AND NOT "age" IS NULL'
        """
        from opdt.rules.export.sql import sql_condition

        return sql_condition(self._cases(), dialect, types)

    def to_sql_case(self, dialect: str = "duckdb", *, types: Types | None = None) -> str:
        """SQL `CASE` that gives the class of each row; takes the arguments of `to_sql`."""
        from opdt.rules.export.sql import sql_case

        return sql_case(self._cases(), dialect, types)

    def to_python(self) -> str:
        """Python source of a function `covers(row)`, which needs nothing but Python.

        `row` is a mapping of column names to cells. None, NaN, NaT and pandas' NA are missing.
        Rule lists and rule sets get a function `predict(row)` beside it.
        """
        from opdt.rules.export.python import python_source

        return python_source(self._cases())

    def to_pandas(self) -> str:
        """Source of a pandas expression of `df`: a boolean Series called `covers`.

        It needs `import numpy as np` and `import pandas as pd`. A rule list gives a Series of
        classes called `label` instead. Where opdt is installed, `df[rule.covers]` does the same.
        """
        from opdt.rules.export.frames import pandas_source

        return pandas_source(self._cases())

    def to_polars(self) -> Any:
        """A polars expression called `covers`, for `df.filter(rule.to_polars())`.

        A rule list gives an expression of classes called `label` instead.
        """
        from opdt.rules.export.frames import polars_expression

        return polars_expression(self._cases())

    def to_polars_source(self) -> str:
        """Source of the expression of `to_polars`; it needs `import polars as pl`."""
        from opdt.rules.export.frames import polars_source

        return polars_source(self._cases())

    def to_pmml(self, *, target: str = "class", types: Types | None = None) -> str:
        """PMML 4.4 with one RuleSetModel.

        Parameters
        ----------
        target : str
            Name of the predicted field.
        types : mapping of feature to type, optional
            As of `to_sql`.
        """
        from opdt.rules.export.pmml import pmml

        return pmml(self._cases(), target, types)

    def to_json(self) -> str:
        """JSON that `read_rule` reads back from a file."""
        from opdt.rules.rule_json import rule_to_json

        return rule_to_json(self)  # type: ignore[arg-type]

    def to_english(self, then: str | None = None) -> str:
        """The rule in plain words, one sentence for each rule.

        Parameters
        ----------
        then : str, optional
            What follows for the rows that a rule covers, in the place of "the class is …": "treat".
            `Objective.then` says it.
        """
        from opdt.rules.export.prose import english

        return english(self._cases(), then)

    def to_markdown(self) -> str:
        """The rule as Markdown; names and levels are shown as they are, whatever they hold."""
        from opdt.rules.export.prose import markdown

        return markdown(self._cases())

    def to_latex(self) -> str:
        """The rule as a LaTeX `tabular`, with names and levels escaped."""
        from opdt.rules.export.prose import latex

        return latex(self._cases())
