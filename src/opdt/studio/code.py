"""The Python script that repeats an analysis.

Names and levels come from data. They enter the script as literals that `repr` has written, and
nothing else of them does: no comment, no text between quotes of the script's own.
"""

from __future__ import annotations

from typing import Any

from opdt.errors import InputError
from opdt.studio.work import Work

_HEAD = '''"""Repeats an analysis of opdt Studio: the same rows, question and rule."""

'''


def script(work: Work) -> str:
    """Python source that finds the rule of a work again and prints it.

    A file is looked for beside the script, or where its first argument says, and must be the
    same file.
    """
    if work.source is None or work.target is None:
        raise InputError("a script needs data and the column of the classes; choose them first.")
    arguments = _arguments(work)
    from_opdt = ["discover", "rule_report"]
    if "structure" in arguments:
        from_opdt.insert(0, "Structure")
    is_file = work.source.kind == "file"
    loader = "load_file" if is_file else "load_dataset"
    lines = [
        *(["import sys", ""] if is_file else []),
        f"from opdt import {', '.join(from_opdt)}",
        f"from opdt.studio.tables import {loader}",
        "",
        *_loading(work),
        "",
        *_call("train, held_out = data.split", [(None, work.target), *_division(work)]),
        "",
        *_call(
            "solution = discover",
            [(None, Plain("train.X")), (None, Plain("train.y")), *arguments.items()],
        ),
        "print(solution.rule)",
        'print("status:", solution.status, "| VI:", solution.value)',
        "",
        "if solution.rule is not None:",
        '    print("verdict:", solution.verdict)',
        '    print("columns:", solution.plan.summary())',
        f"    w = {work.w!r}",
        '    print("\\nTraining rows")',
        "    print(rule_report(solution.rule, train.X, train.y, w))",
        "    if held_out is not None:",
        '        print("\\nHeld-out rows")',
        "        print(rule_report(solution.rule, held_out.X, held_out.y, w))",
        "",
    ]
    return _HEAD + "\n".join(lines)


class Plain:
    """A name of the script itself, which stands in it without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _arguments(work: Work) -> dict[str, Any]:
    """The arguments of `discover`: all rows say what a column is, not only those it is given."""
    given = work.arguments()
    said = [_literal(given.pop("roles", {}))]
    if "missing" in given:
        said.append(f"missing={given.pop('missing')!r}")
    return given | {"roles": Plain(f"data.plan_for({', '.join(said)})")}


def _loading(work: Work) -> list[str]:
    source = work.source
    assert source is not None
    if source.kind == "dataset":
        return [f"data = load_dataset({source.name!r})"]
    return [
        f"path = sys.argv[1] if len(sys.argv) > 1 else {source.name!r}",
        f"data = load_file(path, sha256={source.sha256!r})",
    ]


def _division(work: Work) -> list[tuple[str | None, Any]]:
    given: list[tuple[str | None, Any]] = [("held_out", work.held_out), ("seed", work.seed)]
    return [*given, ("ignored", list(work.ignored))] if work.ignored else given


def _call(start: str, arguments: list[tuple[str | None, Any]]) -> list[str]:
    """A call with one argument on each line."""
    shown = [f"    {f'{name}=' if name else ''}{_literal(value)}," for name, value in arguments]
    return [f"{start}(", *shown, ")"]


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{key!r}: {_literal(each)}" for key, each in value.items())
        return f"{{{inner}}}"
    return repr(list(value) if isinstance(value, tuple) else value)
