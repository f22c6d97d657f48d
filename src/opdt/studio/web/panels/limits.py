"""The limits on the rule, and whether it meets them on training and held-out rows."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from opdt.studio.limits import LimitCheck
from opdt.studio.outcome import RuleOutcome
from opdt.studio.web.panels.view import View
from opdt.studio.web.theme import COMPONENTS, short


class LimitsView(View, component=COMPONENTS / "studio_limits.js"):
    """One line for each limit, and one for each segment where it has segments."""


def limits_state(outcome: RuleOutcome | None) -> dict[str, Any]:
    """What a `LimitsView` shows."""
    if outcome is None or outcome.seen is None:
        return {"limits": []}
    held = () if outcome.unseen is None else outcome.unseen.limits
    return {
        "limits": [_limit(seen, new) for seen, new in zip_longest(outcome.seen.limits, held)],
        "held": bool(held),
    }


def _limit(seen: LimitCheck, new: LimitCheck | None) -> dict[str, Any]:
    state: dict[str, Any] = {"says": short(seen.says), "train": _part(seen), "held": None}
    elsewhere = {} if new is None else {line.name: line for line in new.lines}
    if new is not None:
        state["held"] = _part(new)
    state["lines"] = [
        {
            "name": short(line.name, 60),
            "train": line.numbers,
            "held": elsewhere[line.name].numbers if line.name in elsewhere else "",
        }
        for line in seen.lines
    ]
    state["more"] = f"and {seen.more:,} more" if seen.more else ""
    return state


def _part(check: LimitCheck) -> dict[str, Any]:
    word = {True: "met", False: "not met", None: ""}[check.met]
    return {"numbers": check.numbers, "met": check.met, "word": word}
