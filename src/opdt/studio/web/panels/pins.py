"""Pinned rules beside the present one."""

from __future__ import annotations

import math
from typing import Any

from opdt.objectives.words import with_unit
from opdt.report import RuleReport
from opdt.report.formats import format_count, format_lift, format_share
from opdt.report.text import rule_sentence
from opdt.rules import Rule
from opdt.studio.best_in import BestIn
from opdt.studio.outcome import Measured
from opdt.studio.session import Session
from opdt.studio.web.panels.view import View
from opdt.studio.web.panels.wording import judged, rule_parts
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import COMPONENTS, panel
from opdt.studio.work import Work
from opdt.studio.worth import RuleWorth

LONGEST_NOTE = 200


class PinsView(View, component=COMPONENTS / "studio_pins.js"):
    """The present rule and the pinned ones, with their numbers."""


def pins_panel(session: Session) -> None:
    """Build the panel; it is there as long as there is a rule to pin, or a pinned one."""
    with panel("Pinned rules", "pins-panel") as section:
        _Pins(session)

    def show(_: object = None) -> None:
        has_rule = session.outcome is not None and session.outcome.rule is not None
        section.set_visibility(has_rule or bool(session.work.pinned))

    show()
    for topic in ("outcome", "work"):
        listen(session, topic, show)


class _Pins:
    """Shows and changes what is pinned."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._view = PinsView(**self._state())
        self._view.on("pin", self._pin)
        self._view.on("remove", self._remove)
        self._view.on("note", self._note)
        for topic in ("outcome", "verdict", "work", "pins"):
            listen(session, topic, self._show)

    def _show(self, _: object = None) -> None:
        self._view.show(**self._state())

    def _pin(self, event: Any) -> None:
        """Pin the rule that is shown, with a note."""
        outcome = self._session.outcome
        rule = None if outcome is None else outcome.rule
        if rule is not None and self._place(str(rule)) is None:
            self._session.pin(rule, _short(event.args))

    def _remove(self, event: Any) -> None:
        place = self._place(event.args)
        if place is not None:
            self._session.unpin(place)

    def _note(self, event: Any) -> None:
        match event.args:
            case [key, note]:
                place = self._place(key)
                if place is not None:
                    self._session.note(place, _short(note))

    def _place(self, key: Any) -> int | None:
        """Where the rule is among the pinned ones; by the rule itself, as places change."""
        keys = [str(pinned.rule) for pinned in self._session.work.pinned]
        return keys.index(key) if key in keys else None

    def _state(self) -> dict[str, Any]:
        session = self._session
        outcome = session.outcome
        now = None if outcome is None else outcome.rule
        numbers: Worths = (_worth(outcome.seen), _worth(outcome.unseen)) if outcome else NONE
        rules = []
        is_pinned = any(pinned.rule == now for pinned in session.work.pinned)
        if now is not None and not is_pinned:
            row = _row(now, None, numbers, work=session.work)
            rules.append(row | {"isNow": True, "verdict": judged(session.verdict)})
        measured = {each.rule: each for each in session.pins}
        gone = session.work.apart
        for pinned in session.work.pinned:
            is_whole = gone.isdisjoint(pinned.rule.features)
            found = measured.get(pinned.rule) if is_whole else None
            worths = NONE if found is None else (found.seen, found.unseen)
            is_now = pinned.rule == now
            than = None if is_now else numbers
            row = _row(pinned.rule, pinned.note, worths, than, work=session.work)
            verdict = session.verdict if is_now else None if found is None else found.verdict
            rules.append(row | {"isNow": is_now, "verdict": judged(verdict)})
        return {
            "canPin": now is not None and not is_pinned,
            "isPinned": is_pinned,
            "count": len(session.work.pinned),
            "rules": rules,
            "titles": _titles(numbers[0]),
            "longest": LONGEST_NOTE,
        }


Worths = tuple[RuleWorth | None, RuleWorth | None]
NONE: Worths = (None, None)
_OF_CLASSES = ("precision", "lift", "coverage", "errors")


def _worth(measured: Measured | None) -> RuleWorth | None:
    return None if measured is None else measured.worth


def _titles(worth: RuleWorth | None) -> list[str]:
    """What the numbers of rules are called."""
    if worth is None:
        return ["VI", *_OF_CLASSES]
    own = _OF_CLASSES if worth.counts is not None else (*worth.numbers, "coverage")
    return [worth.words.name, *own]


def _row(
    rule: Rule, note: str | None, worths: Worths, than: Worths | None = None, *, work: Work
) -> dict[str, Any]:
    """One rule with its numbers on both parts, and how they differ from other numbers."""
    others = NONE if than is None else than
    sentence = rule_sentence(rule, work.objective, work.target)
    return {
        "key": str(rule),
        "parts": rule_parts(sentence, rule),
        "note": note,
        "lines": [
            (title, worth_numbers(worth, other, work.objective))
            for title, worth, other in zip(("training", "held out"), worths, others, strict=True)
            if worth is not None
        ],
    }


def worth_numbers(
    worth: RuleWorth, than: RuleWorth | None, best_in: BestIn
) -> list[dict[str, Any]]:
    """The value and what else is known of a rule, as text, with differences to another rule's."""
    first = {"text": worth.shown, **_further(worth, than, best_in)}
    if worth.counts is not None:
        cells = rule_numbers(worth.counts, None if than is None else than.counts)
        return cells if best_in == "vi" else [first, *cells[1:]]
    show = with_unit(worth.unit)
    numbers = [{"text": show(each) if worth.covered else "–"} for each in worth.numbers.values()]
    coverage = {"text": format_share(worth.coverage), "detail": f"{worth.covered:,} rows"}
    return [first, *numbers, coverage]


def _further(worth: RuleWorth, than: RuleWorth | None, best_in: BestIn) -> dict[str, str]:
    """How much better or worse the value is, and which of them is better."""
    by = 0.0 if than is None else worth.value - than.value
    text = worth.words.show_gap(abs(by))
    if than is None or not math.isfinite(by) or text == worth.words.show_gap(0.0):
        return {}
    low_is_good = (
        not isinstance(best_in, str)
        and best_in.needs_coverage
        and (getattr(best_in, "direction", "high") == "low")
    )
    better = (by > 0) != low_is_good
    return {
        "difference": f"{'+' if by > 0 else '−'}{text}",
        "tone": "better" if better else "worse",
    }


def rule_numbers(report: RuleReport, than: RuleReport | None = None) -> list[dict[str, Any]]:
    """VI, precision, lift, coverage and errors as text, with the difference to another rule's."""
    low, high = (format_share(end) for end in report.interval)
    interval = f"{low} to {high}" if report.covered else "no row is covered"
    return [
        {"text": format_count(report.value), **_difference(report, than, "value")},
        {
            "text": format_share(report.precision),
            "detail": interval,
            **_difference(report, than, "precision"),
        },
        {"text": format_lift(report.lift), "detail": f"all rows {format_share(report.base_rate)}"},
        {
            "text": format_share(report.coverage),
            "detail": f"{report.covered:,} rows",
            **_difference(report, than, "coverage"),
        },
        {"text": f"{report.errors:,}", **_difference(report, than, "errors")},
    ]


def _difference(report: RuleReport, than: RuleReport | None, name: str) -> dict[str, str]:
    """How much more or less than the other, in rows or percentage points, and which is better."""
    if than is None:
        return {}
    by = getattr(report, name) - getattr(than, name)
    is_share = name in ("precision", "coverage")
    text = format_count(abs(by)) if not is_share else f"{100 * abs(by):.1f}"
    if math.isnan(by) or text in ("0", "0.0"):
        return {}
    sign = "+" if by > 0 else "−"
    better = (by > 0) != (name == "errors")
    return {
        "difference": f"{sign}{text}{' pp' if is_share else ''}",
        "tone": "better" if better else "worse",
    }


def _short(note: Any) -> str:
    return str(note if note is not None else "").strip()[:LONGEST_NOTE]
