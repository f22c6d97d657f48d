"""Boxes whose undecided rows are in memory: opened, cut, and settled by the exact kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import box_kernels
from opdt.engines.search.boxes import Box, halves, is_most_of
from opdt.engines.search.piece import Piece
from opdt.engines.search.positions import Expired
from opdt.engines.search.pricing import UnitPrice
from opdt.engines.search.scores import Scores
from opdt.engines.search.tuning import Switches
from opdt.problem import Problem, VolumeImpurity

Whole = NDArray[np.int64]

FREE = UnitPrice(0, 0, 0)  # where limits on rows have no price


class Host(Protocol):
    """What a search must tell, and take, to have its boxes settled."""

    problem: Problem
    scores: Scores
    control: Whole
    switches: Switches

    @property
    def best(self) -> int:
        """The value that a rule must reach to be of interest."""

    @property
    def limits(self) -> Any:
        """The row constraints as the kernels take them."""

    def expired(self) -> bool:
        """Whether time is over."""

    def offer(self, value: int, label: int, rays: tuple[int, ...], hint: Box | None = None) -> None:
        """Take a set of rays that reaches a value in the box `hint`."""


class Region(NamedTuple):
    """The undecided rows of a box, and the sums of those that it covers always.

    `low` and `tops` (k,) are the box's loosest positions and its extents, `levels` (k, n) are
    counted from `low`; `fixed` is [gain, weight, error weight]. With a `price` of limits on rows,
    `gains` and `fixed` are priced, less the allowance.
    """

    low: Whole
    tops: Whole
    levels: NDArray[np.int32]
    gains: Whole
    weights: Whole
    wrong: Whole
    fixed: Whole
    price: UnitPrice = FREE

    @staticmethod
    def n_bytes(k: int, n_rows: int) -> int:
        """Bytes of the levels of so many rows on `k` rays, and of the room to open boxes in."""
        return 4 * k * n_rows + (4 * (k + 1) + 24) * n_rows


class Cutting(NamedTuple):
    """Scratch of `box_kernels.bound_cut`, for boxes of `k` sides."""

    alive: Whole
    bounds: Whole
    order: Whole
    stack: Whole

    @classmethod
    def of(cls, k: int, n: int) -> Cutting:
        """Room for `n` cells."""
        return cls(
            np.empty((n, k), np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
            np.empty((n + 2, 2), np.int64),
        )  # fmt: skip


def cut_levels(levels: NDArray[np.int32], top: int, bins: int, out: Whole) -> int:
    """Levels between which one side of a box is cut, 0 first and the top last, into `out`.

    The top level has a place of its own. Returns the number of places.
    """
    if top <= bins:
        edges = np.arange(top + 1)
    else:
        sample = np.sort(levels[:: max(1, len(levels) // 2000)])
        inner = np.unique(sample[np.arange(1, bins - 1) * len(sample) // (bins - 1)])
        edges = np.concatenate([[0], inner[(inner > 0) & (inner < top - 1)], [top - 1, top]])
    out[: len(edges)] = edges
    return len(edges) - 1


class Regions:
    """Opens boxes on rows in memory, cuts them, and settles the small ones."""

    def __init__(self, host: Host) -> None:
        self._host, self._tuning = host, host.switches.tuning
        self._local = threading.local()
        self._limited = host.problem.constraints.bounds_rows
        objective, scores = host.problem.objective, host.scores
        self._worth: tuple[int, int] | None = None  # value of a unit of weight, right and wrong
        if isinstance(objective, VolumeImpurity):
            w = objective.w
            lost = (w.numerator - w.denominator) * scores.scale + int(scores.with_errors)
            self._worth = w.denominator * scores.scale, lost

    def open(self, box: Box, region: Region, goal: int) -> Region | None:
        """The rows that a box inside a region decides on; None where they cannot gain the goal."""
        k, n = region.levels.shape
        low = np.array(box.low, np.int64)
        tops = np.array(box.high, np.int64) - low
        levels, whole = self._room(k, n)
        fixed = region.fixed.copy()
        count = box_kernels.keep_undecided(
            region.levels, low - region.low, tops, region.gains, region.weights, region.wrong,
            fixed, levels, *whole,
        )  # fmt: skip
        gains, weights, wrong = (sums[:count].copy() for sums in whole)
        own = Region(
            low, tops, levels[:, :count].copy(), gains, weights, wrong, fixed, region.price
        )
        if self._limited and not self._may_meet(own, goal):
            return None
        if self._host.switches.strips:
            most = box_kernels.most_of_strips(own.levels, tops, own.gains)
        else:
            most = own.gains[own.gains > 0].sum()
        return None if own.fixed[0] + most < goal else own

    def _may_meet(self, region: Region, goal: int) -> bool:
        """Whether some rows of a region are within the limits and gain the goal, by their weights.

        A rule covers at most all right weight and at least the wrong weight that is always covered.
        Where the right weight alone is too little, wrong weight has to make up for it.
        """
        least, most, numerator, denominator = map(int, self._host.limits)
        _, fixed, wrong = region.fixed.tolist()
        covered = fixed + int(region.weights.sum())
        right = covered - wrong - int(region.wrong.sum())
        if covered < least or wrong > most or right * denominator < (right + wrong) * numerator:
            return False
        if self._worth is None:
            return True
        gain, loss = self._worth
        return bool(gain * right - loss * max(wrong, least - right) >= goal)

    def piece(self, region: Region) -> Piece:
        """The rows of a region for the exact kernels, with their true gains."""
        host, price = self._host, region.price
        gains, (fixed, weight, wrong) = region.gains, region.fixed.tolist()
        if price != FREE:
            gains = gains - price.added(region.weights, region.wrong)
            fixed += price.allowance - price.right * (weight - wrong) - price.wrong * wrong
        return Piece(
            region.levels, region.tops, gains, region.weights, region.wrong,
            (fixed, weight, wrong), host.limits, self._limited,
            host.scores.with_errors, host.expired, self._tuning,
        )  # fmt: skip

    def is_leaf(self, region: Region, most_rows: int | None = None) -> bool:
        """Whether a box is small enough for the exact kernels."""
        tops, n_rows = np.sort(region.tops).astype(float), len(region.gains)
        if tops.prod() <= self._tuning.few_positions**2:
            return True
        if most_rows is not None:
            return n_rows <= most_rows
        few = len(tops) == 3 and bool(n_rows * tops[0] <= self._tuning.leaf_steps)
        return few or n_rows <= self._tuning.leaf_rows[len(tops) - 1]

    def leaf(self, box: Box, piece: Piece) -> None:
        """Settle a box exactly, and offer what it holds."""
        host = self._host
        offset = host.scores.offset(len(box.rays))
        best = piece.best(host.best - offset, host.control)
        if best is not None and best + offset >= host.best:
            host.offer(best + offset, box.label, box.rays, box)

    def settle(self, box: Box, region: Region) -> None:
        """Settle a box and all of its parts."""
        stack = [(box, region)]
        while stack:
            if self._host.expired():
                raise Expired
            box, region = stack.pop()
            goal = self._host.best - self._host.scores.offset(len(box.rays))
            if box.bound < goal or (own := self.open(box, region, goal)) is None:
                continue
            if self.is_leaf(own):
                self.leaf(box, self.piece(own))
            else:
                stack.extend((part, own) for part in self.cut(box, own, goal))

    def find(
        self,
        box: Box,
        region: Region,
        visit: Callable[[Box, Piece], bool],
        goal: int,
        most_rows: int | None = None,
    ) -> None:
        """Visit all small parts of a box that may gain the goal, until a visit returns True."""
        stack = [(box, region)]
        while stack:
            if self._host.expired():
                raise Expired
            box, region = stack.pop()
            if box.bound < goal or (own := self.open(box, region, goal)) is None:
                continue
            if self.is_leaf(own, most_rows):
                if visit(box, self.piece(own)):
                    return
                continue
            stack.extend((part, own) for part in self.cut(box, own, goal, keep_all=True))

    def locate(
        self, box: Box, region: Region, goal: int, *, quick: bool
    ) -> tuple[int, tuple[int, ...]] | None:
        """Error weight and positions of a box that gain the goal: the loosest; if `quick`, any."""
        found: list[tuple[int, tuple[int, ...]]] = []

        def visit(part: Box, piece: Piece) -> bool:
            hit = piece.positions(goal, quick=quick)
            if hit is not None:
                errors, local = hit
                positions = tuple(a + b for a, b in zip(part.low, local, strict=True))
                found.append((0 if self._host.scores.with_errors else errors, positions))
            return quick and bool(found)

        self.find(
            box._replace(bound=goal), region, visit, goal, None if quick else self._tuning.few_rows
        )
        return min(found, default=None)

    def cut(self, box: Box, region: Region, goal: int, *, keep_all: bool = False) -> list[Box]:
        """Parts of a box that may reach the goal, found by counting finer cells.

        None are left where the cells decide all positions, unless asked to `keep_all`.
        """
        k = len(box.rays)
        scratch, cells, edges = self._scratch(k)
        sizes = np.empty(k, np.int64)
        for d, (own, top) in enumerate(zip(region.levels, region.tops.tolist(), strict=True)):
            sizes[d] = cut_levels(own, top, self._tuning.inner_bins[k - 1], edges[d])
        out = np.empty((self._tuning.most_alive, 1 + 2 * k), np.int64)
        corner = np.zeros(k, np.int64)
        number, best, decided = box_kernels.cut_box(
            region.levels, region.tops, region.gains, int(region.fixed[0]), goal, edges, sizes,
            cells, *scratch, out, corner,
        )  # fmt: skip
        host, offset = self._host, self._host.scores.offset(k)
        if not self._limited:
            if best + offset >= host.best:
                high = tuple((region.low + corner).tolist())
                low = tuple(at - 1 for at in high)
                hint = box._replace(low=low, high=high)
                host.offer(int(best) + offset, box.label, box.rays, hint)
            if decided and not keep_all:
                return []
        parts = []
        for bound, *ends in out[:number].tolist():
            low = tuple(a + b for a, b in zip(box.low, ends[:k], strict=True))
            high = tuple(a + b for a, b in zip(box.low, ends[k:], strict=True))
            part = Box(min(bound, box.bound), box.label, box.rays, low, high)
            parts += halves(part) if is_most_of(part, box) else [part]
        return sorted(parts, key=lambda part: part.bound)

    def _room(self, k: int, n: int) -> tuple[NDArray[np.int32], Whole]:
        """Room of this thread for the levels of rows, and their gains, weights and errors."""
        known: NDArray[np.int64] | None = getattr(self._local, "room", None)
        if known is None or known.size < (k + 1) // 2 * n + 3 * n:
            known = self._local.room = np.empty((k + 1) // 2 * n + 3 * n, np.int64)
        return known[3 * n :].view(np.int32)[: k * n].reshape(k, n), known[: 3 * n].reshape(3, n)

    def _scratch(self, k: int) -> tuple[Cutting, Whole, Whole]:
        """Scratch of this thread for cutting boxes of `k` sides."""
        spaces: dict[int, tuple[Cutting, Whole, Whole]]
        spaces = self._local.__dict__.setdefault("spaces", {})
        if k not in spaces:
            bins = self._tuning.inner_bins[k - 1]
            cells = np.empty((2, (bins + 2) ** k), np.int64)
            spaces[k] = (
                Cutting.of(k, self._tuning.most_alive),
                cells,
                np.empty((k, bins + 3), np.int64),
            )
        return spaces[k]
