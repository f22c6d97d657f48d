"""Demands beyond the structure: each of their constraints is needed, in both formulations."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.mip import MIPEngine
from opdt.engines.mip.model import Model
from opdt.engines.mip.side import safe_precision
from opdt.problem import Constraints, Problem, Structure
from opdt.table import Table


class Case(NamedTuple):
    """Classes of the rows, demands, the constraints they give, and the optimum with and without."""

    labels: str
    demands: dict[str, Any]
    paper: str
    path: str | None  # None: the path model does not even offer such conditions
    wanted: float
    without: float
    w: float = 10
    groups: tuple[str, ...] = ("all",)


# Rows have x = 0, 1, 2, …, y = 0, 1, 0, 1, … and levels c = u, v, w, z.
CASES = {
    # x >= 1 covers three b; four rows are all of them, with one error.
    "coverage": Case("abbb", {"min_coverage": 4}, "coverage", "coverage", 4 - 10, 3),
    # Everything is four b and an error at 1.5; two b are on either side of it.
    "errors": Case("bbabb", {"max_errors": 0}, "errors", "errors", 2, 5 - 1.5, w=1.5),
    "precision": Case("bbabb", {"min_precision": 0.9}, "precision", "precision", 2, 3.5, w=1.5),
    # x >= 1 covers three b; x < 1 one a.
    "directions": Case("abbb", {"directions": {"x": "<"}}, "allowed_sides", None, 2, 3),
    "forbidden": Case("abbb", {"forbidden": ["x"]}, "allowed_sides", None, 2, 3),
    # y >= 1 covers two b. Testing nothing would be worth 4 - 1, but tests nothing.
    "required": Case("abbb", {"required": ["y"]}, "required_features", "required", 2, 3, w=1),
    # 1 <= x < 3 covers two a, a single condition on x or y one row.
    "once": Case("baab", {"once": True}, "features_once", "once", 1, 2, groups=("all", "num")),
    # Neither u nor v are two a; one condition on c has one row.
    "once, levels": Case(
        "bbaa", {"once": True}, "features_once", "once", 1, 2, groups=("cat", "cat")
    ),
}


def problem_of(case: Case) -> Problem:
    n_rows = len(case.labels)
    columns: dict[str, Any] = {"x": range(n_rows), "y": np.arange(n_rows) % 2}
    if "cat" in case.groups:
        columns["c"] = list("uvwz")[:n_rows]
    return Problem.build(
        Table.build(columns, list(case.labels), warn=False),
        w=case.w,
        structure=Structure.levels(*case.groups),
        constraints=Constraints(**case.demands),
    )


@pytest.mark.parametrize("formulation", ["paper", "path"])
@pytest.mark.parametrize("name", CASES)
def test_a_demand_is_met_and_its_constraint_is_needed(
    name: str, formulation: str, optimum: Callable[[Model], float]
) -> None:
    case = CASES[name]
    problem = problem_of(case)
    assert ExhaustiveEngine().solve(problem).value == case.wanted
    models = MIPEngine(formulation=formulation).models(problem)
    assert max(map(optimum, models)) == case.wanted
    family = case.paper if formulation == "paper" else case.path
    if family is not None:
        assert max(optimum(model.without(family)) for model in models) == case.without


def test_a_node_that_tests_nothing_may_use_a_feature_in_the_wrong_direction(
    optimum: Callable[[Model], float],
) -> None:
    # The right leaf is the only target and x may only be used with <: all that is left is to test
    # nothing, which covers three a and an error.
    problem = Problem.build(
        Table.build({"x": [0, 1, 2, 3]}, list("aaab")),
        w=1,
        structure=Structure.tree(split=[1], target=[0, 1]),
        constraints=Constraints(directions={"x": "<"}),
    )
    assert ExhaustiveEngine().solve(problem).value == 4 - 1
    assert optimum(MIPEngine().models(problem)[0]) == 4 - 1


@given(share=st.sampled_from([0.5, 2 / 3, 0.66666667, 0.9, 0.99999999, 1.0]), n=st.integers(2, 30))
def test_the_safe_precision_parts_the_same_rules(share: float, n: int) -> None:
    table = Table.build({"x": range(7, n + 7)}, [0, 1] + [0] * (n - 2))
    problem = Problem.build(table, constraints=Constraints(min_precision=share))
    asked, safe = problem.limits.precision, safe_precision(problem)
    for covered in range(1, n + 1):
        for right in range(covered + 1):
            assert (Fraction(right, covered) >= asked) == (right / covered > safe)
            # Far enough from both for a solver's tolerance on (1 - p) N - L.
            assert abs(right - safe * covered) > 1e-4
