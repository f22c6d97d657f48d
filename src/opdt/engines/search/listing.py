"""Every rule on given sets of rays that is worth enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import position_kernels as kernels
from opdt.engines.search.blocks import Blocks, Store
from opdt.engines.search.kernels import within
from opdt.engines.search.positions import PositionSearch
from opdt.engines.search.pricing import limits_of
from opdt.engines.search.rays import Rays, fill_levels
from opdt.engines.search.tuning import Tuning
from opdt.problem import CodedCondition, CodedRule, Problem, RowLimit
from opdt.rules import Op

Whole = NDArray[np.int64]


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
    tuning : Tuning
    row_limits : sequence of RowLimit, optional
        With them the values are those of a search at prices, which do not tell the gain.
    """

    def __init__(
        self,
        problem: Problem,
        rays: Rays,
        values: Mapping[int, Whole],
        offset: Callable[[int], int],
        store: Store,
        expired: Callable[[], bool],
        tuning: Tuning,
        row_limits: Sequence[RowLimit] | None = None,
    ) -> None:
        self._problem, self._rays, self._offset, self._store = problem, rays, offset, store
        self._expired, self._tuning, self.is_cut = expired, tuning, False
        self._columns = {
            label: sum_columns(problem, label, column, row_limits or ())
            for label, column in values.items()
        }
        self._limits = limits_of(problem)
        self._row_limits, self._at_prices = tuple(row_limits or ()), row_limits is not None
        self._depth = problem.structure.depth
        self._tops = rays.tops

    def list(self, label: int, rays: tuple[int, ...]) -> None:
        """Put all rules on these rays into the store, as far as time allows."""
        if not rays:
            self._list_empty(label)
            return
        names = np.array(sorted(rays, key=lambda ray: int(self._tops[ray])), np.int64)
        levels = np.empty((len(rays), len(self._columns[label])), np.int32)
        for out, index in zip(levels, names.tolist(), strict=True):
            ray = self._rays.rays[index]
            column = self._rays.columns[ray.feature]
            fill_levels(out, ray, column.codes, column.n_values)
        order = np.argsort(names)

        def keep(first: Whole, last: Whole, sums: Whole) -> None:
            """Put records into the store, as blocks of positions on rays in their order."""
            n, size = first.shape
            own = np.full((n, self._depth), -1)
            low, high = np.zeros((2, n, self._depth), np.int64)
            own[:, :size], low[:, :size] = names[order], first[:, order]
            high[:, :size] = last[:, order]
            self._store.add(Blocks(np.full(n, label), np.full(n, size), own, low, high, sums))

        PositionSearch.inside(
            levels, self._tops[names], self._columns[label], lambda: self.goals(len(rays)),
            self._limits, self.halted, self._tuning,
        ).list(keep)  # fmt: skip

    def goals(self, size: int) -> Whole:
        """What the sums of a rule of so many conditions must reach: see `list_pair`."""
        goals = [(kernels.VALUE, 1, self._store.least - self._offset(size))]
        if self._at_prices:
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
        if reached and within(*sums[[kernels.COVERED, kernels.ERRORS]], self._limits):
            none = np.zeros((1, self._depth), np.int64)
            self._store.add(
                Blocks(np.array([label]), np.array([0]), none - 1, none, none, sums[None])
            )


def _place(rays: Rays, condition: CodedCondition) -> tuple[int, int]:
    """The ray of a condition, and its position there."""
    feature, op, code, _ = condition
    n_values = rays.columns[feature].n_values
    position = {Op.GE: code, Op.LT: n_values - code}.get(op, 1)
    alike = np.flatnonzero(rays.features == feature).tolist()
    found = (ray for ray in alike if rays.condition(ray, position) == condition)
    return next(found), position
