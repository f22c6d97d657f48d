from __future__ import annotations

from dataclasses import replace

import pytest

from opdt import Condition, Rule, Status, Table, discover
from opdt.report import describe_solution
from opdt.report.formats import format_count, format_seconds, format_share
from opdt.solution import StopReason

TABLE = Table.build(
    {"age": [25, 31, 47, 52, 60], "smoker": ["no", "no", "yes", "no", "yes"]},
    ["well", "well", "ill", "ill", "ill"],
)


def solve(**settings):
    solution = discover(TABLE, engine="exhaustive", **settings)
    return replace(solution, seconds=0.0125)


def test_an_optimal_rule_is_shown_with_its_numbers_and_its_proof():
    assert describe_solution(solve(w=10), TABLE, 10).splitlines() == [
        "IF   age >= 40",
        "THEN ill",
        "",
        "VI         3  (w = 10; all rows: -15)",
        "precision  100.0 %  (3 of 3 covered rows are ill)",
        "coverage   60.0 %  (3 of 5 rows, 100.0 % of all ill)",
        "lift       1.67  (all rows: 60.0 % are ill)",
        "status     proven optimal: no allowed rule has a larger VI",
        "verdict    not supported: right in 3 of 3 rows, 60.0 % overall, too few to tell the best "
        "of 182 rules from chance",
        "next       These rows are too few for so wide a search: gather more, or allow less. Or "
        "test it: opdt test, or permutation_test.",
        "time       12.5 ms (engine exhaustive)",
    ]


def test_each_condition_has_a_line_of_its_own():
    rule = Rule([Condition("age", ">=", 40), Condition("smoker", "==", "yes")], "ill")
    lines = describe_solution(replace(solve(), rule=rule), TABLE, 10).splitlines()
    assert lines[:3] == ["IF   age >= 40", "AND  smoker == 'yes'", "THEN ill"]


def test_a_rule_without_conditions_says_so():
    solution = solve(w=1, label="ill")
    assert solution.rule.conditions == ()
    assert describe_solution(solution, TABLE, 1).startswith("IF   (any row)\nTHEN ill\n")


def test_row_weights_are_shown_as_they_count():
    weighted = Table.build(
        {"age": [25, 31, 47, 52, 60]},
        ["well", "well", "ill", "ill", "ill"],
        sample_weight=[0.5, 1, 1, 0.25, 2],
    )
    text = describe_solution(discover(weighted, engine="exhaustive"), weighted, 10)
    assert "coverage   68.4 %  (3.25 of 4.75 rows, 100.0 % of all ill)" in text


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (StopReason.TIME, "time limit"),
        (StopReason.INTERRUPTED, "interrupted"),
        (StopReason.FINISHED, "the engine is a heuristic"),
    ],
)
def test_an_unproven_rule_is_shown_with_bound_and_gap(reason, words):
    unproven = replace(solve(), bound=4.5, status=Status.FEASIBLE, stopped_by=reason)
    expected = f"not proven ({words}): no allowed rule has a VI above 4.5, a gap of 1.5"
    assert expected in describe_solution(unproven, TABLE, 10)


def test_other_objectives_have_a_proof_of_their_own():
    precise = describe_solution(solve(objective="precision", label="well"), TABLE, 10)
    assert "VI" not in precise
    assert "no allowed rule with enough rows is more precise" in precise
    most = solve(objective="coverage", label="ill", min_precision=0.9)
    assert "no allowed rule covers more rows of its class" in describe_solution(most, TABLE, 10)
    cut = replace(solve(objective="precision"), value=0.75, bound=0.8, status=Status.FEASIBLE)
    assert "has a precision above 80.0 %, a gap of 5.0 points" in describe_solution(cut, TABLE, 10)
    open_ = replace(most, bound=5.0, status=Status.FEASIBLE)
    assert "covers more than 5 rows of its class, a gap of 2" in describe_solution(open_, TABLE, 10)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (Status.NO_PATTERN, "No pattern: no rule covers enough rows to pay for its errors."),
        (Status.INFEASIBLE, "No rule meets the constraints."),
        (Status.UNKNOWN, "No rule that meets the constraints was found in time."),
        (Status.FEASIBLE, "No rule that pays for its errors was found in time."),
    ],
)
def test_a_solution_without_a_rule_says_why(status, sentence):
    solution = replace(solve(), rule=None, value=0.0, bound=0.0, status=status)
    lines = describe_solution(solution, TABLE, 10).splitlines()
    assert lines[0] == sentence
    assert [line.split()[0] for line in lines[2:]] == ["status", "time"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (1234567.0, "1,234,567"), (-9.5, "-9.5"), (-0.0, "0"), (float("inf"), "∞")],
)
def test_counts_are_written_without_needless_digits(value, text):
    assert format_count(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0.0 %"),
        (0.0001, "< 0.1 %"),
        (0.5, "50.0 %"),
        (0.99949, "99.9 %"),
        (0.9999, "> 99.9 %"),
        (1, "100.0 %"),
        (float("nan"), "–"),
    ],
)
def test_a_share_is_never_rounded_to_all_or_nothing(share, text):
    assert format_share(share) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.000234, "0.234 ms"),
        (0.0125, "12.5 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 0 s"),
        (61.2, "1 min 1 s"),
        (7260, "2 h 1 min"),
    ],
)
def test_durations_have_the_unit_that_suits_them(seconds, text):
    assert format_seconds(seconds) == text
