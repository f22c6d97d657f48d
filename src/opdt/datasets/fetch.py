"""Where raw files come from: a folder, OPDT_DATA, the cache, or the UCI archive."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from opdt.datasets.download import download, is_genuine, store
from opdt.datasets.registry import SOURCES, find
from opdt.datasets.source import DatasetSource
from opdt.errors import InputError, OpdtWarning
from opdt.optional import require

ENVIRONMENT = "OPDT_DATA"


@dataclass(frozen=True)
class DatasetInfo:
    """One line of the list of datasets.

    Attributes
    ----------
    name, title : str
        Name in code, and name in the paper's dataset table.
    state : str
        "in the folder", "in OPDT_DATA", "in the cache", "not fetched" or "to be supplied".
    path : Path or None
        The raw file, where there is one.
    about, licence : str
        What a row is, and the terms of the raw file.
    """

    name: str
    title: str
    state: str
    path: Path | None
    about: str
    licence: str


def available(*, folder: str | Path | None = None) -> list[DatasetInfo]:
    """Return the fifteen datasets with their state; nothing is downloaded."""
    return [_info(source, folder) for source in SOURCES.values()]


def fetch(name: str, *, progress: bool | None = None) -> Path:
    """Return the path of a raw file in the cache, downloading it if it is not there.

    Parameters
    ----------
    name : str
        One of `opdt.datasets.names()`.
    progress : bool, optional
        Show a progress bar on the standard error stream; by default only on a terminal.

    Raises
    ------
    InputError
        If the download fails or its checksum is wrong; the cache is then left as it was.
    """
    source = find(name)
    path = _cached(source)
    if not (path.is_file() and is_genuine(source, path.read_bytes())):
        store(path, download(source, progress=progress))
    return path


def raw_bytes(source: DatasetSource, folder: str | Path | None) -> bytes:
    """Return the content of a raw file from the first place that has it."""
    for _, path in _supplied(source, folder):
        content = path.read_bytes()
        if not is_genuine(source, content):
            warnings.warn(
                f"{path} differs from the file of the archive that gives the paper's counts; "
                "results may differ too.",
                OpdtWarning,
                stacklevel=3,
            )
        return content
    return fetch(source.name).read_bytes()


def _supplied(source: DatasetSource, folder: str | Path | None) -> Iterator[tuple[str, Path]]:
    """Yield (state, path) of the raw file in the folders that the user has named."""
    named = (
        ("'folder'", "in the folder", folder),
        (f"environment variable {ENVIRONMENT}", f"in {ENVIRONMENT}", os.environ.get(ENVIRONMENT)),
    )
    for owner, state, root in named:
        if not root:
            continue
        root = Path(root).expanduser()
        if not root.is_dir():
            raise InputError(f"{owner} must name an existing folder, got {str(root)!r}.")
        for path in (root / source.name / source.file, root / source.file):
            if path.is_file():
                yield state, path


def _cached(source: DatasetSource) -> Path:
    """Return where the cache keeps the raw file; it need not exist."""
    pooch = require("pooch", "datasets", "opdt.datasets")
    return Path(pooch.os_cache("opdt")) / source.name / source.file


def _info(source: DatasetSource, folder: str | Path | None) -> DatasetInfo:
    for state, path in _places(source, folder):
        return DatasetInfo(source.name, source.title, state, path, source.about, source.licence)
    state = "not fetched" if source.urls else "to be supplied"
    return DatasetInfo(source.name, source.title, state, None, source.about, source.licence)


def _places(source: DatasetSource, folder: str | Path | None) -> Iterator[tuple[str, Path]]:
    """Yield (state, path) of every copy of the raw file on this computer."""
    yield from _supplied(source, folder)
    if find_spec("pooch") is not None and _cached(source).is_file():
        yield "in the cache", _cached(source)
