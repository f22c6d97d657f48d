"""A real local Spark gives the in-memory engine's answer."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opdt
from opdt.scale import discover_partitioned
from scale.partitions import shown
from scale.test_search_refining import random_rows

sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed: pip install 'opdt[spark]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs a Java runtime"),
    pytest.mark.filterwarnings("ignore"),  # of Spark's own making
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.mark.parametrize(("seed", "n_parts"), [(0, 3), (1, 20)])
def test_executors_find_the_rule_of_the_in_memory_engine(
    spark: Any, seed: int, n_parts: int
) -> None:
    table = random_rows(400 + seed, 1500).drop_columns(["day"])
    frame = spark.createDataFrame(table.to_pandas().astype({"narrow": np.int64}))
    there = discover_partitioned(frame.repartition(n_parts), "y", w=5)
    here = opdt.discover(frame.toPandas(), "y", w=5)
    assert shown(there) == shown(here)
