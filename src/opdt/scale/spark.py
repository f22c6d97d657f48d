"""A Spark data frame: partitions are scanned by `mapInArrow`, only sums travel."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from inspect import signature
from typing import Any

import pyarrow as pa

from opdt import errors
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

FAN_IN = 16  # results that are added up at once; so many come to the driver at most
BATCH_ROWS = 1 << 17  # Spark sends 10,000 rows at a time, too few to make a call worth while
BEAT = 0.2  # seconds between two looks at the clock
WHOLE = "the Spark DataFrame"
# One row for each partition: its result, or what is wrong with it. Errors travel as rows, for
# Spark would run a task that raises again and again, and answer with pages of Java.
ROW = pa.schema([("parts", pa.binary()), ("error", pa.string())])
DDL = "parts binary, error string"


class SparkScanner(Scanner):
    """The partitions of a Spark DataFrame.

    A pass is one job; many results are added up by the executors first. A frame that is costly to
    make is best kept with ``frame.cache()``, for every pass makes it anew.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Of a classic session, not of Spark Connect.
    """

    def __init__(self, frame: Any) -> None:
        _spark("pyspark.sql")
        if ".connect." in type(frame).__module__:
            raise InputError(
                "frames of Spark Connect cannot be used; take a classic Spark session."
            )
        self._frame = frame
        self._context = frame.sparkSession.sparkContext
        self._sources: list[PartitionSource] = []

    def sources(self) -> list[PartitionSource]:
        """The schema of the frame, which all partitions share."""
        if not self._sources:
            try:
                schema = _arrow_schema(self._frame.schema)
                n_parts = int(self._frame.rdd.getNumPartitions())
            except Exception as error:
                raise _sentence(error) from None
            self._sources = [PartitionSource(WHOLE, schema)] * max(1, n_parts)
        return self._sources

    def scan(self, task: ScanTask, watch: Watch) -> Parts:
        """One pass, as one job."""
        n_parts = left = len(self.sources())
        # by number: `mapInArrow` stumbles over points and backticks in names
        names = list(dict.fromkeys(task.columns))
        columns = [f"`{n.replace('`', '``')}` as c{at}" for at, n in enumerate(names)]
        try:
            rows = self._frame.selectExpr(*columns).mapInArrow(_runner(task, names), DDL)
        except Exception as error:
            raise _sentence(error) from None
        while left > FAN_IN:
            left = -(-left // FAN_IN)
            rows = rows.repartition(left).mapInArrow(_merger(task), DDL)
        table = self._wait(rows, n_parts, watch)
        self.bytes_moved += len(_spark("pyspark.cloudpickle").dumps(task)) + table.nbytes
        total = task.run(iter(()), -1)
        for parts in _results(table.to_batches()):
            if isinstance(parts, OpdtError):
                raise parts
            total = task.merge(total, parts)
        return total

    def _wait(self, rows: Any, n_parts: int, watch: Watch) -> pa.Table:
        """Let another thread wait for Spark, and look at the clock meanwhile."""
        group = f"opdt-{uuid.uuid4().hex}"
        future: Future[pa.Table] = Future()

        def run() -> None:
            try:
                # a group of jobs belongs to its thread: that of the user's is left as it is
                self._context.setJobGroup(group, "opdt: a pass over the rows", True)
                future.set_result(rows.toArrow())
            except BaseException as error:
                future.set_exception(error)

        thread = _spark("pyspark").InheritableThread(target=run, daemon=True)
        thread.start()
        try:
            while True:
                watch(self._done(group, n_parts), n_parts)
                try:
                    table = future.result(timeout=BEAT)
                    break
                except NotYet:
                    continue
                except Exception as error:
                    raise _sentence(error) from None
        finally:
            while thread.is_alive():  # more than once: the job may not have begun yet
                if not future.done():
                    self._context.cancelJobGroup(group)
                thread.join(BEAT)
        watch(n_parts, n_parts)
        return table

    def _done(self, group: str, n_parts: int) -> int:
        """Partitions done: the tasks of the job's last stage that has as many as partitions."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = sorted(stage for job in jobs if job is not None for stage in job.stageIds)
        infos = [tracker.getStageInfo(stage) for stage in stages]
        done = [i.numCompletedTasks for i in infos if i is not None and i.numTasks == n_parts]
        return int(done[-1]) if done else 0


def _arrow_schema(schema: Any) -> pa.Schema:
    """The schema in Arrow's types; to newer versions the zone of instants must be said."""
    convert = _spark("pyspark.sql.pandas.types").to_arrow_schema
    zoned = "timezone" in signature(convert).parameters
    return convert(schema, timezone="UTC") if zoned else convert(schema)


# -- on the executors ------------------------------------------------------------------------

Batches = Iterator[pa.RecordBatch]


def _runner(task: ScanTask, names: list[str]) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        context = _spark("pyspark").TaskContext.get()
        place = 0 if context is None else int(context.partitionId())
        try:
            yield _row(task.run(_tables(batches, names), place))
        except InputError as error:
            yield _row(InputError(f"in partition {place} of {WHOLE}: {error}"))
        except OpdtError as error:
            yield _row(error)
        except (TypeError, KeyError, IndexError, ArithmeticError, ValueError) as error:
            yield _row(EngineFailure(f"partition {place}: {type(error).__name__}: {error}"))

    return run


def _merger(task: ScanTask) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        total: Parts | None = None
        for parts in _results(batches):
            if isinstance(parts, OpdtError):
                yield _row(parts)
                return
            total = parts if total is None else task.merge(total, parts)
        if total is not None:
            yield _row(total)

    return run


def _tables(batches: Batches, names: list[str]) -> Iterator[pa.Table]:
    """Batches joined to larger ones."""
    waiting: list[pa.RecordBatch] = []
    n_rows = 0
    for batch in batches:
        waiting.append(batch.rename_columns(names))
        n_rows += batch.num_rows
        if n_rows >= BATCH_ROWS:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, n_rows = [], 0
    if n_rows:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _row(parts: Parts | OpdtError) -> pa.RecordBatch:
    if isinstance(parts, OpdtError):
        cells: dict[str, Any] = {"error": f"{type(parts).__name__}:{parts}"}
    else:
        cells = {"parts": to_bytes(parts)}
    return pa.RecordBatch.from_pylist([cells], ROW)


def _results(batches: Any) -> Iterator[Parts | OpdtError]:
    for batch in batches:
        for data, error in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if error is None:
                yield from_bytes(data)
            else:
                kind, _, message = error.partition(":")
                yield getattr(errors, kind)(message)


# -- what went wrong -------------------------------------------------------------------------


def _sentence(error: Exception) -> Exception:
    """What Spark raised as one sentence: its own message, of the pages of Java and Python."""
    if isinstance(error, OpdtError):
        return error
    text = str(error)
    if "No module named 'opdt" in text:
        return InputError("the Spark executors cannot import opdt; install the same version there.")
    # "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///a.parquet.  SQLSTATE"
    own = re.search(r"\[[A-Z][A-Z0-9_.]+\] ([^\n]*?)\s*(?:SQLSTATE[^\n]*)?(?:\n|$)", text)
    # "Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"
    causes = re.findall(r"^(?:Caused by)?: [\w.$]+: (.*)$", text, re.MULTILINE)
    if own:
        reason = own.group(1)
    elif "Python worker:" in text:  # the last line of a traceback
        reason = text.strip().split("\n")[-1]
    else:
        causes = [cause for cause in causes if "awaitResult" not in cause]
        reason = causes[0] if causes else first_line(error)
    reason = reason.rstrip(". ")
    return InputError(f"cannot read {WHOLE}: {reason}.")


def _spark(module: str) -> Any:
    return require(module, "spark", "a Spark data frame")
