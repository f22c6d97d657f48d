"""Text files in pieces: the types of their columns, decided by all cells of all files."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from opdt.scale.scanner import Watch
from opdt.table import cells
from opdt.table.cells import Reading
from opdt.table.delimited import (
    batches,
    check_order,
    in_its_encoding,
    judge,
    warn_of_dates,
    warn_of_encoding,
)
from opdt.table.places import is_remote
from opdt.table.textfile import TextFile, examine

BEAT = 0.1  # seconds between two looks at the clock
Forms = Mapping[str, Reading]  # how each column is read
_Judged = tuple[TextFile, Forms]
_Marks = tuple[tuple[str, str | None], ...]  # arguments of `examine`
_MOST_KNOWN = 10_000
_known: dict[Any, _Judged] = {}


@dataclass(frozen=True)
class TextPart:
    """A text file, and how its columns are read; plain values, which can travel to a worker."""

    file: TextFile
    forms: Forms

    @property
    def physical_schema(self) -> pa.Schema:
        """The types of the columns."""
        return pa.schema([(name, cells.type_of(form)) for name, form in self.forms.items()])

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Some columns, at most so many rows at a time."""
        return batches(self.file, self.forms, columns, rows)


def judge_all(
    paths: Sequence[str],
    written: Mapping[str, str | None],
    threads: int,
    watch: Watch,
    guarded: Callable[..., Any],
) -> dict[str, TextPart]:
    """Every file with the ways in which the columns of all files together are read.

    Parameters
    ----------
    written : mapping
        Arguments of `read_frame`.
    guarded : callable
        Called with a path, a function and its arguments; turns what it raises into sentences.
    """
    marks = {name: value for name, value in written.items() if name != "date_order"}
    order = written.get("date_order")
    check_order(order)
    stop = threading.Event()

    def work(path: str) -> _Judged:
        return _of_file(path, tuple(marks.items()), stop)

    found: dict[str, _Judged] = {}
    with ThreadPoolExecutor(max(1, threads)) as pool:
        waiting: dict[Future[_Judged], str] = {
            pool.submit(guarded, path, work, path): path for path in paths
        }
        try:
            while waiting:
                ready, _ = wait(waiting, BEAT, FIRST_COMPLETED)
                for future in ready:
                    found[waiting.pop(future)] = future.result()
                watch(len(found), len(paths))
        finally:
            stop.set()
            for future in waiting:
                future.cancel()
    return _together(paths, found, order)


def _together(
    paths: Sequence[str], found: Mapping[str, _Judged], order: str | None
) -> dict[str, TextPart]:
    shared: dict[str, Reading] = {}
    for path in paths:
        file, readings = found[path]
        warn_of_encoding(file)
        for name, one in readings.items():
            shared[name] = shared.get(name, cells.ANY) & one
    for path in paths[:1]:
        warn_of_dates(path, shared, order)
    forms = {name: cells.settled(one, order) for name, one in shared.items()}
    return {
        path: TextPart(file, {name: forms[name] for name in readings})
        for path, (file, readings) in found.items()
    }


def _of_file(path: str, marks: _Marks, stop: threading.Event) -> _Judged:
    """The file in its encoding and its readings; a file that has not changed is not read again."""
    if is_remote(path):
        return _judged(path, marks, stop)
    state = os.stat(path)
    key = (os.path.abspath(path), path, state.st_size, state.st_mtime_ns, marks)
    if key not in _known:
        _known[key] = _judged(path, marks, stop)
        while len(_known) > _MOST_KNOWN:
            _known.pop(next(iter(_known)), None)
    return _known[key]


def _judged(path: str, marks: _Marks, stop: threading.Event) -> _Judged:
    def going() -> bool:
        return not stop.is_set()

    file = examine(path, **dict(marks))
    return in_its_encoding(file, lambda file: judge(file, going))
