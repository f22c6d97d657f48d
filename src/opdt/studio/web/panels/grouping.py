"""Features that are taken and put into groups, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# A feature and the place of the group in which it is taken hold of; None is the list of all.
Taken = tuple[str, int | None]


def put(
    groups: Mapping[str, tuple[str, ...]], taken: Iterable[Taken], to: int | None
) -> dict[str, tuple[str, ...]]:
    """The groups after features have been put into one of them, or out of theirs (None).

    A feature leaves the group from which it was taken, and stays in all others.
    """
    after = [list(each) for each in groups.values()]
    for feature, source in taken:
        if source is not None and source != to:
            after[source] = [each for each in after[source] if each != feature]
        if to is not None and feature not in after[to]:
            after[to].append(feature)
    return {name: tuple(each) for name, each in zip(groups, after, strict=True)}


def new_name(groups: Mapping[str, Any], word: str = "group") -> str:
    """A name that no group has yet."""
    return next(name for k in range(1, len(groups) + 2) if (name := f"{word} {k}") not in groups)
