"""Files that a command is going to write, checked before the work starts."""

from __future__ import annotations

import os
from pathlib import Path

from opdt.errors import InputError
from opdt.table.read import split_inside


def check_output(option: str, out: Path, data: str) -> None:
    """Refuse an output that is the input, a folder, or in a folder that does not exist."""
    source, _ = split_inside(data)
    if out.exists() and os.path.exists(source) and out.samefile(source):
        raise InputError(f"'{option}' {str(out)!r} is the input; name another file.")
    if out.is_dir():
        raise InputError(f"'{option}' {str(out)!r} is a folder; name a file.")
    if not out.parent.is_dir():
        raise InputError(f"'{option}' {str(out)!r} is in a folder that does not exist; make it.")
