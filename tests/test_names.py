"""One name, one thing: the classes of the package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import opdt

PACKAGE = Path(opdt.__file__).parent


def test_no_two_classes_have_the_same_name():
    places = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert len(places) > 300
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
