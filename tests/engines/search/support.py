"""What the tests of the search share: numbers of examples, and agreement with the oracle."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.search import SearchEngine, Switches
from opdt.engines.search.tuning import Tuning
from opdt.problem import Problem
from opdt.solution import Budget, Solution
from strategies import describe

ORACLE = ExhaustiveEngine()
DEFAULT_EXAMPLES = 60  # of the default profile
LARGE_ROWS = Switches().large_rows


def examples(number: int) -> settings:
    """So many examples by default, and as many times more as the profile asks for."""
    return settings(max_examples=max(1, number * settings.default.max_examples // DEFAULT_EXAMPLES))


def switches(
    large_rows: int = LARGE_ROWS, tuning: Tuning | None = None
) -> st.SearchStrategy[Switches]:
    """Any choice of accelerators; every other time all of them."""
    given: dict[str, Any] = {"large_rows": large_rows}
    if tuning is not None:
        given["tuning"] = tuning
    flags = {field.name: st.booleans() for field in fields(Switches) if field.type == "bool"}
    chosen = st.builds(lambda **own: Switches(**given, **own), **flags)
    return st.one_of(st.just(Switches(**given)), chosen)


# Seed small tables too, count them in few bins, cut their boxes into the smallest parts.
EAGER = Tuning(
    worth_seeding=0,
    merged_rows=0,
    merged_worth=1.05,
    ladder=((2, 4),) * 8,
    intervals=((2, 3),) * 8,
    levels=(2,) * 8,
    many_levels=0,
    strips=(2, 2),
    batch=500,
    wide=2,
    coarse=((100, 3),),
    tried=1,
    leaf_rows=(3,) * 8,
    leaf_steps=4,
    few_rows=2,
    few_positions=1,
    inner_bins=(3,) * 8,
    most_alive=5,
    at_once=2,
)
# Room for next to nothing besides, so that every store and record overflows all the time.
CRAMPED = replace(EAGER, records=1, steps=1, kept_blocks=1, many_sets=2, price_searches=1)


def make_default(patch: pytest.MonkeyPatch, **changed: Any) -> None:
    """Other switches for what is asked through a door that takes none."""
    names = [field.name for field in fields(Switches)]
    defaults = dict(zip(names, Switches.__init__.__defaults__ or (), strict=True)) | changed
    patch.setattr(Switches.__init__, "__defaults__", tuple(defaults[name] for name in names))


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
