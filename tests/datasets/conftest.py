from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache of its own, and no OPDT_DATA."""
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("OPDT_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    return tmp_path / "cache" / "opdt"
