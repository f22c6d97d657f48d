"""A few random rows with levels on some rays: what the kernels work on."""

from __future__ import annotations

from typing import Any

import numpy as np

from engines.search.reference import covers
from opdt.engines.search.kernels import Flags, Limits, Node, Scratch
from opdt.engines.search.workspace import scratch

FORMS = {"compiled": lambda f: f, "plain": lambda f: getattr(f, "py_func", f)}
ANY_ROWS = Limits(1, 1 << 40, 0, 1)  # limits that every cover meets


class Rows:
    """A few random rows: rows with mass first, levels on some rays, weights and errors."""

    def __init__(self, seed: int, n_rays: int = 2, *, most: int = 5, uniform: bool = False) -> None:
        self.rng = rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 13))
        self.tops = rng.integers(0, most + 1, size=n_rays).astype(np.int64)
        self.levels = np.stack([rng.integers(0, t + 1, size=n) for t in self.tops])
        self.levels = self.levels.astype(np.uint16)
        high, low = rng.integers(1, 6), -rng.integers(0, 6)
        gains = np.where(rng.random(n) < 0.5, high, low) if uniform else rng.integers(-5, 6, n)
        self.gains = gains[np.argsort(gains <= 0, kind="stable")].astype(np.int64)
        self.weights = rng.integers(0, 4, size=n).astype(np.int64)
        # a row that gains is never an error; a row that loses or gains nothing may be one
        self.wrong = np.where((rng.random(n) < 0.6) & (self.gains <= 0), self.weights, 0)
        self.every = np.arange(n, dtype=np.int32)

    @property
    def n(self) -> int:
        return len(self.gains)

    @property
    def limits(self) -> Limits:
        rng = self.rng
        numerator = int(rng.integers(0, 4))
        return Limits(int(rng.integers(0, 6)), int(rng.integers(0, 6)), numerator, 3)

    @property
    def node(self) -> Node:
        return Node(self.levels, self.tops, self.gains, self.weights, self.wrong, self.gains)

    def covers(self, *rays: int, start: int = 1) -> Any:
        """Every combination of positions of some rays."""
        chosen = list(rays)
        tops = self.tops[chosen].tolist()
        return covers(self.levels[chosen], tops, self.gains, self.weights, self.wrong, start=start)

    @property
    def scratch(self) -> Scratch:
        """Room for pairs of these rays."""
        top = int(self.tops.max())
        return scratch(len(self.tops), self.n, top, top)


def flags(**changed: bool | int) -> Flags:
    """Flags that are all off but for these."""
    off = Flags(False, False, False, False, False, False, 0, False, False)
    return off._replace(**changed)
