"""Rules of other packages say here what they say there: the same rows are covered."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from baselines.support import built, clinic, wines
from opdt.baselines import get_baseline
from opdt.baselines.trees import TreeInput
from opdt.engines.bins import BinnedTable
from opdt.errors import InputError
from opdt.rules import Op
from opdt.table import Table

TABLES = pytest.mark.parametrize("data", [clinic, wines])


def union(rules, X, label):
    """Rows that a rule of the class covers."""
    covers = [rule.covers(X) for rule in rules if rule.label == label]
    return np.any(covers, axis=0) if covers else np.zeros(len(X), dtype=bool)


@TABLES
@pytest.mark.parametrize("name", ["ripper", "irep"])
def test_wittgenstein_covers_the_same_rows(name, data):
    X, y = data()
    method = built(name, max_conditions=None, seed=1)
    found = iter(method.fit(X, y))
    table = Table.build(X, y)
    frame = pd.DataFrame(BinnedTable.of(table, binning=method.binning).cells)
    for label in table.classes:
        model = method._model()
        model.fit(frame, y=(y == label).astype(int).to_numpy(), pos_class=1)
        assert model.ruleset_.rules
        for theirs in model.ruleset_.rules:
            ours = next(found)
            assert ours.label == label
            rows = theirs.covers(frame).index.to_numpy()
            np.testing.assert_array_equal(np.flatnonzero(ours.covers(X)), np.sort(rows))
    assert next(found, None) is None


@pytest.mark.parametrize("seed", range(4))
def test_ripper_keeps_to_two_bins(seed):
    X, y = clinic()
    assert all(len(rule.features) <= 2 for rule in built("ripper", seed=seed).fit(X, y))


def test_wittgenstein_may_ask_for_missing_values():
    # A value is missing exactly where the answer is yes, so nothing else tells so much.
    n = 60
    X = {"x": [None if i % 3 == 0 else i for i in range(n)], "z": [i % 5 for i in range(n)]}
    found = built("irep").fit(X, ["yes" if i % 3 == 0 else "no" for i in range(n)])
    assert "IF x is missing THEN yes" in map(str, found)


@TABLES
def test_brs_covers_the_same_rows(data):
    method = built("brs", seed=1)
    from opdt.baselines.brs import Items

    X, y = data()
    table, found = Table.build(X, y), method.fit(X, y)
    items = Items.of(table, 10)
    for label in table.classes:
        model = method.model(items, (y == label).to_numpy())
        predicted = model.predict(items.frame()).astype(bool)
        np.testing.assert_array_equal(union(found, X, label), predicted)
    assert all(1 <= len(rule) <= 2 for rule in found)


def test_brs_offers_each_edge_and_level_with_its_opposite():
    built("brs")
    from opdt.baselines.brs import Items

    X = {"x": [0, 5, 10, None], "two": ["a", "b", "a", "b"], "three": ["p", "q", "r", "p"]}
    items = Items.of(Table.build(X, [0, 1, 0, 1]), bins=2)
    assert list(map(str, items.conditions)) == [
        "x >= 5",
        "two == 'a'",
        "three == 'p'",
        "three == 'q'",
        "three == 'r'",
        "x < 5",
        "two != 'a'",
        "three != 'p'",
        "three != 'q'",
        "three != 'r'",
    ]
    assert items.holds[0].tolist() == [0, 1, 1, 0]
    assert items.holds[5].tolist() == [1, 0, 0, 0]


def test_brs_finds_rules_without_error():
    # Its annealing in the package breaks down as soon as the rules make no error.
    X = {"side": ["left"] * 20 + ["right"] * 20, "x": list(range(20)) * 2}
    y = ["a"] * 20 + ["b"] * 20
    found = built("brs").fit(X, y)
    for label in "ab":
        np.testing.assert_array_equal(union(found, pd.DataFrame(X), label), np.array(y) == label)


@TABLES
def test_skope_rules_cover_the_same_rows(data):
    X, y = data()
    method = built("skope", seed=1)
    found = method.fit(X, y)
    table = Table.build(X, y)
    matrix = TreeInput.of(table).matrix
    frame = pd.DataFrame(matrix, columns=[f"X_{at}" for at in range(matrix.shape[1])])
    for label in table.classes:
        model = method._model()
        model.fit(matrix, (y == label).astype(int).to_numpy())
        theirs = {tuple(frame.query(text).index) for text, _ in model.rules_without_feature_names_}
        ours = {tuple(np.flatnonzero(r.covers(X))) for r in found if r.label == label}
        assert theirs
        assert ours == theirs


@TABLES
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_cart_has_the_leaves_of_a_tree_on_the_values_themselves(data, depth):
    X, y = data()
    found = get_baseline("cart", max_depth=depth).fit(X, y)
    values = X.copy()
    for name in X.select_dtypes("str"):
        levels = sorted(values.pop(name).unique())
        for level in levels[:1] if len(levels) == 2 else levels:
            values[f"{name}={level}"] = X[name] == level
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    leaves = tree.fit(values, y).apply(values)
    theirs = {tuple(np.flatnonzero(leaves == leaf)) for leaf in np.unique(leaves)}
    assert {tuple(np.flatnonzero(rule.covers(X))) for rule in found} == theirs
    for rule in found:
        counts = y[rule.covers(X)].value_counts()
        assert counts[rule.label] == counts.max()
        assert len(rule) <= depth


def test_trees_leave_out_rows_with_missing_values():
    # Without the third row x >= 2 parts the classes; with it nothing would.
    X = {"x": [1.0, 1.0, 1.0, 3.0, 3.0], "z": [0.0, 0.5, None, 0.2, 0.4]}
    found = get_baseline("cart", max_depth=1).fit(X, [0, 0, 1, 1, 1])
    assert sorted(map(str, found)) == ["IF x < 2 THEN 0", "IF x >= 2 THEN 1"]


def test_trees_refuse_a_table_with_too_few_complete_rows():
    X = {"x": [1.0, None, None], "c": ["a", "b", "a"]}
    with pytest.raises(InputError, match="two classes without missing values"):
        get_baseline("cart").fit(X, [0, 1, 1])


def test_the_papers_own_methods_are_the_engines():
    from opdt import discover
    from opdt.baselines import rscrules

    X, y = clinic()
    assert get_baseline("bsccart").fit(X, y) == [
        discover(X, y, structure=["all", "all"], engine="bsccart").rule
    ]
    assert get_baseline("rscrules", w=4).fit(X, y) == [rscrules(X, y, w=4)]
    only = get_baseline("bsccart", levels=("cat", "cat")).fit(X, y)
    assert all(c.op in (Op.EQ, Op.NE) for rule in only for c in rule.conditions)


def test_methods_within_structures_may_learn_in_each_of_the_separated_ones():
    X, y = clinic()
    for name in ("bsccart", "rscrules"):
        found = get_baseline(name, separate=True).fit(X, y)
        each = [
            get_baseline(name, levels=levels).fit(X, y)
            for levels in product(("num", "cat"), repeat=2)
        ]
        assert found == [rule for rules in each for rule in rules]
        assert len(found) > 1
    numbers = X.drop(columns="grade")
    assert get_baseline("bsccart", separate=True).fit(numbers, y) == get_baseline(
        "bsccart", levels=("num", "num")
    ).fit(numbers, y)


def test_a_method_without_a_rule_worth_having_gives_none():
    X, y = {"x": [1, 1, 2, 2]}, [0, 1, 0, 1]
    assert get_baseline("bsccart").fit(X, y) == []
    assert get_baseline("rscrules").fit(X, y) == []
