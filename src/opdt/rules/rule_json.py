"""Rules, rule lists and rule sets as JSON, version 1; `rule.schema.json` is the schema."""

from __future__ import annotations

import json
import math
import re
from datetime import time
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from opdt.checks import check_list
from opdt.errors import InputError
from opdt.rules.condition import Condition, Op
from opdt.rules.rule import Rule
from opdt.rules.rule_list import RuleList
from opdt.rules.rule_set import RuleSet
from opdt.table import Cleaning

AnyRule = Rule | RuleList | RuleSet

VERSION = 1
_DATE = re.compile(r"-?\d{4,}(-\d\d(-\d\d(T\d\d(:\d\d(:\d\d(\.\d+)?)?)?)?)?)?")
# The key that says what a file holds, with its version, and the keys that go with it.
_RULE = ("opdt_rule", "label", "conditions", "info")
_LIST = ("opdt_rule_list", "rules", "default", "info")
_SET = ("opdt_rule_set", "label", "rules", "default", "info")


def rule_to_dict(rule: AnyRule, info: dict[str, Any] | None = None) -> dict[str, Any]:
    """The rule, rule list or rule set as plain data.

    `info` is carried along for people; no rule depends on it.
    """
    data: dict[str, Any]
    if not isinstance(rule, AnyRule):
        raise InputError(
            f"'rule' must be a Rule, RuleList or RuleSet, got {type(rule).__name__}; "
            "solution.rule is None where there is none."
        )
    if isinstance(rule, Rule):
        data = {"opdt_rule": VERSION, **_rule_body(rule)}
    elif isinstance(rule, RuleList):
        data = {"opdt_rule_list": VERSION, "rules": [_rule_body(each) for each in rule.rules]}
    else:
        bodies = [{"conditions": _conditions_to_list(each)} for each in rule.rules]
        data = {"opdt_rule_set": VERSION, "label": _encode_label(rule.label), "rules": bodies}
    if not isinstance(rule, Rule):
        data["default"] = None if rule.default is None else _encode_label(rule.default)
    if info is not None:
        data["info"] = info
    return data


def rule_to_json(rule: AnyRule, info: dict[str, Any] | None = None) -> str:
    """The rule, rule list or rule set as JSON text."""
    data = rule_to_dict(rule, info)
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    # Half a surrogate pair, which Python allows in a name, fits into no file but as an escape.
    has_halves = any("\ud800" <= character <= "\udfff" for character in text)
    return json.dumps(data, indent=2, allow_nan=False) if has_halves else text


def rule_from_dict(data: Any, source: str = "the rule") -> AnyRule:
    """The rule, rule list or rule set that `rule_to_dict` wrote; `source` names it in messages."""
    keys = next((k for k in (_RULE, _LIST, _SET) if isinstance(data, dict) and k[0] in data), None)
    if keys is None:
        raise InputError(f"{source} is not a rule of opdt: it has no key 'opdt_rule'.")
    if data[keys[0]] != VERSION or isinstance(data[keys[0]], bool):
        raise InputError(
            f"{source} has version {data[keys[0]]!r} of the rule format, this opdt reads "
            f"version {VERSION}; write it again or update opdt."
        )
    _check_keys(data, keys, source)
    if keys is _RULE:
        return _rule_from(data, source)
    bodies, default = data.get("rules"), data.get("default")
    bodies = check_list(f"'rules' of {source}", bodies)
    if "default" not in data:
        raise InputError(f"{source} has no key 'default'; null leaves rows without a class.")
    if default is not None:
        default = _decode_label(default, "default", source)
    if keys is _LIST:
        return RuleList([_part_from(each, _RULE[1:3], source) for each in bodies], default)
    label = _decode_label(data.get("label"), "label", source)
    parts = [_part_from(each, _RULE[2:3], source, {"label": label}) for each in bodies]
    return RuleSet(parts, label, default)


def write_rule(path: str | Path, rule: AnyRule, info: dict[str, Any] | None = None) -> None:
    """Write the rule, rule list or rule set as JSON, whole or not at all."""
    path = _path(path)
    text = rule_to_json(rule, info)
    draft = path.with_name(path.name + ".part")
    try:
        draft.write_text(text + "\n", encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"cannot write the rule file {str(path)!r}: {error.strerror}.") from None


def read_rule(path: str | Path) -> AnyRule:
    """Read a rule, rule list or rule set from a JSON file."""
    return rule_from_dict(_read(path), repr(str(path)))


def read_info(path: str | Path) -> dict[str, Any]:
    """What is written beside the rule of a file for people; nothing in it is checked."""
    info = _read(path).get("info")
    return info if isinstance(info, dict) else {}


def _read(path: str | Path) -> Any:
    path = _path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the rule file {str(path)!r}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is not a JSON file: {error}.") from None


def _path(path: object) -> Path:
    if not isinstance(path, (str, PathLike)):
        raise InputError(f"'path' must name a file, got {type(path).__name__}.")
    return Path(path)


def _rule_body(rule: Rule) -> dict[str, Any]:
    return {"label": _encode_label(rule.label), "conditions": _conditions_to_list(rule)}


def _conditions_to_list(rule: Rule) -> list[dict[str, Any]]:
    return [_condition_to_dict(condition) for condition in rule.conditions]


def _rule_from(data: dict[str, Any], source: str) -> Rule:
    conditions = check_list(f"'conditions' of {source}", data.get("conditions"))
    label = _decode_label(data.get("label"), "label", source)
    return Rule([_condition_from_dict(c, source) for c in conditions], label)


def _part_from(
    data: Any, keys: tuple[str, ...], source: str, more: dict[str, Any] | None = None
) -> Rule:
    """One rule of a list or a set."""
    if not isinstance(data, dict):
        raise InputError(f"a rule of {source} must have 'conditions', got {data!r}.")
    _check_keys(data, keys, f"a rule of {source}")
    return _rule_from({**data, **(more or {})}, source)


def _check_keys(data: dict[str, Any], keys: tuple[str, ...], source: str) -> None:
    unknown = [key for key in data if key not in keys]
    if unknown:
        raise InputError(f"{source} has a key {unknown[0]!r} that a rule does not have.")


def _encode_label(label: Any) -> Any:
    if not _is_scalar(label):
        raise InputError(
            f"the class {label!r} cannot be written as JSON; classes are texts, numbers or "
            "booleans."
        )
    return label


def _decode_label(label: Any, key: str, source: str) -> Any:
    if not _is_scalar(label):
        raise InputError(f"{key!r} of {source} must be a text, number or boolean, got {label!r}.")
    return label


def _is_scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (str, int))


def _encode(value: Any, feature: str) -> Any:
    if isinstance(value, np.datetime64):
        return {"datetime": str(value)}
    if isinstance(value, time) and value.tzinfo is None:
        return {"time": value.isoformat()}
    if not _is_scalar(value):
        raise InputError(
            f"the level {value!r} of column {feature!r} cannot be written as JSON; levels are "
            "texts, numbers, booleans, dates or times of day."
        )
    return value


def _decode(value: Any, source: str) -> Any:
    if not isinstance(value, dict):
        return value
    text = value.get("datetime")
    try:
        if len(value) == 1 and isinstance(value.get("time"), str):
            return _time(value["time"])
        # The pattern keeps out what NumPy reads beyond dates: "now", and time zones.
        if len(value) == 1 and isinstance(text, str) and _DATE.fullmatch(text):
            return np.datetime64(text)
    except ValueError:
        pass
    raise InputError(f"{value!r} in {source} is not a date or a time of day.")


def _time(text: str) -> time:
    """A time of day, as `isoformat` writes it."""
    found = time.fromisoformat(text)
    if found.tzinfo is not None or found.isoformat() != text:
        raise ValueError(text)
    return found


def _condition_to_dict(condition: Condition) -> dict[str, Any]:
    data: dict[str, Any] = {"feature": condition.feature, "op": str(condition.op)}
    if condition.op is Op.IN:
        levels = sorted(condition.value, key=lambda level: (type(level).__name__, level))
        data["value"] = [_encode(level, condition.feature) for level in levels]
    elif condition.op.needs_value:
        data["value"] = _encode(condition.value, condition.feature)
    if condition.cleaning is not None:
        data["cleaning"] = condition.cleaning.to_dict()
    return data


def _condition_from_dict(data: Any, source: str) -> Condition:
    if not isinstance(data, dict) or not isinstance(data.get("feature"), str) or "op" not in data:
        raise InputError(f"a condition of {source} must have 'feature' and 'op', got {data!r}.")
    unknown = [key for key in data if key not in ("feature", "op", "value", "cleaning")]
    if unknown:
        raise InputError(f"a condition of {source} has an unknown key {unknown[0]!r}.")
    value = data.get("value")
    if isinstance(value, list):
        if data["op"] != Op.IN:
            raise InputError(f"a list of levels goes with 'in', {source} has {data['op']!r}.")
        value = [_decode(level, source) for level in value]
    else:
        value = _decode(value, source)
    cleaning = data.get("cleaning")
    if cleaning is not None:
        cleaning = Cleaning.from_dict(cleaning, source)
    try:
        return Condition(data["feature"], data["op"], value, cleaning)
    except InputError as error:
        raise InputError(f"{source} cannot be used: {error}") from None
