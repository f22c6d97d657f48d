"""Colours, style sheets and the small building blocks that all panels share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


def short(text: str, longest: int = 200) -> str:
    """The text, cut where it would only slow the browser."""
    return text if len(text) <= longest else text[:longest] + "…"


def _files(ending: str) -> list[Path]:
    return sorted(STATIC.glob(f"*.{ending}"))
