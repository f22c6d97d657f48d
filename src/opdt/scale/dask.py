"""A Dask data frame: its partitions stay on their workers, only sums travel."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa

from opdt.errors import InputError
from opdt.scale.scanner import Parts, Scanner, Source, Task, Watch, require

FAN_IN = 8  # results that are added up at once, where they are
BEAT = 0.2  # seconds between two looks at the clock


class DaskScanner(Scanner):
    """The partitions of a dask DataFrame.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    client : distributed.Client, optional
        The current client if left out; without any, Dask's threads of this process.
    """

    def __init__(self, frame: Any, client: Any = None) -> None:
        require("dask.dataframe", "dask")
        self._frame = frame
        self._client = client if client is not None else _current_client()

    def sources(self) -> list[Source]:
        """The schema of the frame, which all partitions share."""
        schema = pa.Schema.from_pandas(self._frame._meta_nonempty, preserve_index=False)
        return [Source("the dask DataFrame", schema)] * max(1, self._frame.npartitions)

    def scan(self, task: Task, watch: Watch) -> Parts:
        """One pass, as a graph of tasks that add up in a tree."""
        delayed = require("dask", "dask").delayed
        shipped = delayed(task, traverse=False)
        run = delayed(_run, pure=False)
        columns = list(dict.fromkeys(task.columns))
        leaves = [
            run(shipped, part, at) for at, part in enumerate(self._frame[columns].to_delayed())
        ]
        level = leaves or [run(shipped, None, 0)]
        merge = delayed(_merge, pure=False)
        while len(level) > 1:
            level = [merge(shipped, level[at : at + FAN_IN]) for at in range(0, len(level), FAN_IN)]
        if self._client is None:
            watch(0, len(leaves))
            return dict(level[0].compute(scheduler="threads"))
        return self._wait(level[0], len(leaves), watch)

    def _wait(self, total: Any, n_parts: int, watch: Watch) -> Parts:
        """Wait for the workers, looking at the clock meanwhile."""
        future = self._client.compute(total)
        finished = threading.Event()
        future.add_done_callback(lambda _: finished.set())
        try:
            while not finished.wait(BEAT):
                watch(0, n_parts)
            return dict(future.result())
        finally:
            future.cancel()


def _current_client() -> Any:
    """The client of this process, if `dask.distributed` has one."""
    try:
        return require("dask.distributed", "dask").get_client()
    except (ImportError, ValueError):
        return None


def _run(task: Task, frame: Any, place: int) -> Parts:
    if frame is None or not len(frame):
        return task.run(iter(()), place)
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise InputError(f"cannot read partition {place}: {reason}.") from None
    try:
        return task.run([table], place)
    except InputError as error:
        raise InputError(f"partition {place}: {error}") from None


def _merge(task: Task, parts: list[Parts]) -> Parts:
    total = parts[0]
    for part in parts[1:]:
        total = task.merge(total, part)
    return total
