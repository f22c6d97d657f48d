"""PositionSearch of a set of rays: all that are worth enough, and the first of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search import reference
from engines.search.rows import ANY_ROWS, Rows
from engines.search.support import examples
from opdt.engines.search import position_kernels
from opdt.engines.search.positions import Expired, PositionSearch
from opdt.engines.search.pricing import Price
from opdt.engines.search.tuning import Tuning

SEEDS = st.integers(0, 2**32 - 1)


def never() -> bool:
    return False


def always() -> bool:
    return True


class Asked(Rows):
    """Rows, and a gain that some of their covers have."""

    def __init__(self, seed: int, n_rays: int, *, constrained: bool) -> None:
        super().__init__(seed, n_rays, most=4)
        # a goal of 0 or below is only asked where no rule may cover nothing
        self.wrong = np.where(self.wrong > 0, self.weights + 1, 0)
        self.weights = self.weights + 1
        limits = self.limits
        self.asked = limits._replace(least=max(1, limits.least)) if constrained else None
        # positions that cover no row are none of a rule
        self.every = [c for c in self.covers(*range(n_rays)) if self.inside(c.positions).any()]
        gains = sorted({c.gain for c in self.every})
        self.goal = int(self.rng.choice(gains)) if gains and self.rng.random() < 0.8 else 7

    def inside(self, at: tuple[int, ...]) -> Any:
        """The rows that are covered."""
        return (self.levels >= np.array(at)[:, None]).all(axis=0)

    def positions(self, goal: int, *, limited: bool = True) -> PositionSearch:
        """The question, with a price of errors where there is a limit on them."""
        limits, price = ANY_ROWS, None
        if self.asked is not None:
            limits, each = self.asked, int(self.rng.integers(0, 3))
            price = Price(-each * self.wrong, -each * limits.most)
        # a kernel that ends after every level, or never
        tuning = Tuning(steps=int(self.rng.choice([1, 100_000])), records=1)
        rows = self.gains, self.weights, self.wrong
        return PositionSearch.gaining(
            goal, self.levels, self.tops, rows, limits, never, tuning, price, limited=limited
        )

    def reaching(self, goal: int) -> list[Any]:
        """The covers within the limits that gain so much."""
        fine = [c for c in self.every if c.gain >= goal]
        return [c for c in fine if self.asked is None or c.within(self.asked)]


@pytest.mark.parametrize("constrained", [False, True])
@given(seed=SEEDS, n_rays=st.integers(1, 4))
@examples(240)
def test_the_first_positions_are_the_loosest(constrained: bool, seed: int, n_rays: int) -> None:
    data = Asked(seed, n_rays, constrained=constrained)
    fine = data.reaching(data.goal)
    limited = constrained or data.goal < 1 or seed % 2 == 0
    found = data.positions(data.goal, limited=limited).first()
    assert found == min((c.positions for c in fine), default=None)
    quick = data.positions(data.goal, limited=limited).first(quick=True)
    assert quick in [c.positions for c in fine] if fine else quick is None


@pytest.mark.parametrize("constrained", [False, True])
@given(seed=SEEDS, n_rays=st.integers(1, 4))
@examples(240)
def test_the_fewest_errors_come_first(constrained: bool, seed: int, n_rays: int) -> None:
    data = Asked(seed, n_rays, constrained=constrained)
    goal = max((c.gain for c in data.reaching(reference.NEG)), default=7)
    best = reference.first_positions(iter(data.every), goal, data.asked, fewest_errors=True)
    assert data.positions(goal).with_fewest_errors() == (best.positions if best else None)


@pytest.mark.parametrize("constrained", [False, True])
@given(seed=SEEDS, n_rays=st.integers(1, 4))
@examples(240)
def test_the_list_holds_every_position_once(constrained: bool, seed: int, n_rays: int) -> None:
    data = Asked(seed, n_rays, constrained=constrained)
    found: list[tuple[int, ...]] = []

    def keep(first: Any, last: Any, sums: Any) -> None:
        for low, high, own in zip(first.tolist(), last.tolist(), sums, strict=True):
            rows = data.inside(tuple(low))
            assert own[position_kernels.GAIN] == data.gains[rows].sum()
            assert own[position_kernels.ERRORS] == data.wrong[rows].sum()
            ranges = [range(a, b + 1) for a, b in zip(low, high, strict=True)]
            found.extend(
                tuple(map(int, at)) for at in np.stack(np.meshgrid(*ranges), -1).reshape(-1, n_rays)
            )

    data.positions(data.goal).list(keep)
    assert sorted(found) == sorted(c.positions for c in data.reaching(data.goal))


def test_nothing_is_worked_out_when_time_is_over() -> None:
    levels = np.tile(np.array([1, 2, 3, 4], np.uint16), (3, 1))
    tops, gains = np.full(3, 4), np.array([-1, 2, -1, 2])
    asked = PositionSearch.gaining(2, levels, tops, (gains,) * 3, ANY_ROWS, always, Tuning())
    with pytest.raises(Expired):
        asked.first()
