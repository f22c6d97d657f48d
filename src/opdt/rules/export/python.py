"""Rules as Python source that needs nothing but Python."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from keyword import iskeyword
from typing import Any

import numpy as np

from opdt.rules.condition import Condition, Op
from opdt.rules.export.cases import Cases, Form, kind_of
from opdt.rules.export.cells import on_cells
from opdt.rules.export.numbers import next_double
from opdt.rules.export.plan import as_instant
from opdt.rules.export.prose import english
from opdt.rules.export.recorder import text_source
from opdt.rules.rule import Rule

_CELL = '''\
def _cell(value):
    """A cell as plain Python, None where it is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return None
    if type(value).__name__ == "Decimal":
        value = float(value)
    if hasattr(value, "item"):
        value = value.item()
    return None if value != value else value
'''
_NUMBER = '''\
def _number(value):
    """A number, read from text where a cell holds text."""
    value = _cell(value)
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        return _cell(float(value))
'''
_DATE = '''\
def _date(value):
    """A date and time without a time zone, in UTC where the cell had one."""
    if hasattr(value, "astype"):
        value = value.astype("datetime64[us]")
    value = _cell(value)
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if value is not None and value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return value
'''


_TAKEN = {"row", "datetime"}


def python_source(cases: Cases) -> str:
    """Source of `covers(row)`; of `predict(row)` for a rule list, of both for a rule set."""
    cases = replace(cases, rules=tuple(on_cells(rule) for rule in cases.rules))
    cells = _name_cells(cases)
    readers = {reader for _, reader in cells}
    parts = ["import datetime\n"] if "_date" in readers else []
    if readers:
        parts.append(_CELL)
    parts += [text for name, text in (("_number", _NUMBER), ("_date", _DATE)) if name in readers]
    if cases.form is Form.LIST:
        parts.append(_predict(cases, cells))
    else:
        parts.append(_covers(cases, cells))
    if cases.form is Form.SET:
        parts.append(_predict_by_covers(cases))
    return "\n\n".join(parts)


def _name_cells(cases: Cases) -> dict[tuple[str, str], str]:
    """A variable for each column and each way in which a rule reads it."""
    cells: dict[tuple[str, str], str] = {}
    for rule in cases.rules:
        for feature in rule.features:
            key = feature, _reader(rule, feature)
            plain = feature.isascii() and feature.isidentifier() and not iskeyword(feature)
            if not plain or feature in _TAKEN or feature[0] == "_" or feature in cells.values():
                cells.setdefault(key, f"_x{len(cells)}")
            else:
                cells.setdefault(key, feature)
    return cells


def _reader(rule: Rule, feature: str) -> str:
    """The helper that reads a cell, as `covers` reads a column: as numbers where one is asked."""
    values = [
        level
        for c in rule.conditions
        if c.feature == feature and c.op.needs_value
        for level in (c.value if c.op is Op.IN else [c.value])
    ]
    if any(isinstance(value, np.datetime64) for value in values):
        return "_date"
    is_numeric = any(c.op.is_threshold for c in rule.conditions if c.feature == feature)
    return "_number" if is_numeric else "_cell"


def _covers(cases: Cases, cells: dict[tuple[str, str], str]) -> str:
    lines = _opening("covers", cases, cells)
    rules = [_joined(_tests(rule, cells)) for rule in cases.rules]
    for rule in rules[:-1]:
        lines += [f"    if {rule}:", "        return True"]
    return "\n".join([*lines, f"    return {rules[-1] if rules else False}"]) + "\n"


def _predict(cases: Cases, cells: dict[tuple[str, str], str]) -> str:
    lines = _opening("predict", cases, cells)
    for rule in cases.rules:
        lines += [f"    if {_joined(_tests(rule, cells))}:", f"        return {_label(rule.label)}"]
    return "\n".join([*lines, f"    return {_label(cases.default)}"]) + "\n"


def _predict_by_covers(cases: Cases) -> str:
    label, default = _label(cases.rules[0].label if cases.rules else None), _label(cases.default)
    return f"def predict(row):\n    return {label} if covers(row) else {default}\n"


def _opening(name: str, cases: Cases, cells: dict[tuple[str, str], str]) -> list[str]:
    text = english(cases)
    if '"' in text or "\\" in text:
        shown = text_source(text)
    else:
        shown = '"""' + text.replace("\n", "\n    ") + '"""'
    reads = [
        f"    {variable} = {reader}(row[{text_source(feature)}])"
        for (feature, reader), variable in cells.items()
    ]
    return [f"def {name}(row):", f"    {shown}", *reads]


def _tests(rule: Rule, cells: dict[tuple[str, str], str]) -> list[str]:
    """The conditions as tests of the variables, None excluded once for each."""
    tests = []
    for feature in rule.features:
        variable = cells[feature, _reader(rule, feature)]
        conditions = [c for c in rule.conditions if c.feature == feature]
        if any(c.op in (Op.GE, Op.LT, Op.NE, Op.PRESENT) for c in conditions):
            tests.append(f"{variable} is not None")
        tests += [_test(variable, c) for c in conditions if c.op is not Op.PRESENT]
    return tests


def _test(variable: str, condition: Condition) -> str:
    op, value, feature = condition.op, condition.value, condition.feature
    if op is Op.MISSING:
        return f"{variable} is None"
    if op is Op.IN:
        levels = sorted(value, key=lambda level: (type(level).__name__, level))
        return f"{variable} in [{', '.join(_literal(level, feature) for level in levels)}]"
    return f"{variable} {op} {_literal(value, feature)}"


def _label(label: Any) -> str:
    return "None" if label is None else _literal(label, "class")


def _literal(value: Any, feature: str) -> str:
    if isinstance(value, Fraction):
        value = next_double(value)
    if kind_of(value) == "date":
        return repr(as_instant(value, feature))
    return text_source(value) if isinstance(value, str) else repr(value)


def _joined(tests: list[str]) -> str:
    if len(tests) < 3:
        return " and ".join(tests) or "True"
    return "(\n        " + "\n        and ".join(tests) + "\n    )"
