"""One column of the table: its name, the role it has and why, and what it holds."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from nicegui import run, ui

from opdt.errors import OpdtError
from opdt.report.formats import format_count
from opdt.studio.profiles import Profile
from opdt.studio.readings import ORDERED
from opdt.studio.session import Session
from opdt.studio.tables import Loaded
from opdt.studio.web.panels.controls import Dropdown, NumberField
from opdt.studio.web.theme import short, words
from opdt.table import Role
from opdt.table.roles import ColumnPlan

MOST_REMARKS = 3


async def say_reading(session: Session, **said: Any) -> bool:
    """Change roles or missing values; a long column is read again on a thread."""
    loaded, work = session.loaded, session.work
    if loaded is None:
        return False
    with suppress(OpdtError):  # which is told when it is said
        after = work.change(**said)
        await run.io_bound(loaded.plan_for, after.roles, after.missing)
    return session.change(**said)


class ColumnRow:
    """A row of the list of columns, for a feature with a list of the roles it could have."""

    def __init__(
        self, session: Session, loaded: Loaded, name: str, *, is_target: bool = False
    ) -> None:
        self._session, self._loaded, self._name = session, loaded, name
        self._shown: tuple[Any, ...] = ()
        self._box: Dropdown | None = None
        self._order: NumberField | None = None
        self._row = ui.element("tr")
        self._row.props["data-testid"] = "column"
        with self._row:
            with ui.element("th").classes("name").props("scope=row"):
                _draw_name(short(name))
                self._counts = ui.element("div").classes("studio-small studio-counts")
            with ui.element("td").classes("kind"):
                if is_target:
                    words("span", "the target", "studio-badge")
                else:
                    self._box = self._draw_roles()
                self._under = ui.element("div")
            self._content = ui.element("td")
        self.show()

    def _draw_roles(self) -> Dropdown:
        choices = dict(self._loaded.readings.choices(self._name))
        chosen = self._role
        choices.setdefault(chosen, chosen)
        return Dropdown(
            choices,
            chosen,
            self._read_as,
            label=f"Read {short(self._name)} as",
            testid="kind",
        )

    @property
    def _plan(self) -> ColumnPlan:
        work = self._session.work
        role = None if self._box is None else work.roles.get(self._name)
        return self._loaded.readings.plan(self._name, role, work.missing)

    @property
    def _role(self) -> str:
        """The role that is chosen, or suggested; an order is written out below it."""
        said = self._session.work.roles.get(self._name) or str(self._plan.role)
        return ORDERED if said.startswith(ORDERED) else said

    def show(self) -> bool:
        """Show what counts now; the list stays, so the focus does. Whether the list has it."""
        plan = self._plan
        if self._box is not None:
            if not self._box.has(self._role):
                return False
            self._box.show(self._role)
        off = not plan.is_used and plan.role is not Role.CONSTANT and self._box is not None
        self._row.classes(add="studio-off") if off else self._row.classes(remove="studio-off")
        shown = plan, self._session.work.roles.get(self._name)
        if shown != self._shown:
            self._shown = shown
            self._draw(plan)
        return True

    def _draw(self, plan: ColumnPlan) -> None:
        profile = self._loaded.readings.profile(plan)
        self._counts.clear()
        with self._counts:
            gone = f"{profile.missing:,} missing" if profile.missing else ""
            words("span", _values(profile.distinct) + ("," if gone else ""), "studio-soft")
            words("span", gone, "studio-missing")
        self._content.clear()
        with self._content:
            _draw_content(profile)
        self._under.clear()
        with self._under:
            if self._box is not None:
                self._draw_why(plan)

    def _draw_why(self, plan: ColumnPlan) -> None:
        said = self._session.work.roles.get(self._name, "")
        if said.startswith(f"{ORDERED}:"):
            self._order = order = NumberField(
                said.removeprefix(f"{ORDERED}:"),
                self._put_in_order,
                testid="order",
                key=f"order {self._name}",
                label=f"Levels of {short(self._name)} from the lowest to the highest",
            )
            order.props("maxlength=400").classes("studio-order")
        lines = plan.remarks() or [plan.why]
        if plan.why == "asked for":
            lines = ["your choice", *(line for line in plan.remarks() if plan.is_used)]
        for line in lines[:MOST_REMARKS]:
            tone = "studio-missing" if line.startswith("warning:") else "studio-soft"
            words("div", short(line.removeprefix("warning: "), 160), f"studio-why {tone}").props(
                "data-testid=why"
            )

    async def _put_in_order(self, text: str) -> None:
        """Take another order; without one, the column is what its content suggests."""
        before = self._session.work.roles.get(self._name, "")
        suggested = str(self._loaded.readings.suggested(self._name).role)
        said = await self._say(f"{ORDERED}:{text}" if "<" in text else suggested)
        if not said and self._order is not None:
            self._order.show(before.removeprefix(f"{ORDERED}:"))

    async def _read_as(self, role: str) -> bool:
        return await self._say(self._loaded.readings.order(self._name) if role == ORDERED else role)

    async def _say(self, role: str) -> bool:
        roles = {n: r for n, r in self._session.work.roles.items() if n != self._name}
        suggested = self._loaded.readings.suggested(self._name)
        # A column that would not be used is only used where it is said, and the other way round.
        if role != str(suggested.role) or not (suggested.is_used or role == Role.CONSTANT):
            roles[self._name] = role
        return await say_reading(self._session, roles=roles)


def _draw_name(name: str) -> None:
    """A name that may be broken after an underscore."""
    *parts, last = name.split("_", 8)
    with ui.element("div"):
        for part in parts:
            words("span", f"{part}_")
            ui.element("wbr")
        words("span", last)


def _draw_content(profile: Profile) -> None:
    """A small picture of the values, and the least, middle and largest or the most frequent."""
    if profile.kind == "numeric":
        with ui.element("div").classes("studio-holds"):
            _draw_histogram(profile)
            spread = " · ".join(dict.fromkeys((profile.low, profile.median, profile.high)))
            words("span", spread, "studio-soft studio-number").props(
                "title='least · median · largest'"
            )
        return
    total = max(1, sum(profile.histogram))
    with ui.element("div").classes("studio-holds"):
        with ui.element("div").classes("studio-levels"):
            for level, rows in profile.levels[:2]:
                with ui.element("div").classes("studio-level"):
                    ui.element("i").style(f"width: {100 * rows / total:.1f}%")
                    words("span", f"{short(level, 40)}")
        if profile.distinct > 2:
            more = f"and {format_count(profile.distinct - 2)} more"
            words("span", more, "studio-soft studio-small")


def _draw_histogram(profile: Profile) -> None:
    """Bars as one path, in a box of 12 by 4 units per bar's width."""
    counts = profile.histogram or (0,)
    top, width = max(1, *counts), 96 / len(counts)
    path = "".join(
        f"M{k * width:.1f} 24v-{max(1.0 if count else 0.0, 23 * count / top):.1f}"
        f"h{width - 1:.1f}V24z"
        for k, count in enumerate(counts)
    )
    picture = ui.element("svg").classes("studio-histogram")
    picture.props("viewBox='0 0 96 24' preserveAspectRatio=none role=img")
    picture.props["aria-label"] = f"{len(counts)} bars from {profile.low} to {profile.high}"
    with picture:
        ui.element("path").props["d"] = path


def _values(distinct: int) -> str:
    return "1 value" if distinct == 1 else f"{distinct:,} values"
