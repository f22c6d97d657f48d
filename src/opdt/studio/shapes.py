"""Structures as they are edited on the page: free, by levels, or as a tree."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from opdt.problem import Structure
from opdt.problem.groups import ALL

FORMS = ("free", "levels", "tree")


def fitting_form(form: str, structure: Structure) -> str:
    """The form itself where the structure has it, else the simplest one that it has."""
    names = structure.level_groups
    if form == "tree" or names is None:
        return "tree"
    return form if form == "free" and set(names) == {ALL} else "levels"


def shaped(form: str, structure: Structure) -> Structure:
    """The structure of this form that is nearest: of a tree, levels keep the leftmost groups."""
    if form == "free":
        return Structure.free(structure.depth)
    if form == "levels" and structure.level_groups is None:
        return Structure.levels(*(structure.group[2**k - 1] for k in range(structure.depth)))
    return structure


def resized(structure: Structure, depth: int) -> Structure:
    """The structure cut to a depth, or with more levels on which every feature may be used."""
    names = structure.level_groups
    wider = Structure.free(depth)  # refuses a depth that is none
    if names is not None:
        return Structure.levels(*[*names, *[ALL] * depth][:depth])
    split, group, target = structure.split, structure.group, structure.target
    if depth <= structure.depth:
        inner = wider.n_branch
        per_leaf = 2 ** (structure.depth - depth)
        kept = [any(target[k * per_leaf : (k + 1) * per_leaf]) for k in range(2**depth)]
        return Structure.tree(split=split[:inner], group=group[:inner], target=kept)
    for _ in range(depth - structure.depth):
        # A leaf that can hold no rule need not split; where its parent does not, it must not.
        split = (*split, *(_may_split(split, leaf) for leaf in _leaves(split)))
        group = (*group, *[ALL] * len(target))
        target = tuple(
            wanted and (right or split[leaf - 1])
            for wanted, leaf in zip(target, _leaves_above(split), strict=True)
            for right in (False, True)
        )
    return Structure(depth, split, group, target)


def without_groups(structure: Structure, known: Set[str]) -> Structure:
    """The structure with every feature where it used a group that is gone."""
    group = tuple(name if name in known else ALL for name in structure.group)
    return structure if group == structure.group else replace(structure, group=group)


def _leaves(split: tuple[bool, ...]) -> range:
    """Numbers of the leaves below these branch nodes."""
    return range(len(split) + 1, 2 * (len(split) + 1))


def _leaves_above(split: tuple[bool, ...]) -> range:
    """Numbers of the last branch nodes."""
    return range((len(split) + 1) // 2, len(split) + 1)


def _may_split(split: tuple[bool, ...], leaf: int) -> bool:
    return split[leaf // 2 - 1]
