"""Files, larger than the memory of this machine: Arrow batches, read by a few threads."""

from __future__ import annotations

import copy
import glob
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from opdt.errors import InputError, first_line
from opdt.machine import left
from opdt.scale.scanner import PartitionSource, Parts, Scanner, ScanTask, Watch
from opdt.scale.texts import TextPart, judge_all
from opdt.table.lines import line_of
from opdt.table.places import ending_of, file_system, is_remote, open_binary, shown, size_of
from opdt.table.raw import BadRows
from opdt.table.read import DATABASES, PARQUET, WORKBOOKS, split_inside
from opdt.table.textfile import text_ending

BATCH_ROWS = 1 << 17
FEWEST_ROWS = 1 << 13  # of a batch, where memory is short
# Bytes that a thread takes while it reads and counts: of each column whatever the batches are
# (its page, packed and unpacked, and its dictionary), and of each cell of a batch.
COLUMN_BYTES, CELL_BYTES = 2_000_000, 32
BUFFER = 1 << 18  # bytes of a column that are read at once
ROWS_PER_PART = 1 << 20  # row groups are read together up to so many rows
BEAT = 0.1  # seconds between two looks at the clock


@dataclass(frozen=True)
class _Part:
    """One file, or some row groups of it."""

    path: str
    fragment: Any  # a `TextPart`, or what pyarrow calls a fragment
    n_bytes: int
    groups: tuple[int, ...] = ()  # row groups of a Parquet file


class LocalScanner(Scanner):
    """Parquet and CSV files.

    The types of text columns are decided by all cells of all text files, in a pass of its own.

    Parameters
    ----------
    paths : str, path, or sequence of them
        Files, directories (all Parquet and CSV files below), patterns such as
        ``claims/*.parquet``, and addresses of them.
    threads : int
        How many partitions are read at the same time.
    memory : float, optional
        Bytes that the process should not exceed: fewer threads read smaller batches if need be.
    separator, encoding, decimal, date_order : str, optional
        How the text files are written, as for `read_frame`; found for each of them if left out.
    """

    def __init__(
        self,
        paths: Any,
        threads: int = 1,
        memory: float | None = None,
        **written: str | None,
    ) -> None:
        self.paths = find_files(paths)
        self._threads = max(1, threads)
        self._memory = memory
        self._written = written
        self._fragments: dict[str, Any] = {}
        self._bytes = 0

    def within(self, threads: int, memory: float | None) -> LocalScanner:
        """The same files, read with other limits."""
        other = copy.copy(self)
        other._threads, other._memory, other._bytes = max(1, threads), memory, 0
        return other

    def prepare(self, watch: Watch) -> None:
        """Find the types of text columns."""
        texts = [path for path in self.paths if not is_parquet(path)]
        if texts and texts[0] not in self._fragments:
            self._fragments |= judge_all(texts, self._written, self._threads, watch, _guarded)

    def sources(self) -> list[PartitionSource]:
        """The files and their schemas, in the footers of Parquet files."""
        self.prepare(_unwatched)
        return [
            PartitionSource(shown(path), _guarded(path, self._schema, path)) for path in self.paths
        ]

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

    def line_of(
        self, place: int, row: int, column: str, cell: str
    ) -> tuple[int | None, str] | None:
        """The line and the file of a cell of a text file."""
        part = self.parts([column])[place]
        if not isinstance(part.fragment, TextPart):
            return None
        return line_of(part.fragment.file, row, column, cell), shown(part.path)

    def parts(self, columns: Sequence[str]) -> list[_Part]:
        """Pieces of about a million rows, in the order of the files."""
        out: list[_Part] = []
        self.prepare(_unwatched)
        for path in self.paths:
            _guarded(path, self._schema, path)
            fragment = self._fragments[path]
            if not is_parquet(path):
                out.append(_Part(path, fragment, size_of(path) or 0))
                continue
            out.extend(_guarded(path, _row_groups, path, fragment, set(columns)))
        return out

    def scan(self, task: ScanTask, watch: Watch) -> Parts:
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
    """The files meant by paths, directories, patterns and addresses, in alphabetical order."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    out: list[str] = []
    for one in (os.fspath(path) for path in given):
        place, _ = split_inside(one)
        if ending_of(place) in (*WORKBOOKS, *DATABASES):
            raise InputError(
                f"{shown(place)} cannot be read in pieces, so no 'memory_limit' can be kept: "
                "workbooks and databases are read into memory only; leave the limit out, or write "
                "the table to a Parquet file."
            )
        found = _remote_files(one) if is_remote(one) else _local_files(one)
        if not found:
            raise InputError(f"there is no Parquet or CSV file at {shown(one)}.")
        for name in found:
            if not _is_table(name):
                raise InputError(
                    f"cannot tell what {shown(name)} holds; partitions end in .csv, .tsv, .txt "
                    "(also with .gz), .parquet or .pq."
                )
        out.extend(sorted(found))
    return tuple(dict.fromkeys(out))


def _local_files(one: str) -> list[str]:
    if os.path.isfile(one):
        return [one]
    if not os.path.isdir(one):
        return [path for path in glob.glob(one, recursive=True) if os.path.isfile(path)]

    def fail(error: OSError) -> None:
        reason = error.strerror or first_line(error)
        raise InputError(
            f"cannot look into the folder {str(error.filename)!r}: {reason}; allow it, or name "
            "files."
        ) from None

    paths = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(one, onerror=fail)
        for name in names
    ]
    return [path for path in paths if os.path.isfile(path) and _is_table(path)]


def _remote_files(one: str) -> list[str]:
    files, inner = file_system(one)
    try:
        if "*" in inner:
            found = files.glob(inner)
        elif one.endswith("/") or (not _is_table(one) and files.isdir(inner)):
            found = [path for path in files.find(inner) if _is_table(path)]
        else:
            return [one]
    except Exception as error:  # each service has its own errors
        raise InputError(f"cannot list {shown(one)}: {first_line(error)}.") from error
    return [files.unstrip_protocol(path) for path in found]


def is_parquet(path: str) -> bool:
    """Whether a file is one of Parquet, by its name."""
    return ending_of(path) in PARQUET


def _is_table(path: str) -> bool:
    return is_parquet(path) or text_ending(path) is not None


def open_fragment(path: str, groups: Sequence[int] = ()) -> Any:
    """A Parquet file, or some row groups of it, for pyarrow to read."""
    if is_remote(path):
        files, inner = file_system(path)
        dataset = ds.dataset(inner, format="parquet", filesystem=files)
    else:
        dataset = ds.dataset(path, format="parquet")
    fragment = next(dataset.get_fragments())
    return fragment.subset(row_group_ids=list(groups)) if groups else fragment


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


def _run(task: ScanTask, place: int, part: _Part, rows: int, stop: threading.Event) -> Parts:
    try:
        return task.run(_batches(part, task.columns, rows, stop), place)
    except BadRows as error:
        text = isinstance(part.fragment, TextPart)
        line = line_of(part.fragment.file, error.row) if text else None
        path = shown(part.path)
        if line is None:
            raise InputError(f"{path}: {error}") from None
        raise error.in_file(line, path) from None
    except InputError as error:
        named = part.path in str(error)
        raise error if named else InputError(f"{shown(part.path)}: {error}") from error


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
    if isinstance(part.fragment, TextPart):
        return part.fragment.batches(columns, rows)
    schema = part.fragment.physical_schema
    coded = [name for name in columns if _is_text(schema.field(name).type)]
    place = open_binary(part.path) if is_remote(part.path) else part.path
    file = pq.ParquetFile(
        place, metadata=part.fragment.metadata, read_dictionary=coded, buffer_size=BUFFER,
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
        raise InputError(f"cannot read {shown(path)}: {first_line(error)}.") from error


def _unwatched(done: int, parts: int) -> None:
    """No limit and nobody to tell."""
