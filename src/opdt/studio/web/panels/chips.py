"""A feature as a chip that can be selected and dragged."""

from __future__ import annotations

from nicegui import ui

from opdt.rules import Op
from opdt.studio.web.panels.controls import named, short
from opdt.studio.web.panels.features import Features
from opdt.studio.web.panels.grouping import Taken
from opdt.studio.web.theme import words

_SIGNS = {Op.GE: "↑", Op.LT: "↓", Op.EQ: "=", Op.NE: "≠"}


def draw_chip(features: Features, taken: Taken, *, is_grouped: bool = False) -> ui.element:
    """Draw a feature with signs for what is demanded of it; `is_grouped` draws it in the back."""
    work, (name, group) = features.work, taken
    signs, told = [], [features.kind(name)]
    if name in work.directions:
        signs.append(_SIGNS[Op(work.directions[name])])
        told.append(f"only {work.directions[name]}")
    if name in work.required:
        signs.append("✓")
        told.append("must be used")
    if name in work.forbidden:
        told.append("must not be used")
    chip = ui.element("div").classes(f"know-chip {features.kind(name)}")
    chip.classes(
        f"{'grouped' if is_grouped else ''} {'forbidden' if name in work.forbidden else ''}"
    )
    chip.props("role=button tabindex=0 draggable=true")
    index = str(features.loaded.names.index(name))
    place = "" if group is None else str(list(work.groups).index(group))
    where = "" if group is None else f" in group {short(group)}"
    named(
        chip,
        label=f"{short(name)}{where}, {', '.join(told)}",
        testid="feature" if group is None else "member",
        key=f"chip {place} {index}",
    )
    chip.props["title"] = f"{short(name)} ({', '.join(told)})"
    chip.props["data-chip"] = index
    chip.props["data-source"] = place
    with chip:
        words("span", short(name), "name")
        if signs:
            words("span", " ".join(signs), "marks").props("aria-hidden=true")
    return chip
