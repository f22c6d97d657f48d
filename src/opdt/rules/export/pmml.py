"""Rules as PMML 4.4: one RuleSetModel, in which the first rule that is true decides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from opdt.errors import InputError
from opdt.rules.condition import Op
from opdt.rules.export.cases import Cases, check_labels, kind_of
from opdt.rules.export.numbers import is_whole
from opdt.rules.export.plan import ColumnType, Test, plan

NAMESPACE = "http://www.dmg.org/PMML-4_4"

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DATA_TYPES = {
    ColumnType.BOOLEAN: "boolean",
    ColumnType.DATE: "dateTime",
    ColumnType.FLOAT: "double",
    ColumnType.INTEGER: "double",  # readers may take an integer for one of 32 bits
    ColumnType.NUMBER: "double",
    ColumnType.TEXT: "string",
    ColumnType.UNKNOWN: "string",
}
_OPERATORS = {
    Op.GE: "greaterOrEqual",
    Op.LT: "lessThan",
    Op.IN: "equal",
    Op.NE: "notEqual",
    Op.MISSING: "isMissing",
    Op.PRESENT: "isNotMissing",
}


def pmml(cases: Cases, target: str, types: Mapping[str, str] | None = None) -> str:
    """The document as text.

    In PMML as in opdt, a missing value makes no predicate true but `isMissing`, so the predicates
    need no guards. A rule set of opdt needs no other model: its rules have the same score.
    """
    check_labels(cases)
    fields = _fields(plan(cases.rules, types))
    # Beyond 2**53 a double may round whole numbers, so the column must be one of them.
    wide = {name: "integer" for name, tests in fields.items() if _is_wide(tests)}
    plans = plan(cases.rules, {**(types or {}), **wide})
    fields = _fields(plans)
    while target in fields:
        target += "_"
    root = Element("PMML", version="4.4", xmlns=NAMESPACE)
    header = SubElement(root, "Header")
    SubElement(header, "Application", name="opdt", version=version("opdt"))
    dictionary = SubElement(root, "DataDictionary", numberOfFields=str(len(fields) + 1))
    for name, tests in fields.items():
        _data_field(dictionary, name, tests)
    _target_field(dictionary, target, cases)
    model = SubElement(root, "RuleSetModel", functionName="classification", algorithmName="opdt")
    schema = SubElement(model, "MiningSchema")
    for name in fields:
        SubElement(schema, "MiningField", name=_checked(name))
    SubElement(schema, "MiningField", name=_checked(target), usageType="target")
    rules = SubElement(model, "RuleSet")
    if cases.default is not None:
        rules.set("defaultScore", _text(cases.default))
        rules.set("defaultConfidence", "1")  # as the rules have by default; some readers insist
    SubElement(rules, "RuleSelectionMethod", criterion="firstHit")
    for number, (rule, tests) in enumerate(zip(cases.rules, plans, strict=True), 1):
        simple = SubElement(rules, "SimpleRule", id=str(number), score=_text(rule.label))
        simple.append(_compound("and", [_predicate(test) for test in tests], "True"))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _fields(plans: list[list[Test]]) -> dict[str, list[Test]]:
    fields: dict[str, list[Test]] = {}
    for tests in plans:
        for test in tests:
            fields.setdefault(test.feature, []).append(test)
    return fields


def _is_wide(tests: list[Test]) -> bool:
    """Whether a column holds whole numbers for certain and is compared with one beyond 2**53."""
    of = tests[0].type
    if of not in (ColumnType.INTEGER, ColumnType.NUMBER):
        return False
    wide = [value for test in tests for value in test.values if is_whole(value)]
    return bool(wide) and (of is ColumnType.INTEGER or any(float(v) != v for v in wide))


def _data_field(parent: Element, name: str, tests: list[Test]) -> None:
    data_type = "integer" if _is_wide(tests) else _DATA_TYPES[tests[0].type]
    is_ordered = any(test.op in (Op.GE, Op.LT) for test in tests)
    field = SubElement(
        parent,
        "DataField",
        name=_checked(name),
        optype="continuous" if is_ordered else "categorical",
        dataType=data_type,
    )
    if data_type == "double":
        SubElement(field, "Value", value="NaN", property="missing")


def _target_field(parent: Element, target: str, cases: Cases) -> None:
    kinds = {"text": "string", "boolean": "boolean", "number": "integer"}
    data_type = kinds[kind_of(cases.labels[0])] if cases.labels else "string"
    if any(isinstance(label, float) for label in cases.labels):
        data_type = "double"
    field = SubElement(
        parent, "DataField", name=_checked(target), optype="categorical", dataType=data_type
    )
    for label in dict.fromkeys(map(_text, cases.labels)):
        SubElement(field, "Value", value=label)


def _predicate(test: Test) -> Element:
    field, operator = _checked(test.feature), _OPERATORS[test.op]
    if not test.op.needs_value:
        return Element("SimplePredicate", field=field, operator=operator)
    parts = [
        Element("SimplePredicate", field=field, operator=operator, value=_text(value))
        for value in test.values
    ]
    return _compound("or", parts, "False")


def _compound(operator: str, parts: list[Element], empty: str) -> Element:
    """Several predicates as one, a single one as it is, and a constant for none."""
    if len(parts) < 2:
        return parts[0] if parts else Element(empty)
    compound = Element("CompoundPredicate", booleanOperator=operator)
    compound.extend(parts)
    return compound


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return _checked(str(value))


def _checked(text: str) -> str:
    if _NOT_IN_XML.search(text):
        raise InputError(
            f"the text {text!r} holds a character that XML has no way to write; rename it."
        )
    return text
