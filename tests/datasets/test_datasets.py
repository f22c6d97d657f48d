from __future__ import annotations

import opdt.datasets


def test_every_exported_name_exists_and_is_listed_once():
    exported = opdt.datasets.__all__
    assert exported == sorted(set(exported))
    assert all(hasattr(opdt.datasets, name) for name in exported)
