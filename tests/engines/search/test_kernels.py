"""Every kernel, compiled and as plain Python, against its slow twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search import reference
from engines.search.reference import NEG, best_gain
from engines.search.rows import ANY_ROWS, FORMS, Rows, flags
from engines.search.support import examples
from opdt.engines.search import kernels

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="session", params=FORMS)
def form(request: pytest.FixtureRequest) -> Any:
    """A kernel as it is compiled, or the same code as plain Python."""
    return FORMS[request.param]


@given(seed=SEEDS, floor=st.integers(-3, 12))
@examples(60)
@pytest.mark.parametrize("reduce", [False, True])
def test_compress(form: Any, reduce: bool, seed: int, floor: int) -> None:
    data = Rows(seed, 1)
    first, mass_above = (bool(b) for b in data.rng.integers(0, 2, size=2))
    rows = np.flatnonzero(data.rng.random(data.n) < 0.7).astype(np.int32)
    own, gains, top = data.levels[0], data.gains[rows], int(data.tops[0])
    scratch = [np.full(top + 1, 99, np.int64) for _ in range(3)]
    out = np.full(data.n, 99, np.uint16)
    number = form(kernels.compress)(
        own,
        rows,
        gains,
        gains,
        top,
        floor,
        flags(first=first, mass_above=mass_above, reduce=reduce),
        *scratch,
        out,
    )
    kept = reference.compress(
        own[rows], gains, floor, first=first, mass_above=mass_above, reduce=reduce
    )
    assert number == len(kept)
    assert out[: len(rows)].tolist() == [sum(k <= own[row] for k in kept) for row in rows]
    assert (out[len(rows) :] == 99).all()


@given(seed=SEEDS)
@examples(30)
def test_compress_all(form: Any, seed: int) -> None:
    data = Rows(seed, 3)
    top = int(data.tops.max())
    out, tops = np.empty_like(data.levels), np.empty(3, np.int64)
    scratch = [np.empty(top + 2, np.int64) for _ in range(3)]
    node = data.node._replace(levels=out, tops=tops)
    wanted = flags(mass_above=True, reduce=True)
    form(kernels.compress_all)(data.node, data.every, node, 1, wanted, *scratch)
    for own, new, number in zip(data.levels, out, tops, strict=True):
        kept = reference.compress(own, data.gains, 1, first=False, mass_above=True, reduce=True)
        assert number == len(kept)
        assert new.tolist() == [sum(k <= level for k in kept) for level in own]


@given(seed=SEEDS)
@examples(60)
def test_a_reduced_ray_loses_no_gain(seed: int) -> None:
    """The reduction itself: the best of the positions kept is the best of all, or that of none."""
    data = Rows(seed)
    kept = [
        reference.compress(own, data.gains, NEG, first=False, mass_above=True, reduce=True)
        for own in data.levels
    ]
    fewer = [c.gain for c in data.covers(0, 1, start=0)
             if all(p in (0, *k) for p, k in zip(c.positions, kept, strict=True))]  # fmt: skip
    assert max([0, *fewer]) == max(0, best_gain(data.covers(0, 1, start=0)))


@given(seed=SEEDS)
@examples(60)
def test_the_pair_of_a_table(form: Any, seed: int) -> None:
    data = Rows(seed)
    top1, top2 = data.tops.tolist()
    table = np.full((top1 + 1) * (top2 + 1), 99, np.int64)
    found = form(kernels.pair_by_table)(*data.levels, data.gains, data.n, top1, top2, table)
    assert found == (best_gain(data.covers(0, 1)), best_gain(data.covers(0, 1, start=0)))


@given(seed=SEEDS)
@examples(80)
@pytest.mark.parametrize("name", ["sweep", "best_pair"])
def test_the_pair_of_a_sweep(form: Any, name: str, seed: int) -> None:
    data = Rows(seed, most=9)
    top1, top2 = data.tops.tolist()
    found = form(getattr(kernels, name))(*data.levels, data.gains, data.n, top1, top2, data.scratch)
    best = (best_gain(data.covers(0, 1)), best_gain(data.covers(0, 1, start=0)))
    assert_swept(found[:2], best, top1, top2)


def assert_swept(found: tuple[int, int], best: tuple[int, int], top1: int, top2: int) -> None:
    """A sweep may know a position tighter than all, which gains 0 where all others lose."""
    for mine, true in zip(found, best, strict=True):
        assert mine == true or (mine == 0 > true and top1 >= 0 and top2 & (top2 - 1))


@given(seed=SEEDS)
@examples(60)
def test_the_pair_within_limits(form: Any, seed: int) -> None:
    data = Rows(seed)
    limits = data.limits
    top1, top2 = data.tops.tolist()
    found = form(kernels.constrained_pair)(
        *data.levels, data.node, top1, top2, limits, NEG, data.scratch
    )
    assert found == best_gain(data.covers(0, 1), limits)


@given(word=st.integers(0, 2**64 - 1))
@examples(60)
def test_popcount(form: Any, word: int) -> None:
    assert form(kernels.popcount)(np.uint64(word)) == word.bit_count()


@given(seed=SEEDS)
@examples(60)
def test_pairs_of_bits(form: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_mass, n_rest = rng.integers(0, 140, size=2).tolist()
    levels = rng.integers(0, 2, size=(2, n_mass + n_rest)).astype(np.uint16)
    n_words = (n_mass + 63) // 64 + (n_rest + 63) // 64
    words = np.full((2, n_words + 1), 7, np.uint64)
    for own, packed in zip(levels, words, strict=True):
        form(kernels.pack)(own, len(own), n_mass, packed)
    gain = form(kernels.binary_pair)(words[0], words[1], n_mass, n_words, 3, -2)
    both = levels.all(axis=0)
    assert gain == 3 * both[:n_mass].sum() - 2 * both[n_mass:].sum()


@given(seed=SEEDS)
@examples(60)
@pytest.mark.parametrize("constrained", [False, True])
def test_singles(form: Any, constrained: bool, seed: int) -> None:
    data = Rows(seed, 3)
    limits = data.limits if constrained else ANY_ROWS
    values, positions = np.empty((2, 3), np.int64)
    scratch = [np.empty(int(data.tops.max()) + 2, np.int64) for _ in range(3)]
    form(kernels.singles)(data.node, constrained, limits, values, positions, *scratch)
    for ray in range(3):
        fine = [c for c in data.covers(ray) if not constrained or c.within(limits)]
        best = min(fine, key=lambda c: (-c.gain, c.positions), default=None)
        assert values[ray] == (best.gain if best else NEG)
        assert positions[ray] == (best.positions[0] if best else 0)


@given(seed=SEEDS)
@examples(80)
def test_best_between(form: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mass, loss = rng.integers(0, 5, size=(2, 9))[:, ::-1].cumsum(axis=1)[:, ::-1].copy()
    low, high = sorted(rng.integers(0, 9, size=2).tolist())
    at_low, at_high = rng.integers(-5, 20, size=2).tolist()
    found = form(kernels.best_between)(low, high, at_low, at_high, mass, loss)
    assert found == reference.best_between(low, high, at_low, at_high, mass, loss)


@given(seed=SEEDS)
@examples(60)
def test_split_items(form: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_all, n = 6, int(rng.integers(1, 7))
    mass, loss = rng.integers(0, 5, size=(2, 9))[:, ::-1].cumsum(axis=1)[:, ::-1].copy()
    low, middle, high = sorted(rng.choice(9, size=3, replace=False).tolist())
    ids = np.sort(rng.permutation(n_all)[:n]).astype(np.int32)
    settled, ends = rng.integers(-5, 20, size=(2, n_all))
    at_low, at_high = rng.integers(-5, 20, size=(2, n))
    goal, known = int(rng.integers(-5, 20)), ends.copy()
    left, right = np.empty((2, n), np.int32)
    counts = form(kernels.split_items)(
        low, middle, high, ids, at_low, settled, at_high, mass, loss, goal, ends, left, right
    )
    halves: tuple[list[int], list[int]] = ([], [])
    bounds = [NEG, NEG]
    for at, item in enumerate(ids):
        known[item] = max(known[item], settled[item])
        for side, interval in enumerate(
            ((low, middle, at_low[at], settled[item]), (middle, high, settled[item], at_high[at]))
        ):
            bound = reference.best_between(*map(int, interval), mass, loss)
            if bound >= goal:
                halves[side].append(at)
                bounds[side] = max(bounds[side], bound)
            else:
                known[item] = max(known[item], bound)
    assert (left[: counts[0]].tolist(), right[: counts[1]].tolist()) == halves
    assert list(counts[2:]) == bounds
    assert ends.tolist() == known.tolist()
