"""The picture of the rows and the rule over two features."""

from __future__ import annotations

from typing import Any

from opdt.studio.outcome import RuleOutcome
from opdt.studio.regions import RegionAxis, RegionPicture
from opdt.studio.web.panels.view import View
from opdt.studio.web.theme import COMPONENTS, short

_DIGITS = 6  # of a place, which is far less than a pixel


class RegionView(View, component=COMPONENTS / "studio_region.js"):
    """Rows as marks by class, and the rule as a shaded region."""


def region_state(outcome: RuleOutcome | None) -> dict[str, Any]:
    """What a `RegionView` shows; columns of numbers and texts rather than points, to be short."""
    region = None if outcome is None else outcome.region
    if region is None:
        return {"points": None, "note": "", "x": {"ticks": []}, "y": {"ticks": []}}
    points = region.points
    columns = [name for name, _ in points[0].cells] if points else []
    return {
        "x": _axis(region.x),
        "y": _axis(region.y),
        "boxes": region.boxes,
        "classes": [short(each) for each in region.classes],
        "hasErrors": region.has_errors,
        "columns": [short(name) for name in columns],
        "points": {
            "x": [_rounded(each.x) for each in points],
            "y": [_rounded(each.y) for each in points],
            "label": [each.label for each in points],
            "covered": [each.covered for each in points],
            "number": [each.number for each in points],
            "cells": [[short(p.cells[k][1]) for p in points] for k in range(len(columns))],
        },
        "description": _description(region),
        "note": _note(region),
    }


def _axis(axis: RegionAxis) -> dict[str, Any]:
    asks = f"  ({axis.asks})" if axis.asks else ""
    return {
        "title": short(axis.name) + short(asks),
        "limits": axis.limits,
        "ticks": [(place, short(text)) for place, text in axis.ticks],
        "log": axis.log,
        "dates": axis.dates,
    }


def _description(region: RegionPicture) -> str:
    inside = sum(each.covered for each in region.points)
    wrong = sum(each.covered and each.label > 0 for each in region.points)
    others = f"{wrong:,} of them are errors"
    if not region.has_errors:
        others = f"{inside - wrong:,} of them: {short(region.classes[0])}"
    return (
        f"{len(region.points):,} training rows over {short(region.x.name)} and "
        f"{short(region.y.name)}; {inside:,} lie where the rule holds, {others}. The arrow keys "
        "go from row to row."
    )


def _note(region: RegionPicture) -> str:
    parts = []
    if region.others:
        parts.append(f"Only rows on which also {short(region.others)}.")
    if len(region.points) < region.n_rows:
        before = "errors" if region.has_errors else f"“{short(region.classes[-1])}”"
        parts.append(
            f"{len(region.points):,} of {region.n_rows:,} rows are drawn, {before} before others."
        )
    if region.x.missing_below is not None or region.y.missing_below is not None:
        parts.append("Rows without a value lie beyond the gap.")
    return " ".join(parts)


def _rounded(place: float) -> float:
    return float(f"{place:.{_DIGITS}g}")
