"""What the tests of the search share: numbers of examples, and agreement with the oracle."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.search import (
    SearchEngine,
    Switches,
    merge,
    regions,
    sweep,
    table_boxes,
    table_layers,
    table_rows,
    wide,
)
from opdt.problem import Problem
from opdt.solution import Budget, Solution
from strategies import describe

ORACLE = ExhaustiveEngine()
DEFAULT_EXAMPLES = 60  # of the default profile
LARGE_ROWS = Switches().large_rows


def examples(number: int) -> settings:
    """So many examples by default, and as many times more as the profile asks for."""
    return settings(max_examples=max(1, number * settings.default.max_examples // DEFAULT_EXAMPLES))


def switches(large_rows: int = LARGE_ROWS) -> st.SearchStrategy[Switches]:
    """Any choice of accelerators; every other time all of them."""
    flags = {field.name: st.booleans() for field in fields(Switches) if field.type == "bool"}
    chosen = st.builds(Switches, large_rows=st.just(large_rows), **flags)
    return st.one_of(st.just(Switches(large_rows=large_rows)), chosen)


def make_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed small tables too, count them in few bins, cut their boxes into the smallest parts."""
    monkeypatch.setattr(sweep, "WORTH_SEEDING", 0)
    sizes = regions.LEAF_ROWS
    for name, value in {
        "LEAF_ROWS": dict.fromkeys(sizes, 3),
        "LEAF_STEPS": 4,
        "FEW_ROWS": 2,
        "FEW_POSITIONS": 1,
        "INNER_BINS": dict.fromkeys(sizes, 3),
        "MOST_ALIVE": 5,
    }.items():
        monkeypatch.setattr(regions, name, value)
    monkeypatch.setattr(table_rows, "LADDER", dict.fromkeys(sizes, (2, 4)))
    monkeypatch.setattr(table_rows, "INTERVALS", dict.fromkeys(sizes, (2, 3)))
    monkeypatch.setattr(table_rows, "BATCH", 500)
    monkeypatch.setattr(table_layers, "LEVELS", dict.fromkeys(sizes, 2))
    monkeypatch.setattr(table_layers, "MANY_LEVELS", 0)
    monkeypatch.setattr(table_boxes, "AT_ONCE", 2)
    monkeypatch.setattr(merge, "LEAST_ROWS", 0)
    monkeypatch.setattr(merge, "WORTH", 1.05)
    monkeypatch.setattr(wide, "WIDE", 2)
    monkeypatch.setattr(wide, "COARSE", {100: 3})
    monkeypatch.setattr(wide, "TRIED", 1)


def agree(problem: Problem, chosen: Switches, threads: int = 1) -> Solution:
    """Assert that the search proves what the oracle does, with the same rule."""
    best = ORACLE.solve(problem)
    found = SearchEngine(switches=chosen).solve(problem, Budget(n_jobs=threads))
    true = (
        (found.status, found.value, found.rule) == (best.status, best.value, best.rule)
        and found.bound == best.value
        and all(point.value <= best.value <= point.bound for point in found.trace)
    )
    assert true, f"{describe(problem)}\n{found}\n{best}"
    return found
