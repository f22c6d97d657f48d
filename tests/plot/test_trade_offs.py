from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

from opdt import InputError, OPDTClassifier, discover
from opdt.analysis.path import weight_path
from opdt.plot import trade_off
from plot.support import axes, check_image, clinic, collisions, framed, texts


@dataclass(frozen=True)
class Piece:
    """All that a picture needs of a segment."""

    precision: float
    coverage: float
    w_from: float | None = None
    w_to: float | None = None


PATH = (
    Piece(0.55, 0.9, 1, 1.6),
    Piece(0.72, 0.52, 1.6, 3),
    Piece(0.74, 0.5, 3, 4),
    Piece(0.9, 0.31, 4, 11),
    Piece(0.96, 0.2, 11, 26.5),
    Piece(1.0, 0.1, 26.5, np.inf),
)
HELD_OUT = tuple(Piece(0.95 * p.precision, 0.98 * p.coverage, p.w_from, p.w_to) for p in PATH)


def drawn(ax: Axes, name: str) -> np.ndarray:
    """Coverage and precision of the points of this name."""
    (line,) = [line for line in ax.lines if line.get_gid() == name]
    return np.column_stack(line.get_data())


def matrix() -> tuple[np.ndarray, np.ndarray]:
    X, y = clinic()
    return np.column_stack([X["age"], X["dose"]]), y


def test_a_trade_off_looks_as_stored(tmp_path: Path) -> None:
    check_image(trade_off(PATH, w=10, ax=framed(5.4, 3.8)), "trade-off", tmp_path)


def test_a_trade_off_with_held_out_rows_looks_as_stored(tmp_path: Path) -> None:
    ax = trade_off(PATH, held_out=HELD_OUT, ax=framed(5.4, 3.8, dark=True))
    check_image(ax, "trade-off-held-out", tmp_path)


def test_every_segment_is_a_point() -> None:
    ax = trade_off(PATH, held_out=HELD_OUT, w=10, ax=axes())
    assert np.allclose(drawn(ax, "rules"), [(p.coverage, p.precision) for p in PATH])
    assert np.allclose(drawn(ax, "held-out"), [(p.coverage, p.precision) for p in HELD_OUT])
    assert np.allclose(drawn(ax, "chosen"), [(0.31, 0.9)])


def test_rules_that_are_not_supported_are_hollow() -> None:
    X, y = matrix()
    path = weight_path(X[:40], y[:40], max_depth=1)
    levels = [str(segment.verdict.level) for segment in path if segment.verdict is not None]
    assert set(levels) > {"supported"}
    ax = trade_off(path, ax=axes(7, 5))
    assert len(drawn(ax, "doubtful")) == sum(level != "supported" for level in levels)
    assert {"verdict: supported", "verdict: weak or not supported"} <= set(texts(ax))


def test_points_are_labelled_with_their_prices() -> None:
    words = texts(trade_off(PATH, w=10, ax=axes(7, 5)))
    assert "w = 10: 90.0 % right, 31.0 % of the rows" in words
    assert "w ≥ 26.5" in words
    assert "w 11 to 26.5" in words


def test_points_without_prices_have_no_label() -> None:
    frontier = [Piece(0.5, 0.9), Piece(0.8, 0.5)]
    assert not any(text.startswith("w") for text in texts(trade_off(frontier, ax=axes())))


def test_a_real_path_is_drawn() -> None:
    path = weight_path(*matrix(), label="ill", w_max=50)
    ax = trade_off(path, w=4, ax=axes())
    covering = [s for s in path.segments if s.covered]
    assert np.allclose(drawn(ax, "rules"), [(s.coverage, s.precision) for s in covering])
    at = path.at(4)
    assert np.allclose(drawn(ax, "chosen"), [(at.covered / 240, at.precision)])


def test_a_fitted_model_is_drawn_with_its_path_and_its_price() -> None:
    X, y = matrix()
    model = OPDTClassifier(max_depth=1, w=4, label="ill").fit(X, y)
    ax = trade_off(model, X, y, ax=axes())
    solution = model.solution_
    assert np.allclose(drawn(ax, "chosen"), [(solution.covered / 240, solution.precision)])


def test_bare_solutions_over_w_are_drawn() -> None:
    X, y = matrix()
    solutions = {w: discover(X, y, w=w, label="ill") for w in (1.5, 2, 4, 4.001, 30)}
    ax = trade_off(solutions, X, ax=axes())
    expected = {(s.covered / 240, s.precision) for s in solutions.values() if s.covered}
    assert {tuple(p) for p in drawn(ax, "rules").tolist()} == expected


def test_rules_that_cover_nothing_are_left_out() -> None:
    empty = Piece(float("nan"), 0.0, 26.5, np.inf)
    assert len(drawn(trade_off([*PATH[:3], empty], ax=axes()), "rules")) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: trade_off([]), "'path' holds no rule that covers any row"),
        (lambda: trade_off(3), "'path' must be a weight path, its segments"),
        (lambda: trade_off([3]), "segments with 'precision' and 'coverage', got int"),
        (lambda: trade_off({1: 3}), "'X' is needed as well"),
        (lambda: trade_off({1: 3}, matrix()[0]), "must map each w to a Solution, got int at 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_the_star_is_the_models_own_rule_on_any_rows() -> None:
    X, y = matrix()
    seen = np.arange(len(y)) % 2 == 0
    model = OPDTClassifier(max_depth=1, w=2, label="ill").fit(X[seen], y[seen])
    ax = trade_off(model, X[~seen], y[~seen], ax=axes())
    fires = model.covers(X[~seen])
    right = float((y[~seen][fires] == "ill").mean())
    assert np.allclose(drawn(ax, "chosen"), [(float(fires.mean()), right)])


def test_a_model_needs_its_data() -> None:
    model = OPDTClassifier(max_depth=1, w=4).fit(*matrix())
    with pytest.raises(InputError, match="needs rows, in 'X' and 'y'"):
        trade_off(model)


def test_no_text_lies_on_another() -> None:
    crowd = [Piece(1 - k / 300, 0.5 + k / 400, 10 / k, 10 / (k - 0.9)) for k in range(1, 40)]
    for path in (PATH, crowd):
        for size in ((4, 3), (7, 5)):
            assert collisions(trade_off(path, w=2, ax=axes(*size))) == []


def test_pyplot_is_left_alone_when_axes_are_given() -> None:
    trade_off(PATH, ax=axes())
    assert pyplot.get_fignums() == []
