"""Rules of three and more conditions: one ray after the other, bisected, down to pairs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from opdt.engines.search import kernels
from opdt.engines.search.agenda import Work
from opdt.engines.search.field import Field, Whole
from opdt.engines.search.kernels import Kinds, Node, Pairs, Search, Small, Space
from opdt.engines.search.positions import by_position
from opdt.engines.search.rays import RayPlan
from opdt.rules import Op

if TYPE_CHECKING:
    from opdt.engines.search.run import Run
    from opdt.engines.search.sweep import Part, Sweep

SIDES = {Op.GE: 1, Op.LT: 2, Op.NE: 4}  # all others: 8
BLOCKED = {1: 1 | 4 | 8, 2: 2 | 4 | 8, 4: 1 | 2 | 8, 8: 15}


def kinds_of(run: Run, rays: Whole, plan: RayPlan, size: int) -> Kinds:
    """Which sets of `size` of these rays the plan can hold, as the kernels ask for it.

    Rays of one feature imply or contradict each other, but for the two ends of an interval and
    two excluded levels; where a feature may be used once only, they are never together.
    """
    every = run.prepared.rays
    sides = np.array([SIDES.get(every.rays[ray].op, 8) for ray in rays.tolist()], np.int64)
    once = run.problem.constraints.once
    blocks = np.array([15 if once else BLOCKED[side] for side in sides.tolist()], np.int64)
    known, types = np.unique(plan.types[rays], return_inverse=True)
    return Kinds(
        every.features[rays],
        sides,
        blocks,
        types.astype(np.int64).reshape(-1),
        _states(plan, known.tolist(), size),
        run.switches.canonical,
    )


def _states(plan: RayPlan, types: list[int], size: int) -> Whole:
    """Transitions between the multisets of types that some set of `size` rays begins with.

    State 0 is the empty multiset; those of the full size are one state, which leads nowhere.
    """
    places = range(len(types))
    fitting = {
        full
        for full in combinations_with_replacement(places, size)
        if plan.fits(tuple(types[at] for at in full))
    }
    alive: list[set[tuple[int, ...]]] = [fitting]
    for _ in range(size):
        alive.append({part[:at] + part[at + 1 :] for part in alive[-1] for at in range(len(part))})
    number = {part: at for at, part in enumerate(p for step in alive[:0:-1] for p in sorted(step))}
    following = np.full((len(number) + 1, len(types)), -1, np.int64)
    for part, state in number.items():
        for kind in places:
            longer = tuple(sorted((*part, kind)))
            following[state, kind] = len(number) if longer in fitting else number.get(longer, -1)
    return following


def pairs_between(kinds: Kinds, begin: int, end: int) -> tuple[Small, Small]:
    """All pairs of rays that stand together and whose first ray is in a range."""
    rays = np.arange(len(kinds.types))
    one, two = rays[begin:end, None], rays
    after = kinds.following[0, kinds.types[begin:end]]
    fits = (two > one) & (after >= 0)[:, None] & (kinds.following[after][:, kinds.types] >= 0)
    fits &= (kinds.features[one] != kinds.features) | (kinds.sides[one] & kinds.blocks == 0)
    first, second = np.nonzero(fits)
    return (first + begin).astype(np.int32), second.astype(np.int32)


def settle_alone(node: Node, pairs: Pairs, search: Search, space: Space) -> int:
    """Settle pairs of rays that stand alone; returns as `kernels.evaluate` does."""
    room, number = space.room, len(pairs.first)
    child = node._replace(levels=room.levels, tops=room.tops[: len(node.tops)])
    floor = int(search.control[kernels.BEST]) - search.goal_offset
    ended: int = kernels.evaluate(
        node, np.arange(len(node.gains), dtype=np.int32), child, pairs, space.frames.bounds,
        np.arange(number, dtype=np.int32), floor if search.flags.reduce else kernels.NEG, 0,
        search, space.scratch,
    )  # fmt: skip
    return ended


def settle_pairs(
    node: Node, ray: int, state: int, depth: int, kinds: Kinds, search: Search, space: Space
) -> tuple[int, int]:
    """Settle a ray with every pair behind it; returns as `kernels.settle_triples` does."""
    lists, frames = space.lists, space.frames
    after, bound = int(kinds.following[state, kinds.types[ray]]), kernels.NEG
    lists.cursor[0] = -1
    while after >= 0 and lists.cursor[0] < len(kinds.types):
        count, cut = kernels.list_pairs(node, ray, depth, kinds, after, search, lists, space.room)
        pairs = Pairs(lists.first[:count], lists.second[:count])
        ended = kernels.outer(
            node, ray, pairs, lists.start[:count], depth, search, frames, space.room, space.scratch
        )
        bound = max(bound, cut)
        if ended != kernels.DONE:
            return ended, bound
        bound = max(bound, int(frames.ends[:count].max(initial=kernels.NEG)))
    return kernels.DONE, bound


class Deepener:
    """Settles the rules of exactly `size` conditions that begin with a given ray."""

    def __init__(self, sweep: Sweep, part: Part, kinds: Kinds, size: int) -> None:
        self.sweep, self.run, self.part, self.kinds, self.size = sweep, sweep.run, part, kinds, size
        # A bisected item is settled over positions >= 1 of its own ray, so the loosest of them must
        # stay one, even where it drops nothing.
        self._keeping = part.flags._replace(first=True)

    def tasks(self) -> Iterator[tuple[int, Work]]:
        """For each ray, all rules of the size whose outermost ray it is, with their bound."""
        field, kinds = self.part.field, self.kinds
        last = len(field.rays) - (self.size - 1 if kinds.canonical else 0)
        for ray in range(max(0, last)):
            if kinds.following[0, kinds.types[ray]] < 0:
                continue
            gains = field.gains[field.levels[ray] > 0]

            def task(slot: int, ray: int = ray) -> None:
                self.settle(field, (), ray, 0, slot)

            yield int(gains[gains > 0].sum()) + self.part.goal_offset, task

    def settle(self, field: Field, prefix: tuple[int, ...], ray: int, state: int, slot: int) -> int:
        """Settle all sets of prefix, ray and rays behind it on a field.

        Returns a bound on their gains, over all positions of all of them.
        """
        left = self.size - len(prefix)
        if left > 4:
            return self._bisect(field, prefix, ray, state, slot)
        self.sweep.spaces[slot].chosen[: len(prefix)] = prefix
        bound = kernels.NEG

        def call(search: Search, space: Space) -> int:
            nonlocal bound
            settle = settle_pairs if left == 3 else kernels.settle_triples
            ended, bound = settle(field.node, ray, state, len(prefix), self.kinds, search, space)
            return int(ended)

        self.sweep.call(call, self.part, field, slot)
        return int(bound)

    def _bisect(
        self, field: Field, prefix: tuple[int, ...], ray: int, state: int, slot: int
    ) -> int:
        """Settle a ray's positions by bisection, as `kernels.outer` does further down.

        There is one bound for all sets that go on with the same ray. Returns a bound on the gain
        of all of them at all positions >= 1.
        """
        run, top, kinds = self.run, int(field.tops[ray]), self.kinds
        after = int(kinds.following[state, kinds.types[ray]])
        names = (*prefix, ray)
        others = [
            other
            for other in range(ray + 1 if kinds.canonical else 0, len(field.rays))
            if kinds.following[after, kinds.types[other]] >= 0
            and not any(kernels.apart(kinds, other, name) for name in names)
        ]
        number = len(others)
        mass, loss = by_position(field.levels[ray], field.gains, top + 2)
        ends = np.full(number, kernels.NEG, np.int64)
        every = np.arange(number, dtype=np.int32)
        stack = [(0, top + 1, every, np.full(number, field.mass), np.zeros(number, np.int64))]
        while stack and number:
            low, high, ids, at_low, at_high = stack.pop()
            if high - low < 2 or not len(ids):
                continue
            if run.halted():
                return field.mass
            middle = (low + high) // 2 if run.switches.intervals else high - 1
            goal = run.best - self.part.goal_offset
            settled = np.empty(number, np.int64)
            settled[ids] = np.minimum(
                at_low + loss[low] - loss[middle], at_high + mass[middle] - mass[high]
            )
            wanted = ids[settled[ids] >= goal] if run.switches.intervals else ids
            if len(wanted):
                floor = goal - int(mass[low + 1] - mass[middle])
                if not run.switches.reduction or not run.switches.intervals:
                    floor = kernels.NEG
                node = field.reduced(field.rows_at(ray, middle), floor, self._keeping, sort=False)
                for item in wanted.tolist():
                    if run.halted():
                        return field.mass
                    bound = self.settle(node, names, others[item], after, slot)
                    settled[item] = max(bound, floor - 1, 0)
            goal = run.best - self.part.goal_offset if run.switches.intervals else kernels.NEG
            left, right = np.empty((2, len(ids)), np.int32)
            n_left, n_right, bound_left, bound_right = kernels.split_items(
                low, middle, high, ids, at_low, settled, at_high, mass, loss, goal, ends, left,
                right,
            )  # fmt: skip
            halves = []
            for bound, a, b, places, before, behind in (
                (bound_left, low, middle, left[:n_left], at_low, settled[ids]),
                (bound_right, middle, high, right[:n_right], settled[ids], at_high),
            ):
                halves.append((bound, (a, b, ids[places], before[places], behind[places])))
            halves.sort(key=lambda half: half[0])  # the more promising half is taken first
            stack.extend(half for _, half in halves)
        return int(ends.max(initial=kernels.NEG))
