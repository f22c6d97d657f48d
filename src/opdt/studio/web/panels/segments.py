"""Limits by segment and by group: precision in every region, equal coverage of the sexes."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import Any

from nicegui import ui

from opdt.analysis.ranking import has_classes
from opdt.errors import InputError
from opdt.problem.segments import MOST_GROUPS, MOST_SEGMENTS, Parity, PerSegment
from opdt.studio.best_in import columns_of
from opdt.studio.session import Session
from opdt.studio.web.panels.controls import Dropdown, Fold, NumberField, press
from opdt.studio.web.theme import field, short, words

_OF = {"coverage": "coverage", "recall": "opportunity (recall)"}
_PERCENT = ("min_precision", "max_coverage", "max_difference", "min_ratio")
_SEGMENT_FIELDS = {
    "min_precision": ("Precision at least, %", True),
    "max_errors": ("Errors at most", True),
    "max_coverage": ("Coverage at most, %", False),
}


class SegmentLimits:
    """One row for each such limit, and one more to begin another with.

    A limit begins with a column, and counts from its first number on.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._columns = {"segments": "", "parities": ""}  # of limits that have no number yet
        self._of = "coverage"
        self._drawn: Any = None
        self._fold = Fold("Limits by segment and group", "segment-limits")
        with self._fold.body:
            self._rows = ui.element("div").classes("segment-rows")
            self._error = words("p", "", "studio-complaint").props("role=alert")
            self._error.props["data-testid"] = "segment-error"
            self._error.set_visibility(False)

    def forget(self) -> None:
        """Start again with other data."""
        self._columns = {"segments": "", "parities": ""}
        self._drawn = None

    def draw(self) -> None:
        """Show the limits that count now."""
        work, loaded = self._session.work, self._session.loaded
        refusal = self._session.refusal or ""
        about = "PerSegment(" in refusal or "Parity(" in refusal
        self._complain(refusal if about else "")
        now = (
            id(loaded), work.segments, work.parities, tuple(self._columns.values()), self._of,
            work.target, columns_of(work.objective), has_classes(work.objective),
        )  # fmt: skip
        if now == self._drawn or loaded is None:
            return
        self._drawn = now
        count = len(work.segments) + len(work.parities)
        self._fold.say("none yet" if not count else f"{count} limit{'s' if count > 1 else ''}")
        self._rows.clear()
        with self._rows:
            for place, segment in enumerate(work.segments):
                self._draw_segment(segment.column, segment, place)
            self._draw_segment(self._columns["segments"], None, len(work.segments))
            for place, parity in enumerate(work.parities):
                self._draw_parity(parity.column, parity, place)
            self._draw_parity(self._columns["parities"], None, len(work.parities))

    # -- drawing ----------------------------------------------------------------------------

    def _draw_segment(self, column: str, limit: PerSegment | None, place: int) -> None:
        with ui.element("div").classes("segment-row").props("data-testid=segment-row"):
            self._draw_column("segments", column, limit, place, "In every", MOST_SEGMENTS, 1)
            if column:
                classes = has_classes(self._session.work.objective)
                for name, (title, counts_errors) in _SEGMENT_FIELDS.items():
                    if classes or not counts_errors:
                        self._draw_number("segments", name, title, column, limit, place)
            self._draw_remove("segments", limit, place)

    def _draw_parity(self, column: str, limit: Parity | None, place: int) -> None:
        with ui.element("div").classes("segment-row").props("data-testid=parity-row"):
            self._draw_column("parities", column, limit, place, "Between groups of", MOST_GROUPS, 2)
            if column:
                self._draw_of(limit, place)
                title = "may differ by, points"
                self._draw_number("parities", "max_difference", title, column, limit, place)
            self._draw_remove("parities", limit, place)

    def _draw_column(
        self, kind: str, column: str, limit: Any, place: int, title: str, most: int, least: int
    ) -> None:
        loaded, work = self._session.loaded, self._session.work
        assert loaded is not None
        gone = {work.target, *columns_of(work.objective)}
        names = [
            each.name
            for each in loaded.profiles
            if least <= each.distinct <= most and each.name not in gone
        ]
        if column and column not in names:
            names.insert(0, column)
        with field(title):
            Dropdown(
                {"": "choose a column …", **{name: short(name, 40) for name in names}},
                column,
                partial(self._pick_column, kind, limit, place),
                label=f"{title} (column)",
                testid=f"{kind}-column-{place}",
                key=f"{kind}-column-{place}",
            )

    def _draw_of(self, limit: Parity | None, place: int) -> None:
        options = dict(_OF)
        if not has_classes(self._session.work.objective):
            del options["recall"]
        with field("what is compared"):
            Dropdown(
                options,
                limit.of if limit is not None else self._of,
                partial(self._pick_of, limit, place),
                label="What is compared between the groups",
                testid=f"parity-of-{place}",
                key=f"parity-of-{place}",
            )

    def _draw_number(
        self, kind: str, name: str, title: str, column: str, limit: Any, place: int
    ) -> None:
        value = None if limit is None else getattr(limit, name)
        text = "" if value is None else f"{100 * value if name in _PERCENT else value:.10g}"
        with field(title):
            NumberField(
                text,
                partial(self._write, kind, name, column, limit, place),
                testid=f"{name.replace('_', '-')}-{place}",
                key=f"{kind} {name} {place}",
                label=f"{title}, {short(column, 40)}",
                hint="any",
            ).classes("segment-number")

    def _draw_remove(self, kind: str, limit: Any, place: int) -> None:
        if limit is not None:
            press(
                "×",
                partial(self._replace, kind, place, None),
                label="Remove this limit",
                testid=f"remove-{kind}-{place}",
                key=f"remove-{kind}-{place}",
                classes="know-button know-cross",
            )

    # -- saying -----------------------------------------------------------------------------

    def _pick_column(self, kind: str, limit: Any, place: int, column: str) -> None:
        if limit is not None:
            self._replace(kind, place, replace(limit, column=column) if column else None)
            return
        self._columns[kind] = column
        self.draw()

    def _pick_of(self, limit: Parity | None, place: int, of: str) -> None:
        if limit is not None:
            self._replace("parities", place, replace(limit, of=of))
        else:
            self._of = of

    def _write(self, kind: str, name: str, column: str, limit: Any, place: int, text: str) -> None:
        """Set one number of a limit; a limit without any number is none."""
        made = PerSegment if kind == "segments" else Parity
        given = {} if limit is None else {f.name: getattr(limit, f.name) for f in fields(limit)}
        if limit is None:
            given = {"column": column, **({"of": self._of} if made is Parity else {})}
        given[name] = _number(text, name)
        numbers = [each for key, each in given.items() if key not in ("column", "of")]
        if all(each is None for each in numbers):
            self._replace(kind, place, None)
            return
        try:
            changed = made(**given)
        except InputError as error:
            self._complain(str(error))
            return
        self._replace(kind, place, changed)

    def _replace(self, kind: str, place: int, limit: PerSegment | Parity | None) -> None:
        before = list(getattr(self._session.work, kind))
        before[place : place + 1] = [] if limit is None else [limit]
        if limit is not None:
            self._columns[kind] = ""
        said: dict[str, Any] = {kind: tuple(before)}
        self._session.change(**said)
        self.draw()

    def _complain(self, sentence: str) -> None:
        self._error.set_text(sentence[:1].upper() + sentence[1:])
        self._error.set_visibility(bool(sentence))


def _number(text: str, name: str) -> Any:
    """What was written: nothing, a share written in per cent, or a number."""
    text = text.strip().removesuffix("%").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        return text  # refused with a sentence
    if name in _PERCENT:
        return round(value / 100, 12)
    return int(value) if value.is_integer() else value
