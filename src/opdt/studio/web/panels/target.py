"""The question: which column holds the classes, which class to find, and what is held out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from opdt.report.formats import format_share
from opdt.studio.session import Session
from opdt.studio.tables import Loaded
from opdt.studio.web.panels.controls import Dropdown
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import field, panel, words

_SHARES = (0.0, 0.2, 0.3, 0.4, 0.5)
_BEST = "best over all classes"
_MOST_SHOWN = 12  # classes in the picture


def target_panel(session: Session) -> None:
    """Build the panel."""
    _TargetPanel(session)


class _TargetPanel:
    """Three lists and a picture; a list is made anew only when its choices are others.

    Whoever chooses by keys stays where they are.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shown: dict[str, Any] = {}
        with panel("Target", "target-panel", step=2):
            self._hint = words("p", "First open a table.", "studio-soft studio-small")
            with ui.element("div").classes("studio-row"):
                self._places = {name: ui.element("div") for name in ("target", "label", "share")}
            self._picture = ui.element("div")
        self._draw()
        listen(session, "data", self._draw)
        listen(session, "work", self._draw)

    def _draw(self, _: object = None) -> None:
        loaded, work = self._session.loaded, self._session.work
        self._hint.set_visibility(loaded is None)
        balance = () if loaded is None or work.target is None else loaded.balance(work.target)
        columns = {} if loaded is None else _columns(loaded, work.ignored)
        self._show("target", columns, work.target or "", self._draw_target)
        places = {each: str(place) for place, (each, _) in enumerate(balance)}
        self._show("label", balance, places.get(work.label, ""), self._draw_label)
        self._show("share", bool(balance), f"{work.held_out:g}", self._draw_share)
        if self._shown.get("picture") != (balance, work.label):
            self._shown["picture"] = (balance, work.label)
            self._picture.clear()
            with self._picture:
                _draw_balance(balance, work.label)

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

    def _draw_target(self, columns: dict[str, str], value: str) -> Dropdown:
        title = "Column of the classes"
        with field(title):
            return Dropdown(
                {"": "choose …", **columns},
                value,
                lambda name: self._session.change(target=name or None),
                label=title,
                testid="target",
            )

    def _draw_label(self, balance: tuple[tuple[Any, int], ...], value: str) -> Dropdown:
        classes = [each for each, _ in balance]
        with field("Class to find"):
            return Dropdown(
                {"": _BEST, **{str(place): str(each) for place, each in enumerate(classes)}},
                value,
                lambda key: self._session.change(label=classes[int(key)] if key else None),
                label="Class to find",
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


def _columns(loaded: Loaded, ignored: tuple[str, ...]) -> dict[str, str]:
    """All columns that are used; the likely ones, which hold few values, before the others."""
    used = [each for each in loaded.profiles if each.name not in ignored]
    used.sort(key=lambda each: not 2 <= each.distinct <= 20)
    return {each.name: each.name for each in used}
