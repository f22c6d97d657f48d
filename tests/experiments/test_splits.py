from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.experiments.splits import split_rows


@pytest.mark.parametrize(("rows", "train", "test"), [(80, 64, 16), (62, 49, 13), (1000, 800, 200)])
def test_the_sizes_are_those_of_the_paper(rows, train, test):
    split = split_rows(rows, 3)
    assert (len(split.train), len(split.test)) == (train, test)


@given(st.integers(1, 300), st.integers(0, 50))
def test_every_row_is_in_one_of_the_parts(n_rows, number):
    split = split_rows(n_rows, number)
    assert sorted([*split.train.tolist(), *split.test.tolist()]) == list(range(n_rows))


def test_a_number_gives_the_same_split_always_and_another_number_another():
    first = [split_rows(200, number).train for number in range(5)]
    again = [split_rows(200, number).train for number in range(5)]
    assert all(map(np.array_equal, first, again))
    assert len({tuple(sorted(rows.tolist())) for rows in first}) == 5
