"""The picture of the sensitivity to w: precision against coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opdt.plot.canvas import dress, matplotlib, theme_of

Points = Sequence[tuple[float | None, ...]]


def draw_path(
    weights: Sequence[int], ours: Mapping[str, Points], paper: Mapping[str, Points], path: Path
) -> Path:
    """Draw the paths of (precision, coverage) over w, one panel for each part of the data."""
    figure = matplotlib("figure").Figure(figsize=(9, 4), layout="constrained")
    panels = figure.subplots(1, len(ours), sharey=True)
    for ax, (part, points) in zip(panels, ours.items(), strict=True):
        theme = theme_of(ax)
        dress(ax, theme)
        _path(ax, weights, paper[part], theme.soft, "s", "the paper's split")
        _path(ax, weights, points, theme.rule, "o", "ours, mean over splits")
        ax.set_title("training rows" if part == "train" else "test rows", fontsize=10)
        ax.set_xlabel("coverage")
    panels[0].set_ylabel("precision")
    panels[0].legend(
        frameon=False, fontsize=8, loc="lower left", title="numbers are w", title_fontsize=8
    )
    figure.savefig(path, dpi=150)
    return path


def _path(
    ax: Any, weights: Sequence[int], points: Points, colour: str, marker: str, label: str
) -> None:
    known = [
        (w, precision, coverage)
        for w, (precision, coverage) in zip(weights, points, strict=True)
        if precision is not None and coverage is not None
    ]
    ax.plot(
        [c for _, _, c in known],
        [p for _, p, _ in known],
        color=colour,
        marker=marker,
        markersize=4,
        linewidth=1,
        label=label,
    )
    # One label where several w give the same rule.
    same: dict[tuple[float, float], list[int]] = {}
    for w, precision, coverage in known:
        same.setdefault((coverage, precision), []).append(w)
    for place, some in same.items():
        words = str(some[0]) if len(some) == 1 else f"{max(some)}–{min(some)}"
        ax.annotate(words, place, (4, 4), textcoords="offset points", fontsize=7, color=colour)
