"""Rules as JSON, version 1; `rule.schema.json` beside this file is the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from opdt.errors import InputError
from opdt.rules.condition import Condition, Op
from opdt.rules.rule import Rule

VERSION = 1


def rule_to_dict(rule: Rule, info: dict[str, Any] | None = None) -> dict[str, Any]:
    """The rule as plain data; `info` is carried along for people and never read back."""
    data: dict[str, Any] = {
        "opdt_rule": VERSION,
        "label": _encode(rule.label),
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
    unknown = sorted(set(data) - {"opdt_rule", "label", "conditions", "info"})
    if unknown:
        raise InputError(f"{source} has a key {unknown[0]!r} that a rule does not have.")
    conditions, label = data.get("conditions"), data.get("label")
    if not isinstance(conditions, list):
        raise InputError(f"'conditions' of {source} must be a list, got {conditions!r}.")
    if not isinstance(label, (str, int, float)) or label != label:
        raise InputError(f"'label' of {source} must be a text, number or boolean, got {label!r}.")
    return Rule([_condition_from_dict(c, source) for c in conditions], label)


def write_rule(path: str | Path, rule: Rule, info: dict[str, Any] | None = None) -> None:
    """Write the rule as JSON, whole or not at all."""
    path = Path(path)
    text = json.dumps(rule_to_dict(rule, info), indent=2, ensure_ascii=False, allow_nan=False)
    draft = path.with_name(path.name + ".part")
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(path)


def read_rule(path: str | Path) -> Rule:
    """Read a rule from a JSON file."""
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the rule file {str(path)!r}: {error.strerror}.") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is not a JSON file: {error}.") from None
    return rule_from_dict(data, repr(str(path)))


def _encode(value: Any) -> Any:
    return {"datetime": str(value)} if isinstance(value, np.datetime64) else value


def _condition_to_dict(condition: Condition) -> dict[str, Any]:
    data: dict[str, Any] = {"feature": condition.feature, "op": str(condition.op)}
    if condition.op is Op.IN:
        data["value"] = sorted(condition.value, key=lambda v: (type(v).__name__, v))
    elif condition.op.needs_value:
        data["value"] = _encode(condition.value)
    return data


def _condition_from_dict(data: Any, source: str) -> Condition:
    if not isinstance(data, dict) or not isinstance(data.get("feature"), str) or "op" not in data:
        raise InputError(f"a condition of {source} must have 'feature' and 'op', got {data!r}.")
    unknown = sorted(set(data) - {"feature", "op", "value"})
    if unknown:
        raise InputError(f"a condition of {source} has an unknown key {unknown[0]!r}.")
    value = data.get("value")
    if isinstance(value, dict):
        try:
            value = np.datetime64(value["datetime"])
        except (KeyError, ValueError, TypeError):
            raise InputError(f"{value!r} in {source} is not a date.") from None
    elif isinstance(value, list):
        if not all(isinstance(v, (str, int, float)) for v in value):
            raise InputError(f"the levels {value!r} in {source} must be texts or numbers.")
        if data["op"] != Op.IN:
            raise InputError(f"a list of levels goes with 'in', {source} has {data['op']!r}.")
    return Condition(data["feature"], data["op"], value)
