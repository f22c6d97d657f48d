"""The Python script that repeats an analysis.

Names and levels come from data. They enter the script as literals that `repr` has written, and
nothing else of them does: no comment, no text between quotes of the script's own.
"""

from __future__ import annotations

from typing import Any

from opdt.errors import InputError
from opdt.studio.questions import lacks
from opdt.studio.work import Work

_HEAD = '''"""Repeats an analysis of opdt Studio: the same rows, question and rule."""

'''


def script(work: Work) -> str:
    """Python source that finds the rule of a work again and prints it.

    A file is looked for beside the script, or where its first argument says, and must be the
    same file.
    """
    missing = "data" if work.source is None else lacks(work)
    if work.source is None or missing is not None:
        raise InputError(f"a script needs {missing}; choose it first.")
    arguments = _arguments(work)
    is_file = work.source.kind == "file"
    loader = "load_file" if is_file else "load_dataset"
    own = [] if isinstance(work.objective, str) else [f"objective = {work.objective!r}", ""]
    lines = [
        *(["import sys", ""] if is_file else []),
        f"from opdt import {', '.join(_names(work, arguments))}",
        f"from opdt.studio.tables import {loader}",
        "",
        *_loading(work),
        "",
        *own,
        *_call("train, held_out = data.split", [(None, work.target), *_division(work)]),
        "",
        *_call(
            "solution = discover",
            [(None, Plain("train.X")), (None, Plain("train.y")), *arguments.items()],
        ),
        *(_numbers_of_vi(work) if work.objective == "vi" else _numbers_of_others(work)),
        "",
    ]
    return _HEAD + "\n".join(lines)


def _names(work: Work, arguments: dict[str, Any]) -> list[str]:
    """What the script takes from opdt, in the order of Ruff: classes before functions."""
    classes = {type(each).__name__ for each in (*work.segments, *work.parities)}
    if "structure" in arguments:
        classes.add("Structure")
    if not isinstance(work.objective, str):
        classes.add(type(work.objective).__name__)
    numbers = "rule_report" if work.objective == "vi" else "holdout_report"
    return [*sorted(classes), *sorted(("discover", numbers))]


def _numbers_of_vi(work: Work) -> list[str]:
    return [
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
    ]


def _numbers_of_others(work: Work) -> list[str]:
    """A solution says its value in the words of the objective by itself."""
    rows = "solution.rule, held_out.X, held_out.y"
    if not isinstance(work.objective, str):
        rows += ", objective=objective"
    return [
        "print(solution)",
        "",
        "if solution.rule is not None and held_out is not None:",
        '    print("\\nHeld-out rows")',
        f"    print(holdout_report({rows}))",
    ]


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
    if not isinstance(work.objective, str):
        given["objective"] = Plain("objective")
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
    if work.ignored:
        given.append(("ignored", list(work.ignored)))
    if not isinstance(work.objective, str):
        given.append(("objective", Plain("objective")))
    return [*given, ("kept", sorted(work.kept))] if work.kept else given


def _call(start: str, arguments: list[tuple[str | None, Any]]) -> list[str]:
    """A call with one argument on each line."""
    shown = [f"    {f'{name}=' if name else ''}{_literal(value)}," for name, value in arguments]
    return [f"{start}(", *shown, ")"]


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{key!r}: {_literal(each)}" for key, each in value.items())
        return f"{{{inner}}}"
    return repr(list(value) if isinstance(value, tuple) else value)
