"""Fixtures of the tests of the Studio."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def nothing_unexpected(caplog: pytest.LogCaptureFixture) -> Any:
    """What the Studio logs as an error is one, unless a test expects it."""
    caplog.set_level(logging.ERROR, "opdt.studio")
    yield
    assert not caplog.records


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A file of patients, well and ill."""
    from studio.sessions import stored

    return stored(tmp_path, 0)
