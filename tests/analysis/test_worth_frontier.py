"""The frontier of worths beside an enumeration of all rules."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enumeration import rules
from opdt import InputError, Mean, Money, UnsupportedProblem, worth_frontier
from opdt.solution import StopReason


def table(seed: int) -> tuple[dict[str, list[Any]], list[int], list[str]]:
    draw = random.Random(seed)
    n = draw.randint(2, 14)
    columns: dict[str, list[Any]] = {
        "age": [draw.randint(0, 5) for _ in range(n)],
        "city": [draw.choice("ABC") for _ in range(n)],
    }
    numbers = [draw.randint(-4, 6) for _ in range(n)]
    return columns, numbers, [draw.choice(["yes", "no"]) for _ in range(n)]


def best_by_rows(found: dict[int, Fraction], *, rising: bool) -> dict[int, Fraction]:
    """Of the largest worth for each number of rows those that no smaller (larger) one reaches."""
    kept: dict[int, Fraction] = {}
    for covered in sorted(found, reverse=rising):
        if not kept or found[covered] > max(kept.values()):
            kept[covered] = found[covered]
    return kept


def largest(columns: dict[str, list[Any]], worth: Any) -> dict[int, Fraction]:
    found: dict[int, Fraction] = {}
    for rows in rules(columns, 2):
        value = worth(rows)
        found[len(rows)] = max(found.get(len(rows), value), value)
    return found


@pytest.mark.property
@pytest.mark.filterwarnings("ignore::opdt.errors.ColumnWarning")
@given(st.integers(0, 10**9))
@settings(max_examples=120)
def test_every_point_is_the_best_of_its_rows_and_none_is_missing(seed: int) -> None:
    columns, numbers, labels = table(seed)
    means = largest(columns, lambda rows: Fraction(sum(numbers[r] for r in rows), len(rows)))
    path = worth_frontier(columns, numbers, objective=Mean())
    assert path.complete
    expected = best_by_rows(means, rising=True)
    assert [each.covered for each in path] == sorted(expected)
    assert [each.value for each in path] == [float(expected[c]) for c in sorted(expected)]

    sums = largest(columns, lambda rows: Fraction(sum(numbers[r] - 1 for r in rows)))
    path = worth_frontier(columns, numbers, objective=Mean(threshold=1))
    positive = {covered: value for covered, value in sums.items() if value > 0}
    expected = best_by_rows(positive, rising=False)
    assert path.complete
    assert [(each.covered, each.value) for each in path] == sorted(expected.items())

    if set(labels) == {"yes", "no"}:
        costs = largest(columns, lambda rows: sum(5 if labels[r] == "yes" else -2 for r in rows))
        path = worth_frontier(columns, labels, label="yes", objective=Money(benefit=5, cost=2))
        positive = {covered: value for covered, value in costs.items() if value > 0}
        expected = best_by_rows(positive, rising=False)
        assert [(each.covered, each.value) for each in path] == sorted(expected.items())


AGES, DAYS = {"age": [25, 31, 47, 52, 60, 64]}, [2, 3, 5, 4, 9, 12]


def test_limits_end_it_with_what_is_known() -> None:
    path = worth_frontier(AGES, DAYS, objective=Mean(threshold=4), max_depth=1, limit=1)
    assert not path.complete
    assert [each.covered for each in path] == [4]
    path = worth_frontier(AGES, DAYS, objective=Mean(threshold=4), time_limit=0)
    assert (len(path), path.complete, path.stopped_by) == (0, False, StopReason.TIME)
    assert str(path) == "no rule is worth anything"


def test_as_a_frame_and_as_text() -> None:
    path = worth_frontier(AGES, DAYS, objective=Mean(threshold=4), max_depth=1)
    frame = path.to_frame()
    assert frame["value"].tolist() == [8, 13, 14]
    assert frame["rule"].tolist()[0] == "IF age >= 62 THEN high"
    assert path[0].coverage == 1 / 6
    assert "66.7 %" in str(path)


def test_what_it_is_not_for() -> None:
    with pytest.raises(InputError, match="pareto_frontier is for the VI"):
        worth_frontier(AGES, ["a", "b"] * 3)
    with pytest.raises(InputError, match="'bsccart' proves nothing"):
        worth_frontier(AGES, DAYS, objective=Mean(threshold=4), engine="bsccart")
    from opdt import Problem

    weighted = Problem.of(AGES, DAYS, objective=Mean(threshold=4), sample_weight=[1, 2, 1, 1, 1, 1])
    with pytest.raises(UnsupportedProblem, match="counts rows; drop 'sample_weight'"):
        worth_frontier(weighted)
