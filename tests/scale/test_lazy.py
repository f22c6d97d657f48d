"""Files as a dask DataFrame, and a rule put to all rows of partitions."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import opdt
from opdt import Condition, Rule, RuleSet
from opdt.errors import InputError
from opdt.scale import LocalScanner, lazy, local
from opdt.scale.lazy import covered_rows, covered_weights
from opdt.scale.schema import agree
from scale.partitions import TableScanner, cut, shown
from scale.test_search_refining import random_rows

RULE = Rule([Condition("wide", ">=", 0.2), Condition("text", "!=", "Ä")], "bad")


def dask_frame(paths: Any) -> Any:
    pytest.importorskip("dask.dataframe", reason="pip install 'opdt[dask]'")
    return lazy.dask_frame(paths, agree(LocalScanner(paths).sources(), "y"))


def write(folder: Path, table: pa.Table, n_parts: int = 3) -> None:
    for i, part in enumerate(cut(table, np.random.default_rng(0), n_parts)):
        pq.write_table(part, folder / f"part{i}.parquet", row_group_size=100)


# -- files as a dask DataFrame -------------------------------------------------------------------


def test_row_groups_become_partitions_with_the_types_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "ROWS_PER_PART", 150)
    table = random_rows(1, 900)
    write(tmp_path, table)
    frame = dask_frame(tmp_path)
    assert frame.npartitions > 3
    back = pa.Table.from_pandas(frame.compute(scheduler="sync"), preserve_index=False)
    whole = pa.concat_tables([pq.read_table(path) for path in sorted(tmp_path.iterdir())])
    assert back.cast(whole.schema).equals(whole)
    assert list(frame[["narrow"]].compute(scheduler="sync").columns) == ["narrow"]


def test_files_that_differ_in_width_are_made_alike(tmp_path: Path) -> None:
    one = {"a": pa.array([1, 2, 3], pa.int8()), "t": ["x", "x", "y"], "y": [True, False, True]}
    two = {"a": pa.array([2.5, None], pa.float32()), "t": ["z", None], "y": [False, False]}
    three = {
        "a": pa.nulls(1), "t": pa.array(["y"]).dictionary_encode(), "y": pa.array([True])
    }  # fmt: skip
    for i, columns in enumerate((one, two, three)):
        pq.write_table(pa.table(columns), tmp_path / f"{i}.parquet")
    frame = dask_frame(tmp_path)
    found = frame.compute(scheduler="sync")
    assert found["a"].tolist()[:4] == [1, 2, 3, 2.5]
    assert found["a"].isna().tolist() == [False] * 4 + [True] * 2
    assert found["t"].dropna().tolist() == ["x", "x", "y", "z", "y"]
    assert shown(opdt.discover(frame, "y", w=2)) == shown(opdt.discover(tmp_path, "y", w=2))


def test_text_files_are_read_as_they_are_here(tmp_path: Path) -> None:
    table = random_rows(2, 200).drop_columns(["day"])
    for i, part in enumerate(cut(table, np.random.default_rng(0), 2)):
        pyarrow.csv.write_csv(part, tmp_path / f"{i}.csv")
    frame = dask_frame(str(tmp_path / "*.csv"))
    assert shown(opdt.discover(frame, "y", w=5)) == shown(opdt.discover(tmp_path, "y", w=5))


def test_numbers_here_and_text_there_are_refused_naming_both(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "y": [0, 1]}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"a": ["1", "x"], "y": [0, 1]}), tmp_path / "two.parquet")
    with pytest.raises(InputError, match=r"one\.parquet.*two\.parquet"):
        dask_frame(tmp_path)


# -- a rule put to partitions --------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_marked_in_the_order_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(local, "ROWS_PER_PART", 100)
    write(tmp_path, random_rows(3, 2000), 5)
    whole = pa.concat_tables([pq.read_table(path) for path in sorted(tmp_path.iterdir())])
    for rule in (RULE, RuleSet([RULE], "bad", None), Rule([], "bad"), RuleSet([], "bad", None)):
        fires = covered_rows(rule, tmp_path, threads=threads)
        assert fires.dtype == bool
        assert fires.tolist() == rule.covers(whole).tolist()


def test_dates_are_tested_in_pieces_too(tmp_path: Path) -> None:
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(10)]
    pq.write_table(pa.table({"day": days}), tmp_path / "a.parquet")
    rule = Rule([Condition("day", ">=", np.datetime64("2024-01-07"))], 1)
    assert covered_rows(rule, [tmp_path / "a.parquet"]).tolist() == [False] * 6 + [True] * 4


@pytest.mark.parametrize("labels", ["text", "truth", "whole"])
def test_covered_rows_of_every_class_are_weighed(labels: str) -> None:
    rng = np.random.default_rng(4)
    table = random_rows(4, 500)
    y = {
        "text": rng.choice(["a", "b", "ü"], 500),
        "truth": rng.random(500) < 0.3,
        "whole": rng.integers(-1, 2, 500),
    }[labels]
    weights = rng.integers(0, 9, 500) / 8
    table = table.set_column(5, "y", pa.array(y)).append_column("weight", pa.array(weights))
    scanner = TableScanner(cut(table, rng, 4))
    classes = np.unique(y)
    fires = RULE.covers(table)
    counts = covered_weights(RULE, scanner, "y", tuple(classes.tolist()))
    assert counts.tolist() == [(fires & (y == c)).sum() for c in classes]
    sums = covered_weights(RULE, scanner, "y", tuple(classes.tolist()), "weight")
    assert sums.tolist() == [weights[fires & (y == c)].sum() for c in classes]
