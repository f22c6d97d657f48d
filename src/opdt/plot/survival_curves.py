"""Kaplan–Meier curves inside and outside a rule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.objectives import BoundRows, Survival
from opdt.objectives.survival_curves import (
    LogRankTest,
    SurvivalCurve,
    log_rank_test,
    survival_curve,
)
from opdt.plot.canvas import (
    Theme,
    axes_for,
    dress,
    matplotlib,
    settle,
    size_in_points,
    theme_of,
)
from opdt.plot.rows import rule_of
from opdt.plot.text import LITERAL, count, key_below, shorten, shown, wrap
from opdt.table import open_source

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (6.4, 4.8)  # inches of a new figure
_TEXT = 8.0
_LINE = 11.0  # points from one line of text to the next
_TICKS_END = 16.0  # points below the axis at which its numbers end
_MOST_STROKES = 100  # more would hide the curve
_DASHES = ("solid", (0, (5, 2)))  # colour is never the only difference

NAMES = ("inside the rule", "outside")


def survival(model: Any, X: Any, *, objective: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the share of rows without the event as time goes by, inside and outside a rule.

    The shade is the 95% interval of each moment (Kaplan and Meier, Greenwood), and a short upright
    stroke a row that was no longer watched, where these are not too many. Below stands how many
    rows were still watched. The log-rank test is an honest one on rows that had no part in finding
    the rule only.

    Parameters
    ----------
    model : Rule, Solution or fitted model
    X : data frame, mapping of columns or path
        The rows; those that the rule was found on, or others.
    objective : Survival, optional
        Which columns hold times and events; that of the solution if left out.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    matplotlib Axes
    """
    rule = rule_of(model)
    asked = objective
    if asked is None:
        asked = getattr(getattr(model, "solution_", model), "objective", None)
    if not isinstance(asked, Survival):
        raise InputError(
            "'objective' must say which columns hold times and events, such as "
            f"Survival(time='days', event='died'), got {asked!r}."
        )
    source = open_source(X)
    time, event = asked.times(BoundRows.without_features(source))
    name = asked.time if isinstance(asked.time, str) else "time"
    return draw_curves(time, event, rule.covers(source), name=name, ax=ax)


def draw_curves(
    time: NDArray[np.float64],
    event: NDArray[np.bool_],
    inside: NDArray[np.bool_],
    *,
    name: str = "time",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the curves of these rows; see `survival`.

    Parameters
    ----------
    time : ndarray of float64, shape (n_rows,)
    event, inside : ndarray of bool, shape (n_rows,)
        Whether the time ended with the event, and whether the rule covers the row.
    name : str
        What the time axis is called.
    title : str, optional
        What the log-rank test says, if left out.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.
    """
    ax = axes_for(ax, *_SIZE)
    theme = theme_of(ax)
    dress(ax, theme)
    groups = [(words, rows) for words, rows in zip(NAMES, (inside, ~inside), strict=True)]
    handles, texts = [], []
    for at, (words, rows) in enumerate(groups):
        if not rows.any():
            continue
        curve = survival_curve(time[rows], event[rows])
        handles.append(_draw(ax, theme, at, curve))
        texts.append(f"{words}: {_told(curve)}")
    top = float(time.max()) or 1.0
    ax.set(xlim=(0, top * 1.02), ylim=(0, 1.02))
    ax.set_ylabel("share without the event", **LITERAL)
    ax.yaxis.set_major_formatter(matplotlib("ticker").PercentFormatter(1, decimals=0))
    settle(ax)
    _axis(ax, theme, shown(name))
    _watched(ax, theme, [(w, time[rows]) for w, rows in groups if rows.any()])
    room = size_in_points(ax)[0]
    told = told_test(log_rank_test(time, event, inside)) if title is None else (title,)
    lines = [line for words in told for line in wrap(words, room, 10, 2, "bold")]
    style: dict[str, Any] = {"size": 10, "weight": "bold", "color": theme.ink, "pad": 8}
    ax.set_title("\n".join(lines), loc="left", **style, **LITERAL)
    down = _TICKS_END + _LINE * (len(groups) + 2) + 8
    key_below(ax, theme, handles, texts, down, columns=1)
    return ax


def told_test(test: LogRankTest) -> tuple[str, ...]:
    """What the log-rank test says, in one or two lines."""
    if math.isnan(test.p_value):
        return ("no event tells the groups apart",)
    p_value = "p < 0.0001" if test.p_value < 1e-4 else f"p = {test.p_value:.2g}"
    said = f"log-rank test: {p_value}"
    if math.isnan(test.ratio):
        return (said,)
    return f"events come {test.ratio:.2g} times as fast inside as outside", said


def _draw(ax: Axes, theme: Theme, at: int, curve: SurvivalCurve) -> Any:
    colour = theme.classes[at]
    times = np.append(curve.times, curve.last)
    low, high, share = (
        np.append(values, values[-1]) for values in (curve.low, curve.high, curve.survival)
    )
    ax.fill_between(times, low, high, step="post", color=colour, alpha=0.18, lw=0)
    ax.plot(times, share, drawstyle="steps-post", color=colour, lw=2, ls=_DASHES[at])
    cut = np.unique(curve.censored)
    if len(cut) <= _MOST_STROKES:
        heights = curve.survival[np.searchsorted(curve.times, cut, side="right") - 1]
        ax.plot(cut, heights, "|", color=colour, ms=6, mew=1)
    return matplotlib("lines").Line2D([], [], color=colour, lw=2, ls=_DASHES[at])


def _told(curve: SurvivalCurve) -> str:
    half = curve.median
    until = "fewer than half have it" if math.isinf(half) else f"half have it by {half:,g}"
    return f"{count(curve.rows)} rows, {count(curve.events)} events, {until}"


def _axis(ax: Axes, theme: Theme, name: str) -> None:
    """Name the time axis below the numbers of rows watched."""
    width, _ = size_in_points(ax)
    down = _TICKS_END + _LINE * 3
    ax.annotate(
        shorten(name, width, 9), (0.5, 0), (0, -down), xycoords="axes fraction",
        textcoords="offset points", ha="center", va="top", size=9, color=theme.ink, **LITERAL,
    )  # fmt: skip


def _watched(ax: Axes, theme: Theme, groups: list[tuple[str, NDArray[np.float64]]]) -> None:
    """Write below each number of the time axis how many rows were still watched."""
    low, high = ax.get_xlim()
    places = [tick for tick in ax.get_xticks() if low <= tick <= high]
    style: dict[str, Any] = {
        "textcoords": "offset points", "va": "top", "size": _TEXT, **LITERAL
    }  # fmt: skip
    data = ("data", "axes fraction")
    down = -_TICKS_END
    ax.annotate("still watched", (0, 0), (-4, down), xycoords="axes fraction", ha="right",
                color=theme.soft, **style)  # fmt: skip
    for at, (_, times) in enumerate(groups):
        down = -_TICKS_END - _LINE * (at + 1)
        for place in places:
            ax.annotate(
                count(int((times >= place).sum())), (place, 0), (0, down), xycoords=data,
                ha="center", color=theme.classes[at], **style,
            )  # fmt: skip
