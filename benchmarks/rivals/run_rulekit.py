"""RuleKit on tables in files: the best of the rules that it grows by a measure, and the time.

Reads one JSON object a line: {"data": path of a CSV file, "target", "label", "measure", "depth"},
answers with {"covered" (rows of each rule for the class), "seconds"}. RuleKit is greedy: it grows a
rule condition by condition, so nothing is proven.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pandas as pd
from rulekit.classification import RuleClassifier
from rulekit.params import Measures

MEASURES = {"wracc": Measures.WeightedRelativeAccuracy}


def best(asked: dict[str, Any]) -> dict[str, Any]:
    """The rules for the class, each grown to at most so many conditions."""
    frame = pd.read_csv(asked["data"], keep_default_na=False)
    labels = frame.pop(asked["target"])
    measure = MEASURES[asked["measure"]]
    started = time.perf_counter()
    model = RuleClassifier(
        induction_measure=measure, pruning_measure=measure, voting_measure=measure,
        max_growing=asked["depth"], minsupp_new=1, enable_pruning=False,
    )  # fmt: skip
    model.fit(frame, labels)
    seconds = time.perf_counter() - started
    covers = model.get_coverage_matrix(frame)
    own = [
        at
        for at, rule in enumerate(model.model.rules)
        if str(rule).rsplit("THEN", 1)[1].strip().endswith(f"{{{asked['label']}}}")
    ]
    covered = [[int(row) for row in covers[:, at].nonzero()[0]] for at in own]
    return {"covered": covered, "seconds": seconds}


for line in sys.stdin:
    print(json.dumps(best(json.loads(line))), flush=True)
