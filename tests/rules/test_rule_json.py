"""Rules as JSON: there and back, held to the schema, and refused where they are not rules."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.errors import InputError
from opdt.rules import (
    Condition,
    Rule,
    RuleList,
    RuleSet,
    read_rule,
    rule_from_dict,
    rule_to_dict,
    write_rule,
)

SCHEMA = json.loads(files("opdt.rules").joinpath("rule.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

names = st.text(max_size=8)
finite = st.floats(allow_nan=False, allow_infinity=False)
dates = st.builds(
    lambda ticks, unit: np.datetime64(ticks, unit),
    st.integers(-(10**9), 10**9),
    st.sampled_from(["D", "h", "m", "s", "ms", "us", "ns"]),
)
levels = st.text(max_size=5) | st.integers(-(2**70), 2**70) | finite | st.booleans() | dates
conditions = st.one_of(
    st.builds(Condition, names, st.sampled_from([">=", "<"]), finite | st.integers() | dates),
    st.builds(Condition, names, st.sampled_from(["==", "!="]), levels),
    st.builds(Condition, names, st.just("in"), st.lists(levels, min_size=1, max_size=4)),
    st.builds(Condition, names, st.sampled_from(["is missing", "is present"])),
)
labels = st.text(max_size=5) | st.integers() | st.booleans() | finite
rules = st.builds(Rule, st.lists(conditions, max_size=4), labels)
rule_lists = st.builds(RuleList, st.lists(rules, max_size=3), labels | st.none())
bodies = st.lists(st.lists(conditions, max_size=3), max_size=3)
rule_sets = st.builds(
    lambda bodies, label, default: RuleSet([Rule(b, label) for b in bodies], label, default),
    bodies,
    labels,
    labels | st.none(),
)


def is_valid(data):
    return VALIDATOR.is_valid(data)


# -- there and back ------------------------------------------------------------------------------


@given(rules)
def test_a_rule_comes_back_from_json(rule):
    data = json.loads(json.dumps(rule_to_dict(rule), allow_nan=False))
    assert is_valid(data)
    again = rule_from_dict(data)
    assert again == rule
    assert again.conditions == rule.conditions
    assert type(again.label) is type(rule.label)
    for one, other in zip(again.conditions, rule.conditions, strict=True):
        assert type(one.value) is type(other.value)


@given(rule_lists | rule_sets)
def test_rule_lists_and_rule_sets_come_back_from_json(rules):
    text = rules.to_json()
    data = json.loads(text)
    assert is_valid(data)
    assert data == rule_to_dict(rules)
    again = rule_from_dict(data)
    assert again == rules
    assert again.rules == rules.rules
    assert type(again.default) is type(rules.default)


@given(rules)
def test_writing_the_same_rule_gives_the_same_text(rule):
    turned = Rule(rule.conditions, rule.label)
    assert json.dumps(rule_to_dict(turned)) == json.dumps(rule_to_dict(rule))


def test_a_rule_comes_back_from_a_file(tmp_path):
    path = tmp_path / "regel ü.json"
    rule = Rule(
        [
            Condition("größe", ">=", 1.5),
            Condition("day", "<", np.datetime64("2024-03-01T10:30")),
            Condition("site", "in", ["b", "a", 3]),
            Condition("bmi", "is missing"),
        ],
        "kränk",
    )
    write_rule(path, rule, info={"vi": 12.5})
    assert read_rule(path) == read_rule(str(path)) == rule
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["info"] == {"vi": 12.5}
    assert data["conditions"][1]["value"] == {"datetime": "2024-03-01T10:30"}
    assert data["conditions"][2]["value"] == [3, "a", "b"]
    assert is_valid(data)
    assert "größe" in path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]  # no draft is left


def test_rule_lists_and_rule_sets_come_back_from_a_file(tmp_path):
    path = tmp_path / "rules.json"
    rule = Rule([Condition("age", ">=", 40)], "ill")
    for rules in (RuleList([rule], "well"), RuleSet([rule], "ill", None)):
        write_rule(path, rules, info={"vi": 3})
        assert read_rule(path) == rules
        assert json.loads(path.read_text(encoding="utf-8"))["info"] == {"vi": 3}


def test_half_a_surrogate_pair_comes_back_from_a_file(tmp_path):
    rule = Rule([Condition("\ud800", "==", "é\udfff")], "ill")
    write_rule(tmp_path / "rule.json", rule)
    assert read_rule(tmp_path / "rule.json") == rule


def test_dates_among_levels_come_back():
    rule = Rule(
        [Condition("day", "in", [np.datetime64("2024-03-01"), np.datetime64("2024-03-02")])], 1
    )
    assert rule_from_dict(rule_to_dict(rule)) == rule


# -- refusals ------------------------------------------------------------------------------------


def like(condition=None, **changes):
    """The data of a good rule, with changes."""
    first = {"feature": "age", "op": ">=", "value": 40, **(condition or {})}
    data = {"opdt_rule": 1, "label": "ill", "conditions": [first], **changes}
    return {key: value for key, value in data.items() if value is not ...}


def several(key, **changes):
    """The data of a good rule list or rule set, with changes."""
    rule = {"label": "ill", "conditions": []} if key == "opdt_rule_list" else {"conditions": []}
    data = {key: 1, "rules": [rule], "default": "well"}
    data |= {} if key == "opdt_rule_list" else {"label": "ill"}
    return {name: value for name, value in (data | changes).items() if value is not ...}


@pytest.mark.parametrize("key", ["opdt_rule_list", "opdt_rule_set"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({"default": None}, None),
        ({"rules": []}, None),
        ({"rules": ...}, "'rules' of the rule must be a list, got None"),
        ({"rules": {}}, "'rules' of the rule must be a list"),
        ({"rules": [1]}, "a rule of the rule must have 'conditions', got 1"),
        ({"rules": [{}]}, "'conditions' of the rule must be a list, got None"),
        ({"rules": [{"conditions": [], "depth": 1}]}, "a rule of the rule has a key 'depth'"),
        ({"default": ...}, "the rule has no key 'default'; null leaves rows without a class"),
        ({"default": []}, "'default' of the rule must be a text, number or boolean, got []"),
        ({"conditions": []}, "the rule has a key 'conditions' that a rule does not have"),
    ],
)
def test_lists_and_sets_that_are_none_are_refused_by_reader_and_schema(key, changes, message):
    data = several(key, **changes)
    assert is_valid(data) == (message is None)
    if message is not None:
        with pytest.raises(InputError, match=re.escape(message)):
            rule_from_dict(data)
    else:
        assert len(rule_from_dict(data)) == len(data["rules"])


def test_each_kind_of_rule_has_its_own_keys():
    for data, message in (
        (several("opdt_rule_list", opdt_rule_list=2), "the rule has version 2 of the rule format"),
        (several("opdt_rule_list", label="ill"), "the rule has a key 'label'"),
        (several("opdt_rule_set", label=...), "'label' of the rule must be a text"),
        (several("opdt_rule_list", rules=[{"conditions": []}]), "'label' of the rule must be"),
        (
            several("opdt_rule_set", rules=[{"conditions": [], "label": "ill"}]),
            "a rule of the rule has a key 'label'",
        ),
    ):
        assert not is_valid(data)
        with pytest.raises(InputError, match=re.escape(message)):
            rule_from_dict(data)


def test_the_rule_that_is_changed_below_is_good():
    assert is_valid(like())
    assert rule_from_dict(like()) == Rule([Condition("age", ">=", 40)], "ill")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "the rule is not a rule of opdt: it has no key 'opdt_rule'"),
        (None, "the rule is not a rule of opdt"),
        ({}, "the rule is not a rule of opdt: it has no key 'opdt_rule'"),
        (like(opdt_rule=2), "the rule has version 2 of the rule format, this opdt reads version 1"),
        (like(opdt_rule="1"), "the rule has version '1' of the rule format"),
        (like(opdt_rule=None), "the rule has version None of the rule format"),
        (like(opdt_rule=True), "the rule has version True of the rule format"),
        (like(color="red"), "the rule has a key 'color' that a rule does not have"),
        (like(conditions=...), "'conditions' of the rule must be a list, got None"),
        (like(conditions={}), "'conditions' of the rule must be a list, got {}"),
        (like(label=...), "'label' of the rule must be a text, number or boolean, got None"),
        (like(label=["ill"]), "'label' of the rule must be a text, number or boolean"),
        (
            like(conditions=["age >= 40"]),
            "a condition of the rule must have 'feature' and 'op', got 'age >= 40'",
        ),
        (like(conditions=[{"op": ">="}]), "a condition of the rule must have 'feature' and 'op'"),
        (like({"feature": 3}), "a condition of the rule must have 'feature' and 'op'"),
        (like({"unit": "years"}), "a condition of the rule has an unknown key 'unit'"),
        (like({"op": ">"}), "the rule cannot be used: 'op' of a condition on 'age' must be one of"),
        (
            like({"op": ["in"]}),
            "the rule cannot be used: 'op' of a condition on 'age' must be one of",
        ),
        (like({"value": [1]}), "a list of levels goes with 'in', the rule has '>='"),
        (like({"value": {}}), "{} in the rule is not a date"),
        (like({"value": {"datetime": 3}}), "{'datetime': 3} in the rule is not a date"),
        (
            like({"value": {"datetime": "2024-02-30"}}),
            "{'datetime': '2024-02-30'} in the rule is not a date",
        ),
        (like({"value": {"datetime": "now"}}), "{'datetime': 'now'} in the rule is not a date"),
        (like({"value": {"datetime": "2024-02-03T10Z"}}), "in the rule is not a date"),
        (like({"value": {"datetime": "2024", "zone": "UTC"}}), "in the rule is not a date"),
        (like({"op": "in", "value": []}), "a condition 'age in …' needs at least one level"),
        (like({"op": "in", "value": [None]}), "a condition 'age in' needs a level"),
        (like({"op": "in", "value": [["a"]]}), "a condition 'age in' needs a level"),
        (like({"op": "in", "value": "ab"}), "a condition 'age in …' needs a set of levels"),
        (like({"op": "is missing"}), "a condition 'age is missing' takes no value, got 40"),
        (like({"value": "forty"}), "the threshold of 'age >=' must be a finite number"),
        (like({"value": None}), "the threshold of 'age >=' must be a finite number"),
        (like({"op": "==", "value": None}), "a condition 'age ==' needs a level"),
    ],
)
def test_what_is_no_rule_is_refused(data, message):
    with pytest.raises(InputError, match=re.escape(message)):
        rule_from_dict(data)


@pytest.mark.parametrize(
    "data",
    [
        like(opdt_rule=2),
        like(color="red"),
        like(label=...),
        like(conditions=...),
        like({"unit": "years"}),
        like({"op": ">"}),
        like({"value": {"datetime": "2024", "zone": "UTC"}}),
        like({"op": "in", "value": []}),
    ],
)
def test_the_schema_refuses_it_too(data):
    assert not is_valid(data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a JSON file"),
        ("{", "is not a JSON file"),
        ("[" * 100_000, "is not a JSON file"),
        ('{"opdt_rule": 1, "label": NaN, "conditions": []}', "'label' of .* must be a text"),
        ('{"opdt_rule": 1, "label": 1e999, "conditions": []}', "'label' of .* must be a text"),
        ('{"opdt_rule": 7}', "rule.json' has version 7 of the rule format"),
    ],
)
def test_a_file_that_holds_no_rule_is_refused_by_name(tmp_path, text, message):
    path = tmp_path / "rule.json"
    path.write_text(text)
    with pytest.raises(InputError, match=f"(rule.json.*{message}|{message})"):
        read_rule(path)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "rule.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"rule\.json' is not a JSON file"):
        read_rule(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"cannot read the rule file .*none\.json'.*No such file"):
        read_rule(tmp_path / "none.json")


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    rule = Rule([], 1)
    with pytest.raises(InputError, match=r"cannot write the rule file .*No such file"):
        write_rule(tmp_path / "none" / "rule.json", rule)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"cannot write the rule file .*folder'"):
        write_rule(tmp_path / "folder", rule)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_an_old_file_stays_when_the_new_rule_cannot_be_written(tmp_path):
    path = tmp_path / "rule.json"
    good = Rule([], 1)
    write_rule(path, good)
    with pytest.raises(InputError, match=r"the class .* cannot be written as JSON"):
        write_rule(path, Rule([], np.datetime64("2024-03-01")))
    assert read_rule(path) == good


@pytest.mark.parametrize("level", [(1, 2), b"a"])
def test_levels_that_json_does_not_have_are_refused(level):
    rule = Rule([Condition("x", "==", level)], 1)
    with pytest.raises(InputError, match=r"the level .* of column 'x' cannot be written as JSON"):
        rule_to_dict(rule)


def test_a_rule_in_the_place_of_the_path_is_refused(tmp_path):
    rule = Rule((), "a")
    with pytest.raises(InputError, match="'path' must name a file, got Rule"):
        write_rule(rule, tmp_path / "rule.json")
    with pytest.raises(InputError, match="'path' must name a file, got Rule"):
        read_rule(rule)
