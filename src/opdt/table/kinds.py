"""What a column is: an ordered quantity or a set of levels."""

from __future__ import annotations

from collections.abc import Sequence
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
