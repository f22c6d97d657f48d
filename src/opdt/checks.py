"""Checks of arguments: each returns what is meant, or says in one sentence what was expected.

`name` is that of the argument; a phrase that has its own quotes, such as "'rules' of the file", is
taken as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeGuard, TypeVar

from opdt.errors import InputError

Kind = TypeVar("Kind")


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number; truth values are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number other than NaN, infinities included; truth values are none."""
    return isinstance(value, Real) and not isinstance(value, bool) and value == value


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number."""
    # A whole number may lie beyond all floats, and is finite.
    return is_whole(value) or (is_number(value) and math.isfinite(value))


def check_int(name: str, value: Any, least: int = 1, *, most: int | None = None) -> int:
    """A whole number of at least `least`, and of at most `most`."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        wanted = f"an int >= {least}" if most is None else f"an int from {least} to {most}"
        raise InputError(f"{quoted(name)} must be {wanted}, got {value!r}.")
    return int(value)


def check_int_or_none(name: str, value: Any, least: int = 1) -> int | None:
    """The same, or None."""
    if value is not None and (not is_whole(value) or value < least):
        raise InputError(f"{quoted(name)} must be an int >= {least} or None, got {value!r}.")
    return None if value is None else int(value)


def check_number(name: str, value: Any, wanted: str, fits: Callable[[Any], bool]) -> Any:
    """A number that fits, as it was given; `wanted` says in words what does."""
    if not is_number(value) or not fits(value):
        raise InputError(f"{quoted(name)} must be {wanted}, got {value!r}.")
    return value


def check_share(name: str, value: Any) -> float:
    """A number between 0 and 1, both excluded."""
    return float(check_number(name, value, "a number between 0 and 1", lambda x: 0 < x < 1))


def check_share_or_end(name: str, value: Any) -> float:
    """A number from 0 to 1, both included."""
    return float(check_number(name, value, "a number from 0 to 1", lambda x: 0 <= x <= 1))


def check_bool(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise InputError(f"{quoted(name)} must be True or False, got {value!r}.")
    return value


def check_choice(name: str, value: Any, allowed: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        *others, last = map(repr, allowed)
        words = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"{quoted(name)} must be {words}, got {value!r}.")
    return value


def check_kind(name: str, value: Any, kind: type[Kind], wanted: str, cure: str = "") -> Kind:
    """An object of a class; `wanted` says in words of which, and `cure` what to do."""
    if not isinstance(value, kind):
        said = f"; {cure}" if cure else ""
        raise InputError(f"{quoted(name)} must be {wanted}, got {type(value).__name__}{said}.")
    return value


def check_text(name: str, value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise InputError(f"{quoted(name)} must be a text, got {value!r}.")
    return value


def check_list(name: str, value: Any, wanted: str = "a list") -> list[Any]:
    """What a list or another series of values holds; a text or a mapping is none."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{quoted(name)} must be {wanted}, got {value!r}.")
    return list(value)


def quoted(name: str) -> str:
    """A name in quotes, unless it has its own."""
    return name if "'" in name else f"'{name}'"
