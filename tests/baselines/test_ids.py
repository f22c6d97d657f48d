"""IDS: its seven terms by hand, and a search that only ever improves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt.baselines.ids import IDS, Candidates, Terms, local_search, terms
from opdt.rules import Condition, Rule
from opdt.table import Table

X = {"a": ["u", "u", "v", "v"], "b": ["p", "q", "p", "p"]}
Y = ["+", "+", "-", "+"]


def small() -> Candidates:
    return Candidates.mine(Table.build(X, Y), bins=10, min_support=0.25, max_conditions=2)


def test_frequent_combinations_are_mined_the_shorter_first():
    candidates = small()
    found = [str(candidates.rule(at, 0)) for at in range(len(candidates.places))]
    assert found == [
        "IF a == 'u' THEN +",
        "IF a == 'v' THEN +",
        "IF b == 'p' THEN +",
        "IF b == 'q' THEN +",
        "IF a == 'u' AND b == 'p' THEN +",
        "IF a == 'u' AND b == 'q' THEN +",
        "IF a == 'v' AND b == 'p' THEN +",
    ]
    for at in range(len(found)):
        np.testing.assert_array_equal(
            candidates.covers[at].astype(bool), candidates.rule(at, 0).covers(X)
        )
    # At least half of the rows: a == v and b == p alone share two.
    half = Candidates.mine(Table.build(X, Y), bins=10, min_support=0.5, max_conditions=2)
    assert [len(places) for places in half.places] == [1, 1, 1, 2]


def test_the_terms_are_as_counted_by_hand():
    # 14 candidate rules of at most 2 conditions, 4 rows. Chosen: a == u (rows 0, 1) for +;
    # b == p (rows 0, 2, 3) and a == v, b == p (rows 2, 3) for -.
    chosen = [(0, 0), (2, 1), (6, 1)]
    assert terms(small(), chosen) == Terms(
        few_rules=14 - 3,
        short_rules=2 * 14 - (1 + 1 + 2),
        apart_within=4 * 14**2 - 2,  # the two rules for - share rows 2 and 3
        apart_between=4 * 14**2 - 1,  # a == u and b == p share row 0
        classes=2,
        right=4 * 14 - (0 + 2 + 1),  # rows 0 and 3, and row 3 again, are not -
        explained=3,  # rows 0 and 1 by +, row 2 by -
    )


def test_the_most_precise_candidates_come_first_then_the_larger_then_the_shorter():
    # Precision one for +: a == u (2 rows), then b == q, a == u and b == p, a == u and b == q
    # (1 row each, the shorter first).
    candidates = small()
    for most, expected in ((1, [0]), (2, [0, 3]), (4, [0, 3, 4, 5])):
        few = candidates.most_precise(most)
        assert few.n_rules == most
        assert few.allowed[:, 0].nonzero()[0].tolist() == expected


@settings(max_examples=25)
@given(st.data())
def test_every_step_improves_and_the_end_is_a_local_maximum(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    n_rows = data.draw(st.integers(4, 30), label="rows")
    table = Table.build(
        {
            "a": rng.choice(list("uvw"), n_rows).tolist(),
            "x": [None if rng.random() < 0.1 else int(v) for v in rng.integers(0, 5, n_rows)],
        },
        [0, 1, *rng.integers(0, 3, n_rows - 2).tolist()],
        warn=False,
    )
    lambdas = rng.integers(0, 4, 7).astype(float)
    lambdas[:4] /= 8  # else the shortest answer, no rule, wins too often to be of interest
    candidates = Candidates.mine(table, bins=3, min_support=0.1, max_conditions=2)
    if data.draw(st.booleans(), label="few"):
        candidates = candidates.most_precise(6)
    chosen, steps = local_search(candidates, lambdas)

    def objective(rules: list[tuple[int, int]]) -> float:
        return float(np.dot(lambdas, terms(candidates, rules)))

    reached = objective(chosen)
    assert all(step > 0 for step in steps)
    assert reached - objective([]) == pytest.approx(sum(steps), abs=1e-3)
    for each in map(tuple, np.argwhere(candidates.allowed)):
        other = [r for r in chosen if r != each] if each in chosen else [*chosen, each]
        assert objective(other) <= reached + 1e-3


@pytest.mark.parametrize("most", [None, 50])
def test_two_clean_groups_need_two_rules(most):
    # Each rule explains 20 rows and costs 2: one rule and one condition; a third adds nothing.
    data = {"side": ["left"] * 20 + ["right"] * 20, "x": list(range(20)) * 2}
    found = IDS(max_candidates=most).fit(data, ["a"] * 20 + ["b"] * 20)
    assert set(found) == {
        Rule([Condition("side", "==", "left")], "a"),
        Rule([Condition("side", "==", "right")], "b"),
    }


def test_no_combination_frequent_enough_gives_no_rule():
    assert IDS(min_support=0.9).fit(X, Y) == []
    assert IDS(min_support=0.9, max_candidates=None).fit(X, Y) == []
