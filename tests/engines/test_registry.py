"""Engines by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from opdt.engines import Engine, engine_names, get_engine
from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.registry import ENGINES, EngineEntry
from opdt.errors import EngineUnavailable, InputError


@pytest.mark.parametrize("name", engine_names(installed=True))
def test_every_engine_is_what_the_registry_says(name):
    engine, entry = get_engine(name), ENGINES[name]
    assert isinstance(engine, Engine)
    assert engine.name == name
    assert engine.proves_optimality == entry.proves
    assert entry.summary


def test_an_engine_object_is_used_as_it_is():
    engine = ExhaustiveEngine(max_rules=7)
    assert get_engine(engine) is engine


def test_an_unknown_name_is_refused_with_the_closest():
    with pytest.raises(InputError, match="'exhaustve' is not known; did you mean 'exhaustive'"):
        get_engine("exhaustve")


def test_an_unknown_name_that_is_close_to_none_is_refused_with_all():
    with pytest.raises(InputError, match=r"'zzz' is not known; choose from .*exhaustive"):
        get_engine("zzz")


@pytest.mark.parametrize("engine", [None, 3, ExhaustiveEngine])
def test_anything_but_a_name_or_an_engine_is_refused(engine):
    with pytest.raises(InputError, match="'engine' must be a name or an Engine object, got"):
        get_engine(engine)


def test_a_missing_package_is_named_with_the_extra(monkeypatch):
    entry = EngineEntry(
        "opdt.nowhere:Engine", True, "…", needs=("no_such_package",), extra="solver"
    )
    monkeypatch.setitem(ENGINES, "far", entry)
    assert "far" in engine_names()
    assert "far" not in engine_names(installed=True)
    with pytest.raises(EngineUnavailable, match=r"'far' needs no_such_package; .*opdt\[solver\]"):
        get_engine("far")


def test_listing_engines_imports_none_of_them():
    code = (
        "import sys; from opdt.engines import engine_names; engine_names(installed=True);"
        "loaded = [m for m in sys.modules if m.startswith('opdt.engines.')];"
        "print(sorted(loaded), 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    known = ("base", "best", "many", "means", "measures", "precision", "prices", "registry")
    loaded = [f"opdt.engines.{name}" for name in known]
    assert done.stdout.strip() == f"{loaded} False"
