"""A rule fires on the rows of a dask or Spark frame on which it fires in memory."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export_cases import DOUBLES, NAMES, TEXTS, WHOLES, Case, cases
from opdt import Condition, Rule, RuleSet
from opdt.errors import InputError
from opdt.rules.lazy import lazy_choice

DTYPES = {
    "double": "float64",
    "single": "float32",
    "whole": "Int64",
    "unsigned": "UInt64",
    "truth": "boolean",
    "text": "str",
    "date": "datetime64[us]",
}


def pandas_frame(case: Case) -> pd.DataFrame:
    return pd.DataFrame(
        {
            name: pd.Series(cells, dtype=DTYPES[case.sorts[name]])
            for name, cells in case.columns.items()
        }
    )


# -- Dask ----------------------------------------------------------------------------------------


@pytest.fixture
def dd() -> Any:
    return pytest.importorskip("dask.dataframe", reason="pip install 'opdt[dask]'")


def test_a_dask_series_marks_the_rows_of_any_rule(dd: Any) -> None:
    @settings(max_examples=40)
    @given(cases(forms=("rule", "set")), st.integers(1, 3))
    def check(case: Case, parts: int) -> None:
        frame = pandas_frame(case)
        lazy = case.rule.covers(dd.from_pandas(frame, npartitions=parts))
        assert isinstance(lazy, dd.Series)
        assert (lazy.name, lazy.dtype) == ("covers", bool)
        fires = lazy.compute(scheduler="sync")
        assert fires.index.equals(frame.index)
        assert fires.tolist() == case.rule.covers(frame).tolist()

    check()


def test_the_series_fits_its_frame(dd: Any) -> None:
    frame = pd.DataFrame({"a": [1.0, 5.0, np.nan, 9.0], "b": list("wxyz")}, index=[7, 8, 9, 10])
    lazy = dd.from_pandas(frame, npartitions=2)
    rule = Rule([Condition("a", ">=", 4)], "yes")
    assert lazy[rule.covers(lazy)].compute(scheduler="sync")["b"].tolist() == ["x", "z"]
    chosen = lazy_choice(rule.covers(lazy), np.array(["no", "yes"], object), "answer")
    assert chosen.name == "answer"
    assert chosen.compute(scheduler="sync").tolist() == ["no", "yes", "no", "yes"]


def test_a_rule_set_gives_its_classes_lazily(dd: Any) -> None:
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 5.0, np.nan]}), npartitions=2)
    rules = RuleSet([Rule([Condition("a", ">=", 4)], "yes")], "yes", "no")
    labels = rules.predict(frame)
    assert labels.name == "label"
    assert labels.compute(scheduler="sync").tolist() == ["no", "yes", "no"]


def test_a_dask_series_is_no_table(dd: Any) -> None:
    frame = dd.from_pandas(pd.DataFrame({"a": [1, 2]}), npartitions=1)
    with pytest.raises(InputError, match="'X' must be a dask DataFrame, got "):
        Rule([Condition("a", ">=", 4)], 1).covers(frame["a"])


def test_an_empty_partition_has_no_rows_to_fire_on(dd: Any) -> None:
    frame = dd.from_pandas(pd.DataFrame({"a": [1, 2, 3, 4]}), npartitions=2)
    few = frame[frame["a"] > 2]  # nothing of the first partition
    fires = Rule([Condition("a", "<", 4)], 1).covers(few)
    assert fires.compute(scheduler="sync").tolist() == [True, False]


def test_columns_that_have_numbers_for_names_are_found(dd: Any) -> None:
    frame = dd.from_pandas(pd.DataFrame({0: [1, 2], 1: [3, 4]}), npartitions=1)
    fires = Rule([Condition("1", ">=", 4)], 1).covers(frame)
    assert fires.compute(scheduler="sync").tolist() == [False, True]


def test_a_column_that_a_dask_frame_lacks_is_refused_at_once(dd: Any) -> None:
    frame = dd.from_pandas(pd.DataFrame({"age": [1, 2]}), npartitions=1)
    with pytest.raises(InputError, match="there is no column 'agee'"):
        Rule([Condition("agee", ">=", 4)], 1).covers(frame)


# -- Spark ---------------------------------------------------------------------------------------


@pytest.fixture
def far_spark(spark: Any) -> Iterator[Any]:
    """Spark far from UTC: dates must not move."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


spark_warns = pytest.mark.filterwarnings("ignore")  # of Spark's own making
START = dt.datetime(2024, 2, 28, 22)
INSTANTS = [START + dt.timedelta(hours=h, microseconds=h % 3) for h in range(30)]
SPARK_TYPES = {
    "double": ("double", [*DOUBLES, float("nan")]),
    "float": ("float", [0.1, 29.9, 127.5, 16777216.0, float("nan"), float("inf")]),
    "bigint": ("whole", list(WHOLES)),
    "smallint": ("whole", [0, 1, -3, 127]),
    "boolean": ("truth", [True, False]),
    "string": ("text", list(TEXTS)),
    "timestamp_ntz": ("date", INSTANTS),
    "timestamp": ("date", [instant.replace(tzinfo=dt.UTC) for instant in INSTANTS]),
    "date": ("date", [dt.date(2024, 2, day) for day in (1, 28, 29)]),
}


def spark_rows(rng: np.random.Generator, n_rows: int) -> tuple[dict[str, str], dict[str, list]]:
    """Columns with hostile names, and a fifth of the cells missing."""
    names = rng.permutation(NAMES)
    types = {str(name): kind for name, kind in zip(names, [*SPARK_TYPES] * 2, strict=False)}
    columns = {}
    for name, kind in types.items():
        cells = SPARK_TYPES[kind][1]
        picked = [cells[i] for i in rng.integers(0, len(cells), n_rows)]
        gone = rng.random(n_rows) < 0.2
        columns[name] = [None if g else cell for cell, g in zip(picked, gone, strict=True)]
    return types, columns


def random_condition(rng: np.random.Generator, types: dict[str, str]) -> Condition:
    name = str(rng.choice(list(types)))
    sort, cells = SPARK_TYPES[types[name]]
    ops = ["is missing", "is present", "==", "!=", "in"] + [">=", "<"] * 3 * (sort != "text")
    op = str(rng.choice(ops))
    values = [plain(cells[i]) for i in rng.integers(0, len(cells), 3)]
    if sort not in ("text", "date"):
        values += [0.5, 1, 2**70, -(2**65), 29.9, 2.0**63]
    values = [v for v in values if not isinstance(v, float) or np.isfinite(v)]
    if op.startswith("is"):
        return Condition(name, op)
    if op == "in":
        return Condition(name, op, values[:2])
    value = values[rng.integers(len(values))]
    return Condition(name, op, int(value) if isinstance(value, bool) else value)


def plain(cell: Any) -> Any:
    """A cell as a condition has it: dates in UTC."""
    if isinstance(cell, dt.datetime):
        return np.datetime64(cell.replace(tzinfo=None), "us")
    return np.datetime64(cell) if isinstance(cell, dt.date) else cell


@spark_warns
def test_a_spark_column_marks_the_rows_of_any_rule(far_spark: Any) -> None:
    types_of = __import__("pyspark.sql.types", fromlist=["_parse_datatype_string"])
    rng = np.random.default_rng(1)
    types, columns = spark_rows(rng, 60)
    fields = [
        types_of.StructField(name, types_of._parse_datatype_string(kind))
        for name, kind in types.items()
    ]
    rows = list(zip(*columns.values(), strict=True))
    frame = far_spark.createDataFrame(rows, types_of.StructType(fields)).coalesce(1)
    plain_columns = {
        name: np.array(
            [np.datetime64("NaT") if c is None else plain(c) for c in cells], "datetime64[us]"
        )
        if SPARK_TYPES[types[name]][0] == "date"
        else [np.float32(c) if types[name] == "float" and c is not None else c for c in cells]
        for name, cells in columns.items()
    }
    rules: list[Any] = [
        Rule([random_condition(rng, types) for _ in range(rng.integers(0, 3))], 1)
        for _ in range(60)
    ]
    rules += [RuleSet(rules[i : i + 3], 1, 0) for i in range(0, 12, 3)] + [RuleSet([], 1, 0)]
    marks = frame.select(*(rule.covers(frame).alias(f"r{i}") for i, rule in enumerate(rules)))
    found = marks.toPandas()
    for i, rule in enumerate(rules):
        assert found[f"r{i}"].tolist() == rule.covers(plain_columns).tolist(), str(rule)


@spark_warns
def test_the_column_filters_its_frame(far_spark: Any) -> None:
    frame = far_spark.createDataFrame(
        [(1.0, "w"), (5.0, "x"), (None, "y"), (9.0, "z")], "a double, b string"
    )
    rule = Rule([Condition("a", ">=", 4)], "yes")
    assert [row["b"] for row in frame.filter(rule.covers(frame)).collect()] == ["x", "z"]
    chosen = lazy_choice(rule.covers(frame), np.array(["no", "yes"], object), "answer")
    rows = frame.select(chosen).collect()
    assert [row["answer"] for row in rows] == ["no", "yes", "no", "yes"]


@spark_warns
def test_what_cannot_be_put_to_a_spark_column_is_refused(far_spark: Any) -> None:
    frame = far_spark.createDataFrame([([1], "w")], "a array<int>, b string")
    with pytest.raises(InputError, match="column 'a' has the Spark type array"):
        Rule([Condition("a", "is missing")], 1).covers(frame)
    with pytest.raises(InputError, match="'b >= 4' cannot be put to column 'b'"):
        Rule([Condition("b", ">=", 4)], 1).covers(frame)
    with pytest.raises(InputError, match="there is no column 'c'"):
        Rule([Condition("c", ">=", 4)], 1).covers(frame)
