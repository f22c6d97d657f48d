"""Rule lists: the first rule that fires decides."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings

from export_cases import cases
from opdt.errors import InputError
from opdt.rules import Condition, Rule, RuleList

OLD, SMOKES = Condition("age", ">=", 60), Condition("smoker", "==", "yes")
HIGH, MEDIUM = Rule([OLD, SMOKES], "high"), Rule([SMOKES], "medium")
RULES = RuleList([HIGH, MEDIUM], "low")
X = {"age": [70, 30, None, 70], "smoker": ["yes", "yes", "yes", "no"]}


def test_the_first_rule_that_fires_decides():
    assert RULES.fires(X).tolist() == [0, 1, 1, -1]
    assert RULES.predict(X).tolist() == ["high", "medium", "medium", "low"]
    assert RULES.covers(X).tolist() == [True, True, True, False]


@settings(max_examples=40)
@given(case=cases(forms=["list"]))
def test_what_fires_is_what_the_rules_cover_one_by_one(case):
    covered = [rule.covers(case.columns) for rule in case.rule.rules]
    n_rows = len(case.rows)
    expected = [next((i for i, c in enumerate(covered) if c[row]), -1) for row in range(n_rows)]
    assert case.rule.fires(case.columns).tolist() == expected
    labels = [*(rule.label for rule in case.rule.rules), case.rule.default]
    assert case.rule.predict(case.columns).tolist() == [labels[i] for i in expected]


@pytest.mark.parametrize(
    ("labels", "default", "kind"),
    [
        (["a", "bb"], "c", "U"),
        ([1, 2], 0, "i"),
        ([1, 2], 0.5, "f"),
        ([True, False], True, "b"),
        (["a", 1], "b", "O"),
        (["a", "b"], None, "O"),
        ([True, 1], 0, "O"),
    ],
)
def test_classes_keep_their_type(labels, default, kind):
    rules = RuleList([Rule([OLD], labels[0]), Rule([SMOKES], labels[1])], default)
    found = rules.predict(X)
    assert found.dtype.kind == kind
    assert found.tolist() == [labels[0], labels[1], labels[1], labels[0]]
    assert list(map(type, found.tolist()))[1] is type(labels[1]) or kind == "f"


def test_a_list_without_rules_is_its_default():
    rules = RuleList([], "low")
    assert rules.predict(X).tolist() == ["low"] * 4
    assert str(rules) == "low"
    assert len(rules) == 0


def test_files_are_read_once(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("age,smoker\n70,yes\n30,yes\n,no\n")
    assert RULES.predict(path).tolist() == ["high", "medium", "low"]


def test_the_order_matters_and_equality_does_not_depend_on_how_it_was_made():
    assert RuleList((HIGH, MEDIUM), np.str_("low")) == RULES
    assert hash(RuleList((HIGH, MEDIUM), "low")) == hash(RULES)
    assert RuleList([MEDIUM, HIGH], "low") != RULES
    assert RuleList([HIGH], "low") != RULES
    assert RuleList([], 1) != RuleList([], True)
    assert RULES != HIGH


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_copies_are_equal(copied):
    assert copied(RULES) == RULES


def test_a_list_reads_well():
    assert RULES.features == ("age", "smoker")
    assert RULES.rules == (HIGH, MEDIUM)
    assert str(RULES).splitlines() == [
        "IF age >= 60 AND smoker == 'yes' THEN high",
        "ELSE IF smoker == 'yes' THEN medium",
        "ELSE low",
    ]
    assert repr(RuleList([], "low")) == "RuleList([], 'low')"


@pytest.mark.parametrize("part", [OLD, "age >= 60", None, [HIGH]])
def test_what_is_no_rule_is_refused(part):
    with pytest.raises(InputError, match="a rule list is made of Rule objects, got"):
        RuleList([part], 1)
