"""Runs the README and every page under docs/; CONTRIBUTING.md tells how to write a page."""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Pages that take half a minute and more; what they show is tested elsewhere, too.
LONG_PAGES = {"big-data.md", "choose-w.md", "rule-sets.md"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

RUN = {"opdt", "python", "cat", "head"}
SHOWN_ONLY = {"make", "pip", "git", "cd"}
MISSPELT = {"py", "python3", "pycon", "python-repl", "shell-session"}

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")
NEEDS = re.compile(r"^<!--\s*needs:\s*(?P<names>.+?)\s*-->$")
TIME = r"\d+(?:[.,]\d+)*\s?(?:ns|[uµμ]s|ms|s|seconds?|min|h)\b"
WILDCARD = re.compile(r"\.\.\.| *<time> *")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and what it needs to run."""

    language: str
    text: str
    line: int
    needs: tuple[str, ...]
    follows: bool  # only blank lines lie between this block and the one before

    @property
    def is_output(self) -> bool:
        return self.language in {"text", "console output"}


@dataclass(frozen=True)
class Command:
    """One command of a console block and the output that the page shows below it."""

    line: str
    shown: str


def read_blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page from top to bottom; `line` is their first line of text."""
    lines = page.splitlines()
    before, follows, at = "", False, 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        if fence is None:
            if lines[at].strip():
                before, follows = lines[at].strip(), False
            at += 1
            continue
        start = at + 1
        at = start
        while at < len(lines) and lines[at].strip() != fence["ticks"]:
            at += 1
        body = textwrap.dedent("\n".join(lines[start:at]))
        info = fence["info"].strip()
        language = "console output" if info == "console output" else info.partition(" ")[0]
        needs = NEEDS.match(before)
        names = tuple(re.split(r"\s*,\s*", needs["names"])) if needs else ()
        yield Block(language, body, start + 1, names, follows)
        before, follows = "", True
        at += 1


def read_commands(text: str) -> Iterator[Command]:
    """Yield the commands of a console block; a backslash at a line's end continues the command."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        command = lines.pop(0)
        while command.endswith("\\") and lines:
            command = command[:-1].rstrip() + " " + lines.pop(0).removeprefix(">").strip()
        yield Command(command, "\n".join(lines))


def trim(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def output_matches(shown: str, printed: str) -> bool:
    """Tell whether `printed` is what the page shows: `...` is any text, `<time>` a time."""
    shown, printed = trim(shown), trim(printed)
    pattern, at = "", 0
    for wildcard in WILDCARD.finditer(shown):
        any_of = ".*" if wildcard[0] == "..." else f" *{TIME}(?:\\s?{TIME})* *"
        pattern += re.escape(shown[at : wildcard.start()]) + any_of
        at = wildcard.end()
    return re.fullmatch(pattern + re.escape(shown[at:]), printed, re.DOTALL) is not None


def check_output(where: str, shown: str, printed: str) -> None:
    if not output_matches(shown, printed):
        lines = trim(shown).splitlines(), trim(printed).splitlines()
        difference = "\n".join(difflib.unified_diff(*lines, "page", "printed", lineterm=""))
        pytest.fail(f"{where}: the output differs from the page\n{difference}", pytrace=False)


def run_python(path: Path, block: Block, namespace: dict[str, object]) -> str:
    """Execute a Python block and return what it printed; tracebacks show the page's own lines."""
    code = compile("\n" * (block.line - 1) + block.text, str(path), "exec", dont_inherit=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    return printed.getvalue()


def run_console(where: str, block: Block) -> None:
    """Execute the commands of a console block and compare the output shown below each."""
    for command in read_commands(block.text):
        program = command.line.split()[0]
        if program in SHOWN_ONLY:
            continue
        assert program in RUN, f"{where}: '{program}' is not among the commands a page may run"
        run = subprocess.run(
            command.line,
            shell=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=600,
        )
        if command.shown.strip():
            check_output(where, command.shown, run.stdout)
        else:
            assert run.returncode == 0, f"{where}: '{command.line}' failed\n{run.stdout}"


def missing_needs(block: Block) -> list[str]:
    """Return what the block needs and is not here: packages, java, or the paper's data."""
    return [name for name in block.needs if not is_here(name)]


def is_here(name: str) -> bool:
    if name == "OPDT_DATA":
        return name in os.environ
    return (shutil.which if name == "java" else importlib.util.find_spec)(name) is not None


@pytest.fixture
def fixed_terminal(tmp_path, monkeypatch, data_folder):
    """An empty folder and the same plain terminal, 80 columns wide, on every machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    for name, value in {
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
        "MPLBACKEND": "Agg",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "GITHUB_ACTIONS", "OPDT_DATA"):
        monkeypatch.delenv(name, raising=False)
    if data_folder is not None:
        monkeypatch.setenv("OPDT_DATA", str(data_folder))


@pytest.mark.usefixtures("fixed_terminal")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:dask.*")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=path.relative_to(ROOT).as_posix(),
            marks=[pytest.mark.slow] if path.name in LONG_PAGES else [],
        )
        for path in PAGES
    ],
)
def test_every_block_of_the_page_runs_and_prints_what_is_shown(path, subtests, monkeypatch):
    # A real module, so that classes which a page defines can be pickled and found by name.
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    printed: str | None = None
    for block in read_blocks(path.read_text(encoding="utf-8")):
        where = f"{path.relative_to(ROOT)}:{block.line}"
        if block.is_output and block.follows and printed is not None:
            check_output(where, block.text, printed)
        printed = None
        assert block.language not in MISSPELT, f"{where}: write ```python or ```console"
        if block.language not in {"python", "console"} or "--8<--" in block.text:
            continue  # an included file is source of the package and has its own tests
        if missing := missing_needs(block):
            with subtests.test(where):
                pytest.skip(f"{where} needs {', '.join(missing)}")
        elif block.language == "python":
            printed = run_python(path, block, vars(module))
        else:
            run_console(where, block)


PAGE = """\
Text.

```python title="a.py"
print(1)
```

```text
1
```

<!-- needs: matplotlib, OPDT_DATA -->
```python
if True:
    print(2)
```
Words between.
```text
3
```

- item

    ````console
    $ opdt fit a.csv \\
    >   --target y
    ```
    $ make demo
    ````
"""


def test_blocks_are_read_with_their_language_place_and_needs():
    first, output, second, apart, console = read_blocks(PAGE)
    assert first == Block("python", "print(1)", 4, (), follows=False)
    assert output == Block("text", "1", 8, (), follows=True)
    assert second.needs == ("matplotlib", "OPDT_DATA")
    assert second.text == "if True:\n    print(2)"
    assert not apart.follows
    assert list(read_commands(console.text)) == [
        Command("opdt fit a.csv --target y", "```"),
        Command("make demo", ""),
    ]


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\nb", "a  \nb\n"),
        ("a...z", "a\nmany\nlines z"),
        ("found in <time>.", "found in 12 ms."),
        ("found in <time>.", "found in 1 min 20.5 s."),
        ("time  <time>  nodes", "time  1,204.5 µs         nodes"),
        ("(a|b) [c] *", "(a|b) [c] *"),
    ],
)
def test_output_matches_but_for_spaces_at_line_ends_and_wildcards(shown, printed):
    assert output_matches(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a", "b"),
        ("a b", "a  b"),
        ("a", "a\nb"),
        ("", "a"),
        ("in <time>", "in 12 rows"),
        ("in <time>", "in 12"),
        ("a.c", "abc"),
    ],
)
def test_output_does_not_match_when_anything_else_differs(shown, printed):
    assert not output_matches(shown, printed)
