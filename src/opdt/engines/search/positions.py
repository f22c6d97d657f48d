"""Which positions of a set of rays: every one that is worth enough, or the loosest.

Positions of the first rays are bisected: those of a ray are nested, so a settled position bounds
its neighbours (`kernels.best_between`). The last two rays are swept by one kernel
(`position_kernels.list_pair`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import position_kernels as kernels
from opdt.engines.search.kernels import Limits, best_between
from opdt.engines.search.pricing import Price
from opdt.engines.search.tuning import Tuning

Whole = NDArray[np.int64]
Levels = NDArray[np.int32]
Keep = Callable[[Whole, Whole, Whole], None]  # loosest and tightest positions, sums of their rows


class Expired(Exception):
    """Time ran out while a rule was being worked out."""


@dataclass(frozen=True, eq=False)
class PositionSearch:
    """Some rays on some rows, and what the rows at their positions must reach.

    Parameters
    ----------
    levels : (k, n_rows) level of each row on each ray, at least 1
    tops : (k,)
    columns : (n_rows, m) what each row adds to the sums: see `position_kernels`
    goals : callable
        What the sums must reach now, as `list_pair` takes it. The first goal is on the values,
        and may only rise.
    limits : Limits
        Where the goal is 0 or below, they do not allow to cover nothing.
    halted : callable
        Asked often. Where it says so, nothing more is looked for; it may raise instead.
    tuning : Tuning
    """

    levels: Levels
    tops: Whole
    columns: Whole
    goals: Callable[[], Whole]
    limits: Limits
    halted: Callable[[], bool]
    tuning: Tuning

    @classmethod
    def inside(
        cls, levels: NDArray[np.integer[Any]], tops: Whole, columns: Whole, *rest: Any
    ) -> PositionSearch:
        """The same on all rows; those that some ray covers at no position are left out."""
        rows = np.flatnonzero(levels.all(axis=0))
        return cls(np.ascontiguousarray(levels[:, rows], np.int32), tops, columns[rows], *rest)

    @classmethod
    def gaining(
        cls, goal: int, levels: NDArray[np.integer[Any]], tops: Whole,
        rows: tuple[Whole, Whole, Whole], limits: Limits, expired: Callable[[], bool],
        tuning: Tuning, price: Price | None = None, *, limited: bool = True,
    ) -> PositionSearch:  # fmt: skip
        """The same on all rows, whose gains are to reach a goal.

        `rows` are gains, weights and error weights, (n_rows,) each.

        With a price of the limits, bounds are on priced gains. It is quicker where rows are not
        `limited` and errors do not matter. Raises `Expired` when asked to stop.
        """

        def halted() -> bool:
            if expired():
                raise Expired
            return False

        gains, weights, wrong = rows
        priced = gains if price is None else gains + price.added
        allowance = 0 if price is None else price.allowance
        goals = np.array([(kernels.VALUE, 1, goal + allowance), (kernels.GAIN, 1, goal)], np.int64)
        alone = not limited and price is None
        columns = gains[:, None] if alone else np.column_stack([priced, gains, weights, wrong])
        goals = goals[: 1 if price is None else 2]
        return cls.inside(levels, tops, columns, lambda: goals, limits, halted, tuning)

    @property
    def _goal(self) -> int:
        return int(self.goals()[0, 2])

    def list(self, keep: Keep) -> None:
        """Hand all positions that reach the goals to `keep`, in blocks that cover the same rows."""
        size = len(self.tops)

        def store(chosen: _Chosen, places: Whole, ends: _Ends, sums: Whole) -> None:
            first, last = np.empty((2, len(places), size), np.int64)
            for d, (a, b) in enumerate(chosen):
                first[:, d], last[:, d] = a, b
            for d, (low, high) in enumerate(ends, len(chosen)):
                own = places[:, d - len(chosen)]
                first[:, d], last[:, d] = low[own], high[own]
            keep(first, last, sums.copy())

        self._settle(self.levels, self.columns, (), store)

    def first(self, *, quick: bool = False) -> tuple[int, ...] | None:
        """The loosest positions, in the order of the rays, that reach the goals; None if none do.

        If `quick`, any positions will do.
        """
        found: list[int] = []
        levels, columns = self.levels, self.columns
        while len(levels) > 2:
            position = self._bisect(levels, columns, loosest=not quick)[1]
            if position is None:
                return None
            found.append(position)
            rows = levels[0] >= position
            levels, columns = np.ascontiguousarray(levels[1:, rows]), columns[rows]
        hit = self._pair(levels, columns, (), None)[1]
        return None if hit is None else (*found, *hit)

    def with_fewest_errors(self) -> tuple[int, ...] | None:
        """The first of those with the fewest errors, by narrower and narrower limits on them.

        With most gains nothing else ties, so it is asked first whether any error can be spared.
        """
        found = self.first()
        if found is None:
            return None
        most = self._errors(found)
        low, high, middle = 0, most, most - 1
        while low < high:
            better = self._limited(middle).first(quick=True)
            if better is None:
                low = middle + 1
            else:
                high = self._errors(better)
            middle = (low + high) // 2
        return found if high == most else self._limited(high).first()

    def _limited(self, most: int) -> PositionSearch:
        """The same with so much error weight at most."""
        goals = np.concatenate([self.goals(), [[kernels.ERRORS, -1, -most]]])
        limits = self.limits._replace(most=min(self.limits.most, most))
        return replace(self, goals=lambda: goals, limits=limits)

    def _errors(self, positions: tuple[int, ...]) -> int:
        """Error weight of the rows at these positions or above."""
        inside = (self.levels >= np.array(positions)[:, None]).all(axis=0)
        return int(self.columns[inside, kernels.ERRORS].sum())

    def _floor(self, levels: Levels) -> int:
        """Positions of less mass than this are left out: nobody asks for a bound on them."""
        return self._goal if len(levels) == len(self.tops) else kernels.NEG

    def _settle(
        self, levels: Levels, columns: Whole, chosen: _Chosen, store: _Store | None
    ) -> tuple[int, bool]:
        """Settle the rays that are left on some rows: store what is found, or look for anything.

        `levels` (n_left, n) and `columns` (n, m) are of these rows. Returns a bound on the values
        of all positions of these rays, whatever is demanded of their rows, and whether some reach
        the goals.
        """
        if len(levels) <= 2:
            bound, hit = self._pair(levels, columns, chosen, store)
            return bound, hit is not None
        bound, position = self._bisect(levels, columns, chosen, store)
        return bound, position is not None

    def _bisect(
        self, levels: Levels, columns: Whole, chosen: _Chosen = (), store: _Store | None = None,
        *, loosest: bool = False,
    ) -> tuple[int, int | None]:  # fmt: skip
        """Settle the first ray's positions where the others may reach the goals behind them.

        Returns a bound as `_settle` does, and a position at which they reach them: the loosest if
        that is asked for, else any.
        """
        at = len(self.tops) - len(levels)
        values = np.ascontiguousarray(columns[:, kernels.VALUE])
        floor = self._floor(levels)
        own, low, high = squeezed(levels[0], values, int(self.tops[at]), floor)
        mass, loss = by_position(own, values, len(low) + 1)
        stack = [(0, len(low), int(mass[0]), 0)]  # looser intervals on top
        bound, best = max(floor - 1, 0), None
        while stack:
            left, right, at_left, at_right = stack.pop()
            between = int(best_between(left, right, at_left, at_right, mass, loss))
            done = best is not None and store is None and (not loosest or left + 1 >= best)
            if between < self._goal or done:
                bound = max(bound, between)
                continue
            if self.halted():
                break
            middle = (left + right) // 2
            rows = own >= middle
            ends = (*chosen, (int(low[middle]), int(high[middle])))
            settled, reached = self._settle(
                np.ascontiguousarray(levels[1:, rows]), columns[rows], ends, store
            )
            bound = max(bound, settled)
            if reached and (best is None or middle < best):
                best = middle
            stack.append((middle, right, settled, at_right))
            stack.append((left, middle, at_left, settled))
        return bound, None if best is None else int(low[best])

    def _pair(
        self, levels: Levels, columns: Whole, chosen: _Chosen, store: _Store | None
    ) -> tuple[int, tuple[int, ...] | None]:
        """The last two rays, or the only one with one that says nothing before it.

        Returns a bound as `_settle` does, and the loosest positions where any reach the goals.
        """
        n, m = columns.shape
        values, alone = np.ascontiguousarray(columns[:, kernels.VALUE]), 2 - len(levels)
        floor = self._floor(levels)
        ends: list[tuple[Whole, Whole]] = []
        own = [np.ones(n, np.int32)] * alone
        for level, top in zip(levels, self.tops[-len(levels) :].tolist(), strict=True):
            new, low, high = squeezed(level, values, top, floor)
            own.append(new)
            ends.append((low, high))
        top1, top2 = 1 if alone else len(ends[0][0]) - 1, len(ends[-1][0]) - 1
        if top1 == 0 or top2 == 0:
            return max(floor - 1, 0), None
        goals, hit = self.goals(), None
        capacity = max(self.tuning.records, top2) if store is not None else 1
        room = kernels.PairRoom.of(n, m, top1, top2, len(goals), capacity)
        ended, resume = kernels.MORE, False
        while ended == kernels.MORE and not (resume and self.halted()):
            if store is not None:
                goals = self.goals()
            ended = kernels.list_pair(
                *own, columns, top1, top2, goals, self.limits, self.tuning.steps, resume,
                store is None, room,
            )  # fmt: skip
            found = int(room.state[kernels.RECORDS])
            if found and store is not None:
                store(chosen, room.places[:found, alone:], ends, room.sums[:found])
            if found:
                spots = room.places[found - 1, alone:].tolist()
                hit = tuple(int(low[at]) for (low, _), at in zip(ends, spots, strict=True))
            resume = True
        return max(int(room.state[kernels.BEST]), floor - 1, 0), hit


_Chosen = tuple[tuple[int, int], ...]  # loosest and tightest position of the rays so far
_Ends = list[tuple[Whole, Whole]]  # the same of each new position of the last rays
_Store = Callable[[_Chosen, Whole, _Ends, Whole], None]


def by_position(levels: NDArray[np.integer[Any]], gains: Whole, size: int) -> tuple[Whole, Whole]:
    """Mass and loss of the rows at or above each level 0 … size - 1."""
    out = np.zeros((2, size), np.int64)
    np.add.at(out[0], levels, np.maximum(gains, 0))
    np.add.at(out[1], levels, np.maximum(-gains, 0))
    mass, loss = np.ascontiguousarray(out[:, ::-1].cumsum(axis=1)[:, ::-1])
    return mass, loss


def squeezed(levels: Levels, values: Whole, top: int, floor: int) -> tuple[Levels, Whole, Whole]:
    """New levels of a ray on some rows, and the old positions of each new one (0 first)."""
    low, high, mass = np.zeros((3, top + 1), np.int64)
    out = np.empty(len(levels), np.int32)
    kept = kernels.squeeze(
        levels, values, top, floor, mass, np.empty(top + 1, np.int32), low, high, out
    )
    return out, low[: kept + 1], high[: kept + 1]
