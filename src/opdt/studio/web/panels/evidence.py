"""What speaks for the rule and against it: the rows it gets wrong, and the test by chance."""

from __future__ import annotations

from typing import Any

from opdt.analysis.permutation import PermutationTest
from opdt.analysis.ranking import has_classes
from opdt.objectives import Money, Objective
from opdt.report.content import WrongRows
from opdt.report.formats import format_seconds
from opdt.solution import StopReason
from opdt.studio.advance import Advance
from opdt.studio.outcome import RuleOutcome
from opdt.studio.session import Session
from opdt.studio.web.panels.controls import number
from opdt.studio.web.panels.view import View
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import COMPONENTS, panel, short
from opdt.verdict import format_p_value

PAGE = 10  # rows that are shown at a time
_PARTS = {"train": "training rows", "held-out": "held-out rows"}


class WrongView(View, component=COMPONENTS / "studio_wrong.js"):
    """One page of the covered rows of another class."""


class RealView(View, component=COMPONENTS / "studio_real.js"):
    """The permutation test: to be asked for, under way, or done."""


def evidence_panel(session: Session) -> None:
    """Build the panel; it is there as long as there is a rule."""
    with panel("Evidence", "evidence-panel") as section:
        _Wrong(session)
        _Real(session)

    def show(_: object = None) -> None:
        section.set_visibility(session.outcome is not None and session.outcome.rule is not None)

    show()
    listen(session, "outcome", show)


class _Wrong:
    """The covered rows of another class, of training or held-out rows."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._part, self._page = "train", 0
        self._outcome: RuleOutcome | None = None
        self._view = WrongView(**self._state())
        self._view.on("part", self._choose)
        self._view.on("page", self._turn)
        self._show()
        listen(session, "outcome", self._show)

    def _show(self, _: object = None) -> None:
        if self._session.outcome is not self._outcome:
            self._outcome, self._page = self._session.outcome, 0
        self._view.show(**self._state())

    def _choose(self, event: Any) -> None:
        if event.args in _PARTS:
            self._part, self._page = event.args, 0
            self._show()

    def _turn(self, event: Any) -> None:
        page = number(event.args, 1_000)
        if page is not None:
            self._page = page
            self._show()

    def _state(self) -> dict[str, Any]:
        loaded = self._session.loaded
        parts = wrong_parts(self._outcome)
        if not parts or loaded is None:
            return {"parts": []}
        part = self._part if self._part in parts else "train"
        wrong, covered = parts[part]
        self._page = min(self._page, max(0, (len(wrong.rows) - 1) // PAGE))
        first = self._page * PAGE
        rows = wrong.rows[first : first + PAGE]
        assert self._outcome is not None
        assert self._outcome.rule is not None
        return {
            "parts": [(key, _PARTS[key], each.total) for key, (each, _) in parts.items()],
            "part": part,
            "nothing": _nothing(covered, _PARTS[part]),
            "columns": [
                (short(name, 60), loaded.profile(name).kind == "numeric") for name in wrong.columns
            ],
            "own": len(self._outcome.rule.features),
            "rows": [(r.number, short(r.label, 60), [_cell(c) for c in r.cells]) for r in rows],
            "range": _range(first, len(rows), wrong),
            "page": self._page,
            "last": max(0, (len(wrong.rows) - 1) // PAGE),
        }


def wrong_parts(outcome: RuleOutcome | None) -> dict[str, tuple[WrongRows, float]]:
    """The wrong rows of each part, with the number of rows that the rule covers there."""
    if outcome is None:
        return {}
    named = (
        ("train", outcome.wrong, outcome.train),
        ("held-out", outcome.wrong_held_out, outcome.held_out),
    )
    return {
        name: (wrong, report.covered)
        for name, wrong, report in named
        if wrong is not None and report is not None
    }


def _nothing(covered: float, rows: str) -> str:
    if not covered:
        return f"The rule covers none of the {rows}."
    return f"None: all {covered:,} {rows} that the rule covers are of its class."


def _cell(text: str | None) -> str | None:
    return None if text is None else short(text)


def _range(first: int, shown: int, wrong: WrongRows) -> str:
    text = f"{first + 1:,} to {first + shown:,} of {wrong.total:,}"
    listed = len(wrong.rows)
    return text if listed == wrong.total else f"{text}; the first {listed:,} are listed"


class _Real:
    """The permutation test of the present rule."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._advance: Advance | None = None
        self._tested = session.real
        self._outdated = False
        self._view = RealView(**self._state())
        self._view.on("ask", self._ask)
        self._view.on("stop", lambda: session.stop("real"))
        for topic, heard in (
            ("data", self._forget),
            ("real", self._hear),
            ("busy", self._show),
            ("progress", self._hear_progress),
        ):
            listen(session, topic, heard)

    def _ask(self) -> None:
        self._advance, self._outdated = None, False
        self._session.ask_real()

    def _forget(self, _: object) -> None:
        self._tested, self._outdated = None, False
        self._show()

    def _hear(self, test: PermutationTest | None) -> None:
        """A result that is taken away belongs to a rule that was changed."""
        self._outdated = test is None and (self._outdated or self._tested is not None)
        self._tested = test
        self._show()

    def _hear_progress(self, advance: Advance) -> None:
        if advance.kind == "real":
            self._advance = advance
            self._show()

    def _show(self, _: object = None) -> None:
        self._view.show(**self._state())

    def _state(self) -> dict[str, Any]:
        busy, test = "real" in self._session.busy, self._session.real
        return {
            "busy": _progress(self._advance) if busy else None,
            "result": None if test is None or busy else result_words(test),
            "outdated": self._outdated and not busy,
            "dealt": _dealt(self._session.work.objective),
        }


def _dealt(best_in: str | Objective) -> str:
    """What a test deals out at random."""
    if isinstance(best_in, str | Money):
        return "classes"
    return {"mean": "numbers", "survival": "times and events"}.get(best_in.kind, "scores")


def _progress(advance: Advance | None) -> dict[str, Any]:
    if advance is None or not advance.total:
        return {"share": 0, "words": "Starting …"}
    done = f"{advance.done:,} of {advance.total:,} tables"
    return {"share": advance.share, "words": f"{done}, {format_seconds(advance.seconds)}"}


def result_words(test: PermutationTest) -> dict[str, str]:
    """What the test found, what that says, and what it does not say."""
    if not test.n_done:
        return {
            "p": "no answer",
            "tone": "open",
            "says": "The test was stopped before its first table.",
            "not": "",
            "detail": "",
        }
    number_of = "none" if not test.hits else f"{test.hits:,}"
    chance = "hardly ever makes" if test.is_significant else "may well make"
    best_in = test.solution.objective
    as_good = "with as large a VI" if best_in == "vi" else "as good"
    caused = "the class" if has_classes(best_in) else "it"
    return {
        "p": f"p = {format_p_value(test.p_value)}",
        "tone": "" if test.is_significant else "open",
        "says": (
            f"Of {test.n_done:,} tables with the {_dealt(best_in)} dealt to the rows at random, "
            f"{number_of} had any rule {as_good}, so chance alone {chance} such a rule."
        ),
        "not": (
            "It does not say that the rule will be as good on new rows, which is what held-out "
            f"rows are for, nor that a feature causes {caused}."
        ),
        "detail": _how(test),
    }


def _how(test: PermutationTest) -> str:
    took = format_seconds(test.seconds)
    words = f"Permutation test on the {test.n_rows:,} training rows, seed {test.seed}, {took}."
    if test.stopped_early:
        return f"{words} It ended early, as p was sure to be above {test.alpha:g}."
    if test.stopped_by is not StopReason.FINISHED:
        planned = f"{test.n_permutations:,}"
        return f"{words} It was stopped before all {planned} tables; p is valid, but less sharp."
    if test.n_undecided:
        return f"{words} {test.n_undecided:,} tables were not decided and count against the rule."
    if not test.hits:
        return f"{words} No smaller p can come of so many tables."
    return words
