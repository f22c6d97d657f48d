"""A browser for the tests of a module."""

from __future__ import annotations

import pytest

from browser import chromium

pytest.importorskip("nicegui", reason="the extra 'studio' is not installed")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        driver.set_window_size(1280, 900)
        yield driver
