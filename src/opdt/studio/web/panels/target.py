"""The question: what the rule should be best at, which column is the target, what is held out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from opdt.analysis.ranking import has_classes
from opdt.objectives import TargetKind
from opdt.report.formats import format_share
from opdt.studio.best_in import columns_of, needs_label, target_of
from opdt.studio.questions import left_out
from opdt.studio.session import Session
from opdt.studio.tables import Loaded
from opdt.studio.web.panels.controls import Dropdown
from opdt.studio.web.panels.objective import BestInChoice, ObjectiveFields, rarest
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import field, panel, words
from opdt.studio.work import Work

_SHARES = (0.0, 0.2, 0.3, 0.4, 0.5)
_BEST = "best over all classes"
_MOST_SHOWN = 12  # classes in the picture
_TITLES = {
    TargetKind.CLASSES: "Column of the classes",
    TargetKind.NUMBERS: "Column of the numbers",
}


def target_panel(session: Session) -> None:
    """Build the panel."""
    _TargetPanel(session)


class _TargetPanel:
    """Lists and a picture; a list is made anew only when its choices are others.

    Whoever chooses by keys stays where they are.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shown: dict[str, Any] = {}
        with panel("Target", "target-panel", step=2):
            self._hint = words("p", "First open a table.", "studio-soft studio-small")
            self._body = ui.element("div").classes("target-body")
        with self._body:
            with field("What the rule should be best at"):
                self._best_in = BestInChoice(session)
            with ui.element("div").classes("studio-row"):
                self._places = {name: ui.element("div") for name in ("target", "label", "share")}
            self._fields = ObjectiveFields(session)
            self._left_out = words("p", "", "studio-soft studio-small")
            self._left_out.props["data-testid"] = "left-out"
            self._picture = ui.element("div")
        self._draw()
        for topic in ("data", "work", "refusal"):
            listen(session, topic, self._draw)

    def _draw(self, _: object = None) -> None:
        loaded, work = self._session.loaded, self._session.work
        self._hint.set_visibility(loaded is None)
        self._body.set_visibility(loaded is not None)
        balance: tuple[tuple[Any, int], ...] = ()
        if loaded is not None and work.target is not None and has_classes(work.objective):
            balance = loaded.balance(work.target)
        columns = {} if loaded is None else _columns(loaded, work)
        title = _TITLES.get(target_of(work.objective), "")
        self._best_in.show()
        self._show("target", (title, columns) if title and columns else (), work.target or "",
                   self._draw_target)  # fmt: skip
        places = {each: str(place) for place, (each, _) in enumerate(balance)}
        must = needs_label(work.objective)
        self._show("label", (balance, must) if balance else (), places.get(work.label, ""),
                   self._draw_label)  # fmt: skip
        self._show("share", loaded is not None, f"{work.held_out:g}", self._draw_share)
        self._fields.draw()
        self._draw_picture(loaded, balance)

    def _draw_picture(self, loaded: Loaded | None, balance: tuple[tuple[Any, int], ...]) -> None:
        work = self._session.work
        read = (id(loaded), work.target, columns_of(work.objective))
        if self._shown.get("left out") != read:  # counted once, not whenever a slider moves
            self._shown["left out"] = read
            missing = 0 if loaded is None else left_out(loaded, work)
            self._left_out.set_text(f"{missing:,} rows without a value there are left out.")
            self._left_out.set_visibility(bool(missing))
        shown = (id(loaded), balance, work.label, work.target)
        if self._shown.get("picture") == shown:
            return
        self._shown["picture"] = shown
        self._picture.clear()
        with self._picture:
            _draw_balance(balance, work.label)
            if loaded is not None and target_of(work.objective) is TargetKind.NUMBERS:
                _draw_numbers(loaded, work.target)

    def _show(
        self, name: str, choices: Any, value: str, draw: Callable[[Any, str], Dropdown]
    ) -> None:
        """Show a value in a list, which is made anew where its choices have changed."""
        known, box = self._shown.get(name, (None, None))
        if box is not None and known == choices and box.has(value):
            box.show(value)
            return
        self._places[name].clear()
        if choices:
            with self._places[name]:
                box = draw(choices, value)
        self._shown[name] = (choices, box if choices else None)

    def _draw_target(self, choices: tuple[str, dict[str, str]], value: str) -> Dropdown:
        title, columns = choices
        with field(title):
            return Dropdown(
                {"": "choose …", **columns},
                value,
                self._pick_target,
                label=title,
                testid="target",
            )

    def _pick_target(self, name: str) -> bool:
        session, said = self._session, {}
        if name and needs_label(session.work.objective) and session.loaded is not None:
            classes = session.loaded.levels_of(name, _MOST_SHOWN)
            if classes is not None and len(classes) > 1:
                said = {"label": rarest(session.loaded, name)}
        return session.change(target=name or None, **said)

    def _draw_label(self, choices: Any, value: str) -> Dropdown:
        balance, must = choices
        classes = [each for each, _ in balance]
        first = {} if must and value else {"": "choose …" if must else _BEST}
        title = "Class that brings the benefit" if must else "Class to find"
        with field(title):
            return Dropdown(
                {**first, **{str(place): str(each) for place, each in enumerate(classes)}},
                value,
                lambda key: self._session.change(label=classes[int(key)] if key else None),
                label=title,
                testid="label",
            )

    def _draw_share(self, _: Any, value: str) -> Dropdown:
        shares = sorted({*_SHARES, float(value)})
        with field("Rows held out"):
            return Dropdown(
                {f"{each:g}": f"{100 * each:g} %" if each else "none" for each in shares},
                value,
                lambda key: self._session.change(held_out=float(key)),
                label="Rows held out",
                testid="held-out",
            )


def _draw_numbers(loaded: Loaded, target: str | None) -> None:
    """What the numbers are, in a line."""
    if target is None:
        return
    found = loaded.readings.profile(loaded.readings.suggested(target))
    text = f"From {found.low} to {found.high}; half of the rows are at most {found.median}."
    words("p", text, "studio-soft studio-small").props("data-testid=numbers")


def _draw_balance(balance: tuple[tuple[Any, int], ...], label: Any) -> None:
    total = sum(rows for _, rows in balance)
    if not balance:
        return
    with ui.element("div").classes("studio-balance").props("data-testid=balance"):
        for each, rows in balance[:_MOST_SHOWN]:
            chosen = "chosen" if label is not None and each == label else ""
            with ui.element("div").classes(f"studio-class {chosen}"):
                words("span", str(each), "studio-cut")
                with ui.element("div").classes("track").props("aria-hidden=true"):
                    ui.element("i").style(f"width: {100 * rows / total:.2f}%")
                words("span", f"{rows:,} rows", "studio-number")
                words("span", format_share(rows / total), "studio-number studio-soft")
    if len(balance) > _MOST_SHOWN:
        more = f"and {len(balance) - _MOST_SHOWN} classes more"
        words("p", more, "studio-soft studio-small")


def _columns(loaded: Loaded, work: Work) -> dict[str, str]:
    """All columns that can be the target; those that hold few values first where it has classes."""
    used = [each for each in loaded.profiles if each.name not in work.ignored]
    if not has_classes(work.objective):
        return {each.name: each.name for each in used if loaded.is_number(each.name)}
    used.sort(key=lambda each: not 2 <= each.distinct <= 20)
    return {each.name: each.name for each in used}
