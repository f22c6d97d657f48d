"""Draws the picture of `docs/guides/rule-sets.md`.

Run by hand, and only when the picture changes; needs the paper's data, matplotlib, and the log of
`benchmarks/beyond.py --only rule_tests`:

    OPDT_DATA=folder python docs/figures/draw_rule_sets.py benchmarks/results/beyond.jsonl

Left, the best sets of up to six rules of two conditions for the class `diabetic` of Pima, found on
the training rows that the page uses; right, means over all datasets and splits of the benchmark.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from draw_choose import BLUE, GREY, HERE, INK, LINE, RED, panel, sheet
from matplotlib.axes import Axes
from sklearn.model_selection import train_test_split

from opdt import OPDTRuleSet
from opdt.datasets import load

MOST_RULES = 6
OURS = "OPDT"
# Where the name of a method stands beside its point, in points.
PLACES = {"OPDTRuleSet": (6, 2), "OPDTRuleList, CV": (6, -9), "OPDTRuleList": (6, -6)}


def main(log: Path) -> None:
    """Draw the picture."""
    figure = sheet()
    draw_sizes(panel(figure, 60, "Share of rows that are right: Pima"))
    draw_methods(panel(figure, 424, "Other rows, fifteen datasets"), read(log))
    figure.savefig(HERE / "rule-sets.svg", metadata={"Date": None, "Creator": None})


def draw_sizes(axes: Axes) -> None:
    """Accuracy of the best sets against the largest number of rules."""
    data = load("pima")
    X, X_new, y, y_new = train_test_split(
        data.X, data.y, test_size=0.3, random_state=0, stratify=data.y
    )
    sizes = list(range(1, MOST_RULES + 1))
    models = [OPDTRuleSet(n, label="diabetic", time_limit=600).fit(X, y) for n in sizes]
    unproven = [n for n, model in zip(sizes, models, strict=True) if model.bound_ < model.value_]
    if unproven:
        raise SystemExit(f"the sets of {unproven} rules are not proven; the page says they are")
    for rows, labels, color, words, up in (
        (X, y, BLUE, "rows they were found on", 2),
        (X_new, y_new, RED, "held-out rows", -1),
    ):
        shares = [model.score(rows, labels) for model in models]
        axes.plot(sizes, shares, color=color, lw=1.8, marker="o", ms=5)
        axes.annotate(
            words, (sizes[2], shares[2]), (0, 14 * up - 4), textcoords="offset points",
            color=color, ha="center",
        )  # fmt: skip
    axes.set_ylim(0.7, 0.86)
    axes.set_yticks([0.7, 0.75, 0.8, 0.85], ["70 %", "75", "80", "85 %"])
    axes.set_xlabel("at most so many rules")


def draw_methods(axes: Axes, records: list[dict]) -> None:  # type: ignore[type-arg]
    """Accuracy against the number of conditions; boosting as a line, because it has none."""
    for method in dict.fromkeys(r["method"] for r in records):
        mine = [r for r in records if r["method"] == method]
        share = float(np.mean([r["accuracy"] for r in mine]))
        if method in ("boosting", "most frequent"):
            axes.axhline(share, color=GREY, lw=1, ls=":")
            axes.annotate(
                method, (27.5, share), (0, 3), textcoords="offset points", color=GREY, ha="right",
                fontsize=8.5,
            )  # fmt: skip
            continue
        size = float(np.mean([r["conditions"] for r in mine]))
        color = BLUE if method.startswith(OURS) else INK
        axes.scatter([size], [share], s=28, color=color, zorder=3)
        axes.annotate(
            method, (size, share), PLACES.get(method, (6, -3)), textcoords="offset points",
            color=color, fontsize=8.5,
        )  # fmt: skip
    axes.grid(axis="y", color=LINE, lw=0.5)
    axes.set_xlim(0, 28)
    axes.set_yticks([0.7, 0.75, 0.8, 0.85], ["70 %", "75", "80", "85 %"])
    axes.set_xlabel("conditions")


def read(log: Path) -> list[dict]:  # type: ignore[type-arg]
    """The comparisons of the last run in a log."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    mine = [r for r in lines if r["section"] == "rule_tests" and "method" in r]
    return [r for r in mine if r["run"] == mine[-1]["run"]]


if __name__ == "__main__":
    mpl.rcParams["axes.titlepad"] = 10
    main(Path(sys.argv[1]))
