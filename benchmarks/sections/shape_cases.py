"""The tables of ten shapes, and the series that show how the cost grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import Record

from opdt.datasets import names

GB = 1e9


@dataclass(frozen=True)
class Case:
    """One table and one question; `aim` in seconds, `aim_memory` in bytes beyond the data."""

    key: str  # the number of the shape, with a letter where it has several
    name: str
    kind: str  # of children/shape.py
    size: Record
    depth: int = 2
    w: float = 10.0
    label: int | None = None
    limit: float = 60.0
    aim: float | None = None
    aim_memory: float | None = None

    @property
    def row(self) -> str:
        """The number of the shape."""
        return self.key.rstrip("abcdefghijklmnopqrstuvwxyz")


def planted(rows: int, columns: int, *given: float, **more: Any) -> Record:
    """The size of a planted table: conditions, coverage, share of class 1 inside and outside."""
    names = ("conditions", "coverage", "inside", "outside")
    return {"rows": rows, "columns": columns, **dict(zip(names, given, strict=True)), **more}


def cases(data: Path | None) -> list[Case]:
    """The ten shapes."""
    ones = {"rows": 100_000, "columns": 2_000, "most": 0.1, "pairs": [0.75, 0.72, 0.7, 0.68]}
    thin = {"rows": 500_000, "columns": 2_000, "most": 0.02, "pairs": [1.0, 0.95, 0.9, 0.85]}
    text = {"rows": 500_000, "n_levels": [5_000, 1_000], "base": 0.5}
    drawn = {"n_informative": 8, "n_redundant": 5, "class_sep": 0.55, "flip_y": 0.05}
    made = {"rows": 30_000, "columns": 23, **drawn}
    million = planted(1_000_000, 50, 3, 0.125, 0.932, 0.2555)
    rare2 = planted(2_000_000, 100, 2, 0.001, 0.95, 0.00205, dtype="float32")
    rare3 = {**rare2, "conditions": 3}
    several = {"rows": 50_000, "columns": 20, "coverage": 0.1, "inside": 0.95}
    fraud: Record = {"kind": "binary", "w": 3, "label": 1}
    folder = str(data) if data else None
    return [
        Case("1", "100 × 20,000 numbers, noise 20 %", "planted",
             planted(100, 20_000, 2, 0.5, 0.8, 0.2), limit=120, aim=60, aim_memory=2 * GB),
        Case("2a", "500 × 2,000 numbers", "planted",
             planted(500, 2_000, 2, 0.25, 0.99, 0.33), aim=20),
        Case("2b", "500 × 2,000 numbers, noise 20 %", "planted",
             planted(500, 2_000, 2, 0.5, 0.8, 0.2), aim=20),
        Case("3", "100,000 × 2,000 ones and zeros", size={**ones, "sparse": False}, aim=5, **fraud),
        Case("4a", "the same, CSR", size={**ones, "sparse": True}, aim=30, **fraud),
        Case("4b", "500,000 × 2,000, CSR, 1 %", size={**thin, "sparse": True}, aim=30, **fraud),
        Case("5a", "500,000 rows, 5,000 and 1,000 levels", "levels", text, w=3, label=1, aim=10,
             aim_memory=2 * GB),
        Case("5b", "the same, both classes", "levels", text, w=3, aim_memory=2 * GB),
        Case("6a", "30,000 × 23 rounded numbers", "classification", made, 3, aim=4),
        Case("6b", "the same", "classification", made, 4, limit=240, aim=180),
        Case("7", "1,000,000 × 50 numbers", "planted", million, 3, limit=120, aim=40),
        Case("8a", "2,000,000 × 100, 0.3 % positive", "planted", rare2, label=1, limit=120,
             aim=30),
        Case("8b", "as 8a, three conditions", "planted", rare3, 3, label=1, limit=660, aim=600),
        Case("8c", "as 8a, both classes", "planted", rare2, limit=120),
        *(Case(f"9{letter}", name, "dataset", {"name": name, "folder": folder}, 5, aim=60)
          for letter, name in zip("abcdefghijklmno", names(), strict=True)),
        *(Case(f"10{letter}", f"50,000 × 20 numbers, {n} classes", "classes",
               {**several, "n_classes": n})
          for letter, n in zip("abc", (2, 20, 200), strict=True)),
    ]  # fmt: skip


def series() -> Iterator[tuple[str, float, Case]]:
    """What grows, its size, and the table; the others stay at 20,000 × 20 and depth 2."""

    def case(kind: str, size: Record, depth: int = 2, **more: Any) -> Case:
        return Case("", "", kind, size, depth, limit=15, **more)

    pattern = (2, 0.2, 0.96, 0.38)
    for rows in (5_000, 20_000, 80_000, 320_000):
        yield "rows", rows, case("planted", planted(rows, 20, *pattern))
    for columns in (10, 20, 40, 80, 160):
        yield "features", columns, case("planted", planted(20_000, columns, *pattern))
    for count in (50, 200, 800, 3_200):
        size = {"rows": 20_000, "n_levels": [count, 20], "base": 0.5}
        yield "levels", count, case("levels", size, w=3)
    for count in (2, 8, 32, 128):
        size = {"rows": 20_000, "columns": 20, "coverage": 0.1, "inside": 0.95}
        yield "classes", count, case("classes", {**size, "n_classes": count})
    for depth in (1, 2, 3, 4):
        yield "depth", depth, case("planted", planted(2_000, 10, *pattern), depth)
