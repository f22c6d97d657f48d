"""The axes of a table in memory, with the bins of its rows."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import scan_kernels as kernels
from opdt.engines.search.agenda import Halted
from opdt.engines.search.grid import Axis, AxisMaker, Bins, Levels, as_grid
from opdt.engines.search.records import Positions, Task
from opdt.engines.search.rows import Layer, Step
from opdt.engines.search.scan_kernels import Alone

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TableLayer(Layer):
    """Axes with the bins of the rows, which are filled when an axis is first used."""

    levels: list[Levels | None]  # of axes without order
    task: Task
    channels: int
    alone: Alone
    maker: AxisMaker
    filled: NDArray[np.bool_]  # (n_axes,) whose rows of `grid.codes` are filled
    lock: threading.Lock


class TableLayers:
    """Makes layers as they are needed, and fills their axes with the bins of the rows."""

    def __init__(self, run: Run) -> None:
        self.run, self._rays = run, run.prepared.rays
        self._n_rows = run.problem.table.n_rows
        self._layers: dict[tuple[int, int, int, bool], TableLayer] = {}
        self._making = threading.Lock()

    def of(self, step: Step) -> TableLayer:
        """The axes in the bins of a step."""
        bins = min(step.ladder[0], max((c.n_values for c in self._rays.columns), default=1))
        with self._making:
            key = step.at, bins, self.run.switches.tuning.levels[step.size - 1], step.even
            if key not in self._layers:
                self._layers[key] = self._make_layer(step.task, *key[1:])
            return self._layers[key]

    def _make_layer(self, task: Task, bins: int, most_levels: int, even: bool) -> TableLayer:
        maker = AxisMaker(self._rays, task.order)
        wanted = maker.axes(bins, most_levels)
        axes = [maker.axis(*own, bins, even=even) for own in wanted]
        # Pages that are never written to take no memory: rows are filled when they are needed.
        codes = np.empty((len(wanted), self._n_rows), np.uint8)
        missing = [bool(self._rays.columns[f].has_missing) for f, _ in wanted]
        return TableLayer(
            axes, as_grid(axes, codes, missing), Positions(axes, self._rays.rays, self._rays.tops),
            [levels for _, levels in wanted], task, kernels.n_channels(task.groups),
            self._alone(task, axes), maker, np.zeros(len(axes), bool), threading.Lock(),
        )  # fmt: skip

    def fill(self, layer: TableLayer, used: Whole) -> None:
        """Fill the rows' bins of the axes that are used, where that is still to be done."""
        with layer.lock:
            todo = np.unique(used)
            todo = todo[~layer.filled[todo]]
            if not len(todo):
                return
            if not self.run.claim(len(todo) * self._n_rows):
                raise Halted

            def one(a: int) -> None:
                layer.maker.fill(layer.axes[a], layer.levels[a], layer.grid.codes[a])

            self.run.on_threads(one, todo.tolist())
            layer.filled[todo] = True

    def _alone(self, task: Task, axes: list[Axis]) -> Alone:
        """What ordered rays gain by themselves, where there are many levels to be excluded."""
        ordered = [(a, axis) for a, axis in enumerate(axes) if axis.edges is not None]
        n_singles = sum(len(axis.singles) for axis in axes)
        if (
            not ordered
            or n_singles < self.run.switches.tuning.many_levels
            or not self.run.switches.alone
        ):
            return Alone.none()
        bins = max(axis.n_bins for _, axis in ordered)
        alone = Alone.room(len(task.groups.labels), len(axes), bins)

        def weigh(a: int, axis: Axis) -> None:
            column = self._rays.columns[axis.feature]
            kernels.weigh_alone(
                column.codes, task.order, task.groups, axis.edges, column.n_values, a, alone
            )

        self.run.on_threads(weigh, *zip(*ordered, strict=True))
        return alone

    def best_axes(self, task: Task, layer: TableLayer, number: int) -> list[int]:
        """The axes that are best alone, by the gains of their bins."""
        starts, weights = task.groups.starts, task.groups.weights

        def best_of(axis: Axis, codes: Bins) -> float:
            counts = [
                np.bincount(
                    codes[starts[g] : starts[g + 1]],
                    weights[starts[g] : starts[g + 1]] if weights.size else None,
                    axis.n_bins + 1,
                )[:-1]
                for g in range(len(starts) - 1)
            ]
            total, best = sum(counts), 0.0
            for p in range(len(task.groups.labels)):
                own = counts[task.groups.right[p]]
                gains = task.groups.plus[p] * own - task.groups.minus[p] * (total - own)
                runs = gains.cumsum(), gains[::-1].cumsum()  # of no bins where all is missing
                best = max(best, *(run.max(initial=0) for run in runs))
            return best

        self.fill(layer, np.arange(len(layer.axes)))
        best = np.array(self.run.on_threads(best_of, layer.axes, list(layer.grid.codes)))
        order: list[int] = np.argsort(-best, kind="stable")[:number].tolist()
        return order
