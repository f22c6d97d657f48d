"""Pictures of the importance of features, and of VI over time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from opdt.analysis.groups import FeatureImportance
from opdt.experiments.cell import Record
from opdt.plot.canvas import dress, matplotlib, theme_of

_TITLES = {"gain": "total gain of splits", "split": "number of splits"}


def draw_importance(
    scores: Sequence[FeatureImportance], top: int, categorical: Collection[str], path: Path
) -> Path:
    """Draw one bar chart for each metric, best first; the `top` best stand out."""
    height = 0.2 * len(scores[0].names) + 0.7
    figure = matplotlib("figure").Figure(figsize=(7.5, height * len(scores)), layout="constrained")
    panels = figure.subplots(len(scores), 1, squeeze=False)[:, 0]
    for ax, each in zip(panels, scores, strict=True):
        theme = theme_of(ax)
        dress(ax, theme)
        ranked, best = each.ranked(), set(each.top(top))
        names = [f"{n} (cat)" if n in categorical else n for n, _ in ranked]
        colours = [theme.rule if n in best else theme.line for n, _ in ranked]
        ax.barh(names, [score for _, score in ranked], color=colours, height=0.7)
        ax.invert_yaxis()
        ax.set_title(f"{_TITLES[each.metric]}: the best {top} are marked", fontsize=10)
        for label, (name, _) in zip(ax.get_yticklabels(), ranked, strict=True):
            if name in best:
                label.set(fontweight="bold", color=theme.ink)
    figure.savefig(path, dpi=150)
    return path


def draw_steps(
    ours: Mapping[str, Record],
    paper: Mapping[str, Sequence[tuple[float, float]]],
    optimum: float | None,
    path: Path,
) -> Path:
    """Draw the VI of the mixed-integer program over time, ours and the paper's."""
    figure = matplotlib("figure").Figure(figsize=(7.5, 4), layout="constrained")
    ax = figure.subplots()
    theme = theme_of(ax)
    dress(ax, theme)
    colours = (theme.rule, theme.classes[1])
    for colour, (words, record) in zip(colours, ours.items(), strict=False):
        steps = [(0.0, 0.0), *record["steps"], (record["seconds"], record["vi"])]
        _staircase(ax, steps, f"ours, {words}", record["proven"], color=colour)
        _staircase(ax, paper[words], f"the paper's, {words}", True, color=colour, linestyle=":")
    if optimum is not None:
        ax.axhline(optimum, color=theme.soft, linewidth=0.8, linestyle="--")
        ax.annotate("our split's optimum, proven by the search engine", (0, optimum), (4, 4),
                    textcoords="offset points", fontsize=7, color=theme.soft)  # fmt: skip
    ax.set_xscale("symlog", linthresh=1)
    ax.set(xlabel="seconds; a dot is the proof", ylabel="VI", ylim=(0, None), xlim=(0, None))
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, 0.93))
    figure.savefig(path, dpi=150)
    return path


def _staircase(
    ax: Any, steps: Sequence[Sequence[float]], label: str, proven: bool, **style: Any
) -> None:
    seconds, values = zip(*steps, strict=True)
    ax.step(seconds, values, where="post", linewidth=1.4, label=label, **style)
    if proven:
        ax.plot(seconds[-1:], values[-1:], marker="o", markersize=5, color=style["color"])
