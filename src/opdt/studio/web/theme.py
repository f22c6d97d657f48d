"""Colours, style sheets and the small building blocks that all panels share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nicegui import app, ui
from nicegui.elements.mixins.text_element import TextElement

STATIC = Path(__file__).parent / "static"
COMPONENTS = STATIC / "components"
STATIC_URL = "/studio"
ACCENT = "#0b5cad"


def serve_static() -> None:
    """Serve the style sheets and scripts of the Studio."""
    app.add_static_files(STATIC_URL, STATIC, max_cache_age=0)


def add_head() -> None:
    """Load every style sheet and script in `static`, in the order of their names."""
    parts = [f'<link rel="stylesheet" href="{STATIC_URL}/{p.name}">' for p in _files("css")]
    parts += [f'<script src="{STATIC_URL}/{path.name}"></script>' for path in _files("js")]
    ui.add_head_html("\n".join(parts))
    ui.colors(primary=ACCENT)


@contextmanager
def panel(title: str, testid: str, *, step: int | None = None) -> Iterator[ui.element]:
    """A titled section of the page; a landmark for screen readers."""
    section = ui.element("section").classes("studio-panel")
    section.props["data-testid"] = testid
    section.props["aria-label"] = title
    with section:
        with ui.element("h2").classes("studio-title"):
            if step is not None:
                words("span", str(step), "studio-step").props("aria-hidden=true")
            words("span", title)
        yield section


@contextmanager
def field(title: str) -> Iterator[None]:
    """A control under its title."""
    with ui.element("div").classes("studio-field"):
        words("span", title)
        yield


def words(tag: str, text: str, classes: str = "") -> TextElement:
    """An element of HTML that holds `text`, which is never anything but text."""
    return TextElement(tag=tag, text=text).classes(classes)


class Dropdown(ui.element, component=COMPONENTS / "studio_select.js"):
    """A plain drop-down list of the browser's own: light, and every reader and key knows it.

    Parameters
    ----------
    options : mapping
        Key to what is shown; both may hold anything.
    value : str
        The key that is chosen now.
    pick : callable
        Called with the key that has been chosen; where it returns False, or what it awaits is,
        the list shows the earlier choice again.
    label : str
        For screen readers.
    """

    def __init__(
        self,
        options: Mapping[str, str],
        value: str,
        pick: Callable[[str], Any],
        *,
        label: str,
        testid: str,
    ) -> None:
        super().__init__()
        self._keys = list(options)
        self._pick = pick
        self.props["choices"] = list(options.values())
        self.props["place"] = self._keys.index(value) if self.has(value) else 0
        self.props["label"] = label
        self.props["testid"] = testid
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
        before, chosen = self.props["place"], int(event.args)
        self.props["place"] = chosen
        result = self._pick(self._keys[chosen])
        if inspect.isawaitable(result):
            result = await result
        if result is False and not self.is_deleted:
            self.props["place"] = before
            self.run_method("show", before)


dropdown = Dropdown  # read as a verb where nobody keeps the element


def _files(ending: str) -> list[Path]:
    return sorted(STATIC.glob(f"*.{ending}"))
