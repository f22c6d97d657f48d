"""Draws the picture of `docs/guides/alternatives.md`.

Run by hand, and only when the picture changes; needs matplotlib and pandas:

    python docs/figures/draw_alternatives.py

The picture is written next to this file, from the breast cancer table that comes with scikit-learn:
all rules of two conditions within 5 % of the best VI, w = 10.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from sklearn.datasets import load_breast_cancer

from opdt.analysis.alternatives import RashomonSet, rashomon_set

HERE = Path(__file__).parent
WIDTH, HEIGHT = 720, 400  # CSS pixels

# Of Okabe and Ito's colours: told apart with any kind of colour vision.
BLUE, PALE = "#0072B2", "#7FB8D8"
INK, GREY, LINE = "#222222", "#666666", "#DDDDDD"
CELL = (86, 27)  # pixels
LEFT, TOP = 158, 292

mpl.rcParams.update(
    {
        "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
        "font.size": 9.5,
        "svg.fonttype": "path",
        "svg.hashsalt": "opdt",  # the same picture gives the same file
    }
)


def main() -> None:
    """Draw the pairs of features, and the rows below them."""
    data = load_breast_cancer(as_frame=True)
    found = rashomon_set(data.data, data.target.map({0: "malignant", 1: "benign"}), within=0.05)
    figure = Figure(figsize=(WIDTH / 96, HEIGHT / 96), dpi=96)
    figure.patch.set_alpha(0)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, HEIGHT))
    axes.axis("off")
    style = "round,pad=0,rounding_size=12"
    axes.add_patch(
        FancyBboxPatch((1, 1), WIDTH - 2, HEIGHT - 2, boxstyle=style, fc="white", ec=LINE)
    )
    draw_pairs(axes, found)
    draw_rows(axes, found)
    figure.savefig(HERE / "alternatives-pairs.svg", metadata={"Date": None, "Creator": None})


def best_values(found: RashomonSet) -> dict[frozenset[str], float]:
    """The best VI of each set of features."""
    best: dict[frozenset[str], float] = {}
    for each in found:  # the best come first
        best.setdefault(frozenset(each.rule.features), each.value)
    return best


def draw_pairs(axes: Axes, found: RashomonSet) -> None:
    """A cell for each pair of features of a rule of the set."""
    best = best_values(found)
    used = [each.feature for each in found.summary.features]
    # Features that never stand together: those of shape across, those of size down.
    across: list[str] = []
    for feature in used:
        if not any(frozenset((feature, other)) in best for other in across):
            across.append(feature)
    down = [feature for feature in used if feature not in across]
    across.sort(key=lambda f: -max(v for pair, v in best.items() if f in pair))
    down.sort(key=lambda f: -max(v for pair, v in best.items() if f in pair))
    title = f"Best VI of each pair of features, all within 5 % of {found.optimum:g}"
    axes.text(24, HEIGHT - 30, title, fontsize=10.5, color=INK)
    for column, feature in enumerate(across):
        x = LEFT + CELL[0] * (column + 0.5)
        axes.text(x, TOP + 30, feature.replace(" ", "\n"), ha="center", va="center", color=GREY)
    for row, feature in enumerate(down):
        y = TOP - CELL[1] * (row + 0.5)
        axes.text(LEFT - 12, y, feature, ha="right", va="center", color=GREY)
        for column, other in enumerate(across):
            value = best.get(frozenset((feature, other)))
            draw_cell(axes, LEFT + CELL[0] * column, y, value, found)


def draw_cell(axes: Axes, x: float, y: float, value: float | None, found: RashomonSet) -> None:
    """The VI of one pair, the darker the better; an empty frame where the set has no such rule."""
    assert found.optimum is not None
    assert found.threshold is not None
    colour = "white"
    if value is not None:
        share = 0.12 + 0.78 * (value - found.threshold) / (found.optimum - found.threshold)
        colour = tuple(1 - share * (1 - part) for part in to_rgb(BLUE))
    box = (x + 1.5, y - CELL[1] / 2 + 1.5), CELL[0] - 3, CELL[1] - 3
    axes.add_patch(Rectangle(*box, fc=colour, ec=LINE if value is None else colour, lw=0.8))
    if value is not None:
        ink = "white" if value > (found.optimum + found.threshold) / 2 else INK
        axes.text(x + CELL[0] / 2, y - 0.5, f"{value:g}", ha="center", va="center", color=ink)


def draw_rows(axes: Axes, found: RashomonSet) -> None:
    """How many rows all rules cover, some, and none."""
    every = int(found.summary.covered_by_all.sum())
    some = int(found.summary.covered_by_any.sum()) - every
    rest = len(found.summary.covered_by_all) - every - some
    whole, x, y = WIDTH - 48, 24, 30
    parts = (
        (every, "every rule", BLUE),
        (some, "some rules", "#7FB8D8"),
        (rest, "none", "#EEEEEE"),
    )
    axes.text(24, y + 34, f"Rows covered by {len(found):,} rules", fontsize=10.5, color=INK)
    for number, words, colour in parts:
        width = whole * number / (every + some + rest)
        axes.add_patch(Rectangle((x, y), width - 2, 22, fc=colour, ec="none"))
        ink = "white" if colour == BLUE else INK
        axes.text(x + 8, y + 10.5, f"{number} by {words}", va="center", color=ink)
        x += width


if __name__ == "__main__":
    main()
