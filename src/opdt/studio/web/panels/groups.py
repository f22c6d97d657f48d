"""Named groups of features, filled by dragging or by choosing from a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nicegui import run, ui

from opdt.studio.web.panels.chips import draw_chip
from opdt.studio.web.panels.controls import Choice, Fold, number, press, short, write
from opdt.studio.web.panels.features import BUILT_IN, Features
from opdt.studio.web.panels.grouping import Taken, new_name, put
from opdt.studio.web.panels.suggestions import MAX_FEATURES, suggested_groups
from opdt.studio.web.theme import words

PAGE = 24  # features that are shown at a time, of the table and of each group
MAX_GROUPS = 40
_NEW = "+"  # a choice in the list of groups, where names have "=" before them


class GroupsPart:
    """The features as chips, and the groups as boxes of them.

    Parameters
    ----------
    features : Features
    """

    def __init__(self, features: Features) -> None:
        self._features = features
        self._session = features.session
        self._chips: dict[Taken, ui.element] = {}
        self._fold = Fold("Groups", "groups")
        with self._fold.body:
            self._top = ui.element("div").classes("studio-row know-tools")
            self._pool = self._zone(
                "know-pool", lambda taken: self._move(taken, None), "pool", "All features"
            )
            self._bar = ui.element("div").classes("studio-row know-bar")
            self._bar.props("role=toolbar data-testid=selection aria-label='Selected features'")
            self._list = ui.element("div").classes("know-groups")
        self.forget()

    def forget(self) -> None:
        """Start again with other data."""
        self._sought = ""
        self._page = 0
        self._selected: dict[Taken, None] = {}
        self._note = ""
        self._drawn: Any = None
        self._tools: Any = None

    # -- drawing ----------------------------------------------------------------------------

    def draw(self) -> None:
        """Show the features and groups that count now."""
        work = self._features.work
        now = (
            self._features.key,
            (work.groups, work.directions, work.required, work.forbidden, work.structure.group),
            (self._sought, self._page, self._note),
        )
        if now == self._drawn:
            return
        self._drawn = now
        own = len(work.groups)
        self._fold.say("none yet" if not own else f"{own} of your own")
        self._keep_selection()
        self._chips.clear()
        self._draw_tools()
        self._draw_pool()
        self._draw_bar()
        self._draw_groups()

    def _draw_tools(self) -> None:
        """The search stands while someone writes in it."""
        many = len(self._features.names)
        now = (self._features.key, many > PAGE)
        if now == self._tools:
            return
        self._tools = now
        self._top.clear()
        with self._top:
            if many > PAGE:
                write(
                    self._sought,
                    self._look_for,
                    label="Find a feature",
                    hint="Find a feature",
                    testid="find-feature",
                    key="find-feature",
                    classes="studio-search",
                    live=True,
                )
            words(
                "span",
                "Drag features into a group, or select them and choose one.",
                "studio-soft studio-small know-hint",
            )
            if many <= MAX_FEATURES:
                press(
                    "Suggest groups",
                    self._suggest,
                    label="Suggest groups of features that go together",
                    testid="suggest-groups",
                    key="suggest-groups",
                )

    def _draw_pool(self) -> None:
        found = self._features.found(self._sought)
        last = max(0, (len(found) - 1) // PAGE)
        self._page = min(self._page, last)
        grouped = {each for group in self._features.work.groups.values() for each in group}
        self._pool.clear()
        with self._pool:
            for name in found[self._page * PAGE : (self._page + 1) * PAGE]:
                self._draw_chip((name, None), is_grouped=name in grouped)
            if not found:
                words("span", "No feature has such a name.", "studio-soft studio-small")
            if last:
                self._draw_pages(len(found), last)

    def _draw_pages(self, n_found: int, last: int) -> None:
        first = self._page * PAGE
        with ui.element("div").classes("studio-row know-pages"):
            for sign, page, label in (
                ("‹", self._page - 1, "Previous features"),
                ("›", self._page + 1, "Next features"),
            ):
                testid = label.lower().replace(" ", "-")
                button = press(
                    sign,
                    partial(self._turn, page),
                    label=label,
                    testid=testid,
                    key=testid,
                )
                button.props["disabled"] = not 0 <= page <= last
            text = f"{first + 1:,} to {min(first + PAGE, n_found):,} of {n_found:,} features"
            words("span", text, "studio-soft studio-small").props("data-testid=feature-range")
            press(
                f"Select all {n_found:,}",
                self._select_found,
                label=f"Select all {n_found:,} features that are found",
                testid="select-found",
                key="select-found",
            )

    def _draw_chip(self, taken: Taken, *, is_grouped: bool = False) -> None:
        chip = draw_chip(self._features, taken, is_grouped=is_grouped)
        chip.on("click", lambda _: self._select(taken), js_handler="() => emit()")
        chip.props["aria-pressed"] = "true" if taken in self._selected else "false"
        self._chips[taken] = chip

    def _draw_bar(self) -> None:
        self._bar.clear()
        self._bar.set_visibility(bool(self._selected) or bool(self._note))
        with self._bar:
            if self._note:
                words("span", self._note, "studio-small").props("role=status data-testid=note")
            if not self._selected:
                return
            first = short(next(iter(self._selected))[0], 30)
            n = len(self._selected)
            words("b", first if n == 1 else f"{n:,} selected").props("role=status")
            inside = any(source is not None for _, source in self._selected)
            options = {"": "move to …" if inside else "put into …"}
            options |= {f"={name}": name for name in self._features.work.groups}
            Choice(
                options | {_NEW: "a new group"},
                "",
                self._put_selected,
                label="Move the selected features to a group",
                testid="move-to",
                key="move-to",
            )
            if inside:
                press(
                    "Take out",
                    lambda: self._move(list(self._selected), None),
                    label="Take the selected features out of their group",
                    testid="take-out",
                    key="take-out",
                )
            press(
                "Clear",
                self._clear_selection,
                label="Clear the selection",
                testid="clear-selection",
                key="clear-selection",
            )

    def _draw_groups(self) -> None:
        sizes = self._features.sizes()
        self._list.clear()
        with self._list:
            for name in self._features.work.groups:
                self._draw_group(name)
            with self._zone("know-new", self._make, "new-group-zone", "New group"):
                press(
                    "+ New group",
                    lambda: self._make([]),
                    label="New group",
                    testid="new-group",
                    key="new-group",
                )
                words("span", "or drop features here", "studio-soft studio-small know-hint")
            with ui.element("div").classes("studio-row know-built-in"):
                words("span", "Always there:", "studio-soft studio-small")
                for name, meaning in BUILT_IN.items():
                    badge = ui.element("span").classes("know-fixed")
                    badge.props["data-testid"] = f"group-{name}"
                    badge.props["title"] = meaning
                    with badge:
                        words("b", name)
                        words("span", f"{sizes[name]:,}", "studio-soft studio-number")

    def _draw_group(self, name: str) -> None:
        work = self._features.work
        members = work.groups[name]
        index = list(work.groups).index(name)
        found = self._features.found(self._sought, members)
        zone = self._zone(
            "know-group", lambda taken: self._move(taken, name), "group", f"Group {short(name)}"
        )
        zone.props["role"] = "group"
        with zone:
            with ui.element("div").classes("know-head"):
                write(
                    name,
                    lambda text: self._rename(name, text),
                    label=f"Name of group {short(name)}",
                    testid="group-name",
                    key=f"group-name {index}",
                    classes="know-name",
                )
                words("span", f"{len(members):,}", "studio-soft studio-small studio-number")
                if name in work.structure.group:
                    words("span", "in the structure", "know-used studio-small")
                words("span", "", "studio-gap")
                press(
                    "×",
                    lambda: self._delete(name),
                    label=f"Delete group {short(name)}",
                    testid="delete-group",
                    key=f"delete-group {index}",
                    classes="know-button know-cross",
                )
            with ui.element("div").classes("know-members"):
                for member in found[:PAGE]:
                    self._draw_chip((member, name))
                if not members:
                    words("span", "Drop features here.", "studio-soft studio-small")
                elif len(found) < len(members) or len(found) > PAGE:
                    hidden = len(members) - min(PAGE, len(found))
                    words("span", f"and {hidden:,} more", "studio-soft studio-small")

    def _zone(
        self, classes: str, drop: Callable[[list[Taken]], None], testid: str, label: str
    ) -> ui.element:
        """A place to which features can be dragged."""
        zone = ui.element("div").classes(f"know-zone {classes}").props("data-zone")
        zone.props["data-testid"] = testid
        zone.props["aria-label"] = label

        def dropped(event: Any) -> None:
            if taken := self._taken(event.args):
                drop(taken)

        zone.on("featuredrop", dropped, js_handler="(event) => emit(event.detail)")
        return zone

    # -- selecting --------------------------------------------------------------------------

    def _keep_selection(self) -> None:
        """Features that are no longer where they were selected are not selected any more."""
        groups, names = self._features.work.groups, set(self._features.names)
        self._selected = {
            (name, source): None
            for name, source in self._selected
            if name in (names if source is None else groups.get(source, ()))
        }

    def _select(self, taken: Taken) -> None:
        self._note = ""
        if taken in self._selected:
            del self._selected[taken]
        else:
            self._selected[taken] = None
        self._show_selection()

    def _select_found(self) -> None:
        self._selected = dict.fromkeys((n, None) for n in self._features.found(self._sought))
        self._show_selection()

    def _clear_selection(self) -> None:
        self._selected.clear()
        self._show_selection()

    def _show_selection(self) -> None:
        for taken, chip in self._chips.items():
            chip.props["aria-pressed"] = "true" if taken in self._selected else "false"
        self._draw_bar()

    def _look_for(self, sought: str) -> None:
        self._sought, self._page = sought, 0
        self.draw()

    def _turn(self, page: int) -> None:
        self._page = page
        self.draw()

    # -- saying -----------------------------------------------------------------------------

    def _taken(self, sent: Any) -> list[Taken]:
        """What is being dragged: a chip, and with it those that are selected together with it.

        `sent` are the feature and the group as numbers, and whether to leave it where it was.
        """
        feature, source, copies = sent if isinstance(sent, list) and len(sent) == 3 else [""] * 3
        groups = list(self._features.work.groups)
        index = number(feature, len(self._features.loaded.names))
        place = number(source, len(groups))
        if index is None:
            return []
        taken = (self._features.loaded.names[index], None if place is None else groups[place])
        together = list(self._selected) if taken in self._selected else [taken]
        return [(name, None) for name, _ in together] if copies is True else together

    def _put_selected(self, key: str) -> None:
        taken = list(self._selected)
        if key == _NEW:
            self._make(taken)
        elif key:
            self._move(taken, key[1:])
            # The list that was used is gone, so the feature has the focus.
            place = list(self._features.work.groups).index(key[1:])
            index = self._features.loaded.names.index(taken[0][0])
            ui.run_javascript(f"knowledge.focus('chip {place} {index}')")

    def _make(self, taken: list[Taken]) -> None:
        """Put features into a new group, whose name can be written at once."""
        groups = self._features.work.groups
        if len(groups) >= MAX_GROUPS:
            self._tell(f"There are {MAX_GROUPS} groups already; delete one first.")
            return
        name = new_name(groups)
        self._say(put({**groups, name: ()}, taken, name))
        ui.run_javascript(f"knowledge.focus('group-name {len(groups)}', true)")

    def _move(self, taken: list[Taken], to: str | None) -> None:
        """Put features into a group, or into none."""
        self._say(put(self._features.work.groups, taken, to))

    def _say(self, groups: Mapping[str, tuple[str, ...]]) -> None:
        self._selected, self._note = {}, ""
        if not self._session.change(groups=groups):
            self._redraw()
        self._show_selection()

    def _rename(self, old: str, new: str) -> None:
        if not self._session.rename_group(old, new.strip()):
            self._redraw()

    def _delete(self, name: str) -> None:
        self._say({n: each for n, each in self._features.work.groups.items() if n != name})

    async def _suggest(self) -> None:
        """Make groups of features that go together, beside those that are there."""
        asked, names = self._features.key, self._features.names
        frame = self._features.loaded.frame[names]
        kinds = {name: self._features.kind(name) for name in names}
        self._tell("Looking for features that go together …")
        answer = await run.io_bound(suggested_groups, frame, kinds)
        if answer is None or self._features.key != asked:
            return
        found, threshold = answer
        groups = dict(self._features.work.groups)
        for features in found:
            if set(features) not in map(set, groups.values()) and len(groups) < MAX_GROUPS:
                groups[new_name(groups, "related")] = features
        n_new = len(groups) - len(self._features.work.groups)
        if threshold is None:
            self._note = "No two features go together closely enough."
        elif not n_new:
            self._note = "All features that go together are in a group already."
        else:
            self._note = f"Correlated by {threshold:g} or more, found without the classes."
        if not n_new or not self._session.change(groups=groups):
            self._redraw()

    def _tell(self, note: str) -> None:
        self._note = note
        self._draw_bar()

    def _redraw(self) -> None:
        self._drawn = None
        self.draw()
