"""The one interface between the algorithm and wherever the rows live."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

# What a pass returns: sums (arrays) and the few rows that were asked for (Arrow tables).
Parts = dict[str, Any]
# Told after each partition: how many are done, and how many there are.
Watch = Callable[[int, int], None]


class PartitionSource(NamedTuple):
    """A file or partition as an error names it, and its schema."""

    name: str
    schema: pa.Schema


class ScanTask(ABC):
    """One pass: what to do with a partition, and how to add two results.

    A task travels to where the rows are, so it holds plain values and arrays only. Merging is
    exact, and its order does not matter.
    """

    columns: tuple[str, ...]

    @abstractmethod
    def run(self, batches: Iterable[pa.Table], place: int) -> Parts:
        """The result of one partition, given as Arrow tables; `place` is its number."""

    @abstractmethod
    def merge(self, one: Parts, two: Parts) -> Parts:
        """The result of two partitions together; may reuse the arrays of the first."""


class Scanner(ABC):
    """Applies a task to every partition and adds up what it returns.

    Attributes
    ----------
    bytes_moved : int
        Bytes sent so far between this process and the workers: tasks there, results back; 0 where
        there are no workers.
    classes : tuple of str
        Classes of the target that are known before a row is read, whether or not some row has
        them.
    """

    bytes_moved: int = 0
    classes: tuple[str, ...] = ()

    def prepare(self, watch: Watch) -> None:  # noqa: B027 - most have nothing to find out
        """Find out what `sources` needs, where that takes a pass; `watch` as for `scan`."""

    @abstractmethod
    def sources(self) -> list[PartitionSource]:
        """Where the rows come from; cheap once `prepare` has been called."""

    @abstractmethod
    def scan(self, task: ScanTask, watch: Watch) -> Parts:
        """One pass over all partitions.

        `watch` is called in the calling thread from time to time; what it raises ends the pass.
        """

    @property
    def bytes_read(self) -> int:
        """Bytes of the columns read so far; 0 where it is not known."""
        return 0

    def line_of(
        self, place: int, row: int, column: str, cell: str
    ) -> tuple[int | None, str] | None:
        """The line and the file of a cell, by partition and row in it; None where there is none.

        The line is None where it is not known, though there is a file.
        """
        return None

    def known_rows(self) -> int | None:
        """The number of rows, where it is known without reading them."""
        return None


def to_bytes(parts: Parts) -> bytes:
    """A result as bytes, compressed: counts are mostly small, and their bytes mostly zero."""
    data = _written(parts)
    return len(data).to_bytes(8, "little") + bytes(pa.compress(data, "zstd"))


def from_bytes(data: bytes) -> Parts:
    """The result that `to_bytes` wrote, in arrays that may be written to."""
    size = int.from_bytes(data[:8], "little")
    return dict(_read_parts(bytes(pa.decompress(data[8:], size, "zstd"))))


def _written(parts: Parts) -> bytes:
    out = io.BytesIO()
    for name, part in parts.items():
        body = io.BytesIO()
        if isinstance(part, pa.Table):
            with pa.ipc.new_stream(body, part.schema) as writer:
                writer.write_table(part)
        else:
            np.save(body, part, allow_pickle=False)
        kind = b"T" if isinstance(part, pa.Table) else b"A"
        head = kind + name.encode()
        out.write(np.array([len(head), body.tell()], np.int64).tobytes())
        out.write(head + body.getvalue())
    return out.getvalue()


def _read_parts(data: bytes) -> Iterator[tuple[str, Any]]:
    at = 0
    while at < len(data):
        n_head, n_body = np.frombuffer(data, np.int64, 2, at).tolist()
        head = data[at + 16 : at + 16 + n_head]
        body = data[at + 16 + n_head : at + 16 + n_head + n_body]
        at += 16 + n_head + n_body
        if head[:1] == b"T":
            yield head[1:].decode(), pa.ipc.open_stream(body).read_all()
        else:
            yield head[1:].decode(), np.load(io.BytesIO(body), allow_pickle=False)
