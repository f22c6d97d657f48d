"""The rows and the rule over two features, as plain numbers for a picture in the browser."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import EngineUnavailable
from opdt.plot.rows import RuleRows
from opdt.plot.scales import Scale, class_scale, scale_of
from opdt.report.formats import format_cell
from opdt.rules import Rule
from opdt.studio.tables import RowPart
from opdt.studio.worth import Valuer

MAX_POINTS = 1500
MAX_HOVER = 4  # features beside the two of the axes that a row tells when pointed at


@dataclass(frozen=True)
class RegionAxis:
    """One axis of a region.

    Attributes
    ----------
    name : str
        The feature, or "class".
    asks : str
        What the rule asks of it: `≥ 30 and < 50`.
    limits : (low, high)
        Places at the ends; on a logarithmic axis values, not their logarithms.
    ticks : tuple of (place, text)
        Levels; empty where the axis is one of numbers.
    log, dates : bool
        Dates are days since 1970.
    missing_below : float or None
        The place below which rows without a value are drawn, on an axis of numbers.
    """

    name: str
    asks: str
    limits: tuple[float, float]
    ticks: tuple[tuple[float, str], ...]
    log: bool
    dates: bool
    missing_below: float | None


@dataclass(frozen=True)
class Point:
    """One row: its place, its class as a position in `classes`, and what it tells.

    `number` is the row's number in the data, counted from 1.
    """

    x: float
    y: float
    label: int
    covered: bool
    number: int
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RegionPicture:
    """A rule over its first two features, or over one feature and the classes.

    Attributes
    ----------
    x, y : RegionAxis
    boxes : tuple of (x_low, x_high, y_low, y_high)
        What the rule covers.
    classes : tuple of str
        The rule's own class first.
    points : tuple of Point
        Rows that meet the rule's conditions on all other features; at most `MAX_POINTS`.
    n_rows : int
        How many of them there are.
    others : str
        The conditions on other features, or an empty text.
    has_errors : bool
        Whether covered rows of another class are errors; rows without classes have none.
    """

    x: RegionAxis
    y: RegionAxis
    boxes: tuple[tuple[float, float, float, float], ...]
    classes: tuple[str, ...]
    points: tuple[Point, ...]
    n_rows: int
    others: str
    has_errors: bool = True


def region_of(rule: Rule, valuer: Valuer) -> RegionPicture | None:
    """The region of a rule on some rows; None without a feature, or where it cannot be drawn.

    Where rows have no classes, they are shown by the side that they are on.
    """
    if not rule.features:
        return None
    part, labels = valuer.part, valuer.part.labels
    if (sides := valuer.sides()) is not None:
        wanted, this, other = sides
        labels = np.where(wanted, this, other).astype(object)
        rule = Rule(rule.conditions, this)
    rows = RuleRows.of(rule, part.source, labels)
    try:
        x, y = _axes(rows)
    except EngineUnavailable:  # places of dates need matplotlib
        return None
    shown = (x.name, y.name) if len(rule.features) > 1 else (x.name,)
    others = [c for c in rule.conditions if c.feature not in shown]
    passes = rows.holds(others)
    covered = rows.holds(rule.conditions)
    chosen = _sample(passes, covered & (rows.codes > 0))
    return RegionPicture(
        _axis(x),
        _axis(y) if sides is None or len(rule.features) > 1 else replace(_axis(y), name="rows"),
        tuple((*_pair(x, across), *_pair(y, up)) for across in x.spans for up in y.spans),
        rows.classes,
        _points(rows, part, (x, y), chosen, covered),
        int(passes.sum()),
        " and ".join(map(str, others)),
        sides is None,
    )


def _axes(rows: RuleRows) -> tuple[Scale, Scale]:
    def axis(feature: str) -> Scale:
        tests = [c for c in rows.rule.conditions if c.feature == feature]
        return scale_of(feature, *rows.values(feature), tests)

    first, *rest = rows.rule.features
    return axis(first), axis(rest[0]) if rest else class_scale(rows.classes, rows.codes)


def _axis(scale: Scale) -> RegionAxis:
    strip = None if scale.strip is None else float(scale.drawn(scale.strip[1]))
    limits = _pair(scale, scale.limits)
    return RegionAxis(scale.name, scale.asks, limits, scale.ticks, scale.log, scale.dates, strip)


def _pair(scale: Scale, span: tuple[float, float]) -> tuple[float, float]:
    low, high = (float(end) for end in scale.drawn(span))
    return low, high


def _sample(passes: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Positions of the rows that are drawn; errors are drawn first, the others at random."""
    at = np.flatnonzero(passes)
    if len(at) <= MAX_POINTS:
        return at
    luck = np.random.default_rng(0).random(len(at))
    return np.sort(at[np.argsort(luck - wrong[at], kind="stable")[:MAX_POINTS]])


def _points(
    rows: RuleRows,
    part: RowPart,
    axes: tuple[Scale, Scale],
    chosen: NDArray[np.intp],
    covered: NDArray[np.bool_],
) -> tuple[Point, ...]:
    random = np.random.default_rng(0)
    # Rows of one level or value are spread within the room that is theirs, the same every time.
    x, y = (
        scale.drawn(scale.at[chosen] + scale.room[chosen] * random.uniform(-0.9, 0.9, len(chosen)))
        for scale in axes
    )
    told = [*rows.rule.features][: MAX_HOVER + 2]
    cells = [_texts(*rows.values(feature), chosen) for feature in told]
    return tuple(
        Point(
            float(x[k]),
            float(y[k]),
            int(rows.codes[row]),
            bool(covered[row]),
            int(part.rows[row]) + 1,
            tuple((name, column[k]) for name, column in zip(told, cells, strict=True)),
        )
        for k, row in enumerate(chosen.tolist())
    )


def _texts(values: NDArray[Any], missing: NDArray[np.bool_], chosen: NDArray[np.intp]) -> list[str]:
    return ["missing" if missing[row] else format_cell(values[row]) for row in chosen]
