"""The fifteen datasets of the paper at depth 2, 3 and 4."""

from __future__ import annotations

import warnings
from typing import Any

from common import Log, Settings, median, short, timed
from sklearn.model_selection import train_test_split

from opdt.datasets import Dataset, load
from opdt.errors import OpdtWarning
from opdt.table import Table
from sections.problems import solve


def split(data: Dataset, seed: int) -> tuple[Any, Any]:
    """Features and labels of the 80 % of the rows that a stratified split trains on."""
    X, _, y, _ = train_test_split(
        data.X, data.y, train_size=0.8, random_state=seed, stratify=data.y
    )
    return X, y


def ready(data: Dataset, X: Any, y: Any) -> tuple[Any, Any]:
    """The same data in the types that need the least work: numbers and categories."""
    codes = y.astype("category").cat.codes.to_numpy()
    if not data.categorical:
        return X.to_numpy(dtype=float), codes
    return X.astype(dict.fromkeys(data.categorical, "category")), codes


def run(log: Log, settings: Settings, depth: int) -> None:
    """Measure all datasets at one depth."""
    n_splits = settings.splits4 if depth == 4 else settings.splits
    limit = settings.limit4 if depth == 4 else None
    repeats = 3 if depth == 2 else 1
    for name in settings.datasets:
        data = load(name, folder=settings.data)
        times = []
        for seed in range(n_splits):
            record = measure(data, seed, depth, settings, repeats, limit)
            log.add(f"depth{depth}", **record)
            times.append(record["seconds"])
            if record["gap"]:
                print(f"  {name}, split {seed}: not proven, gap {record['gap']:g}")
        print(f"  {name}: {short(median(times))} (longest {short(max(times))})", flush=True)


def measure(
    data: Dataset, seed: int, depth: int, settings: Settings, repeats: int, limit: float | None
) -> dict[str, object]:
    """One split: solving over both classes, over each alone, and coding the table."""
    X, y = split(data, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)  # of constant columns
        table = Table.build(X, y)
        record: dict[str, object] = {"dataset": data.name, "seed": seed, "depth": depth}
        if depth == 2:
            prepared = ready(data, X, y)
            record["coding"] = timed(lambda: Table.build(X, y), repeats)[0]
            record["coding_ready"] = timed(lambda: Table.build(*prepared), repeats)[0]
    if limit is None:
        solve(table, depth, settings)  # compiles, and is not timed
    seconds, solution = timed(lambda: solve(table, depth, settings, limit=limit), repeats)
    if limit is None:
        record["each"] = sum(
            timed(lambda: solve(table, depth, settings, label=label), repeats)[0]  # noqa: B023
            for label in table.classes
        )
    return record | {
        "rows": table.n_rows,
        "features": table.n_features,
        "seconds": seconds,
        "value": solution.value,
        "bound": solution.bound,
        "gap": solution.gap,
        "status": str(solution.status),
        "nodes": solution.statistics.nodes,
        "evaluations": solution.statistics.evaluations,
    }
