"""What tests of pictures share: stored images, the texts and marks drawn, and some data."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.testing.compare import calculate_rms
from matplotlib.text import Text

IMAGES = Path(__file__).parent / "images"
DPI = 60
# Images are compared in blocks of so many pixels, a fifth of an inch, since releases of matplotlib
# draw letters differently. The tolerance is on the root mean square of the differences, 0 to 255:
# from release 3.9 to 3.11 it is at most 3.4, where any group of marks is missing at least 5.
BLOCK, TOLERANCE = 12, 4.2

# Names that mean something to TeX, to legends, to HTML, or that are simply too long.
HOSTILE = (
    "_$x^{2}$ 100% <b>&\\alpha",
    "a very long name of a feature that goes on_and_on without any end ≥ Größe λ, и далее",
    "line\nbreak\t$",
    "$",
    "%s{}",
    "",
)


def check_image(ax: Axes, name: str, tmp_path: Path) -> None:
    """Compare a picture with the stored one; with OPDT_DRAW=1 store it instead."""
    stored, drawn = IMAGES / f"{name}.png", tmp_path / f"{name}.png"
    ax.get_figure().savefig(drawn, dpi=DPI, metadata={"Software": None})
    if os.environ.get("OPDT_DRAW"):
        stored.write_bytes(drawn.read_bytes())
    now, before = (blocks(imread(path)[..., :3] * 255) for path in (drawn, stored))
    off = calculate_rms(before, now)
    assert off <= TOLERANCE, f"{drawn} differs from {stored} by {off:.1f}; look at both"


def blocks(image: np.ndarray) -> np.ndarray:
    """The means of square blocks of pixels of an image of shape (height, width, 3)."""
    height, width = (size // BLOCK for size in image.shape[:2])
    image = image[: height * BLOCK, : width * BLOCK].astype(float)
    return image.reshape(height, BLOCK, width, BLOCK, 3).mean(axis=(1, 3))


def framed(width: float = 5.2, height: float = 4.4, *, dark: bool = False) -> Axes:
    """Axes at a fixed place in their figure, whatever the size of the letters around them."""
    ax = axes(width, height, dark=dark)
    ax.get_figure().set_layout_engine("none")
    ax.set_position((0.15, 0.24, 0.74, 0.56))
    return ax


def axes(width: float = 5.2, height: float = 4.4, *, dark: bool = False) -> Axes:
    """Axes of a figure that pyplot does not know."""
    figure = Figure(figsize=(width, height), layout="constrained")
    if dark:
        figure.set_facecolor("#16181d")
    ax = figure.add_subplot()
    if dark:
        ax.set_facecolor("#16181d")
    return ax


def sheet(width: float, height: float, *, dark: bool = False) -> Axes:
    """Axes that fill a figure that pyplot does not know."""
    ground = "#16181d" if dark else "white"
    return Figure(figsize=(width, height), facecolor=ground).add_axes(
        (0, 0, 1, 1), facecolor=ground
    )


def texts(ax: Axes) -> list[str]:
    """Every text that is drawn, ticks and key included."""
    return [text.get_text() for text in drawn_texts(ax)]


def drawn_texts(ax: Axes) -> list[Text]:
    """Every visible text of a picture."""
    ax.get_figure().draw_without_rendering()
    found = dict.fromkeys(ax.get_figure().findobj(Text))
    hidden = set()  # matplotlib keeps ticks beyond the limits, but does not draw them
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        hidden |= {tick.label1 for tick in ticks if not low <= tick.get_loc() <= high}
    return [t for t in found if t.get_visible() and t.get_text().strip() and t not in hidden]


def collisions(ax: Axes, slack: float = 1.0) -> list[tuple[str, str]]:
    """Pairs of texts whose boxes overlap by more than some pixels, and texts off the figure."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in drawn_texts(ax)]
    bad = [
        (a, b)
        for (a, one), (b, two) in combinations(boxes, 2)
        if min(one.x1, two.x1) - max(one.x0, two.x0) > slack
        and min(one.y1, two.y1) - max(one.y0, two.y0) > slack
    ]
    whole = ax.get_figure().bbox.padded(slack)
    return bad + [
        (text, "the edge of the figure")
        for text, box in boxes
        if box.x0 < whole.x0 or box.y0 < whole.y0 or box.x1 > whole.x1 or box.y1 > whole.y1
    ]


def patches(ax: Axes, name: str) -> list[Any]:
    """The patches of this name."""
    return [patch for patch in ax.patches if patch.get_gid() == name]


def marks(ax: Axes) -> dict[str, np.ndarray]:
    """Places of the rows drawn, shape (n, 2), by class and whether they are covered."""
    return {c.get_gid(): np.asarray(c.get_offsets()) for c in ax.collections if c.get_gid()}


def inside(ax: Axes, points: np.ndarray) -> np.ndarray:
    """Which points lie in a patch of the region, each with its lower and without its upper end."""
    found = np.zeros(len(points), dtype=bool)
    for patch in patches(ax, "region"):
        x0, y0 = patch.get_xy()
        x1, y1 = x0 + patch.get_width(), y0 + patch.get_height()
        x, y = points.T
        found |= (x >= x0) & (x < x1) & (y >= y0) & (y < y1)
    return found


def clinic(n: int = 240) -> tuple[dict[str, Any], np.ndarray]:
    """A made-up table: two numeric and two categorical features, some values missing."""
    rng = np.random.default_rng(7)
    age = rng.integers(20, 80, n).astype(float)
    dose = np.round(rng.gamma(3, 15, n), 1)
    ward = np.array(["north", "south", "east", "west"], dtype=object)[rng.integers(0, 4, n)]
    smoker = np.array(["no", "yes"], dtype=object)[rng.integers(0, 2, n)]
    ill = (age >= 50) & (ward != "west") & (rng.random(n) < 0.85) | (rng.random(n) < 0.1)
    age[::17], ward[::23] = np.nan, None
    table = {"age": age, "dose": dose, "ward": ward, "smoker": smoker}
    return table, np.where(ill, "ill", "well")
