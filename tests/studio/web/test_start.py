"""`opdt studio` as a process: its address, its file, its end."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import httpx
import pytest

from browser import element, text_of, wait_for
from studio_server import running

HEART = "heart.csv"


@pytest.fixture
def heart(tmp_path):
    """A small table whose best rule is plain: the old are ill."""
    rows = "\n".join(f"{age},{'ill' if age >= 60 else 'well'}" for age in range(40, 80))
    (tmp_path / HEART).write_text(f"age,outcome\n{rows}\n")
    return tmp_path / HEART


def refused(*arguments: str) -> str:
    """What a command that cannot start says."""
    command = [sys.executable, "-c", "from opdt.cli import main; main()", "studio", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_says_where_it_is_and_ends_without_a_trace(tmp_path, number):
    with running(tmp_path) as server:
        assert httpx.get(server.url).status_code == 200
        (folder,) = server.folder.iterdir()
        assert folder.stat().st_mode & 0o077 == 0  # nobody else may look into it
        assert server.end(number) == 0
        assert list(server.folder.iterdir()) == []
    assert (tmp_path / "stderr.txt").read_text() == ""
    assert sorted(each.name for each in tmp_path.iterdir()) == ["stderr.txt", "tmp"]


def test_it_ends_at_once_while_pages_are_open(tmp_path, browser):
    with running(tmp_path) as server:
        browser.get(server.url)
        element(browser, "data-panel")
        assert server.end() == 0
        assert list(server.folder.iterdir()) == []
    browser.get("about:blank")
    assert (tmp_path / "stderr.txt").read_text() == ""


def test_a_file_and_its_target_are_opened_at_once(tmp_path, browser, heart):
    with running(tmp_path, str(heart), "--target", "outcome") as server:
        browser.get(server.url)
        wait_for(lambda: "age" in text_of(browser, "sentence"))
        assert "60" in text_of(browser, "sentence")
        assert "proven optimal" in text_of(browser, "badge")
        assert heart.name in text_of(browser, "data-summary")
        browser.get("about:blank")


def test_a_target_that_is_not_there_is_said_on_the_page(tmp_path, browser, heart):
    with running(tmp_path, str(heart), "--target", "fate") as server:
        browser.get(server.url)
        wait_for(lambda: heart.name in text_of(browser, "data-summary"))
        wait_for(lambda: "fate" in element(browser, "error").text)
        browser.get("about:blank")


def test_a_port_that_is_taken_is_said_in_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = refused("--port", str(taken.getsockname()[1]))
    assert "cannot listen" in said
    assert said.count("\n") == 1


def test_a_file_that_is_not_there_is_said_in_one_sentence(tmp_path):
    assert "there is no file" in refused(str(tmp_path / "nothing.csv"))
    assert "--target" in refused("--target", "outcome")


def test_it_starts_without_importing_what_only_a_table_needs():
    heavy = {"pandas", "polars", "numba", "matplotlib", "nicegui", "sqlglot"}
    script = (
        "import sys; import opdt.cli.app, opdt.cli.studio, opdt.studio.web.app;"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
