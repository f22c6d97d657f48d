"""How the cost grows with rows, features, depth, the price of an error, and imbalance."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from common import Log, Settings, short, timed

from opdt.table import Table
from sections.problems import PATTERNS, pattern, solve

# What each series varies; the rest stays as in BASE.
SERIES: dict[str, Sequence[float]] = {
    "rows": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    "features": (10, 20, 40, 80, 150, 300),
    "depth": (1, 2, 3, 4, 5),
    "w": (2, 5, 10, 20, 50, 100),
    "balance": (0.5, 0.2, 0.1, 0.05, 0.02, 0.01),
}
BASE = {"rows": 2_000, "features": 20, "depth": 2, "w": 10.0, "balance": 0.5}
# Depth is varied on a smaller table, as every level multiplies the cost.
SMALLER = {"depth": {"rows": 500, "features": 10}}


def run(log: Log, settings: Settings) -> None:
    """Measure every series on both patterns; a series ends where the limit is reached."""
    for name in settings.series:
        points = [x for x in SERIES[name] if name != "rows" or x <= settings.scaling_rows]
        for kind in PATTERNS:
            for x in points[:3] if settings.quick else points:
                point = {**BASE, **SMALLER.get(name, {}), name: x}
                proven = measure(log, settings, name, kind, x, point)
                if not proven:
                    break


def measure(
    log: Log, settings: Settings, name: str, kind: str, x: float, point: dict[str, Any]
) -> bool:
    """The median over some tables of one point; whether all were solved within the limit."""
    times, proven = [], True
    for seed in range(settings.seeds):
        data = pattern(
            kind, int(point["rows"]), int(point["features"]), balance=point["balance"], seed=seed
        )
        table = Table.build(data.X, data.y)

        def call(table: Table = table) -> Any:
            return solve(
                table,
                int(point["depth"]),
                settings,
                label=1,
                w=point["w"],
                limit=settings.scaling_limit,
            )

        first, solution = timed(call)
        # The first call may have compiled, which weighs on all but the long ones.
        seconds = first if first > 10 else timed(call, 5 if first < 1 else 1)[0]
        log.add(
            "scaling",
            series=name,
            kind=kind,
            x=x,
            seed=seed,
            seconds=seconds,
            value=solution.value,
            gap=solution.gap,
            status=str(solution.status),
            evaluations=solution.statistics.evaluations,
        )
        times.append(seconds)
        proven &= solution.gap == 0
        if not proven:
            break
    shown = short(statistics.median(times)) if proven else "not within the limit"
    print(f"  {name} {x:g}, {kind}: {shown}", flush=True)
    return proven
