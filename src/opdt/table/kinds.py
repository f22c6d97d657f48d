"""What a column is: an ordered quantity or a set of levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum

from opdt.errors import InputError


class Kind(StrEnum):
    """How a feature may be tested: by thresholds (numeric) or by levels (categorical)."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"


def unknown_column(name: object, names: Sequence[str]) -> InputError:
    """Return the error for a column that is not there, with the closest names that are."""
    close = get_close_matches(str(name), names, n=3)
    if close:
        hint = "did you mean " + " or ".join(repr(c) for c in close) + "?"
    else:
        shown = ", ".join(repr(n) for n in names[:8]) + (", …" if len(names) > 8 else "")
        hint = f"the columns are {shown}." if names else "X has no columns."
    return InputError(f"there is no column {name!r} in X; {hint}")


def check_kinds(kinds: Mapping[str, str] | None, names: Sequence[str]) -> dict[str, Kind]:
    """Return the per-column overrides as `Kind` values, refusing unknown names and kinds."""
    chosen: dict[str, Kind] = {}
    if kinds is not None and not isinstance(kinds, Mapping):
        raise InputError(
            f"'kinds' must map columns to 'numeric' or 'categorical', got {type(kinds).__name__}; "
            "write {'zip': 'categorical'}."
        )
    for name, kind in (kinds or {}).items():
        if name not in names:
            raise unknown_column(name, names)
        try:
            chosen[name] = Kind(kind)
        except ValueError:
            raise InputError(
                f"kinds[{name!r}] must be 'numeric' or 'categorical', got {kind!r}."
            ) from None
    return chosen
