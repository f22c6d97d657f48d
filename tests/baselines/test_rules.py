"""RULES, RRULES and RSCRULES, by the properties that define them and examples done by hand."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt.baselines import rrules, rscrules, rules
from opdt.engines.bins import BinnedTable
from opdt.errors import InputError
from opdt.rules import Rule
from opdt.table import Table

# Weather, trees and temperature tell the season.
SEASONS = {
    "weather": ["rain", "rain", "snow", "sun", "sun", "sun"],
    "trees": ["yellow", "bare", "bare", "bare", "leafy", "yellow"],
    "warmth": ["mild", "cold", "cold", "cold", "hot", "mild"],
}
SEASON = ["autumn", "winter", "winter", "winter", "summer", "autumn"]


@st.composite
def tables(draw: st.DrawFn, missing: bool = True) -> tuple[dict[str, list[Any]], list[str]]:
    """Small tables with conflicts: two or three columns of two or three levels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    n_rows = draw(st.integers(2, 14), label="rows")
    data: dict[str, list[Any]] = {}
    for name in ("b", "a", "c")[: int(rng.integers(1, 4))]:
        levels = ["u", "v", "w"][: int(rng.integers(1, 4))]
        cells = rng.choice(levels, n_rows).tolist()
        if missing and rng.random() < 0.3:
            cells = [
                None if gone else cell
                for cell, gone in zip(cells, rng.random(n_rows) < 0.3, strict=True)
            ]
            cells[0] = "u"
        data[name] = cells
    data["x"] = rng.integers(0, 12, n_rows).tolist()
    labels = rng.choice(["p", "q", "r"], n_rows).tolist()
    labels[:2] = "p", "q"
    return data, labels


def description(table: Table, binned: BinnedTable, row: int) -> list[int]:
    return [cell for cell in binned.cells[row] if cell != len(binned.bins)]


def conflicting(table: Table, bins: int) -> list[bool]:
    """Whether all the bins of each row hold a row of another class."""
    binned = BinnedTable.of(table, bins)
    own = [set(description(table, binned, row)) for row in range(table.n_rows)]
    return [
        any(mine <= other and a != b for other, b in zip(own, table.labels, strict=True))
        for mine, a in zip(own, table.labels, strict=True)
    ]


# -- worked by hand ---------------------------------------------------------------------------


def test_the_seasons_need_one_bin_each() -> None:
    # Of one bin: rain holds autumn and winter, sun holds three seasons; all others are pure.
    assert list(map(str, rules(SEASONS, SEASON))) == [
        "IF weather == 'snow' THEN winter",
        "IF trees == 'bare' THEN winter",
        "IF trees == 'leafy' THEN summer",
        "IF trees == 'yellow' THEN autumn",
        "IF warmth == 'cold' THEN winter",
        "IF warmth == 'hot' THEN summer",
        "IF warmth == 'mild' THEN autumn",
    ]


def test_rrules_drops_what_explains_nothing_new_and_stops_when_all_is_explained() -> None:
    # After the trees every row is explained.
    assert list(map(str, rrules(SEASONS, SEASON))) == [
        "IF weather == 'snow' THEN winter",
        "IF trees == 'bare' THEN winter",
        "IF trees == 'leafy' THEN summer",
        "IF trees == 'yellow' THEN autumn",
    ]


def test_longer_rules_are_for_the_rows_that_shorter_ones_leave() -> None:
    data = {"a": ["u", "u", "v", "v", "w"], "b": ["s", "t", "s", "t", "s"]}
    labels = ["p", "q", "q", "p", "p"]
    # Only w is pure; the other four rows are an exclusive or, one rule of two bins for each.
    expected = [
        "IF a == 'w' THEN p",
        "IF a == 'u' AND b == 's' THEN p",
        "IF a == 'u' AND b == 't' THEN q",
        "IF a == 'v' AND b == 's' THEN q",
        "IF a == 'v' AND b == 't' THEN p",
    ]
    assert list(map(str, rules(data, labels))) == expected
    assert list(map(str, rrules(data, labels))) == expected
    assert list(map(str, rules(data, labels, max_conditions=1))) == expected[:1]


def test_rows_that_conflict_end_as_a_rule_for_their_most_frequent_class() -> None:
    data = {"a": ["u", "u", "u", "v", "v"], "b": ["s", "s", "s", "s", "t"]}
    found = rules(data, ["p", "q", "q", "p", "p"])
    assert list(map(str, found)) == [
        "IF a == 'v' THEN p",
        "IF b == 't' THEN p",
        "IF a == 'u' AND b == 's' THEN q",
    ]


def test_numbers_are_told_apart_by_bins() -> None:
    found = rules({"x": [0, 1, 5, 9, 10]}, list("ppqrr"), bins=5)
    assert list(map(str, found)) == [
        "IF x < 2 THEN p",
        "IF x >= 4 AND x < 6 THEN q",
        "IF x >= 8 THEN r",
    ]


# -- the properties that define them ----------------------------------------------------------


@settings(max_examples=150)
@pytest.mark.parametrize("learn", [rules, rrules])
@given(drawn=tables())
def test_every_rule_is_without_error_unless_rows_conflict(
    learn: Any, drawn: tuple[dict[str, list[Any]], list[str]]
) -> None:
    data, labels = drawn
    table = Table.build(data, labels, warn=False)
    conflicts = np.array(conflicting(table, 3))
    y = np.array(labels)
    found = learn(table, bins=3)
    assert len(set(found)) == len(found)
    for rule in found:
        covers = rule.covers(data)
        assert covers.any()
        wrong = covers & (y != rule.label)
        if wrong.any():
            values, counts = np.unique(y[covers], return_counts=True)
            assert rule.label == values[np.argmax(counts)]
            assert conflicts[covers].any()


@pytest.mark.parametrize("learn", [rules, rrules])
@given(drawn=tables())
def test_every_row_is_explained_rightly_unless_it_conflicts(
    learn: Any, drawn: tuple[dict[str, list[Any]], list[str]]
) -> None:
    data, labels = drawn
    table = Table.build(data, labels, warn=False)
    right = np.zeros(table.n_rows, dtype=bool)
    for rule in learn(table, bins=3):
        right |= rule.covers(data) & (np.array(labels) == rule.label)
    assert (right | np.array(conflicting(table, 3))).all()


@given(drawn=tables())
def test_rrules_are_rules_that_each_explain_a_further_row(
    drawn: tuple[dict[str, list[Any]], list[str]],
) -> None:
    data, labels = drawn
    table = Table.build(data, labels, warn=False)
    many, few = rules(table, bins=3), rrules(table, bins=3)
    assert set(few) <= set(many)
    everything = np.any([rule.covers(data) for rule in many], axis=0)
    assert np.any([rule.covers(data) for rule in few], axis=0).tolist() == everything.tolist()
    y, seen = np.array(labels), np.zeros(table.n_rows, dtype=bool)
    for rule in few:
        covers = rule.covers(data)
        if (y[covers] == rule.label).all():
            assert (covers & ~seen).any()
        seen |= covers


@given(drawn=tables(missing=False))
def test_rules_are_the_pure_combinations_of_rows_that_no_shorter_rule_explains(
    drawn: tuple[dict[str, list[Any]], list[str]],
) -> None:
    data, labels = drawn
    table = Table.build(data, labels, warn=False)
    binned = BinnedTable.of(table, 3)
    own = [set(description(table, binned, row)) for row in range(table.n_rows)]
    left, expected = set(range(table.n_rows)), set()
    for length in range(1, table.n_features + 1):
        explained: set[int] = set()
        for row in left:
            for bins in combinations(sorted(own[row]), length):
                inside = [i for i in range(table.n_rows) if set(bins) <= own[i]]
                if len({labels[i] for i in inside}) == 1:
                    conditions = [c for at in bins for c in binned.bins[at].conditions]
                    expected.add(Rule(conditions, labels[row]))
                    explained.update(inside)
        left -= explained
    found = rules(table, bins=3)
    pure = {rule for rule in found if is_pure(rule, data, labels)}
    assert pure == expected


def is_pure(rule: Rule, data: dict[str, list[Any]], labels: list[str]) -> bool:
    return set(np.array(labels)[rule.covers(data)].tolist()) == {rule.label}


# -- RSCRULES ---------------------------------------------------------------------------------


def test_a_bin_counts_as_one_condition() -> None:
    # Only x and y both in their middle bins gives a pure rule: four comparisons on two levels.
    grid = [(x, y) for x in range(3) for y in range(3)]
    data = {"x": [x for x, _ in grid], "y": [y for _, y in grid]}
    rule = rscrules(data, ["in" if xy == (1, 1) else "out" for xy in grid], bins=3, label="in")
    assert str(rule) == "IF x >= 1 AND x < 2 AND y >= 1 AND y < 2 THEN in"


def test_each_bin_takes_a_level_of_its_own() -> None:
    data = {"a": ["u", "u", "v", "v"], "b": ["s", "t", "s", "t"], "n": [0, 0, 0, 1]}
    labels = ["p", "q", "q", "p"]
    free = rscrules(data, labels, levels=["cat", "cat"])
    assert str(free) == "IF a == 'u' AND b == 's' THEN p"
    mixed = rscrules(data, labels, levels=["mine", "num"], groups={"mine": ["b"]})
    # Alone, n >= 1 covers one p; b with n can do no better.
    assert str(mixed) == "IF n >= 1 THEN p"


def test_nothing_that_gains_is_none() -> None:
    assert rscrules({"a": ["u", "u", "v", "v"]}, ["p", "q", "p", "q"], levels=["all"]) is None


def test_row_weights_count() -> None:
    data, labels = {"a": ["u", "u", "v"]}, ["p", "q", "p"]
    assert str(rscrules(data, labels)) == "IF a == 'v' THEN p"
    heavy = rscrules(data, labels, sample_weight=[20, 1, 1])
    assert str(heavy) == "IF a == 'u' THEN p"  # 21 - 10


@pytest.mark.parametrize("most", [0, 1.5, True])
def test_a_limit_of_no_conditions_is_refused(most: Any) -> None:
    with pytest.raises(InputError, match="'max_conditions' must be an int >= 1 or None, got"):
        rules(SEASONS, SEASON, max_conditions=most)
