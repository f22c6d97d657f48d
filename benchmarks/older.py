"""The fifteen datasets and a large table, with this code and with an older checkout, in turns.

    python benchmarks/older.py ../older-checkout --depths 2,3,4

Both codes solve the same tables in processes of their own, in turns; the table shows the sum of the
medians over the datasets and the ratio of the two. Splits are of 80 %.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from common import HERE, ROOT, machine, python_child, versions

CHILD = HERE / "children" / "older.py"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("--depths", default="2,3,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the large table; 0: none")
    parser.add_argument("--columns", type=int, default=50)
    options = parser.parse_args()
    print(", ".join(f"{key} {value}" for key, value in (machine() | versions()).items()))
    print(f"older checkout: {options.old}")
    orders: dict[str, dict[str, Any]] = {
        f"fifteen datasets, depth {depth}": {"depth": depth, "splits": options.splits}
        for depth in map(int, options.depths.split(","))
    }
    if options.rows:
        for kind in ("planted", "weak"):
            size = {"rows": options.rows, "columns": options.columns, "pattern": kind}
            orders[f"{options.rows:,} × {options.columns}, {kind}, depth 2"] = {"depth": 2, **size}
    print("| table | older | new | ratio | same values |\n|---|---|---|---|---|")
    for name, order in orders.items():
        seconds: dict[str, dict[str, list[float]]] = {"old": {}, "new": {}}
        values: dict[str, Any] = {}
        for _ in range(options.rounds):
            for code, source in (("old", options.old), ("new", ROOT)):
                said = python_child(CHILD, json.dumps(order), PYTHONPATH=str(source / "src"))
                values[code] = said["values"]
                for key, taken in said["seconds"].items():
                    seconds[code].setdefault(key, []).extend(taken)
        old, new = (sum(map(median, seconds[code].values())) for code in ("old", "new"))
        same = values["old"] == values["new"]
        print(f"| {name} | {old:.3f} s | {new:.3f} s | {old / new:.2f} | {same} |", flush=True)


if __name__ == "__main__":
    main()
