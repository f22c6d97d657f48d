from __future__ import annotations

import subprocess
import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.testing.compare import calculate_rms

import opdt.plot
from opdt import Condition, EngineUnavailable, Rule
from opdt.plot.canvas import DARK, LIGHT, Theme, axes_for, theme_of
from plot.support import DPI, TOLERANCE, axes, blocks, clinic, framed, sheet

# Machado, Oliveira and Fernandes (2009): what people without one kind of cone see, linear RGB.
SIMULATIONS = {
    "full colour vision": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(colour: str) -> np.ndarray:
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of linear RGB."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, two: str) -> float:
    """The contrast ratio of the web accessibility guidelines, 1 to 21."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(weights @ linear(colour)) for colour in (one, two))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("vision", SIMULATIONS)
def test_class_colours_are_told_apart_with_any_colour_vision(theme: Theme, vision: str) -> None:
    seen = [lab(np.array(SIMULATIONS[vision]) @ linear(colour)) for colour in theme.classes]
    rule = lab(np.array(SIMULATIONS[vision]) @ linear(theme.rule))
    # The first two are in every picture; distances below 2 cannot be seen.
    assert np.linalg.norm(seen[0] - seen[1]) > 80
    assert min(np.linalg.norm(a - b) for k, a in enumerate(seen) for b in seen[:k]) > 15
    assert min(np.linalg.norm(rule - each) for each in seen[:2]) > 10


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_marks_stand_out_from_the_ground(theme: Theme) -> None:
    for colour in (theme.ink, theme.soft, theme.rule):
        assert contrast(colour, theme.paper) >= 4.5
    assert contrast(theme.rule, theme.rule_tint) >= 4.5
    assert all(contrast(colour, theme.paper) >= 3 for colour in theme.classes)


@pytest.mark.parametrize(
    ("figure", "ground", "dark"),
    [
        ("white", "white", False),
        ("#111111", "#111111", True),
        ("white", "#111111", True),
        ("#111111", "none", True),
        ("none", "none", False),
        (("#111111", 0.0), "none", True),
        (("#111111", 0.0), ("#111111", 0.0), True),
    ],
)
def test_colours_suit_the_ground(figure: Any, ground: Any, dark: bool) -> None:
    ax = Figure(facecolor=figure).add_subplot(facecolor=ground)
    assert theme_of(ax).ink == (DARK if dark else LIGHT).ink


def test_settings_are_left_as_they_are() -> None:
    before = dict(mpl.rcParams)
    opdt.plot.region(Rule([Condition("age", ">=", 50)], "ill"), *clinic(), ax=axes())
    assert dict(mpl.rcParams) == before


def test_names_are_never_handed_to_tex() -> None:
    with mpl.rc_context({"text.usetex": True}):
        rule = Rule([Condition("age", ">=", 50)], "$_{")
        ax = opdt.plot.funnel(rule, *clinic(), ax=sheet(7, 2))
        ax.get_figure().draw_without_rendering()


def test_matplotlib_is_imported_only_to_draw() -> None:
    code = "import sys, opdt.plot; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(EngineUnavailable, match=r"needs matplotlib; run: pip install 'opdt\[plot"):
        axes_for(None, 3, 3)


def test_everything_public_is_listed_and_there() -> None:
    assert opdt.plot.__all__ == sorted(opdt.plot.__all__)
    assert all(callable(getattr(opdt.plot, name)) for name in opdt.plot.__all__)


@pytest.mark.parametrize(
    "part", ["region", "class-0-covered", "class-1-covered", "class-1-outside"]
)
def test_a_missing_part_of_a_picture_is_noticed(part: str) -> None:
    rule = Rule([Condition("age", ">=", 50), Condition("dose", "<", 60)], "ill")
    images = []
    for hidden in (None, part):
        ax = opdt.plot.region(rule, *clinic(), ax=framed())
        for artist in (*ax.patches, *ax.collections):
            artist.set_visible(artist.get_gid() != hidden)
        figure = ax.get_figure()
        figure.set_dpi(DPI)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        images.append(blocks(np.asarray(canvas.buffer_rgba())[..., :3]))
    assert calculate_rms(*images) > TOLERANCE
