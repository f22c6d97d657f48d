"""Named groups of features, filled by dragging or by choosing from a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nicegui import run, ui

from opdt.studio.web.panels.chips import Chip
from opdt.studio.web.panels.controls import Fold, NumberField, number, press
from opdt.studio.web.panels.features import BUILT_IN, Features
from opdt.studio.web.panels.group_box import GroupBox
from opdt.studio.web.panels.grouping import Taken, new_name, put
from opdt.studio.web.panels.suggestions import MAX_FEATURES, suggested_groups
from opdt.studio.web.theme import short, words

PAGE = 24  # features that are shown at a time, of the table and of each group
MAX_GROUPS = 40


class GroupsPart:
    """The features as chips, and the groups as boxes of them.

    Parameters
    ----------
    features : Features
    """

    def __init__(self, features: Features) -> None:
        self._features = features
        self._session = features.session
        self._chips: dict[Taken, Chip] = {}
        self._boxes: list[GroupBox] = []
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

    @property
    def _groups(self) -> Mapping[str, tuple[str, ...]]:
        return self._features.work.groups

    # -- drawing ----------------------------------------------------------------------------

    def draw(self) -> None:
        """Show the features and groups that count now; what can stay as it is does."""
        work = self._features.work
        now = (self._features.key, tuple(work.groups.values()), self._sought, self._page)
        if now != self._drawn:
            self._drawn = now
            own = len(work.groups)
            self._fold.say("none yet" if not own else f"{own} of your own")
            self._keep_selection()
            self._chips.clear()
            self._draw_tools()
            self._draw_pool()
            self._draw_groups()
            self._show_selection()
        for chip in self._chips.values():
            chip.show()
        for name, box in zip(work.groups, self._boxes, strict=True):
            box.show(name, is_used=name in work.structure.group)

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
                NumberField(
                    self._sought,
                    self._look_for,
                    label="Find a feature",
                    hint="Find a feature",
                    testid="find-feature",
                    key="find-feature",
                    live=True,
                ).classes("studio-search")
            words(
                "span",
                "Drag features into groups, or select them and choose; one may be in several.",
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
                self._draw_chip((name, None)).flag("grouped", name in grouped)
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

    def _draw_chip(self, taken: Taken) -> Chip:
        chip = self._chips[taken] = Chip(self._features, taken)
        chip.on("click", lambda _: self._select(taken), js_handler="() => emit()")
        return chip

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
            inside = any(place is not None for _, place in self._selected)
            words("span", "move to" if inside else "put into", "studio-soft")
            for place, name in enumerate(self._groups):
                press(
                    short(name, 30),
                    partial(self._put_selected, place),
                    label=f"{'Move' if inside else 'Put'} into group {short(name)}",
                    testid="move-to",
                    key=f"move-to {place}",
                )
            press(
                "a new group",
                lambda: self._make(list(self._selected)),
                label=f"{'Move' if inside else 'Put'} into a new group",
                testid="move-to-new",
                key="move-to-new",
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
            self._boxes = [self._draw_group(place) for place in range(len(self._groups))]
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

    def _draw_group(self, place: int) -> GroupBox:
        name, members = list(self._groups.items())[place]
        found = self._features.found(self._sought, members)
        zone = self._zone("know-group", lambda taken: self._move(taken, place), "group", "")
        zone.props["role"] = "group"
        with zone:
            box = GroupBox(
                zone, place, name, len(members), partial(self._rename, place), self._delete
            )
            with ui.element("div").classes("know-members"):
                for member in found[:PAGE]:
                    self._draw_chip((member, place))
                hidden = len(members) - min(PAGE, len(found))
                if not members:
                    words("span", "Drop features here.", "studio-soft studio-small")
                elif hidden:
                    words("span", f"and {hidden:,} more", "studio-soft studio-small")
        return box

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
        places: dict[int | None, Any] = dict(enumerate(self._groups.values()))
        places[None] = set(self._features.names)
        self._selected = {
            (name, place): None for name, place in self._selected if name in places.get(place, ())
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
            chip.press(taken in self._selected)
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
        index = number(feature, len(self._features.loaded.names))
        place = number(source, len(self._groups))
        if index is None:
            return []
        taken = (self._features.loaded.names[index], place)
        together = list(self._selected) if taken in self._selected else [taken]
        return [(name, None) for name, _ in together] if copies is True else together

    def _put_selected(self, place: int) -> None:
        taken = list(self._selected)
        self._move(taken, place)
        # The button that was used is gone, so the feature has the focus.
        index = self._features.loaded.names.index(taken[0][0])
        self._fold.run(f"knowledge.focus('chip {place} {index}')")

    def _make(self, taken: list[Taken]) -> None:
        """Put features into a new group, whose name can be written at once."""
        groups, place = self._groups, len(self._groups)
        if place >= MAX_GROUPS:
            self._tell(f"There are {MAX_GROUPS} groups already; delete one first.")
            return
        self._say(put({**groups, new_name(groups): ()}, taken, place))
        self._fold.run(f"knowledge.focus('group-name {place}', true)")

    def _move(self, taken: list[Taken], to: int | None) -> None:
        """Put features into a group, or into none."""
        self._say(put(self._groups, taken, to))

    def _say(self, groups: Mapping[str, tuple[str, ...]]) -> None:
        self._selected, self._note = {}, ""
        self._session.change(groups=groups)
        self._show_selection()

    def _rename(self, place: int, name: str) -> None:
        if not self._session.rename_group(list(self._groups)[place], name.strip()):
            self.draw()
        self._draw_bar()

    def _delete(self, place: int) -> None:
        gone = list(self._groups)[place]
        self._say({name: each for name, each in self._groups.items() if name != gone})

    async def _suggest(self) -> None:
        """Make groups of features that go together, beside those that are there."""
        asked, names = self._features.key, self._features.names
        frame = self._features.loaded.frame[names]
        work = self._features.work
        plan = self._features.loaded.plan_for(work.roles, work.missing)
        self._tell("Looking for features that go together …")
        answer = await run.io_bound(suggested_groups, frame, plan)
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
        if n_new:
            self._session.change(groups=groups)
        self._draw_bar()

    def _tell(self, note: str) -> None:
        self._note = note
        self._draw_bar()
