"""The shape a rule may take: the paper's Branching Structure Constraints (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from opdt.errors import InputError
from opdt.problem.drawing import draw
from opdt.problem.groups import ALL

DEFAULT_DEPTH = 2
MAX_DEPTH = 8

StructureSpec: TypeAlias = "Structure | Sequence[str] | str | PathLike[str] | None"


@dataclass(frozen=True, repr=False)
class Structure:
    """A complete binary tree that says which rules are allowed.

    Nodes are numbered breadth first from 1 as in the paper: the children of node ``t`` are ``2t``
    (left, ``<``) and ``2t + 1`` (right, ``>=``); the leaves are ``2**depth … 2**(depth+1) - 1``. A
    node that does not split sends every row to the right.

    Build it with `free`, `levels`, `tree` or `of`; two structures with equal arrays are equal.

    Attributes
    ----------
    depth : int
        Levels of branch nodes, 1 to 8.
    split : tuple of bool, length 2**depth - 1
        B(split): whether branch node ``t`` splits, at position ``t - 1``.
    group : tuple of str, length 2**depth - 1
        B(group): the feature group of branch node ``t``; ``"all"`` where it does not split.
    target : tuple of bool, length 2**depth
        L(target): whether a leaf may hold the rule, leaves from left to right.

    Examples
    --------
    >>> Structure.levels("cat", "num")
    Structure.levels('cat', 'num')
    >>> print(Structure.tree(split=[1, 0, 1], group=["cat", None, "num"], target=[0, 0, 1, 1]))
    1 cat
    ├─ <  2 → leaf 5
    └─ >= 3 num
          ├─ <  leaf 6 ★
          └─ >= leaf 7 ★
    """

    depth: int
    split: tuple[bool, ...]
    group: tuple[str, ...]
    target: tuple[bool, ...]

    def __post_init__(self) -> None:
        depth = _check_depth(self.depth)
        split = _flags("split", self.split)
        target = _flags("target", self.target)
        _check_length("split", len(split), depth, leaves=False)
        _check_length("target", len(target), depth, leaves=True)
        _check_splits(split)
        group = _check_group(self.group, split, depth)
        for field, value in zip(
            ("depth", "split", "group", "target"), (depth, split, group, target), strict=True
        ):
            object.__setattr__(self, field, value)
        self._check_targets()

    @classmethod
    def free(cls, depth: int = DEFAULT_DEPTH) -> Structure:
        """Return the structure that lets every node use every feature."""
        return cls.levels(*[ALL] * _check_depth(depth))

    @classmethod
    def levels(cls, *names: str) -> Structure:
        """Return ``{G1 - G2 - … - GD}``: one group per level and every leaf a target."""
        depth = len(names)
        if not 1 <= depth <= MAX_DEPTH:
            raise InputError(f"`levels` needs 1 to {MAX_DEPTH} group names, got {depth}.")
        return cls(
            depth,
            (True,) * (2**depth - 1),
            tuple(name for level, name in enumerate(names) for _ in range(2**level)),
            (True,) * 2**depth,
        )

    @classmethod
    def tree(
        cls,
        *,
        split: Iterable[bool | int],
        group: Iterable[str | None] | None = None,
        target: Iterable[bool | int] | None = None,
    ) -> Structure:
        """Return the structure of the paper's three arrays, breadth first.

        Parameters
        ----------
        split : iterable of 0/1 or bool, length 2**depth - 1
            Which branch nodes split; its length decides the depth.
        group : iterable of str or None, length 2**depth - 1, optional
            Group of each branch node, None where it does not split; left out, every node uses
            ``"all"``.
        target : iterable of 0/1 or bool, length 2**depth, optional
            Which leaves may hold the rule; left out, every leaf that can hold rows.
        """
        split = _flags("split", split)
        depth = (len(split) + 1).bit_length() - 1
        if len(split) != 2**depth - 1 or depth < 1:
            raise InputError(
                "`split` needs 2**depth - 1 entries (1, 3, 7, 15, …), one for each branch node, "
                f"got {len(split)}."
            )
        _check_depth(depth)
        _check_splits(split)
        groups: Any = [ALL] * len(split) if group is None else group
        if target is None:
            leaves = range(2**depth, 2 ** (depth + 1))
            target = [_blocker(split, leaf, depth) is None for leaf in leaves]
        return cls(depth, split, groups, _flags("target", target))

    @classmethod
    def of(
        cls, spec: StructureSpec, depth: int | None = None
    ) -> tuple[Structure, dict[str, tuple[str, ...]]]:
        """Return the structure that a user's argument means, and the groups of its file.

        Parameters
        ----------
        spec : None, Structure, sequence of str, str or path
            None is a free structure; a sequence of group names one group per level; a string or
            path a ``.toml`` or ``.json`` file. The groups are empty unless a file defines some.
        depth : int, optional
            Depth of a free structure (2 if left out); any other structure must agree with it.
        """
        if depth is not None:
            depth = _check_depth(depth)
        groups: dict[str, tuple[str, ...]] = {}
        if spec is None:
            return cls.free(DEFAULT_DEPTH if depth is None else depth), groups
        if isinstance(spec, Structure):
            structure = spec
        elif isinstance(spec, (str, PathLike)):
            structure, groups = _from_file(spec)
        elif isinstance(spec, Iterable) and not isinstance(spec, (bytes, Mapping, Set)):
            structure = cls.levels(*spec)
        else:
            raise InputError(
                "`structure` must be a Structure, a list of group names or the path of a .toml or "
                f".json file, got {type(spec).__name__}."
            )
        if depth is not None and depth != structure.depth:
            raise InputError(
                f"depth {depth} contradicts the structure, which has depth {structure.depth}; "
                "give one of the two."
            )
        return structure, groups

    @property
    def n_branch(self) -> int:
        """Number of branch nodes, ``2**depth - 1``."""
        return len(self.split)

    @property
    def n_leaves(self) -> int:
        """Number of leaves, ``2**depth``."""
        return len(self.target)

    @property
    def leaves(self) -> range:
        """Node numbers of the leaves, left to right."""
        return range(self.n_leaves, 2 * self.n_leaves)

    @property
    def target_leaves(self) -> tuple[int, ...]:
        """Node numbers of the target leaves (the paper's T_obj), left to right."""
        return tuple(leaf for leaf in self.leaves if self.target[leaf - self.n_leaves])

    def ancestors(self, leaf: int) -> list[tuple[int, bool]]:
        """Return the branch nodes above a leaf, from the root, and whether the path went right.

        Parameters
        ----------
        leaf : int
            Node number of the leaf, ``2**depth … 2**(depth+1) - 1``.
        """
        if leaf not in self.leaves:
            raise InputError(
                f"node {leaf} is no leaf; the leaves are {self.leaves[0]} to {self.leaves[-1]}."
            )
        return _path(leaf, self.depth)

    def holds_rows(self, leaf: int) -> bool:
        """Whether a leaf can hold rows: no node above that does not split has it on its left."""
        self.ancestors(leaf)
        return _blocker(self.split, leaf, self.depth) is None

    @property
    def level_groups(self) -> tuple[str, ...] | None:
        """One group per level where the structure is of that kind, else None."""
        if not (all(self.split) and all(self.target)):
            return None
        levels = [self.group[2**level - 1 : 2 ** (level + 1) - 1] for level in range(self.depth)]
        if any(len(set(level)) > 1 for level in levels):
            return None
        return tuple(level[0] for level in levels)

    @property
    def is_levels(self) -> bool:
        """Whether every node splits, every leaf is a target and each level has one group."""
        return self.level_groups is not None

    def __str__(self) -> str:
        return draw(self)

    def __repr__(self) -> str:
        names = self.level_groups
        if names is not None and set(names) == {ALL}:
            return f"Structure.free({self.depth})"
        if names is not None:
            return f"Structure.levels({', '.join(map(repr, names))})"
        split = [int(flag) for flag in self.split]
        group = [name if flag else None for name, flag in zip(self.group, split, strict=True)]
        target = [int(flag) for flag in self.target]
        return f"Structure.tree({split=}, {group=}, {target=})"

    def _check_targets(self) -> None:
        if not any(self.target):
            raise InputError(
                "`target` marks no leaf, so no rule could be found; set at least one entry to 1."
            )
        for leaf in self.target_leaves:
            node = _blocker(self.split, leaf, self.depth)
            if node is not None:
                raise InputError(
                    f"`target` marks leaf {leaf} (position {leaf - self.n_leaves}), which can hold "
                    f"no row: it lies left of node {node}, which does not split and sends every "
                    "row right; unmark the leaf or split the node."
                )


def _path(leaf: int, depth: int) -> list[tuple[int, bool]]:
    return [(leaf >> up, bool(leaf >> (up - 1) & 1)) for up in range(depth, 0, -1)]


def _blocker(split: Sequence[bool], leaf: int, depth: int) -> int | None:
    """Return the first node that keeps every row away from a leaf, or None."""
    for node, went_right in _path(leaf, depth):
        if not split[node - 1] and not went_right:
            return node
    return None


def _check_depth(depth: object) -> int:
    if isinstance(depth, (bool, np.bool_)) or not isinstance(depth, Integral):
        raise InputError(f"depth must be an int from 1 to {MAX_DEPTH}, got {depth!r}.")
    levels = int(depth)
    if levels < 1:
        raise InputError(
            f"depth must be from 1 to {MAX_DEPTH}, got {levels}; "
            "a rule needs at least one condition."
        )
    if levels > MAX_DEPTH:
        raise InputError(
            f"depth must be from 1 to {MAX_DEPTH}, got {levels}; a deeper rule is neither readable "
            "nor provably the best in reasonable time."
        )
    return levels


def _flags(name: str, values: object) -> tuple[bool, ...]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"`{name}` must be a list of 0 and 1, got {values!r}.")
    flags = tuple(values)
    for position, flag in enumerate(flags):
        if not isinstance(flag, (Integral, np.bool_)) or flag not in (0, 1):
            raise InputError(f"`{name}` must hold 0 or 1, got {flag!r} at position {position}.")
    return tuple(bool(flag) for flag in flags)


def _check_length(name: str, length: int, depth: int, *, leaves: bool) -> None:
    wanted = 2**depth - (not leaves)
    if length == wanted:
        return
    nodes = length + (not leaves)
    fits = nodes.bit_length() - 1
    other = f", which fits depth {fits}" if nodes == 2**fits and fits >= 1 else ""
    unit = "one for each leaf" if leaves else "one for each branch node"
    raise InputError(
        f"`{name}` needs {wanted} entries at depth {depth}, {unit}, got {length}{other}."
    )


def _check_splits(split: Sequence[bool]) -> None:
    if not split[0]:
        raise InputError(
            "`split` keeps node 1, the root, from splitting, so that no condition is left to find; "
            "set its first entry to 1."
        )
    for node in range(2, len(split) + 1):
        if split[node - 1] and not split[node // 2 - 1]:
            raise InputError(
                f"`split` lets node {node} split under node {node // 2}, which does not; "
                "split the parent or stop the child."
            )


def _check_group(values: object, split: Sequence[bool], depth: int) -> tuple[str, ...]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"`group` must be a list of group names, got {values!r}.")
    names = tuple(values)
    _check_length("group", len(names), depth, leaves=False)
    for node, (name, splits) in enumerate(zip(names, split, strict=True), start=1):
        if name is None and not splits:
            continue
        if not isinstance(name, str) or (splits and not name):
            raise InputError(
                f"node {node} needs a group name, got {name!r}; use 'all' for every feature."
            )
    return tuple(str(name) if flag else ALL for name, flag in zip(names, split, strict=True))


def _from_file(spec: str | PathLike[str]) -> tuple[Structure, dict[str, tuple[str, ...]]]:
    # Imported here because the file format is written in terms of Structure.
    from opdt.problem.structure_file import SUFFIXES, read_structure

    if isinstance(spec, str) and Path(spec).suffix.lower() not in SUFFIXES:
        raise InputError(
            f"`structure` {spec!r} is read as a path and must end in .toml or .json; "
            f"for a single level with that group write [{spec!r}]."
        )
    found = read_structure(spec)
    return found.structure, dict(found.groups)
