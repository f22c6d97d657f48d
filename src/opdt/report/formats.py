"""Numbers and cells as people write them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opdt.rules.condition import format_date


def format_count(value: float) -> str:
    """Rows or VI: whole numbers without a point, others with at most four decimals."""
    if math.isinf(value):
        return "-∞" if value < 0 else "∞"
    text = f"{value:,.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def format_share(value: float) -> str:
    """A share in per cent with one decimal, never rounded up to 100 or down to 0."""
    if math.isnan(value):
        return "–"
    if 0.9995 <= value < 1:
        return "> 99.9 %"
    if 0 < value < 0.0005:
        return "< 0.1 %"
    return f"{100 * value:.1f} %"


def format_lift(value: float) -> str:
    """How many times more frequent a class is, with two decimals."""
    return "–" if math.isnan(value) else f"{value:.2f}"


def format_seconds(seconds: float) -> str:
    """A duration in the unit that suits it."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def format_cell(value: Any) -> str:
    """A cell of a table, numbers and dates as short as they can be read."""
    if isinstance(value, np.datetime64):
        return format_date(value)
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating):
        number = float(value)
        return format_count(number) if abs(number) >= 0.001 or number == 0 else f"{number:.3g}"
    return str(value)
