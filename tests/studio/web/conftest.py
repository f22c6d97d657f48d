"""A server and a browser for all tests of a process, and a tab for each."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from browser import chromium

# Without the extra 'studio' there is no page to test.
collect_ignore_glob = [] if find_spec("nicegui") else ["test_*.py"]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        driver.set_window_size(1280, 900)
        yield driver


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    from studio_server import running

    with running(tmp_path_factory.mktemp("data")) as server:
        yield server


@pytest.fixture
def page(browser, server):
    from studio.web.opened import new_tab

    with new_tab(browser, server.url) as page:
        yield page
        assert page.title == "opdt Studio"
