from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

from opdt.plot.survival_curves import draw_curves
from plot.support import axes, check_image, collisions, framed, texts


def watched(n: int = 160) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times until an event that comes three times as fast inside, some of them cut short."""
    rng = np.random.default_rng(11)
    inside = np.arange(n) % 3 == 0
    until = rng.exponential(np.where(inside, 200.0, 600.0))
    cut = rng.uniform(100, 1000, n)
    return np.minimum(until, cut).round(), until <= cut, inside


@pytest.mark.parametrize("dark", [False, True])
def test_curves_look_as_stored(dark: bool, tmp_path: Path) -> None:
    ax = framed(5.4, 4.4, dark=dark)
    ax.set_position((0.16, 0.36, 0.78, 0.5))
    drawn = draw_curves(*watched(), name="days", ax=ax)
    check_image(drawn, "survival-dark" if dark else "survival", tmp_path)


def test_the_words_are_those_of_the_rows() -> None:
    time, event, inside = watched()
    ax = draw_curves(time, event, inside, name="days", ax=axes())
    said = texts(ax)
    assert any(text.startswith("inside the rule: 54 rows, ") for text in said)
    assert any(text.startswith("outside: 106 rows, ") for text in said)
    assert "54" in said  # watched from the start
    assert "106" in said
    title = ax.get_title(loc="left").splitlines()
    assert title[0].startswith("events come ")
    assert title[1] == "log-rank test: p < 0.0001"


def test_the_steps_are_the_curve() -> None:
    time, event = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, False])
    ax = draw_curves(time, event, np.ones(4, bool), ax=axes())
    times, shares = ax.lines[0].get_data()
    assert times.tolist() == [0, 1, 3, 4]
    assert shares.tolist() == [1, 0.75, 0.375, 0.375]
    assert ax.get_title(loc="left") == "no event tells the groups apart"  # nobody is outside


def test_names_and_titles_are_shown_as_they_are() -> None:
    name = "_$x^{2}$ 100% <b>&\\alpha"
    ax = draw_curves(*watched(), name=name, title=name, ax=axes())
    assert texts(ax).count(name) == 2
    assert collisions(draw_curves(*watched(), name="days", ax=axes(6, 4.8))) == []
    assert pyplot.get_fignums() == []
