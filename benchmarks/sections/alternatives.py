"""Other rules than the best of the fifteen datasets at depth 2: how many, which, how quickly."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from common import Grid, Log, Record, short

from opdt.analysis.alternatives import diverse_rules, rashomon_set, top_rules
from opdt.datasets import load
from opdt.errors import OpdtWarning
from opdt.table import Table

SECTION = "alternatives"
DEPTH, WITHIN, WIDER = 2, 0.01, 0.05
K_BEST, K_APART, OVERLAP = 10, 3, 0.5


class Wanted(Protocol):
    """What the section needs to know."""

    data: Path | None
    datasets: tuple[str, ...]
    threads: int
    w: float


def run(log: Log, settings: Wanted) -> None:
    """Measure each dataset."""
    for name in settings.datasets:
        record = measure(name, settings)
        log.add(SECTION, **record)
        print(
            f"  {name}: {record['rules']} rules within 1 %, {short(record['seconds'])}; "
            f"10 best {short(record['best_seconds'])}; 3 apart {short(record['apart_seconds'])}",
            flush=True,
        )


def measure(name: str, settings: Wanted) -> Record:
    """All rules within 1 % and 5 %, the ten best, and three that differ."""
    data = load(name, folder=settings.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)  # of constant columns
        table = Table.build(data.X, data.y)
    asked: dict[str, Any] = {"w": settings.w, "max_depth": DEPTH, "n_jobs": settings.threads}
    for function in (rashomon_set, top_rules, diverse_rules):  # compiles, and is not timed
        function(table, **asked)
    load_before = os.getloadavg()[0]
    near, cpu = _timed(lambda: rashomon_set(table, within=WITHIN, **asked))
    wider, wider_cpu = _timed(lambda: rashomon_set(table, within=WIDER, **asked))
    best, best_cpu = _timed(lambda: top_rules(table, limit=K_BEST, **asked))
    apart, apart_cpu = _timed(
        lambda: diverse_rules(table, limit=K_APART, max_overlap=OVERLAP, **asked)
    )
    summary = near.summary
    return {
        "dataset": name,
        "rows": table.n_rows,
        "features": table.n_features,
        "optimum": near.optimum,
        "complete": near.complete and wider.complete and best.complete and apart.complete,
        "rules": len(near),
        "patterns": len(near.patterns),
        "necessary": list(summary.necessary),
        "interchangeable": [list(pair) for pair in summary.interchangeable],
        "seconds": near.seconds,
        "cpu": cpu,
        "wider_rules": len(wider),
        "wider_patterns": len(wider.patterns),
        "wider_interchangeable": [list(pair) for pair in wider.summary.interchangeable],
        "wider_necessary": list(wider.summary.necessary),
        "wider_seconds": wider.seconds,
        "wider_cpu": wider_cpu,
        "best_values": [each.value for each in best],
        "best_seconds": best.seconds,
        "best_cpu": best_cpu,
        "apart": [{"value": each.value, "rule": str(each.rule)} for each in apart],
        "apart_seconds": apart.seconds,
        "apart_cpu": apart_cpu,
        "load": load_before,
    }


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    return function(), time.process_time() - started


def grids(records: Sequence[Record]) -> list[Grid]:
    """How many rules there are and which features they need; and what it costs."""
    return [set_grid(records), time_grid(records)]


def set_grid(records: Sequence[Record]) -> Grid:
    """The set within 1 %, and how it grows."""
    header = (
        "dataset", "in every rule within 1 %", "interchangeable", "best VI", "rules within 1 %",
        "sets of rows", "rules within 5 %", "sets of rows", "interchangeable pairs then",
    )  # fmt: skip
    rows = [
        (
            r["dataset"],
            ", ".join(r["necessary"]) or "–",
            _pairs(r["interchangeable"]),
            f"{r['optimum']:g}",
            f"{r['rules']:,}",
            f"{r['patterns']:,}",
            f"{r['wider_rules']:,}",
            f"{r['wider_patterns']:,}",
            f"{len(r['wider_interchangeable']):,}",
        )
        for r in records
    ]
    return Grid(header, rows, n_words=3)


def _pairs(pairs: Sequence[Sequence[str]], most: int = 2) -> str:
    shown = "; ".join(f"{one} ↔ {two}" for one, two in pairs[:most])
    more = len(pairs) - most
    return (shown or "–") + (f" and {more} more" if more > 0 else "")


def time_grid(records: Sequence[Record]) -> Grid:
    """Time of the optimum and everything after it, with the processor time of all threads."""
    header = (
        "dataset", "rows × features", "within 1 %", "processor", "within 5 %", "processor",
        "10 best", "processor", "3 apart", "processor", "VI of the 3",
    )  # fmt: skip
    rows = []
    for r in records:
        times = [
            short(r[f"{part}{kind}"])
            for part in ("", "wider_", "best_", "apart_")
            for kind in ("seconds", "cpu")
        ]
        values = ", ".join(f"{each['value']:g}" for each in r["apart"])
        rows.append((r["dataset"], f"{r['rows']} × {r['features']}", *times, values))
    sums = [
        short(sum(r[f"{part}{kind}"] for r in records))
        for part in ("", "wider_", "best_", "apart_")
        for kind in ("seconds", "cpu")
    ]
    rows.append(("**all**", "", *sums, ""))
    return Grid(header, rows)
