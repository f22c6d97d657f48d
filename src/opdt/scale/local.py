"""Files on this machine, larger than its memory: Arrow batches, read by a few threads."""

from __future__ import annotations

import glob
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as text
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from opdt.errors import InputError, first_line
from opdt.machine import left
from opdt.scale.scanner import Parts, Scanner, Source, Task, Watch
from opdt.table.read import PARQUET, arrow_options
from opdt.table.textfile import UTF8, examine, text_ending

BATCH_ROWS = 1 << 17
FEWEST_ROWS = 1 << 13  # of a batch, where memory is short
# Bytes that a thread takes while it reads and counts: of each column whatever the batches are
# (its page, packed and unpacked, and its dictionary), and of each cell of a batch.
COLUMN_BYTES, CELL_BYTES = 2_000_000, 32
BUFFER = 1 << 18  # bytes of a column that are read at once
ROWS_PER_PART = 1 << 20  # row groups are read together up to so many rows
BEAT = 0.1  # seconds between two looks at the clock
CSV_BLOCK = 1 << 24  # bytes of a text file from which the types of its columns are told


@dataclass(frozen=True)
class _Part:
    """One file, or some row groups of it."""

    path: str
    fragment: Any
    n_bytes: int
    groups: tuple[int, ...] = ()  # row groups of a Parquet file


class LocalScanner(Scanner):
    """Parquet and CSV files.

    Parameters
    ----------
    paths : str, path, or sequence of them
        Files, directories (all Parquet and CSV files below) and patterns such as
        ``claims/*.parquet``.
    threads : int
        How many partitions are read at the same time.
    memory : float, optional
        Bytes that the process should not exceed: fewer threads read smaller batches if need be.
    """

    def __init__(self, paths: Any, threads: int = 1, memory: float | None = None) -> None:
        self.paths = find_files(paths)
        self._threads = max(1, threads)
        self._memory = memory
        self._fragments: dict[str, Any] = {}
        self._bytes = 0

    def sources(self) -> list[Source]:
        """The files and the schemas in their footers or first rows."""
        return [Source(repr(path), _guarded(path, self._schema, path)) for path in self.paths]

    def _schema(self, path: str) -> pa.Schema:
        if path not in self._fragments:
            self._fragments[path] = open_fragment(path)
        return self._fragments[path].physical_schema

    @property
    def bytes_read(self) -> int:
        """Bytes of the columns read so far, as they lie in the files."""
        return self._bytes

    def known_rows(self) -> int | None:
        """The number of rows in the footers of Parquet files; None where a file is none."""
        if not all(is_parquet(path) for path in self.paths):
            return None
        self.sources()
        return sum(int(self._fragments[path].count_rows()) for path in self.paths)

    def parts(self, columns: Sequence[str]) -> list[_Part]:
        """Pieces of about a million rows, in the order of the files."""
        out: list[_Part] = []
        for path in self.paths:
            _guarded(path, self._schema, path)
            fragment = self._fragments[path]
            if not is_parquet(path):
                out.append(_Part(path, fragment, os.path.getsize(path)))
                continue
            out.extend(_guarded(path, _row_groups, path, fragment, set(columns)))
        return out

    def scan(self, task: Task, watch: Watch) -> Parts:
        """Run the task on every piece; at most so many results as threads are held at once."""
        parts = self.parts(task.columns)
        threads, rows = self._pace(max(1, len(set(task.columns))))
        stop = threading.Event()
        result = task.run(iter(()), -1)
        done = 0
        with ThreadPoolExecutor(threads) as pool:
            queue = iter(enumerate(parts))
            running: set[Future[Parts]] = set()
            try:
                while True:
                    while len(running) < threads and (item := next(queue, None)):
                        running.add(pool.submit(_run, task, *item, rows, stop))
                    if not running:
                        break
                    ready, running = wait(running, BEAT, FIRST_COMPLETED)
                    for future in ready:
                        result = task.merge(result, future.result())
                        done += 1
                    watch(done, len(parts))
            finally:
                stop.set()
        self._bytes += sum(part.n_bytes for part in parts)
        return result

    def _pace(self, n_columns: int) -> tuple[int, int]:
        """How many threads read, and how many rows at a time, with a quarter of what is left."""
        if self._memory is None:
            return self._threads, BATCH_ROWS
        share = left(self._memory) // 4
        threads = max(1, min(self._threads, share // (n_columns * 2 * COLUMN_BYTES)))
        cells = (share // threads - n_columns * COLUMN_BYTES) // CELL_BYTES
        return threads, max(FEWEST_ROWS, min(BATCH_ROWS, cells // n_columns))


def find_files(paths: Any) -> tuple[str, ...]:
    """The files meant by paths, directories and patterns, in alphabetical order."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    out: list[str] = []
    for one in (os.fspath(path) for path in given):
        path = Path(one)
        if path.is_dir():
            found = [str(p) for p in path.rglob("*") if p.is_file() and _is_table(str(p))]
        elif path.is_file():
            found = [one]
        else:
            found = [p for p in glob.glob(one, recursive=True) if os.path.isfile(p)]
        if not found:
            raise InputError(f"there is no Parquet or CSV file at {one!r}.")
        for name in found:
            if not _is_table(name):
                raise InputError(
                    f"cannot tell what {name!r} holds; partitions end in .csv, .tsv, .txt (also "
                    "with .gz), .parquet or .pq."
                )
        out.extend(sorted(found))
    return tuple(dict.fromkeys(out))


def is_parquet(path: str) -> bool:
    """Whether a file is one of Parquet, by its name."""
    return path.lower().endswith(PARQUET)


def _is_table(path: str) -> bool:
    return is_parquet(path) or text_ending(Path(path)) is not None


def open_fragment(path: str, groups: Sequence[int] = ()) -> Any:
    """A file, or some row groups of it, for pyarrow to read."""
    fragment = next(_dataset(path).get_fragments())
    return fragment.subset(row_group_ids=list(groups)) if groups else fragment


def _dataset(path: str) -> Any:
    if is_parquet(path):
        return ds.dataset(path, format="parquet")
    file = examine(Path(path))
    # Arrow skips the mark of UTF-8 by itself, and decodes nothing that it need not decode.
    encoding = "utf8" if file.encoding == UTF8 else file.encoding
    form = ds.CsvFileFormat(
        read_options=text.ReadOptions(block_size=CSV_BLOCK, encoding=encoding),
        **arrow_options(file.separator, file.decimal),
    )
    return ds.dataset(path, format=form)


def _row_groups(path: str, fragment: Any, columns: set[str]) -> list[_Part]:
    """Neighbouring row groups, up to about a million rows together."""
    fragment.ensure_complete_metadata()
    out: list[_Part] = []
    chosen: list[int] = []
    rows = 0
    for group in fragment.row_groups:
        chosen.append(group.id)
        rows += group.num_rows
        if rows >= ROWS_PER_PART:
            out.append(_part_of(path, fragment, chosen, columns))
            chosen, rows = [], 0
    if chosen:
        out.append(_part_of(path, fragment, chosen, columns))
    return out


def _part_of(path: str, fragment: Any, chosen: list[int], columns: set[str]) -> _Part:
    footer = fragment.metadata
    n_bytes = 0
    for index in chosen:
        group = footer.row_group(index)
        for j in range(group.num_columns):
            column = group.column(j)
            if column.path_in_schema.partition(".")[0] in columns:
                n_bytes += column.total_compressed_size
    return _Part(path, fragment.subset(row_group_ids=list(chosen)), n_bytes, tuple(chosen))


def _run(task: Task, place: int, part: _Part, rows: int, stop: threading.Event) -> Parts:
    try:
        return task.run(_batches(part, task.columns, rows, stop), place)
    except InputError as error:
        named = part.path in str(error)
        raise error if named else InputError(f"{part.path!r}: {error}") from error


def _batches(
    part: _Part, columns: Sequence[str], rows: int, stop: threading.Event
) -> Iterator[pa.Table]:
    reader = _guarded(part.path, _open, part, list(columns), rows)
    while not stop.is_set():
        batch = _guarded(part.path, next, reader, None)
        if batch is None:
            return
        if batch.num_rows:
            yield pa.Table.from_batches([batch])


def _open(part: _Part, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches of a part.

    Parquet is read through small buffers, so that no row group is ever held as a whole, and text
    stays coded as it lies in the file.
    """
    if not is_parquet(part.path):
        batches: Iterator[pa.RecordBatch] = part.fragment.to_batches(
            columns=columns, batch_size=rows, batch_readahead=1, use_threads=False
        )
        return batches
    schema = part.fragment.physical_schema
    coded = [name for name in columns if _is_text(schema.field(name).type)]
    file = pq.ParquetFile(
        part.path, metadata=part.fragment.metadata, read_dictionary=coded, buffer_size=BUFFER,
        pre_buffer=False,
    )  # fmt: skip
    return iter(file.iter_batches(rows, row_groups=part.groups, columns=columns, use_threads=False))


def _is_text(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype))


def _guarded(path: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a reader; whatever it raises means that the file cannot be read."""
    try:
        return function(*arguments)
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, UnicodeError) as error:
        raise InputError(f"cannot read {path!r}: {first_line(error)}.") from error
