"""Puts the last figures into docs/performance.md, between its markers."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Sequence

from common import RESULTS, ROOT, Measured, latest, own_python, read_log
from summary import summary
from tables import GRIDS, curves, growth

PAGE = ROOT / "docs" / "performance.md"
FIGURE = ROOT / "docs" / "figures" / "performance-scaling.svg"
LOG = RESULTS / "search.jsonl"
PLOT = ("matplotlib>=3.9",)


def write_results(section: str, *, quick: bool) -> None:
    """Markdown and CSV of one section beside the log."""
    measured = latest(read_log(LOG), section, quick=quick)
    if measured is None or not measured.records:
        return
    grid = GRIDS[section](measured.records)
    (RESULTS / f"{section}.md").write_text(f"{machine_line(measured)}\n\n{grid.markdown()}\n")
    grid.write_csv(RESULTS / f"{section}.csv")


def machine_line(measured: Measured) -> str:
    """Where and with what the figures were taken."""
    machine, versions = measured.run["machine"], measured.run["versions"]
    used = ", ".join(f"{k} {v}" for k, v in versions.items() if k not in {"opdt", "commit"})
    line = (
        f"*Measured on {measured.run['run'][:10]}: {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gb']:g} GB, {machine['system']}; Python {machine['python']}, {used}; "
        f"opdt {versions.get('opdt', '')} ({versions.get('commit', 'no commit')}).*"
    )
    return line if measured.complete else line + " *The run was cut short.*"


def publish(sections: Sequence[str], *, quick: bool) -> None:
    """Rewrite the sections of the page that have figures; leave the others as they are."""
    log, page = read_log(LOG), PAGE.read_text()
    found = {name: latest(log, name, quick=quick) for name in GRIDS}
    for name in sections:
        measured = found[name]
        if measured is None or not measured.records:
            print(f"{name}: no figures; run: make bench ARGS='--only {name}'")
            continue
        parts = [GRIDS[name](measured.records).markdown()]
        if name == "scaling":
            draw(measured)
            parts.insert(0, f"![Time against size](figures/{FIGURE.name})")
        page = replaced(page, name, "\n\n".join([*parts, machine_line(measured)]))
        print(f"{name}: {len(measured.records)} records of {measured.run['run']}")
    grid = summary({name: m.records for name, m in found.items() if m is not None})
    if grid.rows:
        page = replaced(page, "summary", grid.markdown())
    PAGE.write_text(page)


def replaced(page: str, name: str, text: str) -> str:
    """The page with new text between the markers of a section."""
    pattern = rf"(<!-- figures: {name} -->\n).*?(<!-- end: {name} -->)"
    if not re.search(pattern, page, re.DOTALL):
        raise SystemExit(f"{PAGE.name} has no markers for {name!r}")
    return re.sub(pattern, lambda m: f"{m[1]}\n{text}\n\n{m[2]}", page, flags=re.DOTALL)


def draw(measured: Measured) -> None:
    """The figure, made in an environment of its own."""
    file = RESULTS / "scaling.json"
    found = [
        curve._asdict() | {"growth": growth(curve, upper=True)}
        for curve in curves(measured.records)
    ]
    file.write_text(json.dumps(found))
    FIGURE.parent.mkdir(exist_ok=True)
    script = str(ROOT / "benchmarks" / "plot.py")
    python = own_python("plot", *PLOT)
    subprocess.run([python, script, str(file), str(FIGURE)], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(GRIDS), help="sections, with commas between")
    publish(parser.parse_args().only.split(","), quick=False)
