"""The bounds on counted cells, against all rules on the rows themselves."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engines.search.support import examples
from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.search import SearchEngine, Switches, intervals
from opdt.engines.search import scan_kernels as kernels
from opdt.engines.search.grid import Axis, as_grid
from opdt.engines.search.kernels import NEG, Limits
from opdt.engines.search.records import NO_LIMITS
from opdt.engines.search.scan_kernels import (
    About,
    Alone,
    Asked,
    Counted,
    Groups,
    Rules,
    ScanScratch,
)
from opdt.engines.search.tuning import Tuning
from opdt.problem import Constraints, Problem, Structure
from opdt.table import Table

SEEDS = st.integers(0, 2**32 - 1)
FINE = 3  # values of a bin, at most


class Rows:
    """Rows of `k` numbers, in bins, in two groups; rules of the first group's class."""

    def __init__(self, seed: int, k: int) -> None:
        rng = np.random.default_rng(seed)
        self.n_values = rng.integers(3, 9, size=k)
        n = int(rng.integers(4, 25))
        self.values = np.array([rng.integers(-1, top, size=n) for top in self.n_values])
        self.right = int(rng.integers(0, n + 1))
        self.minus = int(rng.integers(1, 4))
        weights = rng.integers(1, 4, size=n) if rng.integers(2) else np.ones(n, np.int64)
        self.weights = weights
        self.gains = np.where(np.arange(n) < self.right, weights, -self.minus * weights)
        axes = []
        codes = np.empty((k, n), np.uint8)
        for a, top in enumerate(self.n_values.tolist()):
            inner = np.flatnonzero(rng.random(top - 1) < 1.5 / FINE) + 1
            edges = np.concatenate([[0], inner, [top]])
            axes.append(Axis(a, len(edges) - 1, edges, np.diff(edges) == 1, 2 * a, 2 * a + 1))
            codes[a] = np.searchsorted(edges, self.values[a], side="right") - 1
            codes[a, self.values[a] < 0] = len(edges) - 1
        self.grid = as_grid(axes, codes, [bool((own < 0).any()) for own in self.values])
        one = np.ones(1, np.int64)
        starts = np.array([0, self.right, n])
        self.groups = Groups(starts, weights, 0 * one, 0 * one, one, one, self.minus * one)
        self.rules = Rules(np.zeros(2 * k, np.int64), 1, np.empty(0, bool), False, False)
        most = int(np.prod([axis.n_bins + 1 for axis in axes for _ in range(2)]))
        # numbers of 32 bits, or of 64
        self.scratch = ScanScratch.of(k + 2, 2 * most, int(weights.sum()) + ((seed % 2) << 31), 9)

    def about(self, need: int, limits: Limits | None = None) -> About:
        """Rules that gain so much, within limits."""
        one = np.ones(1, np.int64)
        given = limits is not None, *(limits or NO_LIMITS)
        asked = Asked(need, one, self.minus * one, 1, 0, *given)
        return About(self.grid, Alone.none(), self.groups, 2, self.rules, asked)

    def covers(self, axis: int, down: bool) -> list[Any]:
        """The rows that each threshold on an axis covers."""
        own = self.values[axis]
        return [
            (own >= 0) & ((own < cut) if down else (own >= cut))
            for cut in range(1, int(self.n_values[axis]))
        ]

    def best(self, rays: list[tuple[int, bool]], limits: Limits | None = None) -> int:
        """The most that thresholds on these rays gain, within limits."""
        every = product(*(self.covers(axis, down) for axis, down in rays))
        covers = [np.all(rows, axis=0) for rows in every]
        if limits is not None:
            covers = [rows for rows in covers if self.meets(rows, limits)]
        return max((int(self.gains[rows].sum()) for rows in covers), default=-1000)

    def meets(self, rows: Any, limits: Limits) -> bool:
        """Whether some rows are within the limits."""
        right = int(self.weights[: self.right][rows[: self.right]].sum())
        wrong = int(self.weights[self.right :][rows[self.right :]].sum())
        precise = right * limits.denominator >= (right + wrong) * limits.numerator
        return right + wrong >= limits.least and wrong <= limits.most and precise


@given(seed=SEEDS, k=st.integers(2, 3), need=st.integers(-3, 8))
@examples(80)
def test_no_interval_beside_other_rays_gains_more_than_its_bound(
    seed: int, k: int, need: int
) -> None:
    data = Rows(seed, k)
    first = seed % k
    others = [a for a in range(k) if a != first]
    if seed % 3 == 0 and k == 2:
        others = others * 2  # two intervals
    sets = np.array([[first, *others]])
    records = np.empty((1, kernels.HEAD), np.int64)
    kernels.scan_sets(
        data.about(need), sets, np.array([kernels.ALL_WAYS]), 1, Counted.none(),
        np.zeros(8, np.int64), data.scratch, records, np.zeros(2, np.int64),
    )  # fmt: skip
    for ways in product([False, True], repeat=len(others)):
        if len(set(others)) == len(others) or ways == (False, True):
            best = data.best([(first, False), (first, True), *zip(others, ways, strict=True)])
            assert best < need or best <= records[0, kernels.BOUND]


LIMITS = st.builds(
    Limits,
    st.integers(0, 25),
    st.integers(0, 12) | st.just(1 << 40),
    st.integers(0, 4),
    st.integers(4, 7),
)


@given(
    seed=SEEDS, k=st.integers(1, 3), need=st.integers(-3, 8), drawn=st.integers(0, 255),
    limits=st.none() | LIMITS,
)  # fmt: skip
@examples(160)
def test_no_rule_gains_more_than_the_record_of_its_rays_says(
    seed: int, k: int, need: int, drawn: int, limits: Limits | None
) -> None:
    data = Rows(seed, k)
    asked = drawn % (1 << (1 << k))
    ways = np.array([asked if asked else kernels.ALL_WAYS])
    records, state = np.empty((64, kernels.HEAD + 4 * k), np.int64), np.zeros(2, np.int64)
    kernels.scan_sets(
        data.about(need, limits), np.arange(k)[None], ways, 0, Counted.none(),
        np.zeros(8, np.int64), data.scratch, records, state,
    )  # fmt: skip
    bounds: dict[tuple[int, ...], int] = {}
    for record in records[: state[1]].tolist():
        rays = tuple(record[kernels.HEAD : kernels.HEAD + k])
        exact = record[kernels.RIGHT] - data.minus * record[kernels.WRONG]
        if record[kernels.RIGHT] < 0:
            exact = kernels.NEG
        bounds[rays] = max(record[kernels.BOUND], exact)
        best = data.best([(ray // 2, bool(ray % 2)) for ray in rays], limits)
        assert exact <= best
    for at, downs in enumerate(product([0, 1], repeat=k)):
        number = sum(down << d for d, down in enumerate(downs))
        if asked and not asked >> number & 1:
            assert tuple(2 * d + down for d, down in enumerate(downs)) not in bounds, at
            continue
        best = data.best([(d, bool(down)) for d, down in enumerate(downs)], limits)
        if best >= need:
            assert best <= bounds[tuple(2 * d + down for d, down in enumerate(downs))]


def test_very_many_columns_of_which_one_is_missing_throughout() -> None:
    """Such a column has no bins at all."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (60, 4)).astype(float)
    x[:, 2] = np.nan
    y = (x[:, 0] > 4) ^ (rng.random(60) < 0.1)
    table = Table.build(x, y.astype(int), warn=False)
    asked = Constraints(missing_conditions=True)
    problem = Problem.build(table, structure=Structure.free(2), w=3, constraints=asked)
    engine = SearchEngine(switches=Switches(large_rows=0, tuning=Tuning(wide=2)))
    found = engine.solve(problem)
    assert found.value == ExhaustiveEngine().solve(problem).value


@given(seed=st.integers(0, 2**32 - 1))
def test_the_best_run_of_codes_is_that_of_all_runs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_codes, n_rows = int(rng.integers(1, 9)), int(rng.integers(1, 30))
    codes = rng.integers(-1, n_codes, n_rows).astype(np.int32)
    gains = rng.integers(-6, 5, n_rows)
    best, first, last = intervals.best_run(codes, gains, np.zeros(n_codes, np.int64))
    sums = {
        (a, b): int(gains[(codes >= a) & (codes <= b)].sum())
        for a in range(1, n_codes - 1)
        for b in range(a, n_codes - 1)
    }
    assert best == max(sums.values(), default=NEG)
    assert not sums or sums[first, last] == best
