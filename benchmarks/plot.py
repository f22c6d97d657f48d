"""Draws the growth of cost; run in an environment that has matplotlib."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

LABELS = {
    "rows": "rows",
    "features": "features",
    "depth": "depth",
    "w": "price of an error, w",
    "balance": "share of the class",
}
COLOURS = {"planted": "#1b6ca8", "weak": "#c8553d"}


def draw(curves: list[dict], path: Path) -> None:
    """One panel per series; hollow points were ended by the limit."""
    series = list(dict.fromkeys(curve["series"] for curve in curves))
    n_rows = math.ceil(len(series) / 3)
    figure, axes = plt.subplots(
        n_rows, 3, figsize=(10, 3.1 * n_rows), squeeze=False, sharey=True, layout="constrained"
    )
    for axis in axes.flat[len(series) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.flat, series, strict=False):
        for curve in (c for c in curves if c["series"] == name):
            panel(axis, curve)
        axis.set_xlabel(LABELS[name])
        axis.set_yscale("log")
        if name != "depth":
            axis.set_xscale("log")
        ticks = sorted({x for c in curves if c["series"] == name for x in c["x"]})
        axis.set_xticks(ticks, [compact(x) for x in ticks])
        axis.minorticks_off()
        axis.grid(which="major", alpha=0.3)
        axis.legend(fontsize=8, frameon=False)
    for row in axes:
        row[0].set_ylabel("seconds")
    figure.savefig(path, metadata={"Date": None})


def compact(x: float) -> str:
    """A number in few letters."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if x >= size:
            return f"{x / size:g}{letter}"
    return f"{x:g}"


def panel(axis, curve: dict) -> None:
    """One curve with its exponent."""
    unit = "× {:.1f} per level" if curve["series"] == "depth" else "exponent {:.2f}"
    known = not math.isnan(curve["growth"])
    label = f"{curve['kind']}, {unit.format(curve['growth'])}" if known else curve["kind"]
    colour = COLOURS.get(curve["kind"], "black")
    axis.plot(curve["x"], curve["seconds"], color=colour, linewidth=1.2, label=label)
    for x, seconds, solved in zip(curve["x"], curve["seconds"], curve["solved"], strict=True):
        axis.plot(x, seconds, "o", ms=4, color=colour, mfc=colour if solved else "white")


if __name__ == "__main__":
    plt.rcParams["svg.hashsalt"] = "opdt"  # the same figures give the same file
    plt.rcParams["font.size"] = 9
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
