"""Rules in other languages: SQL, Python, pandas, polars, PMML, and words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opdt.checks import check_choice
from opdt.rules.export.dialects import DIALECTS
from opdt.rules.export.plan import column_types

if TYPE_CHECKING:
    from opdt.rules.rule_json import AnyRule

__all__ = ["DIALECTS", "FORMATS", "column_types", "export"]

FORMATS = (
    "sql",
    "sql-case",
    "python",
    "pandas",
    "polars",
    "json",
    "pmml",
    "english",
    "markdown",
    "latex",
)


def export(
    rule: AnyRule,
    to: str,
    *,
    dialect: str = "duckdb",
    types: Mapping[str, str] | None = None,
    **options: Any,
) -> str:
    """The rule as text in one of `FORMATS`.

    Parameters
    ----------
    rule : Rule, RuleList or RuleSet
    to : str
        One of `FORMATS`.
    dialect : str
        The dialect of SQL.
    types : mapping of feature to type, optional
        As of `Rule.to_sql`, for SQL and PMML.
    **options
        Further arguments of the method that does it, such as `default` of `to_sql_case`.
    """
    views: dict[str, Callable[[], str]] = {
        "sql": lambda: rule.to_sql(dialect, types=types, **options),
        "sql-case": lambda: rule.to_sql_case(dialect, types=types, **options),
        "python": rule.to_python,
        "pandas": rule.to_pandas,
        "polars": rule.to_polars_source,
        "json": rule.to_json,
        "pmml": lambda: rule.to_pmml(types=types, **options),
        "english": lambda: rule.to_english(**options),
        "markdown": rule.to_markdown,
        "latex": rule.to_latex,
    }
    return views[check_choice("to", to, tuple(FORMATS))]()
