from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

from opdt import InputError, OPDTClassifier
from opdt.plot import progress
from opdt.solution import Solution, Status, StopReason, TracePoint
from plot.support import axes, check_image, clinic, collisions, framed, texts

POINTS = ((0.02, 12, 300), (0.09, 40, 300), (0.6, 40, 120), (4, 55, 90), (21, 60, 60))


def solved(points: Any = POINTS, **changes: Any) -> Solution:
    """A solution with this trace, proven unless told otherwise."""
    last = points[-1] if points else (0.0, 0.0, 0.0)
    facts = {
        "value": float(last[1]),
        "bound": float(last[2]),
        "status": Status.OPTIMAL,
        "seconds": last[0] * 1.1,
        "trace": tuple(TracePoint(*map(float, point)) for point in points),
    }
    return Solution(None, **{**facts, **changes})


def stopped(points: Any = POINTS[:-1]) -> Solution:
    return solved(points, status=Status.FEASIBLE, stopped_by=StopReason.TIME, seconds=30.0)


def curves(ax: Axes) -> list[tuple[Any, Any]]:
    """Times and heights of the bound and of the value."""
    return [line.get_data() for line in ax.lines[:2]]


def stars(ax: Axes) -> list[Any]:
    return [line for line in ax.lines if line.get_marker() == "*"]


def test_a_proof_looks_as_stored(tmp_path: Path) -> None:
    check_image(progress(solved(), ax=framed(5.4, 3.4)), "progress-proven", tmp_path)


def test_a_search_that_was_stopped_looks_as_stored(tmp_path: Path) -> None:
    ax = progress(stopped(), ax=framed(5.4, 3.4, dark=True))
    check_image(ax, "progress-stopped", tmp_path)


def test_the_curves_are_the_trace_and_the_end() -> None:
    (times, bound), (_, value) = curves(progress(solved(), ax=axes()))
    assert times.tolist() == pytest.approx([p[0] for p in POINTS] + [23.1])
    assert bound.tolist() == [p[2] for p in POINTS] + [60]
    assert value.tolist() == [p[1] for p in POINTS] + [60]


def test_the_proof_is_marked_where_the_gap_closes() -> None:
    ax = progress(solved(), ax=axes())
    (star,) = stars(ax)
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (21, 60)
    assert ax.get_title(loc="left") == "VI 60, proven optimal after 23.1 s"
    assert "proven: gap closed" in texts(ax)


def test_without_a_proof_nothing_is_marked() -> None:
    ax = progress(stopped(), ax=axes())
    assert stars(ax) == []
    assert ax.get_title(loc="left") == "VI 55 after 30.0 s (time limit); no rule exceeds 90"
    assert "proven: gap closed" not in texts(ax)


@pytest.mark.parametrize(
    ("points", "scale"), [(POINTS, "log"), (((2, 3, 9), (3, 4, 9), (5, 4, 4)), "linear")]
)
def test_time_is_logarithmic_where_that_helps(points: Any, scale: str) -> None:
    assert progress(solved(points), ax=axes()).get_xscale() == scale


def test_short_times_are_in_milliseconds() -> None:
    ax = progress(solved(((0.002, 3, 9), (0.004, 9, 9))), ax=axes())
    assert ax.get_xlabel() == "time in milliseconds"
    assert curves(ax)[0][0][0] == 2


@pytest.mark.parametrize(
    ("solution", "title"),
    [
        (solved((), status=Status.NO_PATTERN, seconds=0.5), "no pattern, proven after 500 ms"),
        (
            solved((), value=-np.inf, bound=-np.inf, status=Status.INFEASIBLE, seconds=75),
            "no rule meets the constraints, proven after 1 min 15 s",
        ),
        (
            solved(
                (),
                value=-np.inf,
                bound=40.0,
                status=Status.UNKNOWN,
                stopped_by=StopReason.TIME,
                seconds=1.0,
            ),
            "no rule found after 1.0 s (time limit); none exceeds VI 40",
        ),
    ],
)
def test_a_solution_without_a_trace_is_drawn(solution: Solution, title: str) -> None:
    ax = progress(solution, ax=axes(8, 4))
    assert ax.get_title(loc="left") == title
    ax.get_figure().draw_without_rendering()


def test_a_fitted_model_shows_its_search() -> None:
    X, y = clinic()
    model = OPDTClassifier(max_depth=1, w=3).fit(np.column_stack([X["age"], X["dose"]]), y)
    ax = progress(model, ax=axes())
    assert curves(ax)[1][1][-1] == model.value_
    title = ax.get_title(loc="left")
    assert title.startswith(f"VI {model.value_:g}, proven optimal")
    assert title.endswith("; verdict: supported")


def test_no_text_lies_on_another() -> None:
    for solution in (solved(), stopped(), solved(POINTS[-2:])):
        assert collisions(progress(solution, ax=axes(5, 3.4))) == []


def test_pyplot_is_left_alone_when_axes_are_given() -> None:
    progress(solved(), ax=axes())
    assert pyplot.get_fignums() == []


def test_what_is_no_solution_is_refused() -> None:
    with pytest.raises(
        InputError, match="'solution' must be a Solution or a fitted model, got int"
    ):
        progress(3)
