"""Tables of a million rows: time and peak memory, each in a process of its own."""

from __future__ import annotations

import json
import tempfile

from common import HERE, Log, Record, Settings, python_child, short

CHILD = HERE / "children" / "large.py"


def run(log: Log, settings: Settings) -> None:
    """Make each table, then read, code and solve it."""
    for kind in settings.sets:
        size: Record = {"n_rows": settings.rows, "n_features": settings.features}
        with tempfile.TemporaryDirectory() as folder:
            made = order(task="make", folder=folder, kind=kind, **size)
            record = order(
                task="measure",
                folder=folder,
                depth=2,
                w=settings.w,
                threads=settings.threads,
                limit=settings.large_limit,
            )
        log.add("large", kind=kind, **size, **made, **record)
        print(
            f"  {kind}: coded in {short(record['coding'])}, solved in {short(record['seconds'])}, "
            f"{record['status']}, gap {record['gap']:g}, "
            f"peak {record['peak'] / record['input']:.2f} × the input",
            flush=True,
        )


def order(**fields: object) -> Record:
    """The answer of the other process."""
    return python_child(CHILD, json.dumps(fields))
