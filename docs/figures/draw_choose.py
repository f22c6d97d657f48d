"""Draws the picture of `docs/guides/choose-w.md`.

Run by hand, and only when the picture changes; needs the paper's data and matplotlib:

    OPDT_DATA=folder python docs/figures/draw_choose.py

The picture is written next to this file, from the training and held-out rows that the page uses:
Pima, a stratified split with seed 0, two conditions, rules for the class `healthy`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from sklearn.model_selection import train_test_split

from opdt.analysis.frontier import ParetoFrontier, pareto_frontier
from opdt.analysis.path import Segment, WeightPath, weight_path
from opdt.datasets import load

HERE = Path(__file__).parent
WIDTH, HEIGHT = 720, 340  # CSS pixels
LAST_PRICE = 40  # to the right of the last breakpoint nothing changes
MOST_ERRORS = 26

# Okabe and Ito's colours: told apart with any kind of colour vision.
BLUE, RED = "#0072B2", "#D55E00"
INK, GREY, PALE, LINE = "#222222", "#666666", "#B8B8B8", "#DDDDDD"

mpl.rcParams.update(
    {
        "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
        "font.size": 9.5,
        "text.color": INK,
        "axes.edgecolor": GREY,
        "axes.labelcolor": GREY,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.fonttype": "path",
        "svg.hashsalt": "opdt",  # the same picture gives the same file
    }
)


def main() -> None:
    """Draw the picture."""
    data = load("pima")
    X, X_new, y, y_new = train_test_split(
        data.X, data.y, test_size=0.3, random_state=0, stratify=data.y
    )
    path = weight_path(X, y, label="healthy")
    frontier = pareto_frontier(X, y, label="healthy", max_errors=MOST_ERRORS)
    figure = sheet()
    draw_path(panel(figure, 60, "Precision of the best rule"), path, path.evaluate(X_new, y_new))
    draw_frontier(panel(figure, 424, "Correct rows at a number of errors"), frontier)
    figure.savefig(HERE / "choose-path.svg", metadata={"Date": None, "Creator": None})


def sheet() -> Figure:
    """A white rounded sheet, readable on light and dark pages."""
    figure = Figure(figsize=(WIDTH / 96, HEIGHT / 96), dpi=96)
    figure.patch.set_alpha(0)
    back = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, HEIGHT))
    back.axis("off")
    style = "round,pad=0,rounding_size=12"
    back.add_patch(
        FancyBboxPatch((1, 1), WIDTH - 2, HEIGHT - 2, boxstyle=style, fc="white", ec=LINE)
    )
    return figure


def panel(figure: Figure, left: float, title: str) -> Axes:
    """Axes from a place in pixels, with a title on the left."""
    axes = figure.add_axes((left / WIDTH, 54 / HEIGHT, 268 / WIDTH, 232 / HEIGHT))
    axes.set_facecolor("none")
    axes.set_title(title, loc="left", fontsize=10, color=INK, pad=10)
    return axes


def draw_path(axes: Axes, path: WeightPath, held: tuple[Segment, ...]) -> None:
    """Precision against the price, on the training rows and on held-out rows."""
    edges = [*(s.w_from for s in path), LAST_PRICE]
    for segments, color, words, place in (
        (path.segments, BLUE, "rows it was found on", (1.1, 0.955)),
        (held, RED, "held-out rows", (8.2, 0.82)),
    ):
        shares = [s.precision for s in segments]
        axes.stairs(shares, edges, baseline=None, color=color, lw=1.8)
        axes.annotate(words, place, color=color)
    prices = np.geomspace(1, LAST_PRICE, 200)
    axes.plot(prices, 1 - 1 / prices, color=GREY, lw=1, ls=":")
    axes.annotate("1 − 1/w:\nwhat pays", (2.5, 0.53), color=GREY, fontsize=8.5)
    axes.set_xscale("log")
    axes.set_xlim(1, LAST_PRICE)
    axes.set_ylim(0.5, 1.01)
    axes.set_xticks([1, 2, 5, 10, 20, 40], ["1", "2", "5", "10", "20", "40"])
    axes.minorticks_off()
    axes.set_yticks([0.5, 0.6, 0.7, 0.8, 0.9, 1], ["50 %", "60", "70", "80", "90", "100 %"])
    axes.set_xlabel("price w of an error")


def draw_frontier(axes: Axes, frontier: ParetoFrontier) -> None:
    """Every point of the frontier; a dot is on the path, a ring on none."""
    errors = [p.errors for p in frontier]
    correct = [p.correct for p in frontier]
    corners = [p for p in frontier if p.supported]
    axes.plot([p.errors for p in corners], [p.correct for p in corners], color=PALE, lw=1)
    for supported, face, words, place in (
        (True, BLUE, "best at some price", (8.4, 90)),
        (False, "white", "best at no price", (8.4, 76)),
    ):
        mine = [i for i, p in enumerate(frontier) if p.supported == supported]
        style = {"s": 26, "fc": face, "ec": BLUE, "linewidths": 1.1, "zorder": 3}
        axes.scatter([errors[i] for i in mine], [correct[i] for i in mine], **style)
        axes.scatter([place[0] - 0.7], [place[1] + 1.6], **style)
        axes.annotate(words, place, color=INK)
    points = np.array([0, 10])
    axes.plot(points, 19 * points, color=RED, lw=1, ls=":")
    axes.annotate("95 % precision", (10, 190), (9.5, 192), color=RED, ha="right", fontsize=8.5)
    axes.set_xlim(-1, MOST_ERRORS + 0.5)
    axes.set_ylim(60, 206)
    axes.set_xlabel("errors")
    axes.set_ylabel("correct rows")


if __name__ == "__main__":
    main()
