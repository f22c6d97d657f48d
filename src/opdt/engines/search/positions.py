"""Which positions: every rule on a given set of rays that is worth enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import position_kernels as kernels
from opdt.engines.search.blocks import Blocks, Store
from opdt.engines.search.rays import Rays, fill_levels
from opdt.problem import CodedCondition, CodedRule, Problem, RowLimit
from opdt.rules import Op

Whole = NDArray[np.int64]
Levels = NDArray[np.int32]

CAPACITY = 4096  # records of a kernel, at least
STEPS = 100_000  # rows and nodes between two looks at the clock


def sum_columns(
    problem: Problem, label: int, values: Whole, limits: Sequence[RowLimit]
) -> NDArray[np.int64]:
    """What each row adds to the sums of a rule, shape (n_rows, m): see `position_kernels`."""
    objective = problem.objective
    n = problem.table.n_rows
    marks = np.random.default_rng(20).integers(2 ** (62 - n.bit_length()), size=(n, 2))
    wrong = objective.weights * objective.wrong(label)
    parts = [values, objective.gains(label), objective.weights, wrong, *marks.T]
    return np.column_stack([*parts, *(limit.column for limit in limits)])


class Lister:
    """Lists the rules on sets of rays, and puts them into a store.

    Parameters
    ----------
    problem : Problem
    rays : Rays
    values : mapping of class to (n_rows,) whole numbers
        What each row adds to the value of a rule.
    offset : callable
        What a rule of so many conditions has besides.
    store : Store
    expired : callable
        Asked often; the listing ends where it says so, and then `is_cut` is True.
    row_limits : sequence of RowLimit
    """

    def __init__(
        self,
        problem: Problem,
        rays: Rays,
        values: Mapping[int, Whole],
        offset: Callable[[int], int],
        store: Store,
        expired: Callable[[], bool],
        row_limits: Sequence[RowLimit] = (),
    ) -> None:
        self._problem, self._rays, self._offset, self._store = problem, rays, offset, store
        self._expired, self.is_cut = expired, False
        self._columns = {
            label: sum_columns(problem, label, column, row_limits)
            for label, column in values.items()
        }
        limits = problem.limits
        precision = limits.precision
        self._limits = np.array(
            [limits.min_covered, limits.max_errors, precision.numerator, precision.denominator],
            np.int64,
        )
        self._row_limits = tuple(row_limits)
        self._depth = problem.structure.depth
        self._tops = rays.tops

    def list(self, label: int, rays: tuple[int, ...]) -> None:
        """Put all rules on these rays into the store, as far as time allows."""
        if not rays:
            self._list_empty(label)
            return
        by_top = sorted(rays, key=lambda ray: int(self._tops[ray]))
        levels = np.empty((len(rays), len(self._columns[label])), np.int32)
        for out, index in zip(levels, by_top, strict=True):
            ray = self._rays.rays[index]
            column = self._rays.columns[ray.feature]
            fill_levels(out, ray, column.codes, column.n_values)
        rows = np.flatnonzero(levels.all(axis=0))  # others are covered at no position
        if len(rows):
            walk = _Walk(self, label, by_top)
            walk.descend(np.ascontiguousarray(levels[:, rows]), self._columns[label][rows])

    def goals(self, size: int) -> Whole:
        """What the sums of a rule of so many conditions must reach: see `list_pair`."""
        goals = [(kernels.VALUE, 1, self._store.least - self._offset(size))]
        if self._row_limits:  # the value does not tell the gain then
            goals.append((kernels.GAIN, 1, self._store.least_gain))
        for at, limit in enumerate(self._row_limits):
            goals.append((kernels.LIMITED + at, -1, -limit.most))
        return np.array(goals, np.int64)

    def halted(self) -> bool:
        """Whether the time is over; asked only where something is left to do."""
        self.is_cut = self.is_cut or self._expired()
        return self.is_cut

    def block(self, rule: CodedRule) -> Blocks:
        """The one rule as a block."""
        shape = (1, self._depth)
        rays, at = np.full(shape, -1), np.zeros(shape, int)
        places = sorted(_place(self._rays, condition) for condition in rule.conditions)
        for d, (ray, position) in enumerate(places):
            rays[0, d], at[0, d] = ray, position
        fires = self._problem.cover(rule.conditions)
        sums = self._columns[rule.label][fires].sum(axis=0)[None]
        return Blocks(np.array([rule.label]), np.array([len(places)]), rays, at, at, sums)

    def _list_empty(self, label: int) -> None:
        """The rule without a condition."""
        sums, goals = self._columns[label].sum(axis=0), self.goals(0)
        reached = bool((goals[:, 1] * sums[goals[:, 0]] >= goals[:, 2]).all())
        if reached and kernels.within_limits(sums, self._limits):
            none = np.zeros((1, self._depth), np.int64)
            self._store.add(
                Blocks(np.array([label]), np.array([0]), none - 1, none, none, sums[None])
            )


class _Walk:
    """The positions of one set of rays, those with the fewest positions first."""

    def __init__(self, lister: Lister, label: int, rays: list[int]) -> None:
        self._lister, self._label = lister, label
        self._names = np.array(rays, np.int64)
        self._order = np.argsort(self._names)
        self._chosen: list[tuple[int, int]] = []  # loosest and tightest position of the rays so far
        self._tops = lister._tops[self._names]
        self._size = len(rays)

    def _goal(self) -> int:
        lister = self._lister
        return lister._store.least - lister._offset(self._size)

    def descend(self, levels: Levels, columns: Whole) -> int:
        """List the rules of the rays that are left on some rows.

        `levels` (n_left, n) and `columns` (n, m) are of these rows. Returns a bound on the values
        of all positions of these rays, whatever is demanded of their rows.
        """
        at = self._size - len(levels)
        if len(levels) == 1:
            alone = np.ones((1, levels.shape[1]), np.int32)
            return self._pair(np.concatenate([alone, levels]), columns, at)
        if len(levels) == 2:
            return self._pair(levels, columns, at)
        values = columns[:, kernels.VALUE]
        own, low, high = squeezed(levels[0], values, int(self._tops[at]), self._goal())
        by_level = np.zeros(len(low), np.int64)
        np.add.at(by_level, own, np.maximum(-values, 0))
        loss = by_level[::-1].cumsum()[::-1]
        before: tuple[int, int] | None = None  # bound and loss at the last position settled
        best = kernels.NEG
        for position in range(1, len(low)):
            if self._lister.halted():
                break
            # Dropping rows raises the best by at most the loss dropped.
            if before is not None and before[0] + before[1] - loss[position] < self._goal():
                continue
            rows = own >= position
            self._chosen.append((int(low[position]), int(high[position])))
            settled = self.descend(np.ascontiguousarray(levels[1:, rows]), columns[rows])
            self._chosen.pop()
            before = settled, int(loss[position])
            best = max(best, settled)
        return max(best, self._goal() - 1)

    def _pair(self, levels: Levels, columns: Whole, at: int) -> int:
        """The last two rays, or the only one with one that says nothing before it."""
        n, m = columns.shape
        values = columns[:, kernels.VALUE]
        alone = self._size == 1
        tops = [1, int(self._tops[0])] if alone else [int(self._tops[at]), int(self._tops[at + 1])]
        own, low, high = zip(
            *(squeezed(levels[d], values, tops[d], self._goal()) for d in range(2)), strict=True
        )
        top1, top2 = len(low[0]) - 1, len(low[1]) - 1
        if top1 == 0 or top2 == 0:
            return self._goal() - 1
        leaves = 1 << (top2 - 1).bit_length()
        capacity = max(CAPACITY, top2)
        places, sums = np.empty((capacity, 2), np.int64), np.empty((capacity, m), np.int64)
        state = np.zeros(4, np.int64)
        scratch = (
            np.empty(top1 + 2, np.int64),
            np.empty(n, np.int32),
            np.empty((2 * leaves, m + 2 + len(self._lister._row_limits)), np.int64),
            np.empty((leaves.bit_length() + 2, m + 1), np.int64),
        )
        ended, resume = kernels.MORE, False
        while ended == kernels.MORE and not self._lister.halted():
            ended = kernels.list_pair(
                *own, columns, top1, top2, self._lister.goals(self._size), self._lister._limits,
                STEPS, resume, *scratch, places, sums, state,
            )  # fmt: skip
            found = int(state[kernels.RECORDS])
            self._keep(places[:found, alone:], low[alone:], high[alone:], sums[:found])
            resume = True
        return max(int(state[kernels.BEST]), self._goal() - 1)

    def _keep(
        self, places: Whole, low: Sequence[Whole], high: Sequence[Whole], sums: Whole
    ) -> None:
        """Put records into the store, as blocks of old positions on rays in their order."""
        if not len(places):
            return
        shape = (len(places), self._lister._depth)
        rays, lows, highs = np.full(shape, -1), np.zeros(shape, int), np.zeros(shape, int)
        first = np.empty((len(places), self._size), np.int64)
        last = np.empty_like(first)
        for d, (a, b) in enumerate(self._chosen):
            first[:, d], last[:, d] = a, b
        for d in range(places.shape[1]):
            at = len(self._chosen) + d
            first[:, at], last[:, at] = low[d][places[:, d]], high[d][places[:, d]]
        rays[:, : self._size] = self._names[self._order]
        lows[:, : self._size], highs[:, : self._size] = first[:, self._order], last[:, self._order]
        labels, sizes = np.full(len(places), self._label), np.full(len(places), self._size)
        self._lister._store.add(Blocks(labels, sizes, rays, lows, highs, sums.copy()))


def _place(rays: Rays, condition: CodedCondition) -> tuple[int, int]:
    """The ray of a condition, and its position there."""
    feature, op, code, _ = condition
    n_values = rays.columns[feature].n_values
    position = {Op.GE: code, Op.LT: n_values - code}.get(op, 1)
    alike = np.flatnonzero(rays.features == feature).tolist()
    found = (ray for ray in alike if rays.condition(ray, position) == condition)
    return next(found), position


def squeezed(levels: Levels, values: Whole, top: int, floor: int) -> tuple[Levels, Whole, Whole]:
    """New levels of a ray on some rows, and the old positions of each new one (0 first)."""
    low, high, mass = np.zeros((3, top + 1), np.int64)
    out = np.empty(len(levels), np.int32)
    kept = kernels.squeeze(
        levels, values, top, floor, mass, np.empty(top + 1, np.int32), low, high, out
    )
    return out, low[: kept + 1], high[: kept + 1]
