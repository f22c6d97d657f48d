"""The permutations of a test, and the p-value that they give."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from analysis.shuffled import noise
from opdt import Budget, Table, discover
from opdt.analysis.permutation import (
    PermutationPlan,
    permutation_test,
    permute,
    sequential_p_value,
)
from opdt.analysis.shuffling import Shuffler, WeightsFollow
from opdt.engines import get_engine
from opdt.problem import Problem
from strategies import describe, small_problems

# -- the p-value -----------------------------------------------------------------------------


def chances(n: int, most: int | None) -> dict[Fraction, Fraction]:
    """The exact distribution of the p-value under the null hypothesis, where no two values tie.

    The observed value is then equally likely to have any rank among those of the permutations,
    so that after g hits in t permutations the next is a hit with probability (1+g) / (2+t).
    """
    found: dict[Fraction, Fraction] = {}
    states = {0: Fraction(1)}
    for t in range(n + 1):
        following: dict[int, Fraction] = {}
        for g, chance in states.items():
            early = most is not None and g == most
            if early or t == n:
                p = Fraction(sequential_p_value(g, t, stopped_early=early)).limit_denominator(n + 1)
                found[p] = found.get(p, Fraction(0)) + chance
                continue
            hit = Fraction(1 + g, 2 + t)
            following[g + 1] = following.get(g + 1, Fraction(0)) + chance * hit
            following[g] = following.get(g, Fraction(0)) + chance * (1 - hit)
        states = following
    return found


@pytest.mark.parametrize(("n", "most"), [(19, None), (19, 1), (39, 2), (39, 5), (60, 10), (5, 9)])
def test_the_sequential_p_value_is_exactly_uniform_on_its_values(n, most):
    found = chances(n, most)
    below = Fraction(0)
    for p in sorted(found):
        below += found[p]
        assert below == p
    assert below == 1


@pytest.mark.parametrize("n", range(1, 60, 7))
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.33, 0.0505])
def test_stopping_early_changes_no_decision(n, alpha):
    most = math.ceil(Fraction(str(alpha)) * (1 + n))
    for hits in range(n + 1):
        full = sequential_p_value(hits, n, stopped_early=False)
        if hits >= most:  # the test ended at some permutation, at the latest the last
            assert full > alpha
            assert sequential_p_value(most, n, stopped_early=True) > alpha


@pytest.mark.parametrize("slow", ["hits", "misses"])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_a_time_limit_leaves_the_p_value_valid_where_hits_or_misses_take_all_the_time(slow, k):
    # time is up during the k-th slow permutation, and all others take none
    n, states, found = 400, {0: Fraction(1)}, {}
    for t in range(n):
        following: dict[int, Fraction] = {}
        for hits, chance in states.items():
            hit = Fraction(1 + hits, 2 + t)
            for outcome, share in ((1, hit), (0, 1 - hit)):
                others = hits if slow == "hits" else t - hits
                if (outcome == 1) == (slow == "hits") and others == k - 1:
                    p = sequential_p_value(hits, t, stopped_early=False, cut=True)
                    found[p] = found.get(p, Fraction(0)) + chance * share
                else:
                    g = hits + outcome
                    following[g] = following.get(g, Fraction(0)) + chance * share
        states = following
    below = Fraction(0)
    for p in sorted(found):
        below += found[p]
        assert below <= Fraction(p)


def test_a_test_that_did_nothing_has_p_value_one():
    assert sequential_p_value(0, 0, stopped_early=False, cut=True) == 1


# -- the permutations ------------------------------------------------------------------------


@given(small_problems(), st.integers(0, 5))
def test_decisions_agree_with_the_optimum_of_every_permutation(problem, seed):
    assume(len(np.unique(problem.table.labels)) > 1)
    found = []
    for engine, keep in (("search", False), ("search", True), ("exhaustive", False)):
        test = permute(
            problem,
            get_engine(engine),
            Budget(n_jobs=1).start(),
            get_engine(engine).solve(problem),
            plan=PermutationPlan(5, None, 0.05, keep),
            shuffler=Shuffler.of(problem, seed, None, None),
            tell=None,
        )
        found.append((test.value, test.hits, test.p_value, test.n_undecided))
    assert found[0] == found[1] == found[2], describe(problem)


def test_the_kept_values_are_the_optima_of_the_permuted_tables():
    columns, labels = noise(3)
    test = permutation_test(columns, labels, n_permutations=20, keep_values=True, early_stop=False)
    table = Table.build(columns, labels)
    shuffler = Shuffler.of(Problem.build(table), 0, None, None)
    for index, value in enumerate(test.null_values):
        assert value == discover(columns, labels[shuffler.order(index)]).value
    assert test.hits == (test.null_values >= test.value).sum()
    assert test.p_value == (1 + test.hits) / 21


@given(st.integers(0, 1000), st.lists(st.integers(0, 2), min_size=2, max_size=12))
def test_labels_stay_within_their_stratum(seed, strata):
    n = len(strata)
    assume(any(strata.count(s) > 1 for s in strata))
    labels = [i if strata.count(s) > 1 else 0 for i, s in enumerate(strata)]
    problem = Problem.build(Table.build({"x": range(n)}, labels))
    shuffler = Shuffler.of(problem, seed, strata, None)
    order = shuffler.order(7)
    assert sorted(order) == list(range(n))
    assert [strata[row] for row in order] == strata
    assert shuffler.n_strata == len(set(strata))


def test_every_order_that_keeps_the_strata_is_equally_likely():
    problem = Problem.build(Table.build({"x": range(5)}, [0, 1, 1, 0, 1]))
    shuffler = Shuffler.of(problem, 0, ["a", "b", "a", "b", "a"], None)
    orders = [tuple(shuffler.order(index)) for index in range(2400)]
    seen = sorted(set(orders))
    assert len(seen) == 12  # 3! × 2!
    assert chisquare([orders.count(order) for order in seen]).pvalue > 0.001


def test_strata_may_be_a_column_and_may_be_missing_somewhere():
    columns = {"x": [1, 2, 3, 4, 5, 6], "clinic": ["a", None, "a", None, "b", "b"]}
    problem = Problem.build(Table.build(columns, [0, 0, 1, 1, 0, 1]))
    by_name = Shuffler.of(problem, 0, "clinic", None)
    by_array = Shuffler.of(problem, 0, columns["clinic"], None)
    assert by_name.strata.tolist() == by_array.strata.tolist()
    assert by_name.n_strata == 3


def test_weights_stay_with_rows_or_travel_with_labels():
    columns = {"x": [1, 2, 3, 4, 5, 6]}
    labels = [0, 0, 0, 0, 1, 1]
    by_class = Problem.build(Table.build(columns, labels, sample_weight=[1, 1, 1, 1, 2, 2]))
    by_row = Problem.build(Table.build(columns, labels, sample_weight=[1, 2, 1, 2, 1, 2]))
    assert Shuffler.of(by_class, 0, None, None).weights_follow is WeightsFollow.LABELS
    assert Shuffler.of(by_row, 0, None, None).weights_follow is WeightsFollow.FEATURES
    assert Shuffler.of(
        Problem.build(Table.build(columns, labels)), 0, None, None
    ).weights_follow == ("features")
    for index in range(5):
        travelled = Shuffler.of(by_class, 0, None, None).objective(index)
        assert (travelled.weights == np.where(travelled.classes == 1, 2, 1)).all()
        stayed = Shuffler.of(by_class, 0, None, "features").objective(index)
        assert (stayed.weights == by_class.objective.weights).all()


def test_class_weights_give_no_false_alarm():
    p_values = []
    for seed in range(12):
        columns, _ = noise(seed, 60)
        labels = np.random.default_rng(seed).permutation([0] * 50 + [1] * 10)
        weights = np.where(labels == 1, 5.0, 1.0)
        test = permutation_test(columns, labels, sample_weight=weights, n_permutations=19)
        p_values.append(test.p_value)
    assert np.mean(np.array(p_values) <= 0.05) < 0.3
