"""The kernels of large tables, compiled and as plain Python, against their slow twins."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search import reference
from engines.search.reference import NEG, Array, Bounds, best_gain, covers
from engines.search.rows import FORMS
from engines.search.support import examples
from opdt.engines.search import boxes, cells

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="session", params=FORMS)
def form(request: pytest.FixtureRequest) -> Any:
    """A kernel as it is compiled, or the same code as plain Python."""
    return FORMS[request.param]


def strides_of(sizes: Any) -> Array:
    """How far apart neighbours lie in each dimension of a flat array."""
    return np.append(np.cumprod(np.array(sizes, np.int64)[::-1])[::-1][1:], 1)


class Found:
    """The arrays into which the kernels that bound cells write."""

    def __init__(self, n_places: int, k: int) -> None:
        self.upper = np.full(n_places, 99, np.int64)
        self.low, self.high = np.full((2, n_places, k), 99, np.int64)

    def check(self, best: int, expected: Bounds) -> None:
        assert best == expected.best
        assert self.upper[: len(expected.upper)].tolist() == expected.upper
        for t, (low, high) in expected.boxes.items():
            assert (self.low[t].tolist(), self.high[t].tolist()) == (low, high)


@given(seed=SEEDS, k=st.integers(1, 3))
@examples(60)
def test_count_cells(form: Any, seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    n, n_groups = int(rng.integers(1, 15)), int(rng.integers(1, 4))
    codes = rng.integers(0, 4, size=(4, n)).astype(np.uint8)
    axes = np.sort(rng.permutation(4)[:k])
    groups = rng.integers(0, n_groups, size=n).astype(np.uint8)
    weights = rng.integers(0, 5, size=n)
    out = np.full(4**k * n_groups, 99, np.int64)
    form(cells.count_cells)(codes, axes, strides_of([4] * k), groups, weights, n_groups, out)
    expected = reference.count_cells(codes[axes], [4] * k, groups, weights, n_groups)
    assert out.tolist() == expected.ravel().tolist()


class Cells:
    """Random counts of cells, and rays that turn or single out their bins."""

    def __init__(self, seed: int, k: int) -> None:
        rng = np.random.default_rng(seed)
        self.dims = rng.integers(2, 5, size=k)  # bins, that of missing values included
        self.n_groups = int(rng.integers(1, 4))
        self.counts = rng.integers(0, 4, size=(*self.dims, self.n_groups))
        self.factors = rng.integers(-3, 4, size=self.n_groups)
        self.exact = rng.integers(0, 2, size=k).astype(bool)
        self.goal = int(rng.integers(-3, 15))
        self.turns = []
        for bins, single in zip(self.dims.tolist(), self.exact, strict=True):
            if single:
                self.turns.append(rng.integers(0, 2, size=bins))
            else:  # the places of the bins, which may run either way; missing is never covered
                order = np.arange(bins - 1)
                self.turns.append(np.append(order if rng.random() < 0.5 else order[::-1], -1))
        self.sizes = np.where(self.exact, 2, self.dims - 1)

    def oriented(self) -> tuple[Array, Array]:
        """Mass and loss at each place."""
        mass, loss = np.zeros((2, *self.sizes), np.int64)
        for cell in product(*map(range, self.dims)):
            place = tuple(int(turn[b]) for turn, b in zip(self.turns, cell, strict=True))
            if min(place) >= 0:
                gains = self.counts[cell] * self.factors
                mass[place] += gains[gains > 0].sum()
                loss[place] -= gains[gains < 0].sum()
        return mass, loss


@given(seed=SEEDS, k=st.integers(1, 3))
@examples(60)
def test_orient_accumulate_and_bound_cells(form: Any, seed: int, k: int) -> None:
    data = Cells(seed, k)
    sizes, strides = data.sizes, strides_of(data.sizes)
    turns = np.full((k, int(data.dims.max())), -1, np.int64)
    for row, turn in zip(turns, data.turns, strict=True):
        row[: len(turn)] = turn
    mass, loss = np.full((2, int(sizes.prod())), 99, np.int64)
    form(cells.orient)(
        data.counts.ravel(), data.dims, data.n_groups, data.factors, turns, sizes, strides, mass,
        loss,
    )  # fmt: skip
    expected = data.oriented()
    assert mass.tolist() == expected[0].ravel().tolist()
    assert loss.tolist() == expected[1].ravel().tolist()
    for values, single in zip((mass, loss), expected, strict=True):
        form(cells.accumulate)(values, sizes, strides)
        for place in product(*map(range, sizes)):
            at = int(np.dot(place, strides))
            assert values[at] == single[tuple(slice(t, None) for t in place)].sum()
    found = Found(int(sizes[0]), k)
    best = form(cells.bound_cells)(
        mass, loss, sizes, strides, data.exact, data.goal, found.upper, found.low, found.high
    )
    found.check(best, reference.bound_cells(*expected, data.exact.tolist(), data.goal))


@given(seed=SEEDS)
@examples(80)
def test_bound_pair(form: Any, seed: int) -> None:
    data = Cells(seed, 2)
    places = []
    for turn, single in zip(data.turns, data.exact, strict=True):
        bins = np.flatnonzero(turn == 1) if single else np.argsort(turn)[::-1]
        bins = bins[turn[bins] >= 0]
        starts = np.array([0, len(bins)]) if single else np.arange(len(bins) + 1)
        places.append((bins, starts, bool(single)))
    scratch = np.empty((3, len(places[1][1]) - 1), np.int64)
    found = Found(len(places[0][1]) - 1, 2)
    best = form(cells.bound_pair)(
        data.counts.ravel(), int(data.dims[1]), data.n_groups, data.factors, *places[0],
        *places[1], data.goal, *scratch, found.upper, found.low, found.high,
    )  # fmt: skip
    # Here a dimension of one condition has one place, where `bound_cells` gives it two.
    expected = reference.bound_cells(*data.oriented(), data.exact.tolist(), data.goal)
    shift = data.exact.astype(int)
    upper = expected.upper[int(shift[0]) :]
    boxes = {
        t - int(shift[0]): ((low - shift).tolist(), (high - shift).tolist())
        for t, (low, high) in expected.boxes.items()
    }
    found.check(best, Bounds(expected.best, upper, boxes))


@given(seed=SEEDS, k=st.integers(1, 3))
@examples(60)
def test_bound_inside(form: Any, seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=k)
    strides, goal = strides_of(sizes), int(rng.integers(-3, 15))
    single = rng.integers(0, 4, size=(2, *sizes))
    sums = [values.ravel().copy() for values in single]
    for values in sums:
        cells.accumulate(values, sizes, strides)
    found = Found(int(sizes[0]), k)
    best = form(cells.bound_inside)(*sums, sizes, strides, goal, found.upper, found.low, found.high)
    found.check(best, reference.bound_inside(*single, goal))


@given(seed=SEEDS, k=st.integers(1, 3))
@examples(60)
def test_count_inside(form: Any, seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    n, tops = int(rng.integers(1, 12)), rng.integers(1, 6, size=k)
    levels = np.stack([rng.integers(0, top + 1, size=n) for top in tops]).astype(np.int32)
    look_up = [np.sort(rng.integers(0, 3, size=top + 1)) for top in tops]
    starts = np.append(0, np.cumsum([len(t) for t in look_up]))[:-1]
    gains = rng.integers(-4, 5, size=n)
    mass, loss = np.full((2, 3**k), 99, np.int64)
    form(cells.count_inside)(
        levels, np.concatenate(look_up).astype(np.int16), starts, strides_of([3] * k), gains,
        mass, loss,
    )  # fmt: skip
    places = np.stack([table[own] for table, own in zip(look_up, levels, strict=True)])
    signs = (gains <= 0).astype(int)
    expected = reference.count_cells(places, [3] * k, signs, np.abs(gains), 2)
    assert mass.tolist() == expected[..., 0].ravel().tolist()
    assert loss.tolist() == expected[..., 1].ravel().tolist()


@given(seed=SEEDS, k=st.integers(1, 3))
@examples(60)
def test_split_rows(form: Any, seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    n_all, n = 14, int(rng.integers(0, 12))
    rows = np.sort(rng.permutation(n_all)[:n]).astype(np.int32)
    tops = rng.integers(1, 4, size=k)
    levels = np.stack([rng.integers(0, top + 1, size=n) for top in tops]).astype(np.int32)
    before = levels.copy()
    gains, weights, wrong = rng.integers(-4, 5, size=(3, n_all))
    picked, always = np.empty(n, np.int32), np.array([1, 2, 3], np.int64)
    count, mass = form(cells.split_rows)(levels, tops, rows, gains, weights, wrong, picked, always)
    some, whole = reference.split_rows(before, tops, gains[rows], weights[rows], wrong[rows])
    assert picked[:count].tolist() == rows[some].tolist()
    assert levels[:, :count].tolist() == before[:, some].tolist()
    assert (always - [1, 2, 3]).tolist() == whole
    assert mass == reference.mass_of(gains[rows[some]])


@given(seed=SEEDS)
@examples(60)
@pytest.mark.parametrize("mirrored", [False, True])
def test_clip_levels(form: Any, mirrored: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_values = int(rng.integers(2, 9))
    codes = rng.integers(-1, n_values, size=20).astype(np.int32)
    rows = rng.permutation(20)[:9].astype(np.int32)
    low, high = sorted(rng.choice(n_values, size=2, replace=False).tolist())
    out = np.full(9, 99, np.int32)
    form(cells.clip_levels)(codes, rows, mirrored, n_values, low, high, out)
    assert out.tolist() == [
        reference.clip_level(int(codes[row]), n_values, low, high, mirrored=mirrored)
        for row in rows
    ]


# -- the bounds are true -------------------------------------------------------------------------


@given(seed=SEEDS, k=st.integers(1, 3), bins=st.integers(3, 5))
@examples(80)
def test_no_rule_inside_a_box_exceeds_the_bound_of_its_part(seed: int, k: int, bins: int) -> None:
    rng = np.random.default_rng(seed)
    n, tops = int(rng.integers(1, 15)), rng.integers(1, 9, size=k)
    levels = np.stack([rng.integers(1, top + 1, size=n) for top in tops]).astype(np.int32)
    gains, goal = rng.integers(-4, 5, size=n), int(rng.integers(0, 9))
    edges = [boxes.inner_edges(own, int(top), bins) for own, top in zip(levels, tops, strict=True)]
    sizes = np.array([len(e) - 1 for e in edges])
    mass, loss = np.zeros((2, *sizes), np.int64)
    for i in range(n):
        place = tuple(int(np.searchsorted(e, levels[d, i])) - 1 for d, e in enumerate(edges))
        mass[place] += max(gains[i], 0)
        loss[place] += max(-gains[i], 0)
    bounds = reference.bound_inside(mass, loss, goal)
    for cover in covers(levels, tops.tolist(), gains):
        place = tuple(
            int(np.searchsorted(e, p)) - 1 for e, p in zip(edges, cover.positions, strict=True)
        )
        if cover.gain >= goal:
            assert bounds.upper[place[0]] >= cover.gain
            low, high = bounds.boxes[place[0]]
            assert all(a <= t <= b for a, t, b in zip(low, place, high, strict=True))
    assert bounds.best <= best_gain(covers(levels, tops.tolist(), gains))


@given(seed=SEEDS)
@examples(60)
def test_groups_hold_every_place_alive(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    upper = np.where(rng.random(n) < 0.5, rng.integers(0, 9, size=n), NEG)
    ends = np.sort(rng.integers(0, 6, size=(2, n, 2)), axis=0)
    low, high = ends
    low[:, 0] = high[:, 0] = np.arange(n)
    groups = list(boxes.groups_of(upper, low, high))
    for t in np.flatnonzero(upper > NEG):
        holds = [
            bound >= upper[t]
            and all(a <= x for a, x in zip(first, low[t], strict=True))
            and all(x <= b for x, b in zip(high[t], last, strict=True))
            for bound, first, last in groups
        ]
        assert sum(holds) >= 1


def test_halves_hold_every_position_of_a_box() -> None:
    box = boxes.Box(5, 0, (1, 2), (0, 2), (7, 4))
    one, two = boxes.halves(box)
    assert (one.low, one.high, two.low, two.high) == ((0, 2), (3, 4), (3, 2), (7, 4))
    atom = boxes.Box(5, 0, (1, 2), (3, 2), (4, 3))
    assert boxes.halves(atom) == [atom]
