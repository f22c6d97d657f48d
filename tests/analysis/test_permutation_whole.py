"""A whole permutation test: what it finds, and what it does not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from analysis.shuffled import noise, planted
from opdt import InputError, Structure, Table, discover
from opdt.analysis.permutation import (
    permutation_test,
)
from opdt.analysis.shuffling import Shuffler
from opdt.engines import get_engine
from opdt.problem import Problem

# -- the whole test --------------------------------------------------------------------------

# Ends of the sequential p-value with 99 permutations and alpha = 0.05: 5/100, 5/50, 5/20, …
EDGES = np.array([0.05, 0.1, 0.25, 0.5, 1.0])


@pytest.mark.slow
def test_p_values_of_shuffled_labels_are_uniform():
    p_values = []
    for seed in range(200):
        columns, labels = noise(seed, 30)
        # weights without a pattern make ties between values rare
        weights = np.random.default_rng([seed, 1]).integers(1000, 2000, size=30)
        test = permutation_test(
            columns, labels, sample_weight=weights, n_permutations=99, seed=seed, w=3, n_jobs=1
        )
        p_values.append(test.p_value)
    counts = np.diff(np.searchsorted(np.sort(p_values), EDGES, side="right"), prepend=0)
    assert chisquare(counts, 200 * np.diff(EDGES, prepend=0)).pvalue > 0.01


@pytest.mark.parametrize("settings", [{"w": 10}, {"w": 2, "label": 1, "max_depth": 1}])
def test_ties_make_p_values_larger_never_smaller(settings):
    p_values = []
    for seed in range(60):
        columns, labels = noise(1000 + seed, 24)
        test = permutation_test(columns, labels, n_permutations=39, seed=seed, **settings)
        p_values.append(test.p_value)
    for level in (0.05, 0.1, 0.25, 0.5):
        # three standard deviations of a count of 60 at the level itself
        allowed = level + 3 * math.sqrt(level * (1 - level) / 60)
        assert np.mean(np.array(p_values) <= level) <= allowed


def test_a_planted_rule_is_found_to_be_real():
    columns, labels = planted()
    test = permutation_test(columns, labels)
    assert (test.p_value, test.hits, test.n_done) == (0.001, 0, 999)
    assert test.is_significant
    assert not test.stopped_early
    assert test.solution.rule == discover(columns, labels).rule
    assert str(test).startswith("p-value       0.001, the smallest")


def test_a_confounder_alarms_the_plain_test_but_not_the_one_within_strata():
    plain, within = [], []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        clinic = np.repeat([0, 1], 50)
        dose = clinic * 10 + rng.integers(8, size=100)  # differs between clinics
        ill = rng.random(100) < np.where(clinic == 1, 0.9, 0.1)  # and so does the class
        data = {"dose": dose, "age": rng.integers(20, 80, size=100)}
        for strata, found in ((None, plain), (clinic, within)):
            test = permutation_test(data, ill, strata=strata, n_permutations=39, seed=seed, w=3)
            found.append(test.p_value)
    assert max(plain) == 1 / 40
    assert np.mean(np.array(within) <= 0.05) <= 0.2
    assert np.mean(within) > 0.3


def test_a_pattern_within_strata_is_still_found():
    columns, labels = planted(n_rows=200)
    clinic = np.random.default_rng(5).integers(3, size=200)
    test = permutation_test(columns, labels, strata=clinic, n_permutations=99)
    assert test.p_value == 0.01
    assert test.n_strata == 3
    assert "within 3 strata" in str(test)


@pytest.mark.parametrize("jobs", [2, 5])
def test_the_number_of_threads_changes_nothing(jobs):
    columns, labels = noise(11)
    one = permutation_test(columns, labels, n_permutations=99, n_jobs=1)
    many = permutation_test(columns, labels, n_permutations=99, n_jobs=jobs)
    assert one.stopped_early
    assert (one.p_value, one.hits, one.n_done) == (many.p_value, many.hits, many.n_done)


def test_early_stopping_ends_at_its_last_hit():
    columns, labels = noise(11)
    full = permutation_test(columns, labels, n_permutations=199, early_stop=False, keep_values=True)
    early = permutation_test(columns, labels, n_permutations=199)
    hits = np.flatnonzero(full.null_values >= full.value) + 1
    assert len(hits) > 10
    assert (early.hits, early.n_done) == (10, hits[9])
    assert early.p_value == 10 / hits[9]
    assert early.stopped_early
    assert full.n_done == 199
    assert "stopped early, 199 planned" in str(early)


def test_another_seed_gives_other_permutations():
    columns, labels = noise(4)
    first, second = (
        permutation_test(columns, labels, n_permutations=20, keep_values=True, seed=seed)
        for seed in (0, 1)
    )
    assert first.null_values.tolist() != second.null_values.tolist()


def test_every_class_is_searched_unless_one_is_asked_for():
    columns, labels = noise(2, n_classes=3)
    both = permutation_test(columns, labels, n_permutations=30, keep_values=True, w=2)
    one = permutation_test(columns, labels, n_permutations=30, keep_values=True, w=2, label=1)
    n = min(both.n_done, one.n_done)
    assert (both.null_values[:n] >= one.null_values[:n]).all()
    assert (both.null_values[:n] > one.null_values[:n]).any()


def test_structure_and_constraints_hold_in_every_permutation():
    columns, labels = noise(8)
    demands = {"min_coverage": 5, "forbidden": ["age"]}
    test = permutation_test(
        columns,
        labels,
        structure=["cat", "num"],
        constraints=demands,
        w=2,
        n_permutations=19,
        keep_values=True,
    )
    shuffler = Shuffler.of(Problem.build(Table.build(columns, labels)), 0, None, None)
    for index, value in enumerate(test.null_values):
        order = shuffler.order(index)
        same = discover(
            columns,
            labels[order],
            structure=Structure.levels("cat", "num"),
            constraints=demands,
            w=2,
            engine="exhaustive",
        )
        assert same.value == value


# -- values of permutations where nothing was found ----------------------------------------------


@pytest.mark.parametrize("engine", ["search", "exhaustive"])
def test_the_optima_of_permutations_are_found_where_the_observed_one_is_zero(engine):
    columns, labels = {"x": [1, 2, 1, 2]}, [0, 0, 1, 1]
    test = permutation_test(
        columns, labels, n_permutations=19, keep_values=True, early_stop=False, engine=engine
    )
    assert test.value == 0
    assert (test.hits, test.p_value, test.n_undecided) == (19, 1, 0)
    problem = Problem.build(Table.build(columns, labels))
    shuffler = Shuffler.of(problem, 0, None, None)
    best = [
        get_engine("exhaustive").solve(problem.with_objective(shuffler.objective(index))).value
        for index in range(19)
    ]
    assert max(best) > 0
    assert test.null_values.tolist() == best


# -- other objectives ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        {"objective": "precision", "min_coverage": 0.15},
        {"objective": "precision", "min_coverage": 2},
        {"objective": "precision", "min_coverage": 6, "label": 1},
        {"objective": "coverage", "min_precision": 0.7, "label": 1},
    ],
)
def test_a_hit_is_a_table_of_shuffled_labels_in_which_discover_finds_a_rule_as_good(asked):
    columns, labels = noise(3)
    labels = np.where(columns["age"] > 0.85, 1, labels)
    n = 30
    test = permutation_test(columns, labels, n_permutations=n, early_stop=False, **asked)
    best = discover(columns, labels, **asked)
    assert (test.solution.rule, test.solution.objective) == (best.rule, asked["objective"])
    problem = Problem.build(Table.build(columns, labels))
    shuffler = Shuffler.of(problem, 0, None, None)
    shuffled = [
        discover(
            columns,
            problem.table.classes[shuffler.objective(index).classes],
            engine="exhaustive",
            **asked,
        )
        for index in range(n)
    ]
    # of equally precise rules the one with more rows of its class is the better one
    order = [(each.value, each.covered - each.errors) for each in shuffled]
    hits = sum(each >= (best.value, best.covered - best.errors) for each in order)
    assert 0 < hits < n
    assert (test.hits, test.n_undecided, test.p_value) == (hits, 0, (1 + hits) / (1 + n))


def test_the_optima_of_shuffled_tables_are_not_kept_for_the_precision():
    with pytest.raises(InputError, match="'keep_values' cannot be given beside objective"):
        permutation_test({"x": [1, 2]}, [0, 1], objective="precision", keep_values=True)


def test_a_genuine_error_of_a_search_is_no_hit(monkeypatch):
    def fail(*arguments, **settings):
        raise InputError("something is wrong with the data.")

    monkeypatch.setattr("opdt.engines.search.Searcher.reaches", fail)
    columns, labels = {"x": [1, 2, 3, 4, 5, 6]}, [0, 0, 0, 1, 1, 1]
    with pytest.raises(InputError, match="something is wrong"):
        permutation_test(columns, labels, n_permutations=19)
