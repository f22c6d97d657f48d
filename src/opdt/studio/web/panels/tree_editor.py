"""A tree on the page: every branch a list of groups, every leaf a button."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from opdt.problem import Structure
from opdt.studio.web.panels.controls import choice, press, short
from opdt.studio.web.panels.features import Features
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

_END = "."  # a choice in the list of groups, where names have "=" before them
_ROW = 4.6  # rem from one level to the next
_TOP = 1.1  # rem from the top of a level to the middle of its nodes


def draw_tree(features: Features, say: Callable[..., Any]) -> None:
    """Draw the structure of the work; what is clicked is told to `say`."""
    structure = features.work.structure
    drawn = places(structure)
    n_leaves = sum(not each.splits for each in drawn)
    depth = max(each.level for each in drawn)
    with ui.element("div").classes("know-tree-scroll"):
        box = ui.element("div").classes("know-tree").props("role=group data-testid=tree")
        box.props["aria-label"] = f"Tree with {n_leaves} leaves"
        box.style(f"height: {_ROW * depth + 4.1}rem; min-width: {3.3 * n_leaves}rem")
        box.style(f"--slot: calc(100% / {n_leaves})")
        with box:
            _draw_edges(drawn, n_leaves, depth)
            for place in drawn:
                spot = ui.element("div").classes("know-spot")
                spot.style(f"left: {100 * place.x / n_leaves:.3f}%; top: {_ROW * place.level}rem")
                with spot:
                    if place.splits:
                        _draw_branch(features, structure, place, say)
                    else:
                        _draw_leaf(structure, place, say)
    words(
        "p",
        "★ the rule may end here; click to switch. Left: < or ≠. Right: ≥ or =.",
        "studio-soft studio-small know-legend",
    )


def _draw_branch(
    features: Features, structure: Structure, place: Place, say: Callable[..., Any]
) -> None:
    sizes = features.sizes()
    options = {f"={name}": f"{short(name, 40)} ({n:,})" for name, n in sizes.items()}
    if place.node != 1:
        options[_END] = "– no split –"

    def picked(key: str) -> None:
        if key == _END:
            say(structure=without_split(structure, place.node))
        else:
            say(structure=with_group(structure, place.node, key[1:]))

    choice(
        options,
        f"={place.group}",
        picked,
        label=f"Group of node {place.node}, {_where(place.node)}",
        testid=f"node-{place.node}",
        key=f"node-{place.node}",
        disabled={f"={name}" for name, n in sizes.items() if not n},
        classes="know-node",
    )


def _draw_leaf(structure: Structure, place: Place, say: Callable[..., Any]) -> None:
    def switch() -> None:
        say(structure=with_target(structure, place.node, not place.is_target))

    is_last = place.is_target and sum(structure.target) == 1
    leaf = press(
        "★" if place.is_target else "☆",
        switch,
        label=f"Leaf {place.node}, {_where(place.node)}: the rule may end here"
        + ("; one leaf must be a target" if is_last else ""),
        testid=f"leaf-{place.node}",
        key=f"leaf-{place.node}",
        classes="know-leaf",
    )
    leaf.props["aria-pressed"] = "true" if place.is_target else "false"
    leaf.props["disabled"] = is_last
    if place.level < MAX_DEPTH:
        press(
            "split",
            lambda: say(structure=with_split(structure, place.node)),
            label=f"Split leaf {place.node}, {_where(place.node)}",
            testid=f"split-{place.node}",
            key=f"split-{place.node}",
            classes="know-split",
        )


def _draw_edges(drawn: list[Place], n_leaves: int, depth: int) -> None:
    """The lines, in a picture stretched over the box, and the signs beside them."""
    at = {each.node: each for each in drawn}
    height = _ROW * depth + 4.1
    picture = ui.element("svg").classes("know-edges").props("aria-hidden=true")
    picture.props["viewBox"] = f"0 0 {n_leaves} {height}"
    picture.props("preserveAspectRatio=none")
    signs = []
    with picture:
        for each in drawn:
            if each.node == 1:
                continue
            parent = at[each.node // 2]
            y1, y2 = _ROW * parent.level + _TOP, _ROW * each.level + _TOP
            line = ui.element("path").classes(_edge_class(each, at))
            line.props["d"] = (
                f"M{parent.x} {y1}C{parent.x} {y1 + 2.2} {each.x} {y2 - 2.2} {each.x} {y2}"
            )
            signs.append((each, (parent.x + each.x) / 2, (y1 + y2) / 2))
    for each, x, y in signs:
        sign = words("span", "≥" if each.node % 2 else "<", "know-sign").props("aria-hidden=true")
        sign.style(f"left: {100 * x / n_leaves:.3f}%; top: {y}rem")


def _edge_class(place: Place, at: dict[int, Place]) -> str:
    """An edge under which no rule can end is drawn faintly."""
    node, level = place.node, place.level
    below = (e for e in at.values() if e.level >= level and e.node >> (e.level - level) == node)
    return "" if any(each.is_target for each in below) else "dead"


def _where(node: int) -> str:
    """The way to a node from the root, in words."""
    way = ["right" if bit == "1" else "left" for bit in f"{node:b}"[1:]]
    return " then ".join(way) if way else "the root"
