"""Draws the four pictures of `docs/how-the-search-works.md`.

Run by hand, and only when a picture changes; any environment with matplotlib will do:

    python -m venv /tmp/figures && /tmp/figures/bin/pip install matplotlib
    /tmp/figures/bin/python docs/figures/draw_search.py

The pictures are written next to this file. Every number in them is computed here from small
tables of rows: a row of the rule's class gains 1, any other row 1 - 3 = -2.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

HERE = Path(__file__).parent
WIDTH = 720  # CSS pixels, as are all coordinates below

# Okabe and Ito's colours: told apart with any kind of colour vision. Shapes differ as well.
BLUE, RED, GREEN = "#0072B2", "#D55E00", "#009E73"
INK, GREY, PALE, LINE = "#222222", "#666666", "#B8B8B8", "#DDDDDD"

mpl.rcParams.update(
    {
        "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
        "mathtext.fontset": "dejavusans",
        "font.size": 9.5,
        "text.color": INK,
        "svg.fonttype": "path",
        "svg.hashsalt": "opdt",  # the same picture gives the same file
    }
)


def sheet(height: int) -> tuple[Figure, Axes]:
    """A white rounded sheet, readable on light and dark pages, with axes in pixels."""
    figure = Figure(figsize=(WIDTH / 96, height / 96), dpi=96)
    figure.patch.set_alpha(0)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, height))
    axes.axis("off")
    style = "round,pad=0,rounding_size=12"
    axes.add_patch(
        FancyBboxPatch((1, 1), WIDTH - 2, height - 2, boxstyle=style, fc="white", ec=LINE)
    )
    return figure, axes


def save(figure: Figure, name: str) -> None:
    """Write a figure as SVG next to this file."""
    figure.savefig(HERE / f"search-{name}.svg", metadata={"Date": None, "Creator": None})


def code(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write a condition as the page does, in a fixed-width face."""
    axes.text(x, y, text, **{"family": "DejaVu Sans Mono", "va": "center", **style})


def rows(axes: Axes, x: Any, y: Any, good: Any, *, hollow: bool = False) -> None:
    """Mark rows: the rule's class as blue discs, the others as red diamonds."""
    x, y, good = np.atleast_1d(x), np.atleast_1d(y), np.atleast_1d(good)
    for mine, marker, color, size in ((good, "o", BLUE, 34), (~good, "D", RED, 30)):
        face = "white" if hollow else color
        style = {"marker": marker, "s": size, "fc": face, "ec": color, "linewidths": 1.1}
        axes.scatter(x[mine], y[mine], zorder=3, **style)


def legend(axes: Axes, x: float, y: float) -> None:
    """Explain the two marks of rows, on one line from x."""
    rows(axes, [x, x + 156], [y, y], [True, False])
    axes.text(x + 11, y, "rule’s class: gain 1", va="center", color=GREY)
    axes.text(x + 167, y, "other: gain −2", va="center", color=GREY)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    """Draw an arrow between two points."""
    style = {"arrowstyle": "-|>,head_width=0.22,head_length=0.5", "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops={**style, "color": color, "lw": 1.4})


def tight_sums(first: Ints, second: Ints, gains: Ints, shape: tuple[int, int]) -> Ints:
    """The gain of every pair of positions: sums of gains over all levels at least as tight."""
    table = np.zeros(shape, np.int64)
    np.add.at(table, (first, second), gains)
    return table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]


LEFT, RIGHT, STEP = 150, 690, 23  # of the number line, and between two conditions


def _age_at(age: Any) -> Any:
    return LEFT + 14 + (np.asarray(age) - 20) * 8.6


def _ray(
    axes: Axes, op: str, edges: Ints, level: int, at: float, lines: tuple[float, float]
) -> None:
    """Draw a ray's conditions from loose to tight, those up to the shown row's level in green."""
    start, step = lines
    right = op == ">="
    for j, edge in enumerate(edges, 1):
        x, y = _age_at(edge), start + (j - 1) * step
        color, ink = (GREEN, INK) if j <= level else (PALE, GREY)
        arrow(axes, (x, y), (RIGHT if right else LEFT, y), color)
        face = color if right else "white"  # as usual: a disc includes the end, a ring does not
        axes.scatter([x], [y], s=26, fc=face, ec=color, zorder=4, linewidths=1.4)
        side = {"ha": "right" if right else "left", "color": ink}
        code(axes, x + (-8 if right else 8), y, f"age {op} {edge}", **side)
        axes.text(24, y, f"position {j}", va="center", color=GREY)
        end = {1: "loose", len(edges): "tight"}.get(j, "")
        axes.text(100, y, end, va="center", color=GREY, style="italic")
        if j <= level:
            axes.plot([at, at], [y, y - step if j > 1 else y], color=GREEN, lw=1.2, ls=(0, (2, 2)))
            axes.scatter([at], [y], s=15, color=INK, zorder=5)


def draw_rays() -> None:
    """Draw the two rays of a numeric feature and one row's levels on them."""
    ages = np.array([22, 22, 29, 36, 36, 36, 45, 45, 53, 61, 61, 70])
    good = np.array([0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0], bool)
    values, codes = np.unique(ages, return_inverse=True)
    shown, last = 8, len(values) - 1
    figure, axes = sheet(500)
    base, at = 248, _age_at(ages[shown])

    axes.plot([LEFT, RIGHT], [base, base], color=INK, lw=1.2)
    axes.text(24, base, "age of the rows", va="center", weight="bold")
    for value in values:
        axes.plot([_age_at(value)] * 2, [base - 4, base + 4], color=INK, lw=1)
        axes.text(_age_at(value), base - 16, str(value), ha="center", va="center")
    stack = np.array([np.sum(codes[:i] == c) for i, c in enumerate(codes)])
    rows(axes, _age_at(ages), base + 14 + 14 * stack, good)
    axes.scatter([at], [base + 14], s=120, fc="none", ec=INK, zorder=5, linewidths=1.3)
    axes.text(at + 10, base + 47, "this row", va="center", weight="bold")

    up, down = base + 70, base - 66
    axes.plot([at, at], [base + 22, up], color=GREEN, lw=1.2, ls=(0, (2, 2)))
    axes.plot([at, at], [base - 26, down], color=GREEN, lw=1.2, ls=(0, (2, 2)))
    _ray(axes, ">=", values[1:], codes[shown], at, (up, STEP))
    _ray(axes, "<", values[:0:-1], last - codes[shown], at, (down, -STEP))
    above = f"this row has level {codes[shown]}, the tightest position that covers it"
    below = f"this row has level {last - codes[shown]}"
    for y, op, note in ((up + last * STEP + 6, ">=", above), (down + STEP + 1, "<", below)):
        axes.text(24, y, "ray", va="center", weight="bold")
        code(axes, 54, y, f"age {op}", weight="bold")
        axes.text(LEFT, y, note, va="center", color=GREEN, weight="bold")
    legend(axes, 32, 26)
    save(figure, "rays")


def grid(axes: Axes, corner: tuple[int, int], size: int, thresholds: list[list[int]]) -> None:
    """Draw the frame of a square table of two rays, with positions and thresholds."""
    x0, y0 = corner
    n = len(thresholds[0])
    for i in range(n + 1):
        axes.plot([x0, x0 + n * size], [y0 + i * size] * 2, color=LINE, lw=1, zorder=1)
        axes.plot([x0 + i * size] * 2, [y0, y0 + n * size], color=LINE, lw=1, zorder=1)
    for i in range(n):
        middle = (i + 0.5) * size
        axes.text(x0 + middle, y0 - 12, str(i), ha="center", va="center")
        axes.text(x0 - 11, y0 + middle + 6, str(i), ha="right", va="center")
        first, second = (f">= {t[i]}" if i else "any" for t in thresholds)
        code(axes, x0 + middle, y0 - 27, first, ha="center", color=GREY, size=8)
        code(axes, x0 - 9, y0 + middle - 9, second, ha="right", color=GREY, size=8)
    code(axes, x0 + n * size / 2, y0 - 46, "age >=", ha="center", weight="bold")
    code(axes, x0 - 50, y0 + n * size / 2, "dose >=", ha="center", weight="bold", rotation=90)


def _pair_table(axes: Axes, origin: tuple[int, int], size: int, sums: Ints) -> None:
    """Write the sums into their cells, shaded by sign, with the largest marked."""
    for a, b in np.ndindex(sums.shape):
        x, y = origin[0] + a * size, origin[1] + b * size
        best = sums[a, b] == sums.max()
        color = GREEN if best else BLUE if sums[a, b] > 0 else RED
        shade = 0.3 if best else 0.035 * min(abs(sums[a, b]), 8)
        axes.add_patch(Rectangle((x, y), size, size, fc=color, alpha=shade, lw=0))
        if best:
            axes.add_patch(Rectangle((x, y), size, size, fc="none", ec=GREEN, lw=2.4, zorder=4))
        style = {"weight": "bold", "size": 12} if best else {"size": 10}
        text = str(sums[a, b]).replace("-", "−")
        axes.text(x + size / 2, y + size / 2, text, ha="center", va="center", **style)


def draw_pair() -> None:
    """Draw rows by their levels on two rays, and the table of all pairs of positions."""
    # One line per dose, the largest first; one word per age: + and - are the rows there.
    layout = """
        -  +-  +   ++  -
        -  .   ++  +   +
        +  -   +-  ++  ++
        -- +   -   +   .
        -  --  +   --  -
    """
    words = layout.split()
    cells = [
        (i % 5, 4 - i // 5, sign == "+") for i, w in enumerate(words) for sign in w if w != "."
    ]
    ages, doses, good = (np.array(column) for column in zip(*cells, strict=True))
    sums = tight_sums(ages, doses, np.where(good, 1, -2), (5, 5))
    j, k = np.unravel_index(sums.argmax(), sums.shape)
    assert np.sum(sums == sums.max()) == 1

    figure, axes = sheet(452)
    size, y0, left, right = 54, 110, 76, 414
    thresholds = [[20, 30, 40, 50, 60], [1, 2, 3, 4, 5]]
    for x0 in (left, right):
        grid(axes, (x0, y0), size, thresholds)
    end = y0 + 5 * size
    heads = (left, "Rows at their levels"), (right, "Gain of every pair of positions")
    for x, text in heads:
        axes.text(x, end + 38, text, weight="bold", va="center")

    counts = np.zeros((5, 5), int)
    for age, dose, is_good in zip(ages, doses, good, strict=True):
        nth, total = counts[age, dose], np.sum((ages == age) & (doses == dose))
        counts[age, dose] += 1
        shift = (nth - (total - 1) / 2) * 18
        rows(axes, left + (age + 0.5) * size + shift, y0 + (dose + 0.5) * size, is_good)
    box = (left + j * size, y0 + k * size), (5 - j) * size, (5 - k) * size
    axes.add_patch(Rectangle(*box, fc=GREEN, alpha=0.1, lw=0))
    axes.add_patch(Rectangle(*box, fc="none", ec=GREEN, lw=2.4, zorder=4))

    _pair_table(axes, (right, y0), size, sums)
    axes.text(right, end + 14, "summed from tight to loose", va="center", color=GREY)
    arrow(axes, (right + 5 * size, end + 14), (right + 188, end + 14), GREY)
    arrow(axes, (right + 5 * size + 14, end), (right + 5 * size + 14, end - 82), GREY)
    box = (ages >= j) & (doses >= k)
    hits, misses = np.sum(box & good), np.sum(box & ~good)
    rule = f"age >= {thresholds[0][j]} and dose >= {thresholds[1][k]}"
    text = f"gains {hits} × 1 − {misses} × 2 = {hits - 2 * misses}, the largest cell"
    code(axes, left, 26, rule, weight="bold", color=GREEN)
    axes.text(left + 190, 26, text, va="center", weight="bold", color=GREEN)
    legend(axes, left + 6, end + 14)
    save(figure, "pair")


def pair_on_outer_ray() -> tuple[Ints, Ints, Ints, int]:
    """A pair's best gain, the mass and the loss at each position of a third ray.

    Also the best gain that any pair of rays reaches with it.
    """
    rng = np.random.default_rng(137)
    top, n = 14, 80
    levels = np.stack([rng.integers(0, top + 1, n), *(rng.integers(0, 9, n) for _ in range(4))])
    planted = (levels[3] >= 3) & (levels[4] >= 3)
    gains = np.where(rng.random(n) < np.where(planted, 0.97, 0.5), 1, -2)
    inside = levels[0] >= np.arange(top + 1)[:, None]  # (positions, rows)

    def best_of(p: int, q: int) -> Ints:
        sums = (tight_sums(levels[p][s], levels[q][s], gains[s], (9, 9)) for s in inside)
        return np.array([table.max() for table in sums])

    best = max(best_of(p, q).max() for p, q in combinations(range(1, 5), 2))
    return best_of(1, 3), inside @ np.maximum(gains, 0), inside @ np.maximum(-gains, 0), best


def draw_interval() -> None:
    """Draw the bounds that two settled positions put on those between them."""
    truth, mass, loss, best = pair_on_outer_ray()
    i, k = 2, 10
    j = np.arange(i, k + 1)
    rising, falling = truth[i] + loss[i] - loss[j], truth[k] + mass[j] - mass[k]
    lower = np.minimum(rising, falling)
    peak = int(lower.argmax())
    assert truth.max() < best  # so it is another pair's
    assert (truth[j] <= lower).all()
    assert rising[peak] == falling[peak] < best

    figure, _ = sheet(450)
    axes = figure.add_axes((66 / WIDTH, 60 / 450, 630 / WIDTH, 366 / 450))
    axes.patch.set_alpha(0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(xlim=(i - 0.8, k + 0.8), ylim=(8, 56))
    axes.fill_between(j, lower, color=LINE, alpha=0.45, lw=0)
    axes.plot(j, rising, color=RED, lw=2, marker="s", ms=4)
    axes.plot(j, falling, color=BLUE, lw=2, marker="^", ms=5)
    axes.axhline(best, color=INK, lw=1.4, ls=(0, (5, 3)))
    axes.scatter(j[1:-1], truth[j[1:-1]], s=34, fc="white", ec=INK, zorder=4)
    axes.scatter([i, k], truth[[i, k]], s=60, color=INK, zorder=5)
    axes.scatter([j[peak]], [lower[peak]], s=190, fc="none", ec=GREEN, lw=2.4, zorder=5)
    axes.set_xticks(j, [f"$i$ = {i}", *map(str, j[1:-1]), f"$k$ = {k}"])
    axes.set_xlabel("position $j$ of the outer ray, from loose to tight")
    axes.set_ylabel("best gain of the pair, $F(j)$")

    def note(x: float, y: float, text: str, color: str = INK, **style: Any) -> None:
        axes.text(x, y, text, **{"color": color, "va": "center", "ha": "center", **style})

    note(i - 0.1, truth[i] - 3, f"$F(i)$ = {truth[i]}, settled", ha="left")
    note(k + 0.1, truth[k] - 3, f"$F(k)$ = {truth[k]}, settled", ha="right")
    note(j[peak], 12, "$F(j)$: need not be worked out", GREY)
    note(k + 0.75, best + 1.7, f"best known, by another pair: {best}", ha="right", weight="bold")
    text = f"nothing between $i$ and $k$\nexceeds {lower[peak]}: below the best"
    note(j[peak] - 0.2, 25, text, GREEN, weight="bold", linespacing=1.4)
    note(i + 0.1, 50, "bound from the right\n$F(k)$ + mass dropped, $j$ to $k$", BLUE, ha="left")
    note(7.6, 50, "bound from the left\n$F(i)$ + loss dropped, $i$ to $j$", RED, ha="right")
    save(figure, "interval")


def scattered(rng: np.random.Generator, n: int, lines: Floats) -> Floats:
    """Random points of the unit square, shape (2, n), clear of each other and of some lines."""
    points = np.empty((2, 0))
    while points.shape[1] < n:
        new = rng.random((2, 1))
        clear = np.abs(new - lines).min() > 0.02
        if clear and np.hypot(*(points - new)).min(initial=1) > 0.045:
            points = np.hstack([points, new])
    return points


def draw_cells() -> None:
    """Draw the loosest and the tightest box of a rule whose thresholds lie inside one cell."""
    edges = np.array([0, 0.08, 0.2, 0.44, 0.7, 0.88, 1])  # finer towards both ends
    cell, threshold = np.array([2, 2]), np.array([0.3, 0.34])
    rng = np.random.default_rng(4)
    points = scattered(rng, 100, np.concatenate([edges, threshold]))
    good = rng.random(100) < np.where((points > 0.3).all(axis=0), 0.8, 0.2)
    loosest, tightest = edges[cell], edges[cell + 1]

    def within(corner: Floats) -> NDArray[np.bool_]:
        return (points >= corner[:, None]).all(axis=0)

    gains = np.where(good, 1, -2)
    mass = gains[within(loosest) & good].sum()
    loss = -gains[within(tightest) & ~good].sum()
    gain = gains[within(threshold)].sum()
    assert gain <= mass - loss

    figure, axes = sheet(430)
    x0, y0, side = 52, 56, 348
    for edge in edges * side:
        axes.plot([x0, x0 + side], [y0 + edge] * 2, color=PALE, lw=0.8, zorder=1)
        axes.plot([x0 + edge] * 2, [y0, y0 + side], color=PALE, lw=0.8, zorder=1)
    for low, alpha in ((loosest, 0.13), (tightest, 0.22)):
        box = (x0 + low[0] * side, y0 + low[1] * side), *((1 - low) * side)
        axes.add_patch(Rectangle(*box, fc=GREEN, alpha=alpha, lw=0))
        axes.add_patch(Rectangle(*box, fc="none", ec=GREEN, lw=2.2, zorder=2))
    own = (x0 + loosest[0] * side, y0 + loosest[1] * side), *((tightest - loosest) * side)
    axes.add_patch(Rectangle(*own, fc="none", ec=INK, lw=1.4, zorder=3))
    counted = within(loosest) & good | within(tightest) & ~good
    x, y = x0 + points[0] * side, y0 + points[1] * side
    rows(axes, x[counted], y[counted], good[counted])
    rows(axes, x[~counted], y[~counted], good[~counted], hollow=True)
    a, b = x0 + threshold[0] * side, y0 + threshold[1] * side
    dashes = {"color": INK, "lw": 1.6, "ls": (0, (4, 2)), "zorder": 4}
    axes.plot([a, a, x0 + side], [y0 + side, b, b], **dashes)
    axes.plot([a, a], [y0 - 5, b], color=INK, lw=0.7, zorder=1)
    axes.plot([x0 - 5, a], [b, b], color=INK, lw=0.7, zorder=1)
    code(axes, a, y0 - 14, "c", ha="center", weight="bold")
    code(axes, x0 - 14, b, "d", ha="center", weight="bold")
    code(axes, x0 + side, y0 - 14, "age", ha="right")
    code(axes, x0 - 14, y0 + side, "dose", ha="center", va="top", rotation=90)
    _cells_text(axes, mass, loss, gain)
    save(figure, "cells")


def _cells_text(axes: Axes, mass: int, loss: int, gain: int) -> None:
    """Explain the boxes, beside them."""
    x, dashes = 428, {"color": INK, "lw": 1.6, "ls": (0, (4, 2))}
    axes.plot([x, x + 26], [388, 388], **dashes)
    code(axes, x + 36, 388, "age >= c and dose >= d", weight="bold")
    axes.text(x + 36, 370, "thresholds inside the outlined cell", va="center", color=GREY)
    at_most = "the cell and all tighter ones:", "the rule covers at most this"
    at_least = "the strictly tighter cells:", "the rule covers at least this"
    boxes = (
        (320, 0.13, "Loosest box", at_most, f"mass {mass}", BLUE),
        (246, 0.32, "Tightest box", at_least, f"loss {loss}", RED),
    )
    for y, alpha, name, lines, sum_, color in boxes:
        axes.add_patch(Rectangle((x, y - 9), 26, 18, fc=GREEN, alpha=alpha, lw=0))
        axes.add_patch(Rectangle((x, y - 9), 26, 18, fc="none", ec=GREEN, lw=1.8))
        axes.text(x + 36, y, name, va="center", weight="bold")
        axes.text(x + 246, y, sum_, va="center", ha="right", weight="bold", color=color)
        for i, line in enumerate(lines, 1):
            axes.text(x + 36, y - 18 * i, line, va="center", color=GREY)
    axes.text(x, 168, "gain of any such rule  ≤  bound", va="center", color=GREY)
    axes.text(x, 146, "bound = mass(loosest) − loss(tightest)", va="center", weight="bold", size=9)
    axes.text(x + 43, 126, f"= {mass} − {loss} = {mass - loss}", va="center", weight="bold", size=9)
    axes.text(x, 104, f"The rule drawn gains {gain}.", va="center", color=GREY)
    legend(axes, x + 6, 66)
    axes.text(x, 46, "filled: counted in the bound", va="center", color=GREY)


if __name__ == "__main__":
    draw_rays()
    draw_pair()
    draw_interval()
    draw_cells()
