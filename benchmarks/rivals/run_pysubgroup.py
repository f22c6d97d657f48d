"""pysubgroup on tables in files: the best subgroup of its own selectors, and the time.

Reads one JSON object a line: {"data": path of a CSV file, "target", "label", "measure", "depth",
"bins"}, answers with {"value" as the package has it, "rule", "covered" (rows), "seconds"}.
Where the target is a number, the measure is "numeric", and there is no label.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pandas as pd
import pysubgroup as ps

QUALITIES = {"wracc": ps.WRAccQF, "chi2": lambda: ps.ChiSquaredQF(direction="positive")}


def best(asked: dict[str, Any]) -> dict[str, Any]:
    """The best subgroup by depth-first search with the package's bounds."""
    frame = pd.read_csv(asked["data"], keep_default_na=False)
    started = time.perf_counter()
    numeric = asked["measure"] == "numeric"
    if numeric:
        target = ps.NumericTarget(asked["target"])
    else:
        target = ps.BinaryTarget(asked["target"], asked["label"])
    selectors = ps.create_selectors(frame, nbins=asked["bins"], ignore=[asked["target"]])
    task = ps.SubgroupDiscoveryTask(
        frame, target, selectors, result_set_size=1, depth=asked["depth"],
        qf=ps.StandardQFNumeric(1) if numeric else QUALITIES[asked["measure"]](),
    )  # fmt: skip
    # of chi² the package knows no bound, so that all combinations are tried
    has_bounds = hasattr(task.qf, "optimistic_estimate")
    search = ps.DFS(ps.BitSetRepresentation) if has_bounds else ps.SimpleSearch()
    if numeric:
        search = ps.DFSNumeric()
    found = search.execute(task).to_descriptions()
    seconds = time.perf_counter() - started
    if not found:
        return {"seconds": seconds, "rule": None, "covered": []}
    value, rule = found[0][:2]
    covers = rule.covers(frame)
    return {
        "value": float(value),
        "rule": str(rule),
        "covered": [int(row) for row in covers.nonzero()[0]],
        "seconds": seconds,
        "selectors": len(selectors),
    }


for line in sys.stdin:
    print(json.dumps(best(json.loads(line))), flush=True)
