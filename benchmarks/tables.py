"""Turns the records of a section into tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from common import Grid, Record, median, short

MEGABYTE = 1e6


# -- the fifteen datasets --------------------------------------------------------------------


def by_dataset(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records of each dataset, in the order in which they came."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record["dataset"], []).append(record)
    return groups


def median_of(records: Sequence[Record], field: str) -> float:
    """The median of one figure over the splits."""
    return median([r[field] for r in records])


def proven(records: Sequence[Record]) -> int:
    """How many were solved to the proof."""
    return sum(r["gap"] == 0 for r in records)


def depth_grid(records: Sequence[Record]) -> Grid:
    """Depth 2 and 3: times over the splits, and coding where it was measured."""
    groups = by_dataset(records)
    coded = "coding" in records[0]
    header = ["dataset", "rows × features", "both classes", "longest", "one class, then the other"]
    header += ["coding a frame", "coding ready data"] if coded else []
    rows = []
    fields = ["seconds", "each", *(("coding", "coding_ready") if coded else ())]
    for name, mine in groups.items():
        times = [short(median_of(mine, field)) for field in fields]
        longest = short(max(r["seconds"] for r in mine))
        size = f"{mine[0]['rows']} × {mine[0]['features']}"
        counts = (f"{median_of(mine, 'evaluations'):,.0f}", f"{proven(mine)} of {len(mine)}")
        rows.append((name, size, times[0], longest, *times[1:], *counts))
    sums = [short(sum(median_of(mine, field) for mine in groups.values())) for field in fields]
    longest = short(max(r["seconds"] for r in records))
    total = f"{proven(records)} of {len(records)}"
    rows.append(("**sum of medians**", "", sums[0], longest, *sums[1:], "", total))
    return Grid((*header, "feature sets evaluated", "proven"), rows)


def depth4_grid(records: Sequence[Record]) -> Grid:
    """Depth 4: the gap stands where the proof does not."""
    rows = []
    for name, mine in by_dataset(records).items():
        worst = max(mine, key=lambda r: (r["gap"], r["seconds"]))
        rows.append(
            (
                name,
                f"{mine[0]['rows']} × {mine[0]['features']}",
                short(median_of(mine, "seconds")),
                f"{worst['value']:g}",
                f"{worst['bound']:g}",
                f"{worst['gap']:g}",
                f"{proven(mine)} of {len(mine)}",
            )
        )
    header = ("dataset", "rows × features", "time", "VI", "bound", "gap", "proven")
    return Grid(header, rows)


# -- start, rivals, large tables -------------------------------------------------------------


def start_grid(records: Sequence[Record]) -> Grid:
    """Importing and first calls."""
    imports = next(r for r in records if r["what"] == "import")["seconds"]
    empty = next(r for r in records if r["what"] == "empty cache")
    full = [r for r in records if r["what"] == "full cache"]
    warm, again = median_of(full, "first"), median_of(full, "second")
    rows = [
        ("`import opdt`, fresh process", short(median(imports))),
        ("first calls, nothing compiled yet", short(empty["first"])),
        ("first calls, compiled by an earlier process", short(warm)),
        ("the same calls again", short(again)),
    ]
    return Grid(("what", "time"), rows)


def rivals_grid(records: Sequence[Record]) -> Grid:
    """Side by side; where the rival has not finished, the limit is a lower bound of its time."""
    rows = []
    for r in records:
        more = "" if r["finished"] else "> "
        value = "–" if r["their_value"] is None else f"{r['their_value']:g}"
        if not r["finished"]:
            value = "not finished" if value == "–" else f"not finished; {value} so far"
        rows.append(
            (
                f"{r['rival']} {r['version']}",
                str(r["depth"]),
                r["label"] or "both",
                short(r["ours"]),
                short(r["ours_one_thread"]),
                more + short(r["theirs"] if r["finished"] else r["limit"]),
                f"{more}{(r['theirs'] if r['finished'] else r['limit']) / r['ours']:,.3g} ×",
                f"{r['our_value']:g}",
                f"{value} ({r['remark']})" if r["remark"] else value,
                short(r["ready"]),
            )
        )
    header = (
        "rival", "depth", "class", "opdt", "opdt, 1 thread", "rival", "ratio", "VI of opdt",
        "VI of rival", "rival ready after",
    )  # fmt: skip
    return Grid(header, rows)


def large_grid(records: Sequence[Record]) -> Grid:
    """Time and memory."""
    rows = []
    for r in records:
        rows.append(
            (
                r["kind"],
                f"{r['n_rows']:,} × {r['n_features']}",
                f"{r['input'] / MEGABYTE:,.0f} MB",
                short(r["coding"]),
                short(r["seconds"]),
                "proven" if r["gap"] == 0 else f"gap {r['gap']:g}",
                f"{r['value']:g}",
                f"{r['program'] / MEGABYTE:,.0f} MB",
                f"{r['peak'] / MEGABYTE:,.0f} MB",
                f"{r['peak'] / r['input']:.2f} ×",
            )
        )
    header = (
        "table", "rows × features", "input", "coding", "solving", "result", "VI",
        "program alone", "peak memory",
        "peak / input",
    )  # fmt: skip
    return Grid(header, rows)


# -- growth ----------------------------------------------------------------------------------


class Curve(NamedTuple):
    """The medians of one series on one pattern; `solved` is False where the limit was reached."""

    series: str
    kind: str
    x: tuple[float, ...]
    seconds: tuple[float, ...]
    solved: tuple[bool, ...]

    @property
    def fitted(self) -> tuple[list[float], list[float]]:
        """The points that may be fitted."""
        points = [(x, s) for x, s, ok in zip(self.x, self.seconds, self.solved, strict=True) if ok]
        return [x for x, _ in points], [s for _, s in points]


def curves(records: Sequence[Record]) -> list[Curve]:
    """Medians over the tables of each point."""
    points: dict[tuple[str, str], dict[float, list[Record]]] = {}
    for r in records:
        points.setdefault((r["series"], r["kind"]), {}).setdefault(r["x"], []).append(r)
    return [
        Curve(
            *key,
            tuple(mine),
            tuple(median_of(rs, "seconds") for rs in mine.values()),
            tuple(proven(rs) == len(rs) for rs in mine.values()),
        )
        for key, mine in points.items()
    ]


def growth(curve: Curve, *, upper: bool = False) -> float:
    """The exponent of a power law; for depth, the factor of one more level.

    `upper` fits the upper half of the points only, where fixed costs weigh less.
    """
    x, seconds = curve.fitted
    if upper:
        x, seconds = x[len(x) // 2 :], seconds[len(seconds) // 2 :]
    if len(x) < 2:
        return math.nan
    scale = np.array(x) if curve.series == "depth" else np.log(x)
    slope = float(np.polyfit(scale, np.log(seconds), 1)[0])
    return math.exp(slope) if curve.series == "depth" else slope


def scaling_grid(records: Sequence[Record]) -> Grid:
    """Fitted exponents."""
    rows = []
    for curve in curves(records):
        x, seconds = curve.fitted
        if not x:
            continue
        form = "× {:.2f} per level" if curve.series == "depth" else "{:.2f}"
        fits = [growth(curve), growth(curve, upper=True)]
        rows.append(
            (
                curve.series,
                curve.kind,
                f"{x[0]:,g} … {x[-1]:,g}",
                f"{short(seconds[0])} … {short(seconds[-1])}",
                *("–" if math.isnan(fit) else form.format(fit) for fit in fits),
                "" if all(curve.solved) else f"limit reached at {curve.x[-1]:,g}",
            )
        )
    header = ("varied", "pattern", "from … to", "time", "exponent", "of the upper half", "")
    return Grid(header, rows, n_words=2)


GRIDS: dict[str, Callable[[Sequence[Record]], Grid]] = {
    "import": start_grid,
    "depth2": depth_grid,
    "depth3": depth_grid,
    "depth4": depth4_grid,
    "rivals": rivals_grid,
    "large": large_grid,
    "scaling": scaling_grid,
}
