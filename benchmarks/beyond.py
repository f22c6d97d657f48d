"""Measures what goes beyond one search: `python benchmarks/beyond.py --only path,permutations`.

Every figure goes at once into results/beyond.jsonl, so a run that is ended loses nothing; the
tables are written beside it, and with --publish into the guide that has their markers. A section is
a module of `sections` with `run(log, settings)`, which measures and logs, and `grids(records)`,
which makes tables of its records: add it to `SECTIONS`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from common import RESULTS, ROOT, Grid, Log, Record, latest, machine, read_log, versions
from publish import machine_line, replaced
from sections import alternatives, choosing, path, permutations, rule_sets

from opdt.datasets import names

LOG = RESULTS / "beyond.jsonl"
GUIDES = ROOT / "docs" / "guides"


@dataclass(frozen=True)
class Settings:
    """What the command line asks for."""

    quick: bool
    data: Path | None
    datasets: tuple[str, ...]
    threads: int
    w: float


class Section(NamedTuple):
    """One part of the benchmark: what measures, what makes tables of the records, and the guide
    that shows them: between the markers of its name, or each between markers of its own.
    """

    run: Callable[[Log, Any], None]
    grids: Callable[[Sequence[Record]], list[Grid]]
    guide: str
    markers: tuple[str, ...] = ()


SECTIONS: dict[str, Section] = {
    "path": Section(path.run, path.grids, "choose-w.md"),
    "choosing": Section(choosing.run, choosing.grids, "choose-w.md"),
    "alternatives": Section(alternatives.run, alternatives.grids, "alternatives.md"),
    "permutations": Section(
        permutations.run, permutations.grids, "trust.md", ("permutations", "permutations-time")
    ),
    "rule_sets": Section(rule_sets.run, rule_sets.grids, "rule-sets.md"),
    "rule_tests": Section(rule_sets.run_tests, rule_sets.test_grids, "rule-sets.md"),
}
# Enough to see that every section runs; its tables are not written.
QUICK = {"datasets": ("hepatitis", "heart_disease")}


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", type=_listed(tuple(SECTIONS)), default=tuple(SECTIONS), help="sections to run")
    add("--quick", action="store_true", help="a smoke run of a minute or two")
    add("--publish", action="store_true", help="put the tables into the guides")
    add("--data", type=Path, help="folder of the raw datasets (default: OPDT_DATA)")
    add("--datasets", type=_listed(tuple(names())), default=tuple(names()))
    add("--threads", type=int, default=2)
    add("--w", type=float, default=10.0, help="price of an error, where a section has one")
    return parser


def _listed(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """The type of an option that takes some of these names."""

    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(part.strip() for part in text.split(","))
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no {name!r}; there are {', '.join(known)}")
        return chosen

    return read


def main() -> None:
    """Run the sections that are asked for."""
    options = vars(arguments().parse_args())
    only, published = options.pop("only"), options.pop("publish")
    if options["quick"]:
        options |= QUICK
    settings = Settings(**options)
    shown = machine()
    print(", ".join(f"{key} {value}" for key, value in (shown | versions()).items()))
    if shown["load"] > 0.5:
        print("note: the machine is not idle, and the figures will show it", file=sys.stderr)
    log = Log(LOG, quick=settings.quick, command=" ".join(sys.argv[1:]))
    for name in only:
        print(f"{name}:", flush=True)
        started = time.perf_counter()
        SECTIONS[name].run(log, settings)
        log.add(name, end=True, seconds=time.perf_counter() - started)
        print(f"  ({time.perf_counter() - started:.0f} s)", flush=True)
        if not settings.quick:
            write_results(name, publish=published)


def write_results(name: str, *, publish: bool) -> None:
    """Markdown and CSV of one section beside the log, and the tables in its guide."""
    measured = latest(read_log(LOG), name)
    if measured is None or not measured.records:
        return
    made = SECTIONS[name].grids(measured.records)
    text = "\n\n".join([*(grid.markdown() for grid in made), machine_line(measured)])
    (RESULTS / f"{name}.md").write_text(text + "\n")
    if publish:
        page = GUIDES / SECTIONS[name].guide
        texts = {name: text}
        if SECTIONS[name].markers:
            parts = (f"{grid.markdown()}\n\n{machine_line(measured)}" for grid in made)
            texts = dict(zip(SECTIONS[name].markers, parts, strict=True))
        for marker, shown in texts.items():
            page.write_text(replaced(page.read_text(), marker, shown))
    for place, grid in enumerate(made):
        grid.write_csv(RESULTS / f"{name}{'' if place == 0 else place}.csv")


if __name__ == "__main__":
    main()
