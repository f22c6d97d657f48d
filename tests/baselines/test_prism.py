"""PRISM, on Cendrowska's contact lenses and by the property that defines it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from baselines.support import lenses
from opdt.baselines.prism import PRISM
from opdt.engines.bins import BinnedTable
from opdt.rules import Condition, Rule
from opdt.table import Table


def rule(label: str, **conditions: str) -> Rule:
    return Rule([Condition(name, "==", value) for name, value in conditions.items()], label)


def test_the_contact_lenses_give_the_published_rules():
    found = PRISM().fit(*lenses())
    # Hard: astigmatic holds 4 of 12 (as normal tears do), of those normal tears 4 of 6, and of
    # those myope 3 of 3; the patient left is young 1 of 7, astigmatic 1 of 3, normal tears 1 of 1.
    assert [each for each in found if each.label == "hard"] == [
        rule("hard", prescription="myope", astigmatic="yes", tears="normal"),
        rule("hard", age="young", astigmatic="yes", tears="normal"),
    ]
    assert {each for each in found if each.label == "soft"} == {
        rule("soft", prescription="hypermetrope", astigmatic="no", tears="normal"),
        rule("soft", age="young", astigmatic="no", tears="normal"),
        rule("soft", age="pre-presbyopic", astigmatic="no", tears="normal"),
    }
    assert next(each for each in found if each.label == "none") == rule("none", tears="reduced")


def test_numbers_are_cut_into_bins_of_equal_width():
    # Three bins between 0 and 9 end at 3 and 6.
    found = PRISM(bins=3).fit({"x": list(range(10))}, list("aaabbbaaaa"))
    assert found == [
        Rule([Condition("x", ">=", 6)], "a"),
        Rule([Condition("x", "<", 3)], "a"),
        Rule([Condition("x", ">=", 3), Condition("x", "<", 6)], "b"),
    ]


@given(st.data())
def test_rules_err_only_where_rows_conflict_and_explain_every_row_they_can(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    n_rows = data.draw(st.integers(2, 25), label="rows")
    X = {
        "a": rng.choice(list("uvw"), n_rows).tolist(),
        "b": rng.choice(list("pq"), n_rows).tolist(),
        "x": rng.integers(0, 9, n_rows).tolist(),
    }
    y = rng.choice(["k", "l", "m"], n_rows)
    y[:2] = "k", "l"
    table = Table.build(X, y, warn=False)
    binned = BinnedTable.of(table, 3)
    cells = [tuple(row) for row in binned.cells]
    explained = np.zeros(n_rows, dtype=bool)
    for each in PRISM(bins=3).fit(table):
        covered = each.covers(X)
        explained |= covered & (y == each.label)
        for wrong in np.flatnonzero(covered & (y != each.label)):
            same = [i for i in np.flatnonzero(covered) if cells[i] == cells[wrong]]
            assert any(y[i] == each.label for i in same)
    # A row stays out only if no bin tells it from any row of another class.
    for row in np.flatnonzero(~explained):
        others = [cells[i] for i in range(n_rows) if y[i] != y[row]]
        assert all(other == cells[row] for other in others)
