"""Models as arrays and as files."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.mip import MIPEngine
from opdt.engines.mip.model import Builder, Model
from opdt.errors import InputError
from opdt.problem import Constraints, Problem
from opdt.table import Table


@pytest.fixture
def knapsack() -> Model:
    """Maximise 3 x + 2 y + z, x + y <= 1 binary, z <= 0.5 x, y >= z - 0.25."""
    build = Builder()
    x = build.variables("x")
    y = build.variables("y")
    z = build.variables("z", integer=False, upper=2)
    build.row("one", (x, 1), (y, 1), upper=1)
    build.rows("linked", 2, (0, z, 1), (0, x, -0.5), (1, y, -1), (1, z, 1), upper=[0, 0.25])
    return build.model("knapsack", [(x, 3), (y, 2), (z, 1)])


def test_check_is_the_largest_violation(knapsack: Model) -> None:
    assert knapsack.check(np.array([1, 0, 0.25])) == 0
    assert knapsack.check(np.array([1, 1, 0.25])) == 1
    assert knapsack.violations(np.array([1, 0, 0.75])) == {
        "bounds": 0,
        "integrality": 0,
        "one": 0,
        "linked": 0.5,
    }
    assert knapsack.violations(np.array([0.4, 0, 0]))["integrality"] == pytest.approx(0.4)
    assert knapsack.violations(np.array([0, 0, -0.1]))["bounds"] == pytest.approx(0.1)


def test_a_model_without_a_family_keeps_the_others(knapsack: Model) -> None:
    fewer = knapsack.without("one")
    assert fewer.n_rows == 2
    assert fewer.n_entries == 4
    assert fewer.check(np.array([1, 1, 0.5])) == 0
    assert fewer.violations(np.array([0, 0, 0.5]))["linked"] == 0.5


def test_entries_of_a_variable_in_a_row_are_added() -> None:
    build = Builder()
    x = build.variables("x", range(2))
    build.row("sum", (x, 1), (x[0], 2), (x[1], -1), upper=3)
    model = build.model("sums", [(x, 1), (x[0], 1)])
    assert model.coefficient.tolist() == [3]
    assert model.cost.tolist() == [2, 1]


def read_highs(path: Path) -> float:
    highs: Any = import_module("highspy").Highs()
    highs.silent()
    highs.readModel(str(path))
    highs.run()
    return float(highs.getObjectiveValue())


def read_scip(path: Path) -> float:
    scip: Any = import_module("pyscipopt").Model()
    scip.hideOutput()
    scip.readProblem(str(path))
    scip.optimize()
    return float(scip.getObjVal())


READERS = {"highspy": read_highs, "pyscipopt": read_scip}


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
@pytest.mark.parametrize("package", READERS)
def test_a_written_model_is_read_by_other_programs(
    knapsack: Model, tmp_path: Path, package: str, suffix: str
) -> None:
    pytest.importorskip(package)
    path = tmp_path / f"model{suffix}"
    knapsack.write(path)
    assert READERS[package](path) == pytest.approx(3.25)  # x = 1, z = 0.25


@pytest.mark.parametrize("formulation", ["paper", "path"])
@pytest.mark.parametrize("suffix", [".mps", ".lp"])
@pytest.mark.parametrize("package", READERS)
def test_the_models_of_a_problem_are_read_with_the_same_optimum(
    tmp_path: Path, package: str, suffix: str, formulation: str
) -> None:
    pytest.importorskip(package)
    table = Table.build({"x": [0.1, 0.2, 0.3, 0.4, 0.5], "c": list("uvuvu")}, list("aabba"))
    problem = Problem.build(table, w=2.5, constraints=Constraints(min_coverage=2))
    values = []
    for at, model in enumerate(MIPEngine(formulation=formulation).models(problem)):
        path = tmp_path / f"model{at}{suffix}"
        model.write(path)
        values.append(READERS[package](path))
    assert max(values) == pytest.approx(ExhaustiveEngine().solve(problem).value)


def test_an_unknown_suffix_is_refused(knapsack: Model, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.mps or \.lp file, got 'model\.txt'"):
        knapsack.write(tmp_path / "model.txt")
