"""Other rules that are nearly as good as the best one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from nicegui import background_tasks, run
from numpy.typing import NDArray

from opdt.analysis.alternatives import Alternative, RashomonSet
from opdt.analysis.ranking import has_classes
from opdt.analysis.rashomon_summary import RashomonSummary
from opdt.objectives import words_of
from opdt.report.formats import format_count, format_lift, format_share
from opdt.report.text import rule_sentence
from opdt.rules import Rule
from opdt.studio.best_in import told
from opdt.studio.outcome import PartValuers, RuleOutcome
from opdt.studio.questions import unlisted
from opdt.studio.session import Session
from opdt.studio.solver import ALTERNATIVES_WITHIN
from opdt.studio.tables import RowPart
from opdt.studio.web.panels.view import View
from opdt.studio.web.panels.wording import judged, rule_parts
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import COMPONENTS, panel, short
from opdt.studio.work import Work
from opdt.studio.worth import Valuer
from opdt.verdict import SAME_ROWS, Verdict, judge

PAGE = 6  # sets of rows that are shown at a time
MOST_WAYS = 5  # other rules for the same rows that are shown
MOST_PLACES = 2  # places in the rule whose exchangeable features are named
SHARES = (0.01, 0.02, 0.05, 0.1)


class AlternativesView(View, component=COMPONENTS / "studio_alternatives.js"):
    """The list, or the button that asks for it."""


@dataclass(frozen=True)
class Listed:
    """Rules that cover the same rows: the first, how its rows differ from the best, the verdict."""

    best: Alternative
    rows: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True)
class ListedRules:
    """All that is said about a set of rules; made on a thread."""

    found: RashomonSet
    patterns: tuple[Listed, ...]
    sentence: str

    def rule(self, place: Any, way: Any) -> Rule | None:
        """The rule at a place of the list, or another one for the same rows; None if there is none.

        Parameters
        ----------
        place, way
            What the browser has sent: two whole numbers; `way` 0 is the first.
        """
        for value in (place, way):
            if type(value) is not int or value < 0:
                return None
        if place >= len(self.patterns):
            return None
        best = self.patterns[place].best
        rules = (best.rule, *best.equivalents)
        return rules[way] if way < len(rules) else None


def alternatives_panel(session: Session) -> None:
    """Build the panel; it is there as long as there is a rule."""
    with panel("Rules nearly as good", "alternatives-panel") as section:
        _Alternatives(session)

    def show(_: object = None) -> None:
        section.set_visibility(session.outcome is not None and session.outcome.rule is not None)

    show()
    listen(session, "outcome", show)


class _Alternatives:
    """Shows the answer of the session, a page at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._within = _within(session.alternatives)
        self._page = 0
        self._revision = 0
        self._listing: ListedRules | None = None
        self._outdated = False
        self._view = AlternativesView(**self._state())
        self._view.on("ask", lambda: self._ask(self._within))
        self._view.on("within", self._choose)
        self._view.on("stop", lambda: session.stop("alternatives"))
        self._view.on("page", self._turn)
        self._view.on("pin", self._pin)
        if session.alternatives is not None:
            background_tasks.create(self._hear(session.alternatives), name="list alternatives")
        for topic, heard in (
            ("data", self._forget),
            ("alternatives", self._hear),
            ("work", self._show),
            ("busy", self._show),
        ):
            listen(session, topic, heard)

    def _ask(self, within: float) -> None:
        self._within, self._page, self._outdated = within, 0, False
        self._session.ask_alternatives(within)

    def _choose(self, event: Any) -> None:
        if event.args not in SHARES:
            return
        if self._session.alternatives is None and "alternatives" not in self._session.busy:
            self._within = event.args
            self._show()
        else:
            self._ask(event.args)

    def _turn(self, event: Any) -> None:
        if type(event.args) is int:
            self._page = event.args
            self._show()

    def _pin(self, event: Any) -> None:
        """Pin what was clicked, unless the list has changed since."""
        match event.args:
            case [self._revision, place, way] if self._listing is not None:
                rule = self._listing.rule(place, way)
                if rule is not None and not _is_pinned(rule, self._session.work):
                    self._session.pin(rule)

    def _forget(self, _: object) -> None:
        self._outdated = False

    async def _hear(self, found: RashomonSet | None) -> None:
        self._outdated = found is None and (self._outdated or self._listing is not None)
        self._listing = None
        session = self._session
        loaded = session.loaded
        rule = None if session.outcome is None else session.outcome.rule
        if found is not None and loaded is not None and rule is not None:
            work = session.work

            def listed() -> ListedRules:
                return list_alternatives(found, rule, session.parts(work))

            listing = await run.io_bound(listed)
            if session.alternatives is not found:
                return  # there is another answer, or none any more
            self._listing = listing
        self._revision += 1
        self._show()

    def _show(self, _: object = None) -> None:
        self._view.show(**self._state())

    def _state(self) -> dict[str, Any]:
        busy, work = "alternatives" in self._session.busy, self._session.work
        state: dict[str, Any] = {
            "name": told(work.objective, work.target).name,
            "unlisted": unlisted(work),
            "busy": busy,
            "within": self._within,
            "shares": [(share, f"{100 * share:g} %") for share in SHARES],
            "outdated": self._outdated and not busy,
            "rows": [],
            "facts": None,
        }
        listing = self._listing
        if listing is None or busy:
            return state
        last = max(0, (len(listing.patterns) - 1) // PAGE)
        self._page = max(0, min(self._page, last))
        first = self._page * PAGE
        shown = listing.patterns[first : first + PAGE]
        total = len(listing.patterns)
        return state | {
            "revision": self._revision,
            "facts": _facts(listing.found, work),
            "titles": _titles(work),
            "sentence": listing.sentence,
            "judged": SAME_ROWS,
            "rows": [self._row(place, each) for place, each in enumerate(shown, first)],
            "page": self._page,
            "last": last,
            "range": f"{first + 1:,} to {first + len(shown):,} of {total:,} sets of rows",
        }

    def _row(self, place: int, listed: Listed) -> dict[str, Any]:
        best, work = listed.best, self._session.work
        outcome = self._session.outcome
        ways = best.equivalents[:MOST_WAYS]
        more = len(best.equivalents) - len(ways)
        return {
            "place": place,
            "parts": _parts(best.rule, outcome, work),
            "isRule": outcome is not None and best.rule == outcome.rule,
            "verdict": judged(listed.verdict),
            "numbers": _numbers(best, work),
            "rows": listed.rows,
            "pinned": _is_pinned(best.rule, work),
            "also": _many(len(best.equivalents)),
            "ways": [(_parts(rule, outcome, work), _is_pinned(rule, work)) for rule in ways],
            "more": f"and {more:,} more" if more else "",
        }


def list_alternatives(found: RashomonSet, rule: Rule, parts: PartValuers) -> ListedRules:
    """What is shown of a set of rules; blocks, so it is called on a thread."""
    train = parts.train.part
    own = rule.covers(train.source)
    patterns = tuple(
        Listed(each, _rows(own, each.rule, train), _verdict(each, parts.held_out))
        for each in found.patterns
    )
    return ListedRules(found, patterns, exchange_sentence(found))


def _verdict(listed: Alternative, new: Valuer | None) -> Verdict:
    held = None if new is None else new.of(listed.rule).judges
    return judge(listed.evidence, held_out=held)


def _titles(work: Work) -> list[str]:
    """What the numbers of a rule are called."""
    name = told(work.objective, work.target).name
    if has_classes(work.objective):
        return [name, "precision", "lift", "coverage", "errors"]
    return [name, "per row", "coverage"]


def _numbers(listed: Alternative, work: Work) -> list[str]:
    words, coverage = told(work.objective, work.target), format_share(listed.coverage)
    value = words.show(listed.value)
    if not has_classes(work.objective):
        return [value, words.show_gap(listed.value / listed.covered), coverage]
    shares = format_share(listed.precision), format_lift(listed.lift), coverage
    return [value, *shares, format_count(listed.errors)]


def _rows(own: NDArray[np.bool_], rule: Rule, part: RowPart) -> tuple[str, ...]:
    other = rule.covers(part.source)
    more, fewer = int((other & ~own).sum()), int((own & ~other).sum())
    if not more and not fewer:
        return ("the same",)
    words = (f"{more:,} other{'s' if more > 1 else ''}", f"{fewer:,} fewer")
    return tuple(text for text, count in zip(words, (more, fewer), strict=True) if count)


def _within(found: RashomonSet | None) -> float:
    """The share that was asked for; of those that give the same rules, the smallest."""
    if found is None or found.optimum is None or found.threshold is None:
        return ALTERNATIVES_WITHIN
    lost = (found.optimum - found.threshold) / abs(found.optimum) if found.optimum else 0.0
    return next((share for share in SHARES if share >= lost), SHARES[-1])


def _facts(found: RashomonSet, work: Work) -> str:
    if len(found) == 1 and found.complete and found.threshold is not None:
        words = told(work.objective, work.target)
        least = words.show(found.threshold)
        return f"No other rule has {words.some} of at least {least}: the best rule stands alone."
    facts, words = found.facts(), told(work.objective, work.target)
    return facts.replace(words_of(work.objective).some, words.some)


def exchange_sentence(found: RashomonSet) -> str:
    """Which features can take each other's place in a set of rules, in a sentence."""
    if len(found) < 2:
        return ""
    summary = found.summary
    places = _places(summary)
    if not places:
        used = [each.feature for each in summary.features]
        if used and len(summary.necessary) == len(used):
            which = "feature" if len(used) == 1 else "features"
            return f"They all use the same {which}, {_list(used, 'and')}, with other thresholds."
        return "No feature can simply take the place of another."
    texts = [
        f"{_list(features, 'or')} can take each other's place"
        + (f" beside {_list(beside, 'and')}" if beside else "")
        for beside, features in places[:MOST_PLACES]
    ]
    more = len(places) - MOST_PLACES
    end = f"; and so can others in {more:,} more places" if more > 0 else ""
    return "; ".join(texts) + end + "."


def _places(summary: RashomonSummary) -> list[tuple[tuple[str, ...], list[str]]]:
    """The features that fit beside the same others, the best first."""
    places: dict[tuple[tuple[str, ...], str], dict[str, None]] = {}
    for each in summary.exchanges:
        fitting = places.setdefault((each.beside, str(each.label)), {})
        fitting |= {each.feature: None, each.other: None}
    return [(beside, list(features)) for (beside, _), features in places.items()]


def _list(names: Any, word: str) -> str:
    shown = [short(name, 40) for name in names]
    if len(shown) > 5:
        shown = [*shown[:4], f"{len(shown) - 4} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {word} {shown[-1]}"


def _many(ways: int) -> str:
    return f"{'one other rule' if ways == 1 else f'{ways:,} other rules'} for the very same rows"


def _parts(rule: Rule, outcome: RuleOutcome | None, work: Work) -> list[tuple[str, str]]:
    """The sentence, without the class where it is that of the rule."""
    parts = rule_parts(rule_sentence(rule, work.objective, work.target), rule)
    if outcome is None or outcome.rule is None or outcome.rule.label != rule.label:
        return parts
    return parts[:-3] if len(parts) > 3 else parts


def _is_pinned(rule: Rule, work: Work) -> bool:
    return any(pinned.rule == rule for pinned in work.pinned)
