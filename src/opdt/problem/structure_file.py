"""Structures and groups as TOML or JSON files, so that an expert keeps them beside the data.

::

    opdt_structure = 1

    levels = ["cat", "num"]        # or: depth = 2
                                   # or: split = [1, 0, 1]
                                   #     group = ["cat", "", "lab"]
                                   #     target = [0, 0, 1, 1]
    [groups]
    lab = ["glucose", "insulin"]

TOML has no null: a branch node that does not split has the group ``""`` there, and null in JSON.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from opdt.errors import InputError
from opdt.problem.groups import ALL, check_groups
from opdt.problem.structure import Structure

VERSION = 1
VERSION_KEY = "opdt_structure"
SUFFIXES = (".toml", ".json")

Parsed = TypeVar("Parsed")

_TREE_KEYS = ("split", "group", "target")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_KEYS = (VERSION_KEY, "depth", "levels", *_TREE_KEYS, "groups")


@dataclass(frozen=True)
class StructureFile:
    """What a structure file holds: the structure, and the groups it may refer to."""

    structure: Structure
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_structure(path: str | PathLike[str]) -> StructureFile:
    """Return the structure and the groups of a ``.toml`` or ``.json`` file."""
    return _read(path, from_dict)


def read_groups(path: str | PathLike[str]) -> dict[str, tuple[str, ...]]:
    """Return the groups of a ``.toml`` or ``.json`` file, whether it holds a structure or not."""
    return _read(path, _groups_from_dict)


def write_structure(
    path: str | PathLike[str],
    structure: Structure,
    groups: Mapping[str, Any] | None = None,
) -> None:
    """Write a structure, and groups if given, to a ``.toml`` or ``.json`` file.

    Parameters
    ----------
    path : str or path
        The ending decides the format; an existing file is replaced.
    structure : Structure
    groups : mapping of str to sequence of str, optional
        Group name to feature names.
    """
    path = Path(path)
    content = to_dict(structure, groups)
    json_wanted = _suffix(path) == ".json"
    text = json.dumps(content, indent=2) + "\n" if json_wanted else _toml(content)
    try:
        path.write_bytes(text.encode("utf-8"))
        return
    except UnicodeEncodeError:
        reason = (
            "a name holds a lone surrogate, which TOML cannot express; rename it or write .json"
        )
    except OSError as error:
        reason = f"{error.strerror or error}"
    raise InputError(f"cannot write structure file '{path}': {reason}.")


def to_dict(structure: Structure, groups: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a structure, and groups if given, as plain data that JSON can hold."""
    content: dict[str, Any] = {VERSION_KEY: VERSION}
    names = structure.level_groups
    if names is not None and set(names) == {ALL}:
        content["depth"] = structure.depth
    elif names is not None:
        content["levels"] = list(names)
    else:
        content["split"] = [int(flag) for flag in structure.split]
        content["group"] = [
            name if flag else None
            for name, flag in zip(structure.group, structure.split, strict=True)
        ]
        content["target"] = [int(flag) for flag in structure.target]
    if groups:
        content["groups"] = {name: list(each) for name, each in check_groups(groups).items()}
    return content


def from_dict(content: Mapping[str, Any]) -> StructureFile:
    """Return the structure and groups that `to_dict` wrote, or that an expert typed."""
    groups = _groups_from_dict(content)
    forms = [key for key in ("depth", "levels", "split") if key in content]
    if len(forms) != 1:
        found = " and ".join(repr(form) for form in forms) or "none of them"
        raise InputError(
            f"a structure is given by one of 'depth', 'levels' and 'split', got {found}."
        )
    form = forms[0]
    stray = [key for key in _TREE_KEYS if key in content]
    if form != "split" and stray:
        raise InputError(f"{stray[0]!r} belongs to 'split', not to {form!r}; remove it.")
    if form == "depth":
        return StructureFile(Structure.free(content["depth"]), groups)
    if form == "levels":
        return StructureFile(Structure.levels(*_array(content, "levels")), groups)
    arrays = {key: _array(content, key) for key in stray}
    if "group" in arrays:
        arrays["group"] = [None if name == "" else name for name in arrays["group"]]
    return StructureFile(Structure.tree(**arrays), groups)


def _groups_from_dict(content: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Check version and keys, which every file must get right, and return the groups."""
    if not isinstance(content, Mapping):
        raise InputError(f"a structure must be a table of keys, got {type(content).__name__}.")
    version = content.get(VERSION_KEY)
    if version is None:
        raise InputError(f"the key {VERSION_KEY!r} is missing; add {VERSION_KEY} = {VERSION}.")
    if type(version) is not int or version != VERSION:
        raise InputError(
            f"{VERSION_KEY!r} is {version!r}, but this release reads version {VERSION} only."
        )
    for key in content:
        if key not in _KEYS:
            close = get_close_matches(str(key), _KEYS, n=1)
            hint = f"did you mean {close[0]!r}" if close else f"known keys are {', '.join(_KEYS)}"
            raise InputError(f"unknown key {key!r}; {hint}.")
    groups = content.get("groups", {})
    if not isinstance(groups, Mapping):
        raise InputError(
            f"'groups' must be a table of group names, got {type(groups).__name__}; "
            "map each name to a list of feature names."
        )
    return check_groups(groups)


def _array(content: Mapping[str, Any], key: str) -> list[Any]:
    value = content[key]
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{key!r} must be a list, got {value!r}.")
    return list(value)


def _read(path: str | PathLike[str], parse: Callable[[Mapping[str, Any]], Parsed]) -> Parsed:
    if not isinstance(path, str | PathLike):
        raise InputError(f"'path' must name a structure file, got {type(path).__name__}.")
    path = Path(path)
    decode = json.loads if _suffix(path) == ".json" else tomllib.loads
    options: dict[str, Any] = {"object_pairs_hook": _unique} if decode is json.loads else {}
    try:
        content = decode(path.read_bytes().decode("utf-8-sig"), **options)
        return parse(content)
    except OSError as error:
        reason = f"{error.strerror or error}"
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:  # what is wrong with the syntax, or with the structure
        reason = str(error).rstrip(".")
    raise InputError(f"cannot read structure file '{path}': {reason}.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is given twice, as TOML does; JSON would keep the last in silence."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the key {twice!r} is given twice; keep one")
    return content


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"structure file '{path}' must end in .toml or .json; rename it.")
    return suffix


def _toml(content: Mapping[str, Any]) -> str:
    """Return the plain data of `to_dict` as TOML: integers, lists and one table of lists."""
    lines = [f"{key} = {_toml_value(value)}" for key, value in content.items() if key != "groups"]
    if "groups" in content:
        lines += ["", "[groups]"]
        lines += [
            f"{_toml_key(name)} = {_toml_value(each)}" for name, each in content["groups"].items()
        ]
    return "\n".join(lines) + "\n"


def _toml_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _toml_value(name)


def _toml_value(value: int | str | list[Any] | None) -> str:
    if value is None:
        return '""'
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    # TOML's basic strings escape as JSON's do, but for DEL, which JSON leaves bare.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
