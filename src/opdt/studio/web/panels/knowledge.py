"""What the expert knows: groups of features, the structure of the rule, demands on features."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from opdt.studio.session import Session
from opdt.studio.web.panels.demands import DemandsPart
from opdt.studio.web.panels.features import FeaturePart, Features
from opdt.studio.web.panels.groups import GroupsPart
from opdt.studio.web.panels.structure_editor import StructurePart
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import panel, words


def knowledge_panel(session: Session) -> None:
    """Build the panel."""
    features = Features(session)
    with panel("What you know", "knowledge-panel", step=3):
        hint = words("p", "First open a table.", "studio-soft studio-small")
        whole = ui.element("div").classes("know")
        with whole:
            parts: list[FeaturePart] = [
                GroupsPart(features),
                StructurePart(features),
                DemandsPart(features),
            ]

    drawn: Any = None

    def draw(_: object = None) -> None:
        nonlocal drawn
        now = _knowledge(session)
        if now == drawn:  # such as while the price of an error is being moved
            return
        drawn = now
        hint.set_visibility(session.loaded is None)
        whole.set_visibility(session.loaded is not None)
        if session.loaded is not None:
            for part in parts:
                part.draw()

    def start(_: object) -> None:
        nonlocal drawn
        drawn = None
        for part in parts:
            part.forget()
        draw()

    draw()
    listen(session, "data", start)
    listen(session, "work", draw)


def _knowledge(session: Session) -> tuple[Any, ...]:
    """All that the panel shows."""
    work = session.work
    demands = (work.directions, work.required, work.forbidden)
    conditions = (work.once, work.subsets, work.missing_conditions)
    structure = (work.form, work.structure, work.groups)
    reading = (work.apart, work.label, work.roles, work.missing)
    return id(session.loaded), reading, structure, demands, conditions
