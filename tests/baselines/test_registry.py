"""Comparison methods by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from opdt.baselines import BASELINES, Baseline, available_baselines, get_baseline
from opdt.baselines.registry import BaselineEntry
from opdt.errors import EngineUnavailable, InputError


@pytest.mark.parametrize("name", available_baselines())
def test_every_method_is_what_the_registry_says(name):
    method, entry = get_baseline(name), BASELINES[name]
    assert isinstance(method, Baseline)
    assert method.name == name
    assert method.needs == entry.needs
    assert entry.summary
    # Several seeds make sense only for a method that has one.
    assert entry.seeds == 1 or "seed" in type(method).__dataclass_fields__


def test_the_methods_of_the_paper_are_there():
    of_paper = {name for name, entry in BASELINES.items() if entry.in_paper}
    assert of_paper == {"bsccart", "rscrules", "brs", "ids", "irep", "prism", "ripper"}
    assert BASELINES["brs"].seeds == 50
    assert BASELINES["ripper"].seeds == 10


def test_an_unknown_name_is_refused_with_the_closest():
    with pytest.raises(InputError, match="'riper' is not known; did you mean 'ripper'"):
        get_baseline("riper")
    with pytest.raises(InputError, match="None is not known; choose from bsccart"):
        get_baseline(None)


def test_an_unknown_setting_is_refused_with_those_there_are():
    with pytest.raises(InputError, match="'prism' has no setting 'bin'; it has bins"):
        get_baseline("prism", bin=5)


def test_a_missing_package_is_named_with_the_extra(monkeypatch):
    monkeypatch.setitem(
        BASELINES, "far", BaselineEntry("opdt.nowhere:Far", "…", needs=("no_such_one",))
    )
    assert "far" not in available_baselines()
    with pytest.raises(EngineUnavailable, match=r"'far' needs no_such_one; .*opdt\[baselines\]"):
        get_baseline("far")


def test_listing_methods_imports_no_package():
    code = (
        "import sys; from opdt.baselines import available_baselines; available_baselines();"
        "print([m for m in ('wittgenstein', 'imodels', 'sklearn', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
