"""Exported SQL in real databases: the rows it selects are those that the rule covers."""

from __future__ import annotations

import math
import os
import sqlite3

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export_cases import SORTS, Case, cases
from opdt.rules import Condition, Rule, RuleList
from opdt.rules.export import DIALECTS
from opdt.rules.export.sql_literals import Literals

ROW = "row_of_the_test"  # no other column is called so
DUCKDB = {
    "double": "DOUBLE",
    "single": "FLOAT",
    "whole": "BIGINT",
    "unsigned": "UBIGINT",
    "truth": "BOOLEAN",
    "text": "VARCHAR",
    "date": "TIMESTAMP",
}
SQLITE = {
    "double": "REAL",
    "single": "REAL",
    "whole": "INTEGER",
    "truth": "BOOLEAN",
    "text": "TEXT",
    "date": "TEXT",
}
POSTGRES = {
    "double": "DOUBLE PRECISION",
    "single": "REAL",
    "whole": "BIGINT",
    "unsigned": "NUMERIC(20, 0)",
    "truth": "BOOLEAN",
    "text": "TEXT",
    "date": "TIMESTAMP",
}


class Database:
    """One connection, and a table that each example makes anew."""

    def __init__(self, connection, dialect, types, mark):
        self.connection, self.dialect, self.types, self.mark = connection, dialect, types, mark

    def fill(self, case):
        """Put the table of a case into the database."""
        run = self.connection
        columns = ", ".join(
            '"{}" {}'.format(name.replace('"', '""'), self.types[sort])
            for name, sort in case.sorts.items()
        )
        run.execute("DROP TABLE IF EXISTS t")
        run.execute(f"CREATE TEMPORARY TABLE t ({ROW} INTEGER, {columns})")
        marks = ", ".join([self.mark] * (1 + len(case.sorts)))
        rows = [(i, *map(self.cell, row)) for i, row in enumerate(case.rows)]
        for row in rows:
            run.execute(f"INSERT INTO t VALUES ({marks})", row)

    def cell(self, value):
        """A cell as the driver takes it."""
        if isinstance(value, np.floating):
            value = float(value)
        return value

    def ids(self, condition):
        """Rows that the database selects."""
        found = self.connection.execute(f"SELECT {ROW} FROM t WHERE {condition} ORDER BY {ROW}")
        return [row[0] for row in found.fetchall()]

    def values(self, expression):
        """Values of an expression, row by row."""
        found = self.connection.execute(f"SELECT {expression} FROM t ORDER BY {ROW}")
        return [row[0] for row in found.fetchall()]


class SQLite(Database):
    def cell(self, value):
        if hasattr(value, "isoformat"):  # both ways of writing a date are common
            return value.isoformat(sep=" T"[value.second % 2])
        return super().cell(value)


@pytest.fixture(scope="module")
def duck():
    with duckdb.connect() as connection:
        yield Database(connection, "duckdb", DUCKDB, "?")


@pytest.fixture(scope="module")
def lite():
    connection = sqlite3.connect(":memory:")
    yield SQLite(connection, "sqlite", SQLITE, "?")
    connection.close()


@pytest.fixture(scope="module")
def postgres():
    if "OPDT_POSTGRES" not in os.environ:
        pytest.skip("no PostgreSQL; set OPDT_POSTGRES to the connection string of a server")
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(
        os.environ["OPDT_POSTGRES"], autocommit=True, cursor_factory=psycopg.ClientCursor
    ) as connection:
        yield Database(connection, "postgres", POSTGRES, "%s")


def check(database, case):
    """The database and the rule agree on every row, and no answer is NULL."""
    sql = case.rule.to_sql(database.dialect, types=case.types)
    database.fill(case)
    covered = case.rule.covers(case.columns)
    assert database.ids(sql) == np.flatnonzero(covered).tolist(), sql
    assert database.ids(f"NOT ({sql})") == np.flatnonzero(~covered).tolist()
    case_sql = case.rule.to_sql_case(database.dialect, types=case.types)
    found = database.values(case_sql)
    if not isinstance(case.rule, RuleList):
        expected = [
            case.rule.label if fires else getattr(case.rule, "default", None) for fires in covered
        ]
    else:
        expected = case.rule.predict(case.columns).tolist()
        for label in {rule.label for rule in case.rule.rules}:
            chosen = case.rule.to_sql(database.dialect, label=label, types=case.types)
            rows = [i for i, each in enumerate(expected) if each == label]
            assert database.ids(chosen) == rows
            assert database.ids(f"NOT ({chosen})") == [
                i for i in range(len(covered)) if i not in rows
            ]
    assert [_same(a, b) for a, b in zip(found, expected, strict=True)] == [True] * len(found)


def _same(found, expected):
    if found is None or expected is None:
        return found is expected
    return found == expected or math.isclose(float(found), float(expected), rel_tol=0, abs_tol=0)


def _short(value):
    return float(f"{value:.13g}")


@given(case=cases())
def test_duckdb_selects_what_the_rule_covers(duck, case):
    check(duck, case)


@given(case=cases(sorts=sorted(set(SORTS) - {"unsigned"}), exact_dates=True))
def test_sqlite_selects_what_the_rule_covers(lite, case):
    check(lite, case)


@given(case=cases())
def test_postgresql_selects_what_the_rule_covers(postgres, case):
    check(postgres, case)


# -- what random tables taught -------------------------------------------------------------------


def one_column(sort, cells, *conditions, name="x", types=None):
    return Case({name: cells}, {name: sort}, Rule(conditions, 1), types)


@pytest.mark.parametrize("database", ["duck", "lite", "postgres"])
@pytest.mark.parametrize(
    "case",
    [
        one_column("double", [None, 1.0], name="TRUE"),  # a constant of SQL, and a name in SQLite
        one_column("single", [np.float32(0.1), None], Condition("x", "in", [0.1, 0])),
        one_column("double", [84.7825868208947], Condition("x", ">=", 84.7825868208947)),
        one_column("text", ["x", None, "y"], Condition("x", "in", map(str, range(2000)))),
        one_column("whole", [7, None, 2000], Condition("x", "in", range(2000))),
        one_column("text", ["NaN", None, ""], Condition("x", "is present")),
        one_column("double", [math.nan, None, 1.0], Condition("x", "is missing")),
    ],
    ids=["name", "single", "decimal", "many texts", "many numbers", "text NaN", "float NaN"],
)
def test_a_case_that_went_wrong_once(request, database, case):
    check(request.getfixturevalue(database), case)


def test_a_column_of_numbers_may_be_compared_with_booleans(lite):
    for condition in (Condition("x", "!=", True), Condition("x", "in", [True, False])):
        check(lite, one_column("whole", [0, 1, 3, None], condition))


@given(value=st.floats(allow_nan=False, allow_infinity=False) | st.floats(0, 1000).map(_short))
def test_a_number_reads_back_as_the_same_double(duck, lite, value):
    for database in (duck, lite):
        literal = Literals(DIALECTS[database.dialect]).number(value).sql(dialect=database.dialect)
        ((found,),) = database.connection.execute(
            f"SELECT CAST({literal} AS DOUBLE PRECISION)"
        ).fetchall()
        assert found == value
