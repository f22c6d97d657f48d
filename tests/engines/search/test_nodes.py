"""The kernels that settle nodes, held to what their callers rely on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search import reference
from engines.search.reference import NEG, best_gain
from engines.search.rows import ANY_ROWS, FORMS, Rows
from engines.search.support import examples
from opdt.engines.search import kernels
from opdt.engines.search.workspace import Workspace

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="session", params=FORMS)
def form(request: pytest.FixtureRequest) -> Any:
    """A kernel as it is compiled, or the same code as plain Python."""
    return FORMS[request.param]


class Node(Rows):
    """Rows with what `evaluate` and `outer` take besides."""

    def __init__(self, seed: int, n_rays: int, *, decide: bool = False) -> None:
        super().__init__(seed, n_rays, most=4, uniform=bool(seed % 2))
        rng = self.rng
        self.constrained = bool(rng.random() < 0.4)
        self.first = bool(rng.integers(2))
        uniform = len(set(self.gains[self.gains > 0])) <= 1 >= len(set(self.gains[self.gains <= 0]))
        self.flags = np.array(
            [self.first, not self.constrained, rng.integers(2), uniform and rng.integers(2),
             self.constrained, decide, rng.integers(2)], np.int64,
        )  # fmt: skip
        self.bounds_of_rows = self.limits if self.constrained else ANY_ROWS
        self.offset = -int(rng.integers(0, 3))
        self.control = np.array([rng.integers(1, 9), 0], np.int64)
        self.start = int(self.control[0])
        self.pairs = np.array([(p, q) for q in range(n_rays) for p in range(q)], np.int32)
        self.space = Workspace(n_rays, self.n, int(self.tops.max()), len(self.pairs), 1 << 20)

    def inner(self, *rays: int) -> int:
        """The best gain of a set within the limits, at real positions of all its rays."""
        return best_gain(self.covers(*rays), self.bounds_of_rows if self.constrained else None)

    def is_sure(self, *rays: int) -> bool:
        """Whether no condition of the set's best rule may be left out."""
        chosen = list(rays)
        shorter = reference.outside_gain(self.levels[chosen], self.tops[chosen], self.gains)
        return self.first or self.inner(*rays) > shorter

    def check(self, sets: list[tuple[int, ...]]) -> None:
        """Assert that the best value is that of the best set, and that all of its are recorded."""
        number = int(self.space.counters[kernels.RECORDS])
        records = self.space.records[:number].tolist()
        sure = [self.inner(*s) + self.offset for s in sets if self.is_sure(*s)]
        every = [self.inner(*s) + self.offset for s in sets]
        best = int(self.control[kernels.BEST])
        assert max([self.start, *sure]) <= best <= max([self.start, *every])
        found = {tuple(r for r in rays if r >= 0) for value, *rays in records if value == best}
        for rays in sets:
            if self.is_sure(*rays) and self.inner(*rays) + self.offset == best:
                assert rays in found
        for value, *rays in records:
            assert value <= self.inner(*(r for r in rays if r >= 0)) + self.offset


@given(seed=SEEDS)
@examples(100)
def test_evaluate(form: Any, seed: int) -> None:
    node = Node(seed, 4)
    floor = node.start - node.offset if node.rng.random() < 0.6 else NEG
    wanted = np.flatnonzero(node.rng.random(len(node.pairs)) < 0.7).astype(np.int32)
    bounds = np.full(len(node.pairs), -99, np.int64)
    ended = form(kernels.evaluate)(
        node.levels, node.every, node.gains, node.weights, node.wrong, node.tops,
        node.pairs[:, 0].copy(), node.pairs[:, 1].copy(), bounds, wanted, node.offset, floor,
        node.flags, node.bounds_of_rows, node.control, node.space.counters, -1,
        node.space.records, *node.space.node,
    )  # fmt: skip
    assert ended == kernels.DONE
    assert node.space.counters[kernels.EVALUATIONS] == len(wanted)
    sets = [tuple(node.pairs[pair].tolist()) for pair in wanted]
    node.check(sets)
    for pair, rays in zip(wanted, sets, strict=True):
        assert bounds[pair] == max(best_gain(node.covers(*rays, start=0)), floor - 1, 0)
    assert (np.delete(bounds, wanted) == -99).all()


@given(seed=SEEDS)
@examples(100)
def test_outer(form: Any, seed: int) -> None:
    node = Node(seed, 4)
    ray = 0
    chosen = node.pairs[(node.pairs > ray).all(axis=1)]
    known = [best_gain(node.covers(*rays, start=0)) for rays in chosen.tolist()]
    mass = reference.mass_of(node.gains)
    loose = node.rng.random() < 0.5
    start = np.array([mass if loose else max(0, k) for k in known], np.int64)
    ends = np.full(len(chosen), -99, np.int64)
    ended = form(kernels.outer)(
        node.levels, node.gains, node.weights, node.wrong, node.tops, ray, chosen[:, 0].copy(),
        chosen[:, 1].copy(), start, ends, node.offset, node.flags, node.bounds_of_rows,
        node.control, node.space.counters, node.space.records, *node.space.outer,
        *node.space.node,
    )  # fmt: skip
    assert ended == kernels.DONE
    sets = [(ray, *rays) for rays in chosen.tolist()]
    node.check(sets)
    for bound, rays in zip(ends, sets, strict=True):
        tighter = [c.gain for c in node.covers(*rays, start=0) if c.positions[0] > 0]
        assert bound >= max(tighter, default=NEG)


@given(seed=SEEDS)
@examples(30)
def test_a_decision_stops_at_the_first_rule_that_reaches_the_value(form: Any, seed: int) -> None:
    node = Node(seed, 4, decide=True)
    wanted = np.arange(len(node.pairs), dtype=np.int32)
    form(kernels.evaluate)(
        node.levels, node.every, node.gains, node.weights, node.wrong, node.tops,
        node.pairs[:, 0].copy(), node.pairs[:, 1].copy(), np.empty(len(wanted), np.int64), wanted,
        node.offset, NEG, node.flags, node.bounds_of_rows, node.control, node.space.counters, -1,
        node.space.records, *node.space.node,
    )  # fmt: skip
    number = int(node.space.counters[kernels.RECORDS])
    assert number <= 1
    assert bool(node.control[kernels.STOP]) == (number == 1)
    if number == 0:
        sets = [tuple(rays) for rays in node.pairs.tolist()]
        assert all(
            node.inner(*rays) + node.offset < node.start for rays in sets if node.is_sure(*rays)
        )


def test_a_stopped_node_says_so_and_full_records_too(form: Any) -> None:
    levels = np.array([[0, 1, 1], [0, 1, 1]], np.uint16)
    gains, ones = np.array([3, 2, -1], np.int64), np.ones(3, np.int64)
    levels, tops = levels[:, ::-1].copy(), np.ones(2, np.int64)
    flags = np.array([0, 1, 0, 0, 0, 0, 1], np.int64)
    pair = np.array([0], np.int32), np.array([1], np.int32)
    for stop, capacity, ended in ((1, 4, kernels.STOPPED), (0, 0, kernels.FULL)):
        space = Workspace(2, 3, 1, 1, 16)
        assert ended == form(kernels.evaluate)(
            levels, np.arange(3, dtype=np.int32), gains, ones, ones, tops, *pair,
            np.zeros(1, np.int64), np.zeros(1, np.int32), 0, NEG, flags, ANY_ROWS,
            np.array([1, stop], np.int64), space.counters, -1,
            np.empty((capacity, 4), np.int64), *space.node,
        )  # fmt: skip
