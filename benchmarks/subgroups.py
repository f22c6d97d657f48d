"""opdt beside pysubgroup and RuleKit on the fifteen datasets: value, proof and time.

    python benchmarks/subgroups.py --python /path/to/python

The other Python has pysubgroup, which needs an older NumPy than opdt, and rulekit, which needs
Java. Both look for the best rule of two conditions for the rarer class. pysubgroup searches
intervals between quantiles of numeric columns (`--bins`, 5 is its default), opdt every threshold.
RuleKit grows rules for WRAcc greedily; the best of its rules counts. All values are computed again
here, from the rows that are covered.

With `--numeric` the targets are numbers: the sum of (y - mean of y) over the covered rows, which is
pysubgroup's standard quality for numeric targets.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from opdt import Mean, datasets, discover
from opdt.objectives.measures import ClassTotals, measure_named

RIVALS = Path(__file__).parent / "rivals"
# Columns of the datasets that are numbers somebody would ask about.
NUMBERS = (
    ("diabetes", "progression"),  # that of scikit-learn
    ("german", "credit_amount"),
    ("heart_disease", "max_heart_rate"),
    ("heart_failure", "ejection_fraction"),
    ("pima", "glucose"),
)


class Rival:
    """A process of the other Python that answers one question a line."""

    def __init__(self, python: str, script: str) -> None:
        self._child = subprocess.Popen(
            [python, "-W", "ignore", str(RIVALS / script)], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, **asked: Any) -> dict[str, Any]:
        """What it finds."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(asked) + "\n")
        self._child.stdin.flush()
        return json.loads(self._child.stdout.readline())


def main() -> None:
    """Print one row a dataset and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("--bins", default="5", help="cuts of numeric columns, apart by commas")
    parser.add_argument("--measures", default="wracc,chi2")
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--numeric", action="store_true", help="numbers as targets")
    asked = parser.parse_args()
    bins = [int(number) for number in asked.bins.split(",")]
    subgroups = Rival(asked.python, "run_pysubgroup.py")
    if asked.numeric:
        compare_numbers(subgroups, bins, asked.depth)
        return
    grown = Rival(asked.python, "run_rulekit.py")
    titles = [*(f"pysubgroup, {n} bins" for n in bins), "RuleKit"]
    print("| dataset | measure | opdt | s |", " | ".join(f"{t} | s" for t in titles), "|")
    print("|---|---|---|---|" + "---|---|" * len(titles))
    for name in datasets.names():
        data = datasets.load(name)
        y = np.asarray(data.y)
        classes, counts = np.unique(y, return_counts=True)
        label = classes[counts.argmin()]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "data.csv"
            data.X.assign(the_class=np.where(y == label, "yes", "no")).to_csv(path, index=False)
            for measure in asked.measures.split(","):
                question = {
                    "data": str(path), "target": "the_class", "label": "yes", "measure": measure,
                    "depth": asked.depth,
                }  # fmt: skip
                own = {"label": "yes", "objective": measure, "max_depth": asked.depth}
                frame = pd.read_csv(path, keep_default_na=False)  # the same columns for all
                discover(frame, "the_class", **own)
                started = time.perf_counter()
                found = discover(frame, "the_class", **own)
                seconds = time.perf_counter() - started
                cells = [f"{found.value:.4f} ({found.status})", f"{seconds:.2f}"]
                for number in bins:
                    other = subgroups.ask(**question, bins=number)
                    cells += [f"{_value(measure, other['covered'], y == label):.4f}"]
                    cells += [f"{other['seconds']:.2f}"]
                cells += _grown(grown, question, y == label)
                print("|", " | ".join([name, measure, *cells]), "|", flush=True)


def compare_numbers(rival: Rival, bins: list[int], depth: int) -> None:
    """Print one row for each numeric target."""
    titles = [f"pysubgroup, {n} bins" for n in bins]
    print("| dataset | target | opdt | s |", " | ".join(f"{t} | s" for t in titles), "|")
    print("|---|---|---|---|" + "---|---|" * len(titles))
    for name, target in NUMBERS:
        frame = _numbers_of(name, target)
        y = frame[target].to_numpy(float)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "data.csv"
            frame.to_csv(path, index=False)
            frame = pd.read_csv(path, keep_default_na=False)  # the same columns for all
            goal = Mean(threshold=float(y.mean()))
            discover(frame, target, objective=goal, max_depth=depth)
            started = time.perf_counter()
            found = discover(frame, target, objective=goal, max_depth=depth)
            seconds = time.perf_counter() - started
            cells = [f"{found.value:,.1f} ({found.status})", f"{seconds:.2f}"]
            for number in bins:
                other = rival.ask(
                    data=str(path), target=target, measure="numeric", depth=depth, bins=number
                )
                value = float((y - y.mean())[other["covered"]].sum())
                cells += [f"{value:,.1f}", f"{other['seconds']:.2f}"]
        print("|", " | ".join([name, target, *cells]), "|", flush=True)


def _numbers_of(name: str, target: str) -> pd.DataFrame:
    """A table with a numeric target among its columns."""
    if name != "diabetes":
        return datasets.load(name).X
    from sklearn.datasets import load_diabetes

    data = load_diabetes(as_frame=True, scaled=False)
    return data.data.assign(**{target: data.target})


def _grown(rival: Rival, question: dict[str, Any], right: np.ndarray) -> list[str]:
    """The best of RuleKit's rules, where it has the measure."""
    if question["measure"] != "wracc":
        return ["–", "–"]
    found = rival.ask(**question)
    values = [_value("wracc", rows, right) for rows in found["covered"]]
    return [f"{max(values, default=0.0):.4f}", f"{found['seconds']:.2f}"]


def _value(measure: str, covered: list[int], right: np.ndarray) -> float:
    """The measure of these rows."""
    known = measure_named(measure)
    assert known is not None
    hits = int(right[covered].sum())
    totals = ClassTotals(int(right.sum()), int((~right).sum()))
    score = known.score(Fraction(hits), Fraction(len(covered) - hits), totals)
    return known.value(score)


if __name__ == "__main__":
    main()
