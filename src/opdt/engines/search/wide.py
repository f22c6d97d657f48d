"""Pairs of very many axes: bounded by bits first, and counted only where a bound is left."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import bit_kernels
from opdt.engines.search.agenda import Agenda, Halted, Work
from opdt.engines.search.bit_kernels import STRIP, BitAxes
from opdt.engines.search.grid import OTHERS, THIS, Axis

if TYPE_CHECKING:
    from opdt.engines.search.records import Task
    from opdt.engines.search.rows import Step
    from opdt.engines.search.table_layers import TableLayer
    from opdt.engines.search.table_rows import TableRows

Whole = NDArray[np.int64]

FEW_BINS = 4  # bins of an axis whose values are all told apart
CAPACITY = 1 << 16  # pairs found in one call of a kernel


class Wide:
    """The pairs of axes of one task that can be kept as bits."""

    def __init__(self, rows: TableRows, task: Task, layer: TableLayer) -> None:
        self._rows, self._task, self._layer = rows, task, layer
        self._tuning = rows.run.switches.tuning
        self.eligible = np.array([self._bins_of(axis) > 0 for axis in layer.axes], bool)
        self._classes: list[BitAxes] | None = None
        self._packing = threading.Lock()

    @staticmethod
    def pays(rows: TableRows, task: Task, n_axes: int) -> bool:
        """Whether bits are worth their while, and can be used at all."""
        groups = task.groups
        return (
            rows.run.switches.bits
            and n_axes >= rows.run.switches.tuning.wide
            and len(groups.starts) == 3
            and groups.weights.size == 0
            and groups.starts[-1] * max(groups.plus.max(), groups.minus.max()) < 1 << 53
        )

    def _bins_of(self, axis: Axis) -> int:
        """Bins of the axis as bits; 0 where bits cannot say what its rays cover."""
        column = self._rows.rays.columns[axis.feature]
        if axis.edges is None:
            plain = all(how in (THIS, OTHERS) for _, how, _, _ in axis.singles)
            return 2 if plain and axis.n_bins <= FEW_BINS else 0
        if axis.singles:
            return 0
        if axis.lone.all() and axis.n_bins <= FEW_BINS:
            return axis.n_bins
        n_rows = column.n_rows
        return next((bins for most, bins in self._tuning.coarse if n_rows <= most), 0)

    @property
    def classes(self) -> list[BitAxes]:
        """The axes as bits, those of the same shape together; none where there is no room."""
        with self._packing:  # rules of one condition and of two ask at the same time
            if self._classes is None:
                self._classes = self._packed()
        return self._classes

    def _packed(self) -> list[BitAxes]:
        classes: list[BitAxes] = []
        run, starts = self._rows.run, self._task.groups.starts
        split = int(starts[1] + 63) // 64
        n_words = split + int(starts[2] - starts[1] + 63) // 64
        by_shape: dict[tuple[int, bool], list[int]] = {}
        for a in np.flatnonzero(self.eligible).tolist():
            axis = self._layer.axes[a]
            bins = self._bins_of(axis)
            lone = bool(axis.lone.all()) and axis.n_bins <= FEW_BINS
            by_shape.setdefault((bins, lone), []).append(a)
        for (bins, lone), members in by_shape.items():
            items = [(a, b) for a in members for b in self._levels(a)]
            if not run.claim(bins * n_words * len(items) * 8):
                raise Halted
            words = np.zeros((bins, n_words, len(items)), np.uint64)
            counts = np.zeros((bins, 2, len(items)), np.int64)

            def pack(
                at: int,
                item: tuple[int, int],
                bins: int = bins,
                words: NDArray[np.uint64] = words,
                counts: Whole = counts,
            ) -> None:
                own, number = np.empty((bins, n_words), np.uint64), np.empty((bins, 2), np.int64)
                bit_kernels.pack_axis(self._bins(*item, bins), bins, split, starts, own, number)
                words[:, :, at], counts[:, :, at] = own, number

            run.on_threads(pack, range(len(items)), items)
            missing = bool(self._layer.grid.missing[members].any())
            axes = np.array([a for a, _ in items], np.int64)
            classes.append(BitAxes(words, split, counts, lone, missing, axes))
        return classes

    def settle_singles(self) -> NDArray[np.bool_]:
        """Offer the rules of one condition on axes whose bins are all told apart, and say which.

        Limits on rows are left to the counting of cells.
        """
        settled = np.zeros(len(self._layer.axes), bool)
        if self._rows.run.problem.constraints.bounds_rows:
            return settled
        for own in self.classes:
            ordered = np.array([self._layer.axes[a].edges is not None for a in own.axes])
            if not own.lone or not ordered.all():
                continue
            settled[own.axes] = True
            for s in range(1, own.counts.shape[0]):
                for down in (False, True):
                    covered = own.counts[0] - own.counts[s] if down else own.counts[s]
                    self._offer_singles(own, covered, s, down=down)
        return settled

    def _offer_singles(self, own: BitAxes, covered: Whole, step: int, *, down: bool) -> None:
        """Offer one condition on each of some axes; `covered` (2, n_axes) rows of each group."""
        scan, groups = self._rows.scan, self._task.groups
        offset = scan.run.scores.offset(1)
        for p, label in enumerate(groups.labels.tolist()):
            right, wrong = covered[groups.right[p]], covered[1 - groups.right[p]]
            gains = groups.plus[p] * right - groups.minus[p] * wrong
            for at in np.flatnonzero(gains >= scan.need(self._task, 1)).tolist():
                axis = self._layer.axes[own.axes[at]]
                ray = axis.down if down else axis.up
                if ray < 0 or not scan.run.prepared.fits((ray,)):
                    continue
                value = self._task.value(p, int(right[at]), int(wrong[at])) + offset
                if value >= scan.run.best:
                    scan.run.offer(value, label, (ray,))

    def _levels(self, a: int) -> list[int]:
        """The levels of an axis without order that are axes of their own as bits; else one."""
        axis = self._layer.axes[a]
        if axis.edges is not None:
            return [-1]
        return list(range(axis.n_bins)) if axis.n_bins > 2 else [1] if axis.n_bins == 2 else [0]

    def _bins(self, a: int, level: int, bins: int) -> NDArray[np.uint8]:
        """The bins of an axis in the order of the rows, as coarse as wanted."""
        layer, axis = self._layer, self._layer.axes[a]
        codes = np.empty(int(self._task.groups.starts[-1]), np.uint8)
        layer.maker.fill(axis, layer.levels[a], codes)
        look_up = np.full(axis.n_bins + 1, bins, np.uint8)
        if level >= 0:
            look_up[: axis.n_bins] = np.arange(axis.n_bins) == level
        elif axis.n_bins <= bins:
            look_up[: axis.n_bins] = np.arange(axis.n_bins)
        else:
            counts = np.bincount(codes, minlength=axis.n_bins + 1)[: axis.n_bins]
            middle = (counts.cumsum() - counts / 2) / max(1, counts.sum())
            look_up[: axis.n_bins] = np.minimum(middle * bins, bins - 1).astype(np.uint8)
        return look_up[codes]

    def works(self, agenda: Agenda, step: Step) -> Iterator[Work]:
        """Pieces of work that bound all pairs."""
        if not all(own.lone for own in self.classes):
            self._seed(step)
        for i, one in enumerate(self.classes):
            for j, two in enumerate(self.classes[i:], start=i):
                cost = one.words.shape[0] * two.words.shape[0] * one.words.shape[1] + 400
                number = max(1, 400_000_000 // (cost * max(1, two.words.shape[2])))
                for begin in range(0, one.words.shape[2], number):
                    end = min(begin + number, one.words.shape[2])
                    yield self._bounding(agenda, step, one, two, i == j, begin, end)

    def _seed(self, step: Step) -> None:
        """Count the pairs of the axes that are best alone: a good rule early."""
        axes = self._rows.layers.best_axes(self._task, self._layer, self._tuning.tried // 16)
        n = len(self._layer.axes)
        for a in axes:
            others = np.arange(n)
            others = others[others != a]
            sets = np.sort(np.column_stack([np.full(n - 1, a), others]), axis=1)
            self._rows.count_now(None, step, sets)

    def _bounding(
        self,
        agenda: Agenda,
        step: Step,
        one: BitAxes,
        two: BitAxes,
        same: bool,
        begin: int,
        end: int,
    ) -> Work:
        scan, task = self._rows.scan, self._task
        shape = (one.words.shape[0] + 1, two.words.shape[0] + 1)
        largest = int(max(task.groups.plus.max(), task.groups.minus.max(), 1))

        def work(slot: int) -> None:
            dtype = bit_kernels.exact_type(int(task.groups.starts[-1]), largest)
            counts = np.empty((2, *shape, STRIP), dtype)
            right, wrong = np.empty((2, shape[0] * shape[1], STRIP), dtype)
            found, bounds = np.empty((CAPACITY, 2), np.int64), np.empty(CAPACITY, np.int64)
            state = np.array([begin, -1, 0], np.int64)
            ended = bit_kernels.FULL
            while ended == bit_kernels.FULL and not scan.run.halted():
                ended = bit_kernels.scan_pairs(
                    one, two, same, begin, end, task.groups, scan.need(task, 2), scan.run.control,
                    counts, right, wrong, found, bounds, state,
                )  # fmt: skip
                self._follow(agenda, step, found[: state[2]], bounds[: state[2]])
                state[2] = 0

        return work

    def _follow(self, agenda: Agenda, step: Step, found: Whole, bounds: Whole) -> None:
        """Count the best of the pairs found at once; put the others on the agenda."""
        rows, scan, task = self._rows, self._rows.scan, self._task
        found = np.sort(found, axis=1)
        kept = found[:, 0] != found[:, 1]
        order = np.argsort(-bounds[kept], kind="stable")
        found, bounds = found[kept][order], bounds[kept][order]
        while len(found) and not scan.run.halted():
            best = scan.run.best
            rows.count_now(agenda, step, found[: self._tuning.tried])
            found, bounds = found[self._tuning.tried :], bounds[self._tuning.tried :]
            alive = bounds >= scan.need(task, 2)
            found, bounds = found[alive], bounds[alive]
            if scan.run.best == best:
                break
        rows.count_later(agenda, step, found, bounds)
