from __future__ import annotations

import math

import numpy as np
import pytest

from opdt.errors import InputError
from opdt.estimators.folds import FoldScores, drawn_folds
from opdt.table import Table


def scores(values, tested=1.0, trained=4.0):
    values = np.array(values, dtype=float)
    n_folds = values.shape[1]
    nothing = np.zeros_like(values)
    return FoldScores(nothing, nothing, values, np.full(n_folds, tested), np.full(n_folds, trained))


def test_the_standard_error_is_corrected_for_shared_rows():
    one = scores([[1, 3, 1, 3]])
    # variance 4/3; (1/4 + 1/4) times that
    assert one.standard_error == pytest.approx(math.sqrt(4 / 3 * (1 / 4 + 1 / 4)))
    assert scores([[5]]).standard_error == 0


@pytest.mark.parametrize(
    ("values", "one_standard_error", "nothing", "chosen"),
    [
        ([[1, 1, 1, 1], [2, 2, 2, 2]], True, None, 1),  # no spread: the best
        ([[1, 2, 1, 2], [1, 3, 1, 3]], True, None, 0),  # within one error: the simplest
        ([[1, 2, 1, 2], [1, 3, 1, 3]], False, None, 1),
        ([[1, 2, 1, 2], [1, 3, 1, 3]], True, 0.0, 0),
        ([[-1, 1, 0, 0], [-1, 2, 0, 0]], True, 0.0, None),  # no rule is as good
        ([[-1, 1, 0, 0], [-1, 2, 0, 0]], False, 0.0, 1),
        ([[-2, -2, -2, -2], [-1, -1, -1, -1]], False, 0.0, None),
        ([[-2, -2, -2, -2], [-1, -1, -1, -1]], True, None, 1),
        ([[math.nan, 1, 1, 1], [0, 0, 0, 0]], False, None, 1),  # what has no score is not chosen
        ([[1, 1, 1, 1], [1, 1, 1, 1]], False, None, 0),  # equal: the simplest
    ],
)
def test_the_simplest_candidate_near_the_best_is_chosen(
    values, one_standard_error, nothing, chosen
):
    found = scores(values).choose(one_standard_error=one_standard_error, nothing=nothing)
    assert found == chosen


def test_folds_are_as_many_as_a_small_class_allows():
    table = Table.build({"x": range(10)}, [0, 0, 1, 1, 1, 1, 2, 2, 2, 2], warn=False)
    assert len(list(drawn_folds(table, 5, 2, 0))) == 4 * 2
    assert len(list(drawn_folds(table, 5, 2, 0, label=0))) == 2 * 2
    for train, test in drawn_folds(table, 5, 1, 0):
        assert (train ^ test).all()
    few = Table.build({"x": range(4)}, [0, 1, 1, 1], warn=False)
    with pytest.raises(InputError, match="too few rows of class 0 to hold some out"):
        drawn_folds(few, 5, 1, 0, label=0)
