"""What every picture stands on: its axes, its colours, and matplotlib itself, imported late."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from opdt.checks import check_kind
from opdt.optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A marker for each class, so that colour is never the only difference: the rule's class first.
MARKERS = ("o", "D", "s", "^", "v", "P")
# The same shapes as text, for counts that stand inside boxes.
SHAPES = ("●", "◆", "■", "▲", "▼", "✚")
# How a bar of each class is hatched; the rule's class is plain.
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "oo")
# Classes beyond this number are drawn as one.
MAX_CLASSES = len(MARKERS)
POINTS_PER_INCH = 72


@dataclass(frozen=True)
class Theme:
    """Colours that go with one another and with the ground they are drawn on.

    The first two class colours are Okabe and Ito's; all are told apart with any kind of colour
    vision, by lightness where not by hue. `rule` marks what belongs to the rule and is never the
    colour of a class. `paper` is the ground itself.
    """

    ink: str
    soft: str
    line: str
    paper: str
    rule: str
    rule_tint: str
    track: str
    classes: tuple[str, ...]


LIGHT = Theme(
    ink="#222222",
    soft="#5F5F5F",
    line="#C4C4C4",
    paper="#FFFFFF",
    rule="#34495E",
    rule_tint="#DCE5EC",
    track="#E9E9E9",
    classes=("#0072B2", "#D55E00", "#882255", "#3B0F70", "#543005", "#8A8A8A"),
)
DARK = Theme(
    ink="#EDEDED",
    soft="#B4B4B4",
    line="#5A5A5A",
    paper="#1B1D21",
    rule="#B7C6D4",
    rule_tint="#2B3642",
    track="#33363C",
    classes=("#56B4E9", "#F08A3C", "#F0E442", "#8F6BFF", "#D0FFB0", "#8A8A8A"),
)


def matplotlib(module: str) -> Any:
    """Return a module of matplotlib, or say how to install it."""
    return require(f"matplotlib.{module}", "plot", "opdt.plot")


def axes_for(ax: Axes | None, width: float, height: float, *, sheet: bool = False) -> Axes:
    """Return the axes given, or those of a new figure of this size in inches.

    Only a new figure is made through pyplot, so that notebooks show it; axes that are given may
    be of a figure that pyplot knows nothing of. The axes of a sheet fill their figure.
    """
    if ax is None:
        pyplot = matplotlib("pyplot")
        layout = None if sheet else "constrained"
        figure: Figure = pyplot.figure(figsize=(width, height), layout=layout)
        return figure.add_axes((0, 0, 1, 1)) if sheet else figure.add_subplot()
    kind: type[Axes] = matplotlib("axes").Axes
    cure = "make some with fig, ax = plt.subplots()"
    return check_kind("ax", ax, kind, "matplotlib axes or None", cure)


def theme_of(ax: Axes) -> Theme:
    """Return the colours that suit the ground behind the axes.

    A transparent ground counts as the colour that it is transparent of: with
    ``facecolor=("black", 0)`` a picture is drawn for a dark page. ``"none"`` counts as white.
    """
    red, green, blue = ground = _ground(ax)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    theme = DARK if luminance < 0.4 else LIGHT
    return replace(theme, paper=matplotlib("colors").to_hex(ground))


def _ground(ax: Axes) -> tuple[float, float, float]:
    to_rgba = matplotlib("colors").to_rgba
    front, back = to_rgba(ax.get_facecolor()), to_rgba(ax.figure.get_facecolor())
    if back == (0, 0, 0, 0):
        back = (1, 1, 1, 0)
    share = front[3]
    red, green, blue = (
        share * f + (1 - share) * b for f, b in zip(front[:3], back[:3], strict=True)
    )
    return red, green, blue


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Return width and height of the axes, in points."""
    scale = POINTS_PER_INCH / ax.figure.dpi
    return float(ax.bbox.width * scale), float(ax.bbox.height * scale)


def settle(ax: Axes) -> None:
    """Let a figure with a layout give the axes their place, before text is fitted to them."""
    layout = ax.figure.get_layout_engine()
    if layout is not None:
        layout.execute(ax.figure.canvas.figure)  # the whole figure, were the axes in a part of it


def blank(ax: Axes) -> tuple[float, float]:
    """Turn the axes into an empty sheet measured in points from its lower left corner."""
    ax.set_axis_off()
    settle(ax)
    width, height = size_in_points(ax)
    ax.set(xlim=(0, width), ylim=(0, height))
    return width, height


def dress(ax: Axes, theme: Theme) -> None:
    """Give the axes the frame, ticks and colours that all pictures share."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(theme.line)
    ax.tick_params(colors=theme.soft, labelcolor=theme.soft, labelsize=8, length=3)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=theme.ink, size=9)
    ax.title.set_color(theme.ink)


def plain_log(axis: Any, limits: tuple[float, float]) -> None:
    """Ticks of a logarithmic axis with these limits as plain numbers: 20, 50, 100, 200."""
    ticker = matplotlib("ticker")
    decades = limits[1] - limits[0]
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if decades < 3.5 else (1,)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_locator(ticker.NullLocator())
