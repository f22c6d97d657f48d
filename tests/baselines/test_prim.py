"""PRIM: a peeling by hand, nested boxes, and a planted box found."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opdt.baselines import best_rule
from opdt.baselines.base import cover
from opdt.baselines.prim import PRIM, peel
from opdt.rules import Condition, Rule
from opdt.table import Table


def test_a_peeling_by_hand():
    # A quarter of eight rows is two: without the lowest two 5 of 6 are wanted, without the
    # highest two 4 of 6. Then one row at a time: 4 of 5 either way, 3 of 4 either way, the lower
    # end first; four rows is the least.
    table = Table.build({"x": [1, 2, 3, 4, 5, 6, 7, 8]}, [0, 0, 1, 1, 1, 1, 0, 1])
    boxes = list(peel(table, table.labels == 1, alpha=0.25, least=4))
    assert [box.rows.tolist() for box in boxes] == [
        [2, 3, 4, 5, 6, 7],
        [3, 4, 5, 6, 7],
        [4, 5, 6, 7],
    ]


def test_levels_are_peeled_one_by_one_and_shown_as_those_left():
    # "yes" in a 0 of 2, b 1 of 4, c 3 of 4, d 2 of 2. Without a 6 of 10 are left, without b 5 of
    # 8: b goes first, then a, then c.
    data = {"c": list("aabbbbccccdd")}
    answers = ["no"] * 2 + ["yes"] + ["no"] * 3 + ["yes"] * 3 + ["no"] + ["yes"] * 2
    found = [rule for rule in PRIM(min_support=0.1).fit(data, answers) if rule.label == "yes"]
    assert found == [
        Rule([Condition("c", "!=", "b")], "yes"),
        Rule([Condition("c", "in", {"c", "d"})], "yes"),
        Rule([Condition("c", "==", "d")], "yes"),
    ]


@given(st.data())
def test_boxes_are_nested_large_enough_and_said_exactly(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    n_rows = data.draw(st.integers(3, 40), label="rows")
    X = {
        "x": [None if rng.random() < 0.1 else float(v) for v in rng.integers(0, 20, n_rows)],
        "y": rng.integers(-5, 5, n_rows).tolist(),
        "c": [None if rng.random() < 0.1 else str(v) for v in rng.choice(list("uvwz"), n_rows)],
    }
    table = Table.build(X, [0, 1, *rng.integers(0, 2, n_rows - 2).tolist()], warn=False)
    alpha = data.draw(st.sampled_from([0.05, 0.2, 0.5]), label="alpha")
    method = PRIM(alpha=alpha, min_support=0.2)
    least = int(np.ceil(0.2 * n_rows))
    rules = iter(method.fit(table))
    for code in (0, 1):
        inside = np.ones(n_rows, dtype=bool)
        for box in peel(table, table.labels == code, alpha, least):
            rule = next(rules)
            covered = cover(rule, table)
            np.testing.assert_array_equal(np.flatnonzero(covered), box.rows)
            np.testing.assert_array_equal(covered, rule.covers(X))
            assert rule.label == code
            assert not (covered & ~inside).any()
            assert least <= covered.sum() < inside.sum()
            inside = covered
    assert next(rules, None) is None


def test_a_planted_box_is_found():
    rng = np.random.default_rng(3)
    X = {"x": rng.random(1500), "y": rng.random(1500), "z": rng.random(1500)}
    X["c"] = rng.choice(list("uvw"), 1500).tolist()
    planted = (X["x"] >= 0.2) & (X["x"] < 0.7) & (X["y"] >= 0.4) & (np.array(X["c"]) != "u")
    found = [rule for rule in PRIM().fit(X, planted.astype(int)) if rule.label == 1]
    covered = best_rule(found, X, planted.astype(int)).covers(X)
    # The last layer may cut away up to a twentieth at each of four faces.
    assert (covered & planted).sum() >= 0.8 * planted.sum()
    assert (covered & planted).sum() >= 0.95 * covered.sum()
