"""Components that draw what they are told in the browser.

What is told is one text of JSON: the browser replaces it as a whole, so nothing flickers, and
whatever names and values it holds are set as text by the component's template.
"""

from __future__ import annotations

from typing import Any

from nicegui import json, ui


class View(ui.element):
    """A component of the browser with one text of JSON as its state."""

    def __init__(self, **state: Any) -> None:
        super().__init__()
        self.show(**state)

    def show(self, **state: Any) -> None:
        """Draw another state; the same one costs nothing."""
        text = json.dumps(state)
        if self.props.get("state") != text:
            self.props["state"] = text
