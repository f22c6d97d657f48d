"""Demands on features: their direction, required and forbidden ones, and what conditions may be."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from opdt.rules import Op
from opdt.studio.web.panels.controls import Dropdown, Fold, NumberField, Tick, press
from opdt.studio.web.panels.features import Features
from opdt.studio.web.theme import short, words
from opdt.studio.work import Work

MOST_ROWS = 40  # demands that are shown
MOST_FOUND = 8
MOST_LISTED = 40  # features in a list; of more, one looks for a name
_USES = {"may": "may be used", "required": "must be used", "forbidden": "must not be used"}


class DemandsPart:
    """One row for each feature of which something is demanded, and a way to add one.

    Parameters
    ----------
    features : Features
    """

    def __init__(self, features: Features) -> None:
        self._features = features
        self._session = features.session
        self._fold = Fold("Demands", "demands")
        with self._fold.body:
            self._rows = ui.element("div")
            self._adder = ui.element("div").classes("studio-row know-adder")
            self._found = ui.element("div").classes("studio-row know-found")
            self._ticks = ui.element("div").classes("know-ticks")
        self.forget()

    def forget(self) -> None:
        """Start again with other data."""
        self._added: dict[str, None] = {}  # shown although nothing is demanded of them yet
        self._open = False  # whether features are offered
        self._drawn: Any = None
        self._offered: Any = None
        self._ticked: Any = None

    # -- drawing ----------------------------------------------------------------------------

    def draw(self) -> None:
        """Show the demands that count now; what can stay as it is does."""
        work = self._features.work
        shown = self._shown_features()
        now = (self._features.key, work.label, tuple(shown))
        if now != self._drawn:
            self._drawn = now
            self._draw_rows(shown)
        for name, (direction, use) in self._choices.items():
            direction.show(work.directions.get(name, ""))
            use.show(_use(work, name))
        self._draw_adder()
        if self._ticked != self._features.key:
            self._ticked = self._features.key
            self._draw_ticks()
        self._once.show(work.once)
        self._subsets.show(bool(work.subsets))
        self._missing.show(work.missing_conditions)
        n = len(self._demanded()) + work.once + bool(work.subsets) + work.missing_conditions
        self._fold.say("none yet" if not n else f"{n:,} demand{'s' if n > 1 else ''}")

    def _shown_features(self) -> list[str]:
        """Those with demands in the order of the table, after them those added."""
        demanded, names = self._demanded(), set(self._features.names)
        # A row that the user works on stays where it is, with demands or without.
        self._added = {name: None for name in self._added if name in names}
        return [*(n for n in demanded if n not in self._added), *self._added][:MOST_ROWS]

    def _demanded(self) -> list[str]:
        """Features of which something is demanded, in the order of the table."""
        work = self._features.work
        named = {*work.directions, *work.required, *work.forbidden}
        return [name for name in self._features.names if name in named]

    def _draw_rows(self, shown: list[str]) -> None:
        self._choices: dict[str, tuple[Dropdown, Dropdown]] = {}
        self._rows.clear()
        with self._rows:
            if not shown:
                text = "Say in which direction a feature counts, or that it must (not) be used."
                words("p", text, "studio-soft studio-small know-hint")
                return
            rows = ui.element("ul").classes("know-demands")
            rows.props["aria-label"] = "Demands"
            with rows:
                for name in shown:
                    self._choices[name] = self._draw_row(name)
            more = len({*self._demanded(), *self._added}) - len(shown)
            if more:
                words("p", f"and {more:,} features more", "studio-soft studio-small")

    def _draw_row(self, name: str) -> tuple[Dropdown, Dropdown]:
        work, index = self._features.work, self._features.loaded.names.index(name)
        with ui.element("li").classes("know-demand").props("data-testid=demand"):
            words("b", short(name), "name")
            direction = Dropdown(
                self._directions(name),
                work.directions.get(name, ""),
                partial(self._direct, name),
                label=f"Direction of {short(name)}",
                testid="direction",
                key=f"direction {index}",
            )
            use = Dropdown(
                _USES,
                _use(work, name),
                partial(self._set_use, name),
                label=f"Use of {short(name)}",
                testid="use",
                key=f"use {index}",
            )
            press(
                "×",
                partial(self._drop, name),
                label=f"Demand nothing of {short(name)}",
                testid="drop-demand",
                key=f"drop {index}",
                classes="know-button know-cross",
            )
        return direction, use

    def _directions(self, name: str) -> dict[str, str]:
        label = self._features.work.label
        more = "likely" if label is None else f"‘{short(str(label), 20)}’"
        if self._features.kind(name) == "numeric":
            return {
                "": "either way",
                str(Op.GE): f"≥ only: higher, more {more}",
                str(Op.LT): f"< only: lower, more {more}",
            }
        return {
            "": "either way",
            str(Op.EQ): "= only: to be of a category",
            str(Op.NE): "≠ only: not to be of it",
        }

    def _draw_adder(self) -> None:
        """A button that opens the features: few are listed, among many one looks for a name."""
        few = len(self._features.names) <= MOST_LISTED
        now = (self._features.key, self._open, tuple(self._free("")) if few else None)
        if now == self._offered:
            return
        self._offered = now
        self._adder.clear()
        self._found.clear()
        with self._adder:
            opener = press(
                "Cancel" if self._open else "+ Add a demand on …",
                self._turn,
                label="Add no demand" if self._open else "Add a demand on a feature",
                testid="add-demand",
                key="add-demand",
            )
            opener.props["aria-expanded"] = "true" if self._open else "false"
            if self._open and not few:
                NumberField(
                    "",
                    self._look_for,
                    label="Find the feature of the demand",
                    hint="Find a feature",
                    testid="find-demand",
                    key="find-demand",
                    live=True,
                ).classes("studio-search")
        if self._open and few:
            self._draw_found(self._free(""), MOST_LISTED)

    def _free(self, sought: str) -> list[str]:
        """The features of which nothing is demanded and whose names hold some letters."""
        taken = {*self._demanded(), *self._added}
        return [name for name in self._features.found(sought) if name not in taken]

    def _look_for(self, sought: str) -> None:
        self._found.clear()
        if sought.strip():
            self._draw_found(self._free(sought), MOST_FOUND)

    def _draw_found(self, found: list[str], most: int) -> None:
        with self._found:
            for name in found[:most]:
                press(
                    short(name, 40),
                    partial(self._add, name),
                    label=f"Add a demand on {short(name)}",
                    testid="demand-on",
                    key=f"demand-on {self._features.loaded.names.index(name)}",
                )
            more = len(found) - most
            if more > 0 or not found:
                text = f"and {more:,} more" if found else "No other feature has such a name."
                words("span", text, "studio-soft studio-small")

    def _draw_ticks(self) -> None:
        work, names = self._features.work, self._features.names
        no_level = all(self._features.kind(name) == "numeric" for name in names)
        none_missing = not any(self._features.loaded.profile(name).missing for name in names)
        self._ticks.clear()
        with self._ticks:
            self._once = Tick(
                "Each feature at most once",
                work.once,
                lambda value: self._say(once=value),
                testid="once",
                hint="no intervals",
            )
            self._subsets = Tick(
                "Several categories in one condition",
                bool(work.subsets),
                lambda value: self._say(subsets=value),
                testid="subsets",
                hint="no feature has categories" if no_level else "x is one of a, b",
            )
            self._missing = Tick(
                "Conditions on missing values",
                work.missing_conditions,
                lambda value: self._say(missing_conditions=value),
                testid="missing-conditions",
                hint="no value is missing" if none_missing else "x is missing, x is known",
            )

    # -- saying -----------------------------------------------------------------------------

    def _turn(self) -> None:
        self._open = not self._open
        self.draw()

    def _add(self, name: str) -> None:
        self._added[name] = None
        self._open = False
        self.draw()
        index = self._features.loaded.names.index(name)
        self._fold.run(f"knowledge.focus('direction {index}')")

    def _direct(self, name: str, op: str) -> None:
        self._added[name] = None
        directions = {n: d for n, d in self._features.work.directions.items() if n != name}
        self._say(directions=directions | ({name: op} if op else {}))

    def _set_use(self, name: str, use: str) -> None:
        self._added[name] = None
        work = self._features.work
        required = [n for n in work.required if n != name]
        forbidden = [n for n in work.forbidden if n != name]
        if use != "may":
            (required if use == "required" else forbidden).append(name)
        self._say(required=tuple(required), forbidden=tuple(forbidden))

    def _drop(self, name: str) -> None:
        self._added.pop(name, None)
        work = self._features.work
        self._say(
            directions={n: d for n, d in work.directions.items() if n != name},
            required=tuple(n for n in work.required if n != name),
            forbidden=tuple(n for n in work.forbidden if n != name),
        )
        self.draw()

    def _say(self, **said: Any) -> None:
        if not self._session.change(**said):
            self.draw()


def _use(work: Work, name: str) -> str:
    if name in work.required:
        return "required"
    return "forbidden" if name in work.forbidden else "may"
