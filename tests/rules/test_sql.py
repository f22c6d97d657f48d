"""SQL of every dialect: read back by sqlglot it is the same tree, and it is quoted throughout."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
import sqlglot
from hypothesis import given, note, settings
from hypothesis import strategies as st

from export_cases import NAMES, TEXTS, cases
from opdt.errors import InputError
from opdt.rules import Condition, Rule, RuleList, RuleSet
from opdt.rules.export import DIALECTS, column_types, export
from opdt.rules.export.sql import case_tree, condition_tree
from opdt.rules.export.sql_literals import Literals

# They refuse some rules: dates in SQLite, missing values of an unknown type in the others.
SAYS_LESS = {"bigquery", "redshift", "sqlite"}
NOTHING = contextlib.nullcontext()


# -- every dialect -------------------------------------------------------------------------------


@settings(max_examples=40)
@given(case=cases())
def test_the_sql_of_every_dialect_reads_back_as_the_same_tree(case):
    for dialect in DIALECTS:
        for build in (condition_tree, case_tree):
            with contextlib.suppress(InputError) if dialect in SAYS_LESS else NOTHING:
                tree = build(case.rule._cases(), dialect, case.types)
                text = tree.sql(dialect=dialect)
                note(text)
                assert sqlglot.parse_one(text, dialect=dialect) == tree


# What a database makes of a quoted text or name, written from the databases' manuals.
BACKSLASHES = {"mysql", "bigquery", "snowflake", "spark", "databricks", "redshift"}
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "`": "`", "0": "\0"}


def read_quoted(text, quote, *, backslashes):
    """The characters that a quoted text stands for, and nothing may be left over."""
    assert text[0] == quote
    found, at = "", 1
    while text[at] != quote or text[at : at + 2] == quote * 2:
        if text[at] == quote:
            found, at = found + quote, at + 2
        elif backslashes and text[at] == "\\":
            found, at = found + ESCAPES.get(text[at + 1], "?"), at + 2
        else:
            found, at = found + text[at], at + 1
    assert at == len(text) - 1
    return found


@given(text=st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_a_text_is_quoted_as_the_database_reads_it(text):
    for dialect in DIALECTS:
        sql = Literals(DIALECTS[dialect]).text(text).sql(dialect=dialect).removeprefix("N")
        assert read_quoted(sql, "'", backslashes=dialect in BACKSLASHES) == text


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_quoted_as_the_database_reads_it(dialect, name):
    sql = Literals(DIALECTS[dialect]).column(name).sql(dialect=dialect)
    if dialect == "tsql":
        assert sql == "[" + name.replace("]", "]]") + "]"
    else:
        quote = "`" if dialect in ("mysql", "bigquery", "spark", "databricks") else '"'
        assert read_quoted(sql, quote, backslashes=dialect == "bigquery") == name


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("sqlite", '"bmi" < 29.9 AND "sex" <> \'f\' AND NOT "bmi" IS NULL AND NOT "sex" IS NULL'),
        (
            "duckdb",
            '"bmi" < 29.9e0 AND "sex" <> \'f\' AND NOT "bmi" IS NULL AND NOT "sex" IS NULL',
        ),
        (
            "mysql",
            "`bmi` < 29.9 AND `sex` COLLATE utf8mb4_0900_bin <> 'f' "
            "AND NOT `bmi` IS NULL AND NOT `sex` IS NULL",
        ),
        (
            "sqlserver",
            "[bmi] < 29.9e0 AND [sex] COLLATE Latin1_General_100_BIN2 <> 'f' "
            "AND NOT [bmi] IS NULL AND NOT [sex] IS NULL",
        ),
    ],
)
def test_the_conditions_come_first_and_the_guards_last(dialect, sql):
    rule = Rule([Condition("bmi", "<", 29.9), Condition("sex", "!=", "f")], 1)
    assert rule.to_sql(dialect) == sql


def test_a_nan_is_kept_out_where_it_would_count_as_the_largest_number():
    above = Rule([Condition("x", ">=", 1)], 1)
    assert above.to_sql("PostgreSQL") == (
        '"x" >= 1 AND NOT "x" IS NULL AND "x" < CAST(\'NaN\' AS DOUBLE PRECISION)'
    )
    assert "NaN" not in above.to_sql("postgres", types={"x": "integer"})
    assert "NaN" not in above.to_sql("sqlite")
    assert "NaN" not in above.to_sql("bigquery")  # there, it is above nothing
    assert "NaN" not in Rule([*above.conditions, Condition("x", "<", 2)], 1).to_sql("postgres")
    other = Rule([Condition("x", "!=", 1)], 1)
    assert other.to_sql("bigquery") == "`x` <> 1 AND NOT `x` IS NULL AND NOT IS_NAN(`x`)"


@pytest.mark.parametrize(
    ("rules", "sql"),
    [
        (Rule([], 1), "TRUE"),
        (RuleSet([], 1, 0), "FALSE"),
        (RuleList([], 0), "FALSE"),
        (
            RuleSet([Rule([], 1), Rule([Condition("a", "is missing")], 1)], 1, 0),
            'TRUE OR "a" IS NULL',
        ),
    ],
)
def test_rules_without_conditions_and_sets_without_rules_are_constants(rules, sql):
    assert rules.to_sql("snowflake", types={"a": "text"}) == sql
    assert rules.to_sql("sqlite", types={"a": "text"}) == sql.replace("TRUE", "1 = 1").replace(
        "FALSE", "1 = 0"
    )


def test_a_case_gives_the_class_or_the_default():
    rule = Rule([Condition("a", "is missing")], "it's")
    types = {"a": "text"}
    assert rule.to_sql_case(types=types) == "CASE WHEN \"a\" IS NULL THEN 'it''s' END"
    assert (
        rule.to_sql_case(default="no", types=types)
        == "CASE WHEN \"a\" IS NULL THEN 'it''s' ELSE 'no' END"
    )
    assert RuleList([], "no").to_sql_case() == "'no'"
    assert RuleList([], None).to_sql_case() == "NULL"
    assert RuleList([], "no").to_sql(label="no") == "1 = 1"
    with pytest.raises(InputError, match="several kinds"):
        rule.to_sql_case(default=0)


@pytest.mark.parametrize(
    ("dialect", "date"),
    [
        ("sqlite", "DATETIME(\"d\") >= '2024-03-01 00:00:00'"),
        ("postgres", "\"d\" >= CAST('2024-03-01' AS TIMESTAMP)"),
        ("mysql", "`d` >= CAST('2024-03-01' AS DATETIME)"),
        ("tsql", "[d] >= CAST('2024-03-01' AS DATETIME2)"),
        ("bigquery", "`d` >= '2024-03-01'"),
    ],
)
def test_a_date_is_compared_as_one(dialect, date):
    rule = Rule([Condition("d", ">=", np.datetime64("2024-03-01"))], 1)
    assert rule.to_sql(dialect).startswith(date)


# -- what cannot be exported ---------------------------------------------------------------------


def refuses(message, rule, dialect="duckdb", **options):
    with pytest.raises(InputError, match=re.escape(message)):
        rule.to_sql(dialect, **options)


def test_what_cannot_be_written_in_sql_is_refused_in_one_sentence():
    number = Rule([Condition("x", ">=", 1)], 1)
    refuses("'dialect' must be one of bigquery, databricks,", number, "oracle")
    refuses("'dialect' must be one of", number, None)
    refuses("types['x'] must be one of 'boolean',", number, types={"x": "int"})
    refuses("'x >= 1' cannot be put to column 'x', which holds text", number, types={"x": "text"})
    refuses("'x >= 1' cannot be put to column 'x', which holds date", number, types={"x": "date"})
    for text in ("a\x00b", "\udc80"):
        refuses("a character that SQL has no way to write", Rule([Condition(text, ">=", 1)], 1))
        refuses("a character that SQL has no way to write", Rule([Condition("x", "==", text)], 1))
    moment = np.datetime64("2024-03-01T10:00:00.5")
    refuses("cannot be compared in SQLite", Rule([Condition("d", "<", moment)], 1), "sqlite")
    day = np.datetime64("2024-03-01")
    refuses("cannot be compared in SQLite", Rule([Condition("d", "==", day)], 1), "sqlite")
    gone = Rule([Condition("x", "is missing")], 1)
    refuses("say what it holds: types={'x': 'float'}", gone, "bigquery")
    assert gone.to_sql("bigquery", types={"x": "float"}) == "`x` IS NULL OR IS_NAN(`x`)"
    assert gone.to_sql("bigquery", types={"x": "text"}) == "`x` IS NULL"


# -- types ---------------------------------------------------------------------------------------


def test_types_are_read_from_a_table():
    X = {
        "i": [1, None],
        "f": [0.5, None],
        "b": [True, None],
        "t": ["a", None],
        "d": np.array(["2024-03-01", "NaT"], dtype="datetime64[D]"),
        "mixed": ["a", 1],
        "empty": [None, None],
    }
    assert column_types(X) == {
        "i": "integer",
        "f": "float",
        "b": "boolean",
        "t": "text",
        "d": "date",
    }


@pytest.mark.parametrize(
    ("condition", "of", "sql"),
    [
        (Condition("x", ">=", 0.5), "boolean", '"x" = TRUE AND NOT "x" IS NULL'),
        (Condition("x", "<", 0.5), "boolean", '"x" = FALSE AND NOT "x" IS NULL'),
        (Condition("x", ">=", 0), "boolean", 'NOT "x" IS NULL'),
        (Condition("x", "==", "yes"), "boolean", 'FALSE AND NOT "x" IS NULL'),
        (Condition("x", ">=", 2.5), "integer", '"x" >= 3 AND NOT "x" IS NULL'),
        (Condition("x", "==", 2.5), "integer", 'FALSE AND NOT "x" IS NULL'),
        (Condition("x", "!=", 2.5), "integer", 'NOT "x" IS NULL'),
        (Condition("x", "in", [1, "a"]), "integer", '"x" = 1 AND NOT "x" IS NULL'),
        (Condition("x", "in", [1, "a"]), "text", '"x" = \'a\' AND NOT "x" IS NULL'),
        (Condition("x", "<", 2**53 + 1), "float", '"x" < 9007199254740994 AND NOT "x" IS NULL'),
        (Condition("x", "==", 2**53 + 1), "float", 'FALSE AND NOT "x" IS NULL'),
    ],
)
def test_a_known_type_makes_the_condition_fit(condition, of, sql):
    assert Rule([condition], 1).to_sql("postgres", types={"x": of}) == sql


def test_the_one_function_for_all_formats_names_them():
    rule = Rule([Condition("x", "<", 1)], 1)
    assert export(rule, "sql", dialect="sqlite") == rule.to_sql("sqlite")
    assert export(rule, "polars") == rule.to_polars_source()
    with pytest.raises(InputError, match="'to' must be 'sql', 'sql-case', 'python',"):
        export(rule, "excel")
