"""Rays: a problem's conditions as nested sequences.

The conditions of one operator on one numeric feature are nested: `age >= 30` covers whatever
`age >= 40` covers. A *ray* is such a sequence; choosing a condition is choosing a ray and a
position on it. An equality or a presence test is a ray of one position. A rule is then a set of
rays, each with a position, and the search works on rays alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.problem import Chain, CodedCondition, Level, Problem
from opdt.problem.coded import OP_ORDER, holds
from opdt.rules import Op
from opdt.table import Column

RIGHT = (Op.GE, Op.EQ, Op.IN, Op.MISSING)
LEFT = (Op.LT, Op.NE, Op.IN, Op.PRESENT)


@dataclass(frozen=True)
class Ray:
    """A feature and an operator, with the level or levels that `==`, `!=` and `in` compare with."""

    feature: int
    op: Op
    code: int = -1
    levels: tuple[int, ...] = ()

    def condition(self, position: int, n_values: int) -> CodedCondition:
        """The condition at a position >= 1."""
        if self.op is Op.GE:
            return CodedCondition(self.feature, self.op, position)
        if self.op is Op.LT:
            return CodedCondition(self.feature, self.op, n_values - position)
        return CodedCondition(self.feature, self.op, self.code, self.levels)


@dataclass(frozen=True, eq=False)
class Rays:
    """All rays of a problem, with the rows' levels on them."""

    rays: tuple[Ray, ...]
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, problem: Problem) -> Rays:
        """The rays that at least one level of one chain may use, in the order of the table."""
        wanted: dict[int, list[bool]] = {}
        for chain in problem.chains:
            for level in chain:
                for feature in level.features:
                    sides = wanted.setdefault(feature, [False, False])
                    sides[0] |= level.right
                    sides[1] |= level.left
        rays = [
            ray
            for feature in sorted(wanted)
            for ray in _rays_of(problem, feature, right=wanted[feature][0], left=wanted[feature][1])
        ]
        return cls(tuple(rays), problem.table.columns)

    @cached_property
    def tops(self) -> NDArray[np.int64]:
        """The number of positions of each ray, shape (n_rays,)."""
        tops = [self.n_values(r) - 1 if r.op.is_threshold else 1 for r in self.rays]
        return np.array(tops, np.int64)

    @cached_property
    def levels(self) -> NDArray[np.uint16]:
        """The tightest position each row satisfies, shape (n_rays, n_rows)."""
        levels = np.empty((len(self.rays), len(self.columns[0].codes)), np.uint16)
        for row, ray in zip(levels, self.rays, strict=True):
            fill_levels(row, ray, self.columns[ray.feature].codes, self.n_values(ray))
        return levels

    def n_values(self, ray: Ray) -> int:
        """The number of distinct values of a ray's feature."""
        return self.columns[ray.feature].n_values

    def condition(self, index: int, position: int) -> CodedCondition:
        """The condition of a ray at a position >= 1."""
        ray = self.rays[index]
        return ray.condition(position, self.n_values(ray))

    @cached_property
    def features(self) -> NDArray[np.int64]:
        """The feature of each ray, shape (n_rays,)."""
        return np.array([ray.feature for ray in self.rays], np.int64)

    def clashes(self, *, once: bool) -> Clashes:
        """Which rays no simplified rule holds together."""
        return Clashes(self.features, np.array([OP_ORDER[r.op] for r in self.rays]), once)


class Clashes:
    """Pairs of rays that no simplified rule holds together: `clashes[p, q]`, any indices.

    Rays of one feature imply or contradict each other, but for the two ends of an interval and two
    excluded levels; with `once`, they are never together. Nothing is kept for every pair, of which
    a wide table has too many.
    """

    def __init__(self, features: NDArray[np.int64], ops: NDArray[np.int64], once: bool) -> None:
        self._features, self._ops, self._once = features, ops, once

    def __getitem__(self, pair: tuple[Any, Any]) -> Any:
        p, q = pair
        same = self._features[p] == self._features[q]
        if self._once:
            return same
        one, two = self._ops[p], self._ops[q]
        ends = (one + two == OP_ORDER[Op.GE] + OP_ORDER[Op.LT]) & (one < OP_ORDER[Op.EQ])
        excluded = (one == OP_ORDER[Op.NE]) & (two == OP_ORDER[Op.NE]) & (np.not_equal(p, q))
        return same & ~ends & ~excluded


def _rays_of(problem: Problem, feature: int, *, right: bool, left: bool) -> list[Ray]:
    column = problem.table.columns[feature]
    allowed = problem.ops_of(feature)
    sides = (RIGHT if right else ()) + (LEFT if left else ())
    if left and Op.IN in allowed and len(problem.subset_levels(feature)) > 3:
        sides += (Op.EQ,)  # two subsets on the left can say it together
    ops = [op for op in Op if op in allowed and op in sides]
    out: list[Ray] = []
    for op in ops:
        if op.is_threshold:
            if column.n_values > 1:
                out.append(Ray(feature, op))
        elif op in (Op.EQ, Op.NE):
            out.extend(Ray(feature, op, code) for code in range(column.n_values))
        elif op is Op.IN:
            out.extend(Ray(feature, op, -1, s) for s in problem.subsets_of(feature))
        else:
            out.append(Ray(feature, op))
    return out


def fill_levels(out: NDArray[Any], ray: Ray, codes: NDArray[np.int32], n_values: int) -> None:
    """The tightest position of a ray that each row satisfies, into `out` (n_rows,)."""
    if ray.op is Op.GE:
        np.maximum(codes, 0, out=out, casting="unsafe")
    elif ray.op is Op.LT:
        out[:] = np.where(codes >= 0, n_values - 1 - codes, 0)
    else:
        out[:] = holds(ray.condition(1, n_values), codes)


class RayPlan:
    """Which sets of rays one chain of levels can hold.

    A ray's *type* is the set of levels that admit it, the set of levels it can fill by
    repetition, the set of levels of which two can say it together (an `==` as two `in`), and the
    required feature it brings. Whether a set of rays fits depends on its types alone, so the few
    combinations of types are decided once.
    """

    def __init__(self, problem: Problem, chain: Chain, rays: Rays) -> None:
        self._chain = chain
        self._features = [frozenset(level.features) for level in chain]
        self._required = {f: 1 << i for i, f in enumerate(sorted(problem.required))}
        kinds: dict[tuple[int, int, int, int], int] = {}
        self.types = np.array(
            [kinds.setdefault(self._type(problem, ray), len(kinds)) for ray in rays.rays],
            np.int64,
        ).reshape(-1)
        self._kinds = tuple(kinds)
        self._vacuous = sum(1 << d for d, level in enumerate(chain) if level.vacuous)
        self._fits: dict[tuple[int, ...], bool] = {}
        self.depth = len(chain)
        # Leaving a condition out never breaks the structure: every level may be vacuous.
        self.is_free = not self._required and all(level.vacuous for level in chain)

    def _type(self, problem: Problem, ray: Ray) -> tuple[int, int, int, int]:
        admits = fills = halves = 0
        allowed = problem.ops_of(ray.feature)
        n_values = problem.table.columns[ray.feature].n_values
        present = problem.table.columns[ray.feature].has_missing and ray.op is not Op.MISSING
        others = ray.op in (Op.EQ, Op.IN) and n_values > 1
        levels = problem.subset_levels(ray.feature) if Op.IN in allowed else ()
        most = min(len(levels), n_values - 2)  # of a subset
        held = ray.op is Op.IN or ray.code in levels
        for depth, level in enumerate(self._chain):
            if ray.feature not in self._features[depth]:
                continue
            bit = 1 << depth
            if _admits(level, ray.op):
                admits |= bit
                fills |= bit
            if others and Op.NE in allowed and _admits(level, Op.NE):
                fills |= bit
            if (
                others
                and held
                and _admits(level, Op.IN)
                and max(len(ray.levels), 2) <= most  # some subset holds it
            ):
                fills |= bit
            if ray.op is Op.EQ and held and _admits(level, Op.IN) and len(levels) > 3:
                halves |= bit
            if present and Op.PRESENT in allowed and _admits(level, Op.PRESENT):
                fills |= bit
        return admits, fills, halves, self._required.get(ray.feature, 0)

    def fits(self, types: tuple[int, ...]) -> bool:
        """Whether rays of these types can stand together in the chain."""
        types = tuple(sorted(types))
        if types not in self._fits:
            self._fits[types] = self._decide(types)
        return self._fits[types]

    def _decide(self, types: tuple[int, ...]) -> bool:
        kinds = [self._kinds[t] for t in types]
        filled = brought = 0
        for _, fills, _, required in kinds:
            filled |= fills
            brought |= required
        if brought != (1 << len(self._required)) - 1:
            return False
        every = (1 << self.depth) - 1
        idle = filled | self._vacuous  # levels that need no condition of their own

        def place(at: int, free: int) -> bool:
            if at == len(kinds):
                return free & ~idle == 0
            admits, _, halves, _ = kinds[at]
            ways = [1 << d for d in range(self.depth) if admits >> d & 1]
            both = [1 << d for d in range(self.depth) if halves >> d & 1]
            ways += [a | b for a, b in combinations(both, 2)]
            return any(free & way == way and place(at + 1, free & ~way) for way in ways)

        return len(kinds) <= self.depth and place(0, every)

    def fitting(self, prefix: tuple[int, ...]) -> NDArray[np.bool_]:
        """Types that fit as a pair beside the prefix's types, shape (n_types, n_types)."""
        n = len(self._kinds)
        out = np.zeros((n, n), dtype=bool)
        for a in range(n):
            for b in range(a, n):
                out[a, b] = out[b, a] = self.fits((*prefix, a, b))
        return out


def _admits(level: Level, op: Op) -> bool:
    return (level.right and op in RIGHT) or (level.left and op in LEFT)
