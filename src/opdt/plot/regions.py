"""The rule's region on its features, with the rows in it and around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.plot.canvas import (
    MARKERS,
    Theme,
    axes_for,
    dress,
    matplotlib,
    plain_log,
    settle,
    size_in_points,
    theme_of,
)
from opdt.plot.rows import Mask, RuleRows
from opdt.plot.scales import Scale, class_scale, scale_of
from opdt.plot.spread import Paper, pitch_of, sample, spread
from opdt.plot.text import (
    LITERAL,
    asks,
    count,
    key_below,
    rows_text,
    share,
    shorten,
    shown,
    width_of,
    wrap,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (6.4, 5.6)  # inches of a new figure
_TITLE, _TEXT, _SMALL = 10.0, 9.0, 8.0
_MANY_ERRORS = 100  # more are not drawn any larger than other rows


def region(
    model: Any,
    X: Any,
    y: Any,
    *,
    features: Sequence[str] | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the region of a rule on two features, and the rows inside and outside it.

    Colour and shape tell the classes apart, the rule's class as blue discs. Covered rows are
    filled; those among them that are of another class, the rule's errors, have a dark rim. Rows
    whose value is missing stand in a strip of their own beside the axis.

    Conditions on other features than the two drawn are applied first: rows that fail them are
    left out, and the picture says so. A rule of one feature is drawn on that feature and the
    class. Of a large table some 2,000 rows are drawn, the same ones every time.

    Parameters
    ----------
    model : fitted model, Solution or Rule
    X : data frame, mapping of columns, 2-D array or path
    y : array-like of shape (n_rows,), or str
        Labels, or the name of the column of `X` that holds them.
    features : one or two names, optional
        The features to draw; the first two of the rule if left out.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out. The key is below the axes and the rule above
        them, so a figure with a layout (`layout="constrained"`) is best.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from opdt import Condition, Rule
    >>> rule = Rule([Condition("age", ">=", 40)], "ill")
    >>> ax = region(rule, {"age": [25, 31, 47, 52]}, ["well", "ill", "ill", "ill"])
    """
    rows = RuleRows.of(model, X, y)
    names = _features(rows, features)
    others = [c for c in rows.rule.conditions if c.feature not in names]
    passes = rows.holds(others)
    covered = passes & rows.holds(c for c in rows.rule.conditions if c.feature in names)
    scales = [
        scale_of(name, *rows.values(name), [c for c in rows.rule.conditions if c.feature == name])
        for name in names
    ]
    if len(scales) == 1:
        scales.append(class_scale(rows.classes, rows.codes))
    ax = axes_for(ax, *_SIZE)
    picture = _Picture(ax, theme_of(ax), rows, scales[0], scales[1], passes, covered)
    picture.draw()
    return ax


def _features(rows: RuleRows, features: Sequence[str] | str | None) -> list[str]:
    chosen = [features] if isinstance(features, str) else features
    names = list(rows.rule.features[:2] if chosen is None else chosen)
    if not names:
        raise InputError(
            "the rule has no condition, so it does not say which features to draw; "
            "name one or two in 'features'."
        )
    if len(names) > 2 or len(set(names)) < len(names):
        raise InputError(f"'features' must name one or two different features, got {features!r}.")
    return names


@dataclass(frozen=True)
class _Picture:
    """Draws a region; `passes` are the rows that all conditions on other features let pass."""

    ax: Axes
    theme: Theme
    rows: RuleRows
    x: Scale
    y: Scale
    passes: Mask
    covered: Mask

    def draw(self) -> None:
        """Draw everything; words around the axes come first, for they decide what room is left."""
        dress(self.ax, self.theme)
        self._axis(self.x, "x")
        self._axis(self.y, "y")
        settle(self.ax)
        chosen = sample(2 * self.rows.codes + self.covered, np.flatnonzero(self.passes))
        self._head(len(chosen))
        self._key()
        settle(self.ax)
        self._name(self.x, "x")
        self._name(self.y, "y")
        self._area()
        self._points(chosen)

    # -- axes -------------------------------------------------------------------------------

    def _axis(self, scale: Scale, which: str) -> None:
        """Set limits, ticks and the name of an axis."""
        ax, axis = self.ax, getattr(self.ax, f"{which}axis")
        if scale.log:
            getattr(ax, f"set_{which}scale")("log")
            plain_log(axis, scale.limits)
        getattr(ax, f"set_{which}lim")(*scale.drawn(scale.limits))
        if scale.dates:
            dates = matplotlib("dates")
            axis.set_major_locator(dates.AutoDateLocator())
            axis.set_major_formatter(dates.ConciseDateFormatter(axis.get_major_locator()))
        if scale.levels:
            room = self._tick_room(scale, which)
            texts = [_tick(text, room, which) for _, text in scale.ticks]
            axis.set_ticks([place for place, _ in scale.ticks], texts, **LITERAL)
        elif scale.strip is not None:
            self._strip(scale, which)
        getattr(ax, f"set_{which}label")(" ")  # keeps its place

    def _name(self, scale: Scale, which: str) -> None:
        """Name an axis, and mark and name on the other side what the rule asks of it."""
        room = size_in_points(self.ax)[which == "y"]
        name = shown(scale.name) + (" (log scale)" if scale.log else "")
        getattr(self.ax, f"set_{which}label")(shorten(name, room, _TEXT), **LITERAL)
        if scale.asks:
            self._side(scale, room, upright=which == "y")

    def _tick_room(self, scale: Scale, which: str) -> float:
        width = size_in_points(self.ax)[0]
        return width / max(1, len(scale.ticks)) - 4 if which == "x" else 0.24 * width

    def _strip(self, scale: Scale, which: str) -> None:
        """Shade and name the strip of missing values, and keep ordinary ticks clear of it."""
        assert scale.strip is not None
        low, high = scale.strip
        upright = which == "x"
        span = self.ax.axvspan if upright else self.ax.axhspan
        span(*scale.drawn(scale.strip), color=self.theme.track, lw=0, zorder=0)
        middle = float(scale.drawn((low + high) / 2))
        self.ax.annotate(
            "missing",
            (middle, 0) if upright else (0, middle),
            (0, -6) if upright else (-6, 0),
            xycoords=("data", "axes fraction") if upright else ("axes fraction", "data"),
            textcoords="offset points",
            size=_SMALL,
            color=self.theme.soft,
            ha="center" if upright else "right",
            va="top" if upright else "center",
        )
        axis = getattr(self.ax, f"{which}axis")
        clear, end = scale.drawn((high + 0.6 * (high - low), scale.limits[1]))
        ticks = axis.get_major_locator().tick_values(clear, end)
        axis.set_ticks([tick for tick in ticks if clear <= tick <= end])
        axis.set_ticks([], minor=True)

    # -- region and rows --------------------------------------------------------------------

    def _area(self) -> None:
        for low_x, high_x in self.x.spans:
            for low_y, high_y in self.y.spans:
                (x0, x1), (y0, y1) = self.x.drawn((low_x, high_x)), self.y.drawn((low_y, high_y))
                style: dict[str, Any] = {"ec": self.theme.rule, "lw": 1.8, "zorder": 1}
                patch = matplotlib("patches").Rectangle(
                    (x0, y0), x1 - x0, y1 - y0, fc=self.theme.rule_tint, **style
                )
                patch.set_gid("region")
                self.ax.add_patch(patch)

    def _points(self, chosen: NDArray[np.intp]) -> None:
        size = self._marker_size(chosen)
        places = spread(self.x, self.y, chosen, self.rows.codes, self._paper(1.3 * np.sqrt(size)))
        x, y = self.x.drawn(places[0]), self.y.drawn(places[1])
        codes, inside = self.rows.codes[chosen], self.covered[chosen]
        for at in reversed(range(len(self.rows.classes))):
            for covered in (False, True):
                mine = (codes == at) & (inside == covered)
                style = self._mark(at, covered=covered, size=size)
                points = self.ax.scatter(x[mine], y[mine], **style)
                points.set_gid(f"class-{at}-{'covered' if covered else 'outside'}")

    def _marker_size(self, chosen: NDArray[np.intp]) -> float:
        """The area of a mark, in square points."""
        if not (self.x.levels and self.y.levels):
            return float(np.clip(300 / np.sqrt(max(1, len(chosen))), 9, 36))
        return float(np.clip((0.68 * pitch_of(self.x, self.y, chosen, self._paper())) ** 2, 2, 60))

    def _paper(self, mark: float = 0.0) -> Paper:
        width, height = size_in_points(self.ax)
        (left, right), (low, high) = self.x.limits, self.y.limits
        return Paper(width / (right - left), height / (high - low), mark)

    def _mark(self, at: int, *, covered: bool, size: float) -> dict[str, Any]:
        """How a row is drawn: hollow outside, filled inside, with a dark rim where it is wrong."""
        colour = self.theme.classes[at]
        style: dict[str, Any] = {"marker": MARKERS[at], "s": size}
        if not covered:
            return {**style, "fc": "none", "ec": colour, "linewidths": 0.8, "alpha": 0.7}
        style |= {"fc": colour, "zorder": 4 if at else 3}
        if at == 0:
            return {**style, "s": 1.3 * size, "ec": self.theme.paper, "linewidths": 0.3}
        crowded = (self.x.levels and self.y.levels) or self.n_errors > _MANY_ERRORS
        rim = {"s": (1.0 if crowded else 1.5) * size, "linewidths": 0.7 if crowded else 1.2}
        return {**style, **rim, "ec": self.theme.ink}

    @cached_property
    def n_errors(self) -> int:
        """Covered rows of another class."""
        return sum(self.rows.counts(self.covered)[1:])

    # -- words ------------------------------------------------------------------------------

    def _head(self, n_drawn: int) -> None:
        """Write above the axes the rule, its numbers, and what is left out."""
        width = size_in_points(self.ax)[0] - 2 * _SMALL  # a test on the right takes some of it
        up = 5 + 1.6 * _SMALL if self.x.asks else 5.0
        for line in reversed(self._remarks(n_drawn)):
            for text in reversed(wrap(line, width, _SMALL, 2)):
                self.ax.annotate(
                    text,
                    (0, 1),
                    (0, up),
                    xycoords="axes fraction",
                    textcoords="offset points",
                    size=_SMALL,
                    color=self.theme.soft,
                    **LITERAL,
                )
                up += 1.45 * _SMALL
        title = rule_lines(self.rows, width, _TITLE, "bold")
        style: dict[str, Any] = {"size": _TITLE, "weight": "bold", "color": self.theme.ink}
        self.ax.set_title("\n".join(title), loc="left", pad=up + 3, **style, **LITERAL)

    def _side(self, scale: Scale, room: float, *, upright: bool) -> None:
        """Mark on the upper or right edge what the rule allows of an axis, and name it."""
        for low, high in scale.spans:
            ends, edge = scale.drawn((low, high)), (1, 1)
            across = self.ax.get_yaxis_transform() if upright else self.ax.get_xaxis_transform()
            self.ax.plot(
                *((edge, ends) if upright else (ends, edge)),
                color=self.theme.rule,
                lw=3,
                solid_capstyle="butt",
                transform=across,
                clip_on=False,
            )
            middle = float(scale.drawn((low + high) / 2))
            self.ax.annotate(
                shorten(scale.asks, room, _SMALL, "bold"),
                (1, middle) if upright else (middle, 1),
                (5, 0) if upright else (0, 5),
                xycoords=across,
                textcoords="offset points",
                rotation=-90 if upright else 0,
                ha="left" if upright else "center",
                va="center" if upright else "bottom",
                size=_SMALL,
                weight="bold",
                color=self.theme.rule,
                annotation_clip=False,
                **LITERAL,
            )

    def _remarks(self, n_drawn: int) -> list[str]:
        counts = self.rows.counts(self.covered)
        total, errors = sum(counts), self.n_errors
        lines = [
            f"covers {count(total)} of {rows_text(self.rows.n_rows)}: {count(counts[0])} "
            f"{self.rows.classes[0]} ({share(counts[0], total)}), {count(errors)} "
            f"error{'' if errors == 1 else 's'}"
        ]
        lines += [self.rows.verdict] if self.rows.verdict else []
        names = (self.x.name, self.y.name)
        others = [c for c in self.rows.rule.conditions if c.feature not in names]
        n_passing = int(self.passes.sum())
        if others:
            tests = " and ".join(f"{shown(c.feature)} {asks(c)}" for c in others)
            lines.append(f"shown: the {rows_text(n_passing)} with {tests}")
        if n_drawn < n_passing:
            lines.append(f"a sample of {count(n_drawn)} of these rows is drawn")
        return lines

    def _key(self) -> None:
        """Below the axes: covered rows in the left column, the others in the right one."""
        line = matplotlib("lines").Line2D
        handles, texts = [], []
        width, _ = size_in_points(self.ax)
        for covered in (True, False):
            counts = self.rows.counts(self.covered if covered else self.passes & ~self.covered)
            for at, name in enumerate(self.rows.classes):
                mark = self._mark(at, covered=covered, size=36)
                handles.append(
                    line(
                        [],
                        [],
                        ls="",
                        marker=mark["marker"],
                        ms=np.sqrt(mark["s"]),
                        mfc=mark["fc"],
                        mec=mark["ec"],
                        mew=mark["linewidths"],
                    )
                )
                state = "not covered" if not covered else "covered (error)" if at else "covered"
                rest = f", {state}: {count(counts[at])}"
                room = 0.5 * width - 4 * _SMALL - width_of(rest, _SMALL)
                texts.append(shorten(name, room, _SMALL) + rest)
        key_below(self.ax, self.theme, handles, texts, self._foot(), columns=2)

    def _foot(self) -> float:
        """Points below the axes that ticks and label need."""
        room = self._tick_room(self.x, "x")
        lines = [_tick(text, room, "x").count("\n") + 1 for _, text in self.x.ticks]
        return 30 + 11.0 * (max(lines, default=1) if self.x.levels else 1)


def rule_lines(rows: RuleRows, room: float, size: float, weight: str) -> list[str]:
    """The rule on at most three lines, broken between conditions where that is possible."""
    tests = [f"{shown(c.feature)} {asks(c)}" for c in rows.rule.conditions] or ["(any row)"]
    words = ["IF", *["AND"] * (len(tests) - 1), "THEN"]
    lines: list[str] = []
    for piece in (
        f"{word} {text}" for word, text in zip(words, [*tests, rows.classes[0]], strict=True)
    ):
        if lines and width_of(f"{lines[-1]} {piece}", size, weight) <= room:
            lines[-1] += f" {piece}"
        else:
            lines += wrap(piece, room, size, 9, weight)
    return [*lines[:2], *([shorten(" ".join(lines[2:]), room, size, weight)] if lines[2:] else [])]


def _tick(text: str, room: float, which: str) -> str:
    return "\n".join(wrap(text, room, 8, 3)) if which == "x" else shorten(text, room, 8)
