"""Clicks on a drawn tree, as changes of a `Structure` that are valid whatever is clicked.

A branch node that does not split sends every row to the right, so all that lies below it is one
leaf: its rightmost. The page draws such a node as that leaf, and draws nothing below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from opdt.errors import InputError
from opdt.problem import Structure
from opdt.problem.groups import ALL

MAX_DEPTH = 4


class Place(NamedTuple):
    """A node as it is drawn.

    Attributes
    ----------
    node : int
        Its number, breadth first from 1.
    level : int
        0 for the root.
    x : float
        Where it stands: leaves that are drawn stand at 0.5, 1.5, … from the left.
    splits : bool
        Whether it is a branch; a leaf otherwise.
    group : str
        Of a branch.
    is_target : bool
        Of a leaf: whether it may hold the rule.
    """

    node: int
    level: int
    x: float
    splits: bool
    group: str
    is_target: bool


def places(structure: Structure) -> list[Place]:
    """The nodes that are drawn, each before those below it, from left to right."""
    return list(_places(structure, 1, 0))


def _places(structure: Structure, node: int, first: float) -> Iterator[Place]:
    """The nodes at and below one of them, whose leftmost leaf is the `first`-th from the left."""
    level = node.bit_length() - 1
    if not _splits(structure, node):
        yield Place(node, level, first + 0.5, False, ALL, _is_target(structure, node))
        return
    left = list(_places(structure, 2 * node, first))
    n_left = sum(not each.splits for each in left)
    right = list(_places(structure, 2 * node + 1, first + n_left))
    x = (left[0].x + right[0].x) / 2
    yield Place(node, level, x, True, structure.group[node - 1], False)
    yield from left
    yield from right


def with_group(structure: Structure, node: int, group: str) -> Structure:
    """The structure in which a branch node uses another group."""
    groups = list(structure.group)
    groups[node - 1] = group
    return replace(structure, group=tuple(groups))


def with_split(structure: Structure, node: int) -> Structure:
    """The structure in which a leaf has become a branch; both its leaves are what it was."""
    if node > structure.n_branch:
        structure = _deeper(structure)
    is_target = _is_target(structure, node)
    split, target = list(structure.split), list(structure.target)
    split[node - 1] = True
    for child in (2 * node, 2 * node + 1):
        target[_leaf(structure, child) - structure.n_leaves] = is_target
    return replace(structure, split=tuple(split), target=tuple(target))


def without_split(structure: Structure, node: int) -> Structure:
    """The structure in which a branch is a leaf, a target if one below it was."""
    if node == 1:
        raise InputError("the first node must split, or no condition is left to find.")
    split, target = list(structure.split), list(structure.target)
    last = _leaf(structure, node) - structure.n_leaves
    first = last + 1 - (structure.n_leaves >> (node.bit_length() - 1))
    is_target = any(target[first : last + 1])
    target[first : last + 1] = [*[False] * (last - first), is_target]
    below = [node]
    while below and below[0] <= structure.n_branch:
        for each in below:
            split[each - 1] = False
        below = [child for each in below for child in (2 * each, 2 * each + 1)]
    return _shallower(replace(structure, split=tuple(split), target=tuple(target)))


def with_target(structure: Structure, node: int, is_target: bool) -> Structure:
    """The structure in which a leaf may, or may not, hold the rule."""
    target = list(structure.target)
    target[_leaf(structure, node) - structure.n_leaves] = is_target
    if not any(target):
        raise InputError("the rule must end somewhere: keep at least one target leaf.")
    return replace(structure, target=tuple(target))


def _splits(structure: Structure, node: int) -> bool:
    return node <= structure.n_branch and structure.split[node - 1]


def _leaf(structure: Structure, node: int) -> int:
    """The rightmost leaf below a node, to which all its rows go where it does not split."""
    while node <= structure.n_branch:
        node = 2 * node + 1
    return node


def _is_target(structure: Structure, node: int) -> bool:
    return structure.target[_leaf(structure, node) - structure.n_leaves]


def _deeper(structure: Structure) -> Structure:
    """The same tree with one more level, on which nothing splits."""
    return Structure(
        structure.depth + 1,
        (*structure.split, *[False] * structure.n_leaves),
        (*structure.group, *[ALL] * structure.n_leaves),
        tuple(flag for wanted in structure.target for flag in (False, wanted)),
    )


def _shallower(structure: Structure) -> Structure:
    """The same tree without levels on which nothing splits."""
    while not any(structure.split[structure.n_branch // 2 :]):
        inner = structure.n_branch // 2
        structure = Structure(
            structure.depth - 1,
            structure.split[:inner],
            structure.group[:inner],
            structure.target[1::2],
        )
    return structure
