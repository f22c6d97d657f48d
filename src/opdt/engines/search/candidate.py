"""From the sets of rays that reach the best value to the first rule in the documented order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import kernels
from opdt.engines.search.kernels import Flags, Limits, Node
from opdt.engines.search.pricing import Price
from opdt.engines.search.workspace import scratch
from opdt.errors import EngineFailure
from opdt.problem import CodedRule

if TYPE_CHECKING:
    from opdt.engines.search.run import Run


class Expired(Exception):
    """Time ran out while a rule was being worked out."""


def _never() -> bool:
    return False


Winner = tuple[int, tuple[int, ...]]  # class, rays
Whole = NDArray[np.int64]
Rows = NDArray[np.signedinteger[Any]] | slice
# Steps (positions × rows) up to which trying all positions is quicker than bisecting them.
FEW_STEPS = 2_000_000
LIMITED = 20  # so many times more with limits on rows, where bounds between positions are poor
# Every ray keeps its loosest position, and nothing is tightened past rows without mass.
KEEPING = Flags(
    first=True,
    mass_above=False,
    reduce=True,
    uniform=False,
    constrained=False,
    priced=False,
    decide=0,
    intervals=True,
    exclusion=True,
)


def first_rule(
    run: Run, winners: Iterable[Winner], value: int, *, quick: bool
) -> tuple[CodedRule, Winner]:
    """The first rule, in the documented order, of all those that reach the value, and its set.

    The value fixes gain, number of conditions and errors (where scores carry them), so the order
    of features decides next: only the sets with the first features are worked out. If `quick`,
    (a limit is reached, so nothing is promised about ties) any rule of the value will do.
    """
    candidates = sorted(winners)
    if run.scores.with_errors:
        features = run.prepared.rays.features
        used = [tuple(sorted(features[list(rays)].tolist())) for _, rays in candidates]
        first = min(used)
        candidates = [c for c, names in zip(candidates, used, strict=True) if names == first]
    if quick:
        candidates = candidates[:1]
    rules = [
        (_rule(run, label, rays, value, quick=quick), (label, rays)) for label, rays in candidates
    ]
    return min(rules, key=lambda pair: run.problem.key(pair[0], run.problem.measure(pair[0])))


def _rule(run: Run, label: int, rays: tuple[int, ...], value: int, *, quick: bool) -> CodedRule:
    """The rule of a set of rays that reaches a value with the loosest conditions, in order.

    Raises
    ------
    EngineFailure
        If no positions of the rays reach it: the search would have been wrong.
    """
    rays = tuple(sorted(rays))  # the rays are built in the order of features and operators
    if not rays:
        return CodedRule((), label)
    goal = value - run.scores.offset(len(rays))
    positions = run.method.locate(label, rays, goal, quick=quick)
    if positions is None:
        raise EngineFailure(f"no conditions on rays {rays} reach the value {value} of the search.")
    prepared = run.prepared.rays
    conditions = tuple(prepared.condition(ray, at) for ray, at in zip(rays, positions, strict=True))
    return CodedRule(conditions, label)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Some rays on some rows, and a gain that some of their positions should reach."""

    levels: NDArray[np.uint16]  # (k, n_rows)
    tops: Whole  # (k,)
    gains: Whole  # (n_rows,)
    weights: Whole
    wrong: Whole
    limits: Limits
    constrained: bool
    carries_errors: bool  # gains decide between numbers of errors, too
    expired: Callable[[], bool] = _never  # asked between steps; raises `Expired` when it says so
    price: Price | None = None  # of the limits: bounds are on priced gains

    @cached_property
    def _bounding(self) -> Whole:
        """The gains that bounds are about, shape (n_rows,)."""
        return self.gains if self.price is None else self.gains + self.price.added

    def node(self, rays: slice = slice(None), rows: Rows = slice(None)) -> Node:
        """Some of the rays on some of the rows, as the kernels take them."""
        return Node(
            np.ascontiguousarray(self.levels[rays][:, rows]), self.tops[rays],
            self._bounding[rows], self.weights[rows], self.wrong[rows], self.gains[rows],
        )  # fmt: skip

    def _needed(self, goal: int) -> int:
        """What a bound must reach so that the goal may be reached."""
        return goal if self.price is None else goal + self.price.allowance

    def positions(self, goal: int, *, quick: bool = False) -> tuple[int, ...] | None:
        """The loosest positions, in the order of the rays, whose rows gain `goal`; None if none do.

        Where a set gains more than the goal, which only happens before its search is over, any
        positions that reach the goal will do.

        Gains that do not carry errors (row weights too fine for that) leave the choice between
        numbers of errors to trying all positions, or to narrower and narrower limits on errors.
        """
        steps = float(np.prod(self.tops[:-1].astype(float))) * len(self.gains)
        if steps <= FEW_STEPS * (LIMITED if self.constrained else 1):
            found_all = self._try_all(goal)
            if found_all is not None or not quick:
                return found_all
        found = self._loosest(goal, quick=quick)
        if found is None or self.carries_errors or quick:
            return found
        return self._with_fewest_errors(goal, found)

    def _with_fewest_errors(self, goal: int, found: tuple[int, ...]) -> tuple[int, ...] | None:
        """The loosest positions of the fewest errors, once the loosest of all are known.

        With most gains nothing else ties, so it is asked first whether any error can be spared.
        """
        most = self._errors(found)
        low, high, middle = 0, most, most - 1
        while low < high:
            better = self._limited(middle)._loosest(goal, quick=True)
            if better is None:
                low = middle + 1
            else:
                high = self._errors(better)
            middle = (low + high) // 2
        return found if high == most else self._limited(high)._loosest(goal)

    def _limited(self, most_errors: int) -> Candidate:
        """The same with so many errors at most."""
        limits = self.limits._replace(most=min(self.limits.most, most_errors))
        return replace(self, limits=limits, constrained=True)

    def _errors(self, positions: tuple[int, ...]) -> int:
        """Error weight of the rows at these positions or above."""
        inside = (self.levels >= np.array(positions)[:, None]).all(axis=0)
        return int(self.wrong[inside].sum())

    def _loosest(self, goal: int, *, quick: bool = False) -> tuple[int, ...] | None:
        """The loosest positions that reach the goal, ray by ray, by bisection."""
        found: list[int] = []
        rows = np.arange(len(self.gains), dtype=np.int32)
        for ray in range(len(self.tops)):
            if ray == len(self.tops) - 2 and not self.constrained:
                position = self._first_of_pair(rows, ray, goal)
            else:
                position = self._bisect(rows, ray, goal, loosest=not quick)[1]
            if position is None:
                return None
            found.append(position)
            rows = rows[self.levels[ray, rows] >= position]
        return tuple(found)

    def _try_all(self, goal: int) -> tuple[int, ...] | None:
        k, n = self.levels.shape
        top = int(self.tops.max()) + 2
        found = np.zeros(k, np.int64)
        reached = kernels.first_positions(
            self.node()._replace(gains=self.gains), goal, self.limits, self.constrained,
            not self.carries_errors,
            np.empty((k, n), np.int32), np.empty(k, np.int64), np.zeros(k, np.int64), found,
            *(np.empty(top, np.int64) for _ in range(3)),
        )  # fmt: skip
        return None if reached < 0 else tuple(found.tolist())

    def _first_of_pair(self, rows: NDArray[np.int32], ray: int, goal: int) -> int | None:
        """`_first` for the last ray but one, in one sweep."""
        top1, top2 = int(self.tops[ray]), int(self.tops[ray + 1])
        _, _, found = kernels.sweep(
            self.levels[ray, rows], self.levels[ray + 1, rows], self.gains[rows], len(rows), top1,
            top2, goal, scratch(0, len(rows), top1, top2),
        )  # fmt: skip
        return int(found) or None

    def _bisect(
        self, rows: NDArray[np.int32], ray: int, goal: int, *, loosest: bool
    ) -> tuple[int, int | None]:
        """Bisect a ray's positions for one at which the rays behind it reach the goal.

        Returns a bound on what they gain at any position, and the position: the loosest, or any.
        """
        needed = self._needed(goal)
        mass, loss = self._by_position(rows, ray)
        own = self.levels[ray, rows]
        stack = [(0, int(self.tops[ray]) + 1, int(mass[0]), 0)]  # looser intervals on top
        bound, best = max(int(self._bounding[rows].sum()), 0), None
        while stack:
            low, high, at_low, at_high = stack.pop()
            between = int(kernels.best_between(low, high, at_low, at_high, mass, loss))
            found = best is not None and (not loosest or low + 1 >= best)
            if between < needed or found:
                bound = max(bound, between)
                continue
            if self.expired():
                raise Expired
            middle = (low + high) // 2
            settled, reached = self._settle(rows[own >= middle], ray + 1, goal)
            bound = max(bound, settled)
            if reached and (best is None or middle < best):
                best = middle
            stack.append((middle, high, settled, at_high))
            stack.append((low, middle, at_low, settled))
        return bound, best

    def _settle(self, rows: NDArray[np.int32], ray: int, goal: int) -> tuple[int, bool]:
        """A bound on what the rays from `ray` on gain on some rows, and whether they reach it."""
        left = len(self.tops) - ray
        if left == 0:
            counts = int(self.weights[rows].sum()), int(self.wrong[rows].sum())
            fine = not self.constrained or bool(kernels.within(*counts, self.limits))
            return int(self._bounding[rows].sum()), fine and int(self.gains[rows].sum()) >= goal
        if left == 1:
            return self._settle_single(rows, ray, goal)
        if left == 2:
            return self._settle_pair(rows, ray, goal)
        bound, position = self._bisect(rows, ray, goal, loosest=False)
        return bound, position is not None

    def _settle_single(self, rows: NDArray[np.int32], ray: int, goal: int) -> tuple[int, bool]:
        values, positions = np.empty((2, 1), np.int64)
        sums = [np.empty(int(self.tops[ray]) + 2, np.int64) for _ in range(3)]
        node = self.node(slice(ray, ray + 1), rows)
        true = node._replace(gains=node.true)
        kernels.singles(true, self.constrained, self.limits, values, positions, *sums)
        reached = bool(values[0] >= goal)
        if self.constrained:
            kernels.singles(node, False, self.limits, values, positions, *sums)
        return max(int(values[0]), int(node.gains.sum()), 0), reached

    def _settle_pair(self, rows: NDArray[np.int32], ray: int, goal: int) -> tuple[int, bool]:
        n, top = len(rows), int(self.tops[ray:].max())
        room = scratch(0, n, top, top)
        every = self.node(slice(ray, ray + 2), rows)
        node = every._replace(levels=np.empty((2, n), np.uint16), tops=np.empty(2, np.int64))
        kernels.compress_all(
            every, np.arange(n, dtype=np.int32), node, kernels.NEG,
            KEEPING._replace(priced=self.price is not None), room.mass, room.loss, room.renumber,
        )  # fmt: skip
        one, two = node.tops.tolist()
        inner, full = kernels.best_pair(*node.levels, node.gains, n, one, two, room)
        if self.constrained and one > 0 and two > 0:
            needed = self._needed(goal)
            inner = kernels.constrained_pair(
                *node.levels, node, one, two, self.limits, needed, room
            )
        return max(int(full), 0), bool(one > 0 and two > 0 and inner >= goal)

    def _by_position(self, rows: NDArray[np.int32], ray: int) -> tuple[Whole, Whole]:
        """Mass and loss of the rows at each position 0 … top + 1 of a ray."""
        own, gains, size = self.levels[ray, rows], self._bounding[rows], int(self.tops[ray]) + 2
        return suffix_sums(own, np.maximum(gains, 0), size), suffix_sums(
            own, np.maximum(-gains, 0), size
        )


def suffix_sums(levels: NDArray[np.uint16], values: Whole, size: int) -> Whole:
    """The sum of values of rows at or above each level 0 … size - 1."""
    out = np.zeros(size, np.int64)
    np.add.at(out, levels, values)
    return np.ascontiguousarray(out[::-1].cumsum()[::-1])
