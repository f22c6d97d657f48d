"""A real local Spark gives the in-memory engine's answer."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opdt
from messy import Wide
from opdt.errors import InputError
from opdt.scale import PassProgress, discover_partitioned, front
from opdt.solution import Budget, Progress, Status, StopReason
from scale.partitions import PARTITIONED, check_case, check_sort, cut, shown
from scale.test_search_refining import random_rows

sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed: pip install 'opdt[spark]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Spark's own making

CHUNK = 10  # cases to a test


def frame_of(spark: Any, parts: list[pa.Table]) -> Any:
    """A frame of exactly these partitions."""
    frames = [spark.createDataFrame(part).coalesce(1) for part in parts]
    return functools.reduce(sql.DataFrame.unionAll, frames)


def slow_frame(spark: Any, table: pa.Table, n_parts: int, seconds: float) -> Any:
    """A frame whose partitions take their time."""

    def wait(batches: Any) -> Any:
        time.sleep(seconds)
        yield from batches

    frame = frame_of(spark, cut(table, np.random.default_rng(0), n_parts))
    return frame.mapInArrow(wait, frame.schema)


@pytest.mark.parametrize("wide", Wide.all(), ids=lambda wide: f"{wide.rows} rows")
def test_messy_cells_are_read_as_in_a_file(spark: Any, tmp_path: Path, wide: Wide) -> None:
    path = str(wide.write(tmp_path))
    text = spark.read.csv(path, header=True)
    wide.check_text(tmp_path, text, text.toArrow())
    typed = spark.read.csv(path, header=True, inferSchema=True)
    wide.check_typed(typed, typed.toArrow())


@pytest.mark.parametrize("first", range(0, 20, CHUNK))
def test_executors_find_the_rules_of_the_in_memory_engine(spark: Any, first: int) -> None:
    for seed in range(first, first + CHUNK):
        check_case(seed, lambda parts: frame_of(spark, parts), max_rows=1000, uniform=True)


@pytest.mark.parametrize("sort", PARTITIONED)
def test_executors_find_the_rules_of_problems_of_all_sorts(spark: Any, sort: str) -> None:
    check_sort(sort, 0, lambda parts: frame_of(spark, parts))


@pytest.mark.slow
@pytest.mark.parametrize("sort", PARTITIONED)
def test_executors_find_the_rules_of_many_problems_of_all_sorts(spark: Any, sort: str) -> None:
    for seed in range(1, 20):
        check_sort(sort, seed, lambda parts: frame_of(spark, parts))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20, 250, CHUNK))
def test_executors_find_the_rules_of_larger_tables(spark: Any, first: int) -> None:
    for seed in range(first, first + CHUNK):
        check_case(seed, lambda parts: frame_of(spark, parts), uniform=True)


@pytest.mark.slow
def test_more_partitions_than_come_to_the_driver(spark: Any) -> None:
    table = random_rows(400, 600)
    told: list[Progress] = []
    frame = spark.createDataFrame(table).repartition(20)
    there = discover_partitioned(frame, "y", w=5, budget=Budget(progress=told.append))
    assert shown(there) == shown(opdt.discover(table, "y", w=5))
    seen = [one for one in told if isinstance(one, PassProgress) and one.parts == 20]
    assert {one.parts_done for one in seen} >= {0, 20}


def test_names_with_points_and_backticks_are_read(spark: Any) -> None:
    rng = np.random.default_rng(0)
    cells = {"a.b": rng.normal(size=100), "c`d": rng.integers(0, 3, 100)}
    table = pa.table({**cells, "y": cells["a.b"] > 0.2})
    there = discover_partitioned(frame_of(spark, [table]), "y", w=3)
    assert shown(there) == shown(opdt.discover(table, "y", w=3))


# -- limits ----------------------------------------------------------------------------------


def in_the_second_pass(act: Callable[[], None]) -> Callable[[Progress], None]:
    left = [act]

    def told(progress: Progress) -> None:
        assert isinstance(progress, PassProgress)
        if left and progress.passes == 2:
            left.pop()()

    return told


def test_cancelling_leaves_a_true_bound_and_a_session_that_works(spark: Any) -> None:
    table = random_rows(401, 300)
    frame = slow_frame(spark, table, 4, 0.3)
    best = opdt.discover(table, "y", w=5)
    for reason in (StopReason.CANCELLED, StopReason.INTERRUPTED):
        cancel = threading.Event()
        act = cancel.set
        if reason is StopReason.INTERRUPTED:
            act = functools.partial(os.kill, os.getpid(), signal.SIGINT)  # type: ignore[assignment]
        budget = Budget(progress=in_the_second_pass(act), cancel=cancel)
        stopped = discover_partitioned(frame, "y", w=5, budget=budget)
        assert stopped.stopped_by is reason
        assert stopped.status is Status.FEASIBLE
        assert stopped.value <= best.value <= stopped.bound
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    assert shown(discover_partitioned(frame, "y", w=5)) == shown(best)


def test_a_time_limit_in_the_first_pass_leaves_no_rule_and_says_so(spark: Any) -> None:
    frame = slow_frame(spark, random_rows(402, 50), 4, 1.0)
    stopped = discover_partitioned(frame, "y", time_limit=0.5)
    assert (stopped.rule, stopped.stopped_by) == (None, StopReason.TIME)
    assert stopped.bound == float("inf")


# -- what cannot be used ---------------------------------------------------------------------


def test_a_broken_file_is_named_in_one_sentence(spark: Any, tmp_path: Path) -> None:
    for i, part in enumerate(cut(random_rows(3, 900), np.random.default_rng(0), 3)):
        pq.write_table(part, tmp_path / f"part{i}.parquet")
    frame = spark.read.parquet(str(tmp_path))
    broken = tmp_path / "part2.parquet"
    data = bytearray(broken.read_bytes())
    data[4:2000] = b"\xff" * 1996
    broken.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"^cannot read .*part2\.parquet") as caught:
        discover_partitioned(frame, "y")
    assert "\n" not in str(caught.value)


def test_a_column_that_is_text_in_one_file_is_refused_naming_it(spark: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "y": [0, 1]}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"a": ["1", "x"], "y": [0, 1]}), tmp_path / "two.parquet")
    frame = spark.read.schema("a long, y long").parquet(str(tmp_path))
    with pytest.raises(InputError, match=r"two\.parquet.*column \[a\]") as caught:
        discover_partitioned(frame, "y")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("cast('inf' as double)", "in partition 0 of the Spark DataFrame: column 'a' contains inf"),
        ("interval 2 days", "'a' of the Spark DataFrame has the type duration"),
        ("array(1, 2)", "'a' of the Spark DataFrame has the type list"),
        ("raise_error('no such luck')", "^cannot read the Spark DataFrame: .*no such luck"),
    ],
)
def test_cells_that_are_refused_in_memory_are_refused(
    spark: Any, column: str, message: str
) -> None:
    frame = spark.range(4, numPartitions=1).selectExpr(f"{column} as a", "id % 2 as y")
    with pytest.raises(InputError, match=message) as caught:
        discover_partitioned(frame, "y")
    assert "\n" not in str(caught.value)


def test_a_partition_that_kills_its_worker_is_told_in_one_sentence(spark: Any) -> None:
    def die(batches: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    def fail(batches: Any) -> Any:
        yield from batches
        raise OSError("the disk\nis gone")

    frame = frame_of(spark, [random_rows(403, 20)])
    for function, message in ((die, "worker exited unexpectedly"), (fail, "is gone")):
        with pytest.raises(InputError, match=f"^cannot read .*{message}") as caught:
            discover_partitioned(frame.mapInArrow(function, frame.schema), "y")
        assert "\n" not in str(caught.value)
    assert discover_partitioned(frame, "y", w=5).status is Status.OPTIMAL


# -- what travels ----------------------------------------------------------------------------


def test_counts_travel_and_rows_do_not(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from opdt.scale.spark import SparkScanner

    monkeypatch.setattr(front, "SAMPLE", 1000)
    moved = []
    for n_rows in (20_000, 80_000):
        parts = cut(random_rows(307, n_rows), np.random.default_rng(0), 4)
        scanner = SparkScanner(frame_of(spark, parts))
        discover_partitioned(scanner, "y", w=5, max_passes=2)
        moved.append(scanner.bytes_moved)
    assert 0 < moved[1] < 2 * moved[0]  # four times the rows
