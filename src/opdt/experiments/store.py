"""Finished cells on disk, one line each, so that a run that is killed loses nothing it had."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

from opdt.errors import InputError
from opdt.experiments.cell import Cell, Record

FILE = "cells.jsonl"
FORMAT = 1
_HEADER = {"opdt_cells": FORMAT}


class CellOutcome(NamedTuple):
    """What became of a cell: its record, or the sentence that says why there is none.

    `seconds` is the wall time of the whole measurement, with reading and preparing the data.
    """

    record: Record | None
    failure: str
    seconds: float


class ResultStore:
    """The file `cells.jsonl` of a folder: a header, then one JSON line per finished cell.

    Lines are only ever appended, each forced to the disk before the next cell counts. The last
    line of a killed run may be torn; it is left out when reading and cut off before appending. A
    cell may stand in the file several times: a record wins over a failure, a later line over an
    earlier one. While it is open for appending no other process can open it so.

    Parameters
    ----------
    folder : Path
        Made if it does not exist, when the store is opened for appending.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._file: BinaryIO | None = None

    def read(self) -> dict[str, CellOutcome]:
        """What is in the file, by the key of the cell; nothing where there is no file."""
        if not self.path.exists():
            return {}
        lines = self._whole(self.path.read_bytes()).splitlines()
        if not lines:
            return {}
        self._check_header(lines[0])
        found: dict[str, CellOutcome] = {}
        for number, line in enumerate(lines[1:], 2):
            key, outcome = self._parse(line, number)
            if outcome.record is not None or key not in found or found[key].record is None:
                found[key] = outcome
        return found

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab+")
        try:
            _lock(self._file, self.path)
            self._repair(self._file)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _repair(self, file: BinaryIO) -> None:
        """Cut off a torn last line, and write the header where there is none."""
        file.seek(0)
        content = file.read()
        whole = self._whole(content)
        if whole or not _as_line(_HEADER).startswith(content):
            self._check_header(content.partition(b"\n")[0])
        file.truncate(len(whole))
        if not whole:
            self._write(_HEADER)

    def append(self, cell: Cell, outcome: CellOutcome) -> None:
        """Write one finished cell, on the disk when this returns."""
        line: dict[str, Any] = {"kind": cell.kind, "parameters": dict(cell.parameters)}
        if outcome.record is None:
            line["failure"] = outcome.failure
        else:
            line["record"] = outcome.record
        line["seconds"] = round(outcome.seconds, 6)
        self._write(line)

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._file is None:
            raise RuntimeError("the store is not open")
        self._file.write(_as_line(line))
        self._file.flush()
        os.fsync(self._file.fileno())

    @staticmethod
    def _whole(content: bytes) -> bytes:
        """The content up to the end of its last whole line."""
        return content[: content.rfind(b"\n") + 1]

    def _check_header(self, line: bytes) -> None:
        try:
            version = json.loads(line)["opdt_cells"]
        except (ValueError, TypeError, KeyError):
            raise InputError(
                f"{str(self.path)!r} is not a file of measured cells; choose another folder."
            ) from None
        if version != FORMAT:
            raise InputError(
                f"{str(self.path)!r} has version {version!r} of its format, this opdt reads "
                f"version {FORMAT}; choose another folder."
            )

    def _parse(self, line: bytes, number: int) -> tuple[str, CellOutcome]:
        try:
            data = json.loads(line)
            cell = Cell(data["kind"], tuple(sorted(data["parameters"].items())))
            failure = "" if "record" in data else str(data["failure"])
            return cell.key, CellOutcome(data.get("record"), failure, float(data["seconds"]))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(
                f"line {number} of {str(self.path)!r} is damaged; remove the line and run again."
            ) from None


def _as_line(line: Mapping[str, Any]) -> bytes:
    text = json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode() + b"\n"


def _lock(file: BinaryIO, path: Path) -> None:
    """Keep other processes from appending; the system lets go when this one ends, however."""
    try:
        import fcntl
    except ImportError:  # Windows, where two runs into one folder are for the user to avoid
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            f"another run is writing to {str(path.parent)!r}; wait for it or choose another folder."
        ) from None
