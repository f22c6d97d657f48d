"""Rules as Python, pandas and polars: run on real rows, they select what the rule covers."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, note

from export_cases import cases
from opdt.errors import EngineUnavailable, InputError
from opdt.rules import Condition, Rule, RuleList, RuleSet

POLARS = {
    "double": pl.Float64,
    "single": pl.Float32,
    "whole": pl.Int64,
    "unsigned": pl.UInt64,
    "truth": pl.Boolean,
    "text": pl.String,
    "date": pl.Datetime("us"),
}
NULLABLE = {
    "double": "Float64",
    "single": "Float32",
    "whole": "Int64",
    "unsigned": "UInt64",
    "truth": "boolean",
    "text": "string",
    "date": "datetime64[us]",
}


def expected(case):
    """The classes of a rule list, the covered rows of anything else."""
    if isinstance(case.rule, RuleList):
        return case.rule.predict(case.columns).tolist()
    return case.rule.covers(case.columns).tolist()


def run(source, **names):
    """Execute exported source; only tests do."""
    exec(source, names)
    return names


# -- Python --------------------------------------------------------------------------------------


@given(case=cases())
def test_the_python_source_agrees_row_by_row(case):
    source = case.rule.to_python()
    note(source)
    functions = run(source)
    rows = [dict(zip(case.columns, row, strict=True)) for row in case.rows]
    if isinstance(case.rule, RuleList):
        assert [functions["predict"](row) for row in rows] == expected(case)
        return
    assert [functions["covers"](row) for row in rows] == expected(case)
    if isinstance(case.rule, RuleSet) and case.rule.rules:
        assert [functions["predict"](row) for row in rows] == case.rule.predict(
            case.columns
        ).tolist()


MISSING = [None, math.nan, np.nan, np.float32("nan"), pd.NA, pd.NaT, np.ma.masked]


@pytest.mark.parametrize("cell", [*MISSING, decimal.Decimal("NaN"), np.datetime64("NaT")])
@pytest.mark.parametrize("op", [">=", "<", "==", "!=", "in", "is present", "is missing"])
def test_every_sort_of_missing_cell_is_missing(cell, op):
    value = {"in": [3]}.get(op, None if op.startswith("is") else 3)
    covers = run(Rule([Condition("x", op, value)], 1).to_python())["covers"]
    assert covers({"x": cell}) is (op == "is missing")


@pytest.mark.parametrize(
    ("cell", "fires"),
    [
        (decimal.Decimal("0.1"), True),  # the table reads decimals as doubles
        (np.float32(0.1), True),
        (np.float64(0.1), True),
        ("0.1", True),
        (math.nextafter(0.1, 0), False),
        ("0", False),
        (" nan ", False),
        (np.int64(2**53 + 1), True),
    ],
)
def test_python_reads_a_number_as_the_table_does(cell, fires):
    rule = Rule([Condition("x", ">=", 0.1)], 1)
    assert run(rule.to_python())["covers"]({"x": cell}) is fires
    assert rule.covers({"x": [cell]}).tolist() == [fires]


UTC_PLUS_1 = dt.timezone(dt.timedelta(hours=1))


@pytest.mark.parametrize(
    ("cell", "fires"),
    [
        (dt.date(2024, 3, 1), True),
        (dt.date(2024, 2, 29), False),
        (dt.datetime(2024, 3, 1, 0, 30, tzinfo=UTC_PLUS_1), False),
        (dt.datetime(2024, 3, 1, 1, tzinfo=UTC_PLUS_1), True),
        (pd.Timestamp("2024-03-01"), True),
        (pd.NaT, False),
        (np.datetime64("2024-03-01"), True),
        (np.datetime64("2024-02-29T23:59:59.999999999"), False),
        (np.datetime64("NaT"), False),
        ("2024-03-01", True),
        ("2024-02-29 23:59:59", False),
    ],
)
def test_python_reads_a_date_as_the_table_does(cell, fires):
    rule = Rule([Condition("d", ">=", np.datetime64("2024-03-01"))], 1)
    assert run(rule.to_python())["covers"]({"d": cell}) is fires
    assert rule.covers({"d": [cell]}).tolist() == [fires]


def test_the_python_source_reads_well():
    rule = Rule([Condition("glucose", ">=", 127.5), Condition("smoker", "==", "no")], "ill")
    lines = rule.to_python().splitlines()
    assert lines[lines.index("def covers(row):") :] == [
        "def covers(row):",
        '    """If glucose is at least 127.5 and smoker is “no”, then the class is ill."""',
        '    glucose = _number(row["glucose"])',
        '    smoker = _cell(row["smoker"])',
        "    return (",
        "        glucose is not None",
        "        and glucose >= 127.5",
        '        and smoker == "no"',
        "    )",
    ]


@pytest.mark.parametrize("name", ["row", "datetime", "_cell", "class", "x y", "größe", "_x0"])
def test_a_name_that_is_no_variable_is_only_a_key(name):
    rule = Rule([Condition("_x0", "<", 1), Condition(name, ">=", 0)], 1)
    row = {"_x0": 0, name: 0}
    assert run(rule.to_python())["covers"](row) is True


# -- pandas --------------------------------------------------------------------------------------


def pandas_frame(case, dtypes):
    if dtypes == "nullable":
        columns = {
            name: pd.array(
                [
                    pd.NaT if sort == "date" and cell is None else cell
                    for cell in case.columns[name]
                ],
                dtype=NULLABLE[sort],
            )
            if sort != "date"
            else pd.Series(case.columns[name], dtype=NULLABLE[sort])
            for name, sort in case.sorts.items()
        }
    else:
        columns = {name: _numpy_column(case.columns[name], s) for name, s in case.sorts.items()}
    frame = pd.DataFrame(columns)
    frame.index = range(7, 7 + len(frame))  # the answer has the index of the frame
    return frame


def _numpy_column(cells, sort):
    if sort == "single":
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float32)
    if sort == "date":
        return np.array(cells, dtype="datetime64[us]")
    if sort in ("whole", "unsigned") and None in cells:
        return pd.array(cells, dtype="Int64" if sort == "whole" else "UInt64")
    if sort in ("whole", "unsigned"):
        return np.array(cells, dtype=np.int64 if sort == "whole" else np.uint64)
    if sort == "double":
        return np.array([np.nan if cell is None else cell for cell in cells])
    return pd.Series(cells, dtype=object if sort == "truth" else "str")


@pytest.mark.parametrize("dtypes", ["numpy", "nullable"])
@given(case=cases(typed=False))
def test_the_pandas_source_gives_a_series_that_agrees(dtypes, case):
    source = case.rule.to_pandas()
    note(source)
    frame = pandas_frame(case, dtypes)
    series = run(f"result = {source}", df=frame, np=np, pd=pd)["result"]
    assert series.index.equals(frame.index)
    if isinstance(case.rule, RuleList):
        found = [None if pd.isna(label) else label for label in series.tolist()]
        assert series.name == "label"
    else:
        found = series.tolist()
        assert (series.name, series.dtype) == ("covers", bool)
        assert frame[case.rule.covers].index.equals(frame[series].index)
    assert found == expected(case)


def test_the_pandas_source_reads_well():
    rule = Rule([Condition("glucose", ">=", 127.5), Condition("bmi", "<", 29.9)], "ill")
    assert rule.to_pandas() == (
        '((df["glucose"] >= 127.5) & (df["bmi"] < np.float64(29.9)))'
        '.fillna(False).astype(bool).rename("covers")'
    )


# -- polars --------------------------------------------------------------------------------------


@given(case=cases(typed=False))
def test_the_polars_expression_and_its_source_agree(case):
    source = case.rule.to_polars_source()
    note(source)
    frame = pl.DataFrame(
        {
            name: pl.Series(
                [float(c) if isinstance(c, np.floating) else c for c in case.columns[name]],
                dtype=POLARS[sort],
            )
            for name, sort in case.sorts.items()
        }
    )
    expression = case.rule.to_polars()
    from_source = run(f"result = {source}", pl=pl)["result"]
    for each in (expression, from_source):
        found = frame.select(each).to_series()
        assert found.to_list() == expected(case)
    if isinstance(case.rule, RuleList):
        assert found.name == "label"
    else:
        assert (found.name, found.dtype) == ("covers", pl.Boolean)
        assert frame.lazy().filter(expression).collect().height == sum(expected(case))


@pytest.mark.parametrize("name", ["*", "^a.*$", "^", "$"])
def test_polars_takes_a_name_for_a_name_and_not_for_a_pattern(name):
    frame = pl.DataFrame({name: [1.0, 3.0], "ab": [9.0, 9.0]})
    rule = Rule([Condition(name, ">=", 2)], 1)
    assert frame.filter(rule.to_polars())["ab"].to_list() == [9.0]
    assert frame.select(rule.to_polars()).to_series().to_list() == [False, True]


def test_the_polars_source_reads_well():
    rule = Rule([Condition("smoker", "in", ["yes", "often"]), Condition("age", "<", 40)], "ill")
    assert rule.to_polars_source() == (
        '(pl.col("smoker").is_in(["often", "yes"])'
        ' & (pl.col("age").cast(pl.Float64).fill_nan(None) < 40.0))'
        '.fill_null(False).alias("covers")'
    )


# -- what cannot be exported ---------------------------------------------------------------------


@pytest.mark.parametrize("export", ["to_pandas", "to_polars", "to_polars_source"])
def test_levels_of_several_kinds_are_refused_where_columns_have_one(export):
    rule = Rule([Condition("x", "in", ["a", 3])], 1)
    with pytest.raises(InputError, match=r"column 'x' is compared with levels of several kinds"):
        getattr(rule, export)()


@pytest.mark.parametrize("export", ["to_python", "to_pandas", "to_polars", "to_sql", "to_pmml"])
@pytest.mark.parametrize("level", [(1, 2), b"a"])
def test_levels_that_other_languages_do_not_have_are_refused(export, level):
    rule = Rule([Condition("x", "==", level)], 1)
    with pytest.raises(InputError, match="cannot be exported; levels are"):
        getattr(rule, export)()


@pytest.mark.parametrize("export", ["to_python", "to_pandas", "to_polars", "to_sql", "to_pmml"])
@pytest.mark.parametrize("date", ["2024-03-01T00:00:00.000000001", "12024-01-01", "-0001-01-01"])
def test_dates_that_other_languages_do_not_have_are_refused(export, date):
    rule = Rule([Condition("d", ">=", np.datetime64(date))], 1)
    with pytest.raises(InputError, match=r"column 'd' cannot be exported; dates are whole"):
        getattr(rule, export)()


@pytest.mark.parametrize("export", ["to_pandas", "to_polars", "to_sql_case", "to_pmml"])
def test_classes_of_several_kinds_are_refused_where_columns_have_one(export):
    rules = RuleList([Rule([], "ill")], 0)
    with pytest.raises(InputError, match="the classes are of several kinds"):
        getattr(rules, export)()


def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch):
    rule = Rule([], 1)
    for module in ("sqlglot", "polars"):
        monkeypatch.setitem(sys.modules, module, None)
    for module in ("opdt.rules.export.sql", "opdt.rules.export.sql_literals"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(EngineUnavailable, match=r"pip install 'opdt\[sql\]'"):
        rule.to_sql()
    with pytest.raises(EngineUnavailable, match=r"pip install 'opdt\[polars\]'"):
        rule.to_polars()
    assert rule.to_polars_source() == 'pl.repeat(True, pl.len()).fill_null(False).alias("covers")'
