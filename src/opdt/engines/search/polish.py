"""From the sets of rays that reach the best value to the first rule in the documented order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import kernels
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
# Steps (positions × rows) up to which trying all positions is quicker than bisecting them.
FEW_STEPS = 2_000_000


def first_rule(
    run: Run, winners: Iterable[Winner], value: int, *, hurry: bool
) -> tuple[CodedRule, Winner]:
    """The first rule, in the documented order, of all those that reach the value, and its set.

    The value fixes gain, number of conditions and errors (where scores carry them), so the order
    of features decides next: only the sets with the first features are worked out. In a hurry
    (a limit is reached, so nothing is promised about ties) any rule of the value will do.
    """
    candidates = sorted(winners)
    if run.scores.with_errors:
        features = run.prepared.rays.features
        used = [tuple(sorted(features[list(rays)].tolist())) for _, rays in candidates]
        first = min(used)
        candidates = [c for c, names in zip(candidates, used, strict=True) if names == first]
    if hurry:
        candidates = candidates[:1]
    rules = [
        (_rule(run, label, rays, value, hurry=hurry), (label, rays)) for label, rays in candidates
    ]
    return min(rules, key=lambda pair: run.problem.key(pair[0], run.problem.measure(pair[0])))


def _rule(run: Run, label: int, rays: tuple[int, ...], value: int, *, hurry: bool) -> CodedRule:
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
    positions = run.method.locate(label, rays, goal, hurry=hurry)
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
    limits: Whole
    constrained: bool
    carries_errors: bool  # gains decide between numbers of errors, too
    expired: Callable[[], bool] = _never  # asked between steps; raises `Expired` when it says so

    @cached_property
    def _flags(self) -> Whole:
        return np.array([1, 0, 1, 0, self.constrained, 0, 1], np.int64)

    def positions(self, goal: int, *, hurry: bool = False) -> tuple[int, ...] | None:
        """The loosest positions, in the order of the rays, whose rows gain `goal`; None if none do.

        Where a set gains more than the goal, which only happens before its search is over, any
        positions that reach the goal will do.

        Gains that do not carry errors (row weights too fine for that) leave the choice between
        numbers of errors to trying all positions, or to narrower and narrower limits on errors.
        """
        steps = float(np.prod(self.tops[:-1].astype(float))) * len(self.gains)
        if steps <= FEW_STEPS:
            found_all = self._try_all(goal)
            if found_all is not None:
                return found_all
        found = self._loosest(goal, hurry=hurry)
        if found is None or self.carries_errors or hurry:
            return found
        return self._with_fewest_errors(goal, found)

    def _with_fewest_errors(self, goal: int, found: tuple[int, ...]) -> tuple[int, ...] | None:
        """The loosest positions of the fewest errors, once the loosest of all are known.

        With most gains nothing else ties, so it is asked first whether any error can be spared.
        """
        most = self._errors(found)
        low, high, middle = 0, most, most - 1
        while low < high:
            better = self._limited(middle)._loosest(goal, hurry=True)
            if better is None:
                low = middle + 1
            else:
                high = self._errors(better)
            middle = (low + high) // 2
        return found if high == most else self._limited(high)._loosest(goal)

    def _limited(self, most_errors: int) -> Candidate:
        """The same with so many errors at most."""
        limits = self.limits.copy()
        limits[1] = min(int(limits[1]), most_errors)
        return replace(self, limits=limits, constrained=True)

    def _errors(self, positions: tuple[int, ...]) -> int:
        """Error weight of the rows at these positions or above."""
        inside = (self.levels >= np.array(positions)[:, None]).all(axis=0)
        return int(self.wrong[inside].sum())

    def _loosest(self, goal: int, *, hurry: bool = False) -> tuple[int, ...] | None:
        """The loosest positions that reach the goal, ray by ray, by bisection."""
        found: list[int] = []
        rows = np.arange(len(self.gains), dtype=np.int32)
        for ray in range(len(self.tops)):
            if ray == len(self.tops) - 2 and not self.constrained:
                position = self._first_of_pair(rows, ray, goal)
            else:
                position = self._first(rows, ray, goal, hurry=hurry)
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
            self.levels, self.tops, self.gains, self.weights, self.wrong, goal, self.limits,
            self.constrained, not self.carries_errors, np.empty((k, n), np.int32),
            np.empty(k, np.int64), np.zeros(k, np.int64), found,
            *(np.empty(top, np.int64) for _ in range(3)),
        )  # fmt: skip
        return None if reached < 0 else tuple(found.tolist())

    def _first_of_pair(self, rows: NDArray[np.int32], ray: int, goal: int) -> int | None:
        """`_first` for the last ray but one, in one sweep."""
        top1, top2 = int(self.tops[ray]), int(self.tops[ray + 1])
        leaves = 1 << max(0, (top2 - 1).bit_length())
        found, _ = kernels.loosest_by_sweep(
            self.levels[ray, rows], self.levels[ray + 1, rows], self.gains[rows], len(rows), top1,
            top2, goal, np.empty(top1 + 3, np.int64), np.empty(len(rows), np.int32),
            np.empty(4 * leaves + 4, np.int64),
        )  # fmt: skip
        return int(found) or None

    def _first(self, rows: NDArray[np.int32], ray: int, goal: int, *, hurry: bool) -> int | None:
        """The loosest position of a ray at which the rays behind it can still reach the goal."""
        mass, loss = self._by_position(rows, ray)
        top = int(self.tops[ray])
        own = self.levels[ray, rows]
        stack = [(0, top + 1, int(mass[0]), 0)]  # looser intervals on top
        best: int | None = None
        while stack:
            low, high, at_low, at_high = stack.pop()
            if best is not None and low + 1 >= best:
                continue
            if kernels.best_between(low, high, at_low, at_high, mass, loss) < goal:
                continue
            if self.expired():
                raise Expired
            middle = (low + high) // 2
            settled, reached = self._settle(rows[own >= middle], ray + 1, goal)
            if reached and (best is None or middle < best):
                best = middle
                if hurry:
                    return best
            stack.append((middle, high, settled, at_high))
            stack.append((low, middle, at_low, settled))
        return best

    def _settle(self, rows: NDArray[np.int32], ray: int, goal: int) -> tuple[int, bool]:
        """A bound on what the rays from `ray` on gain on some rows, and whether they reach it."""
        left = len(self.tops) - ray
        gains = self.gains[rows]
        if left == 0:
            total = int(gains.sum())
            counts = int(self.weights[rows].sum()), int(self.wrong[rows].sum())
            fine = not self.constrained or bool(kernels.within(*counts, self.limits))
            return total, total >= goal and fine
        if left == 1:
            return self._settle_single(rows, ray, goal)
        if left == 2:
            return self._settle_pair(rows, ray, goal)
        return self._settle_more(rows, ray, goal)

    def _settle_single(self, rows: NDArray[np.int32], ray: int, goal: int) -> tuple[int, bool]:
        values, positions = np.empty((2, 1), np.int64)
        scratch = [np.empty(int(self.tops[ray]) + 2, np.int64) for _ in range(3)]
        arguments = (
            self.levels[ray : ray + 1, rows], self.gains[rows], self.weights[rows],
            self.wrong[rows], self.tops[ray : ray + 1],
        )  # fmt: skip
        kernels.singles(*arguments, self._flags, self.limits, values, positions, *scratch)
        reached = bool(values[0] >= goal)
        if self.constrained:
            free = self._flags.copy()
            free[kernels.CONSTRAINED] = 0
            kernels.singles(*arguments, free, self.limits, values, positions, *scratch)
        return max(int(values[0]), int(self.gains[rows].sum()), 0), reached

    def _settle_pair(self, rows: NDArray[np.int32], ray: int, goal: int) -> tuple[int, bool]:
        n, gains = len(rows), self.gains[rows]
        top = int(self.tops[ray:].max()) + 2
        mass, loss, renumber = (np.empty(top, np.int64) for _ in range(3))
        out = np.empty((2, n), np.uint16)
        one, two = (
            kernels.compress(
                self.levels[ray + d], rows, gains, int(self.tops[ray + d]), kernels.NEG, True,
                False, True, mass, loss, renumber, out[d],
            )
            for d in range(2)
        )  # fmt: skip
        cells = min(kernels.TABLE_CELLS, (one + 1) * (two + 1))
        starts, order = np.empty(max(one, two) + 3, np.int64), np.empty(n, np.int32)
        inner, full = kernels.best_pair(
            out[0], out[1], gains, n, one, two, np.empty(cells, np.int64), starts, order,
            np.empty(8 * (two + 2), np.int64),
        )  # fmt: skip
        if self.constrained and one > 0 and two > 0:
            inner = kernels.constrained_pair(
                out[0], out[1], gains, self.weights[rows], self.wrong[rows], n, one, two,
                self.limits, starts, order, *(np.empty(two + 2, np.int64) for _ in range(3)),
            )  # fmt: skip
        return max(int(full), 0), bool(one > 0 and two > 0 and inner >= goal)

    def _settle_more(self, rows: NDArray[np.int32], ray: int, goal: int) -> tuple[int, bool]:
        """Three rays and more: by bisection of the first of them."""
        mass, loss = self._by_position(rows, ray)
        own = self.levels[ray, rows]
        stack = [(0, int(self.tops[ray]) + 1, int(mass[0]), 0)]
        bound, reached = max(int(self.gains[rows].sum()), 0), False
        while stack:
            low, high, at_low, at_high = stack.pop()
            between = int(kernels.best_between(low, high, at_low, at_high, mass, loss))
            if between < goal:
                bound = max(bound, between)
                continue
            if self.expired():
                raise Expired
            middle = (low + high) // 2
            settled, hit = self._settle(rows[own >= middle], ray + 1, goal)
            bound, reached = max(bound, settled), reached or hit
            if reached:
                return max(bound, goal), True
            stack += [(low, middle, at_low, settled), (middle, high, settled, at_high)]
        return bound, reached

    def _by_position(self, rows: NDArray[np.int32], ray: int) -> tuple[Whole, Whole]:
        """Mass and loss of the rows at each position 0 … top + 1 of a ray."""
        own, gains, size = self.levels[ray, rows], self.gains[rows], int(self.tops[ray]) + 2
        return suffix_sums(own, np.maximum(gains, 0), size), suffix_sums(
            own, np.maximum(-gains, 0), size
        )


def suffix_sums(levels: NDArray[np.uint16], values: Whole, size: int) -> Whole:
    """The sum of values of rows at or above each level 0 … size - 1."""
    out = np.zeros(size, np.int64)
    np.add.at(out, levels, values)
    return out[::-1].cumsum()[::-1]
