"""Rule sets: any of the rules may fire."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings

from export_cases import cases
from opdt.errors import InputError
from opdt.rules import Condition, Rule, RuleSet

OLD, SMOKES = Condition("age", ">=", 60), Condition("smoker", "==", "yes")
FIRST, SECOND = Rule([OLD], "ill"), Rule([SMOKES], "ill")
RULES = RuleSet([FIRST, SECOND], "ill", "well")
X = {"age": [70, 30, None, 30], "smoker": ["no", "yes", None, "no"]}


def test_any_rule_may_fire():
    assert RULES.covers(X).tolist() == [True, True, False, False]
    assert RULES.predict(X).tolist() == ["ill", "ill", "well", "well"]


@settings(max_examples=40)
@given(case=cases(forms=["set"]))
def test_what_is_covered_is_what_the_rules_cover_together(case):
    covered = np.zeros(len(case.rows), dtype=bool)
    for rule in case.rule.rules:
        covered |= rule.covers(case.columns)
    assert np.array_equal(case.rule.covers(case.columns), covered)
    labels = [case.rule.label if fires else case.rule.default for fires in covered]
    assert case.rule.predict(case.columns).tolist() == labels


def test_a_set_without_rules_covers_nothing():
    rules = RuleSet([], "ill", None)
    assert rules.covers(X).tolist() == [False] * 4
    assert rules.predict(X).tolist() == [None] * 4
    assert str(rules) == "IF (no row)\nTHEN ill\nELSE None"


def test_order_and_repetition_do_not_matter():
    assert RuleSet([SECOND, FIRST, SECOND], "ill", "well") == RULES
    assert hash(RuleSet([SECOND, FIRST], "ill", "well")) == hash(RULES)
    assert len(RuleSet([FIRST, FIRST], "ill", "well")) == 1
    assert RuleSet([FIRST], "ill", "well") != RULES
    assert RuleSet([], "ill", 1) != RuleSet([], "ill", True)
    assert RULES != FIRST


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_copies_are_equal(copied):
    assert copied(RULES) == RULES


def test_a_set_reads_well():
    assert RULES.features == ("age", "smoker")
    assert (RULES.label, RULES.default) == ("ill", "well")
    assert str(RULES) == "IF age >= 60\nOR smoker == 'yes'\nTHEN ill\nELSE well"
    assert repr(RuleSet([], 1, 0)) == "RuleSet([], 1, 0)"


def test_rules_for_another_class_are_refused():
    with pytest.raises(InputError, match="point to its class 1, got one that points to True"):
        RuleSet([Rule([OLD], True)], 1, 0)
    with pytest.raises(InputError, match="a rule set is made of Rule objects, got"):
        RuleSet([OLD], 1, 0)
