"""A permutation test without a rule, cut short, interrupted, or asked wrongly."""

from __future__ import annotations

import threading

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analysis.shuffled import planted
from opdt import Budget, InputError, OpdtWarning, Status
from opdt.analysis.permutation import (
    format_p_value,
    permutation_test,
)
from opdt.solution import StopReason


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
