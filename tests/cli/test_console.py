from __future__ import annotations

import io

import pytest
from rich.console import Console

from opdt.cli import console
from opdt.cli.console import SearchProgress
from opdt.cli.solve import exit_code
from opdt.solution import Progress, Solution, Status, StopReason


@pytest.fixture
def terminal(monkeypatch):
    """What a terminal, or else a file, would receive on the standard error."""

    def make(*, is_terminal):
        out = io.StringIO()
        monkeypatch.setattr(
            console, "stderr", lambda: Console(file=out, force_terminal=is_terminal, width=100)
        )
        return out

    return make


def test_a_long_search_shows_value_bound_gap_and_share_and_then_nothing(terminal):
    out = terminal(is_terminal=True)
    with SearchProgress() as bar:
        bar(Progress(0.5, 10, 30, 0.1))
        assert out.getvalue() == ""  # too short so far
        bar(Progress(2.5, 12, 30, 0.25))
        bar._bar.refresh()
        for word in ("25%", "VI 12, bound 30, gap 18", "2.5 s"):
            assert word in out.getvalue()
    assert out.getvalue().rstrip().endswith("\x1b[2K")  # the line is wiped


def test_an_unknown_bound_is_not_shown(terminal):
    out = terminal(is_terminal=True)
    with SearchProgress() as bar:
        bar(Progress(2.5, 12, float("inf"), 0.25))
        bar._bar.refresh()
    assert "VI 12  2.5 s" in out.getvalue()
    assert "bound" not in out.getvalue()


def test_nothing_is_shown_where_no_terminal_is(terminal):
    out = terminal(is_terminal=False)
    with SearchProgress() as bar:
        bar(Progress(100, 12, 30, 0.25))
    assert out.getvalue() == ""


def test_the_bar_vanishes_when_the_search_fails(terminal):
    out = terminal(is_terminal=True)
    bar = SearchProgress()
    bar(Progress(2, 12, 30, 0.25))
    bar.__exit__(RuntimeError, RuntimeError(), None)
    assert "\x1b[?25h" in out.getvalue()  # the cursor is back


@pytest.mark.parametrize(
    ("solution", "code"),
    [
        (Solution(None, 0.0, 0.0, Status.NO_PATTERN), 3),
        (Solution(None, 0.0, 9.0, Status.FEASIBLE, StopReason.TIME), 3),
        (Solution(None, 0.0, 9.0, Status.FEASIBLE, StopReason.INTERRUPTED), 130),
    ],
)
def test_the_exit_code_says_what_came_out(solution, code):
    assert exit_code(solution) == code
