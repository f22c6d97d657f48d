from __future__ import annotations

import pytest

from experiments import toys


@pytest.fixture
def toy_kinds(monkeypatch):
    """Registers the measurements of `toys`, with nothing measured or broken yet."""
    from opdt.experiments.registry import MEASURES

    for kind, name in (("toy", "measure"), ("divide", "divide"), ("interrupted", "interrupted")):
        monkeypatch.setitem(MEASURES, kind, f"experiments.toys:{name}")
    monkeypatch.setattr(toys, "DONE", [])
    monkeypatch.setattr(toys, "BROKEN", set())
    return toys


@pytest.fixture
def small_data(tmp_path, monkeypatch):
    """A folder with small stand-ins for two raw files, named by OPDT_DATA."""
    folder = toys.write_small_data(tmp_path / "raw")
    monkeypatch.setenv("OPDT_DATA", str(folder))
    return folder
