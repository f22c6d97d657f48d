"""Small plain controls of the browser's own, which every key and screen reader knows.

A control that is drawn anew has the same `key`; `static/knowledge.js` then gives it the focus that
its forerunner had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

from nicegui import ui

from opdt.studio.web.theme import words

LONGEST = 120  # letters of a name; the rest would only slow the browser


def short(text: str, longest: int = LONGEST) -> str:
    """A name that fits on the page."""
    return text if len(text) <= longest else text[:longest] + "…"


def named(control: ui.element, *, label: str, testid: str, key: str) -> None:
    """Give a control its name for screen readers, for tests and for the focus."""
    control.props["aria-label"] = label
    control.props["data-testid"] = testid
    control.props["data-key"] = key


def press(
    text: str,
    click: Callable[[], Any],
    *,
    label: str,
    testid: str,
    key: str,
    classes: str = "know-button",
) -> ui.element:
    """A button with a few letters or a sign."""
    button = words("button", text, classes).props("type=button")
    named(button, label=label, testid=testid, key=key)
    if label != text:
        button.props["title"] = label
    button.on("click", lambda _: click(), js_handler="() => emit()")
    return button


def choice(
    options: Mapping[str, str],
    value: str,
    pick: Callable[[str], Any],
    *,
    label: str,
    testid: str,
    key: str,
    disabled: Set[str] = frozenset(),
    classes: str = "",
) -> ui.element:
    """A drop-down list; `pick` is called with the key of the option that has been chosen."""
    keys = list(options)
    box = ui.element("select").classes(f"studio-select {classes}")
    named(box, label=label, testid=testid, key=key)
    with box:
        for place, each in enumerate(keys):
            option = words("option", short(options[each]))
            option.props["value"] = str(place)
            option.props["selected"] = each == value
            option.props["disabled"] = each in disabled and each != value

    def picked(event: Any) -> None:
        place = number(event.args, len(keys))
        if place is not None:
            pick(keys[place])

    box.on("change", picked, js_handler="(event) => emit(event.target.value)")
    return box


def tick(
    text: str, value: bool, pick: Callable[[bool], Any], *, testid: str, hint: str = ""
) -> None:
    """A box to tick, with its words."""
    with ui.element("label").classes("know-tick"):
        box = ui.element("input").props("type=checkbox")
        named(box, label=text, testid=testid, key=testid)
        box.props["checked"] = value
        box.on(
            "change",
            lambda event: pick(event.args is True),
            js_handler="(event) => emit(event.target.checked)",
        )
        words("span", text)
        if hint:
            words("span", hint, "studio-soft studio-small")


def write(
    value: str,
    written: Callable[[str], Any],
    *,
    label: str,
    testid: str,
    key: str,
    hint: str = "",
    classes: str = "",
    live: bool = False,
) -> ui.element:
    """A field to write in; `written` is told when it is left, or with every letter if `live`."""
    box = ui.element("input").classes(f"studio-input {classes}")
    box.props("type=search" if live else "type=text maxlength=60 spellcheck=false")
    box.props["autocomplete"] = "off"
    box.props["value"] = value
    box.props["placeholder"] = hint
    named(box, label=label, testid=testid, key=key)
    box.on(
        "input" if live else "change",
        lambda event: written(str(event.args)),
        js_handler="(event) => emit(event.target.value)",
        throttle=0.15 if live else 0.0,
        leading_events=not live,
    )
    return box


def number(sent: Any, below: int) -> int | None:
    """A whole number from 0 that the browser has sent, or None where it is none."""
    text = str(sent)
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        return None
    return int(text) if int(text) < below else None


class Fold:
    """A part of a panel that can be folded away; its head says in a few words what is inside."""

    def __init__(self, title: str, testid: str) -> None:
        self._details = ui.element("details").classes("know-part").props("open")
        self._details.props["data-testid"] = testid
        with self._details:
            with ui.element("summary"):
                words("h3", title)
                self._state = words("span", "", "know-state studio-soft studio-small")
                self._state.props["data-testid"] = f"{testid}-state"
            self.body = ui.element("div").classes("know-body")

    def say(self, state: str) -> None:
        """Say in the head what is inside."""
        self._state.set_text(state)
