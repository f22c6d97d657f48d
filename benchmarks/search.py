"""Measures the search engine: `make bench`, or `make bench ARGS="--only depth2,rivals"`.

Every figure goes at once into results/search.jsonl, so a run that is ended loses nothing; tables
are written beside it, and with --publish into docs/performance.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import publish
from common import RESULTS, Log, Settings, machine, versions
from sections import datasets, large, rivals, scaling, start
from sections.problems import PATTERNS

from opdt.datasets import names

SECTIONS: dict[str, Callable[[Log, Settings], None]] = {
    "import": start.run,
    "depth2": partial(datasets.run, depth=2),
    "depth3": partial(datasets.run, depth=3),
    "depth4": partial(datasets.run, depth=4),
    "rivals": rivals.run,
    "large": large.run,
    "scaling": scaling.run,
}
# Enough to see that every section runs, in a minute or two; never published.
QUICK = {
    "datasets": ("pima", "heart_disease"),
    "splits": 1,
    "splits4": 1,
    "limit4": 3.0,
    "rivals": ("pycontree",),
    "rival_limit": 5.0,
    "rounds": 1,
    "rows": 10_000,
    "features": 10,
    "large_limit": 10.0,
    "scaling_limit": 2.0,
    "seeds": 1,
}


def listed(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """The type of an option that takes some of these names."""

    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(part.strip() for part in text.split(","))
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no {name!r}; there are {', '.join(known)}")
        return chosen

    return read


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--only", type=listed(tuple(SECTIONS)), default=tuple(SECTIONS), help="sections to run")
    add("--quick", action="store_true", help="a smoke run of a minute or two")
    add("--publish", action="store_true", help="put the tables into docs/performance.md")
    add("--data", type=Path, help="folder of the raw datasets (default: OPDT_DATA)")
    add("--threads", type=int, default=2)
    add("--w", type=float, default=10.0, help="price of an error")
    add("--datasets", type=listed(tuple(names())), default=tuple(names()))
    add("--splits", type=int, default=10, help="splits at depth 2 and 3, with seeds 0, 1, …")
    add("--splits4", type=int, default=3, help="splits at depth 4")
    add("--limit4", type=float, default=120.0, help="seconds for each solve at depth 4")
    add("--rivals", type=listed(tuple(rivals.RIVALS)), default=tuple(rivals.RIVALS))
    add("--rival-limit", type=float, default=60.0, help="seconds for each call of a rival")
    add("--rounds", type=int, default=5, help="calls of a quick rival")
    add("--rows", type=int, default=1_000_000, help="of the large tables")
    add("--features", type=int, default=50, help="of the large tables")
    add("--sets", type=listed(tuple(PATTERNS)), default=tuple(PATTERNS), help="large tables")
    add("--large-limit", type=float, default=300.0, help="seconds for each large solve")
    add("--series", type=listed(tuple(scaling.SERIES)), default=tuple(scaling.SERIES))
    add("--scaling-limit", type=float, default=60.0, help="seconds for each solve of a series")
    add("--scaling-rows", type=int, default=1_000_000, help="most rows in the series")
    add("--seeds", type=int, default=3, help="tables for each point of a series")
    return parser


def main() -> None:
    """Run the sections that are asked for."""
    options = vars(arguments().parse_args())
    only, published = options.pop("only"), options.pop("publish")
    if options["quick"]:
        options |= QUICK
    settings = Settings(**options)
    shown, used = machine(), versions()
    print(", ".join(f"{key} {value}" for key, value in (shown | used).items()))
    print(f"w = {settings.w:g}, {settings.threads} threads, split seeds 0 to {settings.splits - 1}")
    if shown["load"] > 0.5:
        print("note: the machine is not idle, and the figures will show it", file=sys.stderr)
    log = Log(RESULTS / "search.jsonl", quick=settings.quick, command=" ".join(sys.argv[1:]))
    for section in only:
        print(f"{section}:", flush=True)
        started = time.perf_counter()
        SECTIONS[section](log, settings)
        log.add(section, end=True, seconds=time.perf_counter() - started)
        publish.write_results(section, quick=settings.quick)
        print(f"  ({time.perf_counter() - started:.0f} s)", flush=True)
    if published:
        publish.publish(only, quick=False)


if __name__ == "__main__":
    main()
