"""Chains: what a structure allows, leaf by leaf, as levels of a conjunction.

Only one leaf is scored, the other nodes of the tree can always be completed and leaves may be
empty, so the best rule of a structure is the best over its target leaves of the conjunction along
the leaf's path. A target leaf is therefore worth exactly its splitting ancestors: a chain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from opdt.problem.groups import FeatureGroups
from opdt.problem.structure import Structure


@dataclass(frozen=True)
class Level:
    """One splitting ancestor of a target leaf, or several that were merged.

    Attributes
    ----------
    group : str
        Name of the feature group.
    features : tuple of int
        Ascending indices of the group's features in the table.
    right : bool
        Whether ``>=``, ``==`` and "is missing" are allowed.
    left : bool
        Whether ``<``, ``!=`` and "is present" are allowed.
    vacuous : bool
        Whether the level may be left out: on the right a threshold at the smallest value lets
        every row pass, on the left no threshold does, and a forced group always applies a real
        condition.
    """

    group: str
    features: tuple[int, ...]
    right: bool
    left: bool
    vacuous: bool


Chain: TypeAlias = tuple[Level, ...]


def compile_chains(structure: Structure, groups: FeatureGroups) -> tuple[Chain, ...]:
    """Return the chains, as few as merging leaves, that allow exactly the rules of a structure.

    Every group of a splitting node must exist and hold a feature, also off the target paths: the
    paper's tree has to be completed there.

    A structure with one group per level gives a single chain with free directions.
    """
    for name, splits in zip(structure.group, structure.split, strict=True):
        if splits:
            groups.require(name)
    return drop_contained(merge(leaf_chains(structure, groups)))


def leaf_chains(structure: Structure, groups: FeatureGroups) -> tuple[Chain, ...]:
    """Return one chain per target leaf, leaves from left to right."""
    return tuple(
        tuple(
            _level(structure.group[node - 1], groups, went_right=went_right)
            for node, went_right in structure.ancestors(leaf)
            if structure.split[node - 1]
        )
        for leaf in structure.target_leaves
    )


def merge(chains: Sequence[Chain]) -> tuple[Chain, ...]:
    """Return chains that allow the same rules, with directions joined until nothing joins.

    A chain stands for the set of rules obtained by choosing one of the allowed directions (and
    then a condition in it, or none where vacuous) on every level, independently of the other
    levels: a product of sets. Two chains whose factors agree but for one level satisfy
    ``A × B ∪ A × C = A × (B ∪ C)``, so the chain that allows both directions there allows the rules
    of the two and no others.
    """
    merged, before = tuple(dict.fromkeys(chains)), 0
    while len(merged) != before:
        before = len(merged)
        # From the last level up, as siblings in the tree agree on everything above them.
        for at in reversed(range(max(map(len, merged), default=0))):
            merged = _merge_at(merged, at)
    return merged


def _merge_at(chains: Sequence[Chain], at: int) -> tuple[Chain, ...]:
    """Return the chains with those joined that differ in nothing but the directions at a level."""
    joined: dict[object, Chain] = {}
    for chain in chains:
        if len(chain) <= at:
            joined[chain] = chain
            continue
        level = chain[at]
        key = (*chain[:at], level.group, *chain[at + 1 :])
        if key in joined:
            level = _either(joined[key][at], level)
        joined[key] = (*chain[:at], level, *chain[at + 1 :])
    return tuple(joined.values())


def drop_contained(chains: Sequence[Chain]) -> tuple[Chain, ...]:
    """Return the chains without those whose rules another chain allows as well.

    Of chains that allow the same rules the first stays.
    """
    kept: list[Chain] = []
    for chain in chains:
        if not any(contains(other, chain) for other in kept):
            kept = [other for other in kept if not contains(chain, other)]
            kept.append(chain)
    return tuple(kept)


def contains(outer: Chain, inner: Chain) -> bool:
    """Whether every rule of the inner chain is one of the outer chain.

    This holds if the inner levels can be matched to distinct outer levels of the same group that
    allow at least as much, and the outer levels left over are vacuous. Their order does not
    matter, since a rule is a conjunction.
    """
    # Counting groups settles nearly every pair, before any matching is tried.
    given = Counter(level.group for level in inner)
    needed = Counter(level.group for level in outer if not level.vacuous)
    allowed = Counter(level.group for level in outer)
    return needed <= given <= allowed and _matches(inner, outer)


def _matches(inner: Chain, outer: Chain) -> bool:
    if not inner:
        return all(level.vacuous for level in outer)
    first, rest = inner[0], inner[1:]
    return any(
        _allows(level, first) and _matches(rest, outer[:i] + outer[i + 1 :])
        for i, level in enumerate(outer)
        if level not in outer[:i]
    )


def _allows(outer: Level, inner: Level) -> bool:
    return (
        outer.group == inner.group
        and outer.right >= inner.right
        and outer.left >= inner.left
        and outer.vacuous >= inner.vacuous
    )


def _either(first: Level, second: Level) -> Level:
    """Return the level that allows the directions of both."""
    return replace(
        first,
        right=first.right or second.right,
        left=first.left or second.left,
        vacuous=first.vacuous or second.vacuous,
    )


def _level(group: str, groups: FeatureGroups, *, went_right: bool) -> Level:
    return Level(
        group=group,
        features=groups.require(group),
        right=went_right,
        left=not went_right,
        vacuous=went_right and not groups.is_forced(group),
    )
