"""Value and bound of a search over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from opdt.checks import check_kind
from opdt.plot.canvas import (
    Theme,
    axes_for,
    dress,
    matplotlib,
    plain_log,
    settle,
    size_in_points,
    theme_of,
)
from opdt.plot.rows import verdict_of
from opdt.plot.text import LITERAL, count, key_below, seconds_text, wrap
from opdt.solution import Solution, Status, StopReason

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (6.4, 3.9)  # inches of a new figure
# A logarithmic axis is taken where the last moment is so many times the first one.
_LONG = 20.0


def progress(solution: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how the value of the best rule rose and the bound fell while an engine worked.

    The optimum lies in the shaded gap between the two at any time. A star marks the moment at
    which the gap was closed, and the rule proven. The time axis is logarithmic where the
    improvements are spread over very different times.

    Parameters
    ----------
    solution : Solution or fitted model
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    matplotlib Axes
    """
    solution = getattr(solution, "solution_", solution)
    check_kind("solution", solution, Solution, "a Solution or a fitted model")
    ax = axes_for(ax, *_SIZE)
    theme = theme_of(ax)
    dress(ax, theme)
    seconds, value, bound = steps_of(solution)
    scale = 1000.0 if seconds[-1] < 1 else 1.0
    times = seconds * scale
    ax.fill_between(times, value, bound, step="post", color=theme.track, lw=0, zorder=1)
    ax.plot(times, bound, drawstyle="steps-post", color=theme.classes[1], lw=1.8, ls=(0, (4, 2)))
    ax.plot(times, value, drawstyle="steps-post", color=theme.classes[0], lw=2.2)
    improved = [k for k in range(len(value)) if k == 0 or value[k] > value[k - 1]]
    ax.plot(times[improved], value[improved], "o", color=theme.classes[0], ms=4.5)
    if solution.status.is_proven and math.isfinite(value[-1]):
        at = int(np.argmax(bound == value))
        ax.plot(times[at], value[at], "*", color=theme.rule, ms=15, zorder=4, clip_on=False)
    _time_axis(ax, times, "milliseconds" if scale > 1 else "seconds")
    least = min(value[np.isfinite(value)], default=math.nan)
    if 0 <= least < 0.5 * value[-1]:
        ax.set_ylim(bottom=0)  # the value of covering nothing
    ax.set_ylabel("VI", **LITERAL)
    settle(ax)
    words = "; ".join(text for text in (_outcome(solution), verdict_of(solution)) if text)
    title = "\n".join(wrap(words, size_in_points(ax)[0], 10, 2, "bold"))
    ax.set_title(title, loc="left", size=10, weight="bold", color=theme.ink, pad=8, **LITERAL)
    _key(ax, theme, proven=solution.status.is_proven)
    return ax


def steps_of(solution: Solution) -> tuple[Any, Any, Any]:
    """Seconds, values and bounds of the trace and of the end; what is not finite is NaN."""
    points = [(p.seconds, p.value, p.bound) for p in solution.trace]
    points.append(
        (max(solution.seconds, *(p[0] for p in points), 0.0), solution.value, solution.bound)
    )
    steps = np.array(points, dtype=float)
    steps[~np.isfinite(steps)] = np.nan
    return steps[:, 0], steps[:, 1], steps[:, 2]


def _time_axis(ax: Axes, times: Any, unit: str) -> None:
    positive = times[times > 0]
    if len(positive) > 2 and positive[-1] > _LONG * positive[0]:
        ax.set_xscale("log")
        plain_log(ax.xaxis, (math.log10(positive[0]), math.log10(positive[-1])))
        ax.set_xlim(positive[0] / 1.1, positive[-1] * 1.1)
    else:
        ax.set_xlim(0, (positive[-1] if len(positive) else 1.0) * 1.03)
    ax.set_xlabel(f"time in {unit}", **LITERAL)


def _outcome(solution: Solution) -> str:
    """What came out of the search, in words."""
    after = f"after {seconds_text(solution.seconds)}"
    value = f"VI {count(solution.value)}"
    if solution.status is Status.OPTIMAL:
        return f"{value}, proven optimal {after}"
    if solution.status is Status.NO_PATTERN:
        return f"no pattern, proven {after}"
    if solution.status is Status.INFEASIBLE:
        return f"no rule meets the constraints, proven {after}"
    stopped = solution.stopped_by
    why = "" if stopped is StopReason.FINISHED else f" ({stopped})"
    if solution.status is Status.UNKNOWN:
        return f"no rule found {after}{why}; none exceeds VI {count(solution.bound)}"
    return f"{value} {after}{why}; no rule exceeds {count(solution.bound)}"


def _key(ax: Axes, theme: Theme, *, proven: bool) -> None:
    line, patch = matplotlib("lines").Line2D, matplotlib("patches").Patch
    entries: list[tuple[Any, str]] = [
        (
            line([], [], color=theme.classes[1], lw=1.8, ls=(0, (4, 2))),
            "bound: no rule has a larger VI",
        ),
        (
            line([], [], color=theme.classes[0], lw=2.2, marker="o", ms=4.5),
            "best rule found so far",
        ),
        (patch(fc=theme.track), "gap: the optimum is in here"),
    ]
    if proven:
        star = line([], [], color=theme.rule, marker="*", ms=11, ls="")
        entries.append((star, "proven: gap closed"))
    handles, texts = zip(*entries, strict=True)
    key_below(ax, theme, handles, texts, 38, columns=2)
