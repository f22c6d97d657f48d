"""From places on the axes of a layer to positions on their rays, for many sets of axes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opdt.scale.layers import PartitionLayer

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AxisSides:
    """The ordered axes of a layer, each of which can be used upwards (`>=`) and downwards (`<`).

    `ray_of` (2, n_axes) are the rays, -1 where there is none; `positions` (2, n_axes, bins + 1) are
    the last ones before each place of these.
    """

    ray_of: Whole
    positions: Whole
    tops: Whole  # (n_rays,) the tightest position of each ray

    @classmethod
    def of(cls, layer: PartitionLayer) -> AxisSides:
        """Those of a layer; axes without order are left out."""
        grid, known = layer.grid, layer.positions
        most = int(grid.n_bins.max(initial=0)) + 1
        positions = np.zeros((2, len(layer.axes), most), np.int64)
        for a, axis in enumerate(layer.axes):
            for way, ray in enumerate((axis.up, axis.down)):
                if axis.edges is not None and ray >= 0:
                    places = range(axis.n_bins + 1)
                    positions[way, a, : axis.n_bins + 1] = [known.before(ray, at) for at in places]
        return cls(np.stack([grid.up, grid.down]), positions, known.tops)

    def rays(self, axes: Whole, ways: Whole) -> Whole:
        """The rays of axes (n, size) that are used in some ways (n,); -1 where there is none."""
        return np.asarray(self.ray_of[self._turns(axes, ways), axes])

    def before(self, axes: Whole, ways: Whole, places: Whole) -> Whole:
        """The last position before each place (n, size): it covers the place and all behind it."""
        return np.asarray(self.positions[self._turns(axes, ways), axes, places])

    def _turns(self, axes: Whole, ways: Whole) -> Whole:
        return np.asarray(ways[:, None] >> np.arange(axes.shape[1]) & 1)
