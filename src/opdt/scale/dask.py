"""A Dask data frame: its partitions stay on their workers, only sums travel."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import pyarrow as pa

from opdt.errors import EngineFailure, InputError, OpdtError, first_line
from opdt.optional import require
from opdt.scale.scanner import (
    PartitionSource,
    Parts,
    Scanner,
    ScanTask,
    Watch,
    from_bytes,
    to_bytes,
)
from opdt.scale.schema import agree, ordered_field

FAN_IN = 8  # results that are added up at once, where they are
BEAT = 0.1  # seconds between two looks at the clock
WHOLE = "the dask DataFrame"
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


class DaskScanner(Scanner):
    """The partitions of a dask DataFrame.

    A pass is one graph: a task for each partition, whose results are added up in a tree on the
    workers. Where tasks run, and that they run again when a worker is lost, is left to Dask.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Mind that Dask turns columns of objects into text when it makes a frame, dates of Python
        too: each date is then a level of its own, and the search takes far longer. Convert dates
        to ``datetime64`` first.
    client : distributed.Client, optional
        The current client if left out; without any, Dask's threads of this process.
    """

    def __init__(self, frame: Any, client: Any = None) -> None:
        _dask("dask.dataframe")
        self._frame = frame
        self._client = client if client is not None else _current_client()
        if self._client is not None and self._client.asynchronous:
            raise InputError("the Dask client is asynchronous; give one made without that option.")
        self._names = {str(name): name for name in frame.columns}
        self._sources: list[PartitionSource] = []
        self._declared = pa.schema([])  # the columns whose type the frame tells

    def sources(self) -> list[PartitionSource]:
        """The schema that the frame declares; where it does not tell, that of each partition."""
        if not self._sources:
            unclear = [n for n, name in self._names.items() if _is_unclear(self._frame, name)]
            self._declared = _schema_of(self._frame.drop(columns=[self._names[n] for n in unclear]))
            n_parts = max(1, self._frame.npartitions)
            self._sources = [PartitionSource(WHOLE, self._declared)] * n_parts
            if unclear:
                found = self.scan(_Types(tuple(unclear)), lambda done, parts: None)
                self._sources = [
                    PartitionSource(_name(at), self._filled(found.get(str(at))))
                    for at in range(n_parts)
                ]
        return self._sources

    def scan(self, task: ScanTask, watch: Watch) -> Parts:
        """One pass over the partitions."""
        dask = _dask("dask")
        columns = [self._names[name] for name in dict.fromkeys(task.columns)]
        shipped = dask.delayed(_Shipped(task, self._declared), traverse=False)
        # fused with what makes the partition: one task reads and counts it, so that rows stay
        leaves = self._frame[columns].map_partitions(
            _run, shipped, meta=self._frame._meta, enforce_metadata=False,
            transform_divisions=False,
        ).to_delayed()  # fmt: skip
        if self._client is None:
            return self._here(task, leaves, watch)
        with dask.config.set({LARGE_GRAPH: "1GB"}):  # thousands of boxes take some megabytes
            data = self._there(shipped, leaves, watch)
        # the task is sent for the partitions, and once more for the sums
        self.bytes_moved += 2 * _size(task) + len(data)
        return from_bytes(data)

    def _filled(self, found: pa.Table | None) -> pa.Schema:
        """What the frame declares, with the types found in a partition; an empty one has none."""
        fields = (*self._declared, *(() if found is None else found.schema))
        known = {field.name: field for field in fields}
        return pa.schema([known.get(name, pa.field(name, pa.null())) for name in self._names])

    def _here(self, task: ScanTask, leaves: list[Any], watch: Watch) -> Parts:
        """By the threads of this process, some partitions at a time."""
        compute = _dask("dask").compute
        total = task.run(iter(()), -1)
        step = 4 * (os.cpu_count() or 1)
        watch(0, len(leaves))
        for at in range(0, len(leaves), step):
            some = leaves[at : at + step]
            try:
                results = compute(*some, scheduler="threads")
            except Exception as error:
                place = at + next((i for i, leaf in enumerate(some) if not _works(leaf)), 0)
                raise _sentence(error, place, leaves) from None
            for result in results:
                total = task.merge(total, result)
            watch(at + len(some), len(leaves))
        return total

    def _there(self, shipped: Any, leaves: list[Any], watch: Watch) -> bytes:
        """By the workers of the client, looking at the clock meanwhile.

        A partition's future tells that it is done, and is let go at once: its result is kept no
        longer than until it is added up.
        """
        submit = self._client.submit
        task, *futures = self._client.compute([shipped, *leaves])
        running = {future.key: (at, future) for at, future in enumerate(futures)}
        while len(futures) > FAN_IN:
            starts = range(0, len(futures), FAN_IN)
            futures = [submit(_merge, task, futures[a : a + FAN_IN], pure=False) for a in starts]
        last = submit(_total, task, futures, pure=False)
        del futures
        ended: SimpleQueue[Any] = SimpleQueue()
        for _, future in (*running.values(), (None, last)):
            future.add_done_callback(lambda one: ended.put((one.key, one.status)))
        try:
            while True:
                watch(len(leaves) - len(running), len(leaves))
                try:
                    key, status = ended.get(timeout=BEAT)
                except Empty:
                    continue
                place, future = running.pop(key, (None, last))
                # any other status is that of a result lost with its worker, which Dask makes anew
                if status in ("error", "cancelled"):
                    raise _sentence(_exception_of(future), place, leaves) from None
                if future is last:
                    return bytes(last.result())
        finally:
            # Let go, not cancelled: what nobody wants is not begun, and cancelling a key while
            # others depend on it has been seen to break the scheduler's link to the client.
            for future in (task, last, *(future for _, future in running.values())):
                future.release()


class _Shipped:
    """A task, and the types that every partition should hold."""

    def __init__(self, task: ScanTask, declared: pa.Schema) -> None:
        self.task, self.declared = task, declared


class _Types(ScanTask):
    """The types of some columns in each partition."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns

    def run(self, batches: Iterable[pa.Table], place: int) -> Parts:
        """An empty table of the partition's types, under its number."""
        return {str(place): table.slice(0, 0) for table in batches}

    def merge(self, one: Parts, two: Parts) -> Parts:
        """Those of all partitions."""
        return {**one, **two}


def _current_client() -> Any:
    """The client of this process; there is none where `distributed` was never imported."""
    module = sys.modules.get("distributed")
    if module is None:
        return None
    try:
        return module.Client.current()
    except ValueError:
        return None


def _schema_of(frame: Any) -> pa.Schema:
    try:
        schema = pa.Schema.from_pandas(frame._meta_nonempty, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"cannot use {WHOLE}: {first_line(error)}.") from None
    for at, dtype in enumerate(frame.dtypes):
        levels = dtype.categories.tolist() if getattr(dtype, "ordered", False) else []
        if levels and all(isinstance(level, str) for level in levels):
            schema = schema.set(at, ordered_field(schema.field(at), levels))
    return schema


def _is_unclear(frame: Any, name: Any) -> bool:
    """Whether a column may hold anything: objects, or categories that Dask does not know."""
    dtype = frame.dtypes[name]
    return dtype.kind == "O" and (
        dtype.name == "object" or (dtype.name == "category" and not frame[name].cat.known)
    )


def _name(place: int) -> str:
    return f"partition {place} of {WHOLE}"


# -- on the workers --------------------------------------------------------------------------


def _run(frame: Any, shipped: _Shipped, partition_info: Any = None) -> Parts:
    task, place = shipped.task, partition_info["number"]
    if not len(frame):
        return task.run(iter(()), place)
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"cannot read {_name(place)}: {first_line(error)}.") from None
    declared = [f for f in shipped.declared if f.name in table.column_names]
    if len(declared) > 1:  # one of them takes the part of the target
        own = pa.schema([table.schema.field(f.name) for f in declared])
        sources = [
            PartitionSource(f"the dtypes of {WHOLE}", pa.schema(declared)),
            PartitionSource(_name(place), own),
        ]
        agree(sources, declared[-1].name)
    try:
        return task.run([table], place)
    except InputError as error:
        raise InputError(f"in {_name(place)}: {error}") from None
    except OpdtError:
        raise
    except Exception as error:
        raise EngineFailure(f"{_name(place)}: {type(error).__name__}: {error}") from error


def _merge(shipped: _Shipped, parts: list[Parts]) -> Parts:
    # A copy: merging may add to the first result in place, but Dask keeps that result, and would
    # add it up once more if the worker that holds the sum were lost.
    total = {n: np.array(v) if isinstance(v, np.ndarray) else v for n, v in parts[0].items()}
    for part in parts[1:]:
        total = shipped.task.merge(total, part)
    return total


def _total(shipped: _Shipped, parts: list[Parts]) -> bytes:
    # As bytes: arrays that Dask delivers are read-only, for which Numba would compile every
    # kernel of the driver once more, for many seconds.
    return to_bytes(_merge(shipped, parts))


# -- what went wrong -------------------------------------------------------------------------


def _works(leaf: Any) -> bool:
    """Whether a partition can be read and counted, tried alone."""
    try:
        leaf.compute(scheduler="threads")
    except Exception:
        return False
    return True


def _exception_of(future: Any) -> Exception:
    try:
        return future.exception() or RuntimeError("its result was lost")
    except Exception as gone:
        return InputError(f"the Dask cluster gave up the pass: {first_line(gone)}; is it running?")


def _sentence(error: Exception, place: int | None, parts: Sequence[Any]) -> Exception:
    """What a worker raised as one sentence; what the rows or the library raised stays."""
    if isinstance(error, OpdtError):
        return error
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("opdt"):
        return InputError("the Dask workers cannot import opdt; install the same version there.")
    name = WHOLE if place is None else _name(place)
    if type(error).__name__ == "KilledWorker":
        return InputError(
            f"cannot read {name}: several workers died of it, most likely for want of memory; "
            "make the partitions smaller."
        )
    paths = [] if place is None else list(dict.fromkeys(map(repr, _paths(parts[place]))))
    where = f"{' or '.join(sorted(paths))} ({name})" if paths else name
    return InputError(f"cannot read {where}: {first_line(error)}.")


def _paths(part: Any) -> Iterator[str]:
    """The files that the graph of a partition names; Dask may read several small ones as one."""
    graph = dict(part.__dask_graph__())
    waiting, seen = [graph.get(part.key)], set()
    while waiting:
        node = waiting.pop()
        path = getattr(node, "path", None) or getattr(getattr(node, "fragment", None), "path", None)
        if isinstance(path, str):
            yield path
        elif isinstance(node, str):
            if os.sep in node:
                yield node
        elif isinstance(node, (list, tuple, dict)):
            waiting.extend(node.values() if isinstance(node, dict) else node)
        elif node is not None:
            waiting.extend([*getattr(node, "args", ()), *getattr(node, "kwargs", {}).values()])
            for key in getattr(node, "dependencies", ()):
                if key not in seen:
                    seen.add(key)
                    waiting.append(graph.get(key))


def _size(task: ScanTask) -> int:
    return len(_dask("distributed.protocol.pickle").dumps(task))


def _dask(module: str) -> Any:
    return require(module, "dask", "a dask data frame")
