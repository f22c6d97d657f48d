"""Every exception and warning of the library.

::

    OpdtError
    ├── InputError          (ValueError)    what the user gave cannot be used
    ├── UnsupportedProblem  (ValueError)    a valid problem that the chosen engine cannot solve
    ├── EngineUnavailable   (ImportError)   the engine's package is not installed
    ├── MemoryLimit         (MemoryError)   what is asked needs more memory than there is
    └── EngineFailure       (RuntimeError)  an engine broke its promise; always a bug, never silence
    OpdtWarning             (UserWarning)   worth knowing, and safe to silence

Reaching a time, node or memory limit is not an error: it is a `Solution` that says so. What could
not even begin within the memory is one, before any of it is taken.
"""

from __future__ import annotations

LONGEST = 400  # characters of a message; a frame or an array would fill the screen


class OpdtError(Exception):
    """Base of everything the library raises on purpose; its message is one line."""

    def __init__(self, message: object = "", *more: object) -> None:
        super().__init__(_one_line(str(message)), *more)


class InputError(OpdtError, ValueError):
    """What the user gave cannot be used; the message names it and the cure."""


class UnsupportedProblem(OpdtError, ValueError):
    """The problem is valid, but not for this engine; the message gives the reason."""


class EngineUnavailable(OpdtError, ImportError):
    """The engine needs a package that is not installed; the message names the extra."""


class MemoryLimit(OpdtError, MemoryError):
    """Work that does not fit into memory; the message says how much it needs and what would fit."""


class EngineFailure(OpdtError, RuntimeError):
    """An engine's answer does not survive the audit on the data."""


class OpdtWarning(UserWarning):
    """Something about the data worth knowing; silence it with `warnings.filterwarnings`."""


class ColumnWarning(OpdtWarning):
    """A column is not used, or some of its cells hold nothing that fits; its plan says the same."""


def _one_line(message: str) -> str:
    """The message without line breaks, and without the middle where a value in it is long."""
    if "\n" in message:
        message = " ".join(message.split())
    if len(message) <= LONGEST:
        return message
    return f"{message[: LONGEST - 120].rstrip()} … {message[-100:].lstrip()}"


def first_line(error: BaseException) -> str:
    """What an exception of another library says, without the lines that follow, or its name."""
    lines = str(error).strip().split("\n")
    return lines[0].strip().rstrip(".:") or type(error).__name__
