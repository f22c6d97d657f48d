"""The most readable threshold between two adjacent values.

Every threshold in the gap between two adjacent distinct values covers the same training rows, so
the one shown may be chosen for the reader: 127.5 rather than 127.49999, the first of March
rather than some minute of the night before it.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

Threshold = float | int | np.datetime64

# Integers up to this size are doubles too, so comparing either way gives the same answer.
_EXACT = 2**53
# Decimals tried below the leading digit; telling two doubles apart never takes more.
_DIGITS = 20
_TICKS_PER_DAY = {
    "D": 1,
    "h": 24,
    "m": 1440,
    **{unit: 86400 * 1000**k for k, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))},
}


def readable_threshold(low: Threshold, high: Threshold) -> Threshold:
    """Return the most readable `b` with ``low < b <= high``, so that ``x >= b`` parts the two.

    For numbers, `b` lies strictly inside where a double does, has the fewest decimals (130 has
    fewer than 127, and 100 fewer than 130) and among those is the nearest to the middle, the
    smaller one of two. For dates, `b` is the start of a year, else of a month, a day, an hour, a
    minute, a second or a fraction of it, after `low` and not after `high`, the nearest to the
    middle.

    Parameters
    ----------
    low, high : float, int or numpy.datetime64, NumPy's scalars included
        Two finite values of the same type, ``low < high``.

    Returns
    -------
    float, int or numpy.datetime64
        A float for numbers; the int `high` itself for integers that a double cannot hold.

    Examples
    --------
    >>> readable_threshold(127, 128), readable_threshold(127, 131)
    (127.5, 130.0)
    >>> readable_threshold(np.datetime64("2023-12-30"), np.datetime64("2024-01-03"))
    np.datetime64('2024-01-01')
    """
    if isinstance(low, np.datetime64) and isinstance(high, np.datetime64):
        return _between_dates(low, high)
    if isinstance(low, int | np.integer) and isinstance(high, int | np.integer):
        low, high = int(low), int(high)
        if max(-low, high) > _EXACT:
            return high
    return _between_doubles(float(low), float(high))


def _between_doubles(low: float, high: float) -> float:
    """Try the multiples of falling powers of ten that are nearest to the middle.

    The nearest multiple to the middle is inside the gap if any multiple is, so one is enough.
    The middle is that of the two values as they are written, since 0.003 as a double is not
    quite 0.003, and a reader sees 0.001 and 0.002 equally near to the middle of 0 and 0.003.
    """
    if low < 0.0 < high:
        return 0.0
    if math.nextafter(low, high) == high:
        return high
    low_part, low_whole = Decimal(repr(low)).as_integer_ratio()
    high_part, high_whole = Decimal(repr(high)).as_integer_ratio()
    whole = low_whole * high_whole
    twice_middle = low_part * high_whole + high_part * low_whole
    first = math.floor(math.log10(max(-low, high))) + 1
    for power in range(first, first - _DIGITS, -1):
        above, below = 10 ** max(power, 0), 10 ** max(-power, 0)
        step = whole * above
        multiple = -((step - twice_middle * below) // (2 * step))  # halves round down
        try:
            threshold: float = multiple * above / below  # a ratio of integers rounds correctly
        except OverflowError:
            continue
        if low < threshold < high:
            return threshold
    return math.nextafter(low, high)


def _between_dates(low: np.datetime64, high: np.datetime64) -> np.datetime64:
    """Try the starts of finer and finer units just before and after the middle."""
    unit = np.datetime_data(np.promote_types(low.dtype, high.dtype))[0]
    unit = unit if unit in _TICKS_PER_DAY else "D"  # years, months and weeks start with a day
    kind = f"datetime64[{unit}]"
    # As Python integers, because even the difference may exceed 64 bits.
    start, end = (int(value.astype(kind).astype(np.int64)) for value in (low, high))

    def nearest(*ticks: int) -> int | None:
        inside = (t for t in ticks if start < t <= end)
        return min(inside, key=lambda t: abs(2 * t - start - end), default=None)

    middle = (start + end) // 2
    for calendar in ("datetime64[Y]", "datetime64[M]"):
        before = _date(middle, unit).astype(calendar)
        found = nearest(*(int((before + k).astype(kind).astype(np.int64)) for k in (0, 1)))
        if found is not None:
            return _date(found, unit, shown="D")
    for finer, per_day in _TICKS_PER_DAY.items():
        length = _TICKS_PER_DAY[unit] // per_day
        before_middle = middle // length * length
        found = nearest(before_middle, before_middle + length)
        if found is not None:
            # Hours are written with their minutes, 10:00 and not 10.
            return _date(found // length, finer, shown="m" if finer == "h" else finer)
    raise AssertionError("the later date itself is a multiple of the finest unit")


def _date(ticks: int, unit: str, shown: str | None = None) -> np.datetime64:
    """Return the date so many units after 1970 began, in the unit in which it is to be shown."""
    date: np.datetime64 = np.int64(ticks).astype(f"datetime64[{unit}]")
    return date.astype(f"datetime64[{shown}]") if shown else date
