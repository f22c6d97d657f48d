"""A real cluster of local Dask workers gives the in-memory engine's answer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import opdt
from opdt.scale import discover_partitioned
from scale.partitions import cut, shown
from scale.test_search_refining import random_rows

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'opdt[dask]'")
distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
# A cluster takes minutes to start and to stop, and warns of its own making.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


def frame_of(table: pa.Table, seed: int, n_parts: int) -> Any:
    """The table as a dask DataFrame with random partitions, some of them empty."""
    parts = cut(table, np.random.default_rng(seed), n_parts)
    frames = [dask.delayed(part.to_pandas(), traverse=False) for part in parts]
    return dd.from_delayed(frames, meta=table.to_pandas().iloc[:0], verify_meta=False)


@pytest.mark.parametrize("seed", range(3))
def test_workers_find_the_rule_of_the_in_memory_engine(client: Any, seed: int) -> None:
    table = random_rows(300 + seed, 3000)
    here = opdt.discover(table, "y", w=5)
    there = discover_partitioned(frame_of(table, seed, 5), "y", w=5, client=client)
    assert shown(there) == shown(here)


def test_without_a_cluster_the_threads_of_this_process_do() -> None:
    table = random_rows(310, 500)
    assert shown(discover_partitioned(frame_of(table, 0, 3), "y")) == shown(
        opdt.discover(table, "y")
    )
