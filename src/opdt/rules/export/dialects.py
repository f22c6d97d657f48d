"""What sets the dialects of SQL apart where a rule is concerned."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from opdt.errors import InputError


class NaN(StrEnum):
    """How a database compares a NaN."""

    NEVER = "never"  # its columns hold none
    LARGEST = "largest"  # equal to itself, above every number
    UNEQUAL = "unequal"  # different from everything, itself included


@dataclass(frozen=True)
class Dialect:
    """One dialect of SQL.

    Attributes
    ----------
    name : str
        As sqlglot calls it.
    nan : NaN
    double, instant, zoned, text : str
        sqlglot's names of the types for a double, for a date with its time, the same with a zone,
        and for text. No `instant`: dates are compared with plain text, which the database reads.
    exponents : bool
        Whether `0.1` is no double and would be compared as a float of single precision with a
        column of such floats; `0.1e0` is one.
    collation : str
        What makes a comparison of texts exact where it may ignore case by default.
    booleans : bool
        Whether TRUE and FALSE are constants; SQLite would take a column of that name instead.
    whole : range
        The whole numbers that can be written as such.
    reads_decimals : bool
        Whether any decimal is read as the double that is nearest to it.
    """

    name: str
    nan: NaN
    double: str = "DOUBLE"
    instant: str = "TIMESTAMP"
    zoned: str = "TIMESTAMPTZ"
    text: str = "TEXT"
    exponents: bool = False
    collation: str = ""
    booleans: bool = True
    whole: range = range(-(2**63), 2**64)
    reads_decimals: bool = True


_INT64 = range(-(2**63), 2**63)
_ALIASES = {"postgresql": "postgres", "mssql": "tsql", "sqlserver": "tsql"}
DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("bigquery", NaN.UNEQUAL, instant="", zoned="", whole=_INT64),
        Dialect("databricks", NaN.LARGEST, instant="TIMESTAMPTZ", exponents=True),
        Dialect("duckdb", NaN.LARGEST, instant="TIMESTAMPNTZ", exponents=True),
        Dialect(
            "mysql", NaN.NEVER, instant="DATETIME", zoned="DATETIME", collation="utf8mb4_0900_bin"
        ),
        Dialect("postgres", NaN.LARGEST),
        Dialect("redshift", NaN.LARGEST, text="VARCHAR"),
        Dialect("snowflake", NaN.LARGEST, instant="TIMESTAMPNTZ", text="VARCHAR"),
        Dialect("spark", NaN.LARGEST, instant="TIMESTAMPTZ", exponents=True),
        Dialect(
            "sqlite",
            NaN.NEVER,
            instant="",
            zoned="",
            booleans=False,
            whole=_INT64,
            reads_decimals=False,
        ),
        Dialect(
            "tsql",
            NaN.NEVER,
            instant="DATETIME2",
            exponents=True,
            collation="Latin1_General_100_BIN2",
            booleans=False,
        ),
    )
}


def find_dialect(name: str) -> Dialect:
    """The dialect of that name, `postgresql`, `mssql` and `sqlserver` included."""
    known = str(name).lower()
    known = _ALIASES.get(known, known)
    if known not in DIALECTS:
        raise InputError(f"'dialect' must be one of {', '.join(DIALECTS)}, got {name!r}.")
    return DIALECTS[known]
