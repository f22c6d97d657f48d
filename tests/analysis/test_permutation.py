from __future__ import annotations

import math
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from opdt import Budget, InputError, OpdtWarning, Status, Structure, Table, discover
from opdt.analysis.permutation import (
    PermutationPlan,
    format_p_value,
    permutation_test,
    permute,
    sequential_p_value,
)
from opdt.analysis.shuffling import Shuffler, WeightsFollow
from opdt.engines import get_engine
from opdt.problem import Problem
from opdt.solution import StopReason
from strategies import describe, small_problems


def noise(seed: int, n_rows: int = 40, n_classes: int = 2):
    """Features and labels that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    columns = {
        "size": rng.integers(12, size=n_rows),
        "age": rng.random(n_rows).round(3),
        "colour": rng.choice(["red", "green", "blue"], n_rows),
    }
    return columns, rng.permutation(np.arange(n_rows) % n_classes)


def planted(seed: int = 0, n_rows: int = 120):
    """A rule of two conditions that is right in nine of ten rows it covers."""
    columns, labels = noise(seed, n_rows)
    inside = (columns["age"] > 0.4) & (columns["colour"] != "red")
    right = np.random.default_rng(seed + 1).random(n_rows) < 0.95
    return columns, np.where(inside & right, 1, labels)


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
    shuffler = Shuffler.of(_problem(table), 0, None, None)
    for index, value in enumerate(test.null_values):
        assert value == discover(columns, labels[shuffler.order(index)]).value
    assert test.hits == (test.null_values >= test.value).sum()
    assert test.p_value == (1 + test.hits) / 21


def _problem(table):
    from opdt.problem import Problem

    return Problem.build(table)


@given(st.integers(0, 1000), st.lists(st.integers(0, 2), min_size=2, max_size=12))
def test_labels_stay_within_their_stratum(seed, strata):
    n = len(strata)
    assume(any(strata.count(s) > 1 for s in strata))
    labels = [i if strata.count(s) > 1 else 0 for i, s in enumerate(strata)]
    problem = _problem(Table.build({"x": range(n)}, labels))
    shuffler = Shuffler.of(problem, seed, strata, None)
    order = shuffler.order(7)
    assert sorted(order) == list(range(n))
    assert [strata[row] for row in order] == strata
    assert shuffler.n_strata == len(set(strata))


def test_every_order_that_keeps_the_strata_is_equally_likely():
    problem = _problem(Table.build({"x": range(5)}, [0, 1, 1, 0, 1]))
    shuffler = Shuffler.of(problem, 0, ["a", "b", "a", "b", "a"], None)
    orders = [tuple(shuffler.order(index)) for index in range(2400)]
    seen = sorted(set(orders))
    assert len(seen) == 12  # 3! × 2!
    assert chisquare([orders.count(order) for order in seen]).pvalue > 0.001


def test_strata_may_be_a_column_and_may_be_missing_somewhere():
    columns = {"x": [1, 2, 3, 4, 5, 6], "clinic": ["a", None, "a", None, "b", "b"]}
    problem = _problem(Table.build(columns, [0, 0, 1, 1, 0, 1]))
    by_name = Shuffler.of(problem, 0, "clinic", None)
    by_array = Shuffler.of(problem, 0, columns["clinic"], None)
    assert by_name.strata.tolist() == by_array.strata.tolist()
    assert by_name.n_strata == 3


def test_weights_stay_with_rows_or_travel_with_labels():
    columns = {"x": [1, 2, 3, 4, 5, 6]}
    labels = [0, 0, 0, 0, 1, 1]
    by_class = _problem(Table.build(columns, labels, sample_weight=[1, 1, 1, 1, 2, 2]))
    by_row = _problem(Table.build(columns, labels, sample_weight=[1, 2, 1, 2, 1, 2]))
    assert Shuffler.of(by_class, 0, None, None).weights_follow is WeightsFollow.LABELS
    assert Shuffler.of(by_row, 0, None, None).weights_follow is WeightsFollow.FEATURES
    assert Shuffler.of(_problem(Table.build(columns, labels)), 0, None, None).weights_follow == (
        "features"
    )
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
    shuffler = Shuffler.of(_problem(Table.build(columns, labels)), 0, None, None)
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


# -- no rule, limits, interruptions ----------------------------------------------------------


def test_no_pattern_is_no_evidence():
    columns = {"x": [1, 1, 1, 1, 1, 2]}
    with pytest.warns(OpdtWarning, match="cannot give a p-value of 0.05"):
        test = permutation_test(columns, [0, 1, 0, 1, 0, 1], label=0, w=50, n_permutations=9)
    assert test.solution.status is Status.NO_PATTERN
    assert test.p_value == 1
    demands = {"min_coverage": 6, "min_precision": 0.9}
    test = permutation_test(columns, [0, 1, 0, 1, 0, 1], constraints=demands)
    assert test.solution.status is Status.INFEASIBLE
    assert test.p_value == 1


def test_a_permutation_that_is_not_decided_counts_as_a_hit():
    columns, labels = planted()
    free = permutation_test(columns, labels, n_permutations=19, max_depth=3)
    tight = permutation_test(
        columns, labels, n_permutations=19, max_depth=3, early_stop=False, budget=Budget(nodes=1)
    )
    assert free.p_value == 0.05
    assert tight.n_undecided > 0
    assert tight.hits >= tight.n_undecided
    assert tight.p_value == (1 + tight.hits) / 20
    assert "of them undecided" in str(tight)


def test_a_time_limit_leaves_a_p_value_of_what_was_done():
    columns, labels = planted()
    test = permutation_test(columns, labels, n_permutations=10**6, time_limit=0.3)
    assert test.stopped_by is StopReason.TIME
    assert test.n_done < 10**6
    assert test.p_value == (2 + test.hits) / (2 + test.n_done)
    assert f"{test.n_done:,} of 1,000,000 (time limit)" in str(test)


def test_a_test_without_time_claims_nothing():
    columns, labels = planted()
    test = permutation_test(columns, labels, time_limit=0)
    assert (test.n_done, test.p_value) == (0, 1)
    assert not test.is_significant


def test_ctrl_c_leaves_a_p_value_of_what_was_done():
    columns, labels = planted()

    def interrupt(progress):
        if progress.done >= 5:
            raise KeyboardInterrupt

    test = permutation_test(columns, labels, n_permutations=10**5, progress=interrupt)
    assert test.stopped_by is StopReason.INTERRUPTED
    assert 5 <= test.n_done < 10**5
    assert test.p_value == (2 + test.hits) / (2 + test.n_done)


def test_a_cancelled_test_stops():
    cancel = threading.Event()
    cancel.set()
    test = permutation_test(*planted(), budget=Budget(cancel=cancel))
    assert test.stopped_by is StopReason.CANCELLED
    assert test.p_value == 1


def test_progress_is_told_in_the_thread_of_the_caller():
    seen = []
    permutation_test(
        *planted(),
        n_permutations=50,
        early_stop=False,
        progress=lambda p: seen.append((p.done, p.total, threading.current_thread())),
    )
    assert seen[-1][:2] == (50, 50)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    assert {thread for _, _, thread in seen} == {threading.main_thread()}


def test_a_heuristic_is_tested_as_the_heuristic_that_it_is():
    columns, labels = planted()
    test = permutation_test(columns, labels, engine="bsccart", n_permutations=19, keep_values=True)
    assert test.solution.engine == "bsccart"
    assert test.p_value == 0.05
    assert test.n_undecided == 0
    assert len(test.null_values) == 19


@settings(max_examples=20)
@example(0.001)
@example(1.0)
@given(st.floats(1e-6, 1))
def test_a_p_value_is_never_shown_as_zero(p_value):
    shown = format_p_value(p_value)
    assert float(shown) == pytest.approx(p_value, rel=0.06)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_permutations": 0}, "'n_permutations' must be an int >= 1"),
        ({"alpha": 5}, "'alpha' must be a number between 0 and 1"),
        ({"seed": -1}, "'seed' must be an int >= 0"),
        ({"strata": [1, 2]}, "'strata' must have one value for each of the 4 rows"),
        ({"strata": [1, 2, 3, 4]}, "'strata' leaves nothing to permute"),
        ({"strata": "clinic"}, "clinic"),
        ({"weights_follow": "rows"}, "'weights_follow' must be 'features', 'labels' or None"),
        ({"engine": "quantum"}, "'engine' 'quantum' is not known"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, words):
    with pytest.raises(InputError, match=words):
        permutation_test({"x": [1, 2, 3, 4]}, [0, 1, 0, 1], **arguments)


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
