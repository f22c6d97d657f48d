"""Exports beside columns of unusual types: time zones, dates of Arrow, very large numbers."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from opdt import Condition, InputError, Rule, discover, read_rule, write_rule

DAYS = [dt.date(2024, 1, day) for day in (1, 5, 9, 20)]
TIMES = pd.to_datetime([*DAYS, None]) + pd.Timedelta(minutes=30)
LARGE = 2**53


def in_pandas(rule, frame):
    return eval(rule.to_pandas(), {"df": frame, "np": np, "pd": pd}).tolist()


def in_polars(rule, frame):
    return frame.select(rule.to_polars())["covers"].to_list()


def arrow(values, of):
    return pd.Series(values, dtype=pd.ArrowDtype(of))


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(TIMES),
        pd.Series(TIMES.tz_localize("Asia/Tokyo")),
        pd.Series([*DAYS, None]),
        arrow([*DAYS, None], pa.date32()),
        arrow(TIMES, pa.timestamp("ns")),
        arrow(TIMES.tz_localize("UTC"), pa.timestamp("us", "UTC")),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("op", "day"), [(">=", "2024-01-06"), ("<", "2024-01-09"), ("<", "2024-01-04T20")]
)
def test_dates_of_all_types_are_compared_as_covers_does(column, op, day):
    frame = pd.DataFrame({"d": column})
    rule = Rule([Condition("d", op, np.datetime64(day))], "x")
    assert in_pandas(rule, frame) == rule.covers(frame).tolist()


def test_dates_as_levels():
    for frame in (pd.DataFrame({"d": DAYS}), pd.DataFrame({"d": arrow(DAYS, pa.date32())})):
        for op in ("==", "!="):
            rule = Rule([Condition("d", op, np.datetime64("2024-01-05"))], "x")
            assert in_pandas(rule, frame) == rule.covers(frame).tolist()


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo", "America/New_York"])
def test_time_zones_in_polars(zone):
    times = pl.Series([dt.datetime(2024, 1, 5, 20), dt.datetime(2024, 1, 6), None])
    frame = pl.DataFrame({"d": times.dt.replace_time_zone(zone)})
    for op in (">=", "<"):
        rule = Rule([Condition("d", op, np.datetime64("2024-01-06"))], "x")
        assert in_polars(rule, frame) == rule.covers(frame).tolist()


@pytest.mark.parametrize("of", ["float64", "Float64", pd.ArrowDtype(pa.float64())])
def test_floats_beyond_all_integers_of_the_machine(of):
    frame = pd.DataFrame({"a": pd.Series([1.0, 2.0**62, 2.0**63, 2.0**64, 1e300], dtype=of)})
    for threshold in (2.0**63, 2**63, 2.0**64, 1e30):
        rule = Rule([Condition("a", ">=", threshold)], "x")
        assert in_pandas(rule, frame) == rule.covers(frame).tolist()


@pytest.mark.parametrize("op", ["==", "!=", ">=", "<"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("value", [LARGE, LARGE + 1, LARGE + 2, LARGE + 3, float(LARGE)])
def test_whole_numbers_that_are_no_doubles(op, sign, value):
    """A column of doubles is compared with the nearest double everywhere; with care, exactly."""
    duckdb = pytest.importorskip("duckdb")
    rule = Rule([Condition("a", op, sign * value)], "x")
    inside = Rule([Condition("a", "in", {sign * value, 5})], "x")
    integers = [sign * (LARGE + step) for step in (-1, 0, 1, 2, 3, 4)]
    for values in (integers, [float(each) for each in integers]):
        for each in (rule, inside):
            expected = each.covers({"a": values}).tolist()
            assert in_pandas(each, pd.DataFrame({"a": values})) == expected
            assert in_polars(each, pl.DataFrame({"a": values})) == expected
            rows = pa.table({"a": values})  # noqa: F841 (DuckDB finds it by its name)
            found = duckdb.sql(f"SELECT coalesce({each.to_sql('duckdb')}, false) FROM rows")
            assert [answer for (answer,) in found.fetchall()] == expected


def test_a_column_without_a_name_is_refused_in_sql():
    rule = Rule([Condition("", ">=", 2)], "x")
    with pytest.raises(InputError, match="duckdb has no columns without a name; rename it"):
        rule.to_sql("duckdb")
    assert rule.to_sql("sqlite").startswith('""')


def test_times_of_day_are_levels_that_can_be_written(tmp_path):
    rule = Rule([Condition("t", "in", {dt.time(10, 5), dt.time(11, 0, 0, 5)})], "x")
    write_rule(tmp_path / "rule.json", rule)
    assert read_rule(tmp_path / "rule.json") == rule
    for text in ("25:00", "10:05:00+01:00", "10:5", "now"):
        content = (tmp_path / "rule.json").read_text().replace("10:05:00", text)
        (tmp_path / "bad.json").write_text(content)
        with pytest.raises(InputError, match="is not a date or a time of day"):
            read_rule(tmp_path / "bad.json")


def test_instants_are_told_with_their_zone(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    times = pd.date_range("2024-03-01", periods=80, freq="h", tz="America/New_York")
    late = [int(time >= times[50]) for time in times]
    files = {"t.csv": pd.DataFrame.to_csv, "t.parquet": pd.DataFrame.to_parquet}
    frame = pd.DataFrame({"t": times, "late": late})
    for name, write in files.items():
        write(frame, tmp_path / name, index=False)
    sources = [frame, tmp_path / "t.csv", tmp_path / "t.parquet"]
    found = [discover(source, "late", max_depth=1, label=1).rule for source in sources]
    found += [discover([str(path)], "late", max_depth=1, label=1).rule for path in sources[1:]]
    for rule in found:
        assert str(rule) == "IF t >= 2024-03-03 07:00 UTC THEN 1"
        write_rule(tmp_path / "rule.json", rule)
        assert str(read_rule(tmp_path / "rule.json")) == str(rule)
        assert in_pandas(rule, frame) == in_polars(rule, pl.from_pandas(frame)) == late
    assert "t is on or after 2024-03-03 07:00 UTC" in found[0].to_english()
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'Asia/Tokyo'")
        database.execute("CREATE TABLE rows AS SELECT * FROM frame")
        answer = database.sql(f"SELECT {found[0].to_sql('duckdb')} FROM rows").fetchall()
    assert [int(fires) for (fires,) in answer] == late
    hours = discover(frame, "late", max_depth=1, label=1, roles={"t": "date:hour"})
    cleaning = hours.plan["t"].cleaning
    assert str(Condition("t", ">=", 16.5, cleaning)) == "hour of t (UTC) >= 16.5"
