"""Rules as JSON, version 1; `rule.schema.json` beside this file is the schema."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from opdt.errors import InputError
from opdt.rules.condition import Condition, Op
from opdt.rules.rule import Rule

VERSION = 1
_DATE = re.compile(r"-?\d{4,}(-\d\d(-\d\d(T\d\d(:\d\d(:\d\d(\.\d+)?)?)?)?)?)?")


def rule_to_dict(rule: Rule, info: dict[str, Any] | None = None) -> dict[str, Any]:
    """The rule as plain data; `info` is carried along for people and never read back."""
    if not _is_scalar(rule.label):
        raise InputError(
            f"the class {rule.label!r} cannot be written as JSON; classes are texts, numbers or "
            "booleans."
        )
    data: dict[str, Any] = {
        "opdt_rule": VERSION,
        "label": rule.label,
        "conditions": [_condition_to_dict(c) for c in rule.conditions],
    }
    if info is not None:
        data["info"] = info
    return data


def rule_from_dict(data: Any, source: str = "the rule") -> Rule:
    """The rule that `rule_to_dict` wrote; `source` names it in messages."""
    if not isinstance(data, dict) or "opdt_rule" not in data:
        raise InputError(f"{source} is not a rule of opdt: it has no key 'opdt_rule'.")
    if data["opdt_rule"] != VERSION or isinstance(data["opdt_rule"], bool):
        raise InputError(
            f"{source} has version {data['opdt_rule']!r} of the rule format, this opdt reads "
            f"version {VERSION}; write it again or update opdt."
        )
    unknown = [key for key in data if key not in ("opdt_rule", "label", "conditions", "info")]
    if unknown:
        raise InputError(f"{source} has a key {unknown[0]!r} that a rule does not have.")
    conditions, label = data.get("conditions"), data.get("label")
    if not isinstance(conditions, list):
        raise InputError(f"'conditions' of {source} must be a list, got {conditions!r}.")
    if not _is_scalar(label):
        raise InputError(f"'label' of {source} must be a text, number or boolean, got {label!r}.")
    return Rule([_condition_from_dict(c, source) for c in conditions], label)


def write_rule(path: str | Path, rule: Rule, info: dict[str, Any] | None = None) -> None:
    """Write the rule as JSON, whole or not at all."""
    path = Path(path)
    text = json.dumps(rule_to_dict(rule, info), indent=2, ensure_ascii=False, allow_nan=False)
    draft = path.with_name(path.name + ".part")
    try:
        draft.write_text(text + "\n", encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"cannot write the rule file {str(path)!r}: {error.strerror}.") from None


def read_rule(path: str | Path) -> Rule:
    """Read a rule from a JSON file."""
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the rule file {str(path)!r}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is not a JSON file: {error}.") from None
    return rule_from_dict(data, repr(str(path)))


def _is_scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (str, int))


def _encode(value: Any, feature: str) -> Any:
    if isinstance(value, np.datetime64):
        return {"datetime": str(value)}
    if not _is_scalar(value):
        raise InputError(
            f"the level {value!r} of column {feature!r} cannot be written as JSON; levels are "
            "texts, numbers, booleans or dates."
        )
    return value


def _decode(value: Any, source: str) -> Any:
    if not isinstance(value, dict):
        return value
    text = value.get("datetime")
    try:
        # The pattern keeps out what NumPy reads beyond dates: "now", and time zones.
        if len(value) == 1 and isinstance(text, str) and _DATE.fullmatch(text):
            return np.datetime64(text)
    except ValueError:
        pass
    raise InputError(f"{value!r} in {source} is not a date.")


def _condition_to_dict(condition: Condition) -> dict[str, Any]:
    data: dict[str, Any] = {"feature": condition.feature, "op": str(condition.op)}
    if condition.op is Op.IN:
        levels = sorted(condition.value, key=lambda level: (type(level).__name__, level))
        data["value"] = [_encode(level, condition.feature) for level in levels]
    elif condition.op.needs_value:
        data["value"] = _encode(condition.value, condition.feature)
    return data


def _condition_from_dict(data: Any, source: str) -> Condition:
    if not isinstance(data, dict) or not isinstance(data.get("feature"), str) or "op" not in data:
        raise InputError(f"a condition of {source} must have 'feature' and 'op', got {data!r}.")
    unknown = [key for key in data if key not in ("feature", "op", "value")]
    if unknown:
        raise InputError(f"a condition of {source} has an unknown key {unknown[0]!r}.")
    value = data.get("value")
    if isinstance(value, list):
        if data["op"] != Op.IN:
            raise InputError(f"a list of levels goes with 'in', {source} has {data['op']!r}.")
        value = [_decode(level, source) for level in value]
    else:
        value = _decode(value, source)
    try:
        return Condition(data["feature"], data["op"], value)
    except InputError as error:
        raise InputError(f"{source} cannot be used: {error}") from None
