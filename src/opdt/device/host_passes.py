"""Passes over a table in the memory of this machine: what every device must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from opdt.device.box_arrays import BoxesToCut, CellParts, CutBoxes, places_at
from opdt.device.cell_parts import NONE, CellTable, parts_of_cells, sum_tighter
from opdt.device.passes import UNKNOWN, CountedCells, DevicePasses, SetJobs, SetsAsked
from opdt.device.table_question import TableQuestion, keys_of
from opdt.engines.search.boxes import Box
from opdt.engines.search.intervals import best_run
from opdt.engines.search.scan_kernels import Groups
from opdt.scale.keys import Coded
from opdt.scale.passes import CountCells, FetchRows, levels_of
from opdt.scale.scanner import Parts

Whole = NDArray[np.int64]


class HostCells(CountedCells):
    """Counts in an array."""

    def __init__(self, part: CountCells, cells: Whole, most_alive: int) -> None:
        self._part, self._cells, self._most = part, cells, most_alive

    def bounds(self, asked: SetsAsked) -> Whole:
        """See `CountedCells`."""
        out = np.full((asked.number, 2), UNKNOWN)
        size = self._part.sets.shape[1]
        for at in range(asked.number):
            place = asked.first + at
            if not asked.ordered[self._part.sets[place]].all():
                continue
            best = reached = NONE
            for way, p in product(range(1 << size), range(len(asked.groups.labels))):
                table = self._table(place, way, p, asked.n_bins, asked.lone, asked.groups)
                best = int(table.bounds().max(initial=best))
                reached = int((table.mass - table.loss).max(initial=reached))
            out[at] = best, reached
        return out

    def take(self, places: Whole) -> Whole:
        """See `CountedCells`."""
        starts = self._part.starts
        own = [self._cells[starts[p] : starts[p + 1]] for p in places.tolist()]
        return np.concatenate(own) if own else np.empty(0, np.int64)

    def part(self, jobs: SetJobs) -> CellParts:
        """See `CountedCells`."""
        records: list[list[int]] = []
        asked = zip(*(own.tolist() for own in jobs[:4]), strict=True)
        for j, (place, way, p, goal) in enumerate(asked):
            table = self._table(place, way, p, jobs.n_bins, jobs.lone, jobs.groups)
            records += [[j, *one] for one in parts_of_cells(table, goal, self._most)]
        size = self._part.sets.shape[1]
        return CellParts.of(np.array(records, np.int64).reshape(-1, 3 + 2 * size), size)

    def _table(
        self, place: int, way: int, p: int, n_bins: Whole, lone: NDArray[np.uint8], groups: Groups
    ) -> CellTable:
        """The cells of a set in one way to use its axes, for the label of a pass."""
        axes = self._part.sets[place]
        sizes = n_bins[axes]
        # the first axis is the last one of the counts, and the first one here
        cells = self._part.cells_of(place, self._cells)
        cells = cells[(slice(None), *(slice(0, n) for n in sizes[::-1]))]
        cells = cells.transpose(0, *range(len(axes), 0, -1))
        turns = [slice(None, None, -1 if way >> d & 1 else 1) for d in range(len(axes))]
        cells = cells[(slice(None), *turns)]
        right = cells[groups.right[p]]
        wrong = cells.sum(axis=0) - right
        plus, minus = int(groups.plus[p]), int(groups.minus[p])
        # where limits on rows have prices, a right row may lose and a wrong one gain
        mass = max(plus, 0) * right + max(-minus, 0) * wrong
        loss = max(-plus, 0) * right + max(minus, 0) * wrong
        sums = map(sum_tighter, (mass, loss, right + wrong))
        alone = [lone[a][:n].astype(bool)[t] for a, n, t in zip(axes, sizes, turns, strict=True)]
        mass, loss, rows = sums
        return CellTable(mass, loss, rows, alone, is_box=False)


class HostPasses(DevicePasses):
    """The passes over the codes of a table in memory."""

    device = "host"
    result_bytes = 1 << 26

    def __init__(self, question: TableQuestion, memory_limit: int | None = None) -> None:
        self._rays = question.prepared.rays.rays
        self._columns = question.problem.table.columns
        self._keys = {f: keys_of(column.codes) for f, column in enumerate(self._columns)}
        self._orders: dict[int, tuple[NDArray[np.intp], Whole]] = {}
        self.held_bytes = 1 << 30 if memory_limit is None else memory_limit
        self.relabel(question)

    def relabel(self, question: TableQuestion) -> None:
        """See `DevicePasses`."""
        self._classes = question.objective.classes.astype(np.uint8)
        self._weights = question.objective.weights

    def count(self, part: CountCells) -> CountedCells:
        """See `DevicePasses`."""
        self.check()
        coded = Coded(self._keys, self._classes, self._weights)
        parts = part.start()
        part.add(parts, coded, np.empty((0, coded.n_rows), np.int64), {})
        return HostCells(part, parts["cells"], self.most_alive)

    def cut(self, asked: BoxesToCut) -> CutBoxes:
        """See `DevicePasses`."""
        records: list[list[int]] = []
        reached, corners = np.empty((2, asked.boxes.n_boxes), np.int64)
        for b, box in enumerate(asked.boxes.boxes()):
            self.check()
            sizes = asked.sizes[b].tolist()
            mass, loss, rows = map(sum_tighter, self._cells(box, sizes, asked.factors[b]))
            gains = (mass - loss).reshape(-1)
            corners[b] = gains.argmax()
            reached[b] = gains[corners[b]]
            lone = [
                np.full(size, size == high - low)
                for size, low, high in zip(sizes, box.low, box.high, strict=True)
            ]
            table = CellTable(mass, loss, rows, lone, is_box=True)
            found = parts_of_cells(table, int(asked.goals[b]), self.most_alive)
            records += [[b, *one] for one in found]
        n_sides = asked.boxes.n_sides
        found_all = np.array(records, np.int64).reshape(-1, 3 + 2 * n_sides)
        return CutBoxes(CellParts.of(found_all, n_sides), reached, corners)

    def _cells(self, box: Box, sizes: list[int], factors: Whole) -> tuple[Whole, Whole, Whole]:
        """Mass, loss and rows of the cells of a box."""
        rows, levels = self._inside(box)
        at = tuple(
            places_at(own, low, high, size)
            for own, low, high, size in zip(levels, box.low, box.high, sizes, strict=True)
        )
        gains = factors[self._classes[rows]] * self._weights[rows]
        mass, loss, number = (np.zeros(sizes, np.int64) for _ in range(3))
        np.add.at(mass, at, np.maximum(gains, 0))
        np.add.at(loss, at, np.maximum(-gains, 0))
        np.add.at(number, at, 1)
        return mass, loss, number

    def _inside(self, box: Box) -> tuple[NDArray[np.intp], list[Whole]]:
        """The rows that some position of a box covers, and their levels on its rays."""
        rows = min(
            (self._above(ray, low) for ray, low in zip(box.rays, box.low, strict=True)),
            key=len, default=np.arange(len(self._classes)),
        )  # fmt: skip
        inside = np.ones(len(rows), bool)
        levels = [
            levels_of(self._rays[r], self._keys[self._rays[r].feature][rows]) for r in box.rays
        ]
        for own, low in zip(levels, box.low, strict=True):
            inside &= own > low
        return rows[inside], [own[inside] for own in levels]

    def _above(self, index: int, low: int) -> NDArray[np.intp]:
        """The rows with a level above `low` on a ray."""
        if index not in self._orders:
            levels = levels_of(self._rays[index], self._keys[self._rays[index].feature])
            order = np.argsort(levels, kind="stable")
            self._orders[index] = order, levels[order]
        order, levels = self._orders[index]
        return order[np.searchsorted(levels, low, side="right") :]

    def fetch(self, part: FetchRows) -> Parts:
        """See `DevicePasses`."""
        parts = part.start()
        found: list[Parts] = [parts]
        for b, box in enumerate(part.boxes):
            self.check()
            rows, levels = self._inside(box)
            weighs = self._weights[rows] != 0
            whole = np.ones(len(rows), bool)
            wide = np.zeros((len(rows), part.depth), np.int64)
            for d, (own, high) in enumerate(zip(levels, box.high, strict=True)):
                whole &= own >= high
                wide[:, d] = own
            always = rows[whole]
            np.add.at(parts["always"][b], self._classes[always], self._weights[always])
            left = weighs & ~whole
            own_rows = rows[left]
            found.append({
                "box": np.full(len(own_rows), b, np.int32), "levels": wide[left],
                "groups": self._classes[own_rows], "weights": self._weights[own_rows],
            })  # fmt: skip
        for name in ("box", "levels", "groups", "weights"):
            parts[name] = np.concatenate([one[name] for one in found])
        return parts

    def best_runs(self, features: Sequence[int], factors: Whole) -> Whole:
        """See `DevicePasses`."""
        out = np.empty(len(features), np.int64)
        for at, feature in enumerate(features):
            self.check()
            sums = np.zeros(self._columns[feature].n_values, np.int64)
            gains = factors[self._classes] * self._weights
            out[at] = best_run(self._columns[feature].codes, gains, sums)[0]
        return out

    def sums_by_code(self, feature: int, factors: Whole) -> Whole:
        """See `DevicePasses`."""
        column = self._columns[feature]
        sums = np.zeros(column.n_values, np.int64)
        known = column.codes >= 0
        gains = factors[self._classes] * self._weights
        np.add.at(sums, column.codes[known], gains[known])
        return sums
