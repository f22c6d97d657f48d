"""Worked examples as pages: runs a script and writes what it says and draws as Markdown.

    python examples/pages.py            # all of them, into docs/examples
    python examples/pages.py credit     # one

A script is plain Python. Below `# %% [markdown]` comments are the text of the page; below `# %%` is
code, which is shown and run. What it prints stands below it, and so does every PNG file it writes.
The pages are executed again by the tests of the documentation.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGES = HERE.parent / "docs" / "examples"
CELL = re.compile(r"^# %%(.*)$", re.MULTILINE)
NEEDS = "<!-- needs: OPDT_DATA, pandas, matplotlib, jinja2, sqlglot -->"


def render(script: Path, folder: Path) -> Path:
    """Run a script in a temporary folder and write its page and pictures into `folder`."""
    text = script.read_text(encoding="utf-8")
    marks = list(CELL.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    lines = [f"# {text.split(chr(34) * 3)[1].strip().rstrip('.')}\n"]
    lines.append(f"*This page is `examples/{script.name}`, run from top to bottom.*\n")
    namespace: dict[str, Any] = {"__name__": "__page__"}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work):
        for mark, end in zip(marks, ends, strict=True):
            body = text[mark.end() : end].strip("\n")
            if "markdown" in mark[1]:
                lines.append(re.sub(r"^# ?", "", body, flags=re.MULTILINE) + "\n")
                continue
            lines.append(f"{NEEDS}\n```python\n{body}\n```\n")
            lines += _run(body, script, folder, namespace)
    page = folder / f"{script.stem}.md"
    page.write_text("\n".join(lines), encoding="utf-8")
    return page


def _run(body: str, script: Path, folder: Path, namespace: dict[str, Any]) -> list[str]:
    """Run a cell; what it printed and the pictures it wrote, as Markdown."""
    before = set(os.listdir())
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, str(script), "exec"), namespace)
    lines = []
    if printed.getvalue().strip():
        lines.append(f"```text\n{printed.getvalue().rstrip()}\n```\n")
    for name in sorted(set(os.listdir()) - before):
        if name.endswith(".png"):
            shutil.copy(name, folder / f"{script.stem}-{name}")
            lines.append(f"![{Path(name).stem.replace('-', ' ')}]({script.stem}-{name})\n")
    return lines


def scripts() -> list[Path]:
    """The worked examples."""
    return sorted(each for each in HERE.glob("*.py") if each.name != "pages.py")


if __name__ == "__main__":
    asked = sys.argv[1:]
    for script in scripts():
        if not asked or script.stem in asked:
            print(render(script, PAGES))
