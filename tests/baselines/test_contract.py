"""What every comparison method keeps to, whatever it learns."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from baselines.support import built, clinic, wines
from opdt.baselines import BASELINES, available_baselines, best_rule, get_baseline
from opdt.baselines.base import cover, seeded
from opdt.errors import InputError
from opdt.report import vi_index
from opdt.rules import Condition, Rule
from opdt.table import Table


def generators() -> tuple[list[int], object]:
    """The states of the global generators of NumPy and Python."""
    return np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002


SEEDED = [name for name, entry in BASELINES.items() if entry.seeds > 1]


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("data", [clinic, wines])
def test_rules_are_of_the_table_and_the_same_each_time(name, data):
    X, y = data()
    found = built(name).fit(X, y)
    assert found
    assert {rule.label for rule in found} <= set(y.unique())
    assert {feature for rule in found for feature in rule.features} <= set(X.columns)
    assert all(rule.covers(X).any() for rule in found)
    assert built(name).fit(Table.build(X, y)) == found


@pytest.mark.parametrize("name", BASELINES)
def test_missing_values_are_no_obstacle(name):
    X, y = clinic()
    rng = np.random.default_rng(7)
    X.loc[rng.random(len(X)) < 0.1, "grade"] = None
    X["worst radius"] = X["worst radius"].mask(rng.random(len(X)) < 0.1)
    table = Table.build(X, y)
    found = built(name).fit(table)
    assert found
    for rule in found:
        np.testing.assert_array_equal(cover(rule, table), rule.covers(X))


@pytest.mark.parametrize("name", BASELINES)
def test_features_that_say_nothing_give_no_error(name):
    table = Table.build({"x": [1.0] * 12, "c": ["a"] * 12}, [0, 1] * 6, warn=False)
    for rule in built(name).fit(table):
        assert rule.conditions == ()


@pytest.mark.parametrize("name", BASELINES)
def test_row_weights_are_used_or_refused(name):
    X, y = clinic()
    method, table = built(name), Table.build(X, y, sample_weight=np.ones(len(y)))
    if method.weighted:
        assert method.fit(table) == method.fit(X, y)
    else:
        with pytest.raises(InputError, match=f"'{name}' knows no row weights"):
            method.fit(table)


@pytest.mark.parametrize("name", SEEDED)
def test_another_seed_may_give_other_rules_and_leaves_the_generators_alone(name):
    X, y = clinic()
    method = built(name)
    before = generators()
    results = [replace(method, seed=seed).fit(X, y) for seed in range(6)]
    assert generators() == before
    assert any(each != results[0] for each in results)


@pytest.mark.slow
def test_rules_do_not_depend_on_how_text_is_hashed():
    names = [name for name in SEEDED if name in available_baselines()]
    if not names:
        pytest.skip("no method with a seed is installed: pip install 'opdt[baselines]'")
    code = (
        "from baselines.support import built, clinic\n"
        f"for name in {names!r}:\n"
        "    print(name, *map(str, built(name, seed=3).fit(*clinic())), sep='\\n')"
    )

    def run(hash_seed: str) -> str:
        folder = str(Path(__file__).parents[1])
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": folder}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return done.stdout

    first = run("1")
    assert len(first.splitlines()) > len(names)
    assert run("2") == first


# -- the best rule ------------------------------------------------------------------------------


def test_the_best_rule_has_the_greatest_vi_and_of_equals_is_the_first():
    X = {"x": [1, 2, 3, 4, 5, 6]}
    y = ["a", "a", "b", "b", "b", "a"]

    def at_least(edge, label="b"):
        return Rule([Condition("x", ">=", edge)], label)

    # VI with w = 2: 4 rows, 1 error -> 2; 5 rows, 2 errors -> 1; 1 row, no error -> 1.
    rules = [at_least(2), at_least(3), at_least(2.5), at_least(6, "a")]
    assert best_rule(rules, X, y, w=2) == at_least(3)
    assert best_rule(rules[::-1], X, y, w=2) == at_least(2.5)


def test_the_best_rule_may_lose_but_must_cover_something():
    X, y = {"x": [1, 2, 3, 4]}, ["a", "b", "a", "b"]
    everything, nothing = Rule([], "a"), Rule([Condition("x", ">=", 9)], "a")
    assert best_rule([nothing, everything], X, y) == everything
    assert best_rule([nothing], X, y) is None
    assert best_rule([], X, y) is None


def test_the_best_rule_counts_row_weights():
    table = Table.build({"x": [1, 2, 3]}, ["a", "b", "b"], sample_weight=[5.0, 1.0, 1.0])
    low, high = Rule([Condition("x", "<", 2)], "a"), Rule([Condition("x", ">=", 2)], "b")
    assert best_rule([high, low], table) == low


@pytest.mark.parametrize("name", ["cart", "prim", "prism"])
def test_no_rule_of_a_method_beats_its_best(name):
    X, y = wines()
    found = get_baseline(name).fit(X, y)
    best = best_rule(found, X, y, w=5)
    values = [vi_index(y, rule.covers(X), rule.label, w=5) for rule in found]
    assert vi_index(y, best.covers(X), best.label, w=5) == max(values)


# -- helpers ------------------------------------------------------------------------------------


def test_seeded_draws_the_same_again_and_restores_on_error():
    before = generators()
    draws = []

    def draw_and_fail() -> None:
        with seeded(4):
            draws.append((np.random.random(), random.random()))  # noqa: NPY002
            raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            draw_and_fail()
    assert draws[0] == draws[1]
    assert generators() == before


def test_a_table_is_covered_as_its_data_are():
    X = {"x": [1.5, None, 3.0], "c": ["u", None, "v"]}
    table = Table.build(X, [0, 1, 1])
    for condition in (
        Condition("x", ">=", 2),
        Condition("x", "<", 3),
        Condition("x", "is missing"),
        Condition("x", "is present"),
        Condition("c", "==", "u"),
        Condition("c", "!=", "u"),
        Condition("c", "in", {"u", "z"}),
        Condition("c", "is missing"),
    ):
        rule = Rule([condition], 1)
        np.testing.assert_array_equal(cover(rule, table), rule.covers(X))


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("prim", "alpha", 1.5),
        ("prim", "min_support", 0),
        ("ids", "min_support", 2.0),
        ("ids", "max_conditions", 0),
        ("ids", "lambdas", (1.0, 2.0)),
        ("ids", "lambdas", (-1.0,) * 7),
        ("prism", "bins", 1),
        ("cart", "max_depth", True),
        ("ripper", "max_conditions", 1.5),
        ("ripper", "binning", "size"),
        ("bsccart", "separate", 1),
        ("brs", "n_chains", 0),
        ("skope", "n_estimators", 0),
    ],
)
def test_settings_out_of_range_are_refused(name, setting, value):
    with pytest.raises(InputError, match=f"'{setting}' must be"):
        built(name, **{setting: value})
