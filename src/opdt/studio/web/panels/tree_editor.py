"""A tree on the page: every branch a list of groups, every leaf a button."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from opdt.problem import Structure
from opdt.studio.web.panels.controls import Dropdown, press
from opdt.studio.web.panels.features import Features, group_options
from opdt.studio.web.panels.tree_edits import (
    MAX_DEPTH,
    Place,
    places,
    with_group,
    with_split,
    with_target,
    without_split,
)
from opdt.studio.web.theme import words

Edit = Callable[[Structure], Structure]

_END = "."  # a choice in the list of groups, where names have "=" before them
_ROW = 4.6  # rem from one level to the next
_TOP = 1.1  # rem from the top of a level to the middle of its nodes
_LAST = 4.1  # rem of the last level, whose leaves can be split


def draw_tree(features: Features, edit: Callable[[Edit], None]) -> Callable[[], None]:
    """Draw the structure of the work; what is clicked is told to `edit`.

    Returns what shows the present structure in the drawn tree, as long as it splits alike.
    """
    drawn = places(features.work.structure)
    n_leaves = sum(not each.splits for each in drawn)
    height = _ROW * max(each.level for each in drawn) + _LAST
    branches: dict[int, Dropdown] = {}
    leaves: dict[int, TextElement] = {}
    with ui.element("div").classes("know-tree-scroll"):
        box = ui.element("div").classes("know-tree").props("role=group data-testid=tree")
        box.props["aria-label"] = f"Tree with {n_leaves} leaves"
        box.style(f"height: {height}rem; min-width: {3.4 * n_leaves}rem")
        box.style(f"--slot: calc(100% / {n_leaves})")
        with box:
            edges = _draw_edges(drawn, n_leaves, height)
            for place in drawn:
                spot = ui.element("div").classes("know-spot")
                spot.style(f"left: {100 * place.x / n_leaves:.3f}%; top: {_ROW * place.level}rem")
                with spot:
                    if place.splits:
                        branches[place.node] = _draw_branch(features, place, edit)
                    else:
                        leaves[place.node] = _draw_leaf(place, edit)
    words(
        "p",
        "★ the rule may end here; click to switch. Left: < or ≠. Right: ≥ or =.",
        "studio-soft studio-small know-legend",
    )

    def show() -> None:
        now = places(features.work.structure)
        is_last = sum(each.is_target for each in now) == 1
        for place in now:
            if place.splits:
                branches[place.node].show(f"={place.group}")
            else:
                _show_leaf(leaves[place.node], place, is_last=is_last)
            if place.node != 1:
                is_dead = not _has_target(now, place)
                edges[place.node].classes(
                    add="dead" if is_dead else "", remove="" if is_dead else "dead"
                )

    show()
    return show


def _draw_branch(features: Features, place: Place, edit: Callable[[Edit], None]) -> Dropdown:
    groups, empty = group_options(features)
    options = {f"={name}": shown for name, shown in groups.items()}
    if place.node != 1:
        options[_END] = "– no split –"

    def picked(key: str) -> None:
        if key == _END:
            edit(lambda structure: without_split(structure, place.node))
        else:
            edit(lambda structure: with_group(structure, place.node, key[1:]))

    branch = Dropdown(
        options,
        f"={place.group}",
        picked,
        label=f"Group of node {place.node}, {_where(place.node)}",
        testid=f"node-{place.node}",
        key=f"node-{place.node}",
        disabled={f"={name}" for name in empty},
    )
    branch.classes("know-node")
    return branch


def _draw_leaf(place: Place, edit: Callable[[Edit], None]) -> TextElement:
    def switched(structure: Structure) -> Structure:
        now = next(each for each in places(structure) if each.node == place.node)
        return with_target(structure, place.node, not now.is_target)

    leaf = press(
        "★",
        lambda: edit(switched),
        label=f"Leaf {place.node}, {_where(place.node)}: the rule may end here",
        testid=f"leaf-{place.node}",
        key=f"leaf-{place.node}",
        classes="know-leaf",
    )
    if place.level < MAX_DEPTH:
        press(
            "split",
            lambda: edit(lambda structure: with_split(structure, place.node)),
            label=f"Split leaf {place.node}, {_where(place.node)}",
            testid=f"split-{place.node}",
            key=f"split-{place.node}",
            classes="know-split",
        )
    return leaf


def _show_leaf(leaf: TextElement, place: Place, *, is_last: bool) -> None:
    """Whether a leaf is a target; the last one must stay one."""
    leaf.set_text("★" if place.is_target else "☆")
    leaf.props["aria-pressed"] = "true" if place.is_target else "false"
    leaf.props["disabled"] = place.is_target and is_last
    leaf.props["title"] = (
        "the rule may end here"
        + (", as it must end somewhere" if is_last else "; click to forbid it")
        if place.is_target
        else "the rule may not end here; click to allow it"
    )


def _draw_edges(drawn: list[Place], n_leaves: int, height: float) -> dict[int, ui.element]:
    """The lines, in a picture stretched over the box, and the signs beside them."""
    at = {each.node: each for each in drawn}
    edges, signs = {}, []
    picture = ui.element("svg").classes("know-edges").props("aria-hidden=true")
    picture.props("preserveAspectRatio=none")
    picture.props["viewBox"] = f"0 0 {n_leaves} {height}"
    with picture:
        for each in drawn[1:]:
            parent = at[each.node // 2]
            y1, y2 = _ROW * parent.level + _TOP, _ROW * each.level + _TOP
            line = ui.element("path")
            line.props["d"] = (
                f"M{parent.x} {y1}C{parent.x} {y1 + 2.2} {each.x} {y2 - 2.2} {each.x} {y2}"
            )
            edges[each.node] = line
            signs.append((each.node, (parent.x + each.x) / 2, (y1 + y2) / 2))
    for node, x, y in signs:
        sign = words("span", "≥" if node % 2 else "<", "know-sign").props("aria-hidden=true")
        sign.style(f"left: {100 * x / n_leaves:.3f}%; top: {y}rem")
    return edges


def _has_target(drawn: list[Place], place: Place) -> bool:
    """Whether the rule may end at or below a node."""
    return any(
        each.is_target
        for each in drawn
        if each.level >= place.level and each.node >> (each.level - place.level) == place.node
    )


def _where(node: int) -> str:
    """The way to a node from the root, in words."""
    way = ["right" if bit == "1" else "left" for bit in f"{node:b}"[1:]]
    return " then ".join(way) if way else "the root"
