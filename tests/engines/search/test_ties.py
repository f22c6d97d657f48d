"""Ties that the search once decided otherwise than the documented order."""

from __future__ import annotations

from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.search import SearchEngine
from opdt.problem import Constraints, Problem, Structure
from opdt.table import Table


def test_an_equality_that_two_left_subsets_spell_comes_before_a_subset():
    table = Table.build(
        {
            "gamma": ["low"] * 5 + ["high", "low", "high"],
            "beta": ["high", "Mid", "low", "Mid", "Mid", "", "low", "low"],
        },
        [0, 0, 1, 1, 1, 2, 2, 1],
        sample_weight=[0, 0, 3, 1, 1, 3, 3, 1],
        warn=False,
    )
    problem = Problem.build(
        table,
        structure=Structure.tree(split=[1, 1, 0], group=["all", "cat", None], target=[1, 0, 0, 0]),
        w=20,
        constraints=Constraints(subsets=True, directions={"gamma": "=="}),
    )
    assert SearchEngine().solve(problem).rule == ExhaustiveEngine().solve(problem).rule
