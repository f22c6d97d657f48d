"""Downloads from the UCI archive: in memory, and stored only when complete and genuine."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path, PurePosixPath

from opdt.datasets.source import DatasetSource
from opdt.errors import InputError
from opdt.optional import require

TIMEOUT_SECONDS = 30.0


def is_genuine(source: DatasetSource, content: bytes) -> bool:
    """Whether the content has the declared checksum, whatever its line ends."""
    unix = content.replace(b"\r\n", b"\n")
    variants = (content, unix, unix.replace(b"\n", b"\r\n"))
    return any(sha256(variant).hexdigest() == source.sha256 for variant in variants)


def download(source: DatasetSource, *, progress: bool | None = None) -> bytes:
    """Return the genuine raw file from the first address that serves it.

    Raises
    ------
    InputError
        If no address does; the sentence names what went wrong with each.
    """
    problems = []
    for url in source.urls:
        content, problem = _try(source, url, progress=progress)
        if content is not None:
            return content
        problems.append(f"{url} {problem}")
    reason = "; ".join(problems) or source.by_hand
    again = ", or connect to the internet and call opdt.datasets.fetch" if source.urls else ""
    raise InputError(
        f"dataset {source.name!r} could not be downloaded ({reason}): put {source.file!r} into a "
        "folder and pass it as 'folder' or name it in the environment variable OPDT_DATA"
        f"{again}."
    )


def store(path: Path, content: bytes) -> None:
    """Write a file in one step, so that a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".draft-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _try(source: DatasetSource, url: str, *, progress: bool | None) -> tuple[bytes | None, str]:
    """Return (content, "") or (None, what went wrong)."""
    requests = require("requests", "datasets", "opdt.datasets")
    try:
        content = _get(url, source.title, progress=progress)
        if url.endswith(".zip"):
            content = _member(content, source.file)
    except requests.HTTPError as error:
        return None, f"answered {error.response.status_code}"
    except requests.exceptions.ChunkedEncodingError:
        return None, "broke off half-way"
    except requests.Timeout:
        return None, f"did not answer within {TIMEOUT_SECONDS:.0f} seconds"
    except requests.RequestException:
        return None, "could not be reached"
    except zipfile.BadZipFile:
        return None, "served a damaged zip file"
    except KeyError:
        return None, "served a zip file without it"
    if not is_genuine(source, content):
        return None, "served a file with a wrong checksum"
    return content, ""


def _get(url: str, title: str, *, progress: bool | None) -> bytes:
    """Return what the address serves, with a progress bar on a terminal or on request."""
    pooch = require("pooch", "datasets", "opdt.datasets")
    show = sys.stderr.isatty() if progress is None else progress
    bar = Bar(title) if show else None
    buffer = io.BytesIO()
    try:
        pooch.HTTPDownloader(progressbar=bar or False, timeout=TIMEOUT_SECONDS)(url, buffer, None)
    finally:
        if bar is not None:
            bar.close()
    return buffer.getvalue()


def _member(archive: bytes, file: str) -> bytes:
    """Return the file of that name from a zip, in whichever of its folders it lies."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        for name in opened.namelist():
            if PurePosixPath(name).name == file:
                return opened.read(name)
    raise KeyError(file)


class Bar:
    """A rich progress bar with the four names that pooch calls."""

    def __init__(self, title: str) -> None:
        from rich import progress
        from rich.console import Console

        self._progress = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.DownloadColumn(),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._progress.add_task(title, total=None)
        self._progress.start()

    @property
    def total(self) -> float | None:
        """Size of the file in bytes; None while it is unknown."""
        return self._progress.tasks[0].total

    @total.setter
    def total(self, n_bytes: int) -> None:
        self._progress.update(self._task, total=n_bytes or None)

    @property
    def done(self) -> float:
        """Bytes counted so far."""
        return self._progress.tasks[0].completed

    def update(self, n_bytes: int) -> None:
        """Count further bytes."""
        self._progress.advance(self._task, n_bytes)

    def reset(self) -> None:
        """Count from zero again; pooch does so to end on exactly the total."""
        self._progress.reset(self._task, total=self.total)

    def close(self) -> None:
        """Stop drawing."""
        self._progress.stop()
