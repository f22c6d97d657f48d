"""Draws the two pictures of `docs/guides/trust.md`.

Run by hand, and only when a picture changes; needs the paper's data and matplotlib:

    OPDT_DATA=folder python docs/figures/draw_trust.py

The pictures are written next to this file, from the training rows that the page uses: a
stratified split with seed 0, w = 10, two conditions, seed 0 for permutations and bootstraps.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from sklearn.model_selection import train_test_split

from opdt.analysis.permutation import PermutationTest, format_p_value, permutation_test
from opdt.analysis.stability import ConditionStability, Stability, stability
from opdt.datasets import load
from opdt.rules.condition import format_value

HERE = Path(__file__).parent
WIDTH = 720  # CSS pixels

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
    """Draw both pictures."""
    warnings.simplefilter("ignore")  # of a constant column
    tests = {name: null_test(name) for name in ("pima", "thoracic_surgery")}
    draw_null(tests)
    draw_thresholds(stability(*training_rows("pima")))


def training_rows(name: str) -> tuple[Any, Any]:
    """Features and labels of the page's training rows."""
    data = load(name)
    X, _, y, _ = train_test_split(data.X, data.y, test_size=0.3, random_state=0, stratify=data.y)
    return X, y


def null_test(name: str) -> PermutationTest:
    """All 999 permutations with the optimum of each."""
    return permutation_test(*training_rows(name), keep_values=True, early_stop=False)


def sheet(height: int) -> Figure:
    """A white rounded sheet, readable on light and dark pages."""
    figure = Figure(figsize=(WIDTH / 96, height / 96), dpi=96)
    figure.patch.set_alpha(0)
    back = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, height))
    back.axis("off")
    style = "round,pad=0,rounding_size=12"
    back.add_patch(
        FancyBboxPatch((1, 1), WIDTH - 2, height - 2, boxstyle=style, fc="white", ec=LINE)
    )
    return figure


def panel(figure: Figure, box: tuple[float, float, float, float], title: str) -> Axes:
    """Axes in pixels from the lower left, with a title on the left."""
    height = figure.get_figheight() * 96
    axes = figure.add_axes((box[0] / WIDTH, box[1] / height, box[2] / WIDTH, box[3] / height))
    axes.set_facecolor("none")
    axes.set_title(title, loc="left", fontsize=10, color=INK, pad=10)
    return axes


def save(figure: Figure, name: str) -> None:
    """Write a figure as SVG next to this file."""
    figure.savefig(HERE / f"trust-{name}.svg", metadata={"Date": None, "Creator": None})


def draw_null(tests: dict[str, PermutationTest]) -> None:
    """The best VI of each shuffled table, and the one observed."""
    figure = sheet(270)
    titles = {"pima": "Pima: not chance", "thoracic_surgery": "Thoracic Surgery: may be chance"}
    for at, (name, test) in enumerate(tests.items()):
        assert test.null_values is not None
        axes = panel(figure, (68 + 348 * at, 52, 280, 166), titles[name])
        most = int(max(test.value, test.null_values.max()))
        counts = np.bincount(test.null_values.astype(int), minlength=most + 1)
        places = np.arange(len(counts))
        colors = [RED if place >= test.value else PALE for place in places]
        axes.bar(places, counts, width=1.0, color=colors)
        axes.axvline(test.value, color=BLUE, lw=2)
        left = test.value > 0.75 * most
        axes.annotate(
            f"observed: {test.value:g}\np = {format_p_value(test.p_value)}",
            (test.value, 1),
            xycoords=("data", "axes fraction"),
            xytext=(-6 if left else 6, -2),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top",
            color=BLUE,
        )
        axes.set_xlim(int(test.null_values.min()) - 4, most + 5)
        axes.set_xlabel("largest VI of any rule, classes shuffled")
        axes.set_ylabel("of 999 shuffles")
    save(figure, "null")


def draw_thresholds(found: Stability) -> None:
    """How often each condition comes back, and where its threshold then lies."""
    figure = sheet(360)
    shown = found.conditions[:7]
    axes = panel(figure, (138, 62, 170, 248), "Conditions found again")
    places = np.arange(len(shown))[::-1]
    axes.barh(places, [c.share for c in shown], color=[BLUE if c.in_rule else PALE for c in shown])
    axes.set_yticks(places, [str(c.form) for c in shown], color=INK, fontsize=8.5)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("of 200 bootstraps\n(blue: in the rule)")
    own = [condition for condition in shown if condition.in_rule and condition.low is not None]
    for at, condition in enumerate(own[:2]):
        draw_threshold(figure, found, condition, (386, 226 - 164 * at, 300, 84))
    save(figure, "thresholds")


def draw_threshold(
    figure: Figure,
    found: Stability,
    condition: ConditionStability,
    box: tuple[float, float, float, float],
) -> None:
    """The thresholds of one condition, the percentile interval, and the rule's own."""
    feature, op, _ = condition.form
    low, high = format_value(condition.low), format_value(condition.high)
    axes = panel(figure, box, f"{condition.form}  95 % from {low} to {high}")
    values = [
        c.value
        for rule in found.rules
        for c in (rule.conditions if rule else ())
        if (c.feature, c.op) == (feature, op)
    ]
    axes.hist(values, bins=36, color=PALE)
    axes.axvline(condition.threshold, color=BLUE, lw=2)
    top = axes.get_ylim()[1]
    axes.plot([condition.low, condition.high], [1.08 * top] * 2, color=RED, lw=3, clip_on=False)
    axes.set_ylim(0, 1.12 * top)
    axes.set_ylabel("bootstraps")
    axes.set_xlabel(f"threshold of {feature}")


if __name__ == "__main__":
    main()
