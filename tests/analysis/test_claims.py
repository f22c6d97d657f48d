from __future__ import annotations

from dataclasses import replace

import pytest

from opdt import Condition, InputError, Rule, Solution, Status
from opdt.analysis.claims import claim
from opdt.analysis.intervals import holdout_report
from opdt.analysis.permutation import PermutationTest
from opdt.solution import StopReason

RULE = Rule([Condition("age", ">=", 40)], "ill")
BEST = Solution(RULE, 30.0, 30.0, Status.OPTIMAL, covered=40, errors=1)
FOUND = replace(BEST, bound=34.5, status=Status.FEASIBLE)
NONE = Solution(None, 0.0, 0.0, Status.NO_PATTERN)


def a_test(p_value: float, solution: Solution = BEST, **fields) -> PermutationTest:
    known = {
        "hits": 0,
        "n_undecided": 0,
        "n_done": 999,
        "n_permutations": 999,
        "stopped_early": False,
        "stopped_by": StopReason.FINISHED,
        "alpha": 0.05,
        "n_rows": 100,
        "n_strata": 1,
        "seed": 0,
        "seconds": 1.0,
    }
    return PermutationTest(p_value=p_value, solution=solution, **(known | fields))


def held_out(covered: int, correct: int, others_ill: int, others_well: int):
    ages = [50] * covered + [20] * (others_ill + others_well)
    wrong = covered - correct
    states = ["ill"] * correct + ["well"] * wrong + ["ill"] * others_ill + ["well"] * others_well
    return holdout_report(RULE, {"age": ages}, states)


def test_a_proof_alone_is_a_claim_about_these_rows_only():
    made = claim(BEST)
    assert made.may == (
        "No rule of the kind searched has a larger VI on these rows than “IF age >= 40 THEN ill”."
    )
    assert made.may_not == (
        "Not shown: that 97.5%, the precision on the rows that the rule was chosen on, holds for "
        "new rows, that the pattern is more than chance, or that the features cause the class."
    )


def test_without_a_proof_the_gap_is_said():
    may = claim(FOUND).may
    assert "the best rule that was found" in may
    assert "more than 4.5 above it" in may
    assert "No rule of the kind searched has a larger VI" not in may
    assert "without any proof" in claim(replace(FOUND, bound=float("inf"))).may


def test_a_small_p_value_is_evidence_of_an_association_not_of_each_condition():
    made = claim(test=a_test(0.001))
    assert "a rule as good is rare (p = 0.001, the whole search repeated 999 times)" in made.may
    assert "that each condition or threshold is needed" in made.may_not
    assert "more than chance" not in made.may_not


def test_a_large_p_value_takes_the_pattern_back():
    made = claim(BEST, test=a_test(0.4))
    assert "these rows alone are no evidence of a pattern" in made.may
    assert "is rare" not in made.may
    assert "that there is no pattern" in made.may_not


def test_the_level_of_the_test_decides_what_is_rare():
    assert "is rare" in claim(test=a_test(0.05)).may
    assert "is rare" not in claim(test=a_test(0.05, alpha=0.01)).may


def test_strata_are_part_of_the_claim():
    assert "shuffled within the strata" in claim(test=a_test(0.001, n_strata=4)).may


def test_a_test_that_was_cut_short_says_so():
    made = claim(test=a_test(0.02, n_done=100, stopped_by=StopReason.TIME))
    assert "repeated 100 times" in made.may
    assert "a sharper p-value than 100 of 999 permutations give" in made.may_not


def test_held_out_rows_give_a_precision_with_its_interval():
    made = claim(test=a_test(0.001), holdout=held_out(20, 19, 11, 70))
    assert (
        "on 101 held-out rows it fired 20 times and was right 19 times, a precision of 95.0% "
        "(95% interval 75.1% to 99.9%) where 29.7% of the rows are ill." in made.may
    )
    assert "chance" not in made.may
    assert "97.5%" not in made.may_not
    assert "where rows come from elsewhere or later" in made.may_not


def test_a_precision_like_the_base_rate_may_be_chance():
    made = claim(BEST, holdout=held_out(10, 5, 45, 40))
    assert "which may be chance (p = " in made.may


def test_a_rule_that_never_fires_has_no_precision_to_claim():
    made = claim(BEST, holdout=held_out(0, 0, 5, 5))
    assert "on 10 held-out rows the rule never fired" in made.may
    assert "any precision on new rows" in made.may_not


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.NO_PATTERN, "gains more than its errors cost"),
        (Status.INFEASIBLE, "meets the constraints"),
        (Status.UNKNOWN, "nothing may be claimed"),
        (Status.FEASIBLE, "nothing may be claimed"),
    ],
)
def test_without_a_rule_nothing_is_said_about_one(status, words):
    made = claim(replace(NONE, status=status))
    assert words in made.may
    assert "does not show that features and classes are unrelated" in made.may_not


@pytest.mark.parametrize("solution", [BEST, FOUND, NONE])
@pytest.mark.parametrize("p_value", [None, 0.001, 0.9])
@pytest.mark.parametrize("rows", [None, (20, 19, 11, 70), (10, 5, 45, 40), (0, 0, 5, 5)])
def test_each_part_is_one_sentence_and_none_speaks_of_causes_as_shown(solution, p_value, rows):
    test = None if p_value is None else a_test(p_value, solution)
    made = claim(solution, test=test, holdout=None if rows is None else held_out(*rows))
    for sentence in (made.may, made.may_not):
        assert sentence.endswith(".")
        assert ". " not in sentence
        assert "\n" not in sentence
    assert "cause" not in made.may
    assert str(made) == f"{made.may}\n{made.may_not}"


def test_a_claim_is_about_one_rule():
    with pytest.raises(InputError, match="'solution' or 'test' must be given"):
        claim()
    with pytest.raises(InputError, match="another rule"):
        claim(BEST, test=a_test(0.01, replace(BEST, value=31.0, bound=31.0)))
