"""One axis of a region: where rows are drawn, and the parts of the axis that the rule allows.

All places are in *steps*: values of a numeric feature (their logarithms on a logarithmic axis,
days of dates), and the numbers 0, 1, … of the levels of a categorical one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.plot.canvas import matplotlib
from opdt.plot.text import asks, shown
from opdt.rules import Condition, Op
from opdt.table.columns import check_finite

Floats = NDArray[np.float64]
Span = tuple[float, float]

# Levels beyond this number are drawn as one band.
MAX_LEVELS = 12
# Half of the band of a level that its rows are spread over.
BAND = 0.4
# Numeric features of at most so many distinct values are spread a little, so that rows do not
# hide one another.
_FEW_VALUES = 60
# Shares of the range of values: free margin, gap before the strip of missing values, and strip.
_MARGIN, _GAP, _STRIP = 0.04, 0.025, 0.075
# A logarithmic axis is taken where the largest value is so many times the smallest one, and the
# upper half of the values takes up so much more of a linear axis than the lower half.
_WIDE, _SKEWED = 15.0, 5.0


@dataclass(frozen=True)
class Scale:
    """One axis.

    Attributes
    ----------
    name : str
        What the axis shows.
    tests : tuple of Condition
        The rule's conditions on it.
    at : ndarray of shape (n_rows,)
        The place of each row, in steps.
    room : ndarray of shape (n_rows,)
        How far a row may be moved to either side.
    spans : tuple of (low, high)
        The parts that the conditions allow, each with its lower and without its upper end.
    limits : (low, high)
    ticks : tuple of (place, text)
        Names of levels; of a numeric axis none.
    strip : (low, high) or None
        The strip of missing values beside a numeric axis.
    levels : bool
        Whether the axis is one of levels.
    log, dates : bool
    """

    name: str
    tests: tuple[Condition, ...]
    at: Floats
    room: Floats
    spans: tuple[Span, ...]
    limits: Span
    ticks: tuple[tuple[float, str], ...] = ()
    strip: Span | None = None
    levels: bool = False
    log: bool = False
    dates: bool = False

    def drawn(self, steps: Any) -> Any:
        """Places as matplotlib wants them."""
        return 10 ** np.asarray(steps, dtype=float) if self.log else np.asarray(steps, dtype=float)

    @property
    def asks(self) -> str:
        """What the rule asks of the feature: `≥ 30 and < 50`."""
        return " and ".join(map(asks, self.tests))


def scale_of(
    name: str, values: NDArray[Any], missing: NDArray[np.bool_], tests: Sequence[Condition]
) -> Scale:
    """The axis of a feature with these values under the rule's conditions on it."""
    by_level = any(c.op in (Op.EQ, Op.NE, Op.IN) for c in tests)
    if by_level or (values.dtype == object and not any(c.op.is_threshold for c in tests)):
        return _levels(name, values, missing, tuple(tests))
    return _numeric(name, values, missing, tuple(tests))


def class_scale(classes: Sequence[str], codes: NDArray[np.intp]) -> Scale:
    """An axis with one band for each class, for rules of a single feature."""
    n = len(classes)
    return Scale(
        "class",
        (),
        codes.astype(float),
        np.full(len(codes), BAND),
        ((-0.5, n - 0.5),),
        (-0.5, n - 0.5),
        tuple((float(at), text) for at, text in enumerate(classes)),
        levels=True,
    )


def _numeric(
    name: str, values: NDArray[Any], missing: NDArray[np.bool_], tests: tuple[Condition, ...]
) -> Scale:
    dates = values.dtype.kind == "M"
    if values.dtype.kind == "f":
        check_finite(values, f"column {name!r}")
    numbers = np.zeros(len(values))
    numbers[~missing] = _steps(values[~missing])
    thresholds = [float(_steps(np.array([c.value]))[0]) for c in tests if c.op.is_threshold]
    log = not dates and _wants_log(numbers[~missing], thresholds)
    if log:
        numbers[~missing] = np.log10(numbers[~missing])
        thresholds = [float(np.log10(t)) for t in thresholds]
    present = numbers[~missing]
    known = [*thresholds, *([present.min(), present.max()] if len(present) else [])]
    low, high = (float(min(known)), float(max(known))) if known else (0.0, 1.0)
    length = high - low or 1.0
    room = np.zeros(len(values))
    room[~missing] = _spread_room(present, thresholds)
    margin = max(_MARGIN * length, 1.3 * float(room.max(initial=0)))
    limits = low - margin, high + margin
    strip: Span | None = None
    if missing.any() or any(c.op is Op.MISSING for c in tests):
        end = limits[0] - _GAP * length
        strip = end - _STRIP * length, end
        numbers[missing] = sum(strip) / 2
    room[missing] = 0.4 * _STRIP * length
    return Scale(
        name,
        tests,
        numbers,
        room,
        _numeric_spans(tests, thresholds, limits, strip),
        limits if strip is None else (strip[0] - _MARGIN * length / 2, limits[1]),
        strip=strip,
        log=log,
        dates=dates,
    )


def _steps(values: NDArray[Any]) -> Floats:
    if values.dtype.kind == "M":
        days: Floats = matplotlib("dates").date2num(values)
        return days
    return values.astype(float)


def _wants_log(values: Floats, thresholds: list[float]) -> bool:
    if not len(values) or min([values.min(), *thresholds]) <= 0:
        return False
    low, middle, high = values.min(), np.median(values), values.max()
    return bool(high >= _WIDE * low and high - middle > _SKEWED * (middle - low))


def _spread_room(present: Floats, thresholds: list[float]) -> Floats:
    """How far rows may be moved without meeting their neighbours or crossing a threshold."""
    distinct, place = np.unique(present, return_inverse=True)
    if not 1 < len(distinct) <= _FEW_VALUES or len(distinct) * 3 > len(present):
        return np.zeros(len(present))
    gaps = np.diff(distinct)
    # A little of the distance to the nearer neighbour, but no more for values that stand alone.
    room = 0.3 * np.minimum(np.minimum([*gaps, np.inf], [np.inf, *gaps]), np.median(gaps))
    for threshold in thresholds:
        room = np.minimum(room, 0.8 * np.abs(distinct - threshold))
    return np.asarray(room[place])


def _numeric_spans(
    tests: tuple[Condition, ...], thresholds: list[float], limits: Span, strip: Span | None
) -> tuple[Span, ...]:
    ops = {c.op for c in tests}
    if Op.MISSING in ops:
        return (strip,) if ops == {Op.MISSING} and strip is not None else ()
    low, high = limits
    compared = [c for c in tests if c.op.is_threshold]
    for condition, threshold in zip(compared, thresholds, strict=True):
        if condition.op is Op.GE:
            low = max(low, threshold)
        else:
            high = min(high, threshold)
    if not tests and strip is not None:  # no condition, so missing values pass as well
        return ((strip[0], high),)
    return ((low, high),) if low < high else ()


def _levels(
    name: str, values: NDArray[Any], missing: NDArray[np.bool_], tests: tuple[Condition, ...]
) -> Scale:
    cells = values.tolist()
    numbers = Counter(c for c, gone in zip(cells, missing.tolist(), strict=True) if not gone)
    for condition in tests:
        named = condition.value if condition.op is Op.IN else (condition.value,)
        numbers.update(dict.fromkeys(named if condition.op in (Op.EQ, Op.IN) else (), 0))
    known = _in_order(list(numbers))
    passing = _passing(known, tests)
    bands: list[tuple[str, list[Any]]] = []
    for wanted in (True, False):
        some = [v for v, passes in zip(known, passing, strict=True) if passes is wanted]
        bands += _bands(some, numbers)
        if wanted:
            allowed = len(bands)
    place = {level: float(at) for at, (_, some) in enumerate(bands) for level in some}
    at = np.array([place.get(c, np.nan) for c in cells], dtype=float)
    ticks = [(float(k), text) for k, (text, _) in enumerate(bands)]
    spans: tuple[Span, ...] = ((-0.5, allowed - 0.5),) if allowed else ()
    if missing.any() or any(c.op is Op.MISSING for c in tests):
        band = float(len(bands))
        ticks.append((band, "missing"))
        at[missing] = band
        if {c.op for c in tests} <= {Op.MISSING}:
            spans = ((band - 0.5, band + 0.5),) if tests else ((-0.5, band + 0.5),)
    limits = -0.5, max(1, len(ticks)) - 0.5
    room = np.full(len(cells), BAND)
    return Scale(name, tests, at, room, spans, limits, tuple(ticks), levels=True)


def _in_order(levels: list[Any]) -> list[Any]:
    try:
        return sorted(levels)
    except TypeError:
        return sorted(levels, key=lambda v: (type(v).__name__, str(v)))


def _passing(levels: list[Any], tests: tuple[Condition, ...]) -> list[bool]:
    cells = np.empty(len(levels), dtype=object)
    cells[:] = levels
    passes = np.ones(len(levels), dtype=bool)
    for condition in tests:
        passes &= condition.holds(cells, np.zeros(len(levels), dtype=bool))
    return [bool(each) for each in passes]


def _bands(levels: list[Any], numbers: Counter[Any]) -> list[tuple[str, list[Any]]]:
    """Names of bands with their levels: one for each, the rarest of very many in one."""
    if len(levels) <= MAX_LEVELS // 2:
        return [(shown(level), [level]) for level in levels]
    frequent = sorted(levels, key=lambda v: -numbers[v])[: MAX_LEVELS // 2 - 1]
    kept = [(shown(level), [level]) for level in levels if level in frequent]
    rest = [level for level in levels if level not in frequent]
    return [*kept, (f"{len(rest)} other levels", rest)]
