"""A feature as a chip that can be selected and dragged."""

from __future__ import annotations

from nicegui import ui

from opdt.rules import Op
from opdt.studio.web.panels.controls import named
from opdt.studio.web.panels.features import Features
from opdt.studio.web.panels.grouping import Taken
from opdt.studio.web.theme import short, words

_SIGNS = {Op.GE: "↑", Op.LT: "↓", Op.EQ: "=", Op.NE: "≠"}


class Chip(ui.element):
    """A feature, with signs for what is demanded of it.

    Parameters
    ----------
    features : Features
    taken : Taken
        The feature, and the place of the group in which it is shown.
    """

    def __init__(self, features: Features, taken: Taken) -> None:
        super().__init__("div")
        self._features = features
        self._name, self._place = taken
        index = str(features.loaded.names.index(self._name))
        place = "" if self._place is None else str(self._place)
        self.classes(f"know-chip {features.kind(self._name)}")
        self.props("role=button tabindex=0 draggable=true")
        named(
            self,
            label="",
            testid="feature" if self._place is None else "member",
            key=f"chip {place} {index}",
        )
        self.props["data-chip"] = index
        self.props["data-source"] = place
        with self:
            words("span", short(self._name), "name")
            self._signs = words("span", "", "marks").props("aria-hidden=true")
        self.show()

    def show(self) -> None:
        """Show what is demanded of the feature now."""
        work, name = self._features.work, self._name
        signs, told = [], [self._features.kind(name)]
        if name in work.directions:
            signs.append(_SIGNS[Op(work.directions[name])])
            told.append(f"only {work.directions[name]}")
        if name in work.required:
            signs.append("✓")
            told.append("must be used")
        if name in work.forbidden:
            told.append("must not be used")
        where = ""
        if self._place is not None:
            where = f" in group {short(list(work.groups)[self._place])}"
        self._signs.set_text(" ".join(signs))
        self.props["aria-label"] = f"{short(name)}{where}, {', '.join(told)}"
        self.props["title"] = f"{short(name)} ({', '.join(told)})"
        self.flag("forbidden", name in work.forbidden)

    def press(self, is_selected: bool) -> None:
        """Show whether it is selected."""
        self.props["aria-pressed"] = "true" if is_selected else "false"

    def flag(self, name: str, is_so: bool) -> None:
        """Set or take away one of its classes."""
        self.classes(add=name if is_so else "", remove="" if is_so else name)
