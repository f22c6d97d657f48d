"""The head of a group."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from opdt.studio.web.panels.controls import NumberField, press
from opdt.studio.web.theme import short, words


class GroupBox:
    """The head of a group: its name, which can be written, its size, and the way to delete it."""

    def __init__(
        self,
        zone: ui.element,
        place: int,
        name: str,
        size: int,
        rename: Callable[[str], None],
        delete: Callable[[int], None],
    ) -> None:
        self._zone = zone
        with ui.element("div").classes("know-head"):
            self._field = NumberField(
                name, rename, label="", testid="group-name", key=f"group-name {place}"
            )
            self._field.classes("know-name").props["title"] = "Click to rename"
            words("span", f"{size:,}", "studio-soft studio-small studio-number")
            self._used = words("span", "in the structure", "know-used studio-small")
            words("span", "", "studio-gap")
            self._delete = press(
                "×",
                lambda: delete(place),
                label="Delete",
                testid="delete-group",
                key=f"delete-group {place}",
                classes="know-button know-cross",
            )

    def show(self, name: str, *, is_used: bool) -> None:
        """Show the name that counts now, and whether the structure uses the group."""
        self._field.show(name)
        self._field.props["aria-label"] = f"Name of group {short(name)}"
        self._zone.props["aria-label"] = f"Group {short(name)}"
        self._delete.props["aria-label"] = f"Delete group {short(name)}"
        self._used.set_visibility(is_used)
