"""A real cluster of local Dask workers gives the in-memory engine's answer."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

pd = pytest.importorskip("pandas", reason="pandas is not installed: pip install 'opdt[pandas]'")
dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'opdt[dask]'")
distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # clusters warn of their own making

CHUNK = 20  # cases to a test


@contextmanager
def cluster_of(n_workers: int) -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster_of(2) as client:
        yield client


# -- frames ----------------------------------------------------------------------------------


def nullable(dtype: pa.DataType) -> Any:
    """Whole numbers and truth values that may be missing stay what they are in pandas."""
    if pa.types.is_integer(dtype):
        return pd.Int64Dtype()
    return pd.BooleanDtype() if pa.types.is_boolean(dtype) else None


def to_pandas(table: pa.Table, style: str) -> Any:
    mapper = pd.ArrowDtype if style == "arrow" else nullable
    return table.to_pandas(types_mapper=mapper, date_as_object=False)


def frame_of(parts: list[pa.Table], style: str = "nullable") -> Any:
    """Partitions as they are; the frame declares the widest type of each column."""
    widest = pa.table({name: common(parts, name) for name in parts[0].column_names})
    frames = [dask.delayed(to_pandas(part, style), traverse=False) for part in parts]
    return dd.from_delayed(frames, meta=to_pandas(widest, style), verify_meta=False)


def common(parts: list[pa.Table], name: str) -> pa.Array:
    """No cells, of a type that holds those of all partitions.

    Where all are missing it is one of numbers: Dask declares an unknown type to be text, and text
    is refused where numbers are asked for.
    """
    types = [part.schema.field(name).type for part in parts]
    types = [t.value_type if pa.types.is_dictionary(t) else t for t in types]
    types = [t for t in types if not pa.types.is_null(t)] or [pa.float64()]
    tables = [pa.table({name: pa.array([], t)}) for t in types]
    return pa.concat_tables(tables, promote_options="permissive").column(name).combine_chunks()


def split(table: pa.Table, seed: int, n_parts: int, style: str = "nullable") -> Any:
    return frame_of(cut(table, np.random.default_rng(seed), n_parts), style)


def slow_frame(table: pa.Table, n_parts: int, seconds: float) -> Any:
    """A frame whose partitions take their time."""
    step = -(-len(table) // n_parts)
    pieces = [to_pandas(table.slice(at * step, step), "nullable") for at in range(n_parts)]

    def read(piece: Any) -> Any:
        time.sleep(seconds)
        return piece

    return dd.from_map(read, pieces, meta=pieces[0].iloc[:0])


# -- the same columns ------------------------------------------------------------------------


@pytest.mark.parametrize("wide", Wide.all(), ids=lambda wide: f"{wide.rows} rows")
def test_messy_cells_are_read_as_in_a_file(tmp_path: Path, wide: Wide) -> None:
    path = wide.write(tmp_path)
    text = pd.read_csv(path, dtype=str, keep_default_na=False)
    for rows in (text, pd.read_csv(path, dtype=str)):  # with and without pandas' missing words
        cells = pa.Table.from_pandas(rows, preserve_index=False)
        wide.check_text(tmp_path, dd.from_pandas(rows, npartitions=3), cells)
    typed = pd.read_csv(path)
    wide.check_typed(dd.from_pandas(typed, npartitions=3), typed)


def test_categories_with_an_order_keep_it() -> None:
    sizes = pd.Categorical(["S", "L", "M"] * 20, categories=["S", "M", "L"], ordered=True)
    frame = pd.DataFrame({"size": sizes, "y": [int(size == "L") for size in sizes]})
    asked = {"max_depth": 1, "label": 1}
    here = opdt.discover(frame, "y", **asked)
    there = discover_partitioned(dd.from_pandas(frame, npartitions=2), "y", **asked)
    assert str(here.rule) == str(there.rule) == "IF size >= 'L' THEN 1"
    assert here.plan == there.plan


# -- the same answer -------------------------------------------------------------------------


@pytest.mark.parametrize("first", range(0, 40, CHUNK))
def test_workers_find_the_rules_of_the_in_memory_engine(client: Any, first: int) -> None:
    for seed in range(first, first + CHUNK):
        style = ["nullable", "arrow"][seed % 2]
        check_case(seed, lambda parts, s=style: frame_of(parts, s), max_rows=2000, client=client)


@pytest.mark.parametrize("sort", PARTITIONED)
def test_workers_find_the_rules_of_problems_of_all_sorts(client: Any, sort: str) -> None:
    for seed in range(2):
        check_sort(sort, seed, frame_of, client=client)


@pytest.mark.slow
@pytest.mark.parametrize("sort", PARTITIONED)
def test_workers_find_the_rules_of_many_problems_of_all_sorts(client: Any, sort: str) -> None:
    for seed in range(2, 40):
        check_sort(sort, seed, frame_of, client=client)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(40, 400, CHUNK))
def test_workers_find_the_rules_of_hundreds_of_larger_tables(client: Any, first: int) -> None:
    for seed in range(first, first + CHUNK):
        style = ["nullable", "arrow"][seed % 2]
        check_case(seed, lambda parts, s=style: frame_of(parts, s), client=client)


@pytest.mark.parametrize("seed", range(2))
def test_without_a_cluster_the_threads_of_this_process_do(seed: int) -> None:
    check_case(500 + seed, frame_of, max_rows=1000)


def test_more_partitions_than_are_added_up_at_once(client: Any) -> None:
    table = random_rows(301, 1000)
    told: list[Progress] = []
    there = discover_partitioned(
        split(table, 0, 20), "y", w=5, client=client, budget=Budget(progress=told.append)
    )
    assert shown(there) == shown(opdt.discover(table, "y", w=5))
    seen = [one for one in told if isinstance(one, PassProgress)]
    assert {one.parts for one in seen} >= {20}
    assert max(one.parts_done for one in seen if one.passes == 2) > 1


def test_an_index_and_names_that_are_numbers_do_not_disturb(client: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({0: rng.normal(size=200), 7: rng.integers(0, 5, 200)})
    frame["y"] = (frame[0] > 0.3).to_numpy()
    frame.index = rng.permutation(200)
    there = discover_partitioned(
        dd.from_pandas(frame, npartitions=3, sort=False), "y", w=5, client=client
    )
    assert shown(there) == shown(opdt.discover(frame.rename(columns=str), "y", w=5))


KINDS: dict[str, Callable[[Any], Any]] = {
    "str": lambda frame: frame.astype({"t": "str"}),
    "string[pyarrow]": lambda frame: frame.astype({"t": "string[pyarrow]"}),
    "category": lambda frame: frame.astype({"t": "category"}),
    "Int64": lambda frame: frame.assign(a=frame.a.round().astype("Int64")),
    "boolean": lambda frame: frame.assign(a=(frame.a > 0).astype("boolean")),
    "bool": lambda frame: frame.assign(a=frame.a > 0),
    "datetime64[ns]": lambda frame: frame.assign(a=pd.to_datetime(frame.a * 1e15, unit="ns")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_of_pandas_is_read_as_in_memory(client: Any, kind: str) -> None:
    rng = np.random.default_rng(1)
    plain = pd.DataFrame({"a": rng.normal(0, 3, 300), "t": rng.choice(["u", "v", "w"], 300)})
    plain["y"] = ((plain.a > 1) & (plain.t != "u")) ^ (rng.random(300) < 0.1)
    frame = KINDS[kind](plain)
    if kind not in ("bool", "datetime64[ns]"):
        frame.loc[5:20, "a" if kind in ("Int64", "boolean") else "t"] = None
    there = discover_partitioned(dd.from_pandas(frame, npartitions=3), "y", w=4, client=client)
    assert shown(there) == shown(opdt.discover(frame, "y", w=4))


@pytest.mark.parametrize("levels", [["u", "v", "w"], [10, 2, 7]])
def test_categories_that_dask_does_not_know_are_found(client: Any, levels: list[Any]) -> None:
    rng = np.random.default_rng(2)
    plain = pd.DataFrame({"a": rng.normal(size=300), "t": rng.choice(levels, 300)})
    plain["y"] = (plain.t == levels[1]) ^ (rng.random(300) < 0.1)
    frame = dd.from_pandas(plain, npartitions=4, sort=False).astype({"t": "category"})
    assert not frame.t.cat.known
    there = discover_partitioned(frame, "y", w=4, client=client)
    assert shown(there) == shown(opdt.discover(plain.astype({"t": "category"}), "y", w=4))


# -- a worker is lost ------------------------------------------------------------------------


def killing(client: Any) -> Callable[[Progress], None]:
    """Progress that kills a worker, once, in the middle of the second pass."""
    left = list(client.run(os.getpid).values())[:1]

    def told(progress: Progress) -> None:
        assert isinstance(progress, PassProgress)
        if left and progress.passes == 2 and 3 <= progress.parts_done < progress.parts:
            os.kill(left.pop(), signal.SIGKILL)

    told.left = left  # type: ignore[attr-defined]
    return told


def check_a_lost_worker(client: Any) -> None:
    table = random_rows(302, 1200)
    told = killing(client)
    there = discover_partitioned(
        slow_frame(table, 12, 0.1), "y", w=5, client=client, budget=Budget(progress=told)
    )
    assert not told.left  # type: ignore[attr-defined]
    assert shown(there) == shown(opdt.discover(table, "y", w=5))


def test_a_worker_killed_in_the_middle_of_a_pass_changes_nothing() -> None:
    with cluster_of(2) as client:
        check_a_lost_worker(client)


@pytest.mark.slow
def test_a_worker_that_nobody_replaces_changes_nothing_either() -> None:
    with cluster_of(0) as client:
        address = client.scheduler.address
        workers = [
            subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny",
                 "--no-dashboard", "--nthreads", "1", "--host", "127.0.0.1"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            for _ in range(2)
        ]  # fmt: skip
        try:
            client.wait_for_workers(2, timeout=60)
            check_a_lost_worker(client)
            assert len(client.run(os.getpid)) == 1
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()


# -- limits ----------------------------------------------------------------------------------


def check_stopped(solution: opdt.Solution, table: pa.Table, reason: StopReason) -> None:
    assert solution.stopped_by is reason
    assert solution.status is Status.FEASIBLE
    assert solution.value <= opdt.discover(table, "y", w=5).value <= solution.bound


def in_the_second_pass(act: Callable[[], None]) -> Callable[[Progress], None]:
    def told(progress: Progress) -> None:
        assert isinstance(progress, PassProgress)
        if progress.passes == 2 and progress.parts_done == 2:
            act()

    return told


def test_cancelling_leaves_a_true_bound_and_a_cluster_that_works(client: Any) -> None:
    table = random_rows(303, 600)
    frame = slow_frame(table, 8, 0.1)
    cancel = threading.Event()
    stopped = discover_partitioned(
        frame, "y", w=5, client=client,
        budget=Budget(progress=in_the_second_pass(cancel.set), cancel=cancel),
    )  # fmt: skip
    check_stopped(stopped, table, StopReason.CANCELLED)
    begun = time.monotonic()
    while any(client.processing().values()):
        assert time.monotonic() - begun < 20, "tasks that nobody wants are still run"
        time.sleep(0.05)
    there = discover_partitioned(split(table, 0, 3), "y", w=5, client=client)
    assert shown(there) == shown(opdt.discover(table, "y", w=5))


def test_ctrl_c_leaves_a_true_bound(client: Any) -> None:
    table = random_rows(304, 600)
    told = in_the_second_pass(lambda: os.kill(os.getpid(), signal.SIGINT))
    stopped = discover_partitioned(
        slow_frame(table, 8, 0.1), "y", w=5, client=client, budget=Budget(progress=told)
    )
    check_stopped(stopped, table, StopReason.INTERRUPTED)


def test_a_time_limit_in_the_first_pass_leaves_the_empty_rule(client: Any) -> None:
    frame = slow_frame(random_rows(305, 100), 10, 0.5)
    stopped = discover_partitioned(frame, "y", client=client, time_limit=0.3)
    assert (stopped.rule, stopped.value, stopped.stopped_by) == (None, 0, StopReason.TIME)


# -- what cannot be used ---------------------------------------------------------------------


@pytest.fixture(params=["cluster", "threads"])
def either(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("client") if request.param == "cluster" else None


@pytest.mark.parametrize("filesystem", ["fsspec", "arrow"])
def test_a_broken_file_is_named_in_one_sentence(
    tmp_path: Path, client: Any, filesystem: str
) -> None:
    for i, part in enumerate(cut(random_rows(3, 900), np.random.default_rng(0), 3)):
        pq.write_table(part, tmp_path / f"part{i}.parquet")
    frame = dd.read_parquet(tmp_path, filesystem=filesystem)
    broken = tmp_path / "part2.parquet"
    data = bytearray(broken.read_bytes())
    data[4:2000] = b"\xff" * 1996
    broken.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"^cannot read '.*part2\.parquet' \(part") as caught:
        discover_partitioned(frame, "y", client=client)
    assert "\n" not in str(caught.value)


def test_numbers_that_are_text_in_one_partition_are_refused(either: Any) -> None:
    one = pa.table({"a": [1.0, 2.0], "b": [1, 2], "y": ["p", "q"]})
    two = pa.table({"a": ["1", "2"], "b": [1, 2], "y": ["p", "q"]})
    frames = [dask.delayed(to_pandas(part, "nullable")) for part in (one, two)]
    frame = dd.from_delayed(frames, meta=to_pandas(one, "nullable").iloc[:0], verify_meta=False)
    with pytest.raises(InputError, match=r"'a' holds numbers in .* but text in partition 1 of"):
        discover_partitioned(frame, "y", client=either)


def test_objects_that_are_text_in_one_partition_are_refused_naming_both(either: Any) -> None:
    with dask.config.set({"dataframe.convert-string": False}):
        parts = [
            pd.DataFrame({"a": pd.Series(cells, dtype=object), "y": [0, 1]})
            for cells in ([1, 2], ["1", "x"])
        ]
        frame = dd.from_delayed([dask.delayed(part) for part in parts], verify_meta=False)
    with pytest.raises(InputError, match=r"numbers in partition 0 .* but text in partition 1 of"):
        discover_partitioned(frame, "y", client=either)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1.5, np.inf, 2.0], r"in partition \d of the dask DataFrame: column 'a' contains inf"),
        (pd.to_timedelta([1, 2, 3], "D"), "'a' of the dask DataFrame has the type duration"),
        ([1j, 2j, 3j], "cannot use the dask DataFrame: "),
    ],
)
def test_cells_that_are_refused_in_memory_are_refused(
    either: Any, cells: Any, message: str
) -> None:
    frame = dd.from_pandas(pd.DataFrame({"a": cells, "y": [0, 1, 0]}), npartitions=2)
    with pytest.raises(InputError, match=message) as caught:
        discover_partitioned(frame, "y", client=either)
    assert "\n" not in str(caught.value)


def test_workers_that_die_of_a_partition_are_said_to() -> None:
    table = random_rows(306, 100)

    def read(piece: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    pieces = [to_pandas(table, "nullable")]
    frame = dd.from_map(read, pieces, meta=pieces[0].iloc[:0])
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster_of(1) as client,
        pytest.raises(InputError, match=r"partition 0 of .* workers died of it"),
    ):
        discover_partitioned(frame, "y", client=client)


# -- what travels ----------------------------------------------------------------------------


def test_counts_travel_and_rows_do_not(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from opdt.scale.dask import DaskScanner

    monkeypatch.setattr(front, "SAMPLE", 1000)
    moved = []
    for n_rows in (20_000, 80_000):
        scanner = DaskScanner(split(random_rows(307, n_rows), 0, 4), client)
        discover_partitioned(scanner, "y", w=5, max_passes=2)
        moved.append(scanner.bytes_moved)
    assert 0 < moved[1] < 2 * moved[0]  # four times the rows
