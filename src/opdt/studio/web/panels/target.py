"""The question: which column holds the classes, which class to find, and what is held out."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from opdt.report.formats import format_share
from opdt.studio.session import Session
from opdt.studio.tables import Loaded
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import dropdown, field, panel, words

_SHARES = (0.0, 0.2, 0.3, 0.4, 0.5)
_BEST = "best over all classes"
_MOST_SHOWN = 12  # classes in the picture


def target_panel(session: Session) -> None:
    """Build the panel."""
    drawn: Any = None
    with panel("Target", "target-panel", step=2):
        body = ui.element("div")

    def draw(_: object = None) -> None:
        nonlocal drawn
        work = session.work
        now = (id(session.loaded), work.label, work.target, work.held_out, work.ignored)
        if now == drawn:
            return
        drawn = now
        body.clear()
        with body:
            if session.loaded is None:
                words("p", "First open a table.", "studio-soft studio-small")
            else:
                _draw(session, session.loaded)

    draw()
    listen(session, "data", draw)
    listen(session, "work", draw)


def _draw(session: Session, loaded: Loaded) -> None:
    work = session.work
    balance = () if work.label is None else loaded.balance(work.label)
    with ui.element("div").classes("studio-row"):
        with field("Column of the classes"):
            names = {"": "choose …", **_columns(loaded, work.ignored)}
            dropdown(
                names,
                work.label or "",
                lambda name: session.change(label=name or None),
                label="Column of the classes",
                testid="label",
            )
        if balance:
            classes = [each for each, _ in balance]
            with field("Class to find"):
                chosen = "" if work.target is None else str(classes.index(work.target))
                dropdown(
                    {"": _BEST, **{str(k): str(each) for k, each in enumerate(classes)}},
                    chosen,
                    lambda key: session.change(target=classes[int(key)] if key else None),
                    label="Class to find",
                    testid="target",
                )
            _draw_share(session)
    if balance:
        _draw_balance(balance, work.target)


def _draw_share(session: Session) -> None:
    share = session.work.held_out
    shares = {f"{each:g}": f"{100 * each:g} %" if each else "none" for each in {*_SHARES, share}}
    with field("Rows held out"):
        dropdown(
            dict(sorted(shares.items(), key=lambda pair: float(pair[0]))),
            f"{share:g}",
            lambda key: session.change(held_out=float(key)),
            label="Rows held out",
            testid="held-out",
        )


def _draw_balance(balance: tuple[tuple[Any, int], ...], target: Any) -> None:
    total = sum(rows for _, rows in balance)
    with ui.element("div").classes("studio-balance").props("data-testid=balance"):
        for each, rows in balance[:_MOST_SHOWN]:
            chosen = "chosen" if target is not None and each == target else ""
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
