"""Which axes are combined, and which rays on them may stand together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import combinations_with_replacement, permutations, product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.grid import OTHERS, Axis
from opdt.engines.search.scan_kernels import Rules

if TYPE_CHECKING:
    from opdt.engines.search.run import Prepared
    from opdt.problem import Constraints

Whole = NDArray[np.int64]
MOST_KINDS = 1 << 16  # combinations of kinds of rays that are decided beforehand


class AxisSets:
    """The sets of axes that a structure admits, whatever the rows are.

    Rays that all chains treat alike are of one *kind*, so that the few combinations of kinds are
    decided once.

    Parameters
    ----------
    prepared : Prepared
    constraints : Constraints
    open_all : bool
        Whether the kernels keep what is decided exactly, too: limits on rows that counts cannot
        check are still to be looked at, or ties.
    """

    def __init__(self, prepared: Prepared, constraints: Constraints, *, open_all: bool) -> None:
        self._prepared, self._once, self._open_all = prepared, constraints.once, open_all
        self.rules = cache(self._rules)

    @cached_property
    def _types(self) -> tuple[NDArray[np.int64], Whole]:
        """The types (n_chains, n_kinds) of each kind, and the kind of each ray."""
        types = np.stack([plan.types for plan in self._prepared.plans])
        distinct, kinds = np.unique(types, axis=1, return_inverse=True)
        return distinct, kinds.reshape(-1).astype(np.int64)

    def fits_all(self, size: int) -> bool:
        """Whether the kernels decide which rays fit; else `Prepared.fits` is still to be asked."""
        return bool(self._types[0].shape[1] ** size <= MOST_KINDS)

    def _rules(self, size: int) -> Rules:
        """Which sets of so many rays may stand together."""
        distinct, kinds = self._types
        n_kinds = distinct.shape[1]
        allowed = np.empty(0, bool)
        if self.fits_all(size):
            allowed = np.zeros((n_kinds,) * size, bool)
            for chosen in combinations_with_replacement(range(n_kinds), size):
                if self._fit(chosen):
                    for places in set(permutations(chosen)):
                        allowed[places] = True
            allowed = allowed.reshape(-1)
            if allowed.all():
                allowed = np.empty(0, bool)
        return Rules(kinds, n_kinds, allowed, self._once, self._open_all)

    def _fit(self, kinds: tuple[int, ...]) -> bool:
        """Whether some chain can hold rays of these kinds."""
        chosen = self._types[0][:, list(kinds)]
        plans = self._prepared.plans
        return any(
            plan.fits(tuple(types)) for plan, types in zip(plans, chosen.tolist(), strict=True)
        )

    def batches(
        self,
        axes: Sequence[Axis],
        size: int,
        number: int,
        skipped: NDArray[np.bool_] | None = None,
        *,
        all_sets: bool = False,
    ) -> Iterator[Whole]:
        """Sets of axes (at most `number`, size) with at least one set of rays that fits, or all.

        Single axes that are `skipped`, and pairs of different ones that both are, are left out.
        """
        signs, of_axis = self._signs(axes)
        fits: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        repeats = np.array([self._repeats(axis) for axis in axes])
        n = len(axes)
        if not n:
            return
        parts: list[Whole] = []
        held = 0
        for prefix in combinations_with_replacement(range(n), size - 1):
            if any(prefix.count(a) > repeats[a] for a in prefix):
                continue
            last = np.arange(prefix[-1] if prefix else 0, n)
            if prefix and prefix.count(prefix[-1]) >= repeats[prefix[-1]]:
                last = last[1:]
            key = tuple(int(of_axis[a]) for a in prefix)
            if key not in fits:
                fits[key] = np.array(
                    [self._some_fit((*key, s), signs, size) for s in range(len(signs))]
                )
            if not all_sets:
                last = last[fits[key][of_axis[last]]]
            if skipped is not None and size == 1:
                last = last[~skipped[last]]
            elif skipped is not None and skipped[prefix[0]]:
                last = last[~skipped[last] | (last == prefix[0])]
            if not len(last):
                continue
            sets = np.empty((len(last), size), np.int64)
            sets[:, :-1] = prefix
            sets[:, -1] = last
            parts.append(sets)
            held += len(sets)
            if held >= number:
                whole = np.concatenate(parts)
                for start in range(0, len(whole), number):
                    yield whole[start : start + number]
                parts, held = [], 0
        if parts:
            yield np.concatenate(parts)

    def _signs(self, axes: Sequence[Axis]) -> tuple[list[tuple[int, ...]], Whole]:
        """The distinct sets of kinds of the axes' rays, and which each axis has."""
        kinds = self._types[1]
        known: dict[tuple[int, ...], int] = {}
        of_axis = [
            known.setdefault(tuple(sorted(set(kinds[axis.rays()].tolist()))), len(known))
            for axis in axes
        ]
        return list(known), np.array(of_axis, np.int64)

    def _some_fit(self, chosen: tuple[int, ...], signs: list[tuple[int, ...]], size: int) -> bool:
        """Whether some rays of axes of these signs fit together."""
        if self.fits_all(size) and not self.rules(size).allowed.size:
            return True
        return any(self._fit(kinds) for kinds in product(*(signs[s] for s in chosen)))

    def _repeats(self, axis: Axis) -> int:
        """How often a set may use an axis."""
        if self._once:
            return 1
        excluded = sum(how == OTHERS for _, how, _, _ in axis.singles)
        two_values = axis.n_bins <= 2 and bool(axis.lone.all())  # an interval would be all or one
        both_ends = axis.up >= 0 and axis.down >= 0 and not two_values
        return max(1, excluded, 2 if both_ends else 1)
