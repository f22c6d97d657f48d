"""The kernels that settle nodes, held to what their callers rely on."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search import reference
from engines.search.reference import NEG, best_gain
from engines.search.rows import ANY_ROWS, FORMS, Rows, flags
from engines.search.support import examples
from opdt.engines.search import deepen, kernels
from opdt.engines.search.kernels import Flags, Kinds, Pairs, Search
from opdt.engines.search.workspace import Workspace

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="session", params=FORMS)
def form(request: pytest.FixtureRequest) -> Any:
    """A kernel as it is compiled, or the same code as plain Python."""
    return FORMS[request.param]


class Problem(Rows):
    """Rows with what `evaluate` and `outer` take besides."""

    def __init__(self, seed: int, n_rays: int, *, decide: int = 0) -> None:
        super().__init__(seed, n_rays, most=4, uniform=bool(seed % 2))
        rng = self.rng
        self.constrained = bool(rng.random() < 0.4)
        self.first = bool(rng.integers(2))
        uniform = len(set(self.gains[self.gains > 0])) <= 1 >= len(set(self.gains[self.gains <= 0]))
        reduce, bits, intervals, exclusion = (bool(b) for b in rng.integers(2, size=4))
        self.flags = Flags(
            self.first, not self.constrained, reduce, uniform and bits, self.constrained, False,
            decide, intervals, exclusion,
        )  # fmt: skip
        self.bounds_of_rows = self.limits if self.constrained else ANY_ROWS
        self.offset = -int(rng.integers(0, 3))
        self.control = np.array([rng.integers(1, 9), 0], np.int64)
        self.start = int(self.control[0])
        self.pairs = np.array([(p, q) for q in range(n_rays) for p in range(q)], np.int32)
        capacity = int(rng.integers(1, 8))  # of lists of sets: more go into several
        self.place = Workspace(n_rays, self.n, int(self.tops.max()), n_rays, capacity, capacity)
        self.space = self.place.space
        self.columns = Pairs(self.pairs[:, 0].copy(), self.pairs[:, 1].copy())
        none = np.zeros(n_rays, np.int64)
        chain = np.append(np.arange(1, n_rays + 1), -1).reshape(-1, 1)
        self.kinds = Kinds(np.arange(n_rays), none, none, none, chain, canonical=True)

    @property
    def search(self) -> Search:
        place = self.place
        return Search(
            self.offset, self.offset, self.flags, self.bounds_of_rows, self.control, place.counters,
            place.chosen, place.records,
        )  # fmt: skip

    @property
    def records(self) -> list[list[int]]:
        return self.place.records[: int(self.place.counters[kernels.RECORDS])].tolist()

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
        sure = [self.inner(*s) + self.offset for s in sets if self.is_sure(*s)]
        every = [self.inner(*s) + self.offset for s in sets]
        best = int(self.control[kernels.BEST])
        assert max([self.start, *sure]) <= best <= max([self.start, *every])
        size = len(sets[0]) if sets else 0
        found = {tuple(rays[:size]) for value, *rays in self.records if value == best}
        for rays in sets:
            if self.is_sure(*rays) and self.inner(*rays) + self.offset == best:
                assert rays in found
        for value, *rays in self.records:
            assert value <= self.inner(*rays[:size]) + self.offset

    def evaluate(self, form: Any, bounds: Any, wanted: Any, floor: int) -> int:
        """Evaluate pairs on all rows."""
        node = self.node._replace(levels=self.levels.copy(), tops=self.tops.copy())
        ended: int = form(kernels.evaluate)(
            self.node, self.every, node, self.columns, bounds, wanted, floor, 0, self.search,
            self.space.scratch,
        )  # fmt: skip
        return ended


@given(seed=SEEDS)
@examples(100)
def test_evaluate(form: Any, seed: int) -> None:
    data = Problem(seed, 4)
    floor = data.start - data.offset if data.rng.random() < 0.6 else NEG
    wanted = np.flatnonzero(data.rng.random(len(data.pairs)) < 0.7).astype(np.int32)
    bounds = np.full(len(data.pairs), -99, np.int64)
    assert data.evaluate(form, bounds, wanted, floor) == kernels.DONE
    counters = data.place.counters
    assert counters[kernels.EVALUATIONS] + counters[kernels.PRUNED] == len(wanted)
    sets = [tuple(data.pairs[pair].tolist()) for pair in wanted]
    data.check(sets)
    for pair, rays in zip(wanted, sets, strict=True):
        assert bounds[pair] == max(best_gain(data.covers(*rays, start=0)), floor - 1, 0)
    assert (np.delete(bounds, wanted) == -99).all()


@given(seed=SEEDS)
@examples(100)
def test_outer(form: Any, seed: int) -> None:
    data = Problem(seed, 4)
    data.place = Workspace(4, data.n, int(data.tops.max()), 4, 6)
    space, ray = data.place.space, 0
    chosen = data.pairs[(data.pairs > ray).all(axis=1)]
    known = [best_gain(data.covers(*rays, start=0)) for rays in chosen.tolist()]
    mass = reference.mass_of(data.gains)
    loose = data.rng.random() < 0.5
    start = np.array([mass if loose else max(0, k) for k in known], np.int64)
    ended = form(kernels.outer)(
        data.node, ray, Pairs(chosen[:, 0].copy(), chosen[:, 1].copy()), start, 0, data.search,
        space.frames, space.room, space.scratch,
    )  # fmt: skip
    assert ended == kernels.DONE
    sets = [(ray, *rays) for rays in chosen.tolist()]
    data.check(sets)
    for bound, rays in zip(space.frames.ends, sets, strict=False):
        tighter = [c.gain for c in data.covers(*rays, start=0) if c.positions[0] > 0]
        assert bound >= max(tighter, default=NEG)


@given(seed=SEEDS, size=st.integers(2, 4))
@examples(150)
def test_settling_all_sets_behind_a_ray(form: Any, seed: int, size: int) -> None:
    data = Problem(seed, 5 if size == 4 else 4)
    rays = len(data.tops)
    following = np.append(np.arange(1, size + 1), -1).reshape(-1, 1)
    kinds = data.kinds._replace(following=following)
    bounds = []
    if size == 2:
        begin, end = sorted(data.rng.integers(0, rays + 1, size=2).tolist())
        pairs = Pairs(*deepen.pairs_between(kinds, begin, end))
        data.place = Workspace(rays, data.n, int(data.tops.max()), rays, len(pairs.first))
        assert deepen.settle_alone(data.node, pairs, data.search, data.place.space) == kernels.DONE
        firsts = range(begin, end)
    else:
        settle = deepen.settle_pairs if size == 3 else form(kernels.settle_triples)
        firsts = range(rays)
        for ray in firsts:
            ended, bound = settle(data.node, ray, 0, 0, kinds, data.search, data.space)
            assert ended == kernels.DONE
            bounds.append(bound)
    sets = [s for s in combinations(range(rays), size) if s[0] in firsts]
    data.check(sets)
    for bound, ray in zip(bounds, firsts, strict=False):
        behind = [data.inner(*s) for s in sets if s[0] == ray]
        assert bound >= max(behind, default=NEG) or max(behind) < 0


@given(seed=SEEDS)
@examples(30)
def test_a_decision_stops_at_the_first_rule_that_reaches_the_value(form: Any, seed: int) -> None:
    data = Problem(seed, 4, decide=kernels.ANY)
    wanted = np.arange(len(data.pairs), dtype=np.int32)
    data.evaluate(form, np.empty(len(wanted), np.int64), wanted, NEG)
    number = len(data.records)
    assert number <= 1
    assert bool(data.control[kernels.STOP]) == (number == 1)
    if number == 0:
        sets = [tuple(rays) for rays in data.pairs.tolist()]
        assert all(
            data.inner(*rays) + data.offset < data.start for rays in sets if data.is_sure(*rays)
        )


def test_a_stopped_node_says_so_and_full_records_too(form: Any) -> None:
    levels = np.array([[1, 1, 0], [1, 1, 0]], np.uint16)
    gains, ones = np.array([3, 2, -1], np.int64), np.ones(3, np.int64)
    node = kernels.Node(levels, np.ones(2, np.int64), gains, ones, ones, gains)
    pair = Pairs(np.array([0], np.int32), np.array([1], np.int32))
    for stop, capacity, ended in ((1, 4, kernels.STOPPED), (0, 0, kernels.FULL)):
        place = Workspace(2, 3, 1, 2, 1)
        search = Search(
            0, 0, flags(mass_above=True, intervals=True), ANY_ROWS, np.array([1, stop], np.int64),
            place.counters, place.chosen, np.empty((capacity, 3), np.int64),
        )  # fmt: skip
        assert ended == form(kernels.evaluate)(
            node, np.arange(3, dtype=np.int32), node._replace(levels=levels.copy()), pair,
            np.zeros(1, np.int64), np.zeros(1, np.int32), NEG, 0, search, place.space.scratch,
        )  # fmt: skip
