"""The kernels of boxes, compiled and as plain Python, against plain enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search import reference
from engines.search.reference import best_gain, covers
from engines.search.rows import FORMS
from engines.search.support import examples
from opdt.engines.search import box_kernels, boxes, strip_kernels
from opdt.engines.search.regions import Cutting, cut_levels

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="session", params=FORMS)
def form(request: pytest.FixtureRequest) -> Any:
    """A kernel as it is compiled, or the same code as plain Python."""
    return FORMS[request.param]


class Inside:
    """A few undecided rows of a box, with levels from 1 to its top, and a fixed gain."""

    def __init__(self, seed: int, k: int) -> None:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 15))
        self.tops = rng.integers(1, 9, size=k)
        self.levels = np.stack([rng.integers(1, top + 1, size=n) for top in self.tops])
        self.levels = self.levels.astype(np.int32)
        self.gains = rng.integers(-4, 5, size=n)
        self.fixed, self.goal = int(rng.integers(-5, 6)), int(rng.integers(0, 9))

    @property
    def covers(self) -> list[Any]:
        """Every combination of positions, with the fixed gain."""
        found = covers(self.levels, self.tops.tolist(), self.gains)
        return [cover._replace(gain=cover.gain + self.fixed) for cover in found]


@given(seed=SEEDS, k=st.integers(1, 4), bins=st.integers(3, 5), room=st.sampled_from([2, 7, 400]))
@examples(80)
def test_the_parts_of_a_box_hold_every_rule_that_gains_the_goal(
    form: Any, seed: int, k: int, bins: int, room: int
) -> None:
    data = Inside(seed, k)
    scratch = [own[: room + 2 * (at == 3)] for at, own in enumerate(Cutting.of(k, 400))]
    out, corner = np.empty((room, 1 + 2 * k), np.int64), np.zeros(k, np.int64)
    edges = np.empty((k, bins + 3), np.int64)
    sizes = [cut_levels(data.levels[d], int(data.tops[d]), bins, edges[d]) for d in range(k)]
    number, best, _ = form(box_kernels.cut_box)(
        data.levels, data.tops, data.gains, data.fixed, data.goal, edges, np.array(sizes),
        np.empty((2, (bins + 2) ** k), np.int64), *scratch, out, corner,
    )  # fmt: skip
    parts = out[:number].tolist()
    for cover in data.covers:
        if cover.gain >= data.goal:
            assert any(
                bound >= cover.gain
                and all(
                    low < at <= high
                    for low, at, high in zip(ends[:k], cover.positions, ends[k:], strict=True)
                )
                for bound, *ends in parts
            )
    if best > box_kernels.NEG:
        gains = {cover.positions: cover.gain for cover in data.covers}
        assert gains[tuple(corner.tolist())] == best <= best_gain(data.covers)


@given(seed=SEEDS, k=st.integers(1, 4))
@examples(60)
def test_no_rule_adds_more_to_a_box_than_its_strips_say(form: Any, seed: int, k: int) -> None:
    data = Inside(seed, k)
    some, fixed = reference.split_rows(
        data.levels, data.tops.tolist(), data.gains, data.gains, data.gains
    )
    most = form(box_kernels.most_of_strips)(
        np.ascontiguousarray(data.levels[:, some]), data.tops, data.gains[some]
    )
    assert max(cover.gain - data.fixed for cover in data.covers) <= fixed[0] + most


@given(seed=SEEDS, bins=st.integers(1, 4), parts=st.integers(1, 4))
@examples(60)
def test_no_pair_of_rays_gains_more_than_its_strips_say(
    form: Any, seed: int, bins: int, parts: int
) -> None:
    """Nor do the strips say more than the mass of loose places less the loss of tight ones."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    gains = np.sort(rng.integers(-4, 5, n))[::-1].copy()
    codes = rng.integers(-1, 7, (2, n))  # -1 is missing
    edges = np.sort(rng.integers(0, bins * parts, (2, 7)), axis=1)
    spots = np.where(codes < 0, strip_kernels.NOWHERE, 0)
    for d in range(2):
        place = edges[d][codes[d]]
        own = (place % parts) * bins + place // parts
        spots[d] = np.where(codes[d] < 0, strip_kernels.NOWHERE, own)
    out = np.zeros((1, strip_kernels.N_WAYS), np.int64)
    done = form(strip_kernels.bound_strips)(
        spots.astype(np.uint16), gains, np.array([[0, 1]]), bins, parts, np.zeros(4, np.int64),
        strip_kernels.StripScratch.of(bins, parts), out,
    )  # fmt: skip
    assert done == 1
    for way, bound in enumerate(out[0].tolist()):
        downs = way & 1, way >> 1
        most, looser = 0, strip_kernels.NEG
        for at in itertools.product(range(8), repeat=2):
            fires = (codes >= 0).all(axis=0)
            for own, down, edge in zip(codes, downs, at, strict=True):
                fires &= own < edge if down else own >= edge
            most = max(most, int(gains[fires].sum()))
        for at in itertools.product(range(bins), repeat=2):
            loose = tight = (codes >= 0).all(axis=0)
            for own, down, t in zip(spots % bins, downs, at, strict=True):
                loose = loose & (own <= t if down else own >= t)
                tight = tight & (own < t if down else own > t)
            mass, loss = np.maximum(gains[loose], 0).sum(), np.minimum(gains[tight], 0).sum()
            looser = max(looser, int(mass + loss))
        assert most <= bound <= looser


@given(seed=SEEDS, k=st.integers(1, 3))
@examples(60)
def test_the_undecided_rows_of_a_smaller_box(form: Any, seed: int, k: int) -> None:
    rng, data = np.random.default_rng(seed), Inside(seed, k)
    shift = np.array([int(rng.integers(0, top)) for top in data.tops])
    tops = np.array(
        [int(rng.integers(1, t - s + 1)) for t, s in zip(data.tops, shift, strict=True)]
    )
    weights, wrong = rng.integers(0, 4, size=(2, len(data.gains)))
    seen = np.clip(data.levels - shift[:, None], 0, tops[:, None])
    some, always = reference.split_rows(seen, tops.tolist(), data.gains, weights, wrong)
    fixed, levels = np.zeros(3, np.int64), np.empty_like(data.levels)
    kept = np.empty((3, len(data.gains)), np.int64)
    count = form(box_kernels.keep_undecided)(
        data.levels, shift, tops, data.gains, weights, wrong, fixed, levels, *kept
    )
    assert fixed.tolist() == always
    assert levels[:, :count].tolist() == seen[:, some].tolist()
    assert kept[:, :count].tolist() == [v[some].tolist() for v in (data.gains, weights, wrong)]


@pytest.mark.parametrize("mirrored", [False, True])
@given(seed=SEEDS)
@examples(40)
def test_levels_seen_from_a_box(form: Any, mirrored: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_values = int(rng.integers(2, 8))
    codes = rng.integers(-1, n_values, size=6).astype(np.int32)
    low = int(rng.integers(0, n_values - 1))
    high = int(rng.integers(low + 1, n_values))
    out = np.empty(len(codes), np.int32)
    form(box_kernels.first_levels)(codes, mirrored, n_values, low, high, out)
    assert out.tolist() == [
        reference.clip_level(int(code), n_values, low, high, mirrored=mirrored) for code in codes
    ]


def test_halves_hold_every_position_of_a_box() -> None:
    box = boxes.Box(5, 0, (1, 2), (0, 2), (7, 4))
    one, two = boxes.halves(box)
    assert (one.low, one.high, two.low, two.high) == ((0, 2), (3, 4), (3, 2), (7, 4))
    atom = boxes.Box(5, 0, (1, 2), (3, 2), (4, 3))
    assert boxes.halves(atom) == [atom]
