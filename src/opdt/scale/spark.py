"""A Spark data frame: partitions are scanned by `mapInArrow`, only sums travel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from opdt.scale.scanner import Parts, Scanner, Source, Task, Watch, from_bytes, require, to_bytes

FEW_RESULTS = 16  # results that the driver adds up itself
BLOB = pa.schema([("parts", pa.binary())])


class SparkScanner(Scanner):
    """The partitions of a Spark DataFrame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    """

    def __init__(self, frame: Any) -> None:
        require("pyspark.sql", "spark")
        self._frame = frame
        self._n_parts: int | None = None

    def sources(self) -> list[Source]:
        """The schema of the frame, which all partitions share."""
        types = require("pyspark.sql.pandas.types", "spark")
        schema = types.to_arrow_schema(self._frame.schema)
        if self._n_parts is None:
            self._n_parts = int(self._frame.rdd.getNumPartitions())
        return [Source("the Spark DataFrame", schema)] * max(1, self._n_parts)

    def scan(self, task: Task, watch: Watch) -> Parts:
        """One pass; many results are added up on the executors first."""
        watch(0, len(self.sources()))
        columns = [f"`{name}`" for name in dict.fromkeys(task.columns)]
        blobs = self._frame.select(*columns).mapInArrow(_runner(task), "parts binary")
        if (self._n_parts or 1) > FEW_RESULTS:
            fewer = max(1, round((self._n_parts or 1) ** 0.5))
            blobs = blobs.repartition(fewer).mapInArrow(_merger(task), "parts binary")
        total = task.run(iter(()), -1)
        for row in blobs.toLocalIterator():
            total = task.merge(total, from_bytes(bytes(row["parts"])))
        watch(len(self.sources()), len(self.sources()))
        return total


Batches = Iterator[pa.RecordBatch]


def _runner(task: Task) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        context = require("pyspark", "spark").TaskContext.get()
        place = 0 if context is None else int(context.partitionId())
        tables = (pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)
        yield _blob(task.run(tables, place))

    return run


def _merger(task: Task) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        total: Parts | None = None
        for batch in batches:
            for blob in batch.column(0).to_pylist():
                parts = from_bytes(blob)
                total = parts if total is None else task.merge(total, parts)
        if total is not None:
            yield _blob(total)

    return run


def _blob(parts: Parts) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([to_bytes(parts)], pa.binary())], schema=BLOB)
