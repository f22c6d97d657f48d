"""The best rule of every threshold, cost or ratio: what changes if the question does."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from opdt.analysis.worth_path import WorthPath, WorthSegment
from opdt.checks import is_finite
from opdt.objectives import Mean, Money, Objective, Survival, Uplift
from opdt.objectives.words import plain, with_unit
from opdt.report.formats import format_share
from opdt.report.text import rule_sentence
from opdt.rules import Rule
from opdt.studio.best_in import BestIn
from opdt.studio.trade_off import plain_price
from opdt.studio.web.panels.view import View
from opdt.studio.web.panels.wording import judged
from opdt.studio.web.theme import COMPONENTS, short
from opdt.studio.work import Work

MOST = 40  # rules that are shown
MOST_NUMBERS = 2  # beside the coverage; the rule panel has the others
_TITLES = {
    "threshold": "threshold",
    "price of cost": "cost ×",
    "further cost": "further cost",
    "ratio": "ratio",
}
_ABOUT = {
    "threshold": "The best rule for every threshold: a higher one leaves fewer rows.",
    "price of cost": "The best rule where costs count so many times as much as was said.",
    "further cost": "Whom to treat where a row costs so much more than was said.",
    "ratio": "The best rule for every ratio to the usual pace: a larger one leaves fewer rows.",
}


class WorthPathView(View, component=COMPONENTS / "studio_worth_path.js"):
    """One line for each rule; one is chosen by a click."""


def worth_path_state(
    path: WorthPath | None, work: Work, rule: Rule | None = None, *, tracing: bool
) -> dict[str, Any]:
    """What a `WorthPathView` shows; `rule` is the present one."""
    if path is None:
        return {"rows": [], "note": "Looking for the best rules …" if tracing else ""}
    names = path.objective.headline or tuple(dict.fromkeys(n for s in path for n in s.numbers))
    rows = [
        _row(each, place, names[:MOST_NUMBERS], path, work)
        | {"isRule": each.rule is not None and each.rule == rule}
        for place, each in enumerate(path[:MOST])
    ]
    note = _ABOUT[path.name]
    if path.name == "threshold" and getattr(path.objective, "direction", "high") == "low":
        note = "The best rule for every threshold: a lower one leaves fewer rows."
    if not path.complete:
        note += " There may be others."
    if len(path) > MOST:
        note += f" The first {MOST} of {len(path)} are shown."
    return {"rows": rows, "note": note}


def _row(
    segment: WorthSegment, place: int, names: tuple[str, ...], path: WorthPath, work: Work
) -> dict[str, Any]:
    show, rule = with_unit(getattr(path.objective, "unit", "")), segment.rule
    numbers = [f"{n} {show(segment.numbers[n])}" for n in names if n in segment.numbers]
    words = "no rule" if rule is None else rule_sentence(rule, work.objective, work.target)
    return {
        "place": place,
        "ends": f"{_TITLES[path.name]} {plain(segment.low)} to {plain(segment.high)}",
        "numbers": [f"covers {format_share(segment.coverage)}", *numbers],
        "rule": short(words, 300),
        "verdict": judged(segment.verdict),
        "open": rule is not None and choice(path.objective, segment) is not None,
    }


def choice(best_in: BestIn, segment: WorthSegment) -> Objective | None:
    """The objective whose best rule is that of a segment; None where costs are a column."""
    if isinstance(best_in, str):
        return None
    if isinstance(best_in, Mean):
        return replace(best_in, threshold=between(segment.low, segment.high))
    if isinstance(best_in, Survival):
        return replace(best_in, ratio=between(max(segment.low, 1e-6), segment.high))
    if isinstance(best_in, Money | Uplift) and is_finite(best_in.cost):
        place = between(segment.low, segment.high)
        times = isinstance(best_in, Money)
        return replace(best_in, cost=best_in.cost * place if times else best_in.cost + place)
    return None


def between(low: float, high: float) -> float:
    """A number between two others, with as few digits as will do.

    Examples
    --------
    >>> between(-2.2, 9.7), between(4.51, 4.62), between(0, math.inf)
    (4.0, 4.6, 1.0)
    """
    if math.isinf(high):
        return plain_price(low, high) if low > 0 else 1.0
    middle = (low + high) / 2
    for digits in range(12):
        if low < (value := round(middle, digits)) < high:
            return value
    return middle
