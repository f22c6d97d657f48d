"""Rules as PMML: valid against the schema of PMML 4.4, and true where the rule fires."""

from __future__ import annotations

import datetime as dt
import importlib.util
import operator
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from lxml import etree

from export_cases import cases
from opdt.errors import InputError
from opdt.rules import Condition, Rule, RuleList, RuleSet

NAMESPACE = "{http://www.dmg.org/PMML-4_4}"
# XML has no way to write other control characters.
PRINTABLE = {chr(code) for code in range(32) if code not in (9, 10, 13)} | {"\ufffe", "\uffff"}


@pytest.fixture(scope="module")
def schema():
    """The schema of PMML 4.4, from OPDT_PMML_SCHEMA or from the package sklearn2pmml.

    That package holds the schema in a Java archive; nothing of it is run, and the schema is not
    ours to copy.
    """
    if path := os.environ.get("OPDT_PMML_SCHEMA"):
        return etree.XMLSchema(etree.fromstring(Path(path).read_bytes()))
    found = importlib.util.find_spec("sklearn2pmml")
    if found is None or found.origin is None:
        pytest.skip("no schema of PMML 4.4; install sklearn2pmml or set OPDT_PMML_SCHEMA")
    (archive,) = Path(found.origin).parent.glob("resources/pmml-model-1*.jar")
    with zipfile.ZipFile(archive) as files:
        return etree.XMLSchema(etree.fromstring(files.read("pmml.xsd")))


# -- an interpreter of what is needed here, written from the specification -----------------------

READ = {
    "string": str,
    "double": float,
    "integer": int,
    "boolean": lambda text: {"true": True, "false": False}[text],
    "dateTime": dt.datetime.fromisoformat,
}
COMPARE = {
    "equal": operator.eq,
    "notEqual": operator.ne,
    "lessThan": operator.lt,
    "greaterOrEqual": operator.ge,
}


class Model:
    """Evaluates a RuleSetModel with the criterion firstHit."""

    def __init__(self, text):
        root = etree.fromstring(text.encode())
        self.types = {
            field.get("name"): field.get("dataType") for field in root.iter(f"{NAMESPACE}DataField")
        }
        (self.target,) = (
            field.get("name")
            for field in root.iter(f"{NAMESPACE}MiningField")
            if field.get("usageType") == "target"
        )
        (self.rules,) = root.iter(f"{NAMESPACE}RuleSet")
        assert self.rules[0].get("criterion") == "firstHit"

    def score(self, row):
        """The score of the first rule that is true, the default score, or None."""
        for rule in self.rules[1:]:
            if self.holds(rule[0], row) is True:
                return self.label(rule.get("score"))
        return self.label(self.rules.get("defaultScore"))

    def label(self, text):
        return None if text is None else READ[self.types[self.target]](text)

    def holds(self, predicate, row):
        """True, False, or None for unknown."""
        tag = predicate.tag.removeprefix(NAMESPACE)
        if tag in ("True", "False"):
            return tag == "True"
        if tag == "CompoundPredicate":
            parts = [self.holds(part, row) for part in predicate]
            decisive = predicate.get("booleanOperator") == "or"
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
        cell, name = row[predicate.get("field")], predicate.get("operator")
        cell = cell.item() if hasattr(cell, "item") else cell
        missing = cell is None or cell != cell
        if name in ("isMissing", "isNotMissing"):
            return missing == (name == "isMissing")
        if missing:
            return None
        value = READ[self.types[predicate.get("field")]](predicate.get("value"))
        return COMPARE[name](cell, value)


# -- tests ---------------------------------------------------------------------------------------


def is_writable(case):
    texts = [*case.columns]
    for rule in getattr(case.rule, "rules", (case.rule,)):
        for condition in rule.conditions:
            values = condition.value if condition.op == "in" else [condition.value]
            texts += [value for value in values if isinstance(value, str)]
    return not PRINTABLE & set("".join(texts))


@settings(max_examples=60)
@given(case=cases().filter(is_writable))
def test_the_document_is_valid(schema, case):
    text = case.rule.to_pmml(types=case.types)
    note(text)
    schema.assertValid(etree.fromstring(text.encode()))


@given(case=cases().filter(is_writable))
def test_the_document_agrees_row_by_row(case):
    text = case.rule.to_pmml(types=case.types)
    note(text)
    model = Model(text)
    found = [model.score(dict(zip(case.columns, row, strict=True))) for row in case.rows]
    if isinstance(case.rule, Rule):
        covered = case.rule.covers(case.columns).tolist()
        assert found == [case.rule.label if fires else None for fires in covered]
    else:
        assert found == case.rule.predict(case.columns).tolist()


def test_the_document_reads_well():
    rule = Rule([Condition("age", ">=", 40), Condition("smoker", "==", "yes")], "ill")
    lines = [line.strip() for line in RuleList([rule], "well").to_pmml().splitlines()]
    start = lines.index('<RuleSet defaultScore="well" defaultConfidence="1">')
    assert lines[start : start + 8] == [
        '<RuleSet defaultScore="well" defaultConfidence="1">',
        '<RuleSelectionMethod criterion="firstHit" />',
        '<SimpleRule id="1" score="ill">',
        '<CompoundPredicate booleanOperator="and">',
        '<SimplePredicate field="age" operator="greaterOrEqual" value="40" />',
        '<SimplePredicate field="smoker" operator="equal" value="yes" />',
        "</CompoundPredicate>",
        "</SimpleRule>",
    ]


def test_a_rule_may_have_a_default_score():
    rule = Rule([Condition("age", ">=", 40)], "ill")
    assert Model(rule.to_pmml()).score({"age": 30}) is None
    assert Model(rule.to_pmml(default="well")).score({"age": 30}) == "well"


def test_the_predicted_field_has_a_name_of_its_own():
    rule = Rule([Condition("class", "==", "a"), Condition("class_", "==", "b")], 1)
    assert Model(rule.to_pmml()).target == "class__"
    assert Model(rule.to_pmml(target="risk")).target == "risk"


def test_a_rule_set_without_rules_is_its_default(schema):
    text = RuleSet([], "ill", "well").to_pmml()
    schema.assertValid(etree.fromstring(text.encode()))
    assert Model(text).score({}) == "well"


@pytest.mark.parametrize("text", ["a\x00", "\x1b", "\ud800", "\uffff"])
def test_a_character_that_xml_does_not_have_is_refused(text):
    with pytest.raises(InputError, match="a character that XML has no way to write"):
        Rule([Condition(text, ">=", 1)], 1).to_pmml()
    with pytest.raises(InputError, match="a character that XML has no way to write"):
        Rule([Condition("x", "==", text)], 1).to_pmml()
