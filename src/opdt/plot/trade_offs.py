"""Precision against coverage over all prices of an error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from opdt.errors import InputError
from opdt.plot.canvas import (
    POINTS_PER_INCH,
    Theme,
    axes_for,
    dress,
    matplotlib,
    settle,
    theme_of,
)
from opdt.plot.text import LITERAL, count, key_below, share, width_of
from opdt.solution import Solution
from opdt.verdict import Verdict, VerdictLevel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (6.4, 4.6)  # inches of a new figure
_TEXT = 8.0
# Where a label may stand: directions from its point, the first that is free is taken.
_SIDES = ((1, 0), (1, 1), (1, -1), (0, 1), (0, -1), (-1, 0), (-1, 1), (-1, -1))
_MAX_LABELS = 10
_FAR = (1.2, 2.3)  # how far away, in heights of its letters

Boxes = list[tuple[float, float, float, float]]


@dataclass(frozen=True)
class TradeOffMark:
    """A rule in the plane: precision, coverage (a share), and the prices at which it is best."""

    precision: float
    coverage: float
    w_from: float | None = None
    w_to: float | None = None
    level: VerdictLevel | None = None  # of the verdict, where there is one

    @property
    def prices(self) -> str:
        """`w 2 to 3.5`, `w above 10`, or nothing where no price is known."""
        if self.w_from is None or self.w_to is None:
            return ""
        if math.isinf(self.w_to):
            return f"w ≥ {self.w_from:.3g}"
        if self.w_from == self.w_to:
            return f"w = {self.w_from:.3g}"
        return f"w {self.w_from:.3g} to {self.w_to:.3g}"

    @property
    def at(self) -> tuple[float, float]:
        """Where it lies; shares that are the same to nine digits are the same."""
        return round(self.coverage, 9), round(self.precision, 9)

    @property
    def breadth(self) -> float:
        """How many times the lowest price the highest one is."""
        return 0.0 if self.w_from is None or self.w_to is None else self.w_to / self.w_from

    def holds(self, w: float) -> bool:
        """Whether the rule is the best at this price."""
        return self.w_from is not None and self.w_to is not None and self.w_from <= w <= self.w_to


def trade_off(
    path: Any,
    X: Any = None,
    y: Any = None,
    *,
    w: float | None = None,
    held_out: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw precision against coverage of the best rules of all prices of an error.

    A low price gives a rule of many rows and some errors, a high price one of fewer rows and
    hardly any. Each point is a rule, with the prices at which it is the best; it is filled where
    the verdict on the rule is *supported*.

    Parameters
    ----------
    path : WeightPath, iterable of its segments, mapping of w to Solution, or fitted model
        Segments are anything with `precision`, `coverage` (a share of the rows) and, if they are
        to be labelled, `w_from` and `w_to`. For a fitted model the path is computed with its
        settings, on the rows given here.
    X, y : optional
        Rows, needed for a model, and for the coverage of bare solutions.
    w : float, optional
        A price whose rule gets a star. Without it a model's own rule gets the star, at what it does
        on these rows: on the path if they are those it was fitted on, mostly below it if not.
    held_out : iterable of segments, optional
        The same rules on other rows, such as ``path.evaluate(X_test, y_test)``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    matplotlib Axes
    """
    star, said = None, None
    if hasattr(path, "solution_"):
        found = _path_of(path, X, y)
        if w is None:
            star, said = _own(path, X, y), _said(path)
        path = found
    points = points_of(path, X)
    if not points:
        raise InputError("'path' holds no rule that covers any row, so there is nothing to draw.")
    if w is not None:
        star, said = _best_at(points, w), f"w = {count(w)}"
    others = [] if held_out is None else points_of(held_out, X)
    ax = axes_for(ax, *_SIZE)
    theme = theme_of(ax)
    dress(ax, theme)
    handles = _draw(ax, theme, points, others, star)
    ax.set_xlabel("coverage: share of all rows", **LITERAL)
    ax.set_ylabel("precision", **LITERAL)
    every = [*points, *others] if star is None else [*points, *others, star]
    _percent(ax, every)
    settle(ax)
    _label(ax, theme, points, others, star, said)
    title: dict[str, Any] = {"size": 10, "weight": "bold", "color": theme.ink, "pad": 8}
    ax.set_title("best rules for all prices w of an error", loc="left", **title, **LITERAL)
    if handles:
        key_below(ax, theme, list(handles.values()), list(handles), 38, columns=2)
    return ax


def points_of(path: Any, X: Any = None) -> list[TradeOffMark]:
    """The rules of a path that cover anything, from the lowest price to the highest."""
    if isinstance(path, Mapping):
        return _points_of_solutions(path, X)
    segments = getattr(path, "segments", path)
    if not isinstance(segments, Iterable):
        raise InputError(
            "'path' must be a weight path, its segments, a mapping of w to Solution or a fitted "
            f"model, got {type(path).__name__}."
        )
    points = []
    for segment in segments:
        if not hasattr(segment, "precision") or not hasattr(segment, "coverage"):
            raise InputError(
                "'path' must hold segments with 'precision' and 'coverage', got "
                f"{type(segment).__name__}; give bare solutions as a mapping of w to Solution."
            )
        w_from, w_to = (getattr(segment, name, None) for name in ("w_from", "w_to"))
        level = _level(segment)
        shares = float(segment.precision), float(segment.coverage)
        points.append(TradeOffMark(*shares, w_from, w_to, level))
    return [p for p in points if p.coverage > 0]


def _points_of_solutions(solutions: Mapping[Any, Any], X: Any) -> list[TradeOffMark]:
    """One point for each rule; neighbouring prices of the same rule are joined."""
    from opdt.table import Table, n_rows_of

    if X is None:
        raise InputError(
            "the coverage of bare solutions is a share of all rows, so 'X' is needed as well."
        )
    total = X.n_rows if isinstance(X, Table) else n_rows_of(X)
    points: list[TradeOffMark] = []
    last: Solution | None = None
    for w in sorted(solutions):
        solution = solutions[w]
        if not isinstance(solution, Solution):
            raise InputError(
                f"'path' must map each w to a Solution, got {type(solution).__name__} at {w!r}."
            )
        if last is not None and solution.rule == last.rule and solution.covered:
            points[-1] = replace(points[-1], w_to=w)
        elif solution.covered:
            shares = solution.precision, solution.covered / total
            points.append(TradeOffMark(*shares, w, w, _level(solution)))
        last = solution
    return points


def _level(found: Any) -> VerdictLevel | None:
    verdict = getattr(found, "verdict", None)
    return verdict.level if isinstance(verdict, Verdict) else None


def _own(model: Any, X: Any, y: Any) -> TradeOffMark | None:
    """A model's rule on these rows; None where it covers none of them."""
    from opdt.analysis.counts import counts_on

    covered, errors, total = next(iter(counts_on([model.rule_], X, y)))
    return TradeOffMark(1 - errors / covered, covered / total) if covered else None


def _said(model: Any) -> str:
    """What the star of a model is called."""
    priced = model.solution_.objective == "vi" and hasattr(model, "w")
    level = _level(model.solution_)
    judged = "" if level is None else f" ({level})"
    return (f"w = {count(model.w)}" if priced else "the model's rule") + judged


def _path_of(model: Any, X: Any, y: Any) -> Any:
    from opdt.analysis.path import weight_path

    if X is None or y is None:
        raise InputError("the path of a fitted model needs rows, in 'X' and 'y'.")
    # One that chooses among several has what it chose.
    chosen = getattr(model, "best_params_", None) or {}
    return weight_path(
        X,
        y,
        max_depth=chosen.get("max_depth", getattr(model, "max_depth", None)),
        structure=chosen.get("structure", getattr(model, "structure", None)),
        groups=model.groups,
        label=model.label,
        constraints=model.constraints,
        time_limit=model.time_limit,
        n_jobs=model.n_jobs,
    )


def _draw(
    ax: Axes,
    theme: Theme,
    points: list[TradeOffMark],
    others: list[TradeOffMark],
    star: TradeOffMark | None,
) -> dict[str, Any]:
    """Draw the points and return what the key explains."""
    along: dict[str, Any] = {"color": theme.line, "lw": 1.2, "zorder": 1}
    style: dict[str, Any] = {"ls": "", "ms": 6.5, "color": theme.classes[0], "zorder": 3}

    def marked(some: list[TradeOffMark], gid: str, **more: Any) -> Any:
        at = [p.coverage for p in some], [p.precision for p in some]
        (drawn,) = ax.plot(*at, **{**style, **more})
        drawn.set_gid(gid)
        return drawn

    ax.plot([p.coverage for p in points], [p.precision for p in points], **along)
    rules, key = marked(points, "rules", marker="o"), {}
    if any(p.level is VerdictLevel.SUPPORTED for p in points):
        key["verdict: supported"] = rules
    elif others and all(p.level is None for p in points):
        key["on the rows they were found on"] = rules
    doubtful = [p for p in points if p.level not in (None, VerdictLevel.SUPPORTED)]
    if doubtful:
        hollow = marked(doubtful, "doubtful", marker="o", mfc=theme.paper, zorder=3.5)
        key["verdict: weak or not supported"] = hollow
    if star is not None:
        (drawn,) = ax.plot(star.coverage, star.precision, "*", color=theme.rule, ms=16, zorder=4)
        drawn.set_gid("chosen")
    if others:
        ax.plot([p.coverage for p in others], [p.precision for p in others], ls=":", **along)
        key["the same rules on held-out rows"] = marked(
            others, "held-out", marker="D", color=theme.classes[1], mfc=theme.paper
        )
    return key


def _percent(ax: Axes, points: list[TradeOffMark]) -> None:
    """Axes in per cent, with room around the points; no share beyond 100 % has a tick."""
    ticker = matplotlib("ticker")
    widest = max(p.coverage for p in points)
    ax.set_xlim(0, 1.12 * widest)
    low = min(p.precision for p in points)
    room = max(0.1 * (1 - low), 0.005)
    ax.set_ylim(low - room, 1 + room)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(
            ticker.FuncFormatter(lambda v, _: "" if v > 1.0001 else f"{100 * v:.4g} %")
        )


def _label(
    ax: Axes,
    theme: Theme,
    points: list[TradeOffMark],
    others: list[TradeOffMark],
    star: TradeOffMark | None,
    said: str | None,
) -> None:
    """Write the prices beside some points: the chosen one, and those best over a wide range."""
    chosen = None
    if star is not None:
        same = [k for k, p in enumerate(points) if p.at == star.at]
        chosen = same[-1] if same else len(points)
        points = points if same else [*points, star]
    to_points = POINTS_PER_INCH / ax.figure.dpi
    marks = [(p.coverage, p.precision) for p in (*points, *others)]
    places = ax.transData.transform(marks) * to_points
    frame = [float(edge) * to_points for edge in ax.bbox.extents]
    taken: Boxes = [(x - 4, y - 4, x + 4, y + 4) for x, y in places.tolist()]
    order = sorted(range(len(points)), key=lambda k: (k != chosen, -points[k].breadth))
    for k in order[:_MAX_LABELS]:
        text, weight = points[k].prices, "bold" if k == chosen else "normal"
        if k == chosen:
            right, rows = share(points[k].precision, 1), share(points[k].coverage, 1)
            text = f"{said}: {right} right, {rows} of the rows"
        found = _free_place(places[k], width_of(text, _TEXT, weight), taken, frame)
        if not text or found is None:
            continue
        dx, dy, box = found
        taken.append(box)
        halo = matplotlib("patheffects").withStroke(linewidth=2.5, foreground=theme.paper)
        ax.annotate(
            text,
            (points[k].coverage, points[k].precision),
            (dx, dy),
            textcoords="offset points",
            size=_TEXT,
            weight=weight,
            color=theme.rule if k == chosen else theme.soft,
            va="center",
            zorder=5,
            path_effects=[halo],
            **LITERAL,
        )


def _best_at(points: list[TradeOffMark], w: float) -> TradeOffMark | None:
    """The rule that is best at a price, the last of two."""
    holding = [point for point in points if point.holds(w)]
    return holding[-1] if holding else None


def _free_place(
    place: Any, width: float, taken: Boxes, edges: list[float]
) -> tuple[float, float, tuple[float, float, float, float]] | None:
    """An offset from a point, in points, at which a label meets nothing; None if there is none."""
    height = 1.3 * _TEXT
    for far in _FAR:
        for side_x, side_y in _SIDES:
            reach = far * _TEXT
            dx = {1: reach, 0: -width / 2, -1: -reach - width}[side_x]
            dy = side_y * (reach + (0 if side_x else 0.3 * _TEXT))
            x, y = float(place[0]) + dx, float(place[1]) + dy
            box = (x, y - height / 2, x + width, y + height / 2)
            inside = box[0] >= edges[0] and box[2] <= edges[2]
            if inside and box[1] >= edges[1] and not any(_meet(box, other) for other in taken):
                return dx, dy, box
    return None


def _meet(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
