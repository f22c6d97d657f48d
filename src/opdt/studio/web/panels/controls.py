"""Small plain controls of the browser's own, which every key and screen reader knows.

A control that is drawn anew has the same `key`; `static/knowledge.js` then gives it the focus that
its forerunner had.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Set
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from opdt.studio.web.theme import COMPONENTS, short, words


def named(control: ui.element, *, label: str, testid: str, key: str | None) -> None:
    """Give a control its name for screen readers, for tests and, if it has a key, for the focus."""
    control.props["aria-label"] = label
    control.props["data-testid"] = testid
    if key is not None:
        control.props["data-key"] = key


def press(
    text: str,
    click: Callable[[], Any],
    *,
    label: str,
    testid: str,
    key: str,
    classes: str = "know-button",
) -> TextElement:
    """A button with a few letters or a sign."""
    button = words("button", text, classes).props("type=button")
    named(button, label=label, testid=testid, key=key)
    if label != text:
        button.props["title"] = label
    button.on("click", lambda _: click(), js_handler="() => emit()")
    return button


class Dropdown(ui.element, component=COMPONENTS / "studio_select.js"):
    """A drop-down list; one element, however many choices it has.

    Parameters
    ----------
    options : mapping
        Key to what is shown; both may hold anything.
    value : str
        The key that is chosen now.
    pick : callable
        Called with the key that has been chosen; where it returns False, or what it awaits is,
        the list shows the earlier choice again.
    label, testid, key : str
        See `named`.
    disabled : set of str
        Keys that cannot be chosen.
    """

    def __init__(
        self,
        options: Mapping[str, str],
        value: str,
        pick: Callable[[str], Any],
        *,
        label: str,
        testid: str,
        key: str | None = None,
        disabled: Set[str] = frozenset(),
    ) -> None:
        super().__init__()
        self._keys = list(options)
        self._pick = pick
        self.props["choices"] = [short(each) for each in options.values()]
        self.props["place"] = self._keys.index(value) if self.has(value) else 0
        self.props["closed"] = [k for k, each in enumerate(options) if each in disabled - {value}]
        named(self, label=label, testid=testid, key=key)
        self.on("pick", self._picked)

    def has(self, value: str) -> bool:
        """Whether the list offers a key."""
        return value in self._keys

    def show(self, value: str) -> None:
        """Choose a key without telling anyone."""
        place = self._keys.index(value)
        if place != self.props["place"]:
            self.props["place"] = place

    async def _picked(self, event: Any) -> None:
        before, chosen = self.props["place"], number(event.args, len(self._keys))
        if chosen is None:
            return
        self.props["place"] = chosen
        result = self._pick(self._keys[chosen])
        if inspect.isawaitable(result):
            result = await result
        if result is False and not self.is_deleted:
            self.props["place"] = before
            self.run_method("show", before)


dropdown = Dropdown  # read as a verb where nobody keeps the element


class Tick:
    """A box to tick, with its words; `pick` is told whether it is ticked."""

    def __init__(
        self, text: str, value: bool, pick: Callable[[bool], Any], *, testid: str, hint: str = ""
    ) -> None:
        self._pick = pick
        self._shown = value
        with ui.element("label").classes("know-tick"):
            self._box = ui.element("input").props("type=checkbox")
            named(self._box, label=text, testid=testid, key=testid)
            self._box.props["checked"] = value
            words("span", text)
            words("span", hint, "studio-soft studio-small")
        self._box.on("change", self._picked, js_handler="(event) => emit(event.target.checked)")

    def _picked(self, event: Any) -> None:
        self._shown = event.args is True
        self._pick(self._shown)

    def show(self, value: bool) -> None:
        """Show whether it is ticked; nothing is done where the user has just done it."""
        if value != self._shown:
            self._shown = value
            script = f"getHtmlElement({self._box.id}).checked = {str(value).lower()}"
            self._box.client.run_javascript(script)


class NumberField(ui.element):
    """A field to write in; `written` is told when it is left, or with every letter if `live`."""

    def __init__(
        self,
        value: str,
        written: Callable[[str], Any],
        *,
        testid: str,
        key: str,
        label: str,
        hint: str = "",
        live: bool = False,
    ) -> None:
        super().__init__("input")
        self._written = written
        self._shown = value
        self.classes("studio-input")
        self.props("type=search" if live else "type=text maxlength=60 spellcheck=false")
        self.props["autocomplete"] = "off"
        # Not "value", which would be set again while someone writes, whenever the page changes.
        self.props["defaultValue"] = value
        self.props["placeholder"] = hint
        named(self, label=label, testid=testid, key=key)
        self.on(
            "input" if live else "change",
            self._changed,
            js_handler="(event) => emit(event.target.value)",
            throttle=0.15 if live else 0.0,
            leading_events=not live,
        )

    async def _changed(self, event: Any) -> None:
        self._shown = str(event.args)
        result = self._written(self._shown)
        if inspect.isawaitable(result):
            await result

    def show(self, value: str) -> None:
        """Show another text; nothing is done where the user has just written it."""
        if value != self._shown:
            self._shown = value
            self.client.run_javascript(f"getHtmlElement({self.id}).value = {json.dumps(value)}")


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

    def run(self, script: str) -> None:
        """Run a script on the page; the control that asks for it may be gone by now."""
        self.body.client.run_javascript(script)

    def say(self, state: str) -> None:
        """Say in the head what is inside."""
        self._state.set_text(state)
