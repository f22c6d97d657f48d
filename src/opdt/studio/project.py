"""The project file: a `Work` as JSON, without the data.

The file says which version of the format it has, and anything in it that this release does not
know is refused: a project must mean the same wherever it is opened.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from opdt.errors import InputError, OpdtError
from opdt.problem.structure_file import from_dict, to_dict
from opdt.rules import Rule
from opdt.rules.rule_json import rule_from_dict, rule_to_dict
from opdt.studio.best_in import read, written
from opdt.studio.work import DataSource, Pinned, Work

VERSION = 3
READABLE = (2, 3)  # of version 2 are those before objectives and limits
VERSION_KEY = "opdt_project"
MAX_BYTES = 50_000_000

_FIELDS = tuple(each.name for each in fields(Work))
_LIMITS = ("segments", "parities")
_LISTS = ("required", "forbidden", "missing", *_LIMITS)


def write_project(work: Work) -> str:
    """The project as JSON text, in ASCII, so that any name survives any file."""
    content: dict[str, Any] = {VERSION_KEY: VERSION}
    content |= {name: getattr(work, name) for name in _FIELDS}
    content["source"] = None if work.source is None else asdict(work.source)
    content["objective"] = written(work.objective)
    for name in _LIMITS:
        content[name] = [_said(each) for each in getattr(work, name)]
    content["structure"] = to_dict(work.structure)
    content["pinned"] = [{"rule": rule_to_dict(p.rule), "note": p.note} for p in work.pinned]
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def read_project(content: str | bytes) -> Work:
    """The work of a project file."""
    try:
        return _work(_parse(content))
    except RecursionError:
        reason = "it is nested too deeply"
    except OpdtError as error:
        reason = str(error).rstrip(".")
    raise InputError(f"the project cannot be opened: {reason}.")


def _parse(content: str | bytes) -> dict[str, Any]:
    if len(content) > MAX_BYTES:
        raise InputError(f"it is larger than {MAX_BYTES // 1_000_000} MB")
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"it is no JSON file ({error})") from None
    if not isinstance(found, dict) or VERSION_KEY not in found:
        raise InputError(f"it is no project of opdt, which has a key {VERSION_KEY!r}")
    version = found.pop(VERSION_KEY)
    if type(version) is not int or version not in READABLE:
        readable = " and ".join(map(str, READABLE))
        raise InputError(f"it has version {version!r}, and this release reads versions {readable}")
    _known(found, _FIELDS, "a project")
    return found


def _work(found: dict[str, Any]) -> Work:
    said = dict(found)
    if (source := said.get("source")) is not None:
        keys = tuple(each.name for each in fields(DataSource))
        said["source"] = DataSource(**_complete(source, keys, "'source'"))
    if "structure" in said:
        if isinstance(said["structure"], dict) and "groups" in said["structure"]:
            raise InputError("the groups of a project stand beside its structure, not within it")
        said["structure"] = from_dict(said["structure"]).structure
    if "objective" in said:
        said["objective"] = read(said["objective"])
    if "pinned" in said:
        said["pinned"] = tuple(_pinned(each) for each in _list(said["pinned"], "pinned"))
    for name in _LISTS:
        if name in said:
            said[name] = tuple(_list(said[name], name))
    if isinstance(said.get("subsets"), list):
        said["subsets"] = tuple(said["subsets"])
    return Work(**said)


def _said(limit: Any) -> dict[str, Any]:
    """What a limit says, without what it leaves open."""
    return {name: value for name, value in asdict(limit).items() if value is not None}


def _pinned(found: Any) -> Pinned:
    found = _complete(found, ("rule", "note"), "a pinned rule")
    rule = rule_from_dict(found["rule"], "a pinned rule")
    if not isinstance(rule, Rule):
        raise InputError("a pinned rule must be one rule, not a list or a set of them")
    return Pinned(rule, found["note"])


def _complete(found: Any, keys: tuple[str, ...], what: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise InputError(f"{what} must have the keys {', '.join(keys)}, got {_short(found)}")
    _known(found, keys, what)
    for key in keys:
        if key not in found:
            raise InputError(f"{what} has no key {key!r}")
    return found


def _known(found: dict[str, Any], keys: tuple[str, ...], what: str) -> None:
    for key in found:
        if key not in keys:
            raise InputError(f"{_short(key)} is no key of {what}")


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"'{name}' must be a list, got {_short(value)}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the key {_short(twice)} is given twice")
    return content


def _no_constant(name: str) -> Any:
    raise InputError(f"{name} is no number that a project can hold")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
