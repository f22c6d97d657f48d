"""The rule, live: in words, what is proven, its numbers, its funnel and its region."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from opdt.objectives import Words
from opdt.objectives.words import with_unit
from opdt.report import RuleReport
from opdt.report.formats import format_count, format_lift, format_seconds, format_share
from opdt.report.rows import sentence
from opdt.solution import Status, StopReason
from opdt.studio.advance import Advance
from opdt.studio.best_in import BestIn, told
from opdt.studio.outcome import RuleOutcome
from opdt.studio.questions import lacks
from opdt.studio.session import Session
from opdt.studio.web.panels.funnel import FunnelView, funnel_state
from opdt.studio.web.panels.limits import LimitsView, limits_state
from opdt.studio.web.panels.region import RegionView, region_state
from opdt.studio.web.panels.view import View
from opdt.studio.web.panels.wording import advice, judged, sentence_parts
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import COMPONENTS, panel
from opdt.studio.work import MAX_SECONDS
from opdt.studio.worth import RuleWorth
from opdt.verdict import Verdict

# A search that takes less is over before anyone could read that it is under way.
_SHOWN_AFTER = 0.3  # seconds


class RuleView(View, component=COMPONENTS / "studio_rule.js"):
    """The sentence, what is proven, and the progress of a search."""


class FiguresView(View, component=COMPONENTS / "studio_figures.js"):
    """Precision, coverage, errors and VI on training and held-out rows."""


def rule_panel(session: Session) -> None:
    """Build the panel."""
    _RulePanel(session)


class _RulePanel:
    """Shows the last outcome, and the search for the next one where it takes long."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._revision = 0
        self._search: dict[str, Any] | None = None
        self._testing = False  # whether a quick test is under way
        self._later: asyncio.TimerHandle | None = None
        with panel("The rule", "rule-panel") as self._section:
            self._rule = RuleView(**self._state())
            self._rule.on("stop", lambda: session.stop("solve"))
            self._rule.on("again", self._again)
            self._figures = FiguresView(parts=[])
            self._limits = LimitsView(**limits_state(None))
            self._funnel = FunnelView(stages=[])
            self._region = RegionView(**region_state(None))
        self._show_outcome()
        self._hear_busy(session.busy)
        for topic, heard in (
            ("outcome", self._show_outcome),
            ("refusal", self._show_rule),
            ("data", self._show_rule),
            ("work", self._hear_work),
            ("busy", self._hear_busy),
            ("verdict", self._hear_verdict),
            ("progress", self._hear_progress),
        ):
            listen(session, topic, heard)

    def _show_outcome(self, _: object = None) -> None:
        outcome = self._session.outcome
        self._revision += 1
        self._search = None
        idle = "studio-idle"
        self._section.classes(add="" if outcome else idle, remove=idle if outcome else "")
        self._show_rule()
        self._figures.show(parts=[] if outcome is None else _parts(outcome))
        self._limits.show(**limits_state(outcome))
        self._funnel.show(**funnel_state(outcome))
        self._region.show(**region_state(outcome))

    def _show_rule(self, _: object = None) -> None:
        self._rule.show(**self._state())

    def _state(self) -> dict[str, Any]:
        outcome = self._session.outcome
        told = (
            {"idle": _next_step(self._session), "parts": []}
            if outcome is None
            else _said(outcome, self._session.verdict)
        )
        return {
            "revision": self._revision,
            "price": None if outcome is None else outcome.work.w,
            "search": self._search,
            "testing": self._testing,
            "stale": self._search is not None and outcome is not None,
            **told,
        }

    def _again(self) -> None:
        """Search again, and longer where it was time that ran out."""
        session, outcome = self._session, self._session.outcome
        if outcome is not None and outcome.solution.stopped_by is StopReason.TIME:
            session.change(time_limit=min(MAX_SECONDS, 2 * session.work.time_limit))
        session.refresh()

    # -- a search that takes long ---------------------------------------------------------------

    def _hear_work(self, _: object) -> None:
        if self._session.outcome is None:
            self._show_rule()

    def _hear_verdict(self, _: object) -> None:
        if self._session.is_current:
            self._show_rule()

    def _hear_busy(self, kinds: frozenset[str]) -> None:
        if ("chance" in kinds) != self._testing:
            self._testing = "chance" in kinds
            self._show_rule()
        if "solve" in kinds:
            if self._later is None:
                loop = asyncio.get_running_loop()
                self._later = loop.call_later(_SHOWN_AFTER, self._show_search)
            return
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if self._search is not None:
            self._search = None
            self._show_rule()

    def _show_search(self) -> None:
        if self._rule.client.is_deleted:
            return
        if "solve" in self._session.busy and self._search is None:
            self._search = {"share": 0, "words": "Searching …"}
            self._show_rule()

    def _hear_progress(self, advance: Advance) -> None:
        if advance.kind != "solve" or advance.seconds < _SHOWN_AFTER:
            return
        work = self._session.work
        told_so = _progress_words(advance, told(work.objective, work.target))
        self._search = {"share": advance.share, "words": told_so}
        self._show_rule()


def _said(outcome: RuleOutcome, verdict: Verdict | None) -> dict[str, Any]:
    """What is said of an outcome."""
    solution = outcome.solution
    dock = ""
    if outcome.seen is not None:
        said = "" if verdict is None else f"{verdict.level}; "
        dock = f"{said}{_at_a_glance(outcome.seen.worth)}, {outcome.badge}"
    return {
        "parts": sentence_parts(outcome),
        "badge": outcome.badge if outcome.is_proven else _stopped(outcome),
        "tone": "" if outcome.is_proven else "open",
        "verdict": judged(verdict),
        "proof": _proof(outcome),
        "advice": advice(outcome),
        "again": None if outcome.is_proven else _again_words(solution.stopped_by, outcome),
        "dock": dock,
    }


def _stopped(outcome: RuleOutcome) -> str:
    solution = outcome.solution
    why = "stopped" if solution.stopped_by is not StopReason.TIME else "time is up"
    took = format_seconds(solution.seconds)
    return f"{why} after {took}: {'best so far' if outcome.rule else 'no rule yet'}"


def _proof(outcome: RuleOutcome) -> str:
    """What is proven, and what the proof leaves out."""
    plan = outcome.solution.plan
    unproven = () if plan is None else plan.unproven
    return " ".join(filter(None, [_bound(outcome), *unproven, outcome.mute]))


def _at_a_glance(worth: RuleWorth) -> str:
    rows = f"{worth.covered:,} rows"
    if worth.counts is not None and not worth.sentence:
        return f"{format_share(worth.counts.precision)} precise, {rows}"
    return f"{worth.words.name} {worth.shown}, {rows}"


def _bound(outcome: RuleOutcome) -> str:
    solution, words = outcome.solution, outcome.words
    if solution.status is Status.OPTIMAL:
        return f"No allowed rule {words.better} than {words.show(solution.value)}."
    if outcome.is_proven:
        return ""
    none_above = f"o allowed rule {words.above.format(words.show(solution.bound))}"
    if outcome.rule is None:
        return f"N{none_above}."
    name = words.name[:1].upper() + words.name[1:]
    return (
        f"{name} {words.show(solution.value)}; n{none_above}, so a better one is at most "
        f"{words.show_gap(abs(solution.gap))} better."
    )


def _again_words(stopped_by: StopReason, outcome: RuleOutcome) -> str:
    if stopped_by is not StopReason.TIME:
        return "Search again"
    longer = min(MAX_SECONDS, 2 * outcome.work.time_limit)
    return f"Search for up to {format_seconds(longer)}"


def _progress_words(advance: Advance, words: Words) -> str:
    took = format_seconds(advance.seconds)
    if advance.value is None or advance.bound is None:
        return f"Searching for {took}"
    best = words.show(advance.value) if math.isfinite(advance.value) else "none yet"
    return (
        f"Searching for {took}: best {words.name} so far {best}, "
        f"no allowed rule {words.above.format(words.show(advance.bound))}"
    )


def _parts(outcome: RuleOutcome) -> list[dict[str, Any]]:
    named = (
        ("Training rows", "train", outcome.seen),
        ("Held-out rows", "held-out", outcome.unseen),
    )
    best_in = outcome.work.objective
    return [
        (_worth_part if each.worth.sentence else _part)(title, name, each.worth, best_in)
        for title, name, each in named
        if each is not None
    ]


def _part(title: str, name: str, worth: RuleWorth, best_in: BestIn) -> dict[str, Any]:
    """Numbers where rows have classes and count alike: the precision before all."""
    report = worth.counts
    assert report is not None
    low, high = (format_share(end) for end in report.interval)
    between = f"{report.level:.0%} interval {low.removesuffix(' %')} to {high}"
    known = report.covered > 0
    return {
        "testid": f"report-{name}",
        "title": title,
        "rows": f"{report.n_rows:,} rows",
        "name": "Precision",
        "precision": format_share(report.precision),
        "interval": between if known else "no row is covered",
        "band": report.interval if known else None,
        "value": report.precision if known else None,
        "base": report.base_rate,
        "baseText": f"{format_share(report.base_rate)} among all these rows"
        + (f"; lift {format_lift(report.lift)}" if known else ""),
        "figures": [
            ("Coverage", format_share(report.coverage), f"{report.covered:,} rows"),
            ("Errors", f"{report.errors:,}", f"of {report.covered:,} rows"),
            *_value_figure(worth, report, best_in),
        ],
    }


def _value_figure(
    worth: RuleWorth, report: RuleReport, best_in: BestIn
) -> list[tuple[str, str, str]]:
    """What the rule was to be best in, where no other number says it."""
    name, shown = worth.words.name[:1].upper() + worth.words.name[1:], worth.shown
    if best_in == "vi":
        costs = f"{report.covered:,} − {format_count(report.w)} × {report.errors:,}"
        detail = f"{costs}; all rows: {format_count(report.value_of_all)}"
        return [(name, format_count(report.value), detail)]
    recall = format_share(report.correct / report.n_class) if report.n_class else "–"
    if best_in in ("precision", "lift"):
        return [("Recall", recall, f"{report.correct:,} of {report.n_class:,} rows of the class")]
    return [(name, shown, f"recall {recall}")]


def _worth_part(title: str, name: str, worth: RuleWorth, best_in: BestIn) -> dict[str, Any]:
    """Numbers where an objective says what rows are worth: that before all."""
    report, estimate = worth.counts, worth.estimate
    figures = [("Coverage", format_share(worth.coverage), f"{worth.covered:,} rows")]
    if report is not None:
        low, high = (format_share(end) for end in report.interval)
        figures += [
            ("Precision", format_share(report.precision), f"{low} to {high}"),
            ("Errors", f"{report.errors:,}", f"of {report.covered:,} rows"),
        ]
    else:
        show = with_unit(worth.unit)
        figures += [
            (key[:1].upper() + key[1:], "–" if math.isnan(value) else show(value), "")
            for key, value in worth.numbers.items()
        ]
    said = sentence(worth.sentence)
    return {
        "testid": f"report-{name}",
        "title": title,
        "rows": f"{worth.n_rows:,} rows",
        "name": worth.words.name[:1].upper() + worth.words.name[1:],
        "precision": worth.shown,
        "interval": "" if estimate is None or worth.covered else "no row is covered",
        "band": None,
        "value": None,
        "base": None,
        "baseText": said,
        "figures": figures,
    }


def _next_step(session: Session) -> str:
    if session.loaded is None:
        return "Open a table, and the best rule appears here."
    if (missing := lacks(session.work)) is not None:
        return f"Choose {missing}, and the best rule appears here."
    if session.refusal is not None:
        return f"There is no rule: {session.refusal}"
    return "Searching …"
