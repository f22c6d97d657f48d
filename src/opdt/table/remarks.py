"""Warnings of what a plan says, for those who do not look at it: in memory and in pieces alike."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from opdt.errors import ColumnWarning
from opdt.table.roles import ASKED, Plan, Role


def remark(plan: Plan) -> None:
    """Warn of columns that are not used, though nobody said so, and of cells that are no values."""
    constant = [c.name for c in plan if c.role is Role.CONSTANT]
    left_out = [c for c in plan.not_used if c.role is not Role.CONSTANT and c.why != ASKED]
    found = []
    if constant:
        found.append(f"constant columns, which no condition can use: {_listed(constant)}.")
    if left_out:
        words = [f"{c.name!r} ({c.role}: {c.why})" for c in left_out]
        shown = ", ".join(words[:5]) + (", …" if len(words) > 5 else "")
        found.append(f"columns that are not used: {shown}; 'roles' gives them another role.")
    found += [f"column {c.name!r}: {c.unread}." for c in plan if c.unread is not None]
    for sentence in found:
        warnings.warn(sentence, ColumnWarning, _outside())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")


def _outside() -> int:
    """Return the stack level, for `remark`, of the first caller that is not of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("opdt."):
        level, frame = level + 1, frame.f_back
    return level
