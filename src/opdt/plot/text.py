"""Words in pictures: names shown literally, shortened to the room there is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from opdt.plot.canvas import POINTS_PER_INCH, Theme, matplotlib
from opdt.rules import Condition, Op
from opdt.rules.condition import format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

ELLIPSIS = "…"
SIGNS = {Op.GE: "≥", Op.LT: "<", Op.EQ: "=", Op.NE: "≠", Op.IN: "in"}
# Text that is data: no formulas, no TeX, whatever signs it holds and whatever the settings are.
LITERAL: dict[str, Any] = {"parse_math": False, "usetex": False}
# Where a long name may be broken: after these signs, and between a small and a capital letter.
_JOINTS = re.compile(r"(?<=[\s_\-./:;,|])|(?<=[a-z])(?=[A-Z])")


def write(ax: Axes, x: float, y: float, text: str, **style: Any) -> Text:
    """Write text at a place in the axes' data, exactly as it is."""
    return ax.text(x, y, text, **{**LITERAL, **style})


def shown(value: Any) -> str:
    """A name, level or class as text on one line; what cannot be printed is escaped."""
    text = str(value) if isinstance(value, str) else format_value(value)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if text and text == text.strip() else repr(text)


def class_text(label: Any) -> str:
    """A class as text; of a bare number or letter it is said that it is a class."""
    text = shown(label)
    return (
        text if isinstance(label, str) and len(text) > 1 and not text.isdigit() else f"class {text}"
    )


def width_of(text: str, size: float, weight: str = "normal") -> float:
    """The width of one line of text, in points."""
    settings = import_module("matplotlib").rcParams
    fonts = (*settings["font.family"], *settings["font.sans-serif"], *settings["font.serif"])
    return _width(text, size, weight, fonts) if text else 0.0


@lru_cache(maxsize=4096)
def _width(text: str, size: float, weight: str, fonts: tuple[str, ...]) -> float:
    """The same for the fonts that are set; layouts ask for the width of a text again and again."""
    font = matplotlib("font_manager").FontProperties(size=size, weight=weight)
    measure = matplotlib("textpath").text_to_path.get_text_width_height_descent
    return float(measure(text, font, ismath=False)[0])


def shorten(text: str, room: float, size: float, weight: str = "normal") -> str:
    """The text, or as much of its beginning and end as fits into so many points."""
    if width_of(text, size, weight) <= room:
        return text
    low, high = 0, len(text) - 1  # letters kept: `low` fit, `high` may not
    while low < high:
        middle = (low + high + 1) // 2
        if width_of(_abridge(text, middle), size, weight) <= room:
            low = middle
        else:
            high = middle - 1
    return _abridge(text, low)


def shorten_all(texts: Sequence[str], room: float, size: float) -> list[str]:
    """The texts, the longest of them shortened until all together fit into so many points."""
    widths = sorted(width_of(text, size) for text in texts)
    limit, left = room, room
    for at, width in enumerate(widths):  # the narrow ones keep their width, the others share
        limit = left / (len(widths) - at)
        if width > limit:
            break
        left -= width
    else:
        return list(texts)
    return [shorten(text, limit, size) for text in texts]


def wrap(text: str, room: float, size: float, lines: int = 2, weight: str = "normal") -> list[str]:
    """The text on at most so many lines of a width in points, shortened where it is too long."""
    out: list[str] = []
    rest = text
    while len(out) < lines - 1 and width_of(rest, size, weight) > room:
        parts = _JOINTS.split(rest)
        taken = 0
        while (
            taken < len(parts) - 1
            and width_of("".join(parts[: taken + 1]).rstrip(), size, weight) <= room
        ):
            taken += 1
        if taken == 0:
            break
        out.append("".join(parts[:taken]).rstrip())
        rest = "".join(parts[taken:]).lstrip()
    return [*out, shorten(rest, room, size, weight)]


def _abridge(text: str, keep: int) -> str:
    """So many letters of the text, more of its beginning than of its end."""
    end = keep // 3
    return text[: keep - end].rstrip() + ELLIPSIS + (text[-end:].lstrip() if end else "")


def asks(condition: Condition) -> str:
    """What a condition asks of its feature, without the feature: `≥ 127.5`, `= yes`."""
    if condition.op is Op.IN:
        levels = sorted(condition.value, key=lambda v: (type(v).__name__, v))
        return f"in {{{', '.join(map(shown, levels))}}}"
    if condition.op.needs_value:
        return f"{SIGNS[condition.op]} {shown(condition.value)}"
    return str(condition.op)


def condition_lines(
    condition: Condition, room: float, size: float, weight: str = "normal", before: str = ""
) -> list[str]:
    """A condition on one line, or its feature and its test on one line each, shortened to fit."""
    name, test = before + shown(condition.feature), asks(condition)
    whole = f"{name} {test}"
    if width_of(whole, size, weight) <= room:
        return [whole]
    return [shorten(name, room, size, weight), shorten(test, room, size, weight)]


def count(value: float) -> str:
    """Rows or VI: whole numbers without a point, a true minus sign, thousands apart."""
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    text = f"{value:,.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def share(part: float, whole: float) -> str:
    """A share in per cent, never rounded up to 100 or down to 0; a dash of nothing."""
    if not whole:
        return "–"
    value = part / whole
    if 0.9995 <= value < 1:
        return "> 99.9 %"
    if 0 < value < 0.0005:
        return "< 0.1 %"
    return f"{100 * value:.1f} %"


def rows_text(n: float) -> str:
    """`1 row`, `1,200 rows`."""
    return f"{count(n)} row{'' if n == 1 else 's'}"


def and_more(names: Sequence[str], room: float, size: float) -> str:
    """As many names as fit into so many points, and the number of the others."""
    listed = [shown(name) for name in names]
    for kept in range(len(listed), 0, -1):
        more = f", +{len(listed) - kept}" if kept < len(listed) else ""
        text = ", ".join(listed[:kept]) + more
        if width_of(text, size) <= room:
            return text
    more = f", +{len(listed) - 1}" if len(listed) > 1 else ""
    return shorten(listed[0], room - width_of(more, size), size) + more


def seconds_text(seconds: float) -> str:
    """A duration in the unit that suits it."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def key_below(
    ax: Axes,
    theme: Theme,
    handles: Sequence[Any],
    texts: Sequence[str],
    down: float,
    *,
    columns: int,
) -> None:
    """Write the key so many points below the axes, entries running down the columns."""
    below = matplotlib("transforms").ScaledTranslation(
        0, -down / POINTS_PER_INCH, ax.figure.dpi_scale_trans
    )
    legend = ax.legend(
        handles,
        ["?"] * len(handles),  # a label that starts with '_' would be left out
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=ax.transAxes + below,
        ncols=columns,
        frameon=False,
        borderaxespad=0,
        borderpad=0,
        handletextpad=0.5,
        columnspacing=2,
        fontsize=8,
    )
    for text, words in zip(legend.get_texts(), texts, strict=True):
        text.set(text=words, color=theme.ink, **LITERAL)
