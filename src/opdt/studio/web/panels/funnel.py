"""The rows that are left after each condition of the rule."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from opdt.report.formats import format_share
from opdt.rules.counting import Stage
from opdt.rules.export.prose import condition_in_words
from opdt.studio.outcome import Measured, RuleOutcome
from opdt.studio.web.panels.view import View
from opdt.studio.web.theme import COMPONENTS, short


class FunnelView(View, component=COMPONENTS / "studio_funnel.js"):
    """Bars of the rows, condition by condition."""


def funnel_state(outcome: RuleOutcome | None) -> dict[str, Any]:
    """What a `FunnelView` shows."""
    if outcome is None or outcome.seen is None:
        return {"stages": []}
    if not outcome.funnel:
        return _worths(outcome.seen, outcome.unseen, outcome.words.name)
    held = outcome.funnel_held_out
    stages = [
        _stage(seen, unseen) for seen, unseen in zip_longest(outcome.funnel, held, fillvalue=None)
    ]
    rule = outcome.rule
    return {
        "stages": stages,
        "all": outcome.funnel[0].covered,
        "held": bool(held),
        "label": "" if rule is None else short(str(rule.label), 24),
    }


def _worths(seen: Measured, unseen: Measured | None, name: str) -> dict[str, Any]:
    """The rows that each condition leaves, and what they are worth."""
    new = () if unseen is None else unseen.stages
    stages = []
    for (condition, rows, worth), other in zip_longest(seen.stages, new):
        stage = {
            "condition": "all rows" if condition is None else short(condition_in_words(condition)),
            "correct": rows,
            "errors": 0,
            "rows": f"{rows:,}",
            "share": worth,
        }
        if other is not None:
            stage |= {"heldRows": f"{other[1]:,}", "heldShare": other[2]}
        stages.append(stage)
    return {
        "stages": stages,
        "all": seen.stages[0][1],
        "held": bool(new),
        "label": short(name, 40),
    }


def _stage(seen: Stage | None, unseen: Stage | None) -> dict[str, Any]:
    assert seen is not None, "both parts of the rows have a stage for every condition"
    state = {
        "condition": "all rows"
        if seen.condition is None
        else short(condition_in_words(seen.condition)),
        "correct": seen.correct,
        "errors": seen.errors,
        "rows": f"{seen.covered:,}",
        "share": format_share(seen.precision),
    }
    if unseen is not None:
        state |= {"heldRows": f"{unseen.covered:,}", "heldShare": format_share(unseen.precision)}
    return state
