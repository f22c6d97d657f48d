"""Where files lie: on this machine, or at an address such as s3://bucket/claims.csv.

Addresses are opened by fsspec, whose packages for each service are optional.
"""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, cast

from opdt.errors import EngineUnavailable, InputError, first_line
from opdt.optional import require

# At least two letters: C:// would be a drive of Windows.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(?:::|://)")
_SECRET = re.compile(r"://[^/@]*@")


def is_remote(path: str) -> bool:
    """Whether a path is an address that fsspec opens rather than a file of this machine."""
    return "://" in path and _ADDRESS.match(path) is not None and not os.path.exists(path)


def shown(path: str | PathLike[str]) -> str:
    """A path as messages quote it, without the password that an address may hold."""
    return repr(_SECRET.sub("://…@", os.fspath(path)))


def ending_of(path: str) -> str:
    """What a file's name ends in, in small letters, without what an address asks for after '?'."""
    name = path.partition("?")[0] if is_remote(path) else path
    return os.path.splitext(name)[1].lower()


def file_system(path: str) -> tuple[Any, str]:
    """The file system of fsspec for an address, and the path within it."""
    fsspec = require("fsspec", "remote", f"reading {shown(path)}")
    try:
        return cast("tuple[Any, str]", fsspec.core.url_to_fs(path))
    except ImportError as error:
        service = path.partition(":")[0]
        raise EngineUnavailable(
            f"reading {shown(path)} needs a package for {service}: {first_line(error)}; "
            f"run: pip install 'fsspec[{service}]'"
        ) from error
    except (ValueError, OSError) as error:
        raise InputError(f"cannot open {shown(path)}: {first_line(error)}.") from error


def open_binary(path: str) -> BinaryIO:
    """The bytes of a file, wherever it lies."""
    if not is_remote(path):
        return Path(path).open("rb")
    files, inner = file_system(path)
    try:
        return cast(BinaryIO, files.open(inner, "rb"))
    except FileNotFoundError:
        raise _absent(path) from None
    except Exception as error:  # each service has its own errors
        raise InputError(f"cannot open {shown(path)}: {first_line(error)}.") from error


def check_there(path: str) -> None:
    """Refuse a path at which there is no file."""
    if not is_remote(path):
        if not os.path.isfile(path):
            raise _absent(path)
        return
    open_binary(path).close()


def size_of(path: str) -> int | None:
    """The bytes of a file; None where its service does not say."""
    if not is_remote(path):
        return os.path.getsize(path)
    files, inner = file_system(path)
    try:
        size = files.size(inner)
    except Exception:  # each service has its own errors
        return None
    return None if size is None else int(size)


def _absent(path: str) -> InputError:
    return InputError(f"there is no file {shown(path)}.")
